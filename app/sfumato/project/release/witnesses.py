"""Rows of a table that show whatever decides how its columns are stored in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.values import Value
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import NativeColumn, in_stated_order, precision
from sfumato.formats.formulas import begin_formulas
from sfumato.formats.table_format import Batches

_SIGNED: Final = (1 << 63) - 1
"""The largest of the whole numbers with a sign."""
_COARSER: Final = {"s": "day", "ms": "second", "us": "millisecond", "ns": "microsecond"}


def frame_of(
    batches: Iterable[pa.RecordBatch],
    types: Mapping[str, pa.DataType],
    rows: int = 1,
    orders: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> pd.DataFrame:
    """Return columns of rows, about so many, as whoever reads the whole file has them.

    Those that have `orders` are categories in these; without them, they are texts.
    """
    columns = {name: NativeColumn(name, kind, rows) for name, kind in types.items()}
    for batch in batches:
        for name, column in columns.items():
            column.add(batch[name])
    found = {name: each.finish() for name, each in columns.items()}
    for name, order in orders.items():
        found[name] = in_stated_order(pd.Series(found[name]), order)
    return pd.DataFrame(found, copy=False)


class TypeEvidence:
    """Finds the first row that shows something by which a column is stored otherwise.

    Parameters
    ----------
    batches
        The table's rows.
    types
        What each column that is read is read as.
    leaving
        The columns whose texts may leave as they are.
    """

    def __init__(
        self, batches: Batches, types: Mapping[str, pa.DataType], leaving: Iterable[str]
    ) -> None:
        self._types, self._leaving = types, frozenset(leaving)
        self._ordered = batches.ordered & self._leaving
        self._labelled = {
            name: _labelled(labels, types[name])
            for name, labels in batches.value_labels.items()
            if name in self._leaving and labels
        }
        self._seen: set[tuple[str, str]] = set()
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[npt.NDArray[np.int64]] = []

    def of(self, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Return the places of the rows of a batch that show something new."""
        found = [] if self._rows else [0]
        for name, kind in self._types.items():
            values = batch[name]
            if values.null_count:
                found += self._first(name, "missing", pc.is_null(values))
            if pa.types.is_uint64(kind):
                largest = pa.scalar(_SIGNED, pa.uint64())
                found += self._first(name, "large", pc.greater(values, largest))
            elif pa.types.is_timestamp(kind):
                if unit := precision(values.to_pandas()):
                    coarser = pc.floor_temporal(values, unit=_COARSER[unit])
                    found += self._first(name, unit, pc.not_equal(coarser, values))
            elif pa.types.is_floating(kind):
                found += self._first(name, "infinite", pc.is_inf(values))
            elif pa.types.is_string(kind) and name in self._leaving:
                found += self._first(name, "formula", begin_formulas(values))
            if name in self._ordered:
                found += self._first_of_each(name, values)
            if name in self._labelled:
                found += self._first(name, "unlabelled", self._unlabelled(name, values))
        return np.array(found, dtype=np.int64)

    def _unlabelled(self, name: str, values: pa.Array) -> pa.Array:
        """Return which values of a column have no label, though others have."""
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        labelled = self._labelled[name]
        known = pc.is_in(values.cast(labelled.type), value_set=labelled)
        return pc.and_(values.is_valid(), pc.invert(known))

    def _first_of_each(self, name: str, values: pa.Array) -> list[int]:
        """Return the first row of each category: a file names those that its rows have."""
        coded = values.dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        met, firsts = np.unique(codes, return_index=True)
        texts = coded.dictionary.take(pa.array(met[met >= 0])).to_pylist()
        first = zip(texts, firsts[met >= 0].tolist(), strict=True)
        new = {text: row for text, row in first if (name, f"category {text}") not in self._seen}
        self._seen |= {(name, f"category {text}") for text in new}
        return list(new.values())

    def _first(self, name: str, what: str, shows: pa.Array) -> list[int]:
        if (name, what) in self._seen:
            return []
        place = pc.index(shows, True).as_py()
        if place >= 0:
            self._seen.add((name, what))
        return [] if place < 0 else [place]

    def keep(
        self,
        batch: pa.RecordBatch,
        places: npt.NDArray[np.int64],
        rows: npt.NDArray[np.int64],
    ) -> None:
        """Keep the rows in some places of a batch, whose rows stand in these of the table."""
        if len(places):
            places = np.unique(places)
            self._batches.append(batch.take(pa.array(places)))
            self._rows.append(rows[places])

    def gathered(self, batches: Batches) -> tuple[Table, npt.NDArray[np.int64]]:
        """Return the rows that were kept, and their places in the table that was read."""
        orders = {name: order for name, order in batches.orders.items() if name in self._types}
        frame = frame_of(self._batches, self._types, orders=orders)
        return batches.table(frame, is_part=True), np.concatenate(self._rows)


def _labelled(labels: Mapping[Value, str], kind: pa.DataType) -> pa.Array:
    """Return the values that have labels, of texts as texts and of others as decimal numbers."""
    if pa.types.is_string(kind) or pa.types.is_dictionary(kind):
        return pa.array([value for value in labels if isinstance(value, str)], pa.string())
    numbers = [float(value) for value in labels if isinstance(value, int | float)]
    return pa.array(numbers, pa.float64())
