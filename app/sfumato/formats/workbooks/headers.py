"""Where a sheet's columns get their names: below its titles, if it has any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Protocol

from sfumato.formats.errors import TooLarge
from sfumato.formats.options import ReadOptions
from sfumato.formats.sniffing import has_header
from sfumato.formats.workbooks.blocks import RowBlock, single_rows
from sfumato.formats.workbooks.cells import (
    Cell,
    Clock,
    Fault,
    Layout,
    Progress,
    Row,
    Sheet,
    Span,
    UnsupportedDate,
    Veiled,
    cell_text,
)


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
