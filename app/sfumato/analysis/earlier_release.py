"""Looking into a file that may be an earlier release, and examining what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.table import EncodedColumn, Table
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import detect_options, preview, sheets_of
from sfumato.project.adoption.examination import Claim, Examination, examine
from sfumato.project.adoption.rows import column_called, read_release, unknown_values
from sfumato.project.document.model import Document
from sfumato.project.errors import AdoptionError

MOST_UNKNOWN = 40
"""With more values than this that the domain does not have, it is the wrong column."""


@dataclass(frozen=True)
class Opened:
    """A file that was looked into.

    Parameters
    ----------
    path
        The file.
    options
        How it is read.
    sheets
        The tables in it, where it can hold several.
    columns
        The names of its columns; none where it can't be read like this.
    problem
        Why it can't.
    """

    path: Path
    options: ReadOptions
    sheets: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    problem: SfumatoError | None = None


@dataclass(frozen=True)
class Look:
    """What came of examining a claim: findings, or why there are none.

    Parameters
    ----------
    examination
        What was found; None where there was a problem.
    problem
        Why the release can't be adopted as it is claimed.
    unknown
        For an attribute, the file's values that its domain does not have; the custodian can
        say what they mean. They are shown to the custodian, and kept nowhere else.
    """

    examination: Examination | None = None
    problem: SfumatoError | None = None
    unknown: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)


def open_file(path: Path, chosen: ReadOptions | None, context: Context) -> Opened:
    """Look into a file, as it is most likely meant or as somebody has chosen."""
    context.report(0.0, "Looking into the file")
    options = detect_options(path) if chosen is None else chosen
    sheets = sheets_of(path)
    try:
        columns = preview(path, options).columns
    except SfumatoError as problem:  # other options may help
        return Opened(path, options, sheets, problem=problem)
    return Opened(path, options, sheets, columns)


def look(
    document: Document,
    key: str,
    claim: Claim,
    columns: Sequence[EncodedColumn],
    table: Table,
    folders: Sequence[Path],
    context: Context,
) -> Look:
    """Examine a claim; where values don't fit the domain, find out which."""
    try:
        found = examine(document, key, claim, columns, table, Part(context, 0.0, 0.9), folders)
    except AdoptionError as problem:
        return Look(None, problem, _unknown(claim, columns, Part(context, 0.9, 1.0)))
    except SfumatoError as problem:
        return Look(None, problem)
    return Look(found)


def _unknown(
    claim: Claim, columns: Sequence[EncodedColumn], context: Context
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    with suppress(SfumatoError):
        read = read_release(claim.path, claim.options, context).table
        for column in columns:
            name, domain = column.attribute.name, column.attribute.domain
            if domain is not None:
                strange = unknown_values(
                    domain, read.column(column_called(claim.columns[name], read))
                )
                if 0 < len(strange) <= MOST_UNKNOWN:
                    found[name] = strange
    return found
