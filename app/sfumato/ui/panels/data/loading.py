"""Loading a table: the work of the job, and what becomes of earlier decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.table.table import Table
from sfumato.formats.reading import (
    Note,
    Place,
    ReadOptions,
    detect_options,
    read_known,
    sheets_of,
)
from sfumato.project.document.model import Document, Source
from sfumato.project.source import long_source_at, title_of
from sfumato.ui.state.insights import Insight, LongSource, look_at, look_at_long


@dataclass(frozen=True)
class Found:
    """What a first look at a file told."""

    path: Place
    options: ReadOptions
    sheets: tuple[str, ...]


@dataclass(frozen=True)
class Loaded:
    """A table that was read, with all that follows from it.

    Parameters
    ----------
    table
        The table.
    document
        What is decided about it now.
    insight
        Its columns' profiles and proposals.
    kept
        Whether the decisions about an earlier table were taken over.
    notes
        Remarks on what was read.
    skipped
        How many rows were left out, as the options say.
    """

    table: Table | LongSource
    document: Document
    insight: Insight
    kept: bool
    notes: tuple[Note, ...]
    skipped: int


def look(path: Place, context: Context = Silent()) -> Found:  # noqa: B008 (it holds nothing)
    """Find out how a file is most likely meant, or which tables a database has."""
    options, sheets = detect_options(path), sheets_of(path, context)
    if sheets and not options.sheet:
        options = replace(options, sheet=sheets[0])
    return Found(path, options, sheets)


def load(
    path: Place, options: ReadOptions, document: Document, context: Context, memory: float = inf
) -> Loaded:
    """Read a file, look at its columns, and make the document that goes with it.

    Parameters
    ----------
    path, options
        The file or the database, and how it is read.
    document
        What was decided so far; kept where the new table has the same columns.
    context
        Progress and cancelling.
    memory
        How many bytes the table may take; a longer one is read in parts where it can be.
    """
    path = path.absolute() if isinstance(path, Path) else path
    table: Table | LongSource
    part = Part(context, 0.0, 0.4)
    if isinstance(path, Path) and (
        found := long_source_at(path, options, memory, path.parent, part)
    ):
        table, source = look_at_long(found[0], Part(context, 0.4, 1.0)), found[1]
        batches = found[0].batches
        return _loaded(table, table.insight, source, document, batches.notes, batches.skipped)
    result, digest = read_known(path, options, Part(context, 0.0, 0.8))
    insight = look_at(result.table, Part(context, 0.8, 1.0))
    source = Source(str(path), digest, result.table.rows, options.to_dict())
    return _loaded(result.table, insight, source, document, result.notes, result.skipped_rows)


def _loaded(
    table: Table | LongSource,
    insight: Insight,
    source: Source,
    document: Document,
    notes: tuple[Note, ...],
    skipped: int,
) -> Loaded:
    """Return a table with the document that goes with it; see `load`."""
    names = [proposal.spec.name for proposal in insight.proposals]
    kept = bool(document.columns) and {c.name for c in document.columns} == set(names)
    if kept:
        ordered = tuple(document.column(name) for name in names)
        changed = replace(document, source=source, columns=ordered)
    else:
        columns = tuple(proposal.spec for proposal in insight.proposals)
        options = ReadOptions.from_dict(dict(source.options))
        changed = Document(title=title_of(source.place, options), source=source, columns=columns)
    return Loaded(table, changed, insight, kept, notes, skipped)
