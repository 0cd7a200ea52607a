"""What somebody who holds several published tables believes about a person.

Cheong, Wu and Wong 2012, section 4. Without knowing how the tables' public attributes go together,
they are taken to be independent given the sensitive value, and the probabilistic table follows by
equation (5). (In the paper as it is often copied, the denominators of equations (2) to (4) lack the
term of the value asked for; equation (5) and table 7 have it.) With a known correlation, every way
in which the tables could fit together is counted (section 4.2.2).

*Where the paper is wrong.* It says that the people with a value who are in both classes are at
most the fewer of the two, c ≤ min(a, z). They are also at least a + z - n, where n people have the
value at all: the a and the z can't avoid each other in fewer. With h tables, Fréchet's bounds are
max(0, Σa - (h-1)·n) ≤ c ≤ min a, and every whole number between them occurs in some table. The
paper's ways below the least are none, and with a known number of people in both classes they
outweigh the real ones: section 4.2.2's claim that l values remain "regardless of the correlation"
an attacker knows fails. Let one class have the values 5, 1 and 1 times, the other 6, 1 and 1 times,
six people the first value at all, and five people be in both classes. The paper believes in the
values with 4/5, 1/10 and 1/10, and only (5, 0, 0) is possible.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Final

import numpy as np

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Integers
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
    prior: Floats = field(repr=False)
    probabilities: Floats = field(repr=False)


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


def all_people(holders: Sequence[HolderClasses]) -> Integers:
    """Return how many people have each value at all, shape (m,): as many as any table shows.

    Tables about the same people all show as many. Where one shows fewer, since some records were
    left out, the people it does not show are in none of its classes.
    """
    return np.maximum.reduce([holder.counts.sum(axis=0) for holder in holders])


@dataclass(frozen=True)
class CellBounds:
    """How many people with each value can be in one class of every table at once.

    Parameters
    ----------
    least, most
        Fréchet's bounds, shape (m,). Every whole number between them occurs in some table that
        agrees with all published ones, for one value whatever it is for another.
    """

    least: Integers
    most: Integers

    def beliefs(self) -> tuple[Floats, Floats]:
        """Return the least and the greatest share of each value, shape (m,) each.

        They are the ends of what somebody can believe who knows how the tables go together, and
        each is reached by some way in which they can: the person with the value is among
        c_v / Σc people, whose share is greatest where v has most people and all others fewest.
        Not a number where nobody can have any value.
        """
        others_least = self.least.sum() - self.least
        others_most = self.most.sum() - self.most
        lowest, highest = self.least + others_most, self.most + others_least
        nothing = np.full(len(self.most), np.nan)
        if not self.most.any():
            return nothing, nothing
        # Where nobody has another value, whoever is there has this one.
        low = (self.most > 0).astype(np.float64)
        np.divide(self.least, lowest, out=low, where=lowest > 0)
        return low, np.divide(self.most, highest, out=np.zeros(len(nothing)), where=highest > 0)


def cell_bounds(holders: Sequence[HolderClasses], classes: Sequence[int]) -> CellBounds:
    """Return how many people with each value can be in one class of every table at once.

    Parameters
    ----------
    holders
        The published tables.
    classes
        The class of each of them.
    """
    counts = np.stack([h.counts[number] for h, number in zip(holders, classes, strict=True)])
    apart = counts.sum(axis=0) - (len(holders) - 1) * all_people(holders)
    return CellBounds(np.maximum(apart, 0), counts.min(axis=0))


@dataclass(frozen=True)
class ImaginaryTables:
    """All ways in which the people of a combination of classes could be spread over the values.

    Parameters
    ----------
    records
        How many people are in the combination.
    least, most
        The fewest and the most of them that can have each value, shape (m,).
    instances
        How many ways there are.
    probabilities
        The belief in each value, every way being equally likely, shape (m,).
    """

    records: int
    least: tuple[int, ...]
    most: tuple[int, ...]
    instances: int
    probabilities: tuple[Fraction, ...]

    def listed(self, limit: int = 1000) -> list[tuple[int, ...]]:
        """Return the ways, most of the first value first (table 6), `limit` of them at most."""
        return list(itertools.islice(_spread(self.records, self.least, self.most), limit))


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
        If the share is not between 0 and 1, so large that the other classes can't hold so many
        people, or so small that the tables would have to hold more.
    """
    if not 0 < correlation <= 1:
        raise DiversityError(
            "The share is {share:g}.", "Choose a share above 0 and up to 1.", share=correlation
        )
    counts = [holder.counts[number] for holder, number in zip(holders, classes, strict=True)]
    records = max(1, round(correlation * int(counts[of].sum())))
    bounds = cell_bounds(holders, classes)
    least, most = int(bounds.least.sum()), int(bounds.most.sum())
    if records > most:
        raise DiversityError(
            "A share of {share:.1%} is {records} {records:person|people}, and at most {most} can be"
            " in all these classes.",
            "Choose a smaller share.",
            share=correlation,
            records=records,
            most=most,
        )
    if records < least:
        raise DiversityError(
            "A share of {share:.1%} is {records} {records:person|people}, and at least {least} must"
            " be in all these classes: too few others have their values.",
            "Choose a larger share.",
            share=correlation,
            records=records,
            least=least,
        )
    return _imaginary(records, bounds)


def _imaginary(records: int, bounds: CellBounds) -> ImaginaryTables:
    """Count the ways and average them, without listing them."""
    least, most = (tuple(map(int, each)) for each in (bounds.least, bounds.most))
    free = records - sum(least)
    room = [high - low for low, high in zip(least, most, strict=True)]
    instances = _ways(free, room)[free]
    beliefs = []
    for value, (low, cap) in enumerate(zip(least, room, strict=True)):
        others = _ways(free, (*room[:value], *room[value + 1 :]))
        total = sum((low + more) * others[free - more] for more in range(min(cap, free) + 1))
        beliefs.append(Fraction(total, instances * records))
    return ImaginaryTables(records, least, most, instances, tuple(beliefs))


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


def _spread(records: int, least: Sequence[int], most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every way to spread people over values, most of the first value first."""
    if not most:
        if records == 0:
            yield ()
        return
    room, taken = sum(most[1:]), sum(least[1:])
    fewest = max(least[0], records - room)
    for have in range(min(most[0], records - taken), fewest - 1, -1):
        for rest in _spread(records - have, least[1:], most[1:]):
            yield (have, *rest)
