"""How many different units equivalence classes hold, where several rows belong to one unit.

A class's rows add up when classes join, its units do not: a unit may have rows in several of the
classes. So units are counted from the rows, but only in those classes whose rows leave it open
whether they are enough: a class has no more units than rows, and at least k units once it has more
rows than the k − 1 largest units have together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.generalization.coded import IntArray, QuasiIdentifier, mixed_radix
from sfumato.engine.generalization.grouping import Tuples
from sfumato.engine.table.repeated_units import count_units


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

    def of(self, tuples: Tuples, chosen: IntArray) -> npt.NDArray[np.int64]:
        """Return how many units some tuples of a node have, shape (chosen,).

        Parameters
        ----------
        tuples
            A node's classes.
        chosen
            The numbers of those that are asked about.
        """
        if not len(chosen):
            return np.zeros(0, dtype=np.int64)
        columns, sizes = [], []
        of_tuples = tuples.records(chosen)
        for quasi, level, codes, rows in zip(
            self._quasi, tuples.node, of_tuples, self._codes, strict=True
        ):
            columns.append(quasi.levels[level].take(np.concatenate([codes, rows])))
            sizes.append(quasi.sizes[level])
        key, _ = mixed_radix(columns, sizes)
        own, rest = pd.Index(key[: len(chosen)]), pd.Index(key[len(chosen) :])
        place = own.get_indexer(rest)
        found = place >= 0
        return count_units(place[found], self._units[found], len(chosen))
