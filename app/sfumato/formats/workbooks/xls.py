"""Workbooks of Excel 97 to 2003 (.xls): their sheets, and their rows one by one."""

from __future__ import annotations

import io
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import xlrd

from sfumato.formats.errors import UnknownFormat
from sfumato.formats.options import ReadOptions
from sfumato.formats.workbooks.archives import understood
from sfumato.formats.workbooks.cells import Cell, Fault, Layout, Merge, Progress, Row, Sheet
from sfumato.formats.workbooks.number_formats import (
    FROM_1900,
    FROM_1904,
    Reader,
    hides_texts,
    reader_of,
    veiled,
)

_DAMAGED: Final = "{file} is not a whole Excel workbook (.xls)."
_COMPLAINTS: Final = (
    *(xlrd.XLRDError, xlrd.compdoc.CompDocError, struct.error, AssertionError, LookupError),
)
"""What the library raises at files that are no workbooks, or damaged ones."""
_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
"""What stands in the file that an encrypted .xlsx is packed into."""
_REPORTED: Final = 1_000


class XlsWorkbook:
    """A workbook that was read; see `sfumato.formats.workbooks.gathering.Workbook`.

    Parameters
    ----------
    path
        Its file, for messages.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        content = path.read_bytes()
        if _PACKAGE in content[: 1 << 20] or _PACKAGE in content[-1 << 20 :]:
            raise _with_password(path)
        with understood(path, _DAMAGED, _COMPLAINTS):
            try:
                self._book: Any = xlrd.open_workbook(
                    file_contents=content,
                    formatting_info=True,
                    ragged_rows=True,
                    logfile=io.StringIO(),
                )
            except xlrd.XLRDError as error:
                if "encrypted" not in str(error):
                    raise
                encrypted = True
            else:
                encrypted = False
        if encrypted:
            raise _with_password(path)
        self._start = FROM_1904 if self._book.datemode else FROM_1900
        self.sheets = tuple(
            Sheet(sheet.name, str(number), sheet.visibility == 0)
            for number, sheet in enumerate(self._book.sheets())
        )

    def layout(self, sheet: Sheet, options: ReadOptions) -> Layout:  # noqa: ARG002
        """Return what a sheet hides and merges."""
        found = self._book.sheet_by_index(int(sheet.part))
        columns = (place for place, info in found.colinfo_map.items() if _is_hidden(info, "width"))
        merges = (
            Merge(top + 1, left + 1, bottom, right)
            for top, bottom, left, right in found.merged_cells
        )
        rows = sum(_is_hidden(info, "height") for info in found.rowinfo_map.values())
        return Layout(frozenset(columns), tuple(merges), rows)

    def rows(self, sheet: Sheet, options: ReadOptions, report: Progress) -> Iterator[Row]:
        """Yield a sheet's rows."""
        found = self._book.sheet_by_index(int(sheet.part))
        readers: dict[int, tuple[Reader | None, bool]] = {}
        with understood(self._path, _DAMAGED, _COMPLAINTS):
            for style, info in enumerate(self._book.xf_list):
                code = self._book.format_map[info.format_key].format_str or "General"
                reader = reader_of(code, self._start, options.version)
                readers[style] = (reader, hides_texts(code))
            uncalculated = _uncalculated(found)
            for number in range(found.nrows):
                if number % _REPORTED == 0:
                    report(number / found.nrows)
                cells: list[Cell] = [
                    _cell(cell, readers.get(cell.xf_index, (None, False)))
                    for cell in found.row(number)
                ]
                info = found.rowinfo_map.get(number)
                hidden = info is not None and _is_hidden(info, "height")
                missing = tuple(
                    place
                    for place, kind in enumerate(found.row_types(number))
                    if place in uncalculated and kind == xlrd.XL_CELL_TEXT and cells[place] == ""
                )
                yield Row(number + 1, cells, missing, hidden)


def _uncalculated(sheet: Any) -> set[int]:
    """Return the columns that hold formulas without values, and nothing else below the first row.

    The library gives a formula without a value as an empty text, as it does one whose value is
    that: a column of these alone has never been computed.
    """
    empty: set[int] = set()
    filled: Counter[int] = Counter()
    for number in range(sheet.nrows):
        for place, cell in enumerate(sheet.row(number)):
            if cell.ctype == xlrd.XL_CELL_TEXT and cell.value == "":
                empty.add(place)
            elif cell.ctype not in {xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK}:
                filled[place] += 1
    return {place for place in empty if filled[place] <= 1}


def _is_hidden(info: Any, size: str) -> bool:
    return bool(info.hidden) or getattr(info, size) == 0


def _cell(cell: Any, style: tuple[Reader | None, bool]) -> Cell:
    reader, hides = style
    if cell.ctype in {xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK}:
        return None
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return bool(cell.value)
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return Fault(xlrd.error_text_from_code.get(cell.value, "#VALUE!"))
    if cell.ctype == xlrd.XL_CELL_TEXT:
        return veiled(cell.value) if hides else str(cell.value)
    return reader(cell.value) if reader is not None else float(cell.value)


def _with_password(path: Path) -> UnknownFormat:
    return UnknownFormat(
        "{file} is a workbook with a password, and encrypted.",
        "Open it in Excel or LibreOffice, take the password away, and save it under another name.",
        file=path.name,
    )


@contextmanager
def opened_xls(path: Path) -> Iterator[XlsWorkbook]:
    """Open a workbook.

    Raises
    ------
    DamagedFile, UnknownFormat
        If the file is no such workbook, or has a password.
    """
    yield XlsWorkbook(path)
