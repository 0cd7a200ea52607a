"""Writing tables: the one door to all formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Table
from sfumato.formats.base import Note, WriteResult
from sfumato.formats.files import written_whole
from sfumato.formats.tables import all_formats, format_called

__all__ = ["Note", "WriteResult", "names_in_file", "writable_formats", "write_table"]


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
