"""Weigh how closely pooled releases tell numbers."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from sfumato.analysis.pooled_numbers import plain, pool_numbers, sentences
from sfumato.commands.shared.command import Command, ExitCode, add_project, open_project
from sfumato.commands.shared.files import source_of
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part
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
        found = pool_numbers(
            project.document,
            regenerator.attributes(),
            arguments.members,
            Part(context, 0.4, 1.0),
            project.releases if arguments.released else None,
        )
    if arguments.json:
        terminal.say(json.dumps([plain(pooled) for pooled in found], ensure_ascii=False))
        return ExitCode.OK
    for pooled in found:
        for sentence in sentences(pooled):
            terminal.say(sentence)
    return ExitCode.OK


COMMAND = Command(_add_arguments, _run)
