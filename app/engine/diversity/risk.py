"""How likely somebody is to be found in a table: the three attackers that custodians speak of.

A *prosecutor* knows that a certain person is in the table; a *journalist* does not, and wants to
show that anybody can be found; a *marketer* wants to find as many as possible (El Emam and Dankar,
JAMIA 2008). Each is measured before and after, from the sizes of the equivalence classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.engine.diversity.coded import CodedTable
from app.engine.diversity.lattice import Node
from app.engine.errors import DiversityError

SIZE_STEPS: Final = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Where the bars of the class sizes begin."""


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
        The highest chance of picking the right record: 1 over the smallest class.
    journalist
        The same where the attacker looks for people of a population: 1 over the smallest class of
        the population that has somebody in the table.
    marketer
        The share of the records that are expected to be found.
    uniques
        How many records are alone in their class.
    population_uniques
        How many of these are alone in the population as well.
    sizes
        How the records are spread over class sizes.
    population_known
        Whether a population was given; if not, the table counts as all of it.
    """

    records: int
    classes: int
    smallest: int
    average: float
    prosecutor: float
    journalist: float
    marketer: float
    uniques: int
    population_uniques: int
    sizes: tuple[SizeShare, ...]
    population_known: bool

    def above(self, threshold: float) -> float:
        """Return the share of the records in bars whose every class has a higher risk."""
        risky = sum(s.records for s in self.sizes if s.most is not None and 1 / s.most > threshold)
        return risky / self.records


def risk_of_sizes(
    sizes: npt.NDArray[np.int64], population: npt.NDArray[np.int64] | None = None
) -> Risk:
    """Measure the risk of a table.

    Parameters
    ----------
    sizes
        The number of records in each class, shape (C,), all at least 1.
    population
        The number of people of the population in each class, shape (C,); at least `sizes`.

    Raises
    ------
    DiversityError
        If there is no class, or a class has more records than the population has people.
    """
    if not len(sizes):
        raise DiversityError("The table has no records.", "Choose a table with records.")
    people = sizes if population is None else population
    if (people < sizes).any():
        raise DiversityError(
            "In {classes} classes the population has fewer people than the table has records.",
            "Choose a population that the table's people belong to.",
            classes=int((people < sizes).sum()),
        )
    records = int(sizes.sum())
    return Risk(
        records,
        len(sizes),
        int(sizes.min()),
        records / len(sizes),
        1 / int(sizes.min()),
        1 / int(people.min()),
        float((sizes / people).sum()) / records,
        int((sizes == 1).sum()),
        int(((sizes == 1) & (people == 1)).sum()),
        size_shares(sizes),
        population is not None,
    )


def risk_of_frame(frame: pd.DataFrame, quasi_identifiers: list[str]) -> Risk:
    """Measure the risk of a table from its public columns, before or after it is generalized."""
    if not quasi_identifiers:
        return risk_of_sizes(np.array([len(frame)]) if len(frame) else np.zeros(0, np.int64))
    groups = frame.groupby(quasi_identifiers, observed=True, sort=False, dropna=False)
    return risk_of_sizes(groups.size().to_numpy().astype(np.int64))


def population_sizes(
    table: CodedTable, population: CodedTable, node: Node
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Count each class of a table in the table and in a population.

    Parameters
    ----------
    table, population
        Encoded by the same hierarchies.
    node
        The level of each quasi-identifier.

    Returns
    -------
    tuple of numpy.ndarray
        Records and people of each class that has a record, each of shape (C,).
    """
    if table.names != population.names:
        raise DiversityError(
            "The population has other quasi-identifiers than the table.",
            "Choose a population with the same columns.",
        )
    counted = []
    for each in (table, population):
        columns = {
            quasi.name: quasi.levels[level][quasi.codes]
            for quasi, level in zip(each.quasi_identifiers, node, strict=True)
        }
        counted.append(pd.DataFrame(columns).groupby(list(each.names), sort=True).size())
    own, people = counted
    people = people.reindex(own.index, fill_value=0)
    return own.to_numpy().astype(np.int64), people.to_numpy().astype(np.int64)


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
