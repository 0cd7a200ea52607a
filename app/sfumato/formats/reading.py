"""Reading and writing tables: the one door to all formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.datapackage import described_as_escaped
from sfumato.formats.errors import FileError, Way
from sfumato.formats.files import digest_of, opening, written_whole
from sfumato.formats.options import (
    DELIMITERS,
    ENCODINGS,
    BadValues,
    ColumnType,
    DateOrder,
    RaggedRows,
    ReadOptions,
)
from sfumato.formats.table_format import Note, ReadResult, WriteResult
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
    "WriteResult",
    "detect_options",
    "digest_of",
    "first_rows",
    "names_in_file",
    "preview",
    "read_file",
    "read_table",
    "readable_extensions",
    "sheets_of",
    "writable_formats",
    "write_table",
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


def first_rows(path: Path, options: ReadOptions, rows: int = PREVIEW_ROWS) -> ReadResult:
    """Read the first rows of a file, fast however large it is, and say what is odd about it.

    Rows and values that don't fit are let pass: only `read_file` refuses them.

    Raises
    ------
    FileError
        If the file can't be read so.
    """
    with opening(path):
        return format_called(options.format).read(path, options, Silent(), rows)


def preview(path: Path, options: ReadOptions, rows: int = PREVIEW_ROWS) -> Table:
    """Read the first rows of a file; see `first_rows`."""
    return first_rows(path, options, rows).table


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


def writable_formats() -> dict[str, str]:
    """Return the title of every format that can be written, by its name."""
    return {name: item.title for name, item in all_formats().items() if item.can_write}


def names_in_file(columns: tuple[str, ...], format_name: str) -> Mapping[str, str]:
    """Return what each column is called in a file of this format.

    Statistical packages restrict names: ``marital-status`` becomes ``marital_status``.
    """
    return format_called(format_name).names_in_file(columns)


def write_table(table: Table, path: Path, format_name: str, context: Context) -> WriteResult:
    """Write a table to a file, whole or not at all.

    The file is written beside its final name, forced to the disk and renamed. After an error or
    a cancelling nothing is left, and what stood under the name before still stands. The same
    table gives the same bytes with the same versions of the libraries.

    Parameters
    ----------
    table
        The table.
    path
        The file; replaced where it exists.
    format_name
        A name of `writable_formats`.
    context
        Progress and cancelling.

    Returns
    -------
    WriteResult
        What each column is called in the file, and remarks.

    Raises
    ------
    UnknownFormat
        If the format is not known or can't be written.
    UnsupportedColumn, BeyondFormat
        If the format can't hold a column without loss.
    DiskFull, CannotWrite
        If the file does not fit on the disk, or the folder does not take it.
    Cancelled
        If the context says so.
    """
    chosen = format_called(format_name)
    with written_whole(path) as unfinished:
        return chosen.write(table, unfinished, context)
