"""Loading a table: the work of the job, and what becomes of earlier decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from sfumato.project.source import title_of
from sfumato.ui.state.insights import Insight, look_at


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

    table: Table
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


def load(path: Place, options: ReadOptions, document: Document, context: Context) -> Loaded:
    """Read a file, look at its columns, and make the document that goes with it.

    Parameters
    ----------
    path, options
        The file or the database, and how it is read.
    document
        What was decided so far; kept where the new table has the same columns.
    context
        Progress and cancelling.
    """
    path = path.absolute() if isinstance(path, Path) else path
    result, digest = read_known(path, options, Part(context, 0.0, 0.8))
    table = result.table
    insight = look_at(table, Part(context, 0.8, 1.0))
    source = Source(str(path), digest, table.rows, options.to_dict())
    kept = bool(document.columns) and {c.name for c in document.columns} == set(table.columns)
    if kept:
        ordered = tuple(document.column(name) for name in table.columns)
        changed = replace(document, source=source, columns=ordered)
    else:
        columns = tuple(proposal.spec for proposal in insight.proposals)
        changed = Document(title=title_of(path, options), source=source, columns=columns)
    return Loaded(table, changed, insight, kept, result.notes, result.skipped_rows)
