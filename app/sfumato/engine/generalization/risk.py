"""How likely somebody is to be found in a table: the three attackers that custodians speak of.

A *prosecutor* knows that a certain person is in the table; a *journalist* does not, and wants to
show that anybody can be found; a *marketer* wants to find as many as possible (El Emam and Dankar,
JAMIA 2008). Each is measured before and after, from the sizes of the equivalence classes: f records
of the table, and F people of the population that the table's people belong to. F is counted in a
population file, or estimated from the share of the population that is in the table.

Where several records belong to one person, household or company, finding any of them finds this
unit. An attacker who picks a record of its class hits the unit with the share of the class that is
its own, which may be more than one over the units in the class.

A `Population` holds how many of the people that the table's belong to are in each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats, Integers
from sfumato.engine.generalization.coded import CodedTable, IntArray, mixed_radix
from sfumato.engine.generalization.criteria import Suppressed
from sfumato.engine.generalization.hierarchies import Hierarchy
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.publication import EquivalenceClasses

Number = TypeVar("Number", np.int64, np.float64)

ELSEWHERE = -1
"""The code of a class that the table's hierarchy does not have."""

_SMALL: Final = 50
_TERMS: Final = 60
"""Enough for 16 digits where a class has more records than `_SMALL`: its last term is below
1/C(110, 60)."""


@dataclass(frozen=True)
class PopulationColumn:
    """One quasi-identifier in the population.

    Parameters
    ----------
    name
        The column's name in the table.
    codes
        The position of each person's value in a list of distinct values, shape (N,).
    levels
        For each level of the table's hierarchy, the class of every distinct value there;
        `ELSEWHERE` where the table's hierarchy has no such class.
    """

    name: str
    codes: IntArray = field(repr=False)
    levels: tuple[IntArray, ...] = field(repr=False)


@dataclass(frozen=True)
class Population:
    """The quasi-identifiers of everybody in a population.

    Parameters
    ----------
    columns
        One for each quasi-identifier of the table, in its order; at least one.
    """

    columns: tuple[PopulationColumn, ...]

    @property
    def people(self) -> int:
        """The number of people, N."""
        return len(self.columns[0].codes)


def population_column(
    hierarchy: Hierarchy, wide: Hierarchy, codes: IntArray, values: Sequence[object]
) -> PopulationColumn:
    """Return a population's column as the table's hierarchy sees it.

    Parameters
    ----------
    hierarchy
        The table's.
    wide
        The same over the population's values too
        (`sfumato.engine.generalization.hierarchies.problems`).
    codes
        The position of each person's value in `values`, shape (N,).
    values
        Distinct values; one that `wide` does not know is in no class of the table at any level.
    """
    places: dict[object, int] = {value: place for place, value in enumerate(wide.values)}
    at = np.array([places.get(value, -1) for value in values], dtype=np.intp)
    levels = []
    for level in range(hierarchy.height):
        own = {label: code for code, label in enumerate(hierarchy.names(level))}
        classes = [own.get(label, ELSEWHERE) for label in wide.names(level)]
        # What is not known at all is the last entry, which the position -1 looks up.
        lookup = np.array([*classes, ELSEWHERE], dtype=np.intp)[[*wide.codes(level), -1]]
        levels.append(lookup[at])
    return PopulationColumn(hierarchy.column, codes, tuple(levels))


def people_in(table: CodedTable, population: Population, node: Node) -> Integers:
    """Count the people of the population in each class of a table.

    Parameters
    ----------
    table, population
        With the same quasi-identifiers.
    node
        The level of each.

    Returns
    -------
    numpy.ndarray
        Shape (C,), the classes numbered as by `CodedTable.class_codes`.

    Raises
    ------
    DiversityError
        If the quasi-identifiers are not the same.
    """
    if table.names != tuple(column.name for column in population.columns):
        raise DiversityError(
            "The population has other quasi-identifiers than the table.",
            "Choose a population with the same columns.",
        )
    inside = np.ones(population.people, dtype=np.bool_)
    theirs = []
    for column, level in zip(population.columns, node, strict=True):
        theirs.append(column.levels[level].take(column.codes))
        inside &= theirs[-1] != ELSEWHERE
    joined, sizes = [], []
    for quasi, level, codes in zip(table.quasi_identifiers, node, theirs, strict=True):
        joined.append(np.concatenate([quasi.levels[level][quasi.codes], codes[inside]]))
        sizes.append(quasi.sizes[level])
    key, _ = mixed_radix(joined, sizes)
    # The table's rows come first, and so do its classes.
    found, _ = pd.factorize(key)
    own = len(table.sensitive)
    classes = int(found[:own].max()) + 1
    counts = np.bincount(found[own:], minlength=classes)[:classes]
    return counts.astype(np.int64)


