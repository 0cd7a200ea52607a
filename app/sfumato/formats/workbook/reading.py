"""Sheets of workbooks as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pandas as pd

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.formats.base import Note, ReadResult
from sfumato.formats.columns.names import check_fixed_types, usable_names
from sfumato.formats.columns.rows import number_in_file
from sfumato.formats.columns.settling import settle
from sfumato.formats.errors import BadOptions, EmptyFile, TooLarge, Way, grouped
from sfumato.formats.options import ReadOptions
from sfumato.formats.workbook.cells import SheetColumn, cell_text
from sfumato.formats.workbook.package import Row, Sheet, Workbook, opened_workbook

MOST_CELLS: Final = 50_000_000
"""The most cells that are read unasked, empty ones between others included."""

_PIECE: Final = 2_000
_PIECE_CELLS: Final = 1_000_000


def sheet_names(path: Path) -> tuple[str, ...]:
    """Return the names of a workbook's sheets that hold cells."""
    with opened_workbook(path) as workbook:
        return tuple(sheet.name for sheet in workbook.sheets)


def proposed_sheet(path: Path) -> str:
    """Return the name of the first sheet that the workbook shows; empty where it has none."""
    with opened_workbook(path) as workbook:
        return first.name if (first := _first(workbook)) is not None else ""


def read_sheet(
    path: Path, options: ReadOptions, context: Context, rows: int | None = None
) -> ReadResult:
    """Read one sheet of a workbook, or its first rows.

    A formula counts by the value that the workbook holds for it; where it holds none, the cell
    is missing, and the notes say so. Rows without any value are left out, and so are columns
    without a name and any value.

    Raises
    ------
    FileError
        If the file is no workbook, has no such sheet, holds more than the options allow, or the
        rows can't be read so.
    Cancelled
        If the context says so.
    """
    with opened_workbook(path) as workbook:
        sheet = _sheet(workbook, options, path)
        gathered = _Gathered(options, path)

        def report(fraction: float) -> None:
            Part(context, 0.0, 0.9).report(fraction, Sentence("Reading {path}", path=path.name))

        report(0.0)
        gathered.take(workbook.rows(sheet, options, report), rows)
    return gathered.result(Part(context, 0.9, 1.0), whole=rows is None)


def _first(workbook: Workbook) -> Sheet | None:
    return min(workbook.sheets, key=lambda sheet: not sheet.visible, default=None)


def _sheet(workbook: Workbook, options: ReadOptions, path: Path) -> Sheet:
    first = _first(workbook)
    if first is None:
        raise EmptyFile("{file} has no sheets.", "Choose another file.", file=path.name)
    if not options.sheet:
        return first
    sheets = {sheet.name: sheet for sheet in workbook.sheets}
    if options.sheet not in sheets:
        raise BadOptions(
            "{file} has no sheet called {sheet}.",
            "Choose one of: {known}.",
            file=path.name,
            sheet=options.sheet,
            known=", ".join(sheets),
        )
    return sheets[options.sheet]


