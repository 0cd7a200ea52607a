"""Spreadsheets of LibreOffice and others (.ods): their sheets, and their rows one by one.

A cell holds its value beside the text that is shown of it, and styles say of which parts a date is
shown.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final
from xml.etree import ElementTree as Xml

from sfumato.formats.errors import UnknownFormat
from sfumato.formats.options import ReadOptions
from sfumato.formats.workbooks.archives import Archive, understood
from sfumato.formats.workbooks.cells import (
    MOST_COLUMNS,
    MOST_ROWS,
    Cell,
    Clock,
    Day,
    Fault,
    Layout,
    Merge,
    Moment,
    Month,
    Partial,
    Progress,
    Row,
    Sheet,
    Span,
    Year,
    coded,
    iso_cell,
    number_text,
)
from sfumato.formats.workbooks.number_formats import span_kind
from sfumato.formats.workbooks.sheet_text import local_attribute, local_name

_DAMAGED: Final = "{file} is not a whole spreadsheet (.ods)."
_PART: Final = "content.xml"
_GONE: Final = {"collapse", "filter"}


@dataclass
class _Table:
    """A sheet as it was read: rows with how often each comes, and what is hidden and merged."""

    name: str
    style: str
    hidden: set[int] = field(default_factory=set)
    merges: list[Merge] = field(default_factory=list)
    rows: list[tuple[int, int, list[Cell], tuple[int, ...], bool]] = field(default_factory=list)
    column_styles: list[tuple[int, str]] = field(default_factory=list)
    row: int = 1
    columns: int = 0


class OdsWorkbook:
    """A spreadsheet that was read; see `sfumato.formats.workbooks.gathering.Workbook`.

    Parameters
    ----------
    path
        Its file, for messages.
    file
        The open file.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._tables: list[_Table] = []
        with understood(path, _DAMAGED):
            self._archive = Archive(file, path)
            manifest = self._archive.read("META-INF/manifest.xml")
            if b"encryption-data" in manifest:
                raise UnknownFormat(
                    "{file} is a spreadsheet with a password, and encrypted.",
                    "Open it in LibreOffice, take the password away, and save it under another"
                    " name.",
                    file=path.name,
                )
            self.sheets = self._found_sheets()

    def _found_sheets(self) -> tuple[Sheet, ...]:
        """Return the sheets, which are few beside their rows, without making cells."""
        hidden, found = set(), []
        self._archive.allow([_PART], ReadOptions(any_size=True))
        with self._archive.open(_PART) as source:
            for event, element in Xml.iterparse(source, ("start", "end")):
                name = local_name(element)
                if event == "start" and name == "table":
                    found.append(
                        (local_attribute(element, "name"), local_attribute(element, "style-name"))
                    )
                elif event == "end" and name == "style":
                    if any(local_attribute(child, "display") == "false" for child in element):
                        hidden.add(local_attribute(element, "name"))
                elif event == "end" and name in {"table-row", "table"}:
                    element.clear()
        return tuple(
            Sheet(name, str(place), style not in hidden)
            for place, (name, style) in enumerate(found)
        )

    def layout(self, sheet: Sheet, options: ReadOptions) -> Layout:
        """Return what a sheet hides and merges."""
        table = self._read(options)[int(sheet.part)]
        hidden = sum(times for _, times, cells, _, gone in table.rows if gone and cells)
        return Layout(frozenset(table.hidden), tuple(table.merges), hidden)

    def rows(self, sheet: Sheet, options: ReadOptions, report: Progress) -> Iterator[Row]:
        """Yield a sheet's rows."""
        table = self._read(options)[int(sheet.part)]
        for place, (number, times, cells, uncalculated, gone) in enumerate(table.rows):
            report(place / len(table.rows))
            for further in range(times):
                yield Row(number + further, list(cells), uncalculated, gone)

    def _read(self, options: ReadOptions) -> list[_Table]:
        if not self._tables:
            with understood(self._path, _DAMAGED):
                self._archive.allow([_PART], options)
                with self._archive.open(_PART) as source:
                    self._tables = list(_tables(source))
        return self._tables


def _times(element: Xml.Element, name: str) -> int:
    times = int(local_attribute(element, name) or 1)
    if times < 1:
        raise ValueError("nothing comes so often")
    return times


def _tables(source: IO[bytes]) -> Iterator[_Table]:
    shown: dict[str, type] = {}
    formats: dict[str, str] = {}
    table: _Table | None = None
    for event, element in Xml.iterparse(source, ("start", "end")):
        name = local_name(element)
        if event == "start":
            if name == "table":
                table = _Table(
                    local_attribute(element, "name"), local_attribute(element, "style-name")
                )
        elif name in {"date-style", "time-style"}:
            shown[local_attribute(element, "name")] = _shown(element, name == "time-style")
        elif name == "style":
            formats[local_attribute(element, "name")] = local_attribute(element, "data-style-name")
        elif table is not None and name == "table-column":
            _take_column(table, element)
        elif table is not None and name == "table-row":
            _take_row(table, element, shown, formats)
            element.clear()
        elif table is not None and name == "table":
            yield table
            table = None
            element.clear()


