"""Examine which small groups a release gives away."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.commands.shared.command import (
    PROJECT,
    Command,
    ExitCode,
    argument,
    flag,
    part_of,
    repeated,
)
from sfumato.commands.shared.groups import (
    ATTRIBUTE,
    DELTA,
    EPSILON,
    read_question,
    recipient_called,
)
from sfumato.commands.shared.opening import opened
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Context, Part

if TYPE_CHECKING:
    from sfumato.analysis.small_groups import Subject
    from sfumato.engine.disclosure.group_risk import Remedy, RiskLimits
    from sfumato.project.document.model import PolicyEntry

RULES = ("exact", "chernoff", "simplified")


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with opened(arguments, terminal, 0.24) as (project, table, context):
        subject = read_question(arguments, project, table, Part(context, 0.0, 0.1))
        found = _examine(arguments, subject, Part(context, 0.1, 1.0))
    terminal.tell(arguments.json, found, _lines(found))
    return ExitCode.OK


def _limits(arguments: Namespace, entry: PolicyEntry) -> RiskLimits:
    """Return what the arguments ask for, and otherwise what the policy promises."""
    from sfumato.analysis.small_groups import promised_limits
    from sfumato.engine.disclosure.group_privacy import Rule

    stated = {name: getattr(arguments, name) for name in ("epsilon", "delta", "rule")}
    given = {name: value for name, value in stated.items() if value is not None}
    if "rule" in given:
        given["rule"] = Rule(given["rule"])
    limits = replace(promised_limits(entry), **given)
    limits.check()
    return limits


def _examine(arguments: Namespace, subject: Subject, context: Context) -> dict[str, Any]:
    """Examine the releases of the recipients that the arguments name."""
    from sfumato.analysis.small_groups import answer_risk, risk_figures, with_remedies

    limits = _limits(arguments, subject.entry)
    names = arguments.recipient or [recipient.name for recipient in subject.document.recipients]
    recipients = [recipient_called(subject.document, name) for name in names]
    everybody = subject.known_to_each(names, Part(context, 0.0, 0.2))
    found = []
    for place, (recipient, known) in enumerate(zip(recipients, everybody, strict=True)):
        part = part_of(Part(context, 0.2, 1.0), place, len(names))
        answer = answer_risk(subject, known, recipient, limits, Part(part, 0.0, 0.5))
        figures = risk_figures(answer)
        if arguments.remedies:
            answer = with_remedies(subject, answer, Part(part, 0.5, 1.0))
            figures["remedies"] = [_remedy(each) for each in answer.remedies]
        found.append(figures)
    return {
        "attribute": subject.column.attribute.name,
        "knows": list(subject.knowledge),
        "epsilon": limits.epsilon,
        "delta": limits.delta,
        "rule": limits.rule.value,
        "records": subject.table.rows,
        "recipients": found,
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    change, total = remedy.change, remedy.total
    return {
        "column": change.attribute,
        "bins": change.bins,
        "level": change.level,
        "classes": change.classes,
        "groups": total.all_groups,
        "violating_groups": total.groups,
        "violating_records": total.records,
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    knows = ", ".join(found["knows"]) or "nothing"
    yield (
        f"{found['attribute']}, whoever knows {knows};"
        f" ε = {found['epsilon']:g}, δ = {found['delta']:g}, {found['rule']} test"
    )
    width = max((len(each["recipient"]) for each in found["recipients"]), default=0)
    for each in found["recipients"]:
        yield (
            f"{each['recipient']:<{width}}  level {each['level']:.4g}:"
            f" {each['violating_groups']:,} of {each['groups']:,} groups of people alike can be"
            f" estimated closely ({100 * each['group_share']:.2f} %),"
            f" {each['violating_records']:,} records ({100 * each['record_share']:.2f} %);"
            f" an estimate within {100 * found['epsilon']:.0f} % with a confidence of up to"
            f" {100 * each['highest_confidence']:.1f} %"
        )
        if each["looked up by"]:
            yield f"  {each['looked up by']}"
        for change in each.get("remedies", ()):
            yield (
                f"  {_change(change)}: {change['violating_groups']:,} of"
                f" {change['groups']:,} groups, {change['violating_records']:,} records"
            )


def _change(remedy: dict[str, Any]) -> str:
    column = remedy["column"]
    if remedy["level"] is not None:
        return f"{column} at level {remedy['level']}, {remedy['classes']} classes"
    if remedy["bins"] is not None:
        return f"{column} in {remedy['bins']} bins"
    return f"without {column}"


COMMAND = Command(
    (
        *PROJECT,
        repeated("--recipient", "NAME", "may be repeated; without it, all"),
        argument(
            "--epsilon",
            type=float,
            help=f"relative error (usual: what the policy promises groups, or {EPSILON:g})",
        ),
        argument(
            "--delta",
            type=float,
            help="how often it should be exceeded on either side (usual: as the policy promises,"
            f" or {DELTA:g})",
        ),
        argument("--rule", choices=RULES, help="the test (usual: the policy's, or exact)"),
        flag("--remedies", "also say what releasing less would change"),
        *ATTRIBUTE,
    ),
    _run,
    ("sfumato risk clinic.sfumato --attribute diagnosis --remedies",),
)