class _Gathered:
    """The rows of a sheet, as columns that grow."""

    def __init__(self, options: ReadOptions, path: Path) -> None:
        self._options = options
        self._path = path
        self._names: list[str] | None = None if options.header else []
        self._columns: list[SheetColumn] = []
        self._rows = 0
        self._blank: list[int] = []
        self._width = 0
        self._piece: list[Row] = []
        self._uncalculated: Counter[int] = Counter()

    def take(self, rows: Iterator[Row], most: int | None) -> None:
        """Take rows until there are no more, or enough."""
        above = self._options.skip_lines
        last = 0
        for row in rows:
            if row.number <= above:
                continue
            if self._names is None:
                if not row.is_blank:
                    self._names = [cell_text(cell) or "" for cell in row.cells]
                    self._width = len(self._names)
                    above = row.number
                continue
            self._uncalculated.update(row.uncalculated)
            if row.is_blank:
                continue
            number = row.number - above
            self._blank += range(last + 1, number)
            last = number
            self._take(row)
            if most is not None and self._rows + len(self._piece) >= most:
                break
        self._store()

    def _take(self, row: Row) -> None:
        self._piece.append(row)
        self._width = max(self._width, len(row.cells))
        cells = (self._rows + len(self._piece)) * self._width
        if cells > MOST_CELLS and not self._options.any_size:
            raise TooLarge(
                "{file} has more than {most:,} cells: up to row {row:,}, {columns:,} columns.",
                "Look whether a cell far to the right or far below holds something by mistake."
                " If it is as it should be, let any size be read.",
                ways=(Way("Read it all the same", replace(self._options, any_size=True)),),
                file=self._path.name,
                most=MOST_CELLS,
                row=row.number,
                columns=self._width,
            )
        if len(self._piece) == _PIECE or len(self._piece) * self._width >= _PIECE_CELLS:
            self._store()

    def result(self, context: Context, *, whole: bool) -> ReadResult:
        """Return the table."""
        path = self._path
        if not self._rows and self._uncalculated:
            raise EmptyFile(
                "The sheet of {file} holds formulas, but none of their values.",
                "Open the file in Excel or LibreOffice, which computes them, and save it.",
                file=path.name,
            )
        if not self._rows:
            raise EmptyFile(
                "The sheet of {file} has no rows.", "Choose another sheet.", file=path.name
            )
        options = self._options if whole else self._options.tolerant()
        columns = self._named_columns()
        if whole:
            check_fixed_types([column.name for column in columns], options)
        gathered = [column.gathered(options) for column in columns]
        keep, notes = settle(
            gathered, self._rows, options, lambda position: number_in_file(position, self._blank)
        )
        series = {}
        for position, (column, found) in enumerate(zip(columns, gathered, strict=True)):
            context.report(position / len(columns), "Putting the table together")
            again = found.given_up
            series[column.name] = column.as_text(options, keep) if again else found.finish(keep)
        frame = pd.DataFrame(series, copy=False)
        if not len(frame):
            raise EmptyFile(
                "No row of {file} is left.", "Change what becomes of bad values.", file=path.name
            )
        notes += self._formula_notes()
        if self._blank and whole:
            count = grouped(len(self._blank))
            notes.append(Note("Rows without any value are left out: {count}.", {"count": count}))
        return ReadResult(Table(frame), int((~keep).sum()) if keep is not None else 0, tuple(notes))

    def _formula_notes(self) -> list[Note]:
        """Say which columns hold formulas whose values nobody computed."""
        return [
            Note(
                "Column {column} holds formulas without their values in {count} rows; they are"
                " read as missing. Open the file in Excel or LibreOffice, which computes them,"
                " and save it.",
                {"column": self._name_of(position), "count": grouped(count)},
                caution=True,
            )
            for position, count in sorted(self._uncalculated.items())
        ]

    def _name_of(self, position: int) -> str:
        names = self._names or []
        return (names[position] if position < len(names) else "") or f"column_{position + 1}"

    def _named_columns(self) -> list[SheetColumn]:
        """Return the columns that have a name or a value, all named."""
        names = self._names or []
        kept = []
        for position, column in enumerate(self._columns):
            column.name = self._name_of(position)
            if (position < len(names) and names[position]) or not column.is_empty:
                kept.append(column)
        usable_names([column.name for column in kept])
        return kept

    def _store(self) -> None:
        """Turn the rows taken last into pieces of columns."""
        rows = [row.cells for row in self._piece]
        while len(self._columns) < self._width:
            self._columns.append(SheetColumn("", self._rows))
        for position, column in enumerate(self._columns):
            cells = [row[position] if position < len(row) else None for row in rows]
            column.add(cells, self._options)
        self._rows += len(rows)
        self._piece = []
