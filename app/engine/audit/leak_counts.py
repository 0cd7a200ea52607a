"""How often the rows of a leaked file occur in each release that it may come from.

A leaked file may be a part of a release, in any order and with columns missing. What is left
to compare are whole rows: how often a row's values occur together in each release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

ABSENT = -1
"""The group of a release's row that does not occur in the leaked file."""


@dataclass(frozen=True)
class RowGroups:
    """Rows of a leaked file and of a table, grouped by the values compared so far.

    Parameters
    ----------
    leaked
        The group of each leaked row, shape (k,), from 0.
    table
        The group of each row of the table, shape (n,); `ABSENT` where no leaked row is like it.
    count
        The number of groups.
    """

    leaked: Positions
    table: Positions
    count: int

    @classmethod
    def before_any_column(cls, leaked_rows: int, table_rows: int) -> RowGroups:
        """Return one group that holds every row."""
        return cls(np.zeros(leaked_rows, dtype=np.int64), np.zeros(table_rows, dtype=np.int64), 1)

    def split_by(self, leaked: Positions, table: Positions) -> RowGroups:
        """Return the groups split by one more column.

        Parameters
        ----------
        leaked, table
            The column's values as positions in a common list; shape (k,) and (n,). Equal
            positions mean equal values.
        """
        values, leaked_places = np.unique(leaked, return_inverse=True)
        table_places = _places(values, table)
        base = len(values)
        keys, groups = np.unique(self.leaked * base + leaked_places, return_inverse=True)
        here = (self.table != ABSENT) & (table_places != ABSENT)
        wanted = np.where(here, self.table * base + table_places, -1)
        return RowGroups(groups.astype(np.int64), _places(keys, wanted), len(keys))


@dataclass(frozen=True)
class LeakCounts:
    """How often each distinct leaked row occurs, in the file and in each candidate release.

    Parameters
    ----------
    leaked
        How often it occurs in the leaked file, shape (distinct rows,).
    released
        How often it occurs in each candidate, shape (candidates, distinct rows).
    rows
        How many rows each candidate has, n.
    possible
        How many different rows the compared columns could make, at least 1.
    """

    leaked: Counts
    released: Counts
    rows: int
    possible: float

    @property
    def total(self) -> int:
        """How many rows were leaked, k."""
        return int(self.leaked.sum())

    @property
    def unexplained(self) -> int:
        """How many leaked rows occur in no candidate: altered ones, or from elsewhere."""
        return int(self.leaked[~self.released.any(axis=0)].sum())


def count_rows(groups: Sequence[RowGroups], rows: int, possible: float) -> LeakCounts:
    """Count each distinct leaked row in every candidate release.

    Parameters
    ----------
    groups
        For each candidate, the rows of the leaked file and of the candidate grouped by every
        column compared. Leaked rows that differ share no group, whoever the candidate is.
    rows
        How many rows each candidate has.
    possible
        How many different rows the compared columns could make.
    """
    first = groups[0].leaked
    leaked = np.bincount(first, minlength=groups[0].count)
    released = np.empty((len(groups), len(leaked)), dtype=np.int64)
    for place, candidate in enumerate(groups):
        counted = np.bincount(candidate.table + 1, minlength=candidate.count + 1)[1:]
        # Each candidate numbers the same distinct rows in its own way.
        own = np.empty(len(leaked), dtype=np.int64)
        own[first] = candidate.leaked
        released[place] = counted[own]
    return LeakCounts(leaked.astype(np.int64), released, rows, max(possible, 1.0))


def _places(sorted_values: Positions, wanted: Positions) -> Positions:
    """Return each wanted value's place among sorted ones, `ABSENT` where it is not there."""
    places = np.minimum(np.searchsorted(sorted_values, wanted), len(sorted_values) - 1)
    found: Positions = np.where(sorted_values[places] == wanted, places, ABSENT).astype(np.int64)
    return found