def expected_shares(sizes: Integers, fraction: float | Floats) -> Floats:
    """Estimate one over the people that a class has in the population, from a sample of them.

    Parameters
    ----------
    sizes
        The records of each class in the sample, f, shape (C,), at least 1.
    fraction
        The share of the population that is in the sample, π: everybody with the same chance; or
        one for each class, shape (C,): its records over the sum of their sampling weights.

    Returns
    -------
    numpy.ndarray
        E[1/F | f] = (π/f)·₂F₁(1, 1; f+1; 1−π), shape (C,), where F − f has the negative binomial
        distribution of Benedetti and Franconi (1998), as in μ-Argus and sdcMicro: their
        (π^f/f)·₂F₁(f, f; f+1; 1−π), rewritten by Euler's transformation so that it does not
        underflow. For one record it is π·ln(1/π)/(1−π), and for large classes π/f: each record
        stands for 1/π people. For small classes it is more than π/f, because a class that is
        small in the sample may be small in the population.

    Raises
    ------
    DiversityError
        If the fraction is not above 0 and at most 1.
    """
    fractions = np.broadcast_to(np.asarray(fraction, dtype=np.float64), sizes.shape)
    wrong = ~((fractions > 0) & (fractions <= 1))
    if wrong.any():
        raise DiversityError(
            "The sampling fraction is {fraction:g}.",
            "Give the share of the population that is in the table, above 0 and at most 1.",
            fraction=float(fractions[wrong][0]),
        )
    if np.ndim(fraction):
        return fractions / sizes * _series(sizes, fractions)
    distinct, at = np.unique(sizes, return_inverse=True)
    alike = np.full(len(distinct), float(fraction))
    return (fraction / distinct * _series(distinct, alike))[at]


def _series(sizes: Integers, fraction: Floats) -> Floats:
    """Return ₂F₁(1, 1; f+1; 1−π): the library's for small f, where its series is slow."""
    found = np.ones(len(sizes))
    small = sizes <= _SMALL
    found[small] = scipy.special.hyp2f1(1.0, 1.0, sizes[small] + 1.0, 1.0 - fraction[small])
    large, rest = sizes[~small], 1.0 - fraction[~small]
    term = np.ones(len(large))
    for step in range(_TERMS):
        term = term * (step + 1) * rest / (large + 1 + step)
        found[~small] += term
    return found


SIZE_STEPS: Final = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Where the bars of the class sizes begin."""


class PopulationBasis(StrEnum):
    """What is known of the population that the table's people belong to."""

    TABLE = "table"
    """Nothing: the table counts as all of it."""
    COUNTED = "counted"
    """Its people, counted in each class."""
    SAMPLED = "sampled"
    """The share of it that is in the table; its classes are estimated."""
    WEIGHTED = "weighted"
    """How many people each record stands for; its classes are estimated."""


@dataclass(frozen=True)
class SizeShare:
    """The classes of about one size.

    Parameters
    ----------
    least, most
        The sizes; `most` is None for the last bar.
    classes, records
        How many classes have such a size, and how many records are in them.
    """

    least: int
    most: int | None
    classes: int
    records: int


