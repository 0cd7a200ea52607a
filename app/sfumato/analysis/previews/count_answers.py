"""What counts in releases tell: the custodian plays recipient, beside the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field

import numpy as np
import scipy

from sfumato.analysis.answers import Answer, AnswerFigure, AnswerTable, CellKind
from sfumato.analysis.disclosure.attacker import Attacked, Exposure, exposure, released_values
from sfumato.analysis.disclosure.small_groups import RiskSubject
from sfumato.engine.core.errors import EstimationError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Value
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.disclosure.count_queries import (
    CountAnswer,
    estimated_answer,
    matching_groups,
    query_pool,
    true_answer,
)
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.release.views import coarsening_of, in_chain

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Held:
    """What one recipient holds: the release, and its values counted by group."""

    shown: Exposure
    released: scipy.sparse.csr_array = field(repr=False)


@dataclass(frozen=True)
class QueryDesk:
    """All that queries are answered from.

    Parameters
    ----------
    known
        The attribute with its true values, by group.
    held
        What each recipient with a sound level holds, the most trusted first.
    coarser
        For each public column that recipients don't see as the table has it: who they are.
    """

    known: Attacked
    held: tuple[Held, ...]
    coarser: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def ask(self, conditions: Mapping[str, Value], value: int) -> QueryResult:
        """Answer one query from every release, with the truth beside it.

        Raises
        ------
        EstimationError
            If no record meets the conditions.
        """
        grouped = self.known.grouped
        met = matching_groups(grouped, conditions)
        answers = []
        for held in self.held:
            try:
                answer = estimated_answer(
                    grouped.sizes,
                    held.released,
                    met,
                    value,
                    held.shown.matrix,
                    CONFIDENCE,
                    None if held.shown.trials is None else held.shown.trials.law,
                )
            except EstimationError:
                continue  # a release of pure noise answers nothing
            answers.append(Answered(held.shown.recipient, held.shown.trust, answer))
        matching = int(grouped.sizes[met].sum())
        coarser = {name: self.coarser[name] for name in conditions if name in self.coarser}
        return QueryResult(true_answer(grouped, met, value), matching, tuple(answers), coarser)


@dataclass(frozen=True)
class Answered:
    """One recipient's answer."""

    recipient: str
    trust: float
    answer: CountAnswer


@dataclass(frozen=True)
class QueryResult:
    """One query's true answer, how many records its conditions match, and all estimates.

    `coarser` says of the columns that are asked about who does not see them as the table has them.
    """

    truth: int
    matching: int
    answers: tuple[Answered, ...]
    coarser: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class PoolErrors:
    """How well one recipient answers a pool of random queries."""

    recipient: str
    trust: float
    mean: float
    quartiles: tuple[float, float, float]


@dataclass(frozen=True)
class PoolResult:
    """The pool's size and every recipient's relative errors."""

    queries: int
    recipients: tuple[PoolErrors, ...]
    coarser: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def open_desk(subject: RiskSubject, context: Context) -> QueryDesk:
    """Count the true and the released values in every group.

    Parameters
    ----------
    subject
        The sensitive attribute, and as knowledge the public columns that queries may name.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        If the groups can't be formed.
    """
    document, entry = subject.document, subject.entry
    known = subject.known(Part(context, 0.0, 0.3))
    attributes, exposed, plans = {known.attribute.name: known.attribute}, [], []
    for recipient in document.recipients:
        with suppress(SfumatoError):  # the policy says what is wrong with this recipient's level
            exposed.append(exposure(document, entry, known, recipient))
            plans.append(plan_entry(document, entry, attributes, recipient))
    counted = released_values(subject.rows, plans, known, Part(context, 0.3, 0.8))
    held = [Held(shown, released) for shown, released in zip(exposed, counted, strict=True)]
    held.sort(key=lambda each: -each.shown.trust)
    context.report(1.0, "Ready for queries")
    coarser = _seen_coarser(subject, known.grouped.names, Part(context, 0.8, 1.0))
    return QueryDesk(known, tuple(held), coarser)


