"""Units of protection in a table that is too long for memory: which rows leave, and whose they are.

What is kept is one bit a row, where not all rows leave, and how often each value of an attribute
occurs that is drawn once for a unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Domain
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.marks import Marks, value_marks
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Unit
from sfumato.project.release.class_sizes import RowsUnits
from sfumato.project.release.units import unit_ids_of
from sfumato.project.release.value_counts import series_of

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LongUnits:
    """The units of a long table, and which of their rows leave.

    Parameters
    ----------
    unit
        What is stated of them.
    number
        How many there are.
    rows
        How many rows leave.
    sizes
        How many units have so many rows that leave, by their number.
    """

    unit: Unit
    number: int
    rows: int
    sizes: Mapping[int, int]
    _held_back: npt.NDArray[np.uint8] | None = field(repr=False)
    _counts: Mapping[str, Mapping[int, int]] = field(repr=False)
    _keys: KeyRing = field(repr=False)

    def leave(self, rows: Places) -> npt.NDArray[np.bool_]:
        """Return which of the rows that stand in these places of the table leave, shape (n,)."""
        if self._held_back is None:
            return np.ones(len(rows), dtype=np.bool_)
        found: npt.NDArray[np.bool_] = self._held_back[rows >> 3] >> (rows & 7) & 1 == 0
        return found

    def of(self, batch: pa.RecordBatch, rows: Places) -> RowsUnits:
        """Return whose some rows are, by numbers under a key that nobody keeps.

        Raises
        ------
        TableError
            If a row's unit is missing.
        """
        return RowsUnits(units_in(batch, self.unit, self._keys), rows)

    def counts(self, seen: pd.Series, domain: Domain, name: str) -> npt.NDArray[np.int64] | None:
        """Return how many units have each value of a domain, shape (m,).

        None where the attribute is drawn row by row. `seen` has each value once, as it is drawn.
        """
        known = self._counts.get(name)
        if known is None:
            return None
        weights = [known.get(mark, 0) for mark in row_marks(seen).tolist()]
        counts = np.bincount(domain.encode(seen, name), weights=weights, minlength=domain.size)
        found: npt.NDArray[np.int64] = counts.astype(np.int64)
        return found


def units_in(batch: pa.RecordBatch, unit: Unit, keys: KeyRing) -> Marks:
    """Return the identifier of each row's unit under some keys, shape (n,)."""
    columns = {name: series_of(batch[name], name) for name in unit.columns}
    found = unit_ids_of(unit, Table(pd.DataFrame(columns, copy=False), is_part=True), keys)
    assert found is not None
    return found


def row_marks(column: pd.Series) -> Marks:
    """Return each row's mark by a column, the same wherever the table is cut."""
    found, places = value_marks(column)
    return found if places is None else found[places]
