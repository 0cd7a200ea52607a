"""The recipients: their levels, and how coarsely each of them sees public columns."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    flag,
    option,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, known_source, open_project, opened_by_parts
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Part
from sfumato.formats.language import ENGLISH, day, languages, localized, said, worded

if TYPE_CHECKING:
    from sfumato.analysis.coarsening.views import SeenBy
    from sfumato.analysis.editions.since_release import SinceRelease
    from sfumato.analysis.guarantee import AllTogether
    from sfumato.analysis.planning.all_views import AllViews
    from sfumato.engine.core.progress import Context
    from sfumato.project.document.model import Document
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.batched_table import BatchedTable


def _run_recipients(arguments: Namespace, terminal: Terminal) -> ExitCode:
    whose = [name for name in (arguments.of, arguments.add, arguments.remove) if name is not None]
    stated = bool(arguments.level or arguments.tell_in) or arguments.note is not None
    stated = stated or arguments.rename is not None
    if len(whose) > 1 or (stated and not whose) or (stated and arguments.remove is not None):
        terminal.note(
            "sfumato: give one of --of, --add and --remove; --level, --tell-in, --note and --rename"
            " go with --of or --add"
        )
        return ExitCode.USAGE
    if arguments.of is not None and not stated:
        terminal.note(
            "sfumato: --of NAME goes with --level TERM=NUMBER, --tell-in, --note or --rename"
        )
        return ExitCode.USAGE
    with open_project(arguments, terminal, read_only=not whose) as project:
        if whose:
            _change(whose[0], arguments, terminal, project)
        document, since = project.document, _since(project)
    terminal.tell(arguments.json, _plain_levels(document, since), _lines_of_levels(document, since))
    if not document.recipients and not arguments.json:
        terminal.note("The project has no recipients yet.")
    return ExitCode.OK


def _change(name: str, arguments: Namespace, terminal: Terminal, project: ProjectFile) -> None:
    """Add a recipient or take one away, and state what is asked for, as one edit.

    Raises
    ------
    SfumatoError
        If there is no such recipient or attribute, the name is taken, or the level can't be met.
    """
    from sfumato.commands.shared.groups import recipient_called
    from sfumato.project.document import recipients

    document = project.document
    if arguments.add is not None:
        levels = recipients.least_trusting(document)
        document = recipients.with_recipient(document, name, levels)
    recipient_called(document, name)
    if arguments.remove is not None:
        document = recipients.without_recipient(document, name)
    if arguments.tell_in:
        document = recipients.with_language(document, name, arguments.tell_in)
    if arguments.note is not None:
        document = recipients.with_note(document, name, arguments.note.strip())
    if arguments.level:
        document = _state(document, name, arguments, terminal, project)
    if arguments.rename is not None:
        document = recipients.renamed(document, name, arguments.rename)
    project.save_document(document)


def _state(
    document: Document, name: str, arguments: Namespace, terminal: Terminal, project: ProjectFile
) -> Document:
    """Return the document with a recipient's level, for all attributes or for those named.

    Raises
    ------
    SfumatoError
        If there is no such attribute, or the level can't be met.
    """
    from sfumato.project.document.edits import state_level

    keys = [_entry_key(document, column) for column in arguments.attribute]
    statement = dict(term_and_number(text) for text in arguments.level)
    with terminal.working() as context:
        source = known_source(project, arguments.memory * 1e6, Part(context, 0.0, 0.8))
        source.check_weights(document, Part(context, 0.8, 0.9))
        attributes = source.attributes_of(document, Part(context, 0.9, 1.0))
    stated = state_level(document, name, statement, attributes, keys)
    for key, error in stated.refused.items():
        terminal.note("{key} keeps its level. {error}", key=key, error=error)
    return stated.document


def _entry_key(document: Document, name: str) -> str:
    """Return the key of the policy entry that protects an attribute, or has this key."""
    entry = document.entry_for(name)
    keys = [each.key for each in document.policy]
    if entry is None and name not in keys:
        from sfumato.project.rules.text import suggestion

        raise PolicyError("The policy protects no {name}.", suggestion(name, keys), name=name)
    return name if entry is None else entry.key


def term_and_number(text: str) -> tuple[str, float]:
    """Return a term and its number from ``epsilon=2``."""
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise LevelError(
            "{text} is not a level.", "Write, for instance: --level epsilon=2", text=text
        ) from None


def _since(project: ProjectFile) -> tuple[SinceRelease, ...]:
    """Return what has changed since everybody's last release, as far as no row is needed."""
    from sfumato.analysis.editions.since_release import since_releases

    return since_releases(project.document, {}, project.releases)


