"""Whether a table of counts is one that this project made, unaltered, with the noise it says.

And which one a table is that turns up.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.mechanisms.base import Check
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.packages import bundle_at
from sfumato.formats.files import digest_of, is_file, is_folder, opened_zip, unpack_entry
from sfumato.formats.formulas import unescaped
from sfumato.project.count_tables.bundle import COUNTS_NAME, MARGINS_NAME, SDMX_NAME, files_of
from sfumato.project.count_tables.counting import count_table, edition_of, noisy_counts
from sfumato.project.count_tables.held import CountTableRecord, count_tables_in
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.withdrawal import check_withdrawn

_LARGEST: Final = 1 << 28
"""A file of more bytes is none of a table of counts."""
_MOST_FILES: Final = 64


def is_count_table(path: Path) -> bool:
    """Whether a folder or a zip, or that of a file, describes itself as a table of counts."""
    bundle = bundle_at(path)
    if bundle is None:
        return False
    try:
        with folder_of(bundle) as folder:
            file = folder / DATAPACKAGE_NAME
            content = {} if file.stat().st_size > _LARGEST else json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError, BundleError):
        return False
    own = content.get("sfumato") if isinstance(content, Mapping) else None
    return isinstance(own, Mapping) and "count_table" in own


@contextmanager
def folder_of(bundle: Path) -> Iterator[Path]:
    """Give the folder of a bundle, whose files are unpacked where they are in a zip.

    Raises
    ------
    BundleError
        If the zip is damaged, or made to confuse.
    """
    if is_folder(bundle):
        yield bundle
        return
    with (
        opened_zip(bundle, BundleError) as archive,
        tempfile.TemporaryDirectory(prefix="sfumato-") as unpacked,
    ):
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        if len(entries) > _MOST_FILES or any("/" in one.filename for one in entries):
            raise BundleError(
                "The zip file holds more than a table of counts.", "Give it as it was released."
            )
        for entry in entries:
            target = Path(unpacked) / entry.filename
            unpack_entry(archive, entry, target, _LARGEST, Silent(), BundleError)
        yield Path(unpacked)


def known_count_file(
    path: Path, project: ProjectFile, context: Context
) -> tuple[str, CountTableRecord] | None:
    """Return what a file for itself was called in a table of counts, and which; None for others."""
    records = count_tables_in(project.ledger.entries)
    if not records or not is_file(path):
        return None
    digest = digest_of(path, context)
    known = ((*item, record) for record in reversed(records) for item in record.files.items())
    return next(((name, record) for name, one, record in known if one == digest), None)


def check_count_table(
    project: ProjectFile, table: BatchedTable, path: Path, context: Context
) -> tuple[Check, ...]:
    """Check a bundle against the ledger and, made again, against the source table.

    Parameters
    ----------
    project, table
        The project, and its source table.
    path
        The bundle's folder or zip, or one of its files.
    context
        Progress and cancelling.
    """
    bundle = bundle_at(path)
    assert bundle is not None
    try:
        with folder_of(bundle) as folder:
            names = sorted(folder.iterdir())
            found = {each.name: digest_of(each, Silent()) for each in names if is_file(each)}
    except OSError:
        return (Check("Files", False, "The folder can't be read."),)
    except BundleError as error:
        return (Check("Files", False, error.sentence),)
    records = count_tables_in(project.ledger.entries)
    record = next((r for r in reversed(records) if _shared(r, found)), None)
    if record is None:
        said = "The ledger has no table of counts with these files."
        return (Check("Ledger", False, said),)
    alike = dict.fromkeys(one.recipient for one in records if one.digest == record.digest)
    return (
        *_checks_of_files(record, found, tuple(alike)),
        *check_withdrawn(record.withdrawn),
        _made_again(project, table, record, context),
    )


def _shared(record: CountTableRecord, found: Mapping[str, str]) -> bool:
    """Whether one of the files that hold figures is a table's, so that the others can be judged."""
    return any(
        name in found and found[name] == record.files.get(name)
        for name in (COUNTS_NAME, MARGINS_NAME)
    )


def _checks_of_files(
    record: CountTableRecord, found: Mapping[str, str], recipients: tuple[str, ...]
) -> tuple[Check, ...]:
    altered = sorted(name for name, one in record.files.items() if found.get(name) != one)
    added = sorted(found.keys() - record.files.keys())
    checks = [
        Check.failed(
            "Files", "Altered or missing since it was released: {names}.", names=", ".join(altered)
        )
        if altered
        else Check("Files", True, "All files are as they were released, byte for byte.")
    ]
    if added:
        said = Sentence("The folder holds more than was released: {names}.", names=", ".join(added))
        checks.append(Check("Files", False, said))
    checks.append(
        Check.passed(
            "Ledger",
            "Entry {number} of the ledger: a table of counts by {columns} for {recipient},"
            " ε = {epsilon:g}, recorded on {day}.",
            number=record.number,
            columns=", ".join(record.columns),
            recipient=", ".join(recipients),
            epsilon=record.epsilon,
            day=record.day,
        )
    )
    return tuple(checks)


def _made_again(
    project: ProjectFile, table: BatchedTable, record: CountTableRecord, context: Context
) -> Check:
    """Compare the recorded bytes of the figures with those that key and table give today."""
    document, title = project.document, "Counts"
    if document.source is None or edition_of(document.source) != record.edition:
        said = "Not recomputed: the table of that edition is not at hand."
        return Check(title, True, said)
    try:
        root = count_table(document, record.root)
        if root.digest != record.root_digest:
            said = "Not recomputed: a column's values, or the units, changed since."
            return Check(title, True, said)
        again = noisy_counts(
            *(document, root, record.columns, record.epsilon, table, document.source),
            *(project.keys, context),
        )
    except SfumatoError as error:
        return Check.failed(title, "It can't be made again. {error}", error=error.sentence)
    files = files_of(again, document.title)
    named = [one for one in (COUNTS_NAME, MARGINS_NAME, SDMX_NAME) if one in record.files]
    same = all(hashlib.sha256(files[name]).hexdigest() == record.files[name] for name in named)
    if same and again.noise == record.noise:
        return Check(title, True, "Made again from the table and the key, the counts are the same.")
    return Check(title, False, "Made again from the table and the key, the counts are others.")


_LARGEST_FILE: Final = 1 << 27
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
        if not file.is_file() or file.stat().st_size > _LARGEST_FILE:
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
