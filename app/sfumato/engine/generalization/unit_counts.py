"""How many different units equivalence classes hold, where several rows belong to one unit.

A class's rows add up when classes join, its units do not: a unit may have rows in several of the
classes. So units are counted from the rows, but only in those classes whose rows leave it open
whether they are enough: a class has no more units than rows, and at least k units once it has more
rows than the k − 1 largest units have together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.generalization.coded import IntArray, QuasiIdentifier, mixed_radix
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.table.repeated_units import count_units

Counts = npt.NDArray[np.int64]
Kept = npt.NDArray[np.bool_]


class UnitCounts:
    """The units of any classes of a table.

    Parameters
    ----------
    quasi_identifiers
        The table, n rows.
    units
        Each row's unit, shape (n,).
    """

    def __init__(
        self, quasi_identifiers: Sequence[QuasiIdentifier], units: npt.NDArray[np.int64]
    ) -> None:
        self._quasi = tuple(quasi_identifiers)
        numbered, uniques = pd.factorize(units)
        rows = np.sort(np.bincount(numbered, minlength=1))[::-1]
        self._largest = np.concatenate([[0], np.cumsum(rows)])
        # Rows of a unit that agree on everything count once, wherever they are counted.
        codes = [quasi.codes.astype(np.intp, copy=False) for quasi in self._quasi]
        sizes = [len(quasi.levels[0]) for quasi in self._quasi]
        key, _ = mixed_radix([numbered, *codes], [max(len(uniques), 1), *sizes])
        kept = ~pd.Series(key).duplicated().to_numpy()
        self._units = numbered[kept].astype(np.int64)
        self._codes = [column[kept] for column in codes]

    def most_rows(self, k: int) -> int:
        """Return from how many rows on a class is certain to have k units."""
        return int(self._largest[min(k - 1, len(self._largest) - 1)]) + 1

    def at_least(
        self,
        node: Node,
        records: Callable[[IntArray], Sequence[IntArray]],
        chosen: IntArray,
        rows: Counts,
        k: int,
    ) -> Kept:
        """Return which of some classes have k units, shape (C,).

        Parameters
        ----------
        node
            The level of each quasi-identifier.
        records
            Reads the ground codes of one record of each tuple with the numbers given.
        chosen
            The number of a tuple of each class.
        rows
            How many rows each class has, shape (C,).
        k
            How many units.
        """
        enough: Kept = rows >= k
        open_still = np.flatnonzero(enough & (rows < self.most_rows(k)))
        enough[open_still] = self.of(node, records(chosen[open_still])) >= k
        return enough

    def of(self, node: Node, records: Sequence[IntArray]) -> Counts:
        """Return how many units some classes of a node have, shape (C,).

        Parameters
        ----------
        node
            The level of each quasi-identifier.
        records
            For each quasi-identifier, the ground code of one record of each class, shape (C,).
        """
        count = len(records[0])
        if not count:
            return np.zeros(0, dtype=np.int64)
        columns, sizes = [], []
        for quasi, level, codes, rows in zip(self._quasi, node, records, self._codes, strict=True):
            columns.append(quasi.levels[level].take(np.concatenate([codes, rows])))
            sizes.append(quasi.sizes[level])
        key, _ = mixed_radix(columns, sizes)
        own, rest = pd.Index(key[:count]), pd.Index(key[count:])
        place = own.get_indexer(rest)
        found = place >= 0
        return count_units(place[found], self._units[found], count)
