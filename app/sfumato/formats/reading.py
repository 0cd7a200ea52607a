"""Reading and writing tables: the one door to all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.table.table import Table
from sfumato.formats.columns.alike import (
    batch_as_it_looks,
    frame_as_it_looks,
    notes_on_alike,
)
from sfumato.formats.columns.exact import batch_with_one_zero, frame_with_one_zero
from sfumato.formats.columns.missing import (
    asked_about_first,
    batches_with_stated_missing,
    code_notes,
    with_stated_missing,
)
from sfumato.formats.columns.settling import BLANK_ROWS
from sfumato.formats.databases import Address, DatabaseFormat, Place, place_of
from sfumato.formats.errors import BadOptions, FileError, Way
from sfumato.formats.files import digest_of, opening, written_whole
from sfumato.formats.formulas import described_as_escaped
from sfumato.formats.notes import Note
from sfumato.formats.options import (
    DELIMITERS,
    ENCODINGS,
    BadValues,
    ColumnType,
    DateOrder,
    RaggedRows,
    ReadOptions,
)
from sfumato.formats.table_format import Batches, KnownFile, ReadResult, Rows, WrittenFile
from sfumato.formats.tables import all_formats, format_called, format_of

__all__ = [
    "DELIMITERS",
    "ENCODINGS",
    "BadValues",
    "ColumnType",
    "DateOrder",
    "FileError",
    "KnownFile",
    "Note",
    "Place",
    "RaggedRows",
    "ReadOptions",
    "ReadResult",
    "Way",
    "detect_options",
    "digest_of",
    "digest_of_source",
    "first_rows",
    "names_in_file",
    "open_batches",
    "place_of",
    "preview",
    "read_file",
    "read_known",
    "read_table",
    "readable_extensions",
    "sheets_of",
    "writable_formats",
    "write_table",
]

PREVIEW_ROWS = 200


def readable_extensions() -> dict[str, tuple[str, ...]]:
    """Return the file endings of every format that can be read, by the format's title."""
    found = all_formats().values()
    return {item.title: item.extensions for item in found if item.can_read and item.extensions}


def detect_options(path: Place, stated: Mapping[str, Any] = MappingProxyType({})) -> ReadOptions:
    """Propose how to read a file, from its bytes and a data package's word beside it.

    Parameters
    ----------
    path
        The file, the folder or the database.
    stated
        The options that somebody stated, as the values of `ReadOptions`: they are taken as they
        are, and the others are found out by them.

    Raises
    ------
    CannotOpen, UnknownFormat, DamagedFile
        If there is nothing to read.
    BadOptions
        If what is stated contradicts itself.
    """
    if isinstance(path, Address):
        return ReadOptions(**{"format": "postgresql", "keep_blank_rows": True, **stated})
    # Refused before a file is looked at by them; what is not stated then fits them.
    fitting = {"decimal": "," if stated.get("thousands") == "." else "."}
    fitting["delimiter"] = ";" if stated.get("quote") == "," else ","
    ReadOptions(**{**fitting, **stated})
    chosen = format_called(stated["format"]) if "format" in stated else format_of(path)
    found = chosen.detect_beside(path, stated)
    if "escaped_formulas" in chosen.reading_options and "escaped_formulas" not in stated:
        return replace(found, escaped_formulas=described_as_escaped(path))
    return found


def first_rows(
    path: Place,
    options: ReadOptions,
    rows: int = PREVIEW_ROWS,
    context: Context = Silent(),  # noqa: B008 (it holds nothing)
) -> ReadResult:
    """Read the first rows of a file, fast however large it is, and say what is odd about it.

    Rows and values that don't fit are let pass: only `read_file` refuses them.

    Raises
    ------
    FileError
        If the file can't be read so.
    """
    with _refused_by(options):
        return _read(path, options, context, rows)


def preview(path: Place, options: ReadOptions, rows: int = PREVIEW_ROWS) -> Table:
    """Read the first rows of a file; see `first_rows`."""
    return first_rows(path, options, rows).table


