"""The source table of a project: known by its digest, found again, or followed by an edition."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Table
from sfumato.formats.errors import FileError
from sfumato.formats.files import is_file, is_folder
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import (
    KnownFile,
    Note,
    Place,
    digest_of_source,
    open_batches,
    read_known,
)
from sfumato.formats.tables import format_called
from sfumato.project.document.model import Document, Source
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batches import arrow_type
from sfumato.project.release.long_table import LongTable, writable
from sfumato.project.release.release_columns import check_columns
from sfumato.project.release.release_compatibility import check_source

Tell = Callable[[Note], object]

_CELL_BYTES = 18
"""What verifying a table in memory takes for each of its values, about; a release takes 12."""


def read_source(
    path: Place, options: ReadOptions, context: Context, tell: Tell = lambda _: None
) -> tuple[Table, Source]:
    """Read a table for the first time, with what it takes to know it again.

    Parameters
    ----------
    path
        The table's file, or its database.
    options
        How to read it.
    context
        Progress and cancelling.
    tell
        Called with each remark on what was read.

    Raises
    ------
    SourceMissing
        If there is no such file.
    SfumatoError
        If the file can't be read, see `sfumato.formats.reading.read_table`.
    """
    path = _existing(path)
    read, digest = read_known(path, options, context)
    for note in read.notes:
        tell(note)
    table = read.table
    return table, Source(str(path), digest, table.rows, options.to_dict())


def title_of(place: Place, options: ReadOptions) -> str:
    """Return what a new project is called: as its file, or as the table of a database."""
    if options.sheet and format_called(options.format).is_database:
        return options.sheet
    return place.stem if isinstance(place, Path) else place.name


def find_source(document: Document, beside: Path | None = None) -> Place:
    """Return where the source table is: its place, or a file of its name in another folder.

    Parameters
    ----------
    document
        The project's document.
    beside
        A folder to look into as well: the project's own, which may have moved with the table.

    Raises
    ------
    SourceMissing
        If the project has no source table, or the file is in neither place.
    """
    place = _source_of(document).place
    if isinstance(place, Path) and not _is_there(place) and beside is not None:
        moved = beside / place.name
        place = moved if _is_there(moved) else place
    return _existing(place)


def open_source(
    document: Document, context: Context, beside: Path | None = None
) -> tuple[Table, Document]:
    """Open the document's source table again.

    Returns
    -------
    Table, Document
        The table, and the document with the place where the table was found.

    Raises
    ------
    SourceMissing
        If the file is not where it was, see `find_source`.
    SourceChanged
        If it is another table than the one that the document knows.
    """
    source = _source_of(document)
    path = find_source(document, beside)
    read, _ = read_known(
        path, _options(source.options), context, partial(_check_digest, path, document)
    )
    return read.table, replace(document, source=replace(source, path=str(path)))


def is_long(document: Document, memory: float) -> bool:
    """Whether releases of the source table in memory would take more than so many bytes."""
    return _source_of(document).rows * len(document.columns) * _CELL_BYTES > memory


def open_long_source(
    document: Document, context: Context, beside: Path
) -> tuple[LongTable, Document] | None:
    """Open the document's source table without reading it; None where it is read as a whole.

    Parameters and errors are those of `open_source`; `beside` also has room for what has to be
    put aside meanwhile.
    """
    source = _source_of(document)
    path, options = find_source(document, beside), _options(source.options)
    known, digest = None, ""
    if source.read_as is not None:
        digest = digest_of_source(path, options, context)
        _check_digest(path, document, digest)
        types = {name: arrow_type(kind) for name, kind in source.read_as.items()}
        known = KnownFile(types, source.rows, digest)
    try:
        batches = open_batches(path, options, context, known=known)
    except FileError:
        _check_digest(path, document, digest or digest_of_source(path, options, context))
        raise
    if batches is None:
        return None
    digest = digest or batches.digest or digest_of_source(path, options, context)
    _check_digest(path, document, digest)
    found = replace(document, source=replace(source, path=str(path)))
    return LongTable(batches, writable(beside)), found


def long_source_at(
    path: Place, options: ReadOptions, memory: float, room: Path, context: Context
) -> tuple[LongTable, Source] | None:
    """Return a table for the first time without reading it, with what it takes to know it again.

    None where it can't be read in parts, or fits into about so many bytes. The folder `room` takes
    what has to be put aside. Other parameters and errors are those of `read_source`.
    """
    path = _existing(path)
    if memory == math.inf:
        return None
    batches = open_batches(path, options, context, memory / _CELL_BYTES)
    if batches is None:
        return None
    digest = batches.digest or digest_of_source(path, options, context)
    table = LongTable(batches, writable(room))
    read_as = None
    if batches.types_suffice:
        read_as = {name: str(kind) for name, kind in batches.types.items()}
    return table, Source(str(path), digest, batches.rows, options.to_dict(), read_as)


def locate_source(document: Document, path: Place, context: Context) -> Document:
    """Return the document with the new place of the same table.

    Raises
    ------
    SourceMissing, SourceChanged
        If there is no file, or it is another table.
    """
    source = _source_of(document)
    path = _existing(path)
    digest = digest_of_source(path, _options(source.options), context)
    _check_digest(path, document, digest)
    return replace(document, source=replace(source, path=str(path)))


def accept_edition(
    project: ProjectFile,
    path: Place,
    context: Context,
    tell: Tell = lambda _: None,
    memory: float = math.inf,
) -> Table | LongTable:
    """Let a new edition of the table take the place of the old one, and record that.

    The edition is read with the options of the old one. Domains stay as they are: a value
    outside its domain is refused at the release. Accepting the same table changes nothing but
    its place.

    Parameters
    ----------
    project
        Open for writing; its document gets the new source.
    path
        The new edition.
    context
        Progress and cancelling.
    tell
        Called with each remark on what was read.
    memory
        How many bytes the table may take; a longer one is not read, where it can be in parts.

    Raises
    ------
    SourceMissing
        If there is no such file.
    SourceChanged
        If records are told apart by position and a release was made already.
    TableError
        If the edition has other columns.
    """
    document = project.document
    old = _source_of(document)
    options, room = _options(old.options), project.path.parent
    found = long_source_at(path, options, memory, room, context)
    table, source = found or read_source(path, options, context, tell)
    if source.digest == old.digest:
        project.save_document(replace(document, source=source))
        return table
    check_source(document, source, project.releases)
    check_columns(document, table)
    details = {
        "from": {"digest": old.digest, "rows": old.rows},
        "to": {"digest": source.digest, "rows": source.rows, "path": source.path},
    }
    project.record(EntryKind.SOURCE_CHANGED, details, replace(document, source=source))
    return table


def _source_of(document: Document) -> Source:
    if document.source is None:
        raise SourceMissing("The project has no source table yet.", "Open a table under Data.")
    return document.source


def _is_there(path: Path) -> bool:
    return is_file(path) or is_folder(path)


def _existing(path: Place) -> Place:
    """Return a place as it is kept: a path absolute, and something there."""
    if not isinstance(path, Path):
        return path
    path = path.absolute()
    if not _is_there(path):
        raise SourceMissing(
            "The source table is not at {path}.",
            "Show where the file is now, or bring it back.",
            path=path,
        )
    return path


def _check_digest(path: Place, document: Document, digest: str) -> None:
    if digest == _source_of(document).digest:
        return
    if document.record_key is not None:
        remedy = "Accept it as a new edition of the table, or bring the old one back."
    else:
        remedy = (
            "Bring the old table back. Before the first release you can accept the changed one"
            " as a new edition; after it, only a project with a record-key column can go on."
        )
    raise SourceChanged(
        "The table {path} changed since the project last read it.", remedy, path=path
    )


def _options(options: Mapping[str, Any]) -> ReadOptions:
    return ReadOptions.from_dict(dict(options))
