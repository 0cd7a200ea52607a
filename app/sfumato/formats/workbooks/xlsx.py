"""Workbooks of Excel (.xlsx, .xlsm): their sheets and styles, and their rows one by one."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Final
from xml.etree import ElementTree as Xml

from sfumato.formats.errors import UnknownFormat
from sfumato.formats.options import ReadOptions
from sfumato.formats.workbooks.archives import Archive, Utf8, understood
from sfumato.formats.workbooks.blocks import RowBlock
from sfumato.formats.workbooks.cells import Layout, Progress, Row, Sheet
from sfumato.formats.workbooks.number_formats import (
    BUILT_IN,
    FROM_1900,
    FROM_1904,
    Reader,
    hides_texts,
    reader_of,
)
from sfumato.formats.workbooks.sheet_text import (
    SheetCells,
    layout_of,
    local_attribute,
    local_name,
    rows_of,
    text_of,
    unescaped,
)

_DAMAGED: Final = "{file} is not a whole Excel workbook (.xlsx)."
_KIND: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml."
_MAIN: Final = (
    "application/vnd.ms-excel.template.macroEnabled.main+xml",
    _KIND + "template.main+xml",
    "application/vnd.ms-excel.sheet.macroEnabled.main+xml",
    _KIND + "sheet.main+xml",
)
_BINARY: Final = "application/vnd.ms-excel.sheet.binary.macroEnabled.main"
_REPORTED: Final = 1_000
_LAST_ROW: Final = re.compile(r"(\d{1,7})$")
"""The last row of a range such as A1:C20."""
"""After how many rows it is said how far the reading has come."""


class XlsxWorkbook:
    """An open workbook; see `sfumato.formats.workbooks.gathering.Workbook`.

    Parameters
    ----------
    path
        Its file, for messages.
    file
        The open file.
    """

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        with understood(path, _DAMAGED):
            self._archive = Archive(file, path)
            types = Xml.fromstring(self._archive.read("[Content_Types].xml"))
            self._types = {
                element.get("ContentType", ""): element.get("PartName", "")[1:]
                for element in types
                if local_name(element) in {"Override", "Default"}
            }
            if _BINARY in self._types:
                raise UnknownFormat(
                    "{file} is a binary workbook of Excel (.xlsb).",
                    "Save it in Excel or LibreOffice as a workbook (.xlsx).",
                    file=path.name,
                )
            main = [self._types[kind] for kind in _MAIN if kind in self._types]
            self._read_workbook(main[0] or "xl/workbook.xml")

    def _read_workbook(self, part: str) -> None:
        folder, name = posixpath.split(part)
        links = Xml.fromstring(self._archive.read(posixpath.join(folder, "_rels", f"{name}.rels")))
        targets = {
            link.get("Id", ""): (_place(folder, link.get("Target", "")), link.get("Type", ""))
            for link in links
        }
        root = Xml.fromstring(self._archive.read(part))
        if not any(local_name(child) in {"sheets", "workbookPr"} for child in root):
            raise ValueError("no workbook")
        known = set(self._archive.namelist())
        self._start = FROM_1900
        sheets = []
        for element in root.iter():
            if (
                local_name(element) == "workbookPr"
                and local_attribute(element, "date1904") in _TRUE
            ):
                self._start = FROM_1904
            if local_name(element) == "sheet" and (link := local_attribute(element, "id")):
                target, kind = targets[link]
                if target in known and "chartsheet" not in kind:
                    shown = element.get("state", "visible") == "visible"
                    sheets.append(Sheet(element.get("name", ""), target, shown))
        self.sheets = tuple(sheets)

    def layout(self, sheet: Sheet, options: ReadOptions) -> Layout:
        """Return what a sheet hides and merges."""
        with understood(self._path, _DAMAGED):
            self._archive.allow([sheet.part], options)
            with self._archive.open(sheet.part) as source:
                found = layout_of(Utf8(source))
            return replace(found, totals=self._totals(sheet.part))

    def _totals(self, part: str) -> frozenset[int]:
        """Return which rows of a sheet hold totals of a table in it."""
        folder, name = posixpath.split(part)
        links = posixpath.join(folder, "_rels", f"{name}.rels")
        if links not in self._archive.namelist():
            return frozenset()
        found = set()
        for link in Xml.fromstring(self._archive.read(links)):
            target = _place(folder, link.get("Target", ""))
            if not link.get("Type", "").endswith("/table") or not self._archive.size_of(target):
                continue
            table = Xml.fromstring(self._archive.read(target))
            last = _LAST_ROW.search(table.get("ref", ""))
            count = min(int(table.get("totalsRowCount", "0")), 1)
            if last is not None and count > 0:
                found.add(int(last[1]))
        return frozenset(found)

    def rows(
        self, sheet: Sheet, options: ReadOptions, report: Progress
    ) -> Iterator[Row | RowBlock]:
        """Yield a sheet's rows."""
        new = options.version >= 2
        texts = self._types.get(_KIND + "sharedStrings+xml", "")
        with understood(self._path, _DAMAGED):
            self._archive.allow([sheet.part, *([texts] if texts else [])], options)
            cells = SheetCells(
                self._texts(texts, new) if texts else [], self._readers(options), new
            )
            with self._archive.open(sheet.part) as source:
                total, reported = max(self._archive.size_of(sheet.part), 1), 0
                for row in rows_of(Utf8(source), cells):
                    number = row.numbers[-1] if isinstance(row, RowBlock) else row.number
                    if number >= reported:
                        report(min(1.0, source.tell() / total))
                        reported = number + _REPORTED
                    yield row

    def _texts(self, part: str, new: bool) -> list[str]:
        """Return the texts that cells name by their numbers."""
        found = []
        with self._archive.open(part) as source:
            for _, element in Xml.iterparse(source):
                if local_name(element) == "si":
                    text = text_of(element)
                    found.append(unescaped(text) if new else text.replace("x005F_", ""))
                    element.clear()
        return found

    def _readers(self, options: ReadOptions) -> dict[bytes, tuple[Reader | None, bool]]:
        """Return what reads numbers, by the number of their style; and whether texts are veiled."""
        part = self._types.get(_KIND + "styles+xml") or "xl/styles.xml"
        if not self._archive.size_of(part):
            return {}
        root = Xml.fromstring(self._archive.read(part))
        named = dict(BUILT_IN) if options.version >= 2 else {**BUILT_IN, 14: "mm-dd-yy"}
        for element in root.iter():
            if local_name(element) == "numFmt" and "formatCode" in element.attrib:
                named[int(element.get("numFmtId", "0"))] = element.get("formatCode", "")
        styles = [
            int(style.get("numFmtId", "0"))
            for child in root
            if local_name(child) == "cellXfs"
            for style in child
            if local_name(style) == "xf"
        ]
        new = options.version >= 2
        made = {
            number: (
                reader_of(named[number], self._start, options.version),
                new and hides_texts(named[number]),
            )
            for number in set(styles) & named.keys()
        }
        return {
            str(style).encode(): made[number]
            for style, number in enumerate(styles)
            if number in made and made[number] != (None, False)
        }


_TRUE: Final = {"1", "true"}


def _place(folder: str, target: str) -> str:
    """Return a part's name as the archive has it."""
    if target.startswith("/"):
        return target[1:]
    return posixpath.normpath(posixpath.join(folder, target))


@contextmanager
def opened_xlsx(path: Path) -> Iterator[XlsxWorkbook]:
    """Open a workbook.

    Raises
    ------
    DamagedFile, UnknownFormat
        If the file is no such workbook.
    """
    with path.open("rb") as file:
        yield XlsxWorkbook(path, file)