def _shown(style: Xml.Element, of_time: bool) -> type:
    """Return what a style makes of a moment, by the parts that it shows."""
    parts = {local_name(child) for child in style}
    if of_time:
        lasts = local_attribute(style, "truncate-on-overflow") == "false"
        return span_kind("seconds" in parts or not parts, "minutes" in parts) if lasts else Clock
    if parts & {"hours", "minutes", "seconds"}:
        return Moment if {"year", "day"} <= parts else Partial
    if "year" not in parts:
        return Partial
    return Day if "day" in parts else Month if parts & {"month", "quarter"} else Year


def _take_column(table: _Table, element: Xml.Element) -> None:
    times = _times(element, "number-columns-repeated")
    last = min(table.columns + times, MOST_COLUMNS)
    if local_attribute(element, "visibility") in _GONE:
        table.hidden.update(range(table.columns, last))
    table.columns = last
    table.column_styles.append((last, local_attribute(element, "default-cell-style-name")))


def _take_row(
    table: _Table, element: Xml.Element, shown: dict[str, type], formats: dict[str, str]
) -> None:
    times = _times(element, "number-rows-repeated")
    usual = local_attribute(element, "default-cell-style-name")
    cells: list[Cell] = []
    uncalculated: list[int] = []
    place = 0
    for item in element:
        if local_name(item) not in {"table-cell", "covered-table-cell"}:
            continue
        repeated = _times(item, "number-columns-repeated")
        style = local_attribute(item, "style-name") or usual or _style_at(table, place)
        cell = _cell(item, shown.get(formats.get(style, "")))
        if cell is None and local_attribute(item, "formula") and place < MOST_COLUMNS:
            uncalculated.append(place)
        if cell is not None:
            if place + repeated > MOST_COLUMNS:
                raise ValueError("no column has this number")
            cells += [None] * (place - len(cells)) + [cell] * repeated
            wide, deep = (_times(item, f"number-{way}-spanned") for way in ("columns", "rows"))
            if wide > 1 or deep > 1:
                row = table.row
                table.merges.append(Merge(row, place + 1, row + deep - 1, place + wide))
        place += repeated
    if cells or uncalculated:
        if table.row + times - 1 > MOST_ROWS:
            raise ValueError("no row has this number")
        gone = local_attribute(element, "visibility") in _GONE
        table.rows.append((table.row, times, cells, tuple(uncalculated), gone))
    table.row += times


def _style_at(table: _Table, place: int) -> str:
    return next((style for last, style in table.column_styles if place < last), "")


def _cell(item: Xml.Element, shown: type | None) -> Cell:
    """Return a cell, of which its style shows what `shown` says."""
    kinds = [text for key, text in item.items() if key.rpartition("}")[2] == "value-type"]
    if not kinds:
        return None
    if "error" in kinds:
        return Fault(_text(item))
    kind = kinds[0]
    if kind in {"float", "percentage", "currency"}:
        return _number(local_attribute(item, "value"), _text(item))
    if kind == "boolean":
        return local_attribute(item, "boolean-value") == "true"
    if kind in {"date", "time"}:
        return _moment(iso_cell(local_attribute(item, f"{kind}-value"), new=True), shown)
    return local_attribute(item, "string-value") or _text(item)


def _moment(cell: Cell, shown: type | None) -> Cell:
    """Return a moment, a time of day or a duration as its style shows it."""
    if isinstance(cell, Moment) and shown is not None and issubclass(shown, Moment):
        return shown(cell)
    if not isinstance(cell, Span):
        return cell
    return shown(cell) if shown is not None and issubclass(shown, Span) else _clock(cell)


def _number(value: str, text: str) -> Cell:
    """Return a number, or a code where the text shown of it has leading zeros."""
    number = float(value) if re.search("[.eE]", value) else int(value)
    digits = text.replace("-", "").replace(" ", "")
    is_code = digits.isdecimal() and digits[0] == "0" and len(digits) > 1 and digits.isascii()
    if is_code and text[0] != "-" and int(digits) == number:
        return coded(text, number_text(number))
    return number


def _clock(span: Span) -> Cell:
    hours, minutes, seconds = span.split(":")
    if not 0 <= int(hours) < 24:
        return span
    whole, _, fraction = seconds.partition(".")
    return Clock(dt.time(int(hours), int(minutes), int(whole), int(f"{fraction:0<6}")).isoformat())


def _text(item: Xml.Element) -> str:
    """Return the text shown of a cell, without remarks on it."""
    return "\n".join(_run(part) for part in item if local_name(part) == "p")


def _run(element: Xml.Element) -> str:
    text = element.text or ""
    for child in element:
        name = local_name(child)
        if name == "s":
            text += " " * _times(child, "c")
        elif name in {"tab", "line-break"}:
            text += "\t" if name == "tab" else "\n"
        elif name != "annotation":
            text += _run(child)
        text += child.tail or ""
    return text


@contextmanager
def opened_ods(path: Path) -> Iterator[OdsWorkbook]:
    """Open a spreadsheet.

    Raises
    ------
    DamagedFile, UnknownFormat
        If the file is no such spreadsheet, or has a password.
    """
    with path.open("rb") as file:
        yield OdsWorkbook(path, file)
