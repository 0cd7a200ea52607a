"""Small groups: which a release gives away, and count queries, from releases or with noise."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
    ATTRIBUTE,
    DELTA,
    EPSILON,
    LIMITS,
    read_question,
    recipient_called,
)
from sfumato.commands.shared.opening import opened_by_parts
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import said, translated, worded

if TYPE_CHECKING:
    from sfumato.analysis.small_groups import (
        NoisyAnswer,
        PoolResult,
        QueryDesk,
        QueryResult,
        Subject,
    )
    from sfumato.engine.core.values import Value
    from sfumato.engine.disclosure.group_risk import Remedy, RiskLimits
    from sfumato.project.document.model import PolicyEntry

RULES = ("exact", "chernoff", "simplified")
_RULES = {
    "exact": Sentence("exact"),
    "chernoff": Sentence("Chernoff's"),
    "simplified": Sentence("simplified"),
}


def _run_risk(arguments: Namespace, terminal: Terminal) -> ExitCode:
    reading = opened_by_parts(arguments, terminal, 0.24)
    with reading as (project, table, context):
        subject = read_question(arguments, project, table, Part(context, 0.0, 0.1))
        found = _examine(arguments, subject, Part(context, 0.1, 1.0))
    terminal.tell(arguments.json, found, _lines_of_risk(found))
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


def _lines_of_risk(found: dict[str, Any]) -> Iterator[str]:
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


RISK = Command(
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
    _run_risk,
    ("sfumato risk clinic.sfumato --attribute diagnosis --remedies",),
)


_MISSING = "(missing)"


def _run_query(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.small_groups import answer_pool, open_desk

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


QUERY = Command(
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
    _run_query,
    (
        "sfumato query clinic.sfumato --attribute diagnosis --value Asthma --where sex=female",
        "sfumato query clinic.sfumato --attribute diagnosis --pool",
    ),
)


def _run_noisy_counts(arguments: Namespace, terminal: Terminal) -> ExitCode:
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
    found = _figures_of_noise(answer, asked.knowledge)
    terminal.tell(arguments.json, found, _lines_of_noise(found))
    return ExitCode.OK


def _figures_of_noise(answer: NoisyAnswer, knowledge: Sequence[str]) -> dict[str, Any]:
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


def _lines_of_noise(found: dict[str, Any]) -> Iterator[str]:
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


NOISY_COUNTS = Command(
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
    _run_noisy_counts,
    ("sfumato noisy-counts clinic.sfumato --attribute diagnosis --loss 0.1",),
)
