"""A population that the table's people belong to: how many of it are in each of its classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import hyp2f1

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.generalization.coded import CodedTable, IntArray, mixed_radix
from sfumato.engine.generalization.hierarchies import Hierarchy
from sfumato.engine.generalization.lattice import Node

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
        (`sfumato.engine.generalization.hierarchies.extend`).
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


def people_in(table: CodedTable, population: Population, node: Node) -> npt.NDArray[np.int64]:
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
    classes = int(found[: table.rows].max()) + 1
    counts = np.bincount(found[table.rows :], minlength=classes)[:classes]
    return counts.astype(np.int64)


def expected_shares(sizes: npt.NDArray[np.int64], fraction: float) -> npt.NDArray[np.float64]:
    """Estimate one over the people that a class has in the population, from a sample of them.

    Parameters
    ----------
    sizes
        The records of each class in the sample, f, shape (C,), at least 1.
    fraction
        The share of the population that is in the sample, π: everybody with the same chance.

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
    if not 0 < fraction <= 1:
        raise DiversityError(
            "The sampling fraction is {fraction:g}.",
            "Give the share of the population that is in the table, above 0 and at most 1.",
            fraction=fraction,
        )
    distinct, at = np.unique(sizes, return_inverse=True)
    estimate: npt.NDArray[np.float64] = (fraction / distinct * _series(distinct, fraction))[at]
    return estimate


def _series(sizes: npt.NDArray[np.int64], fraction: float) -> npt.NDArray[np.float64]:
    """Return ₂F₁(1, 1; f+1; 1−π): the library's for small f, where its series is slow."""
    found = np.ones(len(sizes))
    small = sizes <= _SMALL
    found[small] = hyp2f1(1.0, 1.0, sizes[small] + 1.0, 1.0 - fraction)
    large = sizes[~small]
    term = np.ones(len(large))
    for step in range(_TERMS):
        term = term * (step + 1) * (1.0 - fraction) / (large + 1 + step)
        found[~small] += term
    return found
