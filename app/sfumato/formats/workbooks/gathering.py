"""The rows of a sheet, taken one by one into columns that grow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final, Protocol

import pandas as pd

from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Table
from sfumato.formats.columns.settling import check_fixed_types, number_in_file, settle, usable_names
from sfumato.formats.delimited_notes import TOTAL_NOTE, is_total, unnamed_note
from sfumato.formats.errors import BadHeader, EmptyFile, TooLarge, Way
from sfumato.formats.options import Hidden, MergedCellRule, ReadOptions
from sfumato.formats.sniffing import PLAIN, has_header, is_doubtful_header
from sfumato.formats.table_format import ReadResult
from sfumato.formats.workbooks.blocks import BlockColumn, RowBlock, joined, part_of, single_rows
from sfumato.formats.workbooks.cells import (
    Cell,
    Clock,
    Fault,
    Layout,
    Merge,
    Progress,
    Row,
    Sheet,
    Span,
    UnsupportedDate,
    Veiled,
    cell_text,
)
from sfumato.formats.workbooks.columns import OccurrenceTally, SheetColumn
from sfumato.formats.workbooks.remarks import SheetEvidence, remarks_on

MOST_CELLS: Final = 50_000_000
"""The most cells that are read unasked, empty ones between others included."""

_PIECE: Final = 2_000
_PIECE_CELLS: Final = 1_000_000
_BEGINNING: Final = 50
"""So many rows are compared with the columns' names."""
_DEEPEST_HEADER: Final = 3
"""Merged cells that begin in the header and reach further down than so many rows are no part of
it."""


class MergedCells:
    """Hands the value of merged cells on to the rows below.

    Parameters
    ----------
    merges
        The cells that are merged.
    """

    def __init__(self, merges: tuple[Merge, ...]) -> None:
        self._starting: dict[int, list[Merge]] = defaultdict(list)
        for merge in merges:
            self._starting[merge.top].append(merge)
        self._tops = sorted(self._starting, reverse=True)
        self._open: dict[int, tuple[int, Cell]] = {}

    def starting_at(self, row: int) -> list[Merge]:
        """Return the merged cells whose first row is this one."""
        return self._starting.get(row, [])

    def fill(self, row: Row) -> int:
        """Put values into a row that stand above it, and return how many; rows come in order."""
        cells, filled = row.cells, 0
        for column, (last, value) in list(self._open.items()):
            if row.number > last:
                del self._open[column]
            elif column > len(cells) or cells[column - 1] in {None, ""}:
                cells += [None] * (column - len(cells))
                cells[column - 1] = value
                filled += 1
        while self._tops and self._tops[-1] <= row.number:
            top = self._tops.pop()
            for merge in self._starting[top] if top == row.number else ():
                value = cells[merge.left - 1] if merge.left <= len(cells) else None
                if merge.bottom > top and value not in {None, ""}:
                    self._open[merge.left] = (merge.bottom, value)
        return filled


