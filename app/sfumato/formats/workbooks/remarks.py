"""What is said of a sheet that was read: all that it hides, merges, or shows otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from sfumato.engine.core.periods import DURATIONS, NAMES
from sfumato.formats.columns.settling import blank_note
from sfumato.formats.delimited_notes import notes_on_header
from sfumato.formats.errors import Way, grouped
from sfumato.formats.notes import Note
from sfumato.formats.options import (
    ColumnType,
    ErrorCells,
    Hidden,
    MergedCellRule,
    ReadOptions,
    ShownDates,
)
from sfumato.formats.workbooks.columns import OccurrenceTally, SheetColumn

_NAMED: Final = 5
"""So many columns are named at most where several are alike."""


@dataclass
class SheetEvidence:
    """What was seen of a sheet's rows, as they were taken; rows are counted from the header.

    Parameters
    ----------
    hidden
        The rows that are not shown.
    merged, filled, filled_cells
        The rows at which cells begin that are merged with some below; the rows that got a value
        from above, and how many cells.
    wide
        The rows with a value that stands for several columns.
    totals
        The rows of totals.
    above
        How many rows hold something above the header.
    blank
        The rows between others that hold nothing and are left out.
    uncalculated
        How many formulas have no value, by their columns.
    header_is_doubtful
        Whether nothing tells the columns' names from the values below.
    """

    hidden: OccurrenceTally = field(default_factory=OccurrenceTally)
    merged: OccurrenceTally = field(default_factory=OccurrenceTally)
    filled: OccurrenceTally = field(default_factory=OccurrenceTally)
    filled_cells: int = 0
    wide: OccurrenceTally = field(default_factory=OccurrenceTally)
    totals: OccurrenceTally = field(default_factory=OccurrenceTally)
    above: int = 0
    blank: OccurrenceTally = field(default_factory=OccurrenceTally)
    uncalculated: Counter[int] = field(default_factory=Counter)
    header_is_doubtful: bool = False


def remarks_on(
    seen: SheetEvidence,
    columns: Sequence[SheetColumn],
    hidden_columns: Sequence[str],
    names: Mapping[int, str],
    number: Callable[[int], int],
    options: ReadOptions,
    *,
    whole: bool,
) -> list[Note]:
    """Return what is to be said of a sheet.

    Parameters
    ----------
    seen
        What was seen of its rows.
    columns
        The columns that are read.
    hidden_columns
        The names of the columns that are not shown.
    names
        The names of the columns in which formulas have no value.
    number
        Returns a gathered row's number in the file.
    options
        How it was read.
    whole
        Whether all rows were, so that they are counted.
    """
    notes = [*_hidden_rows(seen, options), *_hidden_columns(hidden_columns, options)]
    notes += _merges(seen, options)
    if options.version >= 2 and seen.above:
        count = grouped(seen.above)
        notes.append(
            Note(
                "Rows above the columns' names are left out: {count}.",
                {"count": count},
                count=seen.above,
                ways=(Way("Read them too", replace(options, skip_lines=0)),),
            )
        )
    if options.version >= 2:
        notes += notes_on_header(options, doubtful=seen.header_is_doubtful)
    for column in columns:
        notes += _column(column, number, options)
    notes += _formulas(seen.uncalculated, names, whole=whole)
    if seen.blank.count:
        note = blank_note(seen.blank.count, tuple(seen.blank.first), options)
        # Before version 2 there was no other choice.
        notes.append(note if options.version >= 2 else replace(note, ways=()))
    return notes


def _hidden_rows(seen: SheetEvidence, options: ReadOptions) -> list[Note]:
    if not seen.hidden.count:
        return []
    left_out = options.hidden == Hidden.LEAVE_OUT
    template = (
        "The sheet hides {count} {count:row|rows} (by a filter, a folded group or by hand), which"
        " {count:is|are} left out."
        if left_out
        else "The sheet hides {count} {count:row|rows} (by a filter, a folded group or by hand),"
        " which {count:is|are} read all the same."
    )
    return [
        Note(
            template,
            {"count": grouped(seen.hidden.count)},
            caution=True,
            count=seen.hidden.count,
            rows=tuple(seen.hidden.first),
            ways=(_other_way(options),),
        )
    ]


def _other_way(options: ReadOptions) -> Way:
    if options.hidden == Hidden.LEAVE_OUT:
        return Way("Read what is hidden", replace(options, hidden=Hidden.READ))
    return Way("Leave out what is hidden", replace(options, hidden=Hidden.LEAVE_OUT))


def _hidden_columns(names: Sequence[str], options: ReadOptions) -> list[Note]:
    if not names or options.version < 2:
        return []
    left_out = options.hidden == Hidden.LEAVE_OUT
    template = (
        "The sheet hides {count} {count:column|columns}, which {count:is|are} left out: {columns}."
        if left_out
        else "The sheet hides {count} {count:column|columns}, which {count:is|are} read all the"
        " same: {columns}."
    )
    return [
        Note(
            template,
            {"count": grouped(len(names)), "columns": _listed(names)},
            caution=True,
            columns=tuple(names),
            count=len(names),
            ways=(_other_way(options),),
        )
    ]


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:_NAMED], *(["…"] if len(names) > _NAMED else [])])


def _merges(seen: SheetEvidence, options: ReadOptions) -> list[Note]:
    notes = []
    if seen.filled.count:
        notes.append(
            Note(
                "Cells are merged over several rows; their values were read into each of these"
                " rows: {count} more {count:cell|cells}.",
                {"count": grouped(seen.filled_cells)},
                count=seen.filled_cells,
                rows=tuple(seen.filled.first),
                ways=(
                    Way(
                        "Leave the values in the first rows alone",
                        replace(options, merged=MergedCellRule.FIRST_ROW),
                    ),
                ),
            )
        )
    elif seen.merged.count and options.merged == MergedCellRule.FIRST_ROW:
        notes.append(
            Note(
                "Values of {count} {count:row|rows} stand for rows below, too, in merged cells;"
                " these are read as missing there.",
                {"count": grouped(seen.merged.count)},
                caution=True,
                count=seen.merged.count,
                rows=tuple(seen.merged.first),
                ways=(
                    Way(
                        "Read the values into each of the rows",
                        replace(options, merged=MergedCellRule.EVERY_ROW),
                    ),
                ),
            )
        )
    if seen.wide.count:
        notes.append(
            Note(
                "Values of {count} {count:row|rows} stand for several columns, in merged cells;"
                " they are read in the first of these columns alone.",
                {"count": grouped(seen.wide.count)},
                caution=True,
                count=seen.wide.count,
                rows=tuple(seen.wide.first),
            )
        )
    if seen.totals.count:
        notes.append(
            Note(
                "{count:A row is|Rows are} read that {count:holds|hold} the totals of a table:"
                " {count}.",
                {"count": grouped(seen.totals.count)},
                caution=True,
                count=seen.totals.count,
                rows=tuple(seen.totals.first),
            )
        )
    return notes


_DATES: Final = {
    4: (
        "Column {column} shows years alone and is read so; {count} of its dates {count:is|are}"
        " finer.",
        "Column {column} shows years alone, but its dates are read to the day; {count}"
        " {count:is|are} finer than shown.",
    ),
    7: (
        "Column {column} shows months alone and is read so; {count} of its dates {count:is|are}"
        " finer.",
        "Column {column} shows months alone, but its dates are read to the day; {count}"
        " {count:is|are} finer than shown.",
    ),
    10: (
        "Column {column} shows days alone and is read so; {count} of its dates {count:has|have} a"
        " time of day.",
        "Column {column} shows days alone, but is read with the time of day that {count} of its"
        " dates {count:has|have}.",
    ),
}
"""What is said of dates that are finer than they are shown, by how many characters are: where they
are read as shown, and where they are not."""


def _note(
    name: str,
    number: Callable[[int], int],
    tally: OccurrenceTally,
    template: str,
    *ways: Way,
    caution: bool = True,
) -> list[Note]:
    """Return a remark on some cells of a column, if there are any."""
    if not tally.count:
        return []
    rows = tuple(number(place) for place in tally.first)
    return [
        Note(
            template,
            {"column": name, "count": grouped(tally.count), "row": grouped(rows[0])},
            caution=caution,
            columns=(name,),
            count=tally.count,
            rows=rows,
            ways=ways,
        )
    ]


def _column(column: SheetColumn, number: Callable[[int], int], options: ReadOptions) -> list[Note]:
    """Return what is to be said of a column."""
    if options.version < 2:
        return []

    note = partial(_note, column.name, number)
    fixed = options.column_types.get(column.name)
    notes = []
    if fixed not in {ColumnType.INTEGER, ColumnType.NUMBER}:
        notes += note(
            column.codes,
            "Column {column} shows leading zeros or other marks of codes in {count}"
            " {count:cell|cells} and is read as text, as it is shown.",
            Way("Read it as numbers", options.with_type(column.name, ColumnType.INTEGER)),
            caution=False,
        )
    else:
        notes += note(
            column.codes,
            "Column {column} shows leading zeros or other marks of codes in {count}"
            " {count:cell|cells}, which are lost since it is read as numbers.",
            Way("Read it as it is shown", options.with_type(column.name, None)),
        )
    notes += _dates(column, note, options)
    notes += _durations(column, options)
    notes += note(
        column.veiled,
        "Column {column} has {count} {count:cell|cells} whose format shows nothing of"
        " {count:it|them}; {count:it is|they are} read as missing."
        if options.hidden == Hidden.LEAVE_OUT
        else "Column {column} has {count} {count:cell|cells} whose format shows nothing of"
        " {count:it|them}; {count:it is|they are} read all the same.",
        _other_way(options),
    )
    missing = options.error_cells == ErrorCells.MISSING
    notes += note(
        column.faults,
        "Column {column} has {count} {count:error|errors} such as #N/A in place of"
        " {count:a value|values}, read as missing, first in row {row}."
        if missing
        else "Column {column} has {count} {count:error|errors} such as #N/A in place of"
        " {count:a value|values}, read as {count:text|texts}, first in row {row}.",
        Way("Read errors as texts", replace(options, error_cells=ErrorCells.TEXT))
        if missing
        else Way("Read errors as missing", replace(options, error_cells=ErrorCells.MISSING)),
    )
    notes += note(
        column.beyond,
        "Column {column} has {count} {count:date|dates} that no calendar has (before the year"
        " 1900, or beyond 9999), read as missing, first in row {row}. Correct the cells, or change"
        " their format to that of numbers.",
    )
    return notes


def _durations(column: SheetColumn, options: ReadOptions) -> list[Note]:
    period = column.period
    if period is None or period not in DURATIONS:
        return []
    return [
        Note(
            "{count} {count:column is|columns are} read as numbers ({period}): {columns}.",
            {"count": 1, "period": NAMES[period], "columns": column.name},
            columns=(column.name,),
            count=1,
            ways=(Way("Read it as it is shown", options.with_type(column.name, ColumnType.TEXT)),),
        )
    ]


def _dates(
    column: SheetColumn, note: Callable[..., list[Note]], options: ReadOptions
) -> list[Note]:
    as_shown = column.is_as_shown
    asked = options.with_type(column.name, None) if column.name in options.column_types else options
    way = (
        Way("Read dates exactly", replace(options, shown_dates=ShownDates.EXACT))
        if as_shown
        else Way("Read dates as shown", replace(asked, shown_dates=ShownDates.AS_SHOWN))
    )
    if column.shown:
        read, exact = _DATES[column.shown]
        found: list[Note] = note(column.finer, read if as_shown else exact, way)
        return found
    in_part: list[Note] = note(
        column.partial,
        "Column {column} shows only a part of its dates, the day without the year for instance, in"
        " {count} {count:cell|cells}; they are read whole.",
    )
    if column.is_coarse_in_part and as_shown:
        template = (
            "Column {column} shows {count} of its dates as months or years alone, others not; it is"
            " read as text, as it is shown."
        )
        return in_part + note(column.coarse, template, way)
    template = (
        "Column {column} shows {count} of its dates coarser than others; {count:it is|they are}"
        " read as shown."
        if as_shown
        else "Column {column} shows {count} of its dates coarser than others, but {count:it is|they"
        " are} read exactly."
    )
    finer: list[Note] = note(column.finer, template, way)
    return in_part + finer


def _formulas(uncalculated: Counter[int], names: Mapping[int, str], *, whole: bool) -> list[Note]:
    """Say which columns hold formulas whose values nobody computed."""
    if uncalculated and not whole:
        listed = [names[position] for position in sorted(uncalculated)]
        return [
            Note(
                "There are formulas without their values, which are read as missing, in"
                " {columns}. Open the file in Excel or LibreOffice, which computes them, and"
                " save it.",
                {"columns": _listed(listed)},
                caution=True,
                columns=tuple(listed),
            )
        ]
    return [
        Note(
            "Column {column} holds formulas without their values in {count} {count:row|rows},"
            " read as missing. Open the file in Excel or LibreOffice, which computes them, and"
            " save it.",
            {"column": names[position], "count": grouped(count)},
            caution=True,
            columns=(names[position],),
            count=count,
        )
        for position, count in sorted(uncalculated.items())
    ]
