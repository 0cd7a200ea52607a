"""Reading tables: the one door to all formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Table
from sfumato.formats.base import Note, ReadResult
from sfumato.formats.bundles.descriptor import described_as_escaped
from sfumato.formats.errors import FileError, Way
from sfumato.formats.files import digest_of, opening
from sfumato.formats.options import (
    DELIMITERS,
    ENCODINGS,
    BadValues,
    ColumnType,
    DateOrder,
    RaggedRows,
    ReadOptions,
)
from sfumato.formats.tables import all_formats, format_called, format_of

__all__ = [
    "DELIMITERS",
    "ENCODINGS",
    "BadValues",
    "ColumnType",
    "DateOrder",
    "FileError",
    "Note",
    "RaggedRows",
    "ReadOptions",
    "ReadResult",
    "Way",
    "detect_options",
    "digest_of",
    "preview",
    "read_file",
    "read_table",
    "readable_extensions",
    "sheets_of",
]

PREVIEW_ROWS = 200


def readable_extensions() -> dict[str, tuple[str, ...]]:
    """Return the file endings of every format that can be read, by the format's title."""
    return {item.title: item.extensions for item in all_formats().values() if item.can_read}


def detect_options(path: Path) -> ReadOptions:
    """Propose how to read a file, from its first bytes and a data package's word beside it.

    Raises
    ------
    CannotOpen, UnknownFormat, DamagedFile
        If there is nothing to read.
    """
    found = format_of(path).detect(path)
    if "escaped_formulas" in format_called(found.format).reading_options:
        return replace(found, escaped_formulas=described_as_escaped(path))
    return found


def preview(path: Path, options: ReadOptions, rows: int = PREVIEW_ROWS) -> Table:
    """Read the first rows of a file, fast however large it is.

    Rows and values that don't fit are let pass: only `read_file` refuses them.

    Raises
    ------
    FileError
        If the file can't be read so.
    """
    with opening(path):
        return format_called(options.format).preview(path, options, rows)


def read_file(path: Path, options: ReadOptions, context: Context) -> ReadResult:
    """Read a file, and say what was left out.

    Parameters
    ----------
    path
        The file.
    options
        How to read it.
    context
        Progress and cancelling.

    Returns
    -------
    ReadResult
        The table: int64 or ``Int64`` for whole numbers, float64, bool or ``boolean``,
        datetime64, text, and categories where texts repeat; how many rows the options left
        out; and remarks.

    Raises
    ------
    FileError
        If the file can't be read so. It names rows (from 1, without the header) and columns,
        never a value; its `ways` are options that help.
    Cancelled
        If the context says so.
    """
    with opening(path):
        return format_called(options.format).read(path, options, context)


def read_table(path: Path, options: ReadOptions, context: Context) -> Table:
    """Read a file; see `read_file`."""
    return read_file(path, options, context).table


def sheets_of(path: Path) -> tuple[str, ...]:
    """Return the names of a workbook's sheets; none for a file that holds one table."""
    with opening(path):
        return format_of(path).sheets(path)
