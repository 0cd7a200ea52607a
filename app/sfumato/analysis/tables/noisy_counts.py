"""What a system that answers counts with noise gives away about small groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.analysis.answers import Answer, AnswerFigure, Severity
from sfumato.analysis.disclosure.attacker import Attacked
from sfumato.analysis.disclosure.group_answer import groups_table
from sfumato.analysis.disclosure.small_groups import RiskSubject
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.count_queries import (
    RatioTails,
    ratio_tails,
    riskiest_groups,
    shares_in_table,
)


@dataclass(frozen=True)
class NoisyQuestion:
    """What is asked of a system that answers counts with noise.

    Parameters
    ----------
    privacy_loss
        λ of one answer.
    epsilon, delta
        The relative error, and how often it should be exceeded on either side.
    smallest
        Groups have more records than this.
    count
        How many groups are examined.
    """

    privacy_loss: float
    epsilon: float
    delta: float
    smallest: int
    count: int


@dataclass(frozen=True)
class NoisyAnswer:
    """The riskiest groups and how often two answers estimate them well.

    Parameters
    ----------
    known
        The attribute as the attacker sees it.
    question
        What was asked.
    groups
        The riskiest groups, shape (k,).
    tails
        How often the ratio misses, for each.
    table_shares
        The share of each group's most frequent value in the whole table, shape (k,).
    """

    known: Attacked
    question: NoisyQuestion
    groups: Integers
    tails: RatioTails
    table_shares: Floats

    @property
    def violating(self) -> int:
        """How many of the groups are given away."""
        return int(self.tails.violates(self.question.delta).sum())


def answer_noisy(subject: RiskSubject, question: NoisyQuestion, context: Context) -> NoisyAnswer:
    """Find the riskiest groups and how often two noisy counts estimate them well.

    Raises
    ------
    SfumatoError
        If the groups can't be formed, or λ or ε is out of range.
    """
    known = subject.known(Part(context, 0.0, 0.9))
    grouped = known.grouped
    groups = riskiest_groups(grouped.sizes, grouped.largest, question.smallest, question.count)
    tails = ratio_tails(
        grouped.sizes[groups], grouped.largest[groups], question.privacy_loss, question.epsilon
    )
    shares = shares_in_table(grouped, grouped.commonest[groups])
    context.report(1.0, "Noisy counts are examined")
    return NoisyAnswer(known, question, groups, tails, shares)


def answer_of(found: NoisyAnswer, knowledge: Sequence[str]) -> Answer:
    """Return which groups two noisy counts give away, to somebody with this knowledge."""
    asked, facts = found.question, _facts(found, knowledge)
    if not len(found.groups):
        told = "No group has more than {size:,} {size:record|records}."
        return Answer((Sentence(told, size=asked.smallest),), Severity.GOOD, facts=facts)
    told = (
        "{violating:,} of the {count:,} most skewed {count:group|groups} {violating:is|are} given"
        " away by two noisy counts at λ = {loss:g}."
    )
    details = {"loss": asked.privacy_loss, "epsilon": asked.epsilon, "delta": asked.delta}
    explained = Sentence(
        "Each answer is {loss:g}-differentially private: it hides whether one person is in the"
        " table. The ratio of two answers, the size of a group and how many of it have a value,"
        " still estimates their share. A group is given away where that is too high or too low"
        " by more than {epsilon:.0%} less than {delta:.0%} of the time. The chances are exact.",
        **details,
    )
    lines = facts["groups"]
    chances = {
        Sentence("In the table"): [line["share_in_table"] for line in lines],
        Sentence("Too high"): [line["too_high"] for line in lines],
        Sentence("Too low"): [line["too_low"] for line in lines],
        Sentence("Within ε"): [line["within"] for line in lines],
    }
    away = [line["given_away"] for line in lines]
    return Answer(
        (Sentence(told, violating=found.violating, count=len(found.groups), **details),),
        Severity.CAUTION if found.violating else Severity.GOOD,
        notes=(explained,),
        tables=(groups_table(found.known, found.groups, chances, away),),
        figures=(AnswerFigure("groups.build_ratio_tails", (found,)),),
        facts=facts,
    )


def _facts(found: NoisyAnswer, knowledge: Sequence[str]) -> dict[str, Any]:
    """Return what was found as plain JSON values, without any value of the table."""
    question, grouped, tails = found.question, found.known.grouped, found.tails
    given_away = tails.violates(question.delta)
    return {
        "attribute": found.known.attribute.name,
        "knows": list(knowledge),
        "loss": question.privacy_loss,
        "epsilon": question.epsilon,
        "delta": question.delta,
        "groups": [
            {
                "records": int(grouped.sizes[group]),
                "share_in_group": float(grouped.shares[group]),
                "share_in_table": float(found.table_shares[place]),
                "too_high": float(tails.high[place]),
                "too_low": float(tails.low[place]),
                "within": float(tails.within[place]),
                "given_away": bool(given_away[place]),
            }
            for place, group in enumerate(found.groups)
        ],
    }
