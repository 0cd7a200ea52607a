"""Sheets of workbooks as tables."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

import openpyxl
import pandas as pd
from openpyxl.utils.exceptions import InvalidFileException

from app.engine.progress import Context, Part
from app.engine.table import Table
from app.engine.wording import Sentence
from app.formats.base import Note, ReadResult
from app.formats.columns.names import check_fixed_types, usable_names
from app.formats.columns.rows import number_in_file
from app.formats.columns.settling import settle
from app.formats.errors import BadOptions, DamagedFile, EmptyFile, grouped
from app.formats.options import ReadOptions
from app.formats.workbook.cells import Cell, SheetColumn, cell_text

_PIECE: Final = 2_000
_COMPLAINTS: Final = (
    *(zipfile.BadZipFile, zlib.error, InvalidFileException, EOFError, SyntaxError),
    *(KeyError, IndexError, ValueError, TypeError, AttributeError),
)
"""What the library raises at files that are no workbooks, or damaged ones."""


def sheet_names(path: Path) -> tuple[str, ...]:
    """Return the names of a workbook's sheets that hold cells."""
    with _opened(path) as workbook:
        return tuple(sheet.title for sheet in workbook.worksheets)


def read_sheet(
    path: Path, options: ReadOptions, context: Context, rows: int | None = None
) -> ReadResult:
    """Read one sheet of a workbook, or its first rows.

    A formula counts by the value that the workbook holds for it. Rows without any value are
    left out, and so are columns without a name and any value.

    Raises
    ------
    FileError
        If the file is no workbook, has no such sheet, or the rows can't be read so.
    Cancelled
        If the context says so.
    """
    with _opened(path) as workbook:
        sheet = _sheet(workbook, options, path)
        expected = max(sheet.max_row or 0, 1)
        sheet.reset_dimensions()  # What other programs say here is not always true.
        cells = islice(sheet.iter_rows(values_only=True), options.skip_lines, None)
        gathered = _Gathered(options)

        def report(done: int) -> None:
            fraction = min(1.0, done / expected)
            Part(context, 0.0, 0.9).report(fraction, Sentence("Reading {path}", path=path.name))

        gathered.take(_understood(cells, path), rows, report)
    return gathered.result(path, Part(context, 0.9, 1.0), whole=rows is None)


def _sheet(workbook: Any, options: ReadOptions, path: Path) -> Any:
    sheets = {sheet.title: sheet for sheet in workbook.worksheets}
    if not sheets:
        raise EmptyFile("{file} has no sheets.", "Choose another file.", file=path.name)
    if not options.sheet:
        return next(iter(sheets.values()))
    if options.sheet not in sheets:
        raise BadOptions(
            "{file} has no sheet called {sheet}.",
            "Choose one of: {known}.",
            file=path.name,
            sheet=options.sheet,
            known=", ".join(sheets),
        )
    return sheets[options.sheet]


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with warnings.catch_warnings(), path.open("rb") as file:
        # The library warns of parts that it does not know; none of them holds cells.
        warnings.simplefilter("ignore")
        workbook = None
        with suppress(*_COMPLAINTS):
            workbook = openpyxl.load_workbook(file, read_only=True, data_only=True)
        if workbook is None:
            raise _damaged(path)
        try:
            yield workbook
        finally:
            workbook.close()


def _understood(cells: Iterator[Any], path: Path) -> Iterator[Sequence[Cell]]:
    """Yield rows, and say in plain words where the library finds the file damaged."""
    while True:
        try:
            row = next(cells, None)
        except _COMPLAINTS:
            break
        if row is None:
            return
        yield row
    raise _damaged(path)


def _damaged(path: Path) -> DamagedFile:
    return DamagedFile(
        "{file} is not a whole Excel workbook (.xlsx).",
        "Open it in Excel and save it anew, or copy it again from where it comes from.",
        file=path.name,
    )


class _Gathered:
    """The rows of a sheet, as columns that grow."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._names: list[str] | None = None if options.header else []
        self._columns: list[SheetColumn] = []
        self._rows = 0
        self._blank: list[int] = []
        self._blank_after: list[int] = []
        self._seen = 0
        self._piece: list[Sequence[Cell]] = []

    def take(
        self, cells: Iterator[Sequence[Cell]], most: int | None, report: Callable[[int], None]
    ) -> None:
        """Take rows until there are no more, or enough."""
        report(0)
        for row in cells:
            blank = all(cell is None or cell == "" for cell in row)
            if self._names is None:
                if not blank:
                    self._names = [cell_text(cell) or "" for cell in row]
                continue
            self._seen += 1
            if blank:
                self._blank_after.append(self._seen)
                continue
            self._blank += self._blank_after
            self._blank_after = []
            self._piece.append(row)
            if most is not None and self._rows + len(self._piece) >= most:
                break
            if len(self._piece) == _PIECE:
                self._store()
                report(self._seen)
        self._store()

    def result(self, path: Path, context: Context, *, whole: bool) -> ReadResult:
        """Return the table."""
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
        if self._blank and whole:
            count = grouped(len(self._blank))
            notes.append(Note("Rows without any value are left out: {count}.", {"count": count}))
        return ReadResult(Table(frame), int((~keep).sum()) if keep is not None else 0, tuple(notes))

    def _named_columns(self) -> list[SheetColumn]:
        """Return the columns that have a name or a value, all named."""
        names = self._names or []
        kept = []
        for position, column in enumerate(self._columns):
            name = names[position] if position < len(names) else ""
            if name or not column.is_empty:
                column.name = name or f"column_{position + 1}"
                kept.append(column)
        usable_names([column.name for column in kept])
        return kept

    def _store(self) -> None:
        """Turn the rows taken last into pieces of columns."""
        width = max((len(row) for row in self._piece), default=0)
        width = max(width, len(self._columns), len(self._names or ()))
        while len(self._columns) < width:
            self._columns.append(SheetColumn("", self._rows))
        for position, column in enumerate(self._columns):
            cells = [row[position] if position < len(row) else None for row in self._piece]
            column.add(cells, self._options)
        self._rows += len(self._piece)
        self._piece = []