def read_file(path: Place, options: ReadOptions, context: Context) -> ReadResult:
    """Read a file, and say what was left out.

    Parameters
    ----------
    path
        The file, the folder of Parquet files, or the database on a server.
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
    with _refused_by(options):
        return _read(path, options, context)


@contextmanager
def _refused_by(options: ReadOptions) -> Iterator[None]:
    """Let a refusal know by which options the file was read: its ways out differ from them."""
    try:
        yield
    except FileError as error:
        error.read_by = options
        raise


def _read(
    path: Place, options: ReadOptions, context: Context, rows: int | None = None
) -> ReadResult:
    known = format_called(options.format)
    if isinstance(path, Address):
        if not isinstance(known, DatabaseFormat):
            raise BadOptions(
                "A database on a server can't be read as {title}.",
                "Read it as PostgreSQL.",
                title=known.title,
            )
        return _as_read(known.read(path, options, context, rows), options, rows)
    with opening(path, folders=known.reads_folders):
        found = known.read(path, options, context, rows)
    # What blocks of the file took is as much as a column or two.
    pa.default_memory_pool().release_unused()
    return _as_read(found, options, rows)


def _as_read(found: ReadResult, options: ReadOptions, rows: int | None) -> ReadResult:
    """Return what any format read, without what is stated as missing, equal values as one.

    What only looks equal is said, and what looks like a code for a missing value: among the first
    rows, where no more than so many were asked for.
    """
    found = with_stated_missing(found, options, _missing_everywhere(options))
    if options.version == 1:
        return found
    frame, notes = frame_with_one_zero(found.table.frame), found.notes
    if options.same_texts:
        frame = frame_as_it_looks(frame)
    else:
        notes += notes_on_alike(frame, options)
    table = replace(found.table, frame=frame)
    first = rows is not None and table.rows >= rows
    notes += code_notes(table, options, numbered=_has_all_rows(found), of_more=first)
    return replace(found, table=table, notes=notes)


def _missing_everywhere(options: ReadOptions) -> tuple[str, ...]:
    """Return what means a missing value in every column, where the format does not heed it.

    Version 1 heeded it in texts and workbooks alone.
    """
    if options.version == 1 or format_called(options.format).heeds_missing:
        return ()
    return tuple(text for text in options.missing if text)


def _has_all_rows(found: ReadResult) -> bool:
    """Whether a row's place in the table is its place in the file."""
    blank = any(note.template == BLANK_ROWS for note in found.notes)
    return not found.skipped_rows and not blank


def read_known(
    path: Place,
    options: ReadOptions,
    context: Context,
    check: Callable[[str], object] = lambda _: None,
) -> tuple[ReadResult, str]:
    """Read a source, and return by what digest it is known again.

    That of a file is the SHA-256 of its bytes, and that of a database's table the SHA-256 of its
    rows as they are read, see `sfumato.formats.databases`.

    Parameters
    ----------
    path, options, context
        See `read_file`.
    check
        Called with the digest as soon as it is known; what it raises ends the reading.
    """
    if format_called(options.format).is_database:
        read = read_file(path, options, context)
        check(read.digest)
        return read, read.digest
    digest = digest_of_source(path, options, Part(context, 0.0, 0.2))
    check(digest)
    return read_file(path, options, Part(context, 0.2, 1.0)), digest


def open_batches(
    path: Place,
    options: ReadOptions,
    context: Context,
    least: float = 0,
    known: KnownFile | None = None,
) -> Batches | None:
    """Return a file's rows as batches; None where it has to be read as a whole.

    Parameters
    ----------
    path, options, context
        See `read_file`. A text is read once to find out what its columns are.
    least
        It is None, too, where there are fewer values than these, or about as many.
    known
        What was found out of the same file before; whether it is the same, the caller has seen.

    Raises
    ------
    FileError
        If it can't be read so.
    Cancelled
        If the context says so.
    """
    if isinstance(path, Address):
        return None
    chosen = format_called(options.format)
    with _refused_by(options), opening(path, folders=chosen.reads_folders):
        found = chosen.batches(path, options, context, least=least, known=known)
    if found is None:
        return None
    found = batches_with_stated_missing(found, options, _missing_everywhere(options))
    if options.version == 1:
        return found
    found = found.mapped(batch_with_one_zero)
    if options.same_texts:
        found = found.mapped(batch_as_it_looks)
    # Whoever knows the file was told.
    return asked_about_first(found, options) if known is None else found


def digest_of_source(path: Place, options: ReadOptions, context: Context) -> str:
    """Return by what digest a source is known again; see `read_known`."""
    known = format_called(options.format)
    if known.is_database or isinstance(path, Address):
        return read_file(path, options, context).digest
    with opening(path, folders=known.reads_folders):
        return known.digest(path, context)


def read_table(path: Place, options: ReadOptions, context: Context) -> Table:
    """Read a file; see `read_file`."""
    return read_file(path, options, context).table


def sheets_of(path: Place, context: Context = Silent()) -> tuple[str, ...]:  # noqa: B008
    """Return a workbook's sheets or a database's tables; none for a file that holds one table."""
    if isinstance(path, Address):
        server = format_called("postgresql")
        assert isinstance(server, DatabaseFormat)
        return server.sheets(path, context)
    found = format_of(path)
    with opening(path, folders=found.reads_folders):
        return found.sheets(path, context)


def writable_formats() -> dict[str, str]:
    """Return the title of every format that can be written, by its name."""
    return {name: item.title for name, item in all_formats().items() if item.can_write}


def names_in_file(columns: tuple[str, ...], format_name: str) -> Mapping[str, str]:
    """Return what each column is called in a file of this format.

    Statistical packages restrict names: ``marital-status`` becomes ``marital_status``.
    """
    return format_called(format_name).names_in_file(columns)


def write_table(
    table: Table, path: Path, format_name: str, context: Context, order: Rows = None
) -> WrittenFile:
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
    order
        Which row of the table is written at each place, shape (n,), None for as they stand; or
        what makes the rows meanwhile, of which the table shows the types.

    Returns
    -------
    WrittenFile
        The file's digest, and what it doesn't hold of the table.

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
        return chosen.write(table, unfinished, context, order)
