"""Say which releases a found file comes from."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from sfumato.commands.shared.command import (
    Command,
    ExitCode,
    add_json,
    add_passphrase,
    open_project,
)
from sfumato.commands.shared.files import source_of
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part
from sfumato.project.verification.leak import LeakReport, read_leak, trace_file


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="the file that was found: a table or a bundle"
    )
    parser.add_argument(
        "--project", type=Path, required=True, metavar="PROJECT", help="the project's file"
    )
    add_json(parser)
    add_passphrase(parser)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with (
        open_project(arguments, terminal, read_only=True) as project,
        terminal.working() as context,
    ):
        table = source_of(project, Part(context, 0.0, 0.3))
        leak = read_leak(arguments.file, Part(context, 0.3, 0.5))
        report = trace_file(project, table, leak, Part(context, 0.5, 1.0))
    if arguments.json:
        terminal.say(json.dumps(report_as_plain(report), indent=2))
    else:
        _say(report, terminal)
    return ExitCode.OK if report.traced.sources else ExitCode.CHECK_FAILED


def report_as_plain(report: LeakReport) -> dict[str, object]:
    """Return what was found as plain JSON values."""
    return {
        "rows": report.traced.rows,
        "mixed": report.traced.mixed,
        "altered_share": report.traced.altered,
        "table_share": report.traced.of_table,
        "compared_columns": list(report.compared),
        "ignored_columns": list(report.ignored),
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


def _say(report: LeakReport, terminal: Terminal) -> None:
    terminal.say(report.verdict)
    terminal.say(f"Compared: {', '.join(report.compared)}.")
    if report.ignored:
        terminal.say(f"Not in any release: {', '.join(report.ignored)}.")
    if report.traced.sources and report.traced.altered > 0.001:
        terminal.say(f"{report.traced.altered:.1%} of the rows come from no such release.")
    for suspect in report.traced.suspects:
        mark = "source" if suspect.is_source else "      "
        terminal.say(
            f"{mark}  {report.name_of(suspect)}: probability {suspect.posterior:.3g} as the only"
            f" source, {suspect.own_rows:,} rows found nowhere else"
        )


COMMAND = Command(_add_arguments, _run, ("sfumato trace found.csv --project clinic.sfumato",))
