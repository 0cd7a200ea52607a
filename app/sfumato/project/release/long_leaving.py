"""The rows of a long table that leave, where rows belong to units.

One pass puts aside on the disk which unit each row belongs to, under a key that nobody keeps, so
that a unit's rows come together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from secrets import token_bytes
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.randomness.record_ids import key_hashes
from sfumato.engine.randomness.row_order import order_words
from sfumato.engine.table.marks import Marks
from sfumato.project.document.model import Document
from sfumato.project.release.buckets import Buckets
from sfumato.project.release.long_table import LongTable, naming_rows, put_keys, repeated_keys
from sfumato.project.release.long_units import LongUnits, Places, row_marks, units_in
from sfumato.project.release.units import varies_within
from sfumato.project.release.value_counts import MOST_VALUES, series_of
from sfumato.project.release.workers import refuse_repeated

_PADS: Final = 40
"""From this bit on, what a row's pad is made of tells the columns apart."""


def leaving_rows(
    table: LongTable, document: Document, keys: KeyRing, context: Context
) -> LongTable:
    """Return the table of the rows that leave; the table itself where rows stand alone.

    Raises
    ------
    TableError
        If a row's unit or record key is missing, or a record key is repeated.
    PolicyError
        If an attribute is not the same in all rows of a unit although that is stated.
    """
    unit = document.unit
    if unit is None:
        return table
    entries = [name for each in document.policy for name in each.attributes]
    specs = [document.column(name) for name in dict.fromkeys(entries) if name in unit.constant]
    asked = ("units", repr((unit, document.record_key, specs)))

    def find() -> LongTable:
        constant = _Constant(table, document, [spec.name for spec in specs])
        return LongTable(table.batches, table.folder, constant.units(keys, context))

    return table.keep(asked, find)


class _Constant:
    """One pass that finds a table's units, with what is stated to be the same in their rows."""

    def __init__(self, table: LongTable, document: Document, names: Sequence[str]) -> None:
        assert document.unit is not None
        assert document.record_key is not None
        self._table, self._document, self._names = table, document, names
        self._unit, self._record_key = document.unit, document.record_key
        self._keys = KeyRing(token_bytes(SECRET_BYTES))
        self._pads = AttributeKey(token_bytes(SECRET_BYTES))
        self._held_back = np.zeros(-(-table.rows // 8), dtype=np.uint8)
        self._leaving: Counter[int] = Counter()
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in names}
        """How many units have a value, by its mark; a list of more values is refused elsewhere."""
        self._varying = dict.fromkeys(names, 0)
        self._first: dict[str, tuple[int, int]] = {}

    def units(self, keys: KeyRing, context: Context) -> LongUnits:
        """Read the rows; see `leaving_rows`."""
        table, unit = self._table, self._unit
        read = dict.fromkeys([*unit.columns, self._record_key, *self._names])
        part = Part(context, 0.0, 0.8)
        with Buckets(table.folder, table.rows) as apart, Buckets(table.folder, table.rows) as known:
            for batch, rows in table.read(list(read), "Looking at the units", part):
                with naming_rows(rows):
                    units = units_in(batch, unit, self._keys)
                    hashes = key_hashes(self._column(batch, self._record_key), keys, Silent())
                put_keys(known, hashes)
                order = order_words(hashes[:, 0].copy(), keys.for_unit_rows())[:, 0]
                columns = [units, rows, order.copy()]
                for place, name in enumerate(self._names):
                    with naming_rows(rows):
                        marks = row_marks(self._shown(batch, name))
                    columns.append(marks ^ self._padding(rows, place))
                names = [str(place) for place in range(len(columns))]
                apart.add(pa.record_batch(columns, names=names), units)
            refuse_repeated(self._record_key, repeated_keys(known))
            for bucket in apart:
                context.report(0.9, "Looking at the units")
                self._look_at(*(column.to_numpy() for column in bucket.columns))
        number = self._leaving.total()
        for name in self._names:
            if count := self._varying[name]:
                raise varies_within(unit, name, count, number, *self._first[name])
        left = sum(size * count for size, count in self._leaving.items())
        held_back = None if left == table.rows else self._held_back
        return LongUnits(unit, number, left, self._leaving, held_back, self._counts, self._keys)

    def _column(self, batch: pa.RecordBatch, name: str) -> pd.Series:
        return series_of(batch[name], name)

    def _shown(self, batch: pa.RecordBatch, name: str) -> pd.Series:
        binning = self._document.column(name).binning
        column = self._column(batch, name)
        return column if binning is None else binning.apply(column).rename(name)

    def _padding(self, rows: Places, place: int) -> Marks:
        """Return what hides the marks of a column's values on the disk, shape (n,)."""
        numbers = rows.astype(np.uint64) | np.uint64(place << _PADS)
        return order_words(numbers, self._pads)[:, 0].copy()

    def _look_at(self, units: Marks, rows: Places, order: Marks, *hidden: Marks) -> None:
        """Look at all rows of some units."""
        by_order = np.lexsort((order, units))
        begins = np.flatnonzero(_changes(units[by_order]))
        sizes = np.diff(begins, append=len(units))
        rank = np.arange(len(units)) - np.repeat(begins, sizes)
        late = rows[by_order[rank >= self._unit.most_rows]]
        np.bitwise_or.at(self._held_back, late >> 3, (1 << (late & 7)).astype(np.uint8))
        leaving = np.minimum(sizes, self._unit.most_rows)
        self._leaving.update(_counted(leaving))
        # Rows came in the table's order, and units stand as they do by the other order.
        in_table = np.argsort(units, kind="stable")
        of_unit = np.repeat(np.arange(len(begins)), sizes)
        for place, (name, marks) in enumerate(zip(self._names, hidden, strict=True)):
            values = (marks ^ self._padding(rows, place))[in_table]
            firsts = values[begins]
            if len(self._counts[name]) <= MOST_VALUES:
                self._counts[name].update(_counted(firsts))
            differing = np.flatnonzero(values != firsts[of_unit])
            varying, others = np.unique(of_unit[differing], return_index=True)
            if len(varying):
                self._varying[name] += len(varying)
                ones = rows[in_table[begins[varying]]]
                first = int(ones.argmin())
                other = int(rows[in_table[differing[others[first]]]])
                pair = int(ones[first]), other
                self._first[name] = min(pair, self._first.get(name, pair))


def _changes(ordered: Marks) -> npt.NDArray[np.bool_]:
    return np.append(True, ordered[1:] != ordered[:-1])


def _counted(numbers: npt.NDArray[np.integer]) -> dict[int, int]:
    found, counts = np.unique(numbers, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))