@dataclass(frozen=True)
class Risk:
    """The risk of being found in one table.

    Parameters
    ----------
    records, classes
        Of the table.
    units
        How many units the records belong to; as many where they stand alone.
    smallest, average
        Class sizes, in units.
    prosecutor
        The highest chance of picking the right record: 1 over the smallest class, max 1/f; or of
        picking one of the right unit's r records, max r/f.
    journalist
        The same where the attacker looks for people of a population: 1 over the smallest class of
        the population that has somebody in the table, max 1/F.
    marketer
        The share of the records that are expected to be found: the mean of 1/F over the records.
    uniques
        How many units are alone in their class.
    population_uniques
        How many of these are alone in the population as well; where classes are estimated, how
        many of them are expected to be.
    sizes
        How the records are spread over class sizes.
    basis
        What is known of the population.
    by_unit
        Whether several records may belong to one unit.
    """

    records: int
    units: int
    classes: int
    smallest: int
    average: float
    prosecutor: float
    journalist: float
    marketer: float
    uniques: int
    population_uniques: float
    sizes: tuple[SizeShare, ...]
    basis: PopulationBasis
    by_unit: bool = False

    def above(self, threshold: float) -> float:
        """Return the share of the records in bars whose every class has a higher risk."""
        risky = sum(s.records for s in self.sizes if s.most is not None and 1 / s.most > threshold)
        return risky / self.records


def joined_risk(parts: Sequence[Risk], units: int | None = None) -> Risk:
    """Return the risk of a table whose classes are told in parts; at least one.

    `units` is how many there are in all, where the records belong to units.
    """
    records, classes = sum(each.records for each in parts), sum(each.classes for each in parts)
    total = records if units is None else units
    return replace(
        parts[0],
        records=records,
        units=total,
        classes=classes,
        smallest=min(each.smallest for each in parts),
        average=sum(each.average * each.classes for each in parts) / classes,
        prosecutor=max(each.prosecutor for each in parts),
        journalist=max(each.journalist for each in parts),
        marketer=sum(each.marketer * each.records for each in parts) / records,
        uniques=sum(each.uniques for each in parts),
        population_uniques=sum(each.population_uniques for each in parts),
        sizes=tuple(
            replace(
                bars[0],
                classes=sum(bar.classes for bar in bars),
                records=sum(bar.records for bar in bars),
            )
            for bars in zip(*(each.sizes for each in parts), strict=True)
        ),
        by_unit=total < records,
    )


@dataclass(frozen=True)
class UnitSpread:
    """How the records of each class are spread over units.

    Parameters
    ----------
    units
        How many units have records in each class, shape (C,).
    most
        The most records that one of them has there, shape (C,).
    squares
        The sum, over the units, of their records squared, shape (C,).
    total
        The units of all classes; one may have records in several.
    """

    units: Integers
    most: Integers
    squares: Integers
    total: int

    def joined(self, other: UnitSpread) -> UnitSpread:
        """Return the spread over these units and others, all of whose records are told there."""
        return UnitSpread(
            self.units + other.units,
            np.maximum(self.most, other.most),
            self.squares + other.squares,
            self.total + other.total,
        )


def unit_spread(classes: IntArray, units: Integers, number: int) -> UnitSpread:
    """Return how the rows of classes are spread over units.

    Parameters
    ----------
    classes, units
        Each row's class and unit, from 0, shape (n,).
    number
        How many classes there are.
    """
    span = int(units.max(initial=0)) + 1
    pairs, rows = np.unique(classes.astype(np.int64) * span + units, return_counts=True)
    of_class = pairs // span
    most = np.zeros(number, dtype=np.int64)
    np.maximum.at(most, of_class, rows)
    squares = np.bincount(of_class, rows.astype(np.float64) ** 2, minlength=number)
    counted = np.bincount(of_class, minlength=number)
    return UnitSpread(counted, most, squares.astype(np.int64), len(np.unique(units)))


def risk_of_sizes(
    sizes: Integers,
    people: Integers | None = None,
    fraction: float | None = None,
    weights: Floats | None = None,
    spread: UnitSpread | None = None,
) -> Risk:
    """Measure the risk of a table.

    Parameters
    ----------
    sizes
        The number of records in each class, f, shape (C,), all at least 1.
    people
        The number of people of the population in each class, F, shape (C,); at least `sizes`.
    fraction
        Where `people` is not known, the share of the population that is in the table; 1/F is
        estimated then (`sfumato.engine.generalization.risk.expected_shares`).
    weights
        Where neither is known, the sum of the sampling weights in each class, shape (C,): the
        people that it is estimated to have.
    spread
        How the records of each class are spread over units; None where each stands alone.

    Raises
    ------
    DiversityError
        If there is no class, a class has more records than the population has people, or the
        fraction is out of range.
    """
    if not len(sizes):
        raise DiversityError("The table has no records.", "Choose a table with records.")
    spread = spread or UnitSpread(sizes, np.ones_like(sizes), sizes, int(sizes.sum()))
    alone = spread.units == 1
    basis, shares, alone_there = _in_population(sizes, alone, people, fraction, weights)
    records = int(sizes.sum())
    return Risk(
        records,
        spread.total,
        len(sizes),
        int(spread.units.min()),
        float(spread.units.mean()),
        float((spread.most / sizes).max()),
        float((spread.most * shares).max()),
        float((spread.squares * shares).sum()) / records,
        int(alone.sum()),
        alone_there,
        size_shares(spread.units, sizes),
        basis,
        spread.total < records,
    )


