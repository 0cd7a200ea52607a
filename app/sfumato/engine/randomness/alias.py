"""Drawing from any column of a matrix in constant time: Walker's alias method, on integers.

Every column is cut into m cells of one size. A cell holds at most two values: its own, up to a
threshold, and one other, its alias. A draw picks a cell evenly and compares a fair word with
the threshold. Weights are integers, so a column of the tables holds exactly the probabilities
that it was given, each rounded to 2^-50 of a cell; a value of probability 0 is never drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

CELL: Final = 1 << 50
"""The weight of a cell."""


@dataclass(frozen=True)
class AliasTables:
    """The cells of every column.

    Parameters
    ----------
    thresholds
        How much of each cell is its own value's, of `CELL`; shape (m, m), indexed [cell, column].
    aliases
        The other value of each cell; shape (m, m), indexed [cell, column].
    """

    thresholds: npt.NDArray[np.uint64]
    aliases: npt.NDArray[np.uint32]

    def weights(self) -> npt.NDArray[np.int64]:
        """Return the weight of every value in every column, of m·`CELL`; shape (m, m)."""
        size = len(self.thresholds)
        weights = self.thresholds.astype(np.int64)
        columns = np.broadcast_to(np.arange(size), (size, size))
        np.add.at(weights, (self.aliases, columns), CELL - self.thresholds.astype(np.int64))
        return weights


def alias_tables(entries: npt.NDArray[np.float64]) -> AliasTables:
    """Return the cells for a matrix whose columns are distributions.

    Parameters
    ----------
    entries
        Pr[released | original], shape (m, m), each column summing to 1 but for rounding.
    """
    size = len(entries)
    columns = np.arange(size)
    weights = _integer_weights(entries)
    # Values that fill no cell come first; the order among the others is of no account.
    order = np.argsort(weights >= CELL, axis=0, kind="stable")
    small = np.zeros(size, dtype=np.int64)
    large = (weights < CELL).sum(axis=0)
    first_large = large.copy()
    # A column whose weights are all one cell has no small value, and always a large one.
    left = weights[order[np.minimum(large, size - 1), columns], columns].copy()
    thresholds = np.full((size, size), CELL, dtype=np.uint64)
    aliases = np.tile(np.arange(size, dtype=np.uint32)[:, None], (1, size))
    for _ in range(size):
        current = order[np.minimum(large, size - 1), columns]
        overdrawn = (left < CELL) & (large < size - 1)
        takes = ~overdrawn & (small < first_large)
        # A large value that can't fill a cell any more closes its own with the next one.
        following = order[np.minimum(large + 1, size - 1), columns]
        filled = np.where(overdrawn, current, order[np.minimum(small, size - 1), columns])
        weight = np.where(overdrawn, left, weights[filled, columns])
        partner = np.where(overdrawn, following, current)
        active = overdrawn | takes
        at, column = filled[active], columns[active]
        thresholds[at, column] = weight[active]
        aliases[at, column] = partner[active]
        gained = np.where(overdrawn, weights[following, columns], left) - (CELL - weight)
        left = np.where(active, gained, left)
        large = np.where(overdrawn, large + 1, large)
        small = np.where(takes, small + 1, small)
        # The last large value of a column, or one with whole cells to spare, keeps its own.
        spare = ~active & (large < size - 1)
        large = np.where(spare, large + 1, large)
        left = np.where(spare, weights[order[np.minimum(large, size - 1), columns], columns], left)
    return AliasTables(thresholds, aliases)


def _integer_weights(entries: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the columns in units of 1/`CELL` of a cell, each summing to m cells exactly."""
    size = len(entries)
    weights = np.floor(entries * (float(size) * CELL)).astype(np.int64)
    # What rounding left over goes to the column's largest value, where it matters least.
    largest = weights.argmax(axis=0)
    weights[largest, np.arange(size)] += size * CELL - weights.sum(axis=0)
    return weights
