"""Making a table of counts so that no file exists that the ledger lacks; approving, withdrawing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.randomness.keys import KeyRing
from sfumato.formats.bundles.writing import zip_of
from sfumato.formats.files import digest_of_files, write_private
from sfumato.formats.language import speaking
from sfumato.project.approval import COLUMNS, require_approval, source_in
from sfumato.project.count_tables.bundle import files_of
from sfumato.project.count_tables.counting import count_table
from sfumato.project.count_tables.held import CountTableRecord, count_tables_in
from sfumato.project.count_tables.noise import NoisyCounts, edition_of, noisy_counts, root_for
from sfumato.project.document.model import Document, Recipient, canonical_json
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery import AtStep, no_step
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.bundle_making import (
    folder_for,
    publish,
    refuse_existing,
    staged,
    taking_turns,
)
from sfumato.project.release.release import source_of
from sfumato.project.store.files import Staging, sync_tree
from sfumato.project.withdrawal import reason_for, refuse_twice

CountsCheck = Callable[[NoisyCounts], Sequence[Mapping[str, str]]]


def no_check(_found: NoisyCounts) -> Sequence[Mapping[str, str]]:
    """Refuse nothing."""
    return ()


def counted_for(
    project: ProjectFile,
    table: BatchedTable,
    columns: Sequence[str],
    epsilon: float,
    context: Context,
) -> NoisyCounts:
    """Return the noisy counts that would be released now, with the true ones.

    Raises
    ------
    SfumatoError
        As `count_table` and `exact_counts`, and if ε is out of range or the source changed.
    """
    records = count_tables_in(project.ledger.entries)
    return counted(project.document, table, columns, epsilon, project.keys, records, context)


def counted(
    document: Document,
    rows: BatchedTable,
    columns: Sequence[str],
    epsilon: float,
    keys: KeyRing,
    records: Iterable[CountTableRecord],
    context: Context,
) -> NoisyCounts:
    """Return the noisy counts by some keys, after the tables that were released, with the true.

    Raises
    ------
    SfumatoError
        As `counted_for`.
    """
    source = source_of(document, rows)
    root = root_for(document, columns, source, records)
    return noisy_counts(document, root, columns, epsilon, rows, source, keys, context)


def make_count_table(
    project: ProjectFile,
    table: BatchedTable,
    columns: Sequence[str],
    recipient: Recipient,
    epsilon: float,
    out_folder: Path,
    context: Context,
    at_step: AtStep = no_step,
    check: CountsCheck = no_check,
    as_zip: bool = False,
) -> tuple[Path, CountTableRecord]:
    """Make a recipient's table of counts and record it; return its folder and its record.

    It is made in the order of a release of records, so that recovery settles what is interrupted.

    Parameters
    ----------
    project
        Open for writing.
    table
        The source table.
    columns
        One to four columns, in any order.
    recipient, epsilon
        Who gets it, at which ε for one record or one unit.
    out_folder
        Where the bundle's folder goes.
    context
        Progress and cancelling.
    at_step
        Told each step as it is done.
    check
        Refuses what was counted, or returns what the ledger keeps of the reasons for it.
    as_zip
        One zip file instead of a folder.

    Raises
    ------
    SfumatoError
        As `counted_for` and `check`; if something stands under its name, the folder doesn't take
        it, or a second person's approval is asked for and there is none.
    """
    with taking_turns(project, context):
        content = content_of_counts(project, columns, recipient, epsilon)
        approved = require_approval(project, recipient.name, content)
        found = counted_for(project, table, columns, epsilon, Part(context, 0.0, 0.9))
        with speaking(recipient.language or "en"):
            files = files_of(found, project.document.title)
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        digest = digest_of_files(digests)
        named = hashlib.sha256(f"{digest} {recipient.name}".encode()).hexdigest()
        target = _target(out_folder, named, as_zip)
        refuse_existing(target)
        kept = approved | {"accepted": list(check(found))}
        told = _details(found, recipient.name, target, digests, digest) | kept
        staging = Staging.beside(target, named, recipient.name, as_zip)
        with folder_for(target):
            _write_and_record(project, staging, files, told, at_step)
    return target, count_tables_in(project.ledger.entries)[-1]


def _target(out_folder: Path, named: str, as_zip: bool) -> Path:
    return Path(out_folder).absolute() / f"counts-{named[:12]}{'.zip' if as_zip else ''}"


def _write_and_record(
    project: ProjectFile,
    staging: Staging,
    files: Mapping[str, bytes],
    told: Mapping[str, object],
    at_step: AtStep,
) -> None:
    """Write a bundle, record it once it is whole, and only then give it its final name."""
    with staged(project, staging):
        at_step("noted")
        _write(staging, files)
        at_step("written")
        recorded = _record(project, staging, told)
    at_step("prepared")
    publish(project, recorded, at_step)


def _write(staging: Staging, files: Mapping[str, bytes]) -> None:
    """Write a bundle into its staging folder and force it to the disk."""
    staging.folder_path.mkdir(mode=0o700)
    if staging.as_zip:
        write_private(staging.bundle_path, zip_of(files))
    else:
        for name, content in files.items():
            write_private(staging.folder_path / name, content)
    sync_tree(staging.folder_path)


def _record(project: ProjectFile, staging: Staging, told: Mapping[str, object]) -> Staging:
    """Record a table whose files are complete; what interrupts its way is settled by recovery."""
    with project.database.transaction() as connection:
        entry = project.ledger.append(connection, EntryKind.COUNTS_RELEASED, told)
        recorded = staging.recorded(str(told["digest"]), entry.number)
        recorded.note(connection)
    return recorded


def _details(
    found: NoisyCounts, recipient: str, target: Path, files: dict[str, str], digest: str
) -> dict[str, object]:
    return {
        "recipient": recipient,
        "target": str(target),
        "columns": list(found.table.columns),
        "root": list(found.root.columns),
        "root_digest": found.root.digest,
        "edition": found.edition,
        "noise": found.noise,
        "epsilon": found.epsilon,
        "most_rows": found.table.most_rows,
        "digest": digest,
        "files": files,
    }


# ----- what a second person approves of a table of counts: its columns, its noise and its ε


def content_of_counts(
    project: ProjectFile, columns: Sequence[str], recipient: Recipient, epsilon: float
) -> dict[str, Any]:
    """Return what an approval is of; it lapses when values, units, ε, edition or noise change.

    Parameters
    ----------
    project
        Whose saved document and ledger decide.
    columns
        One to four, in any order.
    recipient
        Who gets the table.
    epsilon
        ε.

    Raises
    ------
    SfumatoError
        As `count_table`, and if there is no source table.
    """
    document = project.document
    source, table = source_in(document), count_table(document, columns)
    root = root_for(document, columns, source, count_tables_in(project.ledger.entries))
    decided = (table.canonical, root.canonical, edition_of(source))
    told = canonical_json([*decided, document.title, recipient.language])
    return {
        "project": project.project_id,
        "recipient": recipient.name,
        "policy": hashlib.sha256(told.encode()).hexdigest(),
        "table": [source.digest, source.rows],
        COLUMNS: list(table.columns),
        "epsilon": float(epsilon),
    }


# ----- withdrawing a table of counts that was wrong; like a release, it goes on counting


def count_table_called(project: ProjectFile, text: str) -> CountTableRecord | None:
    """Return the table of counts with the number of an entry; None where there is none."""
    records = count_tables_in(project.ledger.entries)
    return next((one for one in records if str(one.number) == text.strip()), None)


def withdraw_counts(project: ProjectFile, number: int, reason: str) -> CountTableRecord:
    """Record that a table of counts was wrong; return what the ledger has of it then.

    Parameters
    ----------
    project
        Open for writing.
    number
        That of its ledger entry.
    reason
        The custodian's, which the ledger keeps.

    Raises
    ------
    ReleaseError
        If no reason is given, or it is withdrawn already.
    ProjectError
        If the project can't be written.
    """
    reason, record = reason_for(reason), _with(project, number)
    refuse_twice(record.recipient, record.withdrawn)
    details = {
        "withdrawn": number,
        "recipient": record.recipient,
        "columns": list(record.columns),
        "target": record.target,
        "reason": reason,
    }
    project.record(EntryKind.COUNTS_WITHDRAWN, details)
    return _with(project, number)


def _with(project: ProjectFile, number: int) -> CountTableRecord:
    records = count_tables_in(project.ledger.entries)
    return next(one for one in records if one.number == number)
