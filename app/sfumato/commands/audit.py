"""Weigh coalitions, or run the published experiments."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sfumato.commands import audits, command_called, command_names, summary_of
from sfumato.commands.shared.command import Command, ExitCode
from sfumato.commands.shared.terminal import Terminal

_ORDER = ("coalition", "numbers", "experiment")


def _add_arguments(parser: ArgumentParser) -> None:
    below = parser.add_subparsers(dest="audit", metavar="AUDIT", title="audits", required=True)
    for name in command_names(audits.__name__, _ORDER):
        summary = summary_of(name, audits.__name__)
        audit = command_called(name, audits.__name__)
        described = below.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        audit.add_arguments(described)
        described.set_defaults(run_audit=audit.run)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    ending: ExitCode = arguments.run_audit(arguments, terminal)
    return ending


COMMAND = Command(
    _add_arguments,
    _run,
    (
        'sfumato audit coalition clinic.sfumato --with "Public file" --with "Study group"',
        "sfumato audit experiment fig7 --json",
    ),
)
