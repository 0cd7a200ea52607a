"""What is decided about columns: their names, their fixed types, their bad values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.formats.columns.arrays import ArrowColumn, Mask
from sfumato.formats.columns.gathering import GatheredColumn, UnreadDates
from sfumato.formats.columns.numerals import MixedNumerals
from sfumato.formats.columns.parsing import NO_POSITIONS, Positions
from sfumato.formats.errors import BadHeader, BadOptions, BadValue, Way, grouped
from sfumato.formats.notes import Note
from sfumato.formats.options import BadValues, ColumnType, DateOrder, ReadOptions
from sfumato.formats.table_format import ReadResult


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


BLANK_ROWS: Final = "{count} {count:row|rows} without any value {count:is|are} left out."
NAMED_ROWS: Final = 10
"""So many rows are named at most that a remark is about."""

RowNumber = Callable[[int], int]
"""Gives the number of a gathered row in the file, counted from 1."""

_EXPECTED: Final = {
    ColumnType.INTEGER: "a whole number",
    ColumnType.NUMBER: "a number",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.DATE: "a date",
}


def settle(
    columns: Sequence[GatheredColumn],
    rows: int,
    options: ReadOptions,
    row_number: RowNumber,
    blank: Positions = NO_POSITIONS,
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
    blank
        Which rows hold nothing and are left out.

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
    if len(blank):
        dropped[blank] = True
        first = tuple(row_number(int(place)) for place in blank[:NAMED_ROWS])
        notes.append(blank_note(len(blank), first, options))
    for column in columns:
        if column.merged is not None:
            notes.append(_merged_note(column, column.merged, options))
        if (note := _note_on_text(column, options, row_number)) is not None:
            notes.append(note)
        elif len(column.bad):
            notes += _settle_bad(column, options, row_number, dropped)
        if column.may_be_grouped and column.kind == ColumnType.NUMBER and not column.given_up:
            notes.append(_grouped_note(column, options))
        if column.zones and not column.given_up:
            notes.append(_left_zones_note(column, options))
        if len(column.shortened) and not column.given_up:
            notes.append(_shortened_note(column, options, row_number))
    return (~dropped if dropped.any() else None), notes


def _note_on_text(
    column: GatheredColumn, options: ReadOptions, row_number: RowNumber
) -> Note | None:
    """Say why a column is text whose values seem to be something else; None where there is none."""
    if column.code_at >= 0:
        return altered_note(column.name, row_number(column.code_at), options)
    if column.orders:
        return _dates_note(column, options)
    if column.unread is UnreadDates.ZONE:
        return zone_note(column.name, options)
    if column.unread is not None:
        return _unread_note(column.name, column.unread)
    return None if column.mixed is None else mixed_note(column.name, column.mixed, options)


def blank_note(count: int, rows: tuple[int, ...], options: ReadOptions) -> Note:
    """Say that rows without any value are left out, the first of them by their numbers."""
    return Note(
        BLANK_ROWS,
        {"count": count},
        count=count,
        rows=rows,
        ways=(Way("Keep rows without any value", replace(options, keep_blank_rows=True)),),
    )


def _settle_bad(
    column: GatheredColumn, options: ReadOptions, row_number: RowNumber, dropped: Mask
) -> list[Note]:
    """Decide on one column's bad values; marks the rows to drop."""
    choice = options.choice_for(column.name)
    if column.given_up or not (column.fixed or column.bad_is_rare):
        column.give_up()
        return [_text_note(column, options, row_number)]
    if choice == BadValues.REFUSE:
        raise _bad_value(column, options, row_number)
    if choice == BadValues.MISSING:
        return [_missing_note(column, options, row_number)]
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


def _shortened_note(column: GatheredColumn, options: ReadOptions, row_number: RowNumber) -> Note:
    count = len(column.shortened)
    return Note(
        "Column {column}: {count} {count:number is|numbers are} written with more digits than a"
        " number holds, and {count:leaves|leave} with 17 at most.",
        {"column": column.name, "count": count},
        columns=(column.name,),
        count=count,
        rows=tuple(row_number(int(place)) for place in column.shortened[:NAMED_ROWS]),
        ways=(Way("Read the column as text", options.with_type(column.name, ColumnType.TEXT)),),
    )


