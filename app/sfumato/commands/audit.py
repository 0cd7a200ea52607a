"""``sfumato audit``: what coalitions learn, and the published experiments."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sfumato.commands.audits import all_audits
from sfumato.commands.shared.command import Command, ExitCode
from sfumato.commands.shared.terminal import Terminal


def _add_arguments(parser: ArgumentParser) -> None:
    audits = parser.add_subparsers(dest="audit", metavar="AUDIT", title="audits", required=True)
    for audit in all_audits():
        described = audits.add_parser(
            audit.name, help=audit.summary, description=audit.summary, allow_abbrev=False
        )
        audit.add_arguments(described)
        described.set_defaults(run_audit=audit.run)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    ending: ExitCode = arguments.run_audit(arguments, terminal)
    return ending


COMMAND = Command(
    "audit",
    "Weigh coalitions, or run the published experiments.",
    55,
    _add_arguments,
    _run,
    (
        'sfumato audit coalition clinic.sfumato --with "Public file" --with "Study group"',
        "sfumato audit experiment fig7 --json",
    ),
)
