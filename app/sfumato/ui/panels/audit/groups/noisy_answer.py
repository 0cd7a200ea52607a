"""What noisy counts give away, computed in a job; no widgets here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sfumato.analysis.attacker import Attacked
from sfumato.analysis.small_groups import Subject
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.grouped_values import Floats, Integers
from sfumato.engine.disclosure.noisy_answers import (
    RatioTails,
    ratio_tails,
    riskiest_groups,
    shares_in_table,
)
from sfumato.plots.groups import RatioData, RatioRow


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

    def data(self) -> RatioData:
        """Return the groups as they are drawn."""
        grouped = self.known.grouped
        rows = tuple(
            RatioRow(
                int(grouped.sizes[group]),
                float(grouped.shares[group]),
                float(self.table_shares[place]),
                float(self.tails.high[place]),
                float(self.tails.low[place]),
            )
            for place, group in enumerate(self.groups)
        )
        asked = self.question
        name = self.known.attribute.name
        return RatioData(name, asked.privacy_loss, asked.epsilon, asked.delta, rows)

    def frame(self, names: dict[str, str]) -> pd.DataFrame:
        """Return the groups as a table. For the custodian's eyes only."""
        grouped, rows = self.known.grouped, self.groups
        domain = self.known.attribute.domain
        labels = domain.names if domain is not None else ()
        broken = self.tails.violates(self.question.delta)
        columns: dict[str, object] = {
            names["size"]: grouped.sizes[rows],
            names["value"]: [labels[int(code)] for code in grouped.commonest[rows]],
            names["share"]: np.round(100.0 * grouped.shares[rows], 1),
            names["within"]: np.round(100.0 * self.tails.within, 1),
            names["violates"]: np.where(broken, names["yes"], names["no"]),
        }
        for attribute in grouped.attributes:
            heading = attribute.name if attribute.name not in columns else f"{attribute.name} "
            shown = [attribute.value(int(code)) for code in attribute.codes[rows]]
            columns[heading] = pd.Series(shown, dtype=object)
        return pd.DataFrame(columns)


def answer_noisy(subject: Subject, question: NoisyQuestion, context: Context) -> NoisyAnswer:
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
    shares = shares_in_table(known.codes, grouped.commonest[groups], grouped.values)
    context.report(1.0, "Noisy counts are examined")
    return NoisyAnswer(known, question, groups, tails, shares)