def altered_note(name: str, row: int, options: ReadOptions) -> Note:
    """Say that a column is text since a number would alter a value, first that in a row."""
    return Note(
        "Column {column} is read as text: a number would alter the value in row {row}"
        " (a leading zero, or more digits than a number holds).",
        {"column": name, "row": grouped(row)},
        columns=(name,),
        rows=(row,),
        ways=(Way("Read it as numbers", options.with_type(name, ColumnType.NUMBER)),),
    )


READ_AS_ONE: Final = (
    "Column {column} is read as numbers, though {count} {count:number is|numbers are} written there"
    " in several ways, as 1.5 and 1.50 are. If they are codes, read it as text."
)
_MANY_READ_AS_ONE: Final = (
    "Column {column} is read as numbers, though some may be written there in several ways, as 1.5"
    " and 1.50 are. If they are codes, read it as text."
)


def _merged_note(column: GatheredColumn, merged: MixedNumerals, options: ReadOptions) -> Note:
    """Say that texts which differ mean one number, and what they were taken for."""
    name, count = column.name, merged.count
    if merged.are_codes:
        return Note(
            "Column {column} is read as text: {count} {count:number is|numbers are} written there"
            " in several ways, as codes such as 1.1 and 1.10 are.",
            {"column": name, "count": count},
            caution=True,
            columns=(name,),
            count=count,
            ways=(Way("Read it as numbers", options.with_type(name, ColumnType.NUMBER)),),
        )
    details = {"column": name} if count is None else {"column": name, "count": count}
    return Note(
        _MANY_READ_AS_ONE if count is None else READ_AS_ONE,
        details,
        caution=True,
        columns=(name,),
        count=count,
        ways=(Way("Read it as text", options.with_type(name, ColumnType.TEXT)),),
    )


def columns_read_as_one(notes: Sequence[Note]) -> frozenset[str]:
    """Return the columns of which remarks say that different texts became one number."""
    templates = (READ_AS_ONE, _MANY_READ_AS_ONE)
    return frozenset(name for note in notes if note.template in templates for name in note.columns)


def _dates_note(column: GatheredColumn, options: ReadOptions) -> Note:
    return Note(
        "Column {column} is read as text, though it seems to hold dates: whether the day or the"
        " month comes first in them is not told by the table, or differs between its columns.",
        {"column": column.name},
        caution=True,
        columns=(column.name,),
        ways=tuple(
            Way(_DATES_AS[order], replace(options, date_order=order)) for order in column.orders
        ),
    )


def zone_note(name: str, options: ReadOptions) -> Note:
    """Say that moments with a time zone are texts."""
    changed = options.with_type(name, ColumnType.DATE)
    return Note(
        "Column {column} holds moments with a time zone, and is read as text.",
        {"column": name},
        columns=(name,),
        ways=(Way("Read dates and times of day as they are shown, without the zone", changed),),
    )


ZONES_LEFT_OUT: Final = (
    "Column {column}: {count} {count:moment is|moments are} read without {count:its|their} time"
    " zone."
)


def _left_zones_note(column: GatheredColumn, options: ReadOptions) -> Note:
    return Note(
        ZONES_LEFT_OUT,
        {"column": column.name, "count": column.zones},
        columns=(column.name,),
        count=column.zones,
        ways=(Way("Read the column as text", options.with_type(column.name, ColumnType.TEXT)),),
    )


def unordered_note(names: Sequence[str]) -> Note:
    """Say that categories have no order, though the file states some."""
    return Note(
        "{count} {count:column has|columns have} categories in an order of which parts of the table"
        " state different ones: {columns}. {count:It is|They are} read as text, without an order.",
        {"count": len(names), "columns": ", ".join(names)},
        columns=tuple(names),
        count=len(names),
    )


def _unread_note(name: str, reason: UnreadDates) -> Note:
    words = {
        UnreadDates.CENTURY: (
            "Column {column} is read as text, though it seems to hold dates: years of two digits"
            " don't tell the century. Write them with four digits, if they are to be read as dates."
        ),
        UnreadDates.MONTH: (
            "Column {column} is read as text, though it seems to hold dates: the months are written"
            " as words. Write the dates as 2024-03-31, if they are to be read as dates."
        ),
    }
    return Note(words[reason], {"column": name}, columns=(name,))


