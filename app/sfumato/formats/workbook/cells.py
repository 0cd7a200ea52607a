"""The cells of one column of a sheet."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import pyarrow as pa

from sfumato.formats.columns.buffers import Mask
from sfumato.formats.columns.gathering import GatheredColumn
from sfumato.formats.options import ColumnType, DateOrder, ReadOptions

Cell = str | int | float | bool | dt.date | dt.time | dt.timedelta | None

_EXACT = 2.0**53


def cell_text(cell: Cell) -> str | None:
    """Return a cell as the text that a CSV file would hold; None where it is empty."""
    if cell is None or isinstance(cell, str):
        return cell or None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        whole = cell.is_integer() and abs(cell) <= _EXACT
        return str(int(cell)) if whole else repr(cell)
    if isinstance(cell, dt.datetime):
        return (cell.date() if cell.time() == dt.time() else cell).isoformat()
    return cell.isoformat() if isinstance(cell, dt.date | dt.time) else str(cell)


class SheetColumn:
    """A column of a sheet that grows piece by piece.

    Cells that are numbers, dates or yes/no values are kept as texts which give them back, so
    that a column with several kinds of cells is found out about like one of a CSV file. A
    column in which every cell is a text stays text, whatever the texts look like.

    Parameters
    ----------
    name
        The column's name.
    before
        How many rows came before the column's first cell.
    """

    def __init__(self, name: str, before: int) -> None:
        self.name = name
        self._pieces = [pa.nulls(before, pa.string())] if before else []
        self._rows = before
        self._all_texts = True

    @property
    def is_empty(self) -> bool:
        """Whether no cell has a value."""
        return all(piece.null_count == len(piece) for piece in self._pieces)

    def add(self, cells: Sequence[Cell], options: ReadOptions) -> None:
        """Append cells; texts that mean a missing value become missing."""
        texts = [
            None if isinstance(cell, str) and cell in options.missing else cell_text(cell)
            for cell in cells
        ]
        self._all_texts &= all(cell is None or isinstance(cell, str) for cell in cells)
        self._pieces.append(pa.array(texts, type=pa.string()))
        self._rows += len(texts)

    def gathered(self, options: ReadOptions) -> GatheredColumn:
        """Return the column as found out about by its values."""
        plain = replace(options, decimal=".", thousands="", date_order=DateOrder.YEAR_FIRST)
        if self._all_texts and self.name not in options.column_types:
            plain = plain.with_type(self.name, ColumnType.TEXT)
        return self._gather(plain)

    def as_text(self, options: ReadOptions, keep: Mask | None) -> pd.Series:
        """Return the column as texts, of the rows in `keep` or of all rows."""
        return self._gather(options.with_type(self.name, ColumnType.TEXT)).finish(keep)

    def _gather(self, options: ReadOptions) -> GatheredColumn:
        column = GatheredColumn(self.name, options, self._rows)
        for piece in self._pieces:
            column.add(piece)
        return column
