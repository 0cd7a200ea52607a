"""Weigh what recipients learn by pooling releases."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from sfumato.analysis.coalitions import plain, report_coalition, sentences
from sfumato.analysis.realized import realized_plain, realized_sentences, weigh_held
from sfumato.commands.shared.command import Command, ExitCode, add_project, open_project
from sfumato.commands.shared.files import source_of
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Context, Part
from sfumato.project.release.regenerate import Regenerator


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    parser.add_argument(
        "--with",
        dest="members",
        action="append",
        required=True,
        metavar="NAME",
        help="a member of the coalition; may be given several times",
    )
    parser.add_argument(
        "--what-if",
        type=float,
        metavar="P",
        help="also weigh one more recipient at this level (for uniform retention, p)",
    )
    parser.add_argument(
        "--released",
        action="store_true",
        help="weigh what the ledger says was released, instead of what the policy plans",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with (
        open_project(arguments, terminal, read_only=True) as project,
        terminal.working() as context,
    ):
        table = source_of(project, Part(context, 0.0, 0.4))
        regenerator = Regenerator(project.document, table, project.keys, (project.path.parent,))
        reports = report_coalition(
            project.document,
            regenerator.attributes(),
            arguments.members,
            arguments.what_if,
            Part(context, 0.4, 0.7),
            project.releases if arguments.released else None,
        )
        realized = [
            weigh_held(regenerator, report.held, _part(context, place, len(reports)))
            for place, report in enumerate(reports)
        ]
    if arguments.json:
        found = [
            plain(report) | {"realized": realized_plain(one)}
            for report, one in zip(reports, realized, strict=True)
        ]
        terminal.say(json.dumps(found, ensure_ascii=False))
        return ExitCode.OK
    for report, one in zip(reports, realized, strict=True):
        for sentence in (*sentences(report), *realized_sentences(one)):
            terminal.say(sentence)
    return ExitCode.OK


def _part(context: Context, place: int, count: int) -> Part:
    return Part(context, 0.7 + 0.3 * place / count, 0.7 + 0.3 * (place + 1) / count)


COMMAND = Command(_add_arguments, _run)
