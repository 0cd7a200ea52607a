"""The parts of a workbook: its sheets, and their rows one by one.

A workbook is a zip of XML texts, so a small file can hold a text without end. Parts are read as
streams, no further than their stated sizes, and refused where they unpack to more than a table
of their kind needs.
"""

from __future__ import annotations

import datetime as dt
import errno
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final
from xml.etree.ElementTree import Element

from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.stylesheet import apply_stylesheet
from openpyxl.utils.exceptions import InvalidFileException
from openpyxl.worksheet._reader import (
    DATA_TAG,
    FORMULA_TAG,
    ROW_TAG,
    VALUE_TAG,
    WorkSheetParser,
    iterparse,
)

from sfumato.formats.errors import DamagedFile, TooLarge, Way, refused_at
from sfumato.formats.options import ReadOptions

MOST_ROWS: Final = 1_048_576
MOST_COLUMNS: Final = 16_384
"""What a sheet can have."""

_USUAL: Final = 256 << 20
_LARGEST: Final = 2 << 30
_RATIO: Final = 50
"""Parts unpack to so many bytes at most, unless asked for: `_USUAL`, or `_RATIO` times the
file's size up to `_LARGEST`. Sheets of real tables unpack to 5 to 20 times their packed size."""
_LARGEST_OTHER: Final = 64 << 20
"""More than a part that is no sheet and no list of texts can need, in bytes."""
_LONGEST_TEXT: Final = 4 << 20
"""More bytes than a cell's text can have: Excel's longest has 32 767 characters."""
_MOST_ELEMENTS: Final = 16 * MOST_COLUMNS
"""More elements than a row can need."""
_COMPLAINTS: Final = (
    *(zipfile.BadZipFile, zlib.error, InvalidFileException, EOFError, SyntaxError, RuntimeError),
    *(KeyError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError),
)
"""What the library raises at files that are no workbooks, or damaged ones."""

_REPORTED: Final = 1_000
"""After how many rows it is said how far the reading has come."""

Progress = Callable[[float], None]
Cell = str | int | float | bool | dt.date | dt.time | dt.timedelta | None


@dataclass(frozen=True)
class Sheet:
    """A sheet of a workbook.

    Parameters
    ----------
    name, part
        What it is called, and where it stands in the file.
    visible
        Whether the workbook shows it.
    """

    name: str
    part: str
    visible: bool


@dataclass(frozen=True)
class Row:
    """A row of a sheet.

    Parameters
    ----------
    number
        Its number in the sheet, from 1.
    cells
        Its cells from the first column to the last that holds something.
    uncalculated
        The columns, from 0, in which stands a formula without the value it had.
    """

    number: int
    cells: tuple[Cell, ...]
    uncalculated: tuple[int, ...] = ()

    @property
    def is_blank(self) -> bool:
        """Whether no cell has a value."""
        return all(cell is None or cell == "" for cell in self.cells)


class Workbook:
    """An open workbook.

    Parameters
    ----------
    path
        Its file, for messages.
    file
        The open file.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._size = path.stat().st_size
        with _understood(path):
            self._reader: Any = ExcelReader(file, read_only=True, data_only=True, keep_links=False)
            self._archive = _Archive(file, path)
            self._reader.archive = self._archive
            self._reader.read_manifest()
            self._reader.read_workbook()
            self.sheets = tuple(
                Sheet(sheet.name, relation.target, sheet.state == "visible")
                for sheet, relation in self._reader.parser.find_sheets()
                if relation.target in self._reader.valid_files and "chartsheet" not in relation.Type
            )

    def rows(self, sheet: Sheet, options: ReadOptions, report: Progress) -> Iterator[Row]:
        """Yield a sheet's rows; those that nothing stands in may be left out.

        Raises
        ------
        TooLarge
            If the sheet, or the texts of all sheets, unpack to more than the options allow.
        DamagedFile
            If the file is no whole workbook.
        """
        largest = self._largest(options)
        with _understood(self._path):
            for part in (sheet.part, self._texts_part):
                self._archive.allow(part, largest)
            unpacked = sum(self._archive.size_of(p) for p in (sheet.part, self._texts_part))
            if unpacked > largest:
                raise _too_large(self._path, unpacked, options)
            self._reader.read_strings()
            apply_stylesheet(self._archive, self._reader.wb)
        yield from self._parsed(sheet, report)

    @property
    def _texts_part(self) -> str:
        found = self._reader.package.find(
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
        )
        return found.PartName[1:] if found is not None else ""

    def _largest(self, options: ReadOptions) -> int:
        if options.any_size:
            return 1 << 62
        return max(_USUAL, min(_LARGEST, _RATIO * self._size))

    def _parsed(self, sheet: Sheet, report: Progress) -> Iterator[Row]:
        book = self._reader.wb
        total = max(self._archive.size_of(sheet.part), 1)
        with _understood(self._path):
            source = self._archive.open(sheet.part)
            parser = _SheetParser(
                source,
                self._reader.shared_strings,
                data_only=True,
                epoch=book.epoch,
                date_formats=book._date_formats,
                timedelta_formats=book._timedelta_formats,
            )
            rows = parser.rows()
        reported = 0
        with source, _understood(self._path):
            for row in rows:
                if row.number >= reported:
                    report(min(1.0, source.tell() / total))
                    reported = row.number + _REPORTED
                yield row


@contextmanager
def opened_workbook(path: Path) -> Iterator[Workbook]:
    """Open a workbook.

    Raises
    ------
    DamagedFile
        If the file is no workbook.
    """
    with warnings.catch_warnings(), path.open("rb") as file:
        # The library warns of parts that it does not know; none of them holds cells.
        warnings.simplefilter("ignore")
        yield Workbook(path, file)


class _Archive(zipfile.ZipFile):
    """A workbook's zip, whose parts unpack to no more than was allowed."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file)
        self._path = path
        self._allowed: dict[str, int] = {}

    def allow(self, part: str, size: int) -> None:
        """Let a part unpack to so many bytes."""
        self._allowed[part] = size

    def size_of(self, part: str) -> int:
        """Return how many bytes a part says it unpacks to; 0 where there is no such part."""
        with suppress(KeyError):
            return self.getinfo(part).file_size
        return 0

    def open(self, name: Any, mode: Any = "r", *rest: Any, **named: Any) -> IO[bytes]:
        called = name.filename if isinstance(name, zipfile.ZipInfo) else name
        if self.size_of(called) > self._allowed.get(called, _LARGEST_OTHER):
            raise _too_large(self._path, self.size_of(called), None)
        return _Texts(super().open(name, mode, *rest, **named), self._path)  # type: ignore[return-value]


