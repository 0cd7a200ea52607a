"""Answer count queries from each release, with the truth."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from sfumato.analysis.query_desk import PoolResult, QueryDesk, QueryResult, answer_pool, open_desk
from sfumato.commands.shared.command import Command, ExitCode, add_project, open_project
from sfumato.commands.shared.groups import Asked, add_attribute, read_question
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Part
from sfumato.engine.core.values import Value, plain

_MISSING = "(missing)"


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--value", help="the sensitive value that is counted")
    kind.add_argument(
        "--pool", action="store_true", help="answer 5,000 random queries and tell the errors"
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="a condition on a public column; may be repeated, (missing) asks for missing",
    )
    add_attribute(parser)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with (
        open_project(arguments, terminal, read_only=True) as project,
        terminal.working() as context,
    ):
        asked = read_question(arguments, project, Part(context, 0.0, 0.3))
        names = dict.fromkeys([*asked.knows, *(name for name, _ in _conditions(arguments))])
        desk = open_desk(
            asked.material.document,
            asked.material.table,
            asked.column,
            tuple(names),
            project.keys,
            Part(context, 0.3, 0.7),
        )
        if arguments.pool:
            found = _pool_figures(answer_pool(desk, Part(context, 0.7, 1.0)))
        else:
            found = _query_figures(_ask(arguments, asked, desk))
    if arguments.json:
        terminal.say(json.dumps(found, indent=2))
    elif arguments.pool:
        _print_pool(found, terminal)
    else:
        _print_query(found, terminal)
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


def _ask(arguments: Namespace, asked: Asked, desk: QueryDesk) -> QueryResult:
    domain = asked.column.attribute.domain
    names = domain.names if domain is not None else ()
    if arguments.value not in names:
        raise EstimationError(
            "The value that is counted is not in the domain of {column}.",
            "Give one of its {count} values as the domain shows it.",
            column=asked.column.attribute.name,
            count=len(names),
        )
    conditions = {name: _value_of(desk, name, text) for name, text in _conditions(arguments)}
    return desk.ask(conditions, names.index(arguments.value))


def _value_of(desk: QueryDesk, name: str, text: str) -> Value:
    """Return the value of a public column that is written like this."""
    if text == _MISSING:
        return None
    for attribute in desk.known.grouped.attributes:
        if attribute.name == name:
            for value in attribute.values:
                if _written(plain(value)) == text:
                    return plain(value)
    return text  # whoever looks for it says that no record has it


def _written(value: Value) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


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


def _print_query(found: dict[str, Any], terminal: Terminal) -> None:
    terminal.say(f"{found['truth']:,} of {found['matching']:,} matching records have the value.")
    width = max((len(each["recipient"]) for each in found["answers"]), default=0)
    for each in found["answers"]:
        terminal.say(
            f"{each['recipient']:<{width}}  {each['estimate']:,.1f}"
            f"  ({each['low']:,.1f} to {each['high']:,.1f})"
        )


def _print_pool(found: dict[str, Any], terminal: Terminal) -> None:
    terminal.say(f"{found['queries']:,} random count queries, relative error:")
    width = max((len(each["recipient"]) for each in found["errors"]), default=0)
    for each in found["errors"]:
        terminal.say(
            f"{each['recipient']:<{width}}  mean {each['mean']:.1%}, median {each['median']:.1%},"
            f" middle half {each['lower_quartile']:.1%} to {each['upper_quartile']:.1%}"
        )


COMMAND = Command(
    _add_arguments,
    _run,
    (
        "sfumato query clinic.sfumato --attribute diagnosis --value Asthma --where sex=female",
        "sfumato query clinic.sfumato --attribute diagnosis --pool",
    ),
)
