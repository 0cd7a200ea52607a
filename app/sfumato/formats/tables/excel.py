"""Excel workbooks."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.table.table import Table
from sfumato.formats.base import ReadResult, TableFormat
from sfumato.formats.options import ReadOptions
from sfumato.formats.workbook.reading import proposed_sheet, read_sheet, sheet_names

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
        return ReadOptions(format=self.name, sheet=proposed_sheet(path))

    def sheets(self, path: Path) -> tuple[str, ...]:
        return sheet_names(path)

    def preview(self, path: Path, options: ReadOptions, rows: int) -> Table:
        return read_sheet(path, options, Silent(), rows).table

    def read(self, path: Path, options: ReadOptions, context: Context) -> ReadResult:
        return read_sheet(path, options, context)


FORMAT: Final = _Excel()
