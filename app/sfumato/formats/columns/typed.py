"""What is done with rows that a file holds with types: fixed types, and rows without any value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.formats.columns.arrays import Mask
from sfumato.formats.columns.settling import NAMED_ROWS, blank_note, with_fixed_types
from sfumato.formats.errors import Way
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions
from sfumato.formats.table_format import ReadResult

KEPT_BLANK: Final = "{count} {count:row|rows} without any value {count:is|are} kept as records."


def finished(
    found: ReadResult, options: ReadOptions, rows: int | None, *, numbered: bool = True
) -> ReadResult:
    """Return what was read with its fixed types; rows without any value are told, or left out.

    A database or a file with types states such rows as records, so they stay unless the options
    say otherwise.

    Parameters
    ----------
    found, options
        What was read, and how.
    rows
        How many rows were asked for at most; None for all.
    numbered
        Whether rows have numbers by which a person finds them; those of databases have none.
    """
    options = options if rows is None else options.tolerant()
    blank = blank_rows_of(found.table.frame) if options.version > 1 else None
    found = with_fixed_types(found, options)
    if blank is None:
        return found
    places = np.flatnonzero(blank)
    first = tuple((places[:NAMED_ROWS] + 1).tolist()) if numbered else ()
    note = blank_rows_note(len(places), first, options)
    found = replace(found, notes=(*found.notes, note))
    if options.keep_blank_rows:
        return found
    frame = found.table.frame
    left = blank_rows_of(frame)
    if left is None or left.all():  # a table without rows is none
        return found
    return replace(
        found,
        table=replace(found.table, frame=frame[~left].reset_index(drop=True)),
        skipped_rows=found.skipped_rows + int(left.sum()),
    )


def blank_rows_note(count: int, rows: tuple[int, ...], options: ReadOptions) -> Note:
    """Say that rows without any value are left out, or are kept."""
    if not options.keep_blank_rows:
        return blank_note(count, rows, options)
    way = Way("Leave out rows without any value", replace(options, keep_blank_rows=False))
    return Note(KEPT_BLANK, {"count": count}, caution=True, count=count, rows=rows, ways=(way,))


def blank_rows_of(frame: pd.DataFrame) -> Mask | None:
    """Return which rows have no value, shape (n,); None where each has one.

    A column alone may have missing values.
    """
    if frame.shape[1] < 2:
        return None
    # Columns of plain whole numbers or truth values have no missing ones.
    if any(isinstance(kind, np.dtype) and kind.kind in "iub" for kind in frame.dtypes):
        return None
    blank: Mask = np.ones(len(frame), dtype=np.bool_)
    for place in range(frame.shape[1]):
        blank &= frame.iloc[:, place].isna().to_numpy(dtype=np.bool_)
        if not blank.any():
            return None
    return blank


def blank_places(columns: Iterator[pa.ChunkedArray]) -> list[int]:
    """Return the places of rows that have no value, of columns that are read one after another."""
    blank: pa.ChunkedArray | None = None
    for column in columns:
        missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
        blank = missing if blank is None else pc.and_(blank, missing)
        if not pc.any(blank).as_py():
            return []
    return [] if blank is None else pc.indices_nonzero(blank).to_pylist()
