"""Excel workbooks: their sheets as tables."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd
import pyarrow as pa

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import Column, Mask
from sfumato.formats.columns.gathering import GatheredColumn
from sfumato.formats.columns.settling import check_fixed_types, number_in_file, settle, usable_names
from sfumato.formats.errors import BadOptions, EmptyFile, TooLarge, Way, grouped
from sfumato.formats.options import ColumnType, DateOrder, ReadOptions
from sfumato.formats.table_format import Note, ReadResult, TableFormat

if TYPE_CHECKING:
    from sfumato.formats.workbook import Cell, Row, Sheet, Workbook

_EXACT = 2.0**53


def cell_text(cell: Cell) -> str | None:
    """Return a cell as the text that a CSV file would hold; None where it is empty."""
    if cell is None or isinstance(cell, str):
        return cell or None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        whole = cell.is_integer() and abs(cell) <= _EXACT
        return str(int(cell)) if whole else repr(cell)
    if isinstance(cell, dt.datetime):
        return (cell.date() if cell.time() == dt.time() else cell).isoformat()
    return cell.isoformat() if isinstance(cell, dt.date | dt.time) else str(cell)


class SheetColumn:
    """A column of a sheet that grows piece by piece.

    Cells that are numbers, dates or yes/no values are kept as texts which give them back, so
    that a column with several kinds of cells is found out about like one of a CSV file. A
    column in which every cell is a text stays text, whatever the texts look like.

    Parameters
    ----------
    name
        The column's name.
    before
        How many rows came before the column's first cell.
    """

    def __init__(self, name: str, before: int) -> None:
        self.name = name
        self._pieces = [pa.nulls(before, pa.string())] if before else []
        self._rows = before
        self._all_texts = True

    @property
    def is_empty(self) -> bool:
        """Whether no cell has a value."""
        return all(piece.null_count == len(piece) for piece in self._pieces)

    def add(self, cells: Sequence[Cell], options: ReadOptions) -> None:
        """Append cells; texts that mean a missing value become missing."""
        texts = [
            None if isinstance(cell, str) and cell in options.missing else cell_text(cell)
            for cell in cells
        ]
        self._all_texts &= all(cell is None or isinstance(cell, str) for cell in cells)
        self._pieces.append(pa.array(texts, type=pa.string()))
        self._rows += len(texts)

    def gathered(self, options: ReadOptions) -> GatheredColumn:
        """Return the column as found out about by its values."""
        plain = replace(options, decimal=".", thousands="", date_order=DateOrder.YEAR_FIRST)
        if self._all_texts and self.name not in options.column_types:
            plain = plain.with_type(self.name, ColumnType.TEXT)
        return self._gather(plain)

    def as_text(self, options: ReadOptions, keep: Mask | None) -> Column:
        """Return the column as texts, of the rows in `keep` or of all rows."""
        return self._gather(options.with_type(self.name, ColumnType.TEXT)).finish(keep)

    def _gather(self, options: ReadOptions) -> GatheredColumn:
        column = GatheredColumn(self.name, options, self._rows)
        for piece in self._pieces:
            column.add(piece)
        return column


MOST_CELLS: Final = 50_000_000
"""The most cells that are read unasked, empty ones between others included."""

_PIECE: Final = 2_000
_PIECE_CELLS: Final = 1_000_000
_NAMED: Final = 5
"""So many columns are named at most where several have the same fault."""


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
    with _opened(path) as workbook:
        sheet = _sheet(workbook, options, path)
        gathered = _Gathered(options, path)
        hidden = _hidden_notes(workbook, sheet)

        def report(fraction: float) -> None:
            Part(context, 0.0, 0.9).report(fraction, Sentence("Reading {path}", path=path.name))

        report(0.0)
        gathered.take(workbook.rows(sheet, options, report), rows)
    result = gathered.result(Part(context, 0.9, 1.0), whole=rows is None)
    return replace(result, notes=(*hidden, *result.notes))


def _opened(path: Path) -> AbstractContextManager[Workbook]:
    """Open a workbook; only now is the library imported, which takes a while."""
    from sfumato.formats.workbook import opened_workbook  # noqa: PLC0415

    return opened_workbook(path)


def _hidden_notes(workbook: Workbook, sheet: Sheet) -> tuple[Note, ...]:
    """Say that the sheet, or one that a reader would take for the first, is hidden."""
    first = workbook.sheets[0]
    if not sheet.visible:
        template = "The sheet {sheet} is hidden in the workbook. Check that it is the one you mean."
        return (Note(template, {"sheet": sheet.name}, caution=True),)
    if not first.visible:
        template = (
            "The first sheet of the workbook, {first}, is hidden. The sheet {sheet} is read in its"
            " place."
        )
        return (Note(template, {"first": first.name, "sheet": sheet.name}, caution=True),)
    return ()


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
                "{file} has more than {most:,} {most:cell|cells}: up to row {row:,}, {columns:,}"
                " {columns:column|columns}.",
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
        notes += self._formula_notes(whole=whole)
        if self._blank and whole:
            count = grouped(len(self._blank))
            notes.append(Note("Rows without any value are left out: {count}.", {"count": count}))
        return ReadResult(Table(frame), int((~keep).sum()) if keep is not None else 0, tuple(notes))

    def _formula_notes(self, *, whole: bool) -> list[Note]:
        """Say which columns hold formulas whose values nobody computed."""
        if self._uncalculated and not whole:
            names = [self._name_of(position) for position in sorted(self._uncalculated)]
            others = ["…"] if len(names) > _NAMED else []
            return [
                Note(
                    "There are formulas without their values, which are read as missing, in"
                    " {columns}. Open the file in Excel or LibreOffice, which computes them, and"
                    " save it.",
                    {"columns": ", ".join([*names[:_NAMED], *others])},
                    caution=True,
                )
            ]
        return [
            Note(
                "Column {column} holds formulas without their values in {count} {count:row|rows},"
                " read as missing. Open the file in Excel or LibreOffice, which computes them, and"
                " save it.",
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


_ZIP: Final = b"PK\x03\x04"


class _Excel(TableFormat):
    name = "xlsx"
    title = "Excel"
    extensions = (".xlsx", ".xlsm")
    order = 30
    reading_options = frozenset(
        ("sheet", "header", "skip_lines", "missing", "column_types", "bad_values", "any_size")
    )

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith(_ZIP)

    def detect(self, path: Path) -> ReadOptions:
        """Propose the first sheet that the workbook shows."""
        with _opened(path) as workbook:
            first = _first(workbook)
        return ReadOptions(format=self.name, sheet=first.name if first is not None else "")

    def sheets(self, path: Path, context: Context) -> tuple[str, ...]:  # noqa: ARG002
        with _opened(path) as workbook:
            return tuple(sheet.name for sheet in workbook.sheets)

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        return read_sheet(path, options, context, rows)


FORMAT: Final = _Excel()
