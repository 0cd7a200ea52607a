"""Weigh what is learned by pooling releases or rows, and from open columns."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

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
from sfumato.commands.shared.groups import recipient_called
from sfumato.commands.shared.opening import opened
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part

if TYPE_CHECKING:
    from sfumato.analysis.open_figures import OpenFigure
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
_BY: Final = repeated(
    "--by",
    "COLUMN",
    "a column whose values say which rows belong together, in place of those that look so; may be"
    " given several times",
    dest="columns",
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
    from sfumato.analysis.open_columns import figures_beside, weigh_open_columns
    from sfumato.analysis.realized import realized_plain, realized_sentences, weigh_held
    from sfumato.analysis.shown_columns import ShownColumns

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
        findings = weigh_open_columns(
            regenerator.document, ShownColumns(table), Part(context, 0.5, 0.7)
        )
        attributes = regenerator.attributes()
        rest = Part(context, 0.7, 1.0)
        found = [
            (
                report,
                figures_beside(findings, report.answer.members[0], attributes),
                weigh_held(regenerator, report.answer.members, part_of(rest, at, len(reports))),
            )
            for at, report in enumerate(reports)
        ]
    terminal.tell(
        arguments.json,
        [
            plain(report) | {"realized": realized_plain(one)} | _figures(beside)
            for report, beside, one in found
        ],
        (
            line
            for report, beside, one in found
            for line in (*sentences(report), *_lines(beside), *realized_sentences(one))
        ),
    )
    return ExitCode.OK


def _numbers(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.holdings import Basis
    from sfumato.analysis.open_columns import figures_beside, weigh_open_columns
    from sfumato.analysis.pooled_numbers import plain, pool_numbers, sentences
    from sfumato.analysis.shown_columns import ShownColumns

    with opened(arguments, terminal, 0.4) as (project, table, context):
        regenerator = _in_force(arguments, project, table)
        found = pool_numbers(
            regenerator.document,
            regenerator.attributes(),
            arguments.members,
            Part(context, 0.0, 0.7),
            project.releases,
            Basis.RELEASED if arguments.released else Basis.PLANNED,
        )
        findings = weigh_open_columns(
            regenerator.document, ShownColumns(table), Part(context, 0.7, 1.0)
        )
        attributes = regenerator.attributes()
        told = [
            (pooled, figures_beside(findings, pooled.coalition.members[0], attributes))
            for pooled in found
        ]
    terminal.tell(
        arguments.json,
        [plain(pooled) | _figures(beside) for pooled, beside in told],
        (line for pooled, beside in told for line in (*sentences(pooled), *_lines(beside))),
    )
    return ExitCode.OK


def _units(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.holdings import Basis
    from sfumato.analysis.pooled_rows import pooled_rows
    from sfumato.engine.table.repeated_units import find_repeated_units, repeated_unit
    from sfumato.project.release.release_columns import material_of

    with opened(arguments, terminal, 0.4) as (project, table, context):
        looking, pooling = Part(context, 0.0, 0.5), Part(context, 0.5, 1.0)
        units = (
            tuple(repeated_unit(table, name, looking) for name in dict.fromkeys(arguments.columns))
            if arguments.columns
            else find_repeated_units(table, looking)
        )
        encoded = material_of(project.document, table).encoded
        basis = Basis.RELEASED if arguments.released else Basis.PLANNED
        found = pooled_rows(project.document, encoded, units, project.releases, basis, pooling)
    lines = [one.sentence for one in found] or [
        "No sensitive attribute of the policy is the same in all rows that share a value of"
        " another column."
    ]
    terminal.tell(arguments.json, [one.plain() for one in found], lines)
    return ExitCode.OK


def _open(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.open_columns import answer_open_columns, plain, sentences
    from sfumato.analysis.shown_columns import ShownColumns
    from sfumato.project.release.release_columns import attributes_of

    names = tuple(arguments.recipient or ())
    with opened(arguments, terminal, 0.3) as (project, table, context):
        for name in names:
            recipient_called(project.document, name)
        attributes = attributes_of(project.document, table)
        columns = ShownColumns(table)
        answer = answer_open_columns(project.document, columns, attributes, context)
    terminal.tell(arguments.json, plain(answer, names), sentences(answer, names))
    return ExitCode.OK


def _figures(beside: Sequence[OpenFigure]) -> dict[str, Any]:
    """Return what the most trusted member learns with the open columns, as JSON values."""
    return {"open columns": [figure.plain() for figure in beside]}


def _lines(beside: Sequence[OpenFigure]) -> Iterator[str]:
    """Return the same as lines below a coalition's."""
    from sfumato.analysis.open_columns import figure_sentences

    for sentence in figure_sentences(beside):
        yield f"  {sentence}"


AUDITS: Final = {
    "coalition": (
        "Weigh what recipients learn by pooling releases.",
        Command((*PROJECT, _COALITION[0], _WHAT_IF, *_COALITION[1:]), _coalition),
    ),
    "numbers": (
        "Weigh how closely pooled releases tell numbers.",
        Command((*PROJECT, *_COALITION), _numbers),
    ),
    "units": (
        "Weigh what pooling the rows of one person or household restores.",
        Command((*PROJECT, _BY, *_COALITION[1:]), _units),
    ),
    "open": (
        "Weigh what the columns released unchanged tell of the sensitive ones.",
        Command(
            (*PROJECT, repeated("--recipient", "NAME", "may be repeated; without it, all"), JSON),
            _open,
        ),
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
        "sfumato audit units clinic.sfumato",
        "sfumato audit open clinic.sfumato",
    ),
)