class _Texts:
    """A part that is being read, refused where a text in it has no end."""

    def __init__(self, source: IO[bytes], path: Path) -> None:
        self._source = source
        self._path = path
        self._since_mark = 0

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes."""
        piece = self._source.read(size)
        last = piece.rfind(b"<")
        self._since_mark = self._since_mark + len(piece) if last < 0 else len(piece) - last
        if self._since_mark > _LONGEST_TEXT:
            raise DamagedFile(
                "{file} holds a cell whose text is longer than any cell's can be.",
                "Mend it in Excel, or ask for the table in another format.",
                file=self._path.name,
            )
        return piece

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._source.tell()

    def close(self) -> None:
        """Close it."""
        self._source.close()

    def __enter__(self) -> _Texts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _SheetParser(WorkSheetParser):  # type: ignore[misc]
    """Rows of a sheet, without the library's memory of how they look."""

    row_counter: int

    def rows(self) -> Iterator[Row]:
        """Yield the rows up to the end of the cells."""
        elements = last = 0
        for _, element in iterparse(self.source):
            elements += 1
            if element.tag == ROW_TAG:
                stated = element.get("r")
                last, self.row_counter = self.row_counter, self.row_counter + 1
                if stated is not None:
                    self.row_counter = int(float(stated))
                if not last < self.row_counter <= MOST_ROWS:
                    raise ValueError("no row can have this number here")
                if len(element):
                    yield self._row(element)
                    element.clear()
                elements = 0
            elif element.tag == DATA_TAG:
                return
            elif elements > _MOST_ELEMENTS:
                raise ValueError("more elements than a row can have")

    def _row(self, element: Element) -> Row:
        self.col_counter = 0
        found: dict[int, Cell] = {}
        uncalculated = []
        for item in element:
            cell = self.parse_cell(item)
            column = cell["column"]
            if not 0 < column <= MOST_COLUMNS:
                raise ValueError("no column has this number")
            if cell["value"] is not None:
                found[column] = cell["value"]
            elif item.find(FORMULA_TAG) is not None and item.find(VALUE_TAG) is None:
                uncalculated.append(column - 1)
        width = max(found, default=0)
        cells = tuple(found.get(column) for column in range(1, width + 1))
        return Row(self.row_counter, cells, tuple(uncalculated))


def _understood(path: Path) -> AbstractContextManager[None]:
    """Say in plain words where the library finds the file damaged; what it says may hold cells."""
    damaged = DamagedFile(
        "{file} is not a whole Excel workbook (.xlsx).",
        "Open it in Excel and save it anew, or copy it again from where it comes from.",
        file=path.name,
    )
    # An entry said to begin before the file does is an error of the system.
    return refused_at(_COMPLAINTS, damaged, {None, errno.EINVAL})


def _too_large(path: Path, unpacked: int, options: ReadOptions | None) -> TooLarge:
    ways = (Way("Read it all the same", replace(options, any_size=True)),) if options else ()
    return TooLarge(
        "{file} would unpack to {bytes:,} {bytes:byte|bytes}, far more than a workbook of its size"
        " holds.",
        "If you know where it comes from, let any size be read.",
        ways=ways,
        file=path.name,
        bytes=unpacked,
    )
