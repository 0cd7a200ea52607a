"""Show, find or choose how coarsely each recipient sees the quasi-identifiers."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    flag,
    option,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.progress import Part
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    from sfumato.analysis.guarantee import Together
    from sfumato.analysis.views import SeenBy
    from sfumato.engine.core.progress import Context
    from sfumato.engine.table.table import Table
    from sfumato.project.document.model import Document
    from sfumato.project.release.long_table import LongTable


def _usage(arguments: Namespace) -> str:
    """Return what is wrong with the arguments together; empty where nothing is."""
    states = arguments.k is not None or arguments.suppress is not None or arguments.level
    if (states or arguments.as_they_are) and arguments.recipient is None:
        return worded("say for whom: --recipient NAME")
    if states and arguments.as_they_are:
        return worded("--as-they-are goes with no other statement")
    return ""


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.guarantee import together_of
    from sfumato.analysis.readiness import attributes_in
    from sfumato.analysis.views import (
        as_they_are,
        find_views,
        seen_together,
        that_leave,
        views_in,
        with_proposed_ks,
    )
    from sfumato.project.release.long_table import LongTable

    if wrong := _usage(arguments):
        terminal.note(worded("sfumato: {wrong}", wrong=wrong))
        return ExitCode.USAGE
    proposes = arguments.propose or arguments.propose_k
    changes = arguments.recipient is not None or arguments.find or proposes
    with opened_by_parts(arguments, terminal, 0.3, not changes) as (project, table, context):
        document = project.document
        if arguments.propose:
            document = _with_hierarchies(document, table, terminal, Part(context, 0.0, 0.1))
        if arguments.recipient is not None:
            document = _stated(document, arguments, terminal)
        left = that_leave(document, table, project.keys, Part(context, 0.1, 0.2))
        rows = left if isinstance(left, LongTable) else table
        if arguments.propose_k:
            attributes = attributes_in(document, rows, Part(context, 0.2, 0.3))
            document = with_proposed_ks(document, attributes, table)
        if arguments.find:
            document = find_views(document, left, Part(context, 0.3, 0.6))
        # Of a long table, the rows of the finest view are counted first: the others join them.
        others = as_they_are(document, left, Part(context, 0.6, 0.7))
        found = views_in(document, left, Part(context, 0.7, 0.85))
        together = None
        if found:
            with suppress(SfumatoError):  # a domain that does not fit the table hides no view
                attributes = attributes_in(document, rows, Part(context, 0.85, 0.9))
                together = together_of(document, attributes)
        virtual = None
        if together is not None:
            part = Part(context, 0.9, 1.0)
            virtual = seen_together(document, left, together.finest[0], found, part)
        if changes:
            project.save_document(document)
    plain, lines = [_plain(each) for each in found], [*_lines(found)]
    for each in others:
        lines.append(worded("{name}: sees the quasi-identifiers as they are", name=each.recipient))
        lines += [f"  {line}" for line in _figures(each)]
        plain.append({**_plain(each), "k": None, "suppression": None})
    if together is not None:
        plain.append(_plain_together(together, virtual))
        lines += [worded("All recipients together:"), f"  {said(together.sentence)}"]
        lines += [f"  {said(line)}" for line in (*_figures(virtual), *together.gets)]
    terminal.tell(arguments.json, plain, lines)
    problems = dict.fromkeys(each.problem for each in found if each.problem)
    for problem in problems:
        terminal.note(worded("sfumato: {problem}", problem=problem))
    return ExitCode.EXPECTED_ERROR if problems else ExitCode.OK


def _with_hierarchies(
    document: Document, table: Table | LongTable, terminal: Terminal, context: Context
) -> Document:
    """Return the document with a hierarchy for every quasi-identifier, and tell why."""
    from sfumato.analysis.views import with_proposed_hierarchies
    from sfumato.engine.table.table import Table
    from sfumato.project.release.long_survey import survey_of

    looked = table if isinstance(table, Table) else survey_of(table, context)
    document, reasons = with_proposed_hierarchies(document, looked)
    for name, reason in reasons.items():
        terminal.note(worded("Hierarchy of {name}: {reason}", name=name, reason=reason))
    return document


def _stated(document: Document, arguments: Namespace, terminal: Terminal) -> Document:
    """Return the document with what the arguments state for one recipient."""
    from sfumato.analysis.views import with_level, with_statement, without_view

    name = arguments.recipient
    known = [each.name for each in document.recipients]
    if name not in known:
        raise PolicyError(
            "The project has no recipient called {name}.",
            "Its recipients are: {known}.",
            name=name,
            known=", ".join(known) or "none",
        )
    if arguments.as_they_are:
        return without_view(document, name)
    document = with_statement(document, name, arguments.k, arguments.suppress)
    for text in arguments.level:
        column, _, level = text.rpartition("=")
        if not level.isdecimal():
            raise PolicyError(
                "{stated} is not of the form COLUMN=LEVEL.", "Write, say, age=2.", stated=text
            )
        document, followed = with_level(document, name, column, int(level))
        if followed:
            terminal.note(
                worded(
                    "{column}: {followed} followed, so that the chain holds.",
                    column=column,
                    followed=", ".join(followed),
                )
            )
    return document


def _lines(found: Sequence[SeenBy]) -> Iterator[str]:
    for each in found:
        share = (
            worded(
                ", at most {suppression:.1f} % suppressed", suppression=100 * each.rule.suppression
            )
            if each.rule.suppression
            else ""
        )
        yield f"{each.recipient}: k = {each.rule.k}{share}"
        if each.levels:
            shown = (
                worded("{name} {level} of {top}", name=name, level=level, top=top)
                for name, (level, top) in each.levels.items()
            )
            yield worded("  levels: {shown}", shown=", ".join(shown))
        yield from (f"  {line}" for line in _figures(each))


def _figures(each: SeenBy | None) -> Iterator[str]:
    """Tell in a line what a view comes to, where that is known."""
    if each is None or each.view is None:
        return
    smallest, unique = (
        worded("{smallest:,}", smallest=each.view.smallest),
        worded("{unique:,} unique", unique=each.view.unique),
    )
    if each.by_unit:
        smallest = worded(
            "{smallest} of {units:,} {units:unit|units}", smallest=smallest, units=each.units
        )
        unique = worded(
            "{unique} ({unique_rows:,} {unique_rows:record|records})",
            unique=unique,
            unique_rows=each.view.unique_rows,
        )
    yield worded(
        "smallest class {smallest}, {unique}, {suppressed_rows:,} of {records:,}"
        " {records:record|records} suppressed, loss {loss:.1f} %",
        smallest=smallest,
        unique=unique,
        suppressed_rows=each.view.suppressed_rows,
        records=each.records,
        loss=100 * each.view.loss,
    )


def _plain_together(together: Together, seen: SeenBy | None) -> dict[str, object]:
    """Return what the virtual recipient gets as plain JSON values."""
    figures = {} if seen is None else _plain(seen)
    return {
        **{key: figures.get(key) for key in ("levels", "records", "smallest", "unique", "loss")},
        "recipient": None,
        "finest": list(together.finest),
        "most trusted": {key: list(names) for key, names in together.tops.items()},
        "gets": [str(each) for each in together.gets],
    }


def _plain(seen: SeenBy) -> dict[str, object]:
    """Return what a recipient sees as plain JSON values."""
    view = seen.view
    return {
        "recipient": seen.recipient,
        "k": seen.rule.k,
        "suppression": seen.rule.suppression,
        "levels": {name: level for name, (level, _) in seen.levels.items()},
        "highest": {name: highest for name, (_, highest) in seen.levels.items()},
        "records": seen.records,
        "smallest": None if view is None else view.smallest,
        "units": seen.units if seen.by_unit else None,
        "unique": None if view is None else view.unique,
        "unique records": None if view is None else view.unique_rows,
        "suppressed": None if view is None else view.suppressed_rows,
        "classes": None if view is None else view.classes,
        "loss": None if view is None else view.loss,
        "problem": str(seen.problem),
    }


COMMAND = Command(
    (
        *PROJECT,
        option("--recipient", "NAME", "for whom something is stated"),
        option("--k", "K", "the records, or units, of the smallest class", type=int),
        option(
            "--suppress",
            "SHARE",
            "the largest share of the records that may show * instead, such as 0.01",
            type=float,
        ),
        repeated(
            "--level",
            "COLUMN=LEVEL",
            "show a quasi-identifier at this level; may be repeated. Others follow where the chain"
            " needs it",
        ),
        flag("--as-they-are", "show the recipient the quasi-identifiers as they are"),
        flag("--propose", "propose a hierarchy for every quasi-identifier that has none"),
        flag("--propose-k", "state a k by the order of trust for everybody who has none"),
        flag("--find", "find the levels that lose least, for the k and share of each recipient"),
        MEMORY,
        JSON,
    ),
    _run,
    (
        "sfumato views clinic.sfumato",
        'sfumato views clinic.sfumato --recipient "Public file" --k 20 --suppress 0.02',
        "sfumato views clinic.sfumato --propose --propose-k --find",
    ),
)