_DATES_AS: Final = {
    DateOrder.DAY_FIRST: "Read dates as day, month, year",
    DateOrder.MONTH_FIRST: "Read dates as month, day, year",
}


def _grouped_note(column: GatheredColumn, options: ReadOptions) -> Note:
    """Say that thousands may have been taken for ones."""
    mark, other = options.decimal, "," if options.decimal == "." else "."
    way = Way("The mark stands between thousands", replace(options, decimal=other, thousands=mark))
    return Note(
        "Column {column}: “{mark}” is read as a decimal mark, though three digits follow it in all"
        " its first numbers, as they do between thousands.",
        {"column": column.name, "mark": mark},
        caution=True,
        columns=(column.name,),
        ways=(way,),
    )


def mixed_note(name: str, kind: ColumnType, options: ReadOptions, count: int | None = None) -> Note:
    """Say that a column is text since not all of its values, but for so many, are of a type."""
    typed = options.with_type(name, kind)
    way = Way(_OTHERS_MISSING[kind], typed.with_bad_values(name, BadValues.MISSING))
    words = (
        "Column {column} holds numbers or dates, and texts; it is read as text. If a text means"
        " that the value is missing, add it to the texts for missing values."
    )
    if count is not None:
        words = (
            "Column {column} holds numbers or dates, and {count} {count:text|texts} beside them; it"
            " is read as text. If a text means that the value is missing, add it to the texts for"
            " missing values."
        )
    details = {"column": name} if count is None else {"column": name, "count": count}
    return Note(words, details, columns=(name,), count=count, ways=(way,))


_OTHERS_MISSING: Final = {
    ColumnType.INTEGER: "Read it as whole numbers, and texts as missing",
    ColumnType.NUMBER: "Read it as numbers, and texts as missing",
    ColumnType.BOOLEAN: "Read it as yes or no, and texts as missing",
    ColumnType.DATE: "Read it as dates, and texts as missing",
}


def _text_note(column: GatheredColumn, options: ReadOptions, row_number: RowNumber) -> Note:
    assert column.kind is not None
    typed = options.with_type(column.name, column.kind)
    missing = typed.with_bad_values(column.name, BadValues.MISSING)
    return Note(
        "Column {column} is read as text: {count} or more of its values are not {expected}, first"
        " in row {row}.",
        {
            "column": column.name,
            "count": grouped(len(column.bad)),
            "expected": _EXPECTED[column.kind],
            "row": grouped(row_number(int(column.bad[0]))),
        },
        columns=(column.name,),
        rows=tuple(row_number(int(place)) for place in column.bad[:NAMED_ROWS]),
        ways=(Way("Treat as missing", missing),),
    )


def _missing_note(column: GatheredColumn, options: ReadOptions, row_number: RowNumber) -> Note:
    return Note(
        "Column {column}: values of another type are read as missing ({count}).",
        {"column": column.name, "count": grouped(len(column.bad))},
        columns=(column.name,),
        count=len(column.bad),
        rows=tuple(row_number(int(place)) for place in column.bad[:NAMED_ROWS]),
        ways=(Way("Read the column as text", options.with_type(column.name, ColumnType.TEXT)),),
    )


def outside_note(column: str, count: int, rows: Sequence[int], ways: Sequence[Way]) -> Note:
    """Return what is said of dates that are read as missing.

    Parameters
    ----------
    column, count
        The column, and how many of its dates they are.
    rows
        The first rows that have them, counted from 1.
    ways
        What else can be done.
    """
    return Note(
        "Column {column} has {count} {count:date|dates} outside the years 1 to 9999:"
        " {count:it is|they are} read as missing, first in row {row}.",
        {"column": column, "count": count, "row": grouped(rows[0])},
        caution=True,
        columns=(column,),
        count=count,
        rows=tuple(rows),
        ways=tuple(ways),
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
    reasons, periods = result.table.missing_reasons, result.table.periods
    table = replace(
        result.table,
        frame=frame,
        value_labels={name: labels[name] for name in labels if name not in wanted},
        # Reasons were counted in all rows.
        missing_reasons=reasons
        if keep is None
        else {name: replace(each, counts={}) for name, each in reasons.items()},
        periods={name: each for name, each in periods.items() if name not in wanted},
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
