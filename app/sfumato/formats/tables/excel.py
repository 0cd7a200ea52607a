"""Workbooks of Excel and spreadsheets of LibreOffice: their sheets as tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import BadOptions, EmptyFile
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions
from sfumato.formats.table_format import ReadResult, TableFormat

if TYPE_CHECKING:
    from sfumato.formats.workbooks.cells import Sheet
    from sfumato.formats.workbooks.gathering import Workbook

Opening = Callable[[Path], AbstractContextManager["Workbook"]]


def read_sheet(
    opening: Opening,
    path: Path,
    options: ReadOptions,
    context: Context,
    rows: int | None = None,
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
    from sfumato.formats.workbooks.cells import Layout  # noqa: PLC0415
    from sfumato.formats.workbooks.gathering import GatheredRows  # noqa: PLC0415

    with opening(path) as workbook:
        sheet = _sheet(workbook, options, path)
        layout = workbook.layout(sheet, options) if options.version >= 2 else Layout()
        gathered = GatheredRows(options, path, layout)
        hidden = _hidden_notes(workbook, sheet)

        def report(fraction: float) -> None:
            Part(context, 0.0, 0.9).report(fraction, Sentence("Reading {path}", path=path.name))

        report(0.0)
        gathered.take(workbook.rows(sheet, options, report), rows)
    result = gathered.result(Part(context, 0.9, 1.0), whole=rows is None)
    return replace(result, notes=(*hidden, *result.notes))


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


_ZIP: Final = b"PK\x03\x04"
_COMPOUND: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""What old workbooks begin with, and new ones that are encrypted."""
_OPEN_DOCUMENT: Final = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"


class _Spreadsheet(TableFormat):
    """A kind of workbook."""

    heeds_missing = True
    reading_options = frozenset(
        {
            *("sheet", "header", "skip_lines", "missing", "column_types", "bad_values"),
            *("hidden", "merged", "shown_dates", "error_cells", "any_size", "keep_blank_rows"),
        }
    )

    @abstractmethod
    def _opened(self, path: Path) -> AbstractContextManager[Workbook]:
        """Open a workbook; only now is imported what reads it, which takes a while."""

    def detect(self, path: Path) -> ReadOptions:
        """Propose the first sheet that the workbook shows, below the titles above its header."""
        return self.detect_beside(path, {})

    def detect_beside(self, path: Path, stated: Mapping[str, Any]) -> ReadOptions:
        """Propose it beside what is stated, another sheet for instance."""
        from sfumato.formats.workbooks.gathering import beginning  # noqa: PLC0415

        with self._opened(path) as workbook:
            first = _first(workbook)
            usual = ReadOptions(format=self.name, sheet=first.name if first is not None else "")
            options = replace(usual, **stated)
            sheet = {sheet.name: sheet for sheet in workbook.sheets}.get(options.sheet, first)
            if "skip_lines" in stated or sheet is None or not options.header:
                return options
            above, header = beginning(workbook, sheet, options)
            return replace(options, skip_lines=above, header=stated.get("header", header))

    def sheets(self, path: Path, context: Context) -> tuple[str, ...]:  # noqa: ARG002
        with self._opened(path) as workbook:
            return tuple(sheet.name for sheet in workbook.sheets)

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        return read_sheet(self._opened, path, options, context, rows)


class _Excel(_Spreadsheet):
    name = "xlsx"
    title = "Excel"
    extensions = (".xlsx", ".xlsm")
    order = 30

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith(_ZIP) and _OPEN_DOCUMENT not in head

    def _opened(self, path: Path) -> AbstractContextManager[Workbook]:
        from sfumato.formats.workbooks.xlsx import opened_xlsx  # noqa: PLC0415

        return opened_xlsx(path)


class _OldExcel(_Spreadsheet):
    name = "xls"
    title = "Excel 97 to 2003"
    extensions = (".xls",)
    order = 31

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith(_COMPOUND)

    def _opened(self, path: Path) -> AbstractContextManager[Workbook]:
        from sfumato.formats.workbooks.xls import opened_xls  # noqa: PLC0415

        return opened_xls(path)


class _OpenDocument(_Spreadsheet):
    name = "ods"
    title = "OpenDocument"
    extensions = (".ods",)
    order = 32

    def recognises(self, path: Path, head: bytes) -> bool:
        named = path.suffix.lower() in self.extensions
        return head.startswith(_ZIP) and (named or _OPEN_DOCUMENT in head)

    def _opened(self, path: Path) -> AbstractContextManager[Workbook]:
        from sfumato.formats.workbooks.ods import opened_ods  # noqa: PLC0415

        return opened_ods(path)


FORMATS: Final = (_Excel(), _OldExcel(), _OpenDocument())
