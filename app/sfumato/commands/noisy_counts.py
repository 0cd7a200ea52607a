"""Examine what counts with Laplace noise give away about small groups."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from sfumato.commands.shared.command import Command, ExitCode, add_project, open_project
from sfumato.commands.shared.groups import Asked, add_attribute, read_question
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.group_risk import USUAL_DELTA, USUAL_EPSILON
from sfumato.engine.disclosure.noisy_answers import (
    check_error,
    check_loss,
    ratio_tails,
    riskiest_groups,
    shares_in_table,
)
from sfumato.project.release.attacker import attacked


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    parser.add_argument(
        "--loss", type=float, default=0.1, help="λ of one answer, default %(default)s"
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
        "--larger-than", type=int, default=70, metavar="N", help="records, default %(default)s"
    )
    parser.add_argument(
        "--groups", type=int, default=7, metavar="N", help="the most skewed, default %(default)s"
    )
    add_attribute(parser)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    check_loss(arguments.loss)
    check_error(arguments.epsilon)
    with (
        open_project(arguments, terminal, read_only=True) as project,
        terminal.working() as context,
    ):
        asked = read_question(arguments, project, Part(context, 0.0, 0.5))
        found = _examine(arguments, asked, Part(context, 0.5, 1.0))
    if arguments.json:
        terminal.say(json.dumps(found, indent=2))
    else:
        _print(found, terminal)
    return ExitCode.OK


def _examine(arguments: Namespace, asked: Asked, context: Context) -> dict[str, Any]:
    document, table = asked.material.document, asked.material.table
    known = attacked(document, table, asked.column, asked.knows, context)
    grouped = known.grouped
    groups = riskiest_groups(
        grouped.sizes, grouped.largest, arguments.larger_than, arguments.groups
    )
    tails = ratio_tails(
        grouped.sizes[groups], grouped.largest[groups], arguments.loss, arguments.epsilon
    )
    shares = shares_in_table(known.codes, grouped.commonest[groups], grouped.values)
    broken = tails.violates(arguments.delta)
    return {
        "attribute": known.attribute.name,
        "knows": list(asked.knows),
        "loss": arguments.loss,
        "epsilon": arguments.epsilon,
        "delta": arguments.delta,
        "groups": [
            {
                "records": int(grouped.sizes[group]),
                "share_in_group": float(grouped.shares[group]),
                "share_in_table": float(shares[place]),
                "too_high": float(tails.high[place]),
                "too_low": float(tails.low[place]),
                "within": float(tails.within[place]),
                "given_away": bool(broken[place]),
            }
            for place, group in enumerate(groups)
        ],
    }


def _print(found: dict[str, Any], terminal: Terminal) -> None:
    terminal.say(
        f"{found['attribute']}: two counts with Laplace noise, λ = {found['loss']:g} each;"
        f" ε = {found['epsilon']:g}, δ = {found['delta']:g}"
    )
    if not found["groups"]:
        terminal.say("No group is as large as that.")
        return
    terminal.say("records  share  in table  too high  too low  within  given away")
    for each in found["groups"]:
        terminal.say(
            f"{each['records']:>7,}  {each['share_in_group']:>5.0%}  {each['share_in_table']:>8.1%}"
            f"  {each['too_high']:>8.1%}  {each['too_low']:>7.1%}  {each['within']:>6.1%}"
            f"  {'yes' if each['given_away'] else 'no'}"
        )


COMMAND = Command(
    _add_arguments, _run, ("sfumato noisy-counts clinic.sfumato --attribute diagnosis --loss 0.1",)
)
