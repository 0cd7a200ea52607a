"""Weigh what coalitions learn: of values, or of numbers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    argument,
    flag,
    part_of,
    repeated,
)
from sfumato.commands.shared.opening import opened
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part

if TYPE_CHECKING:
    from sfumato.engine.table.table import Table
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.regenerate import Regenerator

_COALITION: Final = (
    repeated(
        "--with",
        "NAME",
        "a member of the coalition: a recipient, or who holds an adopted release; may be given"
        " several times",
        dest="members",
        required=True,
    ),
    flag("--released", "weigh what the ledger says was released, instead of what the policy plans"),
    JSON,
)
_WHAT_IF: Final = argument(
    "--what-if",
    type=float,
    metavar="P",
    help="also weigh one more recipient at this level (for uniform retention, p)",
)


def _in_force(arguments: Namespace, project: ProjectFile, table: Table) -> Regenerator:
    """Return what makes the values again: by the policy in force at the last release, or today."""
    from sfumato.project.release.policies import PoliciesInForce

    folders = (project.path.parent,)
    policies = PoliciesInForce(project.document, table, project.keys, folders)
    return policies.latest(project.releases) if arguments.released else policies.today


def _coalition(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.coalitions import plain, report_coalition, sentences
    from sfumato.analysis.holdings import Basis
    from sfumato.analysis.realized import realized_plain, realized_sentences, weigh_held

    with opened(arguments, terminal, 0.4) as (project, table, context):
        regenerator = _in_force(arguments, project, table)
        reports = report_coalition(
            regenerator.document,
            regenerator.attributes(),
            arguments.members,
            arguments.what_if,
            Part(context, 0.0, 0.5),
            project.releases,
            Basis.RELEASED if arguments.released else Basis.PLANNED,
        )
        rest = Part(context, 0.5, 1.0)
        found = [
            (
                report,
                weigh_held(regenerator, report.answer.members, part_of(rest, at, len(reports))),
            )
            for at, report in enumerate(reports)
        ]
    terminal.tell(
        arguments.json,
        [plain(report) | {"realized": realized_plain(one)} for report, one in found],
        (line for report, one in found for line in (*sentences(report), *realized_sentences(one))),
    )
    return ExitCode.OK


def _numbers(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.holdings import Basis
    from sfumato.analysis.pooled_numbers import plain, pool_numbers, sentences

    with opened(arguments, terminal, 0.4) as (project, table, context):
        regenerator = _in_force(arguments, project, table)
        found = pool_numbers(
            regenerator.document,
            regenerator.attributes(),
            arguments.members,
            context,
            project.releases,
            Basis.RELEASED if arguments.released else Basis.PLANNED,
        )
    terminal.tell(
        arguments.json,
        [plain(pooled) for pooled in found],
        (line for pooled in found for line in sentences(pooled)),
    )
    return ExitCode.OK


AUDITS: Final = {
    "coalition": (
        "Weigh what recipients learn by pooling releases.",
        Command((*PROJECT, _COALITION[0], _WHAT_IF, *_COALITION[1:]), _coalition),
    ),
    "numbers": (
        "Weigh how closely pooled releases tell numbers.",
        Command((*PROJECT, *_COALITION), _numbers),
    ),
}
"""What can be audited, with its summary; each is a command of its own."""


class _Audits:
    """The audits, one of which is named."""

    def add_to(self, parser: ArgumentParser) -> None:
        """Describe the audits to a parser."""
        below = parser.add_subparsers(dest="audit", metavar="AUDIT", title="audits", required=True)
        for name, (summary, audit) in AUDITS.items():
            described = below.add_parser(
                name, help=summary, description=summary, allow_abbrev=False
            )
            audit.add_to(described)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    return AUDITS[arguments.audit][1].run(arguments, terminal)


COMMAND = Command(
    (_Audits(),),
    _run,
    (
        'sfumato audit coalition clinic.sfumato --with "Public file" --with "Study group"',
        'sfumato audit numbers clinic.sfumato --with "Public file" --json',
    ),
)
