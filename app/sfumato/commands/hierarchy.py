"""List, export, import or propose hierarchies."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import (
    PROJECT,
    Command,
    ExitCode,
    file_argument,
    flag,
    one_of,
    option,
    repeated,
)
from sfumato.commands.shared.opening import open_project, source_of
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.progress import Part
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    import pandas as pd

    from sfumato.engine.core.columns import ColumnSpec
    from sfumato.engine.generalization.hierarchies import Recipe
    from sfumato.project.document.model import Document
    from sfumato.project.project_file import ProjectFile

_SHOWN = 20


def _usage(arguments: Namespace) -> str:
    """Return what is wrong with the arguments together; empty where nothing is."""
    single = arguments.propose or arguments.remove or arguments.export is not None
    if arguments.mend and arguments.tables is None:
        return worded("--mend goes with --import FILE")
    if arguments.column is None and (single or arguments.mend):
        return worded("name the column: --column COLUMN")
    if arguments.match and (arguments.tables is None or arguments.column is not None):
        return worded("--match goes with --import FILE, without --column")
    if arguments.column is not None and len(arguments.tables or ()) > 1:
        return worded("a column has one hierarchy: one FILE, or leave --column out")
    return ""


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.engine.generalization.hierarchies import hierarchy_of

    changes = arguments.tables is not None or arguments.propose or arguments.remove
    if wrong := _usage(arguments):
        terminal.note(worded("sfumato: {wrong}", wrong=wrong))
        return ExitCode.USAGE
    with open_project(arguments, terminal, read_only=not changes) as project:
        document = project.document
        if arguments.column is None:
            several = arguments.tables is not None
            return _several(project, arguments, terminal) if several else _list(document, terminal)
        spec = _spec(document, arguments.column)
        if arguments.remove:
            _recipe(document, spec)
            project.save_document(document.with_hierarchy(spec.name, None))
            terminal.note(worded("The hierarchy of {name} is removed.", name=spec.name))
            return ExitCode.OK
        with terminal.working() as context:
            series = source_of(project, context).column(spec.name)
        if not changes:
            return _show(arguments.export, _recipe(document, spec), spec, series, terminal)
        recipe = _new(arguments, spec, series, terminal)
        hierarchy_of(recipe, spec, series)
        project.save_document(document.with_hierarchy(spec.name, recipe))
        return _show(None, recipe, spec, series, terminal)


def _several(project: ProjectFile, arguments: Namespace, terminal: Terminal) -> ExitCode:
    """Read several files; those that can be used are kept, and the others named."""
    from sfumato.project.publication.hierarchy_files import (
        files_in,
        read_files,
        read_for,
        with_hierarchies,
    )

    document = project.document
    with terminal.working() as context:
        table = source_of(project, Part(context, 0.0, 0.3))
        meant = dict(_match(text, document) for text in arguments.match)
        paths = files_in(arguments.tables)
        stated = [read_for(p, meant[p.name], document, table) for p in paths if p.name in meant]
        rest = [path for path in paths if path.name not in meant]
        found = [*stated, *read_files(rest, document, table, Part(context, 0.3, 1.0))]
    used = [file for file in found if file.recipe is not None]
    if used:
        project.save_document(with_hierarchies(document, used))
    for file in found:
        if file.recipe is not None:
            terminal.say(
                worded(
                    "{name}: {column}, {levels} {levels:level|levels}",
                    name=file.path.name,
                    column=file.column,
                    levels=file.levels,
                )
            )
        elif file.problem is not None:
            terminal.note(
                worded(
                    "sfumato: {name}: {problem}", name=file.path.name, problem=said(file.problem)
                )
            )
        else:
            terminal.note(worded("{name}: for no column; left out.", name=file.path.name))
    failed = not used or any(file.problem is not None for file in found)
    return ExitCode.EXPECTED_ERROR if failed else ExitCode.OK


def _match(text: str, document: Document) -> tuple[str, str]:
    """Return what ``FILE=COLUMN`` says."""
    file, _, column = text.partition("=")
    return Path(file).name, _spec(document, column).name


def _spec(document: Document, name: str) -> ColumnSpec:
    from sfumato.engine.core.columns import find_column
    from sfumato.project.rules.text import suggestion

    names = [column.name for column in document.columns]
    if name not in names:
        raise HierarchyError(
            "The project has no column {column}.", suggestion(name, names), column=name
        )
    return find_column(document.columns, name)


def _recipe(document: Document, spec: ColumnSpec) -> Recipe:
    recipe = document.hierarchies.get(spec.name)
    if recipe is None:
        raise HierarchyError(
            "Column {column} has no hierarchy.",
            "Make one with --propose, or read one with --import FILE.",
            column=spec.name,
        )
    return recipe


def _list(document: Document, terminal: Terminal) -> ExitCode:
    known = [c.name for c in document.columns if c.name in document.hierarchies]
    for name in known:
        terminal.say(f"{name}: {document.hierarchies[name].kind}")
    if not known:
        terminal.note(worded("The project has no hierarchies yet."))
    return ExitCode.OK


def _show(
    target: Path | None, recipe: Recipe, spec: ColumnSpec, series: pd.Series, terminal: Terminal
) -> ExitCode:
    """Write a hierarchy to a file; without one, say how many classes its levels have."""
    import pandas as pd

    from sfumato.engine.generalization.hierarchies import Taxonomy, ground_series, hierarchy_of
    from sfumato.formats.hierarchies import rows_of, write_hierarchy

    if target is not None:
        hierarchy = None if isinstance(recipe, Taxonomy) else hierarchy_of(recipe, spec, series)
        write_hierarchy(target, rows_of(recipe, hierarchy))
        terminal.say(str(target))
        return ExitCode.OK
    hierarchy = hierarchy_of(recipe, spec, series)
    terminal.say(
        worded(
            "{name}: {kind}, {height} {height:level|levels}",
            name=spec.name,
            kind=recipe.kind,
            height=hierarchy.height,
        )
    )
    codes = hierarchy.encode(ground_series(spec, series))
    for level in range(hierarchy.height):
        records = pd.Series(hierarchy.codes(level)[codes]).value_counts()
        terminal.say(
            worded(
                "  level {level}: {classes:,} {classes:class|classes}, the smallest with {min:,}"
                " {min:record|records}",
                level=level,
                classes=hierarchy.classes(level),
                min=int(records.min()),
            )
        )
    return ExitCode.OK


def _new(arguments: Namespace, spec: ColumnSpec, series: pd.Series, terminal: Terminal) -> Recipe:
    from sfumato.engine.generalization.hierarchies import (
        Taxonomy,
        find_problems,
        ground_values,
        mended_throughout,
        propose_hierarchy,
        refuse_problems,
        sentence,
    )
    from sfumato.formats.hierarchies import read_hierarchy

    if arguments.propose:
        proposal = propose_hierarchy(spec, series)
        terminal.note(proposal.reason)
        return proposal.recipe
    rows, values = read_hierarchy(arguments.tables[0]).rows, ground_values(spec, series)
    if arguments.mend:
        rows, done = mended_throughout(rows, values, spec.name)
        for problem in done[:_SHOWN]:
            terminal.note(
                worded(
                    "Mended ({value}): {sentence}",
                    value=problem.mends[0].value,
                    sentence=sentence(problem),
                )
            )
        if len(done) > _SHOWN:
            terminal.note(worded("Mended {done:,} more.", done=len(done) - _SHOWN))
    else:
        refuse_problems(find_problems(rows, values, spec.name))
    return Taxonomy(rows)


HIERARCHY = Command(
    (
        *PROJECT,
        option("--column", "COLUMN", "the column; all are listed without it"),
        one_of(
            file_argument("--export", "FILE", "write the hierarchy as a table (CSV)"),
            file_argument(
                "--import",
                "FILE",
                "read the hierarchy from a table; without --column several files, or a folder,"
                " each for the column that it is named after (adult_hierarchy_age.csv)",
                nargs="+",
                dest="tables",
            ),
            flag("--propose", "make a hierarchy from the column's kind"),
            flag("--remove", "remove the hierarchy"),
        ),
        repeated(
            "--match",
            "FILE=COLUMN",
            "with --import of several files: what a file is for; may be repeated",
        ),
        flag(
            "--mend",
            "with --import: mend what is wrong with the table in the usual ways, and say how",
        ),
    ),
    _run,
    (
        "sfumato hierarchy clinic.sfumato",
        "sfumato hierarchy clinic.sfumato --column region --import regions.csv --mend",
    ),
)
