"""Whether a table of counts is one that this project made, unaltered, with the noise it says."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.base import Check
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.packages import bundle_at
from sfumato.formats.files import digest_of, is_file, is_folder, opened_zip, unpack_entry
from sfumato.project.count_tables.bundle import COUNTS_NAME, MARGINS_NAME, SDMX_NAME, files_of
from sfumato.project.count_tables.counting import count_table
from sfumato.project.count_tables.held import CountTableRecord, count_tables_in
from sfumato.project.count_tables.noise import edition_of, noisy_counts
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
