"""The source table of a project: known by its digest, found again, or followed by an edition."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Silent
from sfumato.formats.choices import choice_sentence, choices_between
from sfumato.formats.errors import FileError
from sfumato.formats.files import is_file, is_folder
from sfumato.formats.notes import unanswered
from sfumato.formats.options import READING_VERSION, BadValues, RaggedRows, ReadOptions
from sfumato.formats.reading import (
    KnownFile,
    Note,
    Place,
    detect_options,
    digest_of_source,
    open_batches,
    read_known,
)
from sfumato.formats.tables import format_called
from sfumato.project.document.model import Document, TableSource
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.ledger import EntryKind, ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable, writable
from sfumato.project.release.batches import arrow_type
from sfumato.project.release.release_columns import check_columns
from sfumato.project.release.release_compatibility import check_source
from sfumato.project.source_changes import (
    KnownRows,
    changed_sentence,
    keep_rows,
    read_again,
    read_alike,
    remember_rows,
)
from sfumato.project.store.remembered import Remembered

Tell = Callable[[Note], object]

_CELL_BYTES = 18
"""What verifying a table in memory takes for each of its values, about; a release takes 12."""


def create_project(
    path: Path,
    passphrase: str,
    document: Document,
    table: BatchedTable | None,
    context: Context,
) -> ProjectFile:
    """Create a project, and remember the rows of its table on this computer.

    Parameters
    ----------
    path, passphrase, document
        See `ProjectFile.create`.
    table
        The rows of the document's source; None where they are not at hand.
    context
        Progress; what is cancelled leaves no file.
    """
    rows = None if table is None else KnownRows.of(table, context)
    project = ProjectFile.create(path, passphrase, document)
    if document.source is not None:
        keep_rows(project.remembered, document.source, rows)
    return project


def read_source(
    path: Place,
    options: ReadOptions,
    context: Context,
    tell: Tell = lambda _: None,
    memory: float = math.inf,
    room: Path | None = None,
    stated: Container[str] = (),
) -> tuple[BatchedTable, TableSource]:
    """Return a table for the first time, with what it takes to know it again.

    It is read, unless it takes more memory than it may and can be read in parts.

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
    memory
        How many bytes the table may take, about.
    room
        The folder that takes what has to be put aside; that of temporary files without one.
    stated
        The options that somebody stated: what was guessed in their place is not told.

    Raises
    ------
    SourceMissing
        If there is no such file.
    SfumatoError
        If the file can't be read, see `sfumato.formats.reading.read_table`.
    """
    path = existing(path)
    found = batched_source_at(path, options, memory, room, context)
    if found is None:
        read, digest = read_known(path, options, context)
        source = TableSource(str(path), digest, read.table.rows, options.to_dict())
        source = _remarked(source, path, options, read.notes, read.skipped_rows)
        found = BatchedTable.of(read.table, room), source
    table, source = found
    notes = unanswered(source.notes or (), stated)
    for note in notes:
        tell(note)
    return table, replace(source, notes=notes)


def _remarked(
    source: TableSource, path: Place, options: ReadOptions, notes: tuple[Note, ...], skipped: int
) -> TableSource:
    """Return a source with the remarks on its reading, and how it seemed to be meant."""
    # Each other reason to leave rows out is a remark of its reader.
    choices = options.bad_values, *options.column_bad_values.values()
    if skipped and (options.ragged_rows == RaggedRows.SKIP or BadValues.SKIP in choices):
        words = (
            "{count:,} {count:row|rows} of the file {count:is|are} left out in all, as chosen in"
            " how it is read."
        )
        notes = (*notes, Note(words, {"count": skipped}, count=skipped))
    found = None
    with suppress(SfumatoError):  # it was read as stated, whatever it seems to be
        seeming = detect_options(path)
        found = seeming.to_dict() if choices_between(seeming, options) else None
    return replace(source, notes=notes, found=found)


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
    return existing(place)


def open_source(
    document: Document,
    context: Context,
    beside: Path | None = None,
    remembered: Remembered | None = None,
) -> tuple[BatchedTable, Document]:
    """Open the document's source table again.

    Parameters
    ----------
    document
        The project's document.
    context
        Progress and cancelling.
    beside
        See `find_source`.
    remembered
        What this computer remembers of the table before, to say how another one differs.

    Returns
    -------
    BatchedTable, Document
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
    check = partial(_check_digest, path, document, remembered=remembered, context=context)
    read, _ = read_known(path, _options(source.options), context, check)
    found = replace(document, source=replace(source, path=str(path)))
    return BatchedTable.of(read.table, beside), found


