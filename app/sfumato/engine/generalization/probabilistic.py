"""What somebody who holds several published tables believes about a person.

Cheong, Wu and Wong 2012, section 4. Without knowing how the tables' public attributes go together,
they are taken to be independent given the sensitive value, and the probabilistic table follows by
equation (5). (In the paper as it is often copied, the denominators of equations (2) to (4) lack the
term of the value asked for; equation (5) and table 7 have it.) With a known correlation, every way
in which the tables could fit together is counted (section 4.2.2).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.generalization.others import HolderClasses

LARGEST_TABLE: Final = 5_000_000
"""Probabilities that a probabilistic table may have."""


@dataclass(frozen=True)
class ProbabilisticTable:
    """Beliefs about a person by the class they are in in each table.

    Parameters
    ----------
    holders
        The tables.
    prior
        The share of each sensitive value, shape (m,).
    probabilities
        The belief in each value for each combination of classes, shape (C1, …, Cn, m); not a
        number for a combination that nobody can be in.
    """

    holders: tuple[HolderClasses, ...]
    prior: npt.NDArray[np.float64] = field(repr=False)
    probabilities: npt.NDArray[np.float64] = field(repr=False)

    @property
    def diversity(self) -> npt.NDArray[np.int64]:
        """How many values are possible for each combination, shape (C1, …, Cn); definition 2."""
        return (np.nan_to_num(self.probabilities) > 0).sum(axis=-1)

    @property
    def largest(self) -> float:
        """The strongest belief that anybody's value can be met with."""
        return float(np.nanmax(self.probabilities))


def probabilistic_table(holders: Sequence[HolderClasses]) -> ProbabilisticTable:
    """Return the probabilistic table of several published tables, by equation (5).

    Parameters
    ----------
    holders
        At least one; the first one's frequencies are the prior, as any table's may be.

    Raises
    ------
    DiversityError
        If there is no table, or there are too many combinations to list.
    """
    if not holders:
        raise DiversityError("No published table is chosen.", "Add at least one.")
    size = holders[0].counts.shape[1]
    cells = math.prod(holder.classes for holder in holders) * size
    if cells > LARGEST_TABLE:
        raise DiversityError(
            "The probabilistic table would have {cells:,} {cells:row|rows}, more than {limit:,}.",
            "Choose fewer tables. What can be narrowed to fewer than l values is found without it.",
            cells=cells,
            limit=LARGEST_TABLE,
        )
    totals = holders[0].counts.sum(axis=0)
    prior = totals / totals.sum()
    weights = prior
    for axis, holder in enumerate(holders):
        every = holder.counts.sum(axis=0)
        # p_{i,k}: of the people with value k, the share that is in each class of table i.
        given = np.divide(holder.counts, every, out=np.zeros(holder.counts.shape), where=every > 0)
        shape = [1] * len(holders)
        shape[axis] = holder.classes
        weights = weights * given.reshape(*shape, size)
    total = weights.sum(axis=-1, keepdims=True)
    probabilities = np.divide(weights, total, out=np.full(weights.shape, np.nan), where=total > 0)
    return ProbabilisticTable(tuple(holders), prior, probabilities)


@dataclass(frozen=True)
class ImaginaryTables:
    """All ways in which the people of a combination of classes could be spread over the values.

    Parameters
    ----------
    records
        How many people are in the combination.
    most
        The most of them that can have each value, shape (m,).
    instances
        How many ways there are.
    probabilities
        The belief in each value, every way being equally likely, shape (m,).
    """

    records: int
    most: tuple[int, ...]
    instances: int
    probabilities: tuple[Fraction, ...]

    def listed(self, limit: int = 1000) -> list[tuple[int, ...]]:
        """Return the ways, most of the first value first (table 6), `limit` of them at most."""
        return list(itertools.islice(_spread(self.records, self.most), limit))


def imaginary_tables(
    holders: Sequence[HolderClasses], classes: Sequence[int], correlation: float, of: int
) -> ImaginaryTables:
    """Return the imaginary tables for one combination of classes and a known correlation.

    Parameters
    ----------
    holders
        The published tables.
    classes
        The class of each of them.
    correlation
        Of the people in the class of table `of`, the share that is in all the other classes as
        well: the paper's P(A ≥ 40 | Z ≥ 20k).
    of
        The position of that table in `holders`.

    Returns
    -------
    ImaginaryTables
        The number of people is the share of that class, to the nearest whole number.

    Raises
    ------
    DiversityError
        If the share is not between 0 and 1, or so large that the other classes can't hold so many
        people.
    """
    if not 0 < correlation <= 1:
        raise DiversityError(
            "The share is {share:g}.", "Choose a share above 0 and up to 1.", share=correlation
        )
    counts = [holder.counts[number] for holder, number in zip(holders, classes, strict=True)]
    records = max(1, round(correlation * int(counts[of].sum())))
    most = np.minimum.reduce(counts)
    if records > int(most.sum()):
        raise DiversityError(
            "A share of {share:g} is {records} {records:person|people}, and at most {most} can be"
            " in all these classes.",
            "Choose a smaller share.",
            share=correlation,
            records=records,
            most=int(most.sum()),
        )
    return _imaginary(records, tuple(int(value) for value in most))


def _imaginary(records: int, most: tuple[int, ...]) -> ImaginaryTables:
    """Count the ways and average them, without listing them."""
    instances = _ways(records, most)[records]
    beliefs = []
    for value, cap in enumerate(most):
        others = _ways(records, (*most[:value], *most[value + 1 :]))
        total = sum(have * others[records - have] for have in range(min(cap, records) + 1))
        beliefs.append(Fraction(total, instances * records))
    return ImaginaryTables(records, most, instances, tuple(beliefs))


def _ways(records: int, most: Sequence[int]) -> list[int]:
    """Return in how many ways 0, 1, …, `records` people can be spread below the caps `most`."""
    ways = [1] + [0] * records
    for cap in most:
        running = list(itertools.accumulate(ways))
        ways = [
            running[people] - (running[people - cap - 1] if people > cap else 0)
            for people in range(records + 1)
        ]
    return ways


def _spread(records: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every way to spread people over values, most of the first value first."""
    if not most:
        if records == 0:
            yield ()
        return
    room = sum(most[1:])
    for have in range(min(most[0], records), max(records - room, 0) - 1, -1):
        for rest in _spread(records - have, most[1:]):
            yield (have, *rest)
