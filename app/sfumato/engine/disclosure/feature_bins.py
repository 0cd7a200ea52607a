"""The bins of features by which trees are grown, made from each distinct value once.

A feature has far fewer distinct values than rows: categories, repeating numbers, and averages
within groups, of which a group has as many as there are parts. So a row is known by its place among
these values, which the features of a column share, and by which its bin is looked up when it is
needed: a matrix of features by rows is never held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from sfumato.engine.core.values import Bytes, Floats, Indices, Integers

BINS: Final = 64


@dataclass(frozen=True, eq=False)
class Placed:
    """A feature as its values and each row's place among them.

    Parameters
    ----------
    values
        The values, not a number where missing, shape (v,).
    places
        Shape (rows,).
    """

    values: Floats
    places: Integers

    @classmethod
    def of(cls, column: Floats) -> Placed:
        """Return a column's distinct values and their places."""
        values, places = np.unique(column, return_inverse=True)
        return cls(values, places.astype(np.min_scalar_type(len(values))))


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of F features in some rows.

    Parameters
    ----------
    tables
        For each feature, the bin of each of its values; see `bins_of`.
    places
        For each feature, the place of each row's value, shape (n,).
    rows
        Which of these rows, ascending; None for all.
    """

    tables: Sequence[Bytes] = field(repr=False)
    places: Sequence[Integers] = field(repr=False)
    rows: Indices | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def number_of_rows(self) -> int:
        """How many rows there are."""
        return len(self.places[0]) if self.rows is None else len(self.rows)

    def among(self, rows: Indices) -> Bins:
        """Return the bins in some of the rows."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def of(self, feature: int) -> Bytes:
        """Return the bin of a feature in each row, shape (rows,)."""
        places = self.places[feature]
        return self.tables[feature][places if self.rows is None else places[self.rows]]

    def matrix(self, features: Sequence[int]) -> Bytes:
        """Return the bins of some features, shape (features, rows)."""
        found = np.empty((len(features), self.number_of_rows), dtype=np.uint8)
        for at, feature in enumerate(features):
            found[at] = self.of(feature)
        return found


def bins_of(values: Floats, counts: Integers, *, level: bool) -> Bytes:
    """Return the bins of a feature's values: quantiles of numbers, one for each category.

    Parameters
    ----------
    values
        The values, in any order, not a number where missing, shape (v,).
    counts
        How many of the rows that edges are learned from have each, shape (v,).
    level
        Whether they are codes of categories: each has its own bin.

    Returns
    -------
    The number of edges that are not above the value, plus one; missing values have bin 0.
    """
    known = np.flatnonzero((counts > 0) & ~np.isnan(values))
    known = known[np.argsort(values[known], kind="stable")]
    numbers = values[known]
    first = np.flatnonzero(np.diff(numbers, prepend=np.nan) != 0.0)
    if level or len(first) < BINS - 1:
        distinct = numbers[first]
        edges = (distinct[1:] + distinct[:-1]) / 2.0
    else:
        edges = np.unique(_quantiles(numbers, counts[known].cumsum()))
    found = np.searchsorted(edges[: BINS - 2], values, side="right") + 1
    return np.where(np.isnan(values), 0, found).astype(np.uint8)


def _quantiles(numbers: Floats, until: Integers) -> Floats:
    """Return the quantiles of ascending numbers, so many of them until each, as numpy does."""
    at = np.arange(1, BINS - 1) / (BINS - 1) * (until[-1] - 1)
    below = np.floor(at)
    left, right = (numbers[np.searchsorted(until, below + n, side="right")] for n in (0, 1))
    share = at - below
    nearer_left = left + (right - left) * share
    return np.where(share < 0.5, nearer_left, right - (right - left) * (1.0 - share))
