"""Whose table of counts a file is that was found: known by its bytes, or by its counts."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.wording import Sentence, listed
from sfumato.formats.bundles.packages import bundle_at
from sfumato.formats.formulas import unescaped
from sfumato.project.count_tables.bundle import COUNTS_NAME
from sfumato.project.count_tables.counting import count_table
from sfumato.project.count_tables.held import CountTableRecord, count_tables_in
from sfumato.project.count_tables.noise import edition_of, noisy_counts
from sfumato.project.count_tables.verifying import folder_of, is_count_table, known_count_file
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable

_LARGEST: Final = 1 << 27


_TELLING: Final = 0.5
"""From this share of equal counts on, a file is a table's: noise is seldom equal by chance."""


@dataclass(frozen=True)
class TracedCounts:
    """Whose table of counts a file is.

    Parameters
    ----------
    recipients
        Who was given the table that it is likeliest to be; several where they hold the same one.
    share
        In which share of the file's cells the counts are that table's.
    by_bytes
        Whether it is a released file byte for byte.
    problem
        Why it is not known whose it is; empty where it is.
    """

    recipients: tuple[str, ...]
    share: float
    by_bytes: bool = False
    problem: str = ""

    @property
    def is_traced(self) -> bool:
        """Whether it is one recipient's."""
        return len(self.recipients) == 1

    @property
    def verdict(self) -> str:
        """Whose it is, in a sentence."""
        if not self.recipients:
            return self.problem
        names = listed(self.recipients)
        if not self.is_traced:
            return Sentence(
                "It is a table of counts of {names}, who hold the same: they have the same ε, so"
                " its counts don't tell them apart.",
                names=names,
            )
        if self.by_bytes:
            return Sentence("It is a file of the table of counts of {names}.", names=names)
        return Sentence(
            "It is the table of counts of {names}: {share:.0%} of its counts are theirs.",
            names=names,
            share=self.share,
        )


def trace_counts(
    project: ProjectFile, table: BatchedTable, path: Path, context: Context
) -> TracedCounts | None:
    """Say whose table of counts a file is; None for what is none.

    Parameters
    ----------
    project, table
        The project, and its source table.
    path
        A bundle's folder or zip, or a file of one, altered or not.
    context
        Progress and cancelling.
    """
    records = count_tables_in(project.ledger.entries)
    if not records:
        return None
    if is_count_table(path) and (bundle := bundle_at(path)) == path:
        with folder_of(bundle) as folder:
            return _traced(project, table, folder / COUNTS_NAME, records, context)
    return _traced(project, table, path, records, context)


def _traced(
    project: ProjectFile,
    table: BatchedTable,
    file: Path,
    records: tuple[CountTableRecord, ...],
    context: Context,
) -> TracedCounts | None:
    """Know a file by its bytes, or else by its counts."""
    known = known_count_file(file, project, Part(context, 0.0, 0.1))
    if known is not None:
        name, record = known
        alike = [one for one in records if one.files.get(name) == record.files[name]]
        return TracedCounts(_names(alike), 1.0, by_bytes=True)
    found = _counts_in(file, records)
    if found is None:
        return None
    return _by_counts(project, table, records, found, Part(context, 0.1, 1.0))


def _names(records: list[CountTableRecord]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.recipient for one in records))


Cells = Mapping[tuple[str, ...], int]
"""Counts by the values' names."""


def _counts_in(
    file: Path, records: tuple[CountTableRecord, ...]
) -> tuple[tuple[str, ...], Cells] | None:
    """Return a file's columns and counts; None where it is no list of counts that were released."""
    with suppress(OSError, ValueError, csv.Error):
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        with file.open(newline="", encoding="utf-8-sig") as text:
            rows = csv.DictReader(text)
            head = {unescaped(name): name for name in rows.fieldnames or ()}
            for columns in dict.fromkeys(one.columns for one in records):
                count = next((n for n in ("count", "count_") if n in head and n not in columns), "")
                if count and set(columns) <= set(head) and "margin" not in head:
                    cells = {
                        tuple(unescaped(row[head[name]]) for name in columns): int(row[head[count]])
                        for row in rows
                    }
                    return (columns, cells) if cells else None
    return None


def _by_counts(
    project: ProjectFile,
    table: BatchedTable,
    records: tuple[CountTableRecord, ...],
    found: tuple[tuple[str, ...], Cells],
    context: Context,
) -> TracedCounts:
    """Make each table by these columns again, and compare its counts with the file's."""
    (columns, cells), document = found, project.document
    shares: dict[int, float] = {}
    candidates = [one for one in records if one.columns == columns]
    for record, part in one_by_one(context, candidates):
        with suppress(SfumatoError):
            root = count_table(document, record.root)
            source = document.source
            if source is None or edition_of(source) != record.edition:
                continue
            if root.digest != record.root_digest:
                continue
            asked = (document, root, columns, record.epsilon, table, source, project.keys)
            again = noisy_counts(*asked, part)
            labels = itertools.product(*again.table.labels())
            theirs = dict(zip(labels, again.counts.tolist(), strict=True))
            equal = sum(theirs.get(key) == count for key, count in cells.items())
            shares[record.number] = equal / len(cells)
    if not shares:
        problem = "Its table can't be made again: the edition, or a column's values, are others."
        return TracedCounts((), 0.0, problem=problem)
    best = max(shares.values())
    if best < _TELLING:
        problem = "Its counts are those of no table that was released."
        return TracedCounts((), best, problem=problem)
    alike = [one for one in candidates if shares.get(one.number) == best]
    return TracedCounts(_names(alike), best)