def _seen_coarser(
    subject: RiskSubject, columns: Sequence[str], context: Context
) -> dict[str, tuple[str, ...]]:
    """Return, for each column that some recipients see coarser or starred, who they are."""
    found: dict[str, tuple[str, ...]] = {}
    for recipient in in_chain(subject.document):
        with suppress(SfumatoError):  # the policy says what is wrong with this recipient's view
            coarsening = coarsening_of(subject.document, recipient)
            if coarsening is None:
                continue
            changed = subject.rows.seen(coarsening, context, leaving=True).changed
            for name in columns:
                if name in changed:
                    found[name] = (*found.get(name, ()), recipient.name)
    return found


def _who_sees_otherwise(coarser: Mapping[str, tuple[str, ...]]) -> Sentence:
    """Say who does not see which records match."""
    names = list(dict.fromkeys(name for who in coarser.values() for name in who))
    return Sentence(
        "These estimates take {columns} as the table has {number:it|them}. {recipients}"
        " {count:sees|see} {number:it|them} coarser, or with * in some rows, and can't tell exactly"
        " which records match.",
        columns=listed(list(coarser)),
        number=len(coarser),
        recipients=listed(names),
        count=len(names),
    )


def answer_pool(desk: QueryDesk, context: Context) -> PoolResult:
    """Answer a pool of random queries from every release.

    Raises
    ------
    EstimationError
        If no query is answered by enough records.
    """
    pool = query_pool(desk.known.grouped, Part(context, 0.0, 0.5))
    found = []
    for place, held in enumerate(desk.held):
        context.report(0.5 + 0.5 * place / len(desk.held), "Answering queries")
        try:
            errors = pool.relative_errors(held.released, held.shown.matrix)
        except EstimationError:
            continue  # a release of pure noise answers nothing
        low, middle, high = (float(q) for q in np.quantile(errors, (0.25, 0.5, 0.75)))
        found.append(
            PoolErrors(
                held.shown.recipient, held.shown.trust, float(errors.mean()), (low, middle, high)
            )
        )
    return PoolResult(pool.size, tuple(found), desk.coarser)


def answer_of_query(result: QueryResult) -> Answer:
    """Return what every release answers to one query, beside the truth."""
    columns: dict[str, CellKind] = {
        Sentence("Recipient"): CellKind.TEXT,
        Sentence("Estimate"): CellKind.NUMBER,
        Sentence("From"): CellKind.NUMBER,
        Sentence("To"): CellKind.NUMBER,
    }
    found = [(one.recipient, one.answer) for one in result.answers]
    told = Sentence(
        "{truth:,} of the {matching:,} {matching:record|records} that match {truth:has|have} this"
        " value.",
        truth=result.truth,
        matching=result.matching,
    )
    note = Sentence(
        "Recipients see which records match, for those columns are released as they are; they"
        " estimate how many of them have the value."
    )
    rows = [(name, one.estimate, one.low, one.high) for name, one in found]
    return Answer(
        (told, _who_sees_otherwise(result.coarser)) if result.coarser else (told,),
        notes=() if result.coarser else (note,),
        tables=(AnswerTable(columns, rows),),
        figures=(AnswerFigure("estimates.build_query_estimates", (result,)),),
        facts={
            "truth": result.truth,
            "matching": result.matching,
            "answers": [
                {
                    "recipient": name,
                    "estimate": one.estimate,
                    "low": one.low,
                    "high": one.high,
                    "observed": one.observed,
                }
                for name, one in found
            ],
        },
    )


def answer_of_pool(attribute: str, result: PoolResult) -> Answer:
    """Return how far off every release's answers to many random queries are."""
    columns: dict[str, CellKind] = {
        Sentence("Recipient"): CellKind.TEXT,
        Sentence("Mean"): CellKind.SHARE,
        Sentence("Lower quartile"): CellKind.SHARE,
        Sentence("Median"): CellKind.SHARE,
        Sentence("Upper quartile"): CellKind.SHARE,
    }
    words = "{queries:,} random count {queries:query|queries} of {attribute}, relative error:"
    told = Sentence(words, queries=result.queries, attribute=attribute)
    rows = [(one.recipient, one.mean, *one.quartiles) for one in result.recipients]
    names = ("recipient", "mean", "lower_quartile", "median", "upper_quartile")
    return Answer(
        (_who_sees_otherwise(result.coarser), told) if result.coarser else (told,),
        tables=(AnswerTable(columns, rows),),
        figures=(AnswerFigure("estimates.build_query_errors", (attribute, result)),),
        facts={
            "queries": result.queries,
            "errors": [dict(zip(names, row, strict=True)) for row in rows],
        },
    )