class GatheredRows:
    """The rows of a sheet, as columns that grow.

    Parameters
    ----------
    options
        How the sheet is read.
    path
        The file, for messages.
    layout
        What the sheet hides and merges; nothing before version 2 of reading.
    """

    def __init__(self, options: ReadOptions, path: Path, layout: Layout) -> None:
        self._options = options
        self._path = path
        self._layout = layout
        self._leaves_out = options.hidden == Hidden.LEAVE_OUT and options.version >= 2
        self._fills = options.merged == MergedCellRule.EVERY_ROW
        self._merged = MergedCells(layout.merges)
        self._names: list[str] | None = None if options.header else []
        self._columns: list[SheetColumn] = []
        self._rows = 0
        self._above = options.skip_lines
        self._before = 0
        self._keeps_blank = options.keep_blank_rows and options.version >= 2
        self._hidden_blank: set[int] = set()
        self._left_out: list[int] = []
        self._width = 0
        self._piece: list[list[Cell]] = []
        self._parts: list[tuple[list[BlockColumn | None], int]] = []
        self._waiting = 0
        self._beginning: list[list[str]] = []
        self._last: Row | None = None
        self._seen = SheetEvidence()

    def take(self, rows: Iterable[Row | RowBlock], most: int | None) -> None:
        """Take rows until there are no more, or enough."""
        for row in self._singly(rows, most):
            blank = row.is_blank
            above = self._above
            if row.number <= above and self._names:
                self._lengthen_names(row)
                continue
            fills = self._layout.merges and (self._fills or self._names is None)
            filled = self._merged.fill(row) if fills else 0
            if row.number <= above:
                self._seen.above += not blank
                continue
            left_out = row.hidden and self._leaves_out
            if self._names is None:
                if not blank and not left_out:
                    self._above = self._take_names(row)
                continue
            if row.uncalculated and not left_out:
                self._seen.uncalculated.update(row.uncalculated)
            number = row.number - above
            if blank:
                if left_out:
                    self._hidden_blank.add(number)
                continue
            self._take_blank(range(self._before + 1, number))
            self._before = number
            if row.hidden and self._options.version >= 2:
                self._seen.hidden.add((number,))
            if left_out:
                self._left_out.append(number)
                continue
            if self._layout.merges or self._layout.totals:
                self._note(row, number, filled)
            self._last = row
            self._take(row)
            if most is not None and self._rows + self._waiting >= most:
                break
        self._store()

    def _singly(self, rows: Iterable[Row | RowBlock], most: int | None) -> Iterator[Row]:
        """Take blocks of rows of which nothing is to be told, and yield all others one by one."""
        for row in rows:
            if isinstance(row, Row):
                yield row
            elif most is None and self._is_plain(row):
                self._take_block(row)
            else:
                yield from row.rows()

    def _is_plain(self, block: RowBlock) -> bool:
        """Whether a block continues the rows taken so far, and fits them."""
        width = max(self._width, len(block.columns))
        cells = (self._rows + self._waiting + len(block.numbers)) * width
        return (
            self._names is not None
            and len(self._beginning) == _BEGINNING
            and not self._layout.merges
            and not self._layout.totals
            and block.numbers[0] == self._above + self._before + 1
            and (cells <= MOST_CELLS or self._options.any_size)
            and block.is_gapless
        )

    def _take_block(self, block: RowBlock) -> None:
        """Take rows that are held together, in the same pieces as rows that come one by one."""
        rows = len(block.numbers)
        self._before += rows
        self._last = block.last()
        self._width = max(self._width, len(block.columns))
        most = min(_PIECE, -(-_PIECE_CELLS // self._width))
        start = 0
        while start < rows:
            self._set_aside()
            stop = min(rows, start + max(most - self._waiting, 1))
            part = [part_of(column, start, stop) for column in block.columns]
            self._parts.append((part, stop - start))
            self._waiting += stop - start
            start = stop
            if self._waiting >= most:
                self._store()

    def _take_blank(self, numbers: range) -> None:
        """Leave rows without any value out, or take them as records where that is chosen."""
        for number in numbers:
            if number in self._hidden_blank or not self._keeps_blank:
                self._left_out.append(number)
                self._seen.blank.add((number,))
            else:
                self._take(Row(number, []))

    def _take_names(self, row: Row) -> int:
        """Take the columns' names, and return the last row of the header."""
        wide = [m for m in self._merged.starting_at(row.number) if m.right > m.left]
        wide = [m for m in wide if m.left <= len(row.cells) and row.cells[m.left - 1]]
        if wide:
            raise BadHeader(
                "The header in row {row} of the sheet has a title over several columns, {first} to"
                " {last}.",
                "Leave it out, if the columns' names stand below it, or give each column a name of"
                " its own.",
                ways=(
                    Way(
                        "Leave out the rows down to it",
                        replace(self._options, skip_lines=row.number),
                    ),
                ),
                row=row.number,
                first=wide[0].left,
                last=wide[0].right,
            )
        self._names = [cell_text(cell) for cell in row.cells]
        self._width = len(self._names)
        deep = [m.bottom for m in self._merged.starting_at(row.number)]
        return max((b for b in deep if b - row.number < _DEEPEST_HEADER), default=row.number)

    def _lengthen_names(self, row: Row) -> None:
        """Take what stands in a further row of the header, below the columns' names."""
        names = self._names or []
        names += [""] * (len(row.cells) - len(names))
        for position, cell in enumerate(row.cells):
            names[position] = f"{names[position]} {cell_text(cell)}".strip()
        self._width = max(self._width, len(names))

    def _note(self, row: Row, number: int, filled: int) -> None:
        """Count what is to be said of a row that is read."""
        if row.number in self._layout.totals:
            self._seen.totals.add((number,))
        if filled:
            self._seen.filled_cells += filled
            self._seen.filled.add((number,))
        for merge in self._merged.starting_at(row.number):
            known = merge.left <= len(row.cells) and row.cells[merge.left - 1] not in {None, ""}
            if merge.bottom > merge.top and known:
                self._seen.merged.add((number,))
            if merge.right > merge.left and known:
                self._seen.wide.add((number,))

    def _take(self, row: Row) -> None:
        self._piece.append(row.cells)
        self._waiting += 1
        if len(self._beginning) < _BEGINNING:
            self._beginning.append(list(map(as_looked_at, row.cells)))
        self._width = max(self._width, len(row.cells))
        cells = (self._rows + self._waiting) * self._width
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
        if self._waiting == _PIECE or self._waiting * self._width >= _PIECE_CELLS:
            self._store()

    def result(self, context: Context, *, whole: bool) -> ReadResult:
        """Return the table."""
        self._refuse_nothing()
        options = self._options if whole else self._options.tolerant()
        columns = self._named_columns()
        if whole:
            check_fixed_types([column.name for column in columns], options)
        gathered = [column.gathered(options) for column in columns]
        keep, notes = settle(gathered, self._rows, options, self._number)
        series = {}
        for position, (column, found) in enumerate(zip(columns, gathered, strict=True)):
            context.report(position / len(columns), "Putting the table together")
            again = found.given_up
            series[column.name] = column.as_text(options, keep) if again else found.finish(keep)
        frame = pd.DataFrame(series, copy=False)
        if not len(frame):
            raise EmptyFile(
                "No row of {file} is left.",
                "Change what becomes of bad values.",
                file=self._path.name,
            )
        if not whole:
            self._seen.blank = OccurrenceTally()
            self._seen.hidden.count = max(self._seen.hidden.count, self._layout.hidden_rows)
        names = {position: self._name_of(position) for position in self._seen.uncalculated}
        hidden = [self._name_of(position) for position in self._hidden_columns()]
        self._seen.header_is_doubtful = self._header_is_doubtful()
        said = remarks_on(self._seen, columns, hidden, names, self._number, options, whole=whole)
        if options.header and options.version >= 2 and (unnamed := self._unnamed(columns)):
            said.append(unnamed_note(unnamed))
        ends_with_last = keep is None or bool(keep[-1])
        if whole and options.version >= 2 and ends_with_last and self._ends_with_total():
            said.append(TOTAL_NOTE)
        skipped = int((~keep).sum()) if keep is not None else 0
        skipped += self._seen.hidden.count if self._leaves_out and whole else 0
        periods = {column.name: each for column in columns if (each := column.period) is not None}
        return ReadResult(Table(frame, periods=periods), skipped, (*notes, *said))

    def _ends_with_total(self) -> bool:
        """Whether the last row seems to hold totals, though no table of the sheet says so."""
        last = self._last
        if last is None or not last.cells or last.number in self._layout.totals:
            return False
        return is_total(cell_text(last.cells[0]))

    def _header_is_doubtful(self) -> bool:
        if not self._options.header:
            return False
        rows = [self._names or [], *self._beginning]
        width = max(map(len, rows))
        if not any(map(any, rows[1:])):
            return False
        return is_doubtful_header([row + [""] * (width - len(row)) for row in rows], PLAIN)

    def _refuse_nothing(self) -> None:
        if self._rows:
            return
        if self._seen.uncalculated:
            raise EmptyFile(
                "The sheet of {file} holds formulas, but none of their values.",
                "Open the file in Excel or LibreOffice, which computes them, and save it.",
                file=self._path.name,
            )
        if self._seen.hidden.count:
            raise EmptyFile(
                "The sheet of {file} hides all its rows.",
                "Show them in Excel, or let hidden rows and columns be read.",
                ways=self._ways_to_hidden(),
                file=self._path.name,
            )
        raise EmptyFile(
            "The sheet of {file} has no rows.", "Choose another sheet.", file=self._path.name
        )

    def _ways_to_hidden(self) -> tuple[Way, ...]:
        return (Way("Read hidden rows and columns", replace(self._options, hidden=Hidden.READ)),)

    def _number(self, position: int) -> int:
        return number_in_file(position, self._left_out)

    def _name_of(self, position: int) -> str:
        names = self._names or []
        return (names[position] if position < len(names) else "") or f"column_{position + 1}"

    def _unnamed(self, columns: Sequence[SheetColumn]) -> tuple[str, ...]:
        """Return how those of the columns are called that have no name."""
        named = {name for name in self._names or [] if name}
        return tuple(column.name for column in columns if column.name not in named)

    def _is_named_or_filled(self, position: int) -> bool:
        names = self._names or []
        named = position < len(names) and bool(names[position])
        return named or not self._columns[position].is_empty

    def _hidden_columns(self) -> list[int]:
        """Return the columns that are not shown, of those that have a name or a value."""
        places = sorted(self._layout.hidden_columns)
        return [p for p in places if p < len(self._columns) and self._is_named_or_filled(p)]

    def _named_columns(self) -> list[SheetColumn]:
        """Return the columns that have a name or a value, and are to be read, all named."""
        hidden = set(self._hidden_columns()) if self._leaves_out else set()
        kept = [
            column
            for position, column in enumerate(self._columns)
            if position not in hidden and self._is_named_or_filled(position)
        ]
        if not kept:
            raise EmptyFile(
                "The sheet of {file} hides all its columns.",
                "Show them in Excel, or let hidden rows and columns be read.",
                ways=self._ways_to_hidden(),
                file=self._path.name,
            )
        usable_names([column.name for column in kept])
        return kept

    def _store(self) -> None:
        """Turn the rows taken last into pieces of columns."""
        self._set_aside()
        while len(self._columns) < self._width:
            name = self._name_of(len(self._columns))
            self._columns.append(SheetColumn(name, self._rows, self._options))
        for place, column in enumerate(self._columns):
            column.add_block(
                joined(
                    [
                        (columns[place] if place < len(columns) else None, rows)
                        for columns, rows in self._parts
                    ]
                )
            )
        self._rows += self._waiting
        self._parts, self._waiting = [], 0

    def _set_aside(self) -> None:
        """Turn rows that came one by one into columns."""
        if self._piece:
            columns: list[BlockColumn | None] = list(map(list, zip_longest(*self._piece)))
            self._parts.append((columns, len(self._piece)))
            self._piece = []


class Workbook(Protocol):
    """An open workbook."""

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """Its sheets that hold cells."""

    def layout(self, sheet: Sheet, options: ReadOptions) -> Layout:
        """Return what a sheet hides and merges.

        Raises
        ------
        FileError
            As `rows` does.
        """

    def rows(
        self, sheet: Sheet, options: ReadOptions, report: Progress
    ) -> Iterator[Row] | Iterator[Row | RowBlock]:
        """Yield a sheet's rows, some together; those that nothing stands in may be left out.

        Raises
        ------
        TooLarge
            If the sheet, or the texts of all sheets, unpack to more than the options allow.
        DamagedFile
            If the file is no whole workbook.
        """


_LOOKED_AT: Final = 50
"""So many rows that hold something are looked at."""


def beginning(workbook: Workbook, sheet: Sheet, options: ReadOptions) -> tuple[int, bool]:
    """Return how many rows stand above the columns' names, and whether there may be names.

    Titles and remarks fill a single cell, or cells merged over several columns. Below them must
    stand a row of texts that differ, and then one with as many cells. A first row that holds
    values as those below it do holds no names.
    """
    try:
        layout = workbook.layout(sheet, options)
        shown = (
            row
            for row in single_rows(workbook.rows(sheet, options, lambda _: None))
            if not row.hidden and not row.is_blank
        )
        rows = list(islice(shown, _LOOKED_AT))
    except TooLarge:  # It is refused where it is read, with a way to go on.
        return 0, True
    if above := _lines_above(rows, layout):
        return above, True
    is_merged = bool(rows) and any(merge.top == rows[0].number for merge in layout.merges)
    width = max((len(row.cells) for row in rows), default=0)
    filled = [[*map(as_looked_at, row.cells), *[""] * (width - len(row.cells))] for row in rows]
    return 0, is_merged or len(rows) < 2 or has_header(filled)


def as_looked_at(cell: Cell) -> str:
    """Return a cell as a text that shows whether it is a value or may be a name."""
    if isinstance(cell, Fault | UnsupportedDate | Veiled):
        return ""
    # A text would not show that these are no names.
    return "1" if isinstance(cell, Clock | Span) else cell_text(cell)


def _lines_above(rows: Sequence[Row], layout: Layout) -> int:
    for title, row in zip([None, *rows], rows[:-1], strict=False):
        if _is_title(row, layout):
            continue
        return title.number if title is not None and _are_names(row, layout) else 0
    return 0


def _filled(row: Row) -> list[object]:
    return [cell for cell in row.cells if cell not in {None, ""}]


def _is_title(row: Row, layout: Layout) -> bool:
    wide = {m.left for m in layout.merges if m.top == row.number and m.right > m.left}
    filled = [place for place, cell in enumerate(row.cells, start=1) if cell not in {None, ""}]
    texts = all(type(cell) is str for cell in _filled(row))
    return len(filled) == 1 or (texts and bool(wide & set(filled)))


def _are_names(row: Row, layout: Layout) -> bool:
    covered = sum(m.top < row.number <= m.bottom for m in layout.merges)
    cells = _filled(row)
    texts = {cell for cell in cells if type(cell) is str}
    return len(texts) == len(cells) and len(texts) + covered > 1
