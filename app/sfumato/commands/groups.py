"""Small groups: which a release gives away, and count queries, from releases or with noise."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.analysis.questions import question_called
from sfumato.commands.audit import question_command
from sfumato.commands.shared.command import (
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    argument,
    flag,
    one_of,
    repeated,
)
from sfumato.commands.shared.groups import (
    SUBJECT,
    read_question,
)
from sfumato.commands.shared.opening import opened_by_parts
from sfumato.commands.shared.remarks import lines_of_answers
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Part
from sfumato.formats.language import said

if TYPE_CHECKING:
    from sfumato.analysis.previews.count_answers import QueryDesk, QueryResult
    from sfumato.engine.core.values import Value

RISK = question_command(
    question_called("risk"), "sfumato risk clinic.sfumato --attribute diagnosis --remedies"
)


_MISSING = "(missing)"


def _run_query(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.previews.count_answers import (
        answer_of_pool,
        answer_of_query,
        answer_pool,
        open_desk,
    )
    from sfumato.analysis.utility.mode_costs import costs_of_modes, plain_costs, sentence_of_costs

    with opened_by_parts(arguments, terminal, 0.24) as (project, table, context):
        subject = read_question(arguments, project, table, Part(context, 0.0, 0.1))
        if arguments.modes:
            costs = costs_of_modes(subject, Part(context, 0.1, 1.0))
            words = said(sentence_of_costs(costs))
            terminal.tell(arguments.json, plain_costs(costs), [words])
            return ExitCode.OK
        names = dict.fromkeys([*subject.knowledge, *(name for name, _ in _conditions(arguments))])
        subject = replace(subject, knowledge=tuple(names))
        desk = open_desk(subject, Part(context, 0.1, 0.6))
        if arguments.pool:
            pool = answer_pool(desk, Part(context, 0.6, 1.0))
            found = answer_of_pool(subject.entry.key, pool)
        else:
            found = answer_of_query(_ask(arguments, desk))
    terminal.tell(arguments.json, found.plain("query"), lines_of_answers([found]))
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


QUERY = Command(
    (
        *PROJECT,
        one_of(
            argument("--value", help="the sensitive value that is counted"),
            flag("--pool", "answer 5,000 random queries and tell the errors"),
            flag(
                "--modes",
                "tell how far off 500 random queries are by each mode of protecting small groups",
            ),
            required=True,
        ),
        repeated(
            "--where",
            "COLUMN=VALUE",
            "a condition on a public column; may be repeated, (missing) asks for missing",
            default=[],
        ),
        *SUBJECT,
    ),
    _run_query,
    (
        "sfumato query clinic.sfumato --attribute diagnosis --value Asthma --where sex=female",
        "sfumato query clinic.sfumato --attribute diagnosis --pool",
        "sfumato query clinic.sfumato --attribute diagnosis --modes",
    ),
)


NOISY_COUNTS = question_command(
    question_called("noisy-counts"),
    "sfumato noisy-counts clinic.sfumato --attribute diagnosis --loss 0.1",
)
