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
    part_of,
    repeated,
)
from sfumato.commands.shared.groups import (
    DELTA,
    EPSILON,
    SUBJECT,
    read_question,
    recipient_called,
)
from sfumato.commands.shared.opening import opened_by_parts
from sfumato.commands.shared.remarks import lines_of_answers
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import said

if TYPE_CHECKING:
    from sfumato.analysis.disclosure.small_groups import RiskAnswer, RiskSubject
    from sfumato.analysis.previews.count_answers import QueryDesk, QueryResult
    from sfumato.engine.core.values import Value
    from sfumato.engine.disclosure.group_risk import RiskLimits
    from sfumato.project.document.model import PolicyEntry

RULES = ("exact", "chernoff", "simplified")


def _run_risk(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.disclosure.small_groups import answer_of_each

    reading = opened_by_parts(arguments, terminal, 0.24)
    with reading as (project, table, context):
        subject = read_question(arguments, project, table, Part(context, 0.0, 0.1))
        found = answer_of_each(_examine(arguments, subject, Part(context, 0.1, 1.0)))
    told = {} if found is None else found.plain("risk")
    terminal.tell(arguments.json, told, lines_of_answers(filter(None, [found])))
    return ExitCode.OK


def _limits(arguments: Namespace, entry: PolicyEntry) -> RiskLimits:
    """Return what the arguments ask for, and otherwise what the policy promises."""
    from sfumato.analysis.disclosure.small_groups import promised_limits
    from sfumato.engine.disclosure.group_privacy import PrivacyTest

    stated = {name: getattr(arguments, name) for name in ("epsilon", "delta", "rule")}
    given = {name: value for name, value in stated.items() if value is not None}
    if "rule" in given:
        given["rule"] = PrivacyTest(given["rule"])
    limits = replace(promised_limits(entry), **given)
    limits.check()
    return limits


def _examine(arguments: Namespace, subject: RiskSubject, context: Context) -> list[RiskAnswer]:
    """Examine the releases of the recipients that the arguments name."""
    from sfumato.analysis.disclosure.small_groups import answer_risk, with_remedies

    limits = _limits(arguments, subject.entry)
    names = arguments.recipient or [recipient.name for recipient in subject.document.recipients]
    recipients = [recipient_called(subject.document, name) for name in names]
    everybody = subject.known_to_each(names, Part(context, 0.0, 0.2))
    found = []
    for place, (recipient, known) in enumerate(zip(recipients, everybody, strict=True)):
        part = part_of(Part(context, 0.2, 1.0), place, len(names))
        answer = answer_risk(subject, known, recipient, limits, Part(part, 0.0, 0.5))
        if arguments.remedies:
            answer = with_remedies(subject, answer, Part(part, 0.5, 1.0))
        found.append(answer)
    return found


RISK = Command(
    (
        *PROJECT,
        repeated("--recipient", "NAME", "may be repeated; without it, all"),
        argument(
            "--epsilon",
            type=float,
            help=Sentence(
                "relative error (default: what the policy promises groups, or {EPSILON:g})",
                EPSILON=EPSILON,
            ),
        ),
        argument(
            "--delta",
            type=float,
            help=Sentence(
                "how often it should be exceeded on either side (default: as the policy promises,"
                " or {DELTA:g})",
                DELTA=DELTA,
            ),
        ),
        argument("--rule", choices=RULES, help="the test (default: exact)"),
        flag("--remedies", "also say what releasing less would change"),
        *SUBJECT,
    ),
    _run_risk,
    ("sfumato risk clinic.sfumato --attribute diagnosis --remedies",),
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
