"""Delimited texts: CSV, and its relatives with semicolons, tabs or bars."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Table
from sfumato.formats.base import ReadResult, TableFormat, WriteResult
from sfumato.formats.delimited.reading import detect_delimited, preview_delimited, read_delimited
from sfumato.formats.delimited.writing import write_delimited
from sfumato.formats.options import ReadOptions

_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
_CONTROLS: Final = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1a\x1b")


class _Delimited(TableFormat):
    name = "csv"
    title = "CSV (delimited text)"
    extensions = (".csv", ".tsv", ".tab", ".txt", ".dat", ".psv")
    order = 10
    reading_options = frozenset(
        (
            *("encoding", "delimiter", "quote", "decimal", "thousands", "date_order", "header"),
            "escaped_formulas",
            *("skip_lines", "missing", "column_types", "ragged_rows", "bad_values"),
        )
    )
    can_write = True
    last_resort = True

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Take anything for text that holds no control characters."""
        if head.startswith(_WIDE):
            return True
        if _CONTROLS.isdisjoint(head):
            return True
        zeros = sorted((head[0::2].count(0), head[1::2].count(0)))
        return zeros[0] == 0 and zeros[1] > len(head) / 4  # UTF-16 without a byte-order mark.

    def detect(self, path: Path) -> ReadOptions:
        return detect_delimited(path)

    def preview(self, path: Path, options: ReadOptions, rows: int) -> Table:
        return preview_delimited(path, options, rows)

    def read(self, path: Path, options: ReadOptions, context: Context) -> ReadResult:
        return read_delimited(path, options, context)

    def write(self, table: Table, path: Path, context: Context) -> WriteResult:
        return write_delimited(table, path, context)


FORMAT: Final = _Delimited()
