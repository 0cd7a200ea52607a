"""Dates, times and durations of Parquet files, as far as there is something to say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.engine.core.periods import NAMES, Period
from sfumato.formats.columns.arrays import has_zone
from sfumato.formats.columns.settling import zone_note
from sfumato.formats.columns.years import ROWS_TOLD, outside_years
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions

Outside = dict[str, tuple[int, list[int]]]
"""How many dates of a column no calendar has, and the first rows with them, from 1."""


def periods_in(schema: pa.Schema, names: Sequence[str], version: int) -> dict[str, Period]:
    """Return what the values of columns of times and durations stand for."""
    found = {}
    for name, kind in zip(names, schema.types, strict=True):
        if pa.types.is_duration(kind):
            found[name] = Period.SECONDS
        elif pa.types.is_time(kind) and version > 1:
            found[name] = Period.TIME
    return found


def duration_notes(schema: pa.Schema, names: Sequence[str]) -> list[Note]:
    """Return what is said of columns of durations, which a table holds as numbers."""
    found = [n for n, kind in zip(names, schema.types, strict=True) if pa.types.is_duration(kind)]
    if not found:
        return []
    note = Note(
        "{count} {count:column is|columns are} read as numbers ({period}): {columns}.",
        {"count": len(found), "period": NAMES[Period.SECONDS], "columns": ", ".join(found)},
        columns=tuple(found),
        count=len(found),
    )
    return [note]


def zone_notes(schema: pa.Schema, names: Sequence[str], options: ReadOptions) -> list[Note]:
    """Return what is said of moments with a time zone, unless a type is fixed for them."""
    if options.version == 1:
        return []
    zoned = [n for n, kind in zip(names, schema.types, strict=True) if has_zone(kind)]
    return [zone_note(name, options) for name in zoned if name not in options.column_types]


def add_outside(
    found: Outside, file: pq.ParquetFile, names: Mapping[str, str], done: int, rows: int | None
) -> int:
    """Count the dates of a file that no calendar has; return how many rows there are now.

    Only row groups whose statistics don't rule it out are read.

    Parameters
    ----------
    found
        What was counted so far.
    file
        One part of the table.
    names
        The columns, with their names in the file.
    done
        How many rows other parts have before it.
    rows
        How many rows are wanted; None for all.
    """
    schema = file.schema_arrow
    for group in range(file.metadata.num_row_groups):
        if rows is not None and done >= rows:
            break
        told = file.metadata.row_group(group)
        for name, in_file in names.items():
            if not _is_ruled_out(told, in_file, schema.field(in_file).type):
                values = file.read_row_group(group, [in_file]).column(0)
                _count(found, name, values, done, rows)
        done += told.num_rows
    return done


def _is_ruled_out(group: Any, name: str, kind: pa.DataType) -> bool:
    """Whether the statistics of a row group say that all dates of a column are of usual years."""
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema == name:
            with suppress(OverflowError, ValueError, pa.ArrowException):
                told = column.statistics
                if told is None or not told.has_min_max:
                    return False
                return outside_years(pa.array([told.min, told.max], type=kind)) is None
    return False


def _count(
    found: Outside,
    name: str,
    values: pa.ChunkedArray,
    done: int,
    rows: int | None,
) -> None:
    """Count the dates that no calendar has, in rows that stand after so many others."""
    for chunk in values.chunks:
        piece = chunk if rows is None else chunk[: max(rows - done, 0)]
        outside = outside_years(piece)
        if outside is not None:
            count, first = found.get(name, (0, []))
            places = np.flatnonzero(outside.to_numpy(zero_copy_only=False)) + done + 1
            found[name] = (count + len(places), [*first, *places.tolist()][:ROWS_TOLD])
        done += len(chunk)
