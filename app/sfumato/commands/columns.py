"""The columns: what they are for and how they leave, and their hierarchies."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    file_argument,
    flag,
    one_of,
    option,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, known_source, open_project, source_of
from sfumato.engine.core.errors import HierarchyError, PolicyError
from sfumato.engine.core.progress import Context, Part
from sfumato.formats.language import said, translated, worded

if TYPE_CHECKING:
    import pandas as pd

    from sfumato.engine.core.columns import Coding, ColumnSpec, Role
    from sfumato.engine.generalization.hierarchies import Recipe
    from sfumato.project.document.model import Document
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.table_survey import Survey

_CODING: Final = {"bottom_code": "bottom", "top_code": "top", "round": "step"}
_AS_IT_IS: Final = "none"


def _run_attributes(arguments: Namespace, terminal: Terminal) -> ExitCode:

    options = ("role", "pseudonym", "drop", "confirm", *_CODING)
    changes = any(getattr(arguments, name) for name in options)
    if (arguments.shared or arguments.shared_by) and not arguments.pseudonym:
        terminal.note("sfumato: --shared and --shared-by go with --pseudonym COLUMN")
        return ExitCode.USAGE
    if changes:
        with open_project(arguments, terminal) as project, terminal.working() as context:
            found = known_source(project, arguments.memory * 1e6, Part(context, 0.0, 0.8))
            document = _changed(project, found, arguments, Part(context, 0.8, 1.0))
            project.save_document(document)
    else:
        with open_project(arguments, terminal, read_only=True) as project:
            document = project.document
    terminal.tell(arguments.json, [_plain(each) for each in document.columns], _lines(document))
    return ExitCode.OK


def _changed(
    project: ProjectFile, source: Survey, arguments: Namespace, context: Context
) -> Document:
    """Return the document with what the arguments say of its columns.

    Raises
    ------
    SfumatoError
        If there is no such column, role or recipient, or a column can't be what is said of it.
    """
    from sfumato.project.document.edits import confirmed, with_coding, with_pseudonym

    document = _with_roles(project, source, arguments.role, Part(context, 0.0, 0.8))
    for name in arguments.drop:
        document = with_pseudonym(document, _identifying(document, name), None)
    for name in arguments.pseudonym:
        document = _with_pseudonym(document, name, arguments)
    coded: dict[str, dict[str, float | None]] = {}
    for argued, setting in _CODING.items():
        for name, text in map(_pair, getattr(arguments, argued)):
            coded.setdefault(name, {})[setting] = _number(name, text)
    for name, settings in coded.items():
        document = with_coding(document, name, _coding(_column(document, name), settings, source))
    for name in arguments.confirm:
        document = confirmed(document, _with_values(document, name))
    source.check_weights(document, Part(context, 0.8, 1.0))
    return document


def _with_values(document: Document, name: str) -> str:
    """Return the name of a column; refuse one that has no list of values to confirm."""
    spec = _column(document, name)
    if spec.domain is None and spec.binning is None:
        raise PolicyError(
            "Column {column} has no list of values or bins, so there is nothing to confirm.",
            "Confirm the columns that are perturbed or binned.",
            column=name,
        )
    return name


def _with_roles(
    project: ProjectFile, source: Survey, given: list[str], context: Context
) -> Document:
    """Return the document with the roles that were given, and the domains that these ask for."""
    from sfumato.engine.core.errors import SfumatoError
    from sfumato.engine.randomness.noisy_statistics import KeyedNoise
    from sfumato.project.document.edits import with_roles
    from sfumato.project.release.table_survey import with_fixed_domains
    from sfumato.project.release.units import with_once_drawn

    document = project.document
    roles = [(_column(document, name).name, _role(name, role)) for name, role in map(_pair, given)]
    if not roles:
        return document
    try:
        known = source.attributes_of(document, Part(context, 0.0, 0.5))
    except SfumatoError:
        known = {}  # the policy says what is wrong with its settings
    for name, role in roles:
        document = with_roles(document, [name], role, known, KeyedNoise(project.keys))
    document = with_fixed_domains(document, source)
    return with_once_drawn(document, project.document, source, Part(context, 0.5, 1.0))


def _with_pseudonym(document: Document, name: str, arguments: Namespace) -> Document:
    """Return the document with an identifying column that leaves as a pseudonym."""
    from sfumato.commands.shared.groups import recipient_called
    from sfumato.engine.core.columns import Pseudonym
    from sfumato.project.document.edits import with_pseudonym

    sharing = tuple(recipient_called(document, each).name for each in arguments.shared_by)
    pseudonym = Pseudonym(None if arguments.shared else sharing)
    return with_pseudonym(document, _identifying(document, name), pseudonym)


def _identifying(document: Document, name: str) -> str:
    """Return the name of a column; refuse one that does not identify."""
    from sfumato.engine.core.columns import Role

    role = _column(document, name).role
    if role is not Role.IDENTIFYING:
        raise PolicyError(
            "Column {column} has the role {role}: only what identifies is dropped, or leaves as a"
            " pseudonym.",
            "Give it that role as well: --role {column}=identifying",
            column=name,
            role=role.value,
        )
    return name


def _coding(spec: ColumnSpec, settings: dict[str, float | None], source: Survey) -> Coding | None:
    """Return how a column is coded from now on; what nothing was said of stays."""
    from sfumato.engine.core.columns import Coding

    wanted = replace(spec.coding or Coding(), **settings)
    coding = None if wanted == Coding() else wanted
    changed = replace(spec, coding=coding)
    if coding is not None and changed.coded is None:
        raise PolicyError(
            "Column {column} does not leave as numbers that are released unperturbed, so there is"
            " nothing to round or to cut off.",
            "Choose a numeric column without bins that is not sensitive.",
            column=spec.name,
        )
    changed.shown(source.column(spec.name))
    return coding


def _column(document: Document, name: str) -> ColumnSpec:
    names = [spec.name for spec in document.columns]
    if name in names:
        return document.column(name)
    from sfumato.project.rules.text import suggestion

    raise PolicyError("The project has no column {column}.", suggestion(name, names), column=name)


def _role(name: str, text: str) -> Role:
    from sfumato.engine.core.columns import Role

    try:
        return Role(text)
    except ValueError:
        raise PolicyError(
            "{role} is no role that column {column} can have.",
            "Choose one of: {known}.",
            role=text,
            column=name,
            known=", ".join(Role),
        ) from None


def _pair(text: str) -> tuple[str, str]:
    """Return a column and what is said of it from ``COLUMN=WHAT``."""
    name, _, said = text.rpartition("=")
    if not name or not said.strip():
        raise PolicyError(
            "{stated} is not of the form COLUMN=WHAT.", "Write, say, income=100000.", stated=text
        )
    return name, said.strip()


def _number(name: str, text: str) -> float | None:
    try:
        return None if text == _AS_IT_IS else float(text)
    except ValueError:
        raise PolicyError(
            "{text} is not a number to round column {column} or to cut it off by.",
            "Write a number, or none to leave the column as it is.",
            text=text,
            column=name,
        ) from None


def _lines(document: Document) -> Iterator[str]:
    for spec in document.columns:
        yield f"{spec.name}: {', '.join((spec.role, spec.kind, *map(said, _told(spec))))}"


def _told(spec: ColumnSpec) -> Iterator[str]:
    """Yield how a column leaves, where that is not as it is."""
    from sfumato.engine.core.wording import listed

    if spec.is_dropped:
        yield "dropped"
    if spec.as_pseudonym is not None:
        names = spec.as_pseudonym.shared_by
        shared = (
            translated("all") if names is None else listed(names) if names else translated("nobody")
        )
        yield worded("leaves as a pseudonym, shared by {shared}", shared=shared)
    if spec.binning is not None:
        yield worded("{names} bins", names=len(spec.binning.names))
    if spec.tells_rows:
        yield "values taken from the table, not confirmed"
    if spec.coded is not None:
        yield from spec.coded.sentences


def _plain(spec: ColumnSpec) -> dict[str, object]:
    """Return what is said of a column as plain JSON values."""
    from sfumato.project.rules.text import sharing

    return {
        "name": spec.name,
        "role": spec.role.value,
        "kind": spec.kind.value,
        "dropped": spec.is_dropped,
        "pseudonym": None if spec.as_pseudonym is None else sharing(spec.as_pseudonym),
        "from_rows": spec.tells_rows,
        **{name: getattr(spec.coded, name, None) for name in _CODING.values()},
    }


ATTRIBUTES = Command(
    (
        *PROJECT,
        repeated(
            "--role",
            "COLUMN=ROLE",
            "what a column is for: identifying, quasi-identifier, sensitive, insensitive or weight;"
            " may be repeated, like all that name a column",
            default=[],
        ),
        repeated(
            "--pseudonym",
            "COLUMN",
            "let an identifying column leave as a pseudonym, each recipient's own",
            default=[],
        ),
        flag("--shared", "all recipients get the same pseudonyms"),
        repeated(
            "--shared-by",
            "NAME",
            "this recipient gets the same pseudonyms as the others named so",
            default=[],
        ),
        repeated("--drop", "COLUMN", "drop an identifying column again", default=[]),
        repeated(
            "--top-code",
            "COLUMN=NUMBER",
            "show larger numbers as this one; none shows them as they are",
            default=[],
        ),
        repeated(
            "--bottom-code",
            "COLUMN=NUMBER",
            "show smaller numbers as this one; none shows them as they are",
            default=[],
        ),
        repeated("--round", "COLUMN=STEP", "round to multiples of this; none does not", default=[]),
        repeated(
            "--confirm",
            "COLUMN",
            "its values or bins, taken from the table, are all that could occur",
            default=[],
        ),
        MEMORY,
        JSON,
    ),
    _run_attributes,
    (
        "sfumato attributes clinic.sfumato",
        "sfumato attributes clinic.sfumato --role w=weight --round w=1",
        'sfumato attributes clinic.sfumato --pseudonym id --shared-by "Clinic A" --shared-by "B"',
        "sfumato attributes clinic.sfumato --top-code income=100000 --round income=100",
        "sfumato attributes clinic.sfumato --confirm illness --confirm age",
    ),
)


_SHOWN = 20


def _usage(arguments: Namespace) -> str:
    """Return what is wrong with the arguments together; empty where nothing is."""
    single = arguments.propose or arguments.remove or arguments.export is not None
    if arguments.fix and arguments.tables is None:
        return worded("--fix goes with --import FILE")
    if arguments.column is None and (single or arguments.fix):
        return worded("name the column: --column COLUMN")
    if arguments.match and (arguments.tables is None or arguments.column is not None):
        return worded("--match goes with --import FILE, without --column")
    if arguments.column is not None and len(arguments.tables or ()) > 1:
        return worded("a column has one hierarchy: one FILE, or leave --column out")
    return ""


def _run_hierarchy(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.engine.generalization.hierarchies import hierarchy_of

    changes = arguments.tables is not None or arguments.propose or arguments.remove
    if wrong := _usage(arguments):
        terminal.note("sfumato: {wrong}", wrong=wrong)
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
            terminal.note("The hierarchy of {name} is removed.", name=spec.name)
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
                "{name}: {column}, {levels} {levels:level|levels}",
                name=file.path.name,
                column=file.column,
                levels=file.levels,
            )
        elif file.problem is not None:
            terminal.note(
                "sfumato: {name}: {problem}", name=file.path.name, problem=said(file.problem)
            )
        else:
            terminal.note("{name}: for no column; left out.", name=file.path.name)
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
        terminal.note("The project has no hierarchies yet.")
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
        "{name}: {kind}, {height} {height:level|levels}",
        name=spec.name,
        kind=recipe.kind,
        height=hierarchy.height,
    )
    codes = hierarchy.encode(ground_series(spec, series))
    for level in range(hierarchy.height):
        records = pd.Series(hierarchy.codes(level)[codes]).value_counts()
        terminal.say(
            "  level {level}: {classes:,} {classes:class|classes}, the smallest with {min:,}"
            " {min:record|records}",
            level=level,
            classes=hierarchy.classes(level),
            min=int(records.min()),
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
    if arguments.fix:
        rows, done = mended_throughout(rows, values, spec.name)
        for problem in done[:_SHOWN]:
            terminal.note(
                "Fixed ({value}): {sentence}",
                value=problem.mends[0].value,
                sentence=sentence(problem),
            )
        if len(done) > _SHOWN:
            terminal.note("Fixed {done:,} more.", done=len(done) - _SHOWN)
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
            "--fix",
            "with --import: fix what is wrong with the table in the usual ways, and say how",
        ),
    ),
    _run_hierarchy,
    (
        "sfumato hierarchy clinic.sfumato",
        "sfumato hierarchy clinic.sfumato --column region --import regions.csv --fix",
    ),
)