def open_table(
    project: ProjectFile, memory: float, context: Context, tell: Callable[[bool], object] = bool
) -> BatchedTable:
    """Return a project's source table, from its place or from beside the project.

    Parameters
    ----------
    project
        Where it is open for writing, it keeps where the table was found.
    memory
        How much memory the table may take before it is read in parts, in bytes.
    context
        Progress and cancelling.
    tell
        Told of a table that takes more, whether it can be read in parts.

    Raises
    ------
    SourceMissing, SourceChanged
        See `open_source`.
    """
    document, beside, remembered = project.document, project.path.parent, project.remembered
    found: tuple[BatchedTable, Document] | None = None
    if exceeds_memory(document, memory):
        found = open_long_source(document, context, beside, remembered)
        tell(found is not None)
    table, document = found or open_source(document, context, beside, remembered)
    if not project.read_only:
        project.save_document(document)
    return table


def exceeds_memory(document: Document, memory: float) -> bool:
    """Whether releases of the source table in memory would take more than so many bytes."""
    return _source_of(document).rows * len(document.columns) * _CELL_BYTES > memory


def open_long_source(
    document: Document, context: Context, beside: Path, remembered: Remembered | None = None
) -> tuple[BatchedTable, Document] | None:
    """Open the document's source table without reading it; None where it is read as a whole.

    Parameters and errors are those of `open_source`; `beside` also has room for what has to be
    put aside meanwhile. Another table is read once, to say how it differs.
    """
    source = _source_of(document)
    path, options = find_source(document, beside), _options(source.options)
    check = partial(_check_digest, path, document, remembered=remembered, context=context)
    known, digest = None, ""
    if source.read_as is not None:
        digest = digest_of_source(path, options, context)
        check(digest)
        types = {name: arrow_type(kind) for name, kind in source.read_as.items()}
        known = KnownFile(types, source.rows, digest)
    try:
        batches = open_batches(path, options, context, known=known)
    except FileError:
        check(digest or digest_of_source(path, options, context))
        raise
    if batches is None:
        return None
    check(digest or batches.digest or digest_of_source(path, options, context))
    found = replace(document, source=replace(source, path=str(path)))
    return BatchedTable(batches, writable(beside)), found


def batched_source_at(
    path: Place, options: ReadOptions, memory: float, room: Path | None, context: Context
) -> tuple[BatchedTable, TableSource] | None:
    """Return a table for the first time without reading it, with what it takes to know it again.

    None where it can't be read in parts, or fits into memory. Parameters and errors are those of
    `read_source`.
    """
    path = existing(path)
    if memory == math.inf:
        return None
    batches = open_batches(path, options, context, memory / _CELL_BYTES)
    if batches is None:
        return None
    digest = batches.digest or digest_of_source(path, options, context)
    table = BatchedTable(batches, writable(room))
    read_as = None
    if batches.types_suffice:
        read_as = {name: str(kind) for name, kind in batches.types.items()}
    source = TableSource(str(path), digest, batches.rows, options.to_dict(), read_as)
    return table, _remarked(source, path, options, batches.notes, batches.skipped)


def locate_source(
    document: Document, path: Place, context: Context, remembered: Remembered | None = None
) -> Document:
    """Return the document with the new place of the same table.

    Raises
    ------
    SourceMissing, SourceChanged
        If there is no file, or it is another table.
    """
    source = _source_of(document)
    path = existing(path)
    digest = digest_of_source(path, _options(source.options), context)
    _check_digest(path, document, digest, remembered=remembered, context=context)
    return replace(document, source=replace(source, path=str(path)))


