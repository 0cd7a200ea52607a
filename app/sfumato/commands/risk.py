"""Examine which small groups a release gives away."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from sfumato.analysis.remedies import examined_remedies
from sfumato.commands.shared.command import Command, ExitCode, add_project, open_project
from sfumato.commands.shared.groups import Asked, add_attribute, read_question, recipient_called
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.group_risk import (
    USUAL_DELTA,
    USUAL_EPSILON,
    GroupRisk,
    RiskLimits,
    group_risk,
)
from sfumato.engine.disclosure.remedies import Remedy
from sfumato.engine.mechanisms.reconstruction.privacy import Rule
from sfumato.project.release.attacker import attacked, exposure


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    parser.add_argument(
        "--recipient", action="append", metavar="NAME", help="may be repeated; without it, all"
    )
    parser.add_argument(
        "--epsilon", type=float, default=USUAL_EPSILON, help="relative error, default %(default)s"
    )
    parser.add_argument(
        "--delta",
        type=float,
        default=USUAL_DELTA,
        help="how often it should be exceeded on either side, default %(default)s",
    )
    parser.add_argument(
        "--rule",
        choices=[rule.value for rule in Rule],
        default=Rule.EXACT.value,
        help="the test, default %(default)s",
    )
    parser.add_argument(
        "--remedies", action="store_true", help="also say what releasing less would change"
    )
    add_attribute(parser)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    limits = RiskLimits(arguments.epsilon, arguments.delta, Rule(arguments.rule))
    limits.check()
    with (
        open_project(arguments, terminal, read_only=True) as project,
        terminal.working() as context,
    ):
        asked = read_question(arguments, project, Part(context, 0.0, 0.3))
        found = _examine(arguments, asked, limits, Part(context, 0.3, 1.0))
    if arguments.json:
        terminal.say(json.dumps(found, indent=2))
    else:
        _print(found, terminal)
    return ExitCode.OK


def _examine(
    arguments: Namespace, asked: Asked, limits: RiskLimits, context: Context
) -> dict[str, Any]:
    """Examine the releases of the recipients that the arguments name."""
    document, table = asked.material.document, asked.material.table
    known = attacked(document, table, asked.column, asked.knows, Part(context, 0.0, 0.2))
    names = arguments.recipient or [recipient.name for recipient in document.recipients]
    found = []
    for place, name in enumerate(names):
        part = Part(context, 0.2 + 0.8 * place / len(names), 0.2 + 0.8 * (place + 1) / len(names))
        recipient = recipient_called(asked, name)
        shown = exposure(document, asked.entry, known, recipient)
        risk = group_risk(known.grouped, shown.matrix, limits, Part(part, 0.0, 0.5), shown.trials)
        entry = {"recipient": name, "level": shown.level, **_figures(risk)}
        if arguments.remedies:
            found_remedies = examined_remedies(
                document, table, asked.entry, known, shown, limits, Part(part, 0.5, 1.0)
            )
            entry["remedies"] = [_remedy(each) for each in found_remedies]
        found.append(entry)
    return {
        "attribute": asked.column.attribute.name,
        "knows": list(asked.knows),
        "epsilon": limits.epsilon,
        "delta": limits.delta,
        "rule": limits.rule.value,
        "groups": known.grouped.groups,
        "records": known.grouped.records,
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


def _remedy_words(remedy: dict[str, Any]) -> str:
    column = remedy["column"]
    if remedy["level"] is not None:
        return f"{column} at level {remedy['level']}, {remedy['classes']} classes"
    if remedy["bins"] is not None:
        return f"{column} in {remedy['bins']} bins"
    return f"without {column}"


def _figures(risk: GroupRisk) -> dict[str, Any]:
    worst = int(risk.tails.within.argmax())
    return {
        "violating_groups": risk.total.groups,
        "violating_records": risk.total.records,
        "group_share": risk.total.group_share,
        "record_share": risk.total.record_share,
        "highest_confidence": float(risk.tails.within[worst]),
        "tails": "exact" if risk.tails.exact else "approximate",
        "tails_error": risk.tails.error,
    }


def _print(found: dict[str, Any], terminal: Terminal) -> None:
    knows = ", ".join(found["knows"]) or "nothing"
    terminal.say(
        f"{found['attribute']}: {found['groups']:,} groups of people alike in {knows};"
        f" ε = {found['epsilon']:g}, δ = {found['delta']:g}, {found['rule']} test"
    )
    width = max((len(each["recipient"]) for each in found["recipients"]), default=0)
    for each in found["recipients"]:
        terminal.say(
            f"{each['recipient']:<{width}}  level {each['level']:.4g}:"
            f" {each['violating_groups']:,} groups given away ({each['group_share']:.2%}),"
            f" {each['violating_records']:,} records ({each['record_share']:.2%});"
            f" an estimate within {found['epsilon']:.0%} with a confidence of up to"
            f" {each['highest_confidence']:.1%}"
        )
        for change in each.get("remedies", ()):
            terminal.say(
                f"  {_remedy_words(change)}: {change['violating_groups']:,} of"
                f" {change['groups']:,} groups, {change['violating_records']:,} records"
            )


COMMAND = Command(
    _add_arguments, _run, ("sfumato risk clinic.sfumato --attribute diagnosis --remedies",)
)
