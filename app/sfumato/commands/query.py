"""Answer count queries from each release, with the truth."""

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
    one_of,
    repeated,
)
from sfumato.commands.shared.groups import ATTRIBUTE, read_question
from sfumato.commands.shared.opening import opened_by_parts
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Part
from sfumato.formats.language import worded

if TYPE_CHECKING:
    from sfumato.analysis.query_desk import PoolResult, QueryDesk, QueryResult
    from sfumato.engine.core.values import Value

_MISSING = "(missing)"


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.query_desk import answer_pool, open_desk

    with opened_by_parts(arguments, terminal, 0.24) as (project, table, context):
        subject = read_question(arguments, project, table, Part(context, 0.0, 0.1))
        names = dict.fromkeys([*subject.knowledge, *(name for name, _ in _conditions(arguments))])
        subject = replace(subject, knowledge=tuple(names))
        desk = open_desk(subject, Part(context, 0.1, 0.6))
        if arguments.pool:
            found = _pool_figures(answer_pool(desk, Part(context, 0.6, 1.0)))
        else:
            found = _query_figures(_ask(arguments, desk))
    terminal.tell(
        arguments.json, found, _pool_lines(found) if arguments.pool else _query_lines(found)
    )
    return ExitCode.OK


def _conditions(arguments: Namespace) -> list[tuple[str, str]]:
    """Return the conditions as pairs of a column and a text.

    Raises
    ------
    EstimationError
        If one has no equals sign.
    """
    pairs = []
    for place, text in enumerate(arguments.where, start=1):
        name, equals, value = text.partition("=")
        if not equals:
            raise EstimationError(
                "Condition {place} is not of the form COLUMN=VALUE.",
                "Write --where COLUMN=VALUE.",
                place=place,
            )
        pairs.append((name, value))
    return pairs


def _ask(arguments: Namespace, desk: QueryDesk) -> QueryResult:
    domain = desk.known.attribute.domain
    names = domain.names if domain is not None else ()
    if arguments.value not in names:
        raise EstimationError(
            "The value that is counted is not in the domain of {column}.",
            "Give one of its {count} {count:value|values} as the domain shows it.",
            column=desk.known.attribute.name,
            count=len(names),
        )
    conditions = {name: _value_of(desk, name, text) for name, text in _conditions(arguments)}
    return desk.ask(conditions, names.index(arguments.value))


def _value_of(desk: QueryDesk, name: str, text: str) -> Value:
    """Return the value of a public column that is written like this."""
    from sfumato.engine.core.values import plain

    if text == _MISSING:
        return None
    for attribute in desk.known.grouped.attributes:
        if attribute.name == name:
            for value in map(plain, attribute.values):
                if text == (f"{value:.15g}" if isinstance(value, float) else str(value)):
                    return value
    return text  # whoever looks for it says that no record has it


def _query_figures(result: QueryResult) -> dict[str, Any]:
    return {
        "truth": result.truth,
        "matching": result.matching,
        "answers": [
            {
                "recipient": each.recipient,
                "estimate": each.answer.estimate,
                "low": each.answer.low,
                "high": each.answer.high,
                "observed": each.answer.observed,
            }
            for each in result.answers
        ],
    }


def _pool_figures(result: PoolResult) -> dict[str, Any]:
    return {
        "queries": result.queries,
        "errors": [
            {
                "recipient": each.recipient,
                "mean": each.mean,
                "lower_quartile": each.quartiles[0],
                "median": each.quartiles[1],
                "upper_quartile": each.quartiles[2],
            }
            for each in result.recipients
        ],
    }


def _query_lines(found: dict[str, Any]) -> Iterator[str]:
    yield worded(
        "{truth:,} of {matching:,} matching {matching:record|records} {truth:has|have} the value.",
        truth=found["truth"],
        matching=found["matching"],
    )
    width = max((len(each["recipient"]) for each in found["answers"]), default=0)
    for each in found["answers"]:
        told = worded("{estimate:,.1f}  ({low:,.1f} to {high:,.1f})", **each)
        yield f"{each['recipient']:<{width}}  {told}"


def _pool_lines(found: dict[str, Any]) -> Iterator[str]:
    yield worded(
        "{queries:,} random count {queries:query|queries}, relative error:",
        queries=found["queries"],
    )
    width = max((len(each["recipient"]) for each in found["errors"]), default=0)
    for each in found["errors"]:
        told = worded(
            "mean {mean:.1%}, median {median:.1%},"
            " middle half {lower_quartile:.1%} to {upper_quartile:.1%}",
            **each,
        )
        yield f"{each['recipient']:<{width}}  {told}"


COMMAND = Command(
    (
        *PROJECT,
        one_of(
            argument("--value", help="the sensitive value that is counted"),
            flag("--pool", "answer 5,000 random queries and tell the errors"),
            required=True,
        ),
        repeated(
            "--where",
            "COLUMN=VALUE",
            "a condition on a public column; may be repeated, (missing) asks for missing",
            default=[],
        ),
        *ATTRIBUTE,
    ),
    _run,
    (
        "sfumato query clinic.sfumato --attribute diagnosis --value Asthma --where sex=female",
        "sfumato query clinic.sfumato --attribute diagnosis --pool",
    ),
)