def accept_edition(
    project: ProjectFile,
    path: Place,
    context: Context,
    tell: Tell = lambda _: None,
    memory: float = math.inf,
    stated: Mapping[str, Any] = MappingProxyType({}),
    looked_at: tuple[Document, str] | None = None,
) -> BatchedTable:
    """Let a new edition of the table take the place of the old one, and record that.

    The edition is read with the options of the old one and what is stated beside them, by the
    present version. Domains stay: a value outside is refused at the release. Accepting the same
    table, read as before, changes nothing but its place.

    Parameters
    ----------
    project, path, context
        Open for writing; the new edition; progress and cancelling.
    tell
        Called with each remark on what was read.
    memory
        How many bytes the table may take; a longer one is not read, where it can be in parts.
    stated
        Options by which it is read otherwise than the old one.
    looked_at
        What is decided with it but for its source, and the digest of what was looked at before.

    Raises
    ------
    SourceMissing
        If there is no such file.
    SourceChanged
        If it is not what was looked at; if a release was made already, and records are told apart
        by position, or by keys that are read otherwise now.
    TableError
        If the edition has other columns.
    """
    document = project.document if looked_at is None else looked_at[0]
    old = _source_of(document)
    before, room = _options(old.options), project.path.parent
    options = options_now(old, stated)
    table, source = read_source(path, options, context, tell, memory, room, stated)
    if looked_at is not None:
        _refuse_another(source, looked_at[1])
    if (source.digest, options) == (old.digest, before):
        project.save_document(replace(document, source=source))
        return table
    check_source(document, source, project.releases)
    check_columns(document, table.columns)
    check_keys(document, table, path, options, project.releases)
    details = _edition_details(old, source, before, options)
    project.record(EntryKind.SOURCE_CHANGED, details, replace(document, source=source))
    remember_rows(project.remembered, source, table, context)
    return table


def _refuse_another(source: TableSource, digest: str) -> None:
    if source.digest != digest:
        raise SourceChanged(
            "The table {path} has changed since it was compared.",
            "Compare it again.",
            path=source.path,
        )


def _edition_details(
    old: TableSource, new: TableSource, before: ReadOptions, options: ReadOptions
) -> dict[str, dict[str, Any]]:
    """Return what the ledger keeps of an edition, and of how it is read otherwise."""
    details: dict[str, dict[str, Any]] = {
        "from": {"digest": old.digest, "rows": old.rows},
        "to": {"digest": new.digest, "rows": new.rows, "path": new.path},
    }
    if options != before:
        told = [str(choice_sentence(one, kept=True)) for one in choices_between(before, options)]
        details["to"]["read otherwise"] = told
    return details


def options_now(source: TableSource, stated: Mapping[str, Any]) -> ReadOptions:
    """Return the options of an edition: those before, by the present version, and what is stated.

    What is stated of single columns comes beside what was before.
    """
    before = _options(source.options)
    by_column = {
        name: {**getattr(before, name), **value}
        for name, value in stated.items()
        if isinstance(value, Mapping)
    }
    return replace(before, version=READING_VERSION, **{**stated, **by_column})


def check_keys(
    document: Document,
    table: BatchedTable,
    path: Place,
    options: ReadOptions,
    releases: Iterable[ReleaseRecord],
) -> None:
    """Refuse keys that other options read otherwise: known records would be drawn anew.

    Parameters
    ----------
    document
        With the source as it was read before.
    table, path, options
        The table that takes its place, where it is, and how it is read.
    releases
        Those made already.

    Raises
    ------
    SourceChanged
        If a release was made already.
    """
    key, before = document.record_key, _options(_source_of(document).options)
    if key is None or options == before or not any(release.counts for release in releases):
        return
    again = read_again(path, before, Silent())
    if not read_alike(again.batches, table.batches, key):
        raise SourceChanged(
            "The record key {column} is read differently from the releases already made, so"
            " records would get other keys and new random values.",
            "Keep how {column} is read, or begin a new project.",
            column=key,
        )


def _source_of(document: Document) -> TableSource:
    if document.source is None:
        raise SourceMissing("The project has no source table yet.", "Open a table under Data.")
    return document.source


def _is_there(path: Path) -> bool:
    return is_file(path) or is_folder(path)


def existing(path: Place) -> Place:
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


def _check_digest(
    path: Place,
    document: Document,
    digest: str,
    *,
    remembered: Remembered | None,
    context: Context,
) -> None:
    """Refuse another table than the project's, which is read to say how it differs."""
    if digest == _source_of(document).digest:
        return
    changes = changed_sentence(document, path, remembered, context)
    if document.record_key is not None:
        remedy = "Accept it as a new edition of the table, or bring the old one back."
    else:
        remedy = (
            "Bring the old table back. Before the first release you can accept the changed one"
            " as a new edition; after it, only a project with a record-key column can go on."
        )
    raise SourceChanged(
        "The table {path} changed since the project last read it. {changes}",
        remedy,
        path=path,
        changes=changes,
    )


def _options(options: Mapping[str, Any]) -> ReadOptions:
    return ReadOptions.from_dict(dict(options))
