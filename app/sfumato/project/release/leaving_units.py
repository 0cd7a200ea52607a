"""Which rows of a table leave, where rows belong to units.

One pass puts aside on the disk which unit each row belongs to, under a key that nobody keeps, so
that a unit's rows come together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from secrets import token_bytes
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.randomness.record_ids import key_hashes
from sfumato.engine.randomness.row_order import order_words
from sfumato.engine.table.combinations import Marks
from sfumato.project.document.model import Document, Unit
from sfumato.project.release.batched_table import (
    BatchedTable,
    naming_rows,
    refuse_repeated,
)
from sfumato.project.release.bucket_counts import (
    MOST_VALUES,
    Buckets,
    put_keys,
    repeated_keys,
    series_of,
)
from sfumato.project.release.units import (
    LeavingUnits,
    Places,
    row_marks,
    units_in,
    varies_within,
)

Shown = Callable[[pa.RecordBatch, Places], Mapping[str, "pd.Series"]]
"""Makes columns, by name, of some rows of a table that stand in some places."""

_PADS: Final = 40
"""From this bit on, what a row's pad is made of tells the columns apart."""


def leaving_rows(
    table: BatchedTable, document: Document, keys: KeyRing, context: Context
) -> BatchedTable:
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
    # Which rows leave depends on the keys, which are others once a project is made.
    asked = ("units", keys, repr((unit, document.record_key, specs)))

    def find() -> BatchedTable:
        found = _Units(table, unit, specs, document.record_key)
        return table.leaving_by(found.units(keys, context))

    return table.keep(asked, find)


def every_row_leaving(table: BatchedTable, unit: Unit, context: Context) -> BatchedTable:
    """Return the table of rows that all leave, with whose they are.

    Raises
    ------
    TableError
        If a row's unit is missing.
    """
    every = replace(unit, most_rows=table.rows)
    found = _Units(table, every, ()).units(None, context)
    return table.leaving_by(replace(found, unit=unit))


def units_drawn(
    table: BatchedTable, unit: Unit, spec: ColumnSpec, context: Context
) -> LeavingUnits:
    """Return what is counted of an attribute that is drawn once for a unit.

    Raises
    ------
    TableError
        If a row's unit is missing.
    PolicyError
        If it is not the same in all rows of a unit.
    """
    asked = ("drawn_once", repr((unit.columns, spec.name, spec.binning)))
    every = replace(unit, most_rows=table.rows)
    return table.keep(asked, lambda: _Units(table, every, [spec]).units(None, context))


def look_at_units(
    table: BatchedTable,
    columns: Sequence[str],
    names: Sequence[str],
    context: Context,
    shown: Shown | None = None,
    read: Sequence[str] = (),
) -> tuple[tuple[str, ...], int]:
    """Return the columns that are the same in all rows of every unit, and the largest's rows.

    Columns may be looked at as they are `shown`, which is made of those that are `read`.
    """
    unit = Unit(tuple(columns), table.rows, tuple(names))
    specs = [ColumnSpec(name, Role.INSENSITIVE) for name in names]
    return _Units(table, unit, specs, shown=shown, read=read).constant(context)


class _Units:
    """One pass that finds a table's units, with what is stated to be the same in their rows.

    Without keys, no rows are chosen: all of them leave.
    """

    def __init__(
        self,
        table: BatchedTable,
        unit: Unit,
        specs: Sequence[ColumnSpec],
        record_key: str | None = None,
        shown: Shown | None = None,
        read: Sequence[str] = (),
    ) -> None:
        self._table, self._unit, self._record_key = table, unit, record_key
        names = [spec.name for spec in specs]
        self._names, self._specs = names, specs
        self._shown, self._of = shown or self._drawn, names if shown is None else read
        self._keys = KeyRing(token_bytes(SECRET_BYTES))
        self._pads = AttributeKey(token_bytes(SECRET_BYTES))
        self._held_back = np.zeros(-(-table.rows // 8), dtype=np.uint8)
        self._leaving: Counter[int] = Counter()
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in names}
        """How many units have a value, by its mark; a list of more values is refused elsewhere."""
        self._varying = dict.fromkeys(names, 0)
        self._first: dict[str, tuple[int, int]] = {}

    def units(self, keys: KeyRing | None, context: Context) -> LeavingUnits:
        """Read the rows; see `leaving_rows`."""
        self._read(keys, context)
        table, unit, number = self._table, self._unit, self._leaving.total()
        for name in self._names:
            if count := self._varying[name]:
                raise varies_within(unit, name, count, number, *self._first[name])
        left = sum(size * count for size, count in self._leaving.items())
        held_back = None if left == table.rows else self._held_back
        return LeavingUnits(unit, number, left, self._leaving, held_back, self._counts, self._keys)

    def constant(self, context: Context) -> tuple[tuple[str, ...], int]:
        """Read the rows; return what is the same in them, and how many the largest unit has."""
        self._read(None, context)
        return tuple(n for n in self._names if not self._varying[n]), max(self._leaving, default=0)

    def _read(self, keys: KeyRing | None, context: Context) -> None:
        table, unit, record_key = self._table, self._unit, self._record_key
        named = [] if record_key is None else [record_key]
        read = dict.fromkeys([*unit.columns, *named, *self._of])
        part = Part(context, 0.0, 0.8)
        with Buckets(table.folder, table.rows) as apart, Buckets(table.folder, table.rows) as known:
            for batch, rows in table.read(list(read), "Looking at the units", part):
                with naming_rows(rows):
                    units = units_in(batch, unit, self._keys)
                    order = np.zeros(len(rows), dtype=np.uint64)
                    if keys is not None:
                        ids = rows.astype(np.uint64)
                        if record_key is not None:
                            named_by = series_of(batch[record_key], record_key)
                            hashes = key_hashes(named_by, keys, Silent())
                            put_keys(known, hashes)
                            ids = hashes[:, 0].copy()
                        order = order_words(ids, keys.for_unit_rows())[:, 0].copy()
                columns = [units, rows, order]
                with naming_rows(rows):
                    shown = self._shown(batch, rows)
                for place, name in enumerate(self._names):
                    columns.append(row_marks(shown[name]) ^ self._padding(rows, place))
                names = [str(place) for place in range(len(columns))]
                apart.add(pa.record_batch(columns, names=names), units)
            if record_key is not None:
                refuse_repeated(table, record_key, repeated_keys(known))
            for bucket in apart:
                context.report(0.9, "Looking at the units")
                self._look_at(*(column.to_numpy() for column in bucket.columns))

    def _drawn(self, batch: pa.RecordBatch, _rows: Places) -> Mapping[str, pd.Series]:
        specs = self._specs
        return {one.name: drawn_as(one, series_of(batch[one.name], one.name)) for one in specs}

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


def drawn_as(spec: ColumnSpec, column: pd.Series) -> pd.Series:
    """Return a column's values as they are drawn: in bins where there are such."""
    return column if spec.binning is None else spec.binning.apply(column).rename(spec.name)


def _changes(ordered: Marks) -> npt.NDArray[np.bool_]:
    return np.append(True, ordered[1:] != ordered[:-1])


def _counted(numbers: npt.NDArray[np.integer]) -> dict[int, int]:
    found, counts = np.unique(numbers, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))
