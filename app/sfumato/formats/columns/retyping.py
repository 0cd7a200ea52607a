"""The types a custodian fixed, for columns that a file states a type for itself."""

from __future__ import annotations

from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.table.table import Table
from sfumato.formats.base import ReadResult
from sfumato.formats.columns.arrow import ArrowColumn
from sfumato.formats.columns.gathering import GatheredColumn
from sfumato.formats.columns.names import check_fixed_types
from sfumato.formats.columns.settling import settle
from sfumato.formats.options import ColumnType, ReadOptions

_ROWS: Final = 1 << 18


def with_fixed_types(result: ReadResult, options: ReadOptions) -> ReadResult:
    """Return what was read, its columns with the types that the options fix.

    Raises
    ------
    BadOptions
        If the type of a column that is not there is fixed.
    BadValue
        If a value does not have the type fixed for its column and nothing was chosen for it.
    """
    frame = result.table.frame
    check_fixed_types(list(frame.columns), options)
    wanted = {
        name: kind
        for name, kind in options.column_types.items()
        if not _has_type(frame[name], kind)
    }
    if not wanted:
        return result
    columns = [_gathered(frame[name], name, options) for name in wanted]
    keep, notes = settle(columns, len(frame), options, lambda position: position + 1)
    changed = {}
    for column in columns:
        name = column.name
        if column.given_up:
            texts = options.with_type(name, ColumnType.TEXT)
            changed[name] = _gathered(frame[name], name, texts).finish(None)
        else:
            changed[name] = column.finish(None)
    frame = pd.DataFrame({**{name: frame[name] for name in frame.columns}, **changed}, copy=False)
    skipped = 0
    if keep is not None:
        skipped = int((~keep).sum())
        frame = frame[keep].reset_index(drop=True)
    labels = result.table.value_labels
    table = Table(
        frame,
        {name: labels[name] for name in labels if name not in wanted},
        result.table.column_labels,
    )
    return ReadResult(table, result.skipped_rows + skipped, (*result.notes, *notes))


def _gathered(series: pd.Series, name: str, options: ReadOptions) -> GatheredColumn:
    """Return a column whose values were turned into texts and read again."""
    source = ArrowColumn(name, series)
    column = GatheredColumn(name, options, len(series))
    for start in range(0, len(series), _ROWS):
        column.add(as_texts(source.block(slice(start, start + _ROWS))))
    return column


def as_texts(values: pa.Array) -> pa.Array:
    """Return values as the texts that a CSV file would hold; whole decimals without a point."""
    if pa.types.is_timestamp(values.type):
        values = pc.strftime(values, format="%Y-%m-%dT%H:%M:%S")
        values = pc.replace_substring_regex(values, r"\.0+$", "")
        return pc.replace_substring_regex(values, "T00:00:00$", "")
    return values.cast(pa.string())


def _has_type(series: pd.Series, kind: ColumnType) -> bool:
    values: pd.Series | pd.Index = series
    if isinstance(series.dtype, pd.CategoricalDtype):
        values = series.cat.categories
    dtype = values.dtype
    is_bool = pd.api.types.is_bool_dtype(dtype)
    if kind == ColumnType.BOOLEAN:
        return is_bool
    if kind == ColumnType.INTEGER:
        return pd.api.types.is_integer_dtype(dtype)
    if kind == ColumnType.NUMBER:
        return pd.api.types.is_float_dtype(dtype)
    if kind == ColumnType.DATE:
        return pd.api.types.is_datetime64_any_dtype(dtype)
    return isinstance(dtype, pd.StringDtype) or pd.api.types.is_object_dtype(dtype)
