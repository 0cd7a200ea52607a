"""How likely somebody is to be found in a table: the three attackers that custodians speak of.

A *prosecutor* knows that a certain person is in the table; a *journalist* does not, and wants to
show that anybody can be found; a *marketer* wants to find as many as possible (El Emam and Dankar,
JAMIA 2008). Each is measured before and after, from the sizes of the equivalence classes: f records
of the table, and F people of the population that the table's people belong to. F is counted in a
population file, or estimated from the share of the population that is in the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.generalization.population import expected_shares
from sfumato.engine.generalization.publication import EquivalenceClasses, Suppressed

SIZE_STEPS: Final = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Where the bars of the class sizes begin."""


class Basis(StrEnum):
    """What is known of the population that the table's people belong to."""

    TABLE = "table"
    """Nothing: the table counts as all of it."""
    COUNTED = "counted"
    """Its people, counted in each class."""
    SAMPLED = "sampled"
    """The share of it that is in the table; its classes are estimated."""


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
    smallest, average
        Class sizes.
    prosecutor
        The highest chance of picking the right record: 1 over the smallest class, max 1/f.
    journalist
        The same where the attacker looks for people of a population: 1 over the smallest class of
        the population that has somebody in the table, max 1/F.
    marketer
        The share of the records that are expected to be found: the mean of 1/F over the records.
    uniques
        How many records are alone in their class.
    population_uniques
        How many of these are alone in the population as well; where classes are estimated, how
        many of them are expected to be.
    sizes
        How the records are spread over class sizes.
    basis
        What is known of the population.
    """

    records: int
    classes: int
    smallest: int
    average: float
    prosecutor: float
    journalist: float
    marketer: float
    uniques: int
    population_uniques: float
    sizes: tuple[SizeShare, ...]
    basis: Basis

    def above(self, threshold: float) -> float:
        """Return the share of the records in bars whose every class has a higher risk."""
        risky = sum(s.records for s in self.sizes if s.most is not None and 1 / s.most > threshold)
        return risky / self.records


def risk_of_sizes(
    sizes: npt.NDArray[np.int64],
    people: npt.NDArray[np.int64] | None = None,
    fraction: float | None = None,
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
        estimated then (`sfumato.engine.generalization.population.expected_shares`).

    Raises
    ------
    DiversityError
        If there is no class, a class has more records than the population has people, or the
        fraction is out of range.
    """
    if not len(sizes):
        raise DiversityError("The table has no records.", "Choose a table with records.")
    alone = sizes == 1
    if people is not None:
        _check_people(sizes, people)
        basis, shares, alone_there = Basis.COUNTED, 1 / people, float((alone & (people == 1)).sum())
    elif fraction is not None:
        basis, shares = Basis.SAMPLED, expected_shares(sizes, fraction)
        # Nobody else is in the class with the chance that all others would be in the sample.
        alone_there = float(alone.sum()) * fraction
    else:
        basis, shares, alone_there = Basis.TABLE, 1 / sizes, float(alone.sum())
    records = int(sizes.sum())
    return Risk(
        records,
        len(sizes),
        int(sizes.min()),
        records / len(sizes),
        1 / int(sizes.min()),
        float(shares.max()),
        float((sizes * shares).sum()) / records,
        int(alone.sum()),
        alone_there,
        size_shares(sizes),
        basis,
    )


def _check_people(sizes: npt.NDArray[np.int64], people: npt.NDArray[np.int64]) -> None:
    """Refuse a population that the table's people can't belong to."""
    lacking = int((people < sizes).sum())
    if lacking:
        raise DiversityError(
            "In {lacking} of {classes} classes the population has fewer people than the table has"
            " records, so the table's people don't all belong to it.",
            "Choose a population that they belong to, and whose columns are spelled as here.",
            lacking=lacking,
            classes=len(sizes),
        )


def risk_of_classes(
    classes: EquivalenceClasses,
    suppressed: Suppressed,
    people: npt.NDArray[np.int64] | None = None,
    fraction: float | None = None,
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

    Raises
    ------
    DiversityError
        As `risk_of_sizes`.
    """
    starred = suppressed is Suppressed.STARRED and not classes.kept.all()

    def shown(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        kept = counts[classes.kept]
        return np.append(kept, counts[~classes.kept].sum()) if starred else kept

    return risk_of_sizes(shown(classes.sizes), None if people is None else shown(people), fraction)


def risk_of_frame(frame: pd.DataFrame, quasi_identifiers: list[str]) -> Risk:
    """Measure the risk of a table from its public columns, before or after it is generalized."""
    if not quasi_identifiers:
        return risk_of_sizes(np.array([len(frame)]) if len(frame) else np.zeros(0, np.int64))
    groups = frame.groupby(quasi_identifiers, observed=True, sort=False, dropna=False)
    return risk_of_sizes(groups.size().to_numpy().astype(np.int64))


def size_shares(sizes: npt.NDArray[np.int64]) -> tuple[SizeShare, ...]:
    """Return how classes and records are spread over class sizes."""
    found = []
    for least, following in zip(SIZE_STEPS, (*SIZE_STEPS[1:], None), strict=True):
        inside = sizes >= least
        if following is not None:
            inside &= sizes < following
        most = None if following is None else following - 1
        found.append(SizeShare(least, most, int(inside.sum()), int(sizes[inside].sum())))
    return tuple(found)