def _lines_of_levels(document: Document, since: Sequence[SinceRelease]) -> Iterator[str]:
    for recipient, last in zip(document.recipients, since, strict=True):
        yield recipient.name + (f"  ({recipient.note})" if recipient.note else "")
        for entry in document.policy:
            statement = recipient.statements.get(entry.key)
            levels = ", ".join(
                f"{name} = {localized(f'{value:g}')}" for name, value in (statement or {}).items()
            )
            stated = worded("no level yet") if statement is None else levels
            yield f"  {entry.key} [{entry.mechanism}]: {stated}"
        if last.record is not None:
            yield worded(
                "  last release: {day}, nothing changed since"
                if last.current
                else "  last release: {day}, changed since:",
                day=day(datetime.fromisoformat(last.record.recorded_at)),
            )
            yield from (
                f"    {name}: {said(told)}" if name else f"    {said(told)}"
                for name, told in last.changes
            )


def _plain_levels(document: Document, since: Sequence[SinceRelease]) -> list[dict[str, object]]:
    """Return every recipient with what was stated for each entry, as plain JSON values."""
    return [
        {
            "name": recipient.name,
            "note": recipient.note,
            "language": recipient.language or ENGLISH,
            "levels": {
                entry.key: dict(statement)
                for entry in document.policy
                if (statement := recipient.statements.get(entry.key)) is not None
            },
            "last_release": None if last.record is None else last.record.recorded_at,
            "changed_since": [
                {"attribute": name, "change": str(told)} for name, told in last.changes
            ],
        }
        for recipient, last in zip(document.recipients, since, strict=True)
    ]


RECIPIENTS = Command(
    (
        *PROJECT,
        option("--add", "NAME", "add a recipient, at the lowest of the typical levels"),
        option("--remove", "NAME", "take a recipient away; releases stay in the ledger"),
        option("--of", "NAME", "the recipient of whom something is stated"),
        option("--rename", "NAME", "the recipient's name from now on"),
        option("--note", "TEXT", "your remark on the recipient; an empty text takes it away"),
        option(
            "--tell-in",
            "LANGUAGE",
            "the language of what bundles tell the recipient, such as de",
            choices=languages(),
        ),
        repeated(
            "--level",
            "TERM=NUMBER",
            "the recipient's level from now on, for all attributes: epsilon=2; a mechanism without"
            " this term gets the same trust",
        ),
        repeated("--attribute", "COLUMN", "only for this attribute; may be given several times"),
        MEMORY,
        JSON,
    ),
    _run_recipients,
    (
        "sfumato recipients clinic.sfumato",
        'sfumato recipients clinic.sfumato --add "Institute" --level epsilon=2',
        'sfumato recipients clinic.sfumato --of "Institute" --rename "Institute of Health"',
    ),
)


def _usage(arguments: Namespace) -> str:
    """Return what is wrong with the arguments together; empty where nothing is."""
    states = arguments.k is not None or arguments.suppress is not None or arguments.level
    states = states or arguments.cells or arguments.rows
    if arguments.cells and arguments.rows:
        return worded("--cells goes with no --rows")
    if (states or arguments.as_they_are) and arguments.recipient is None:
        return worded("say for whom: --recipient NAME")
    if states and arguments.as_they_are:
        return worded("--as-they-are goes with no other statement")
    return ""


