"""What is decided about columns: their names, their fixed types, their bad values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import ArrowColumn, Mask
from sfumato.formats.columns.gathering import GatheredColumn
from sfumato.formats.errors import BadHeader, BadOptions, BadValue, Way, grouped
from sfumato.formats.options import BadValues, ColumnType, ReadOptions
from sfumato.formats.table_format import Note, ReadResult


def check_fixed_types(names: Sequence[str], options: ReadOptions) -> None:
    """Refuse options that fix the type of a column that is not there.

    Raises
    ------
    BadOptions
        If there is such a column.
    """
    for name in options.column_types:
        if name not in names:
            raise BadOptions(
                "The type of column {column} is fixed, but the file has no such column.",
                "Choose a file with this column, or leave its type to be found out.",
                ways=(Way("Leave it to be found out", options.with_type(name, None)),),
                column=name,
            )


def usable_names(names: Sequence[str]) -> list[str]:
    """Return the columns' names; a column without one is called by its position.

    Raises
    ------
    BadHeader
        If two columns have the same name.
    """
    named = [name or f"column_{position}" for position, name in enumerate(names, start=1)]
    seen: dict[str, int] = {}
    for position, name in enumerate(named, start=1):
        if name in seen:
            raise BadHeader(
                "Columns {first} and {second} are both called {column}.",
                "Rename one of them in the source file, or read it without a header.",
                first=seen[name],
                second=position,
                column=name,
            )
        seen[name] = position
    return named


def number_in_file(position: int, left_out: Sequence[int]) -> int:
    """Return a row's number in its file, counted from 1.

    Parameters
    ----------
    position
        The row's position, from 0, among the rows that are read.
    left_out
        The numbers of the rows that are not, increasing.
    """
    numbers = np.asarray(left_out, dtype=np.int64)
    read_before = numbers - np.arange(1, len(numbers) + 1)
    return position + 1 + int(np.searchsorted(read_before, position, side="right"))


RowNumber = Callable[[int], int]
"""Gives the number of a gathered row in the file, counted from 1."""

_EXPECTED: Final = {
    ColumnType.INTEGER: "a whole number",
    ColumnType.NUMBER: "a number",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.DATE: "a date",
}


def settle(
    columns: Sequence[GatheredColumn], rows: int, options: ReadOptions, row_number: RowNumber
) -> tuple[Mask | None, list[Note]]:
    """Decide on the values that don't have their column's type.

    Columns that must be read again as text are given up.

    Parameters
    ----------
    columns
        The columns, all rows gathered.
    rows
        How many rows were gathered.
    options
        The custodian's choices.
    row_number
        What a gathered row is called in messages.

    Returns
    -------
    tuple
        Which rows are kept (None for all), and what the custodian should know.

    Raises
    ------
    BadValue
        If a few values of a column don't have its type and nothing was chosen for them.
    """
    notes: list[Note] = []
    dropped = np.zeros(rows, dtype=np.bool_)
    for column in columns:
        if column.code_at >= 0:
            notes.append(_code_note(column, row_number))
        elif column.mixed:
            notes.append(_mixed_note(column))
        elif len(column.bad):
            notes += _settle_bad(column, options, row_number, dropped)
    return (~dropped if dropped.any() else None), notes


def _settle_bad(
    column: GatheredColumn, options: ReadOptions, row_number: RowNumber, dropped: Mask
) -> list[Note]:
    """Decide on one column's bad values; marks the rows to drop."""
    choice = options.choice_for(column.name)
    if column.given_up or not (column.fixed or column.bad_is_rare):
        column.give_up()
        return [_text_note(column, row_number)]
    if choice == BadValues.REFUSE:
        raise _bad_value(column, options, row_number)
    if choice == BadValues.MISSING:
        return [_missing_note(column)]
    if choice == BadValues.TEXT:
        column.give_up()
    else:
        dropped[column.bad] = True
    return []


def _bad_value(column: GatheredColumn, options: ReadOptions, row_number: RowNumber) -> BadValue:
    """Return the error that names the first bad value's row, and the three ways to go on."""
    bad = column.bad
    ways = [
        Way(title, options.with_bad_values(column.name, choice))
        for title, choice in (
            ("Treat as missing", BadValues.MISSING),
            ("Skip the row", BadValues.SKIP),
            ("Read the column as text", BadValues.TEXT),
        )
    ]
    others = " {count} {count:row is|rows are} so." if len(bad) > 1 else ""
    assert column.kind is not None
    return BadValue(
        "Row {row}, column {column}: the value is not {expected}." + others,
        "Treat it as missing, skip the row, or read the column as text.",
        column=column.name,
        row=row_number(int(bad[0])),
        count=len(bad),
        ways=ways,
        expected=_EXPECTED[column.kind],
    )


def _code_note(column: GatheredColumn, row_number: RowNumber) -> Note:
    return Note(
        "Column {column} is read as text: a number would alter the value in row {row}"
        " (a leading zero, or more digits than a number holds).",
        {"column": column.name, "row": grouped(row_number(column.code_at))},
    )


def _mixed_note(column: GatheredColumn) -> Note:
    return Note(
        "Column {column} holds numbers or dates, and texts; it is read as text. If a text means"
        " that the value is missing, add it to the texts for missing values.",
        {"column": column.name},
    )


def _text_note(column: GatheredColumn, row_number: RowNumber) -> Note:
    assert column.kind is not None
    return Note(
        "Column {column} is read as text: {count} or more of its values are not {expected}, first"
        " in row {row}.",
        {
            "column": column.name,
            "count": grouped(len(column.bad)),
            "expected": _EXPECTED[column.kind],
            "row": grouped(row_number(int(column.bad[0]))),
        },
    )


def _missing_note(column: GatheredColumn) -> Note:
    return Note(
        "Column {column}: values of another type are read as missing ({count}).",
        {"column": column.name, "count": grouped(len(column.bad))},
    )


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
    columns = [gathered(frame[name], name, options) for name in wanted]
    keep, notes = settle(columns, len(frame), options, lambda position: position + 1)
    changed = {}
    for column in columns:
        name = column.name
        if column.given_up:
            texts = options.with_type(name, ColumnType.TEXT)
            changed[name] = gathered(frame[name], name, texts).finish(None)
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
    return replace(
        result,
        table=table,
        skipped_rows=result.skipped_rows + skipped,
        notes=(*result.notes, *notes),
    )


def gathered(series: pd.Series, name: str, options: ReadOptions) -> GatheredColumn:
    """Return a column whose values were turned into texts and read again, to be finished."""
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
