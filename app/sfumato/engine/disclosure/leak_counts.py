"""How often the rows of a leaked file occur in each release that it may come from.

A leaked file may be a part of a release, in any order and with columns missing. What is left
to compare are whole rows: how often a row's values occur together in each release.

Whoever has the table can make rows that look like a release's without having one: a release
shows true values, so does the table, and a value drawn by chance is sometimes the same as a
released one. `Unreleased` says how likely each leaked row is in such ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
Likelihoods = npt.NDArray[np.float64]

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
class Way:
    """A way in which rows come about without any release: some values from the table.

    Parameters
    ----------
    groups
        The rows of the leaked file and of the table, grouped by the columns whose values are the
        table's own.
    others
        How likely the values of the other columns are, for each leaked row, shape (k,).
    shows_truth
        Whether a column that releases perturb is among those that are the table's own.
    """

    groups: RowGroups
    others: Likelihoods
    shows_truth: bool


@dataclass(frozen=True)
class Unreleased:
    """How likely each distinct leaked row is, where it comes from no release.

    Parameters
    ----------
    altered
        If its perturbed values are drawn by chance, way by way; shape (ways, distinct rows).
    truthful
        If some or all of them are true, shape (ways, distinct rows).
    table
        If it is a row of the table itself, shape (distinct rows,); None where that is unknown.
    """

    altered: Likelihoods
    truthful: Likelihoods
    table: Likelihoods | None = None

    @classmethod
    def unknown(cls, distinct: int) -> Unreleased:
        """Return no way at all."""
        return cls(np.empty((0, distinct)), np.empty((0, distinct)))


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
    unreleased
        How likely the rows are if they come from no release; where it is not told, only as rows
        that are put together by chance from the compared columns' values.
    """

    leaked: Counts
    released: Counts
    rows: int
    possible: float
    unreleased: Unreleased | None = field(default=None, repr=False)

    @property
    def total(self) -> int:
        """How many rows were leaked, k."""
        return int(self.leaked.sum())

    @property
    def unexplained(self) -> int:
        """How many leaked rows occur in no candidate: altered ones, or from elsewhere."""
        return int(self.leaked[~self.released.any(axis=0)].sum())


def count_rows(
    groups: Sequence[RowGroups], rows: int, possible: float, ways: Sequence[Way] = ()
) -> LeakCounts:
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
    ways
        How rows can come about without any release. The last one that shows only true values is
        the table itself.
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
    counts = LeakCounts(leaked.astype(np.int64), released, rows, max(possible, 1.0))
    if not ways:
        return counts
    return replace(counts, unreleased=_unreleased(ways, first, len(leaked), rows))


def _unreleased(ways: Sequence[Way], first: Positions, distinct: int, rows: int) -> Unreleased:
    """Return each way's likelihoods of the distinct rows."""
    found: dict[bool, list[Likelihoods]] = {False: [], True: []}
    for way in ways:
        counted = np.bincount(way.groups.table + 1, minlength=way.groups.count + 1)[1:]
        likelihood = np.empty(distinct)
        likelihood[first] = counted[way.groups.leaked] / rows * way.others
        found[way.shows_truth].append(likelihood)
    altered, truthful = (np.array(found[kind]).reshape(-1, distinct) for kind in (False, True))
    return Unreleased(altered, truthful, truthful[-1] if len(truthful) else None)


def _places(sorted_values: Positions, wanted: Positions) -> Positions:
    """Return each wanted value's place among sorted ones, `ABSENT` where it is not there."""
    places = np.minimum(np.searchsorted(sorted_values, wanted), len(sorted_values) - 1)
    found: Positions = np.where(sorted_values[places] == wanted, places, ABSENT).astype(np.int64)
    return found