def _run_views(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.coarsening.views import (
        find_views,
        released_rows,
        with_importance,
        with_proposed_ks,
    )
    from sfumato.analysis.planning.all_views import all_views
    from sfumato.analysis.readiness.readiness import attributes_in

    if wrong := _usage(arguments):
        terminal.note("sfumato: {wrong}", wrong=wrong)
        return ExitCode.USAGE
    proposes = arguments.propose or arguments.propose_k
    finds = arguments.find
    changes = arguments.recipient is not None or finds or proposes or arguments.importance
    with opened_by_parts(arguments, terminal, 0.3, not changes) as (project, table, context):
        document = project.document
        if arguments.propose:
            document = _with_hierarchies(document, table, terminal, Part(context, 0.0, 0.1))
        if arguments.recipient is not None:
            document = _stated(document, arguments, terminal)
        if arguments.importance:
            document = with_importance(document, arguments.importance)
        left = released_rows(document, table, project.keys, Part(context, 0.1, 0.2))
        if arguments.propose_k:
            attributes = attributes_in(document, table, project.keys, Part(context, 0.2, 0.3))
            document = with_proposed_ks(document, attributes, table)
        if finds:
            document = find_views(document, left, Part(context, 0.3, 0.6))
        seen = all_views(document, table, left, project.keys, Part(context, 0.6, 1.0))
        if changes:
            project.save_document(document)
    terminal.tell(arguments.json, *_told_views(seen))
    return _with_problems(seen.found, terminal)


def _told_views(seen: AllViews) -> tuple[list[dict[str, object]], list[str]]:
    """Return what is seen as plain JSON values, and in lines."""
    plain, lines = [_plain_views(each) for each in seen.found], [*_lines_of_views(seen.found)]
    for each in seen.others:
        lines.append(worded("{name}: sees the quasi-identifiers as they are", name=each.recipient))
        lines += [f"  {line}" for line in _figures(each)]
        plain.append({**_plain_views(each), "k": None, "suppression": None})
    if (together := seen.together) is not None:
        plain.append(_plain_together(together, seen.virtual))
        lines += [worded("All recipients together:"), f"  {said(together.sentence)}"]
        lines += [f"  {said(line)}" for line in (*_figures(seen.virtual), *together.gets)]
    if seen.kept is not None:
        lines += map(said, seen.kept.sentences)
        plain[0]["further columns"] = seen.kept.plain()
    lines += [said(one.sentence) for one in seen.given_back]
    for one in plain:
        back = [each for each in seen.given_back if each.recipient == one["recipient"]]
        one["given back"] = [each.plain() for each in back]
    return plain, lines


def _with_problems(found: Sequence[SeenBy], terminal: Terminal) -> ExitCode:
    """Tell which views would be refused, and return what the command comes to."""
    problems = dict.fromkeys(each.problem for each in found if each.problem)
    for problem in problems:
        terminal.note("sfumato: {problem}", problem=problem)
    return ExitCode.EXPECTED_ERROR if problems else ExitCode.OK


def _with_hierarchies(
    document: Document, table: BatchedTable, terminal: Terminal, context: Context
) -> Document:
    """Return the document with a hierarchy for every quasi-identifier, and tell why."""
    from sfumato.analysis.coarsening.views import with_proposed_hierarchies
    from sfumato.project.release.table_survey import survey_of_any

    document, reasons = with_proposed_hierarchies(document, survey_of_any(table, context))
    for name, reason in reasons.items():
        terminal.note("Hierarchy of {name}: {reason}", name=name, reason=reason)
    return document


def _stated(document: Document, arguments: Namespace, terminal: Terminal) -> Document:
    """Return the document with what the arguments state for one recipient."""
    from sfumato.analysis.coarsening.views import with_level, with_statement, without_view

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
    cells = bool(arguments.cells) if arguments.cells or arguments.rows else None
    document = with_statement(document, name, arguments.k, arguments.suppress, cells)
    for text in arguments.level:
        column, _, level = text.rpartition("=")
        if not level.isdecimal():
            raise PolicyError(
                "{stated} is not of the form COLUMN=LEVEL.", "Write, say, age=2.", stated=text
            )
        document, followed = with_level(document, name, column, int(level))
        if followed:
            terminal.note(
                "{column}: {followed} followed, so that the chain holds.",
                column=column,
                followed=", ".join(followed),
            )
    return document


def _lines_of_views(found: Sequence[SeenBy]) -> Iterator[str]:
    for each in found:
        share = (
            worded(
                ", at most {suppression:.1f} % of the cells suppressed"
                if each.rule.cells
                else ", at most {suppression:.1f} % suppressed",
                suppression=100 * each.rule.suppression,
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
        worded("{unique:,} unique", unique=each.unique)
        if (each.unique or 0) <= each.view.unique
        else worded("{unique:,} unique on all columns unperturbed", unique=each.unique),
    )
    if each.by_unit:
        smallest = worded(
            "{smallest} of {units:,} {units:unit|units}", smallest=smallest, units=each.units
        )
        unique = worded(
            "{unique} ({unique_rows:,} {unique_rows:record|records})",
            unique=unique,
            unique_rows=each.unique_rows,
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
    if each.view.cells_apart:
        cells = each.view.suppressed_cells
        yield worded(
            "{cells:,} {cells:cell|cells} suppressed, in {rows:,} {rows:record|records}",
            cells=cells,
            rows=each.view.rows_with_cells,
        )


def _plain_together(together: AllTogether, seen: SeenBy | None) -> dict[str, object]:
    """Return what the virtual recipient gets as plain JSON values."""
    figures = {} if seen is None else _plain_views(seen)
    return {
        **{key: figures.get(key) for key in ("levels", "records", "smallest", "unique", "loss")},
        "recipient": None,
        "finest": list(together.finest),
        "most trusted": {key: list(names) for key, names in together.tops.items()},
        "gets": [str(each) for each in together.gets],
    }


def _plain_views(seen: SeenBy) -> dict[str, object]:
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
        "unique": seen.unique,
        "unique records": seen.unique_rows,
        "unique on quasi-identifiers": None if view is None else view.unique,
        "suppressed": None if view is None else view.suppressed_rows,
        "cells": bool(seen.rule.cells),
        "suppressed cells": None if view is None else view.suppressed_cells,
        "classes": None if view is None else view.classes,
        "loss": None if view is None else view.loss,
        "problem": str(seen.problem),
    }


VIEWS = Command(
    (
        *PROJECT,
        option("--recipient", "NAME", "for whom something is stated"),
        option("--k", "K", "the records, or units, of the smallest class", type=int),
        option(
            "--suppress",
            "SHARE",
            "the largest share of the records that may show * instead, such as 0.01; of the cells"
            " with --cells",
            type=float,
        ),
        flag("--cells", "suppress single cells in place of whole records"),
        flag("--rows", "suppress whole records"),
        repeated(
            "--importance",
            "COLUMN",
            "suppress cells of this quasi-identifier last; repeated, the most important first",
        ),
        repeated(
            "--level",
            "COLUMN=LEVEL",
            "show a quasi-identifier at this level; may be repeated. Others follow where the chain"
            " needs it",
        ),
        flag("--as-they-are", "show the recipient the quasi-identifiers as they are"),
        flag("--propose", "propose a hierarchy for every quasi-identifier that has none"),
        flag(
            "--propose-k",
            "set a group size k by the order of trust for every recipient without one",
        ),
        flag("--find", "find the levels that lose least, for the k and share of each recipient"),
        MEMORY,
        JSON,
    ),
    _run_views,
    (
        "sfumato views clinic.sfumato",
        'sfumato views clinic.sfumato --recipient "Public file" --k 20 --suppress 0.02',
        "sfumato views clinic.sfumato --propose --propose-k --find",
        'sfumato views clinic.sfumato --recipient "Institute" --cells --suppress 0.05 --find',
    ),
)
