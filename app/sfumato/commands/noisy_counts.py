"""Examine what counts with Laplace noise give away about small groups."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.commands.shared.command import PROJECT, Command, ExitCode, argument
from sfumato.commands.shared.groups import ATTRIBUTE, LIMITS, read_question
from sfumato.commands.shared.opening import opened_by_parts
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part
from sfumato.formats.language import translated, worded

if TYPE_CHECKING:
    from sfumato.analysis.small_groups import NoisyAnswer


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.small_groups import NoisyQuestion, answer_noisy
    from sfumato.engine.disclosure.count_queries import check_error, check_loss

    check_loss(arguments.loss)
    check_error(arguments.epsilon)
    reading = opened_by_parts(arguments, terminal, 0.4)
    with reading as (project, table, context):
        asked = read_question(arguments, project, table, Part(context, 0.0, 0.2))
        question = NoisyQuestion(
            arguments.loss,
            arguments.epsilon,
            arguments.delta,
            arguments.larger_than,
            arguments.groups,
        )
        answer = answer_noisy(asked, question, Part(context, 0.2, 1.0))
    found = _figures(answer, asked.knowledge)
    terminal.tell(arguments.json, found, _lines(found))
    return ExitCode.OK


def _figures(answer: NoisyAnswer, knowledge: Sequence[str]) -> dict[str, Any]:
    question, grouped, tails = answer.question, answer.known.grouped, answer.tails
    given_away = tails.violates(question.delta)
    return {
        "attribute": answer.known.attribute.name,
        "knows": list(knowledge),
        "loss": question.privacy_loss,
        "epsilon": question.epsilon,
        "delta": question.delta,
        "groups": [
            {
                "records": int(grouped.sizes[group]),
                "share_in_group": float(grouped.shares[group]),
                "share_in_table": float(answer.table_shares[place]),
                "too_high": float(tails.high[place]),
                "too_low": float(tails.low[place]),
                "within": float(tails.within[place]),
                "given_away": bool(given_away[place]),
            }
            for place, group in enumerate(answer.groups)
        ],
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield (
        worded(
            "{attribute}: two counts with Laplace noise, λ = {loss:g} each; ε = {epsilon:g}, δ ="
            " {delta:g}",
            attribute=found["attribute"],
            loss=found["loss"],
            epsilon=found["epsilon"],
            delta=found["delta"],
        )
    )
    if not found["groups"]:
        yield worded("No group is as large as that.")
        return
    yield worded("records   share   in table   too high   too low   within  given away")
    for each in found["groups"]:
        figures = worded(
            "{records:>7,}  {share_in_group:>5.0%}  {share_in_table:>8.1%}"
            "  {too_high:>8.1%}  {too_low:>7.1%}  {within:>6.1%}",
            **each,
        )
        yield f"{figures}  {translated('yes') if each['given_away'] else translated('no')}"


COMMAND = Command(
    (
        *PROJECT,
        argument("--loss", type=float, default=0.1, help="λ of one answer, default %(default)s"),
        *LIMITS,
        argument(
            "--larger-than",
            type=int,
            default=70,
            metavar="N",
            help="records, default %(default)s",
        ),
        argument(
            "--groups",
            type=int,
            default=7,
            metavar="N",
            help="the most skewed, default %(default)s",
        ),
        *ATTRIBUTE,
    ),
    _run,
    ("sfumato noisy-counts clinic.sfumato --attribute diagnosis --loss 0.1",),
)