def _in_population(
    sizes: Integers,
    alone: Flags,
    people: Integers | None,
    fraction: float | None,
    weights: Floats | None,
) -> tuple[PopulationBasis, Floats, float]:
    """Return what is known, one over each class's people, and the uniques of the population."""
    if people is not None:
        check_people(int((people < sizes).sum()), len(sizes))
        return PopulationBasis.COUNTED, 1 / people, float((alone & (people == sizes)).sum())
    if fraction is not None:
        # Nobody else is in the class with the chance that all others would be in the sample.
        return (
            PopulationBasis.SAMPLED,
            expected_shares(sizes, fraction),
            float(alone.sum()) * fraction,
        )
    if weights is not None:
        inside = np.minimum(sizes / weights, 1.0)
        return PopulationBasis.WEIGHTED, expected_shares(sizes, inside), float(inside[alone].sum())
    return PopulationBasis.TABLE, 1 / sizes, float(alone.sum())


def check_people(lacking: int, classes: int) -> None:
    """Refuse a population that lacks people of the table in some of its classes."""
    if lacking:
        raise DiversityError(
            "In {lacking} of {classes} {classes:class|classes} the population has fewer people"
            " than the table has records, so the table's people don't all belong to it.",
            "Choose a population that they belong to, and whose columns are spelled as here.",
            lacking=lacking,
            classes=classes,
        )


def risk_of_classes(
    classes: EquivalenceClasses,
    suppressed: Suppressed,
    people: Integers | None = None,
    fraction: float | None = None,
    weights: Floats | None = None,
) -> Risk:
    """Measure the risk of a published table.

    Parameters
    ----------
    classes
        The classes of its node.
    suppressed
        What becomes of the records that stand out. Starred ones are one class, and may be
        anybody of the classes that they were in.
    people
        The number of people of the population in each class, shape (C,).
    fraction
        Where `people` is not known, the share of the population that is in the table.
    weights
        Where neither is known, the sum of the sampling weights in each class, shape (C,).

    Raises
    ------
    DiversityError
        As `risk_of_sizes`.
    """
    starred = suppressed is Suppressed.STARRED and not classes.kept.all()

    def shown(counts: npt.NDArray[Number]) -> npt.NDArray[Number]:
        kept = counts[classes.kept]
        return np.append(kept, counts[~classes.kept].sum()) if starred else kept

    spread = None
    if classes.whose is not None:
        places = np.cumsum(classes.kept) - 1
        places[~classes.kept] = int(classes.kept.sum())
        inside = classes.kept_rows | starred
        number = int(classes.kept.sum()) + starred
        for rows, units in classes.whose.parts():
            chosen = inside[rows]
            of_row = places[classes.of_row[rows[chosen]]]
            part = unit_spread(of_row, units[chosen], number)
            spread = part if spread is None else spread.joined(part)
    return risk_of_sizes(
        shown(classes.sizes),
        None if people is None else shown(people),
        fraction,
        None if weights is None else shown(weights),
        spread,
    )


def size_shares(sizes: Integers, rows: Integers | None = None) -> tuple[SizeShare, ...]:
    """Return how classes, and the records in them, are spread over class sizes."""
    rows = sizes if rows is None else rows
    found = []
    for least, following in zip(SIZE_STEPS, (*SIZE_STEPS[1:], None), strict=True):
        inside = sizes >= least
        if following is not None:
            inside &= sizes < following
        most = None if following is None else following - 1
        found.append(SizeShare(least, most, int(inside.sum()), int(rows[inside].sum())))
    return tuple(found)
