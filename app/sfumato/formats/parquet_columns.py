"""What Parquet files say of their columns: dates, times, durations; labels and pandas' types."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Value
from sfumato.engine.core.periods import NAMES, Period
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import has_zone
from sfumato.formats.columns.parsing import ROWS_TOLD, outside_years
from sfumato.formats.columns.settling import zone_note
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow.parquet as pq

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


# ----- what a Parquet file says about its columns in metadata of its own: pandas' types, and labels


_LABELS: Final = b"sfumato"
"""Where labels stand in the file's own metadata, which other tools pass over."""


def metadata_of(table: Table, schema: pa.Schema) -> dict[bytes, bytes]:
    """Return the file's metadata: what pandas needs to give back the types, and the labels."""
    as_written: dict[Any, Any] = {}
    for name, series in table.frame.items():
        dtype = series.dtype
        if isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered:
            as_written[name] = dtype.categories.dtype
        elif dtype.kind == "u" and schema.field(str(name)).type == pa.int64():
            as_written[name] = np.int64 if isinstance(dtype, np.dtype) else pd.Int64Dtype()
    frame = table.frame.iloc[:0].astype(as_written)
    known = pa.Schema.from_pandas(frame, preserve_index=False).metadata or {}
    metadata = {key: value for key, value in known.items() if key == b"pandas"}
    labels = {
        "column_labels": dict(table.column_labels),
        "value_labels": {
            name: [[value, text] for value, text in texts.items()]
            for name, texts in table.value_labels.items()
        },
    }
    if any(labels.values()):
        metadata[_LABELS] = json.dumps(labels, ensure_ascii=False).encode()
    return metadata


def labels_in(
    metadata: Mapping[bytes, bytes],
) -> tuple[dict[str, dict[Value, str]], dict[str, str]]:
    """Return the labels of values and of columns that the file's metadata hold."""
    try:
        labels: dict[str, Any] = json.loads(metadata.get(_LABELS, b"{}"))
        values = {
            str(name): {value: str(text) for value, text in texts}
            for name, texts in labels.get("value_labels", {}).items()
        }
        columns = {str(n): str(text) for n, text in labels.get("column_labels", {}).items()}
    except (ValueError, TypeError, AttributeError):
        return {}, {}
    return values, columns
