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
from sfumato.commands.shared.opening import opened_by_parts
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import said, translated, worded

if TYPE_CHECKING:
    from sfumato.analysis.small_groups import Subject
    from sfumato.engine.disclosure.group_risk import Remedy, RiskLimits
    from sfumato.project.document.model import PolicyEntry

RULES = ("exact", "chernoff", "simplified")
_RULES = {
    "exact": Sentence("exact"),
    "chernoff": Sentence("Chernoff's"),
    "simplified": Sentence("simplified"),
}


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    reading = opened_by_parts(arguments, terminal, 0.24)
    with reading as (project, table, context):
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
        "attribute": subject.entry.key,
        "knows": list(subject.knowledge),
        "epsilon": limits.epsilon,
        "delta": limits.delta,
        "rule": limits.rule.value,
        "records": subject.rows.rows,
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
    knows = ", ".join(found["knows"]) or translated("nothing")
    yield (
        worded(
            "{attribute}, whoever knows {knows}; ε = {epsilon:g}, δ = {delta:g}, {rule} test",
            attribute=found["attribute"],
            knows=knows,
            epsilon=found["epsilon"],
            delta=found["delta"],
            rule=said(_RULES[found["rule"]]),
        )
    )
    width = max((len(each["recipient"]) for each in found["recipients"]), default=0)
    for each in found["recipients"]:
        told = worded(
            "level {level:.4g}: {violating_groups:,} of {groups:,} {groups:group|groups} of people"
            " alike can be estimated closely ({group_share:.2%}), {violating_records:,}"
            " {violating_records:record|records} ({record_share:.2%}); an estimate within"
            " {epsilon:.0%} with a confidence of up to {highest_confidence:.1%}",
            **{**each, "epsilon": found["epsilon"]},
        )
        yield f"{each['recipient']:<{width}}  {told}"
        if each["looked up by"]:
            yield f"  {said(each['looked up by'])}"
        for change in each.get("remedies", ()):
            yield (
                worded(
                    "  {change}: {violating_groups:,} of {groups:,} {groups:group|groups},"
                    " {violating_records:,} {violating_records:record|records}",
                    change=_change(change),
                    violating_groups=change["violating_groups"],
                    groups=change["groups"],
                    violating_records=change["violating_records"],
                )
            )


def _change(remedy: dict[str, Any]) -> str:
    column = remedy["column"]
    if remedy["level"] is not None:
        return worded(
            "{column} at level {level}, {classes} {classes:class|classes}",
            column=column,
            level=remedy["level"],
            classes=remedy["classes"],
        )
    if remedy["bins"] is not None:
        return worded("{column} in {bins} {bins:bin|bins}", column=column, bins=remedy["bins"])
    return worded("without {column}", column=column)


COMMAND = Command(
    (
        *PROJECT,
        repeated("--recipient", "NAME", "may be repeated; without it, all"),
        argument(
            "--epsilon",
            type=float,
            help=Sentence(
                "relative error (usual: what the policy promises groups, or {EPSILON:g})",
                EPSILON=EPSILON,
            ),
        ),
        argument(
            "--delta",
            type=float,
            help=Sentence(
                "how often it should be exceeded on either side (usual: as the policy promises,"
                " or {DELTA:g})",
                DELTA=DELTA,
            ),
        ),
        argument("--rule", choices=RULES, help="the test (usual: the policy's, or exact)"),
        flag("--remedies", "also say what releasing less would change"),
        *ATTRIBUTE,
    ),
    _run,
    ("sfumato risk clinic.sfumato --attribute diagnosis --remedies",),
)
