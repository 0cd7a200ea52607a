"""Many short columns looked at together.

A table of few rows and thousands of columns has little in each column, and a call of the library
for each takes longer than what it does. So the columns are laid end to end, looked at once, and
those whose values are of one type beyond doubt are told. All others are left to `GatheredColumn`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.formats.columns.gathering import RARE, GatheredColumn, Seen
from sfumato.formats.columns.parsing import (
    NO_POSITIONS,
    Parsed,
    Rules,
    boolean_cells,
    cast_texts,
    moment_cells,
    number_cells,
    text_cells,
)
from sfumato.formats.columns.shapes import trimmed
from sfumato.formats.options import ColumnType, ReadOptions

_MOST_ROWS: Final = 1_000
"""Columns with more rows are worth a look of their own."""
_FEWEST_COLUMNS: Final = 16

Cells = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


def seen_together(
    columns: Sequence[GatheredColumn], block: pa.RecordBatch, options: ReadOptions
) -> list[Seen | None]:
    """Return what each column of a block holds, where that is beyond doubt.

    Parameters
    ----------
    columns
        The columns, as far as they are gathered, k.
    block
        Their next rows.
    options
        How texts are read as values.
    """
    seen: list[Seen | None] = [None] * len(columns)
    places = np.array([i for i, column in enumerate(columns) if column.is_open], dtype=np.int64)
    if not 0 < len(block) <= _MOST_ROWS or len(places) < _FEWEST_COLUMNS:
        return seen
    stack = _Stack(block, places, seen)
    rules = Rules.of(options, fixed=False)
    stack.take_booleans()
    stack.take_texts()
    stack.take_numbers(rules, np.array([one.kind == ColumnType.NUMBER for one in columns]))
    stack.take_dates(rules)
    return seen


class _Stack:
    """Columns of a block laid end to end; those that are told, or can't be, are taken off."""

    def __init__(self, block: pa.RecordBatch, places: Places, seen: list[Seen | None]) -> None:
        raw = pa.concat_arrays([block.column(int(place)) for place in places])
        self._rows = len(block)
        self._places = places
        self._seen = seen
        self._texts = trimmed(raw)
        self._valid = self._cells(self._texts.is_valid())
        # What is blank altogether counts as filled where the share of mistakes is found, and
        # values that are few beside it would be taken for mistakes.
        self._filled = self._cells(raw.is_valid()).sum(axis=1)
        count = self._valid.sum(axis=1)
        self._keep((count > 0) & (count >= RARE * self._filled))

    def take_booleans(self) -> None:
        """Tell columns of yes/no values; those that hold some among others are taken off."""
        values, known = boolean_cells(self._texts)
        wanted = self._all(known)
        self._tell(wanted, values.filter(self._mask(wanted)), ColumnType.BOOLEAN)
        self._keep(~np.asarray((self._cells(known) & self._valid).any(axis=1)))

    def take_texts(self) -> None:
        """Tell columns of which no value could be a number, a date or a code."""
        wanted = self._all(text_cells(self._texts))
        count = self._valid.sum(axis=1)
        for row in np.flatnonzero(wanted):
            mixed = bool(count[row] < self._filled[row] / 2)
            self._seen[self._places[row]] = Seen(ColumnType.TEXT, None, mixed)
        self._keep(~wanted)

    def take_numbers(self, rules: Rules, decimal: Cells) -> None:
        """Tell columns of numbers; those at places in `decimal` were of decimals before."""
        texts, numeric, whole = number_cells(self._texts, rules)
        numbers = self._all(numeric)
        integers = self._all(whole) & ~decimal[self._places]
        for wanted, kind, target in (
            (numbers & integers, ColumnType.INTEGER, pa.int64()),
            (numbers & ~integers, ColumnType.NUMBER, pa.float64()),
        ):
            self._tell(wanted, cast_texts(texts.filter(self._mask(wanted)), target), kind)
        self._keep(~numbers)

    def take_dates(self, rules: Rules) -> None:
        """Tell columns of dates."""
        texts, known = moment_cells(self._texts, rules)
        wanted = self._all(known)
        moments = cast_texts(texts.filter(self._mask(wanted)), pa.timestamp("us"))
        self._tell(wanted, moments, ColumnType.DATE)

    def _tell(self, wanted: Cells, values: pa.Array | None, kind: ColumnType) -> None:
        if values is None:  # A day that no calendar has, say: each column is looked at by itself.
            return
        for order, row in enumerate(np.flatnonzero(wanted)):
            parsed = Parsed(values.slice(order * self._rows, self._rows), NO_POSITIONS)
            self._seen[self._places[row]] = Seen(kind, parsed)

    def _all(self, known: pa.Array) -> Cells:
        """Return of which columns all values are known to be of a type, shape (k,)."""
        return np.asarray((self._cells(known) | ~self._valid).all(axis=1))

    def _cells(self, known: pa.Array) -> Cells:
        """Return what is known of each value, shape (k, rows); missing is false."""
        cells = pc.fill_null(known, False).to_numpy(zero_copy_only=False)
        return np.asarray(cells).reshape(-1, self._rows)

    def _mask(self, wanted: Cells) -> pa.Array:
        return pa.array(np.repeat(wanted, self._rows))

    def _keep(self, wanted: Cells) -> None:
        self._texts = self._texts.filter(self._mask(wanted))
        self._valid, self._filled = self._valid[wanted], self._filled[wanted]
        self._places = self._places[wanted]
