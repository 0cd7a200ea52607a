"""Tables of counts: listing what was released, and making one for a recipient."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import (
    ACCEPT,
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    file_argument,
    flag,
    option,
    repeated,
)
from sfumato.commands.shared.groups import recipient_called
from sfumato.commands.shared.opening import MEMORY, open_project, opened_by_parts
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    from sfumato.analysis.readiness.verdicts import Readiness
    from sfumato.project.count_tables.held import CountTableRecord


def _run_table(arguments: Namespace, terminal: Terminal) -> ExitCode:
    stated = (arguments.recipient, arguments.epsilon, arguments.out)
    if not arguments.column and not arguments.check and all(each is None for each in stated):
        return _list(arguments, terminal)
    if arguments.check and arguments.column and None not in stated[:2]:
        return _check(arguments, terminal)
    if not arguments.column or any(each is None for each in stated):
        terminal.note(
            "A table of counts needs --column, --recipient, --epsilon and --out, or --check in"
            " place of --out. Without any of them, the released tables are listed."
        )
        return ExitCode.USAGE
    return _make(arguments, terminal)


def _make(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.readiness.readiness import plain as plain_findings
    from sfumato.analysis.tables.count_tables import release_counts
    from sfumato.project.count_tables.held import count_tables_in, loss_by_tables

    with opened_by_parts(arguments, terminal, 0.2, read_only=False) as (project, table, context):
        recipient = recipient_called(project.document, arguments.recipient)
        wanted = (arguments.column, recipient, arguments.epsilon, arguments.out)
        path, record, found = release_counts(
            project, table, *wanted, arguments.accept, arguments.zip, context
        )
        records, unit = count_tables_in(project.ledger.entries), project.document.unit
    rows = 1 if unit is None else unit.most_rows
    theirs = loss_by_tables(records, {recipient.name}, most_rows=rows)
    plain = {
        "path": str(path),
        **_plain(record),
        "epsilon_of_recipient": theirs,
        "epsilon_together": loss_by_tables(records, most_rows=rows),
        "readiness": plain_findings([found])[0],
    }
    terminal.tell(arguments.json, plain, [str(path)])
    if record.root != record.columns:
        terminal.note(
            "It was added from the noisy counts by {columns}, which were released before: to"
            " whoever has these at this ε it tells nothing more.",
            columns=", ".join(record.root),
        )
    for line in _lines_of_readiness(found):
        terminal.note(line)
    return ExitCode.OK


def _check(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.readiness.readiness import plain
    from sfumato.analysis.tables.count_tables import check_counts

    with opened_by_parts(arguments, terminal, 0.2) as (project, table, context):
        recipient = recipient_called(project.document, arguments.recipient)
        wanted = (arguments.column, recipient, arguments.epsilon)
        found = check_counts(project, table, *wanted, context)
    terminal.tell(arguments.json, plain([found])[0], _lines_of_readiness(found))
    return ExitCode.CHECK_FAILED if found.standing else ExitCode.OK


def _lines_of_readiness(found: Readiness) -> Iterator[str]:
    from sfumato.analysis.readiness.verdicts import verdict_of

    verdict = verdict_of(found)
    yield worded(
        "{recipient}: {standing}. {sentence}",
        recipient=found.recipient,
        standing=said(verdict.word),
        sentence=said(verdict.sentence),
    )
    for one in found.findings:
        yield f"  {said(one.severity.word).upper():<9}  {said(one.check)}: {said(one.sentence)}"
        if one.reason:
            yield worded("             Accepted: {reason}", reason=one.reason)


def _plain(record: CountTableRecord) -> dict[str, object]:
    return {
        "entry": record.number,
        "recorded_at": record.recorded_at,
        "recipient": record.recipient,
        "columns": list(record.columns),
        "added_from": list(record.root),
        "epsilon": record.epsilon,
        "rows_per_unit": record.most_rows,
        "edition": record.edition[:12],
        "noise": record.noise[:12],
        "target": record.target,
        "withdrawn": None if record.withdrawn is None else record.withdrawn.reason,
    }


def _list(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.count_tables.held import count_tables_in, loss_by_tables

    with open_project(arguments, terminal, read_only=True) as project:
        records, unit = count_tables_in(project.ledger.entries), project.document.unit
    names = list(dict.fromkeys(record.recipient for record in records))
    rows = 1 if unit is None else unit.most_rows
    losses = {name: loss_by_tables(records, {name}, most_rows=rows) for name in names}
    together = loss_by_tables(records, most_rows=rows)
    plain = {
        "tables": [_plain(record) for record in records],
        "epsilon_of_recipients": losses,
        "epsilon_together": together,
    }
    terminal.tell(arguments.json, plain, _lines(records, losses, together))
    return ExitCode.OK


def _lines(
    records: tuple[CountTableRecord, ...], losses: dict[str, float], together: float
) -> Iterator[str]:
    if not records:
        yield worded("No table of counts was released.")
        return
    for record in records:
        yield worded(
            "{number:>4}  {day}  {recipient}: by {columns}, ε = {epsilon:g}",
            number=record.number,
            day=record.day,
            recipient=record.recipient,
            columns=", ".join(record.columns),
            epsilon=record.epsilon,
        )
        if record.withdrawn is not None:
            yield worded(
                "      withdrawn on {day}: “{reason}”; it goes on counting",
                day=record.withdrawn.day,
                reason=record.withdrawn.reason,
            )
    for name, loss in losses.items():
        yield worded("{recipient} has ε = {loss:g} of a record in all.", recipient=name, loss=loss)
    yield worded(
        "All recipients together have ε = {loss:g}: of tables with the same noise the most trusted"
        " one counts; other tables and other editions are added.",
        loss=together,
    )


TABLE = Command(
    (
        *PROJECT,
        repeated("--column", "COLUMN", "a column that is counted by, one to four, in any order"),
        option("--recipient", "NAME", "who gets the table"),
        option(
            "--epsilon",
            "E",
            "ε: the odds on what is true of one record, or unit, change by at most e^ε",
            type=float,
        ),
        file_argument("--out", "DIR", "the folder that the bundle is put into"),
        flag("--zip", "one zip file in place of a folder"),
        flag("--check", "say what a record would have lost in all; nothing is made"),
        ACCEPT,
        MEMORY,
        JSON,
    ),
    _run_table,
    (
        "sfumato table clinic.sfumato",
        "sfumato table clinic.sfumato --column diagnosis --column sex --recipient Public"
        " --epsilon 0.5 --out tables",
    ),
)
