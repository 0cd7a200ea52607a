"""What becomes of a table's columns once all rows were seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from sfumato.formats.base import Note
from sfumato.formats.columns.buffers import Mask
from sfumato.formats.columns.gathering import GatheredColumn
from sfumato.formats.errors import BadValue, Way, grouped
from sfumato.formats.options import BadValues, ColumnType, ReadOptions

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
    others = " {count} rows are so." if len(bad) > 1 else ""
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
