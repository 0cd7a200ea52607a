"""Files that turn up: examining a bundle, and saying which releases a file comes from."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import (
    BY_PROJECT,
    JSON,
    PASSPHRASE,
    Command,
    ExitCode,
    Terminal,
    file_argument,
    lines_of_verification,
    seal_as_check,
)
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.engine.core.progress import Part
from sfumato.formats.language import translated, worded
from sfumato.project.errors import LedgerTampered

if TYPE_CHECKING:
    from sfumato.formats.notes import Note
    from sfumato.project.verification.leak_report import LeakReport


def _run_verify(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.verification.found import verify_file

    try:
        with opened_by_parts(arguments, terminal, 0.3) as (project, table, context):
            chain = seal_as_check(project.tampering)
            report = verify_file(project, table, arguments.bundle, context)
    except LedgerTampered as tampering:
        checks = [seal_as_check(tampering)]
        added: tuple[str, ...] = ()
        withdrawn = None
    else:
        checks, added = [chain, *report.checks], report.added
        withdrawn = None if report.release is None else report.release.withdrawn
    holds = all(check.holds for check in checks)
    terminal.tell(
        arguments.json,
        {
            "holds": holds,
            "checks": [
                {"title": check.title, "holds": check.holds, "finding": check.finding}
                for check in checks
            ],
            "added_files": list(added),
            "withdrawn": None if withdrawn is None else asdict(withdrawn),
        },
        lines_of_verification(checks),
    )
    return ExitCode.OK if holds else ExitCode.CHECK_FAILED


VERIFY = Command(
    (
        file_argument("bundle", "BUNDLE", "the bundle, folder or zip, or any file of one"),
        BY_PROJECT,
        MEMORY,
        JSON,
        PASSPHRASE,
    ),
    _run_verify,
    ("sfumato verify bundles/Clinic-Public-file --project clinic.sfumato",),
)


def _run_trace(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.count_tables.tracing import trace_counts
    from sfumato.project.release.long_table import LongTable
    from sfumato.project.verification.leak import read_leak, trace_file

    with opened_by_parts(arguments, terminal, 0.3) as (project, table, context):
        rows = LongTable.of(table, project.path.parent)
        counts = trace_counts(project, rows, arguments.file, Part(context, 0.0, 0.2))
        if counts is not None:
            plain = {
                "recipients": list(counts.recipients),
                "share": counts.share,
                "verdict": str(counts.verdict),
            }
            terminal.tell(arguments.json, {"count_table": plain}, [counts.verdict])
            return ExitCode.OK if counts.is_traced else ExitCode.CHECK_FAILED
        notes: list[Note] = []
        leak = read_leak(arguments.file, Part(context, 0.0, 0.3), notes.append)
        report = trace_file(project, table, leak, Part(context, 0.3, 1.0)).beside(notes)
    terminal.tell(arguments.json, _plain_trace(report), _lines_of_trace(report))
    return ExitCode.OK if report.is_traced else ExitCode.CHECK_FAILED


def _plain_trace(report: LeakReport) -> dict[str, object]:
    """Return what was found as plain JSON values."""
    return {
        "rows": report.traced.rows,
        "mixed": report.traced.mixed,
        "mixed_by": report.traced.rule,
        "altered_share": report.traced.altered,
        "table_share": report.traced.of_table,
        "compared_columns": list(report.compared),
        "ignored_columns": list(report.ignored),
        "matched_columns": dict(report.matched),
        "withdrawn": str(report.withdrawn) or None,
        "remarks": [str(remark) for remark in report.remarks],
        "pseudonyms": [
            {
                "column": match.column,
                "of": match.of,
                "recipients": list(match.recipients),
                "rows": match.rows,
                "share": match.rows / match.all_rows,
            }
            for match in report.pseudonyms
        ],
        "releases": [
            {
                "recipients": report.name_of(suspect),
                "is_source": suspect.is_source,
                "share": suspect.share,
                "probability": suspect.posterior,
                "log_likelihood": suspect.log_likelihood,
                "chance": suspect.chance,
                "rows_only_here": suspect.own_rows,
            }
            for suspect in report.traced.suspects
        ],
    }


def _lines_of_trace(report: LeakReport) -> Iterator[str]:
    yield report.verdict
    if report.withdrawn:
        yield report.withdrawn
    for remark in report.remarks:
        yield worded("Caution: {text}", text=remark)
    yield worded("Compared: {compared}.", compared=", ".join(report.compared))
    if report.matches:
        yield report.matches
    if report.ignored:
        columns = ", ".join(report.ignored)
        yield worded("Not recognized, so not compared: {columns}.", columns=columns)
    if report.traced.sources and report.traced.altered > 0.001:
        yield worded(
            "The likeliest share of rows that come from no such release: {altered:.1f} %.",
            altered=100 * report.traced.altered,
        )
    for suspect in report.traced.suspects:
        mark = translated("source") if suspect.is_source else "      "
        yield worded(
            "{mark}  {name_of}: probability {posterior:.3g} as the only source, {own_rows:,}"
            " {own_rows:row|rows} found nowhere else",
            mark=mark,
            name_of=report.name_of(suspect),
            posterior=suspect.posterior,
            own_rows=suspect.own_rows,
        )


TRACE = Command(
    (
        file_argument("file", "FILE", "the file that was found: a table or a bundle, also zipped"),
        BY_PROJECT,
        MEMORY,
        JSON,
        PASSPHRASE,
    ),
    _run_trace,
    ("sfumato trace found.csv --project clinic.sfumato",),
)
