"""Making a bundle so that a crash at any point loses no record of it.

The order is what makes it safe. The staging folder is noted in the project before it exists;
the bundle is written there and forced to the disk; the ledger records the release with the
bundle's digest; only then does the bundle get its final name, and the ledger its completion.
Whatever interrupts this, `sfumato.project.recovery` can tell what to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final

from sfumato import __version__
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.formats.bundles.writing import (
    BundleContents,
    BundleFiles,
    write_bundle,
    write_bundle_zip,
)
from sfumato.formats.files import refusal_to_write
from sfumato.project.document.model import Document, TableSource, to_plain
from sfumato.project.errors import ProjectReplaced, TargetExists
from sfumato.project.ledger import EntryKind, ReleaseRecord, order_to_tell, policy_to_keep
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery import AtStep, end_release, finish
from sfumato.project.store.files import Staging, digest_of_bundle, pending_in, sync_tree
from sfumato.project.store.kept_releases import KeptRelease


@dataclass(frozen=True)
class ReleaseOutcome:
    """A finished release.

    Parameters
    ----------
    path
        The bundle: a folder, or a zip file.
    record
        What the ledger has of it.
    """

    path: Path
    record: ReleaseRecord


@dataclass(frozen=True)
class BundleSpec:
    """A bundle that may be made: everything but its files.

    Parameters
    ----------
    document, source
        What it is made by, and from.
    recipient
        Who gets it.
    release_id
        The same for two bundles with the same contents for the same recipient.
    contents
        Computes what the bundle holds.
    details
        What the ledger keeps beside what it keeps of every release.
    contradictions, override
        What contradicts earlier releases, and the custodian's reason to release it anyway.
    before
        Entries that the ledger gets together with the release, before it.
    escape_formulas
        Whether texts that a spreadsheet would run are made harmless in a CSV file.
    dcat
        Whether the bundle is described for data catalogues too.
    """

    document: Document
    source: TableSource
    recipient: str
    release_id: str
    contents: Callable[[Context], BundleContents]
    details: Mapping[str, Any]
    contradictions: Mapping[str, str] = field(default_factory=dict)
    override: str = ""
    before: Sequence[tuple[EntryKind, Mapping[str, Any]]] = ()
    escape_formulas: bool = True
    dcat: bool = False


def make_bundle(
    project: ProjectFile,
    making: BundleSpec,
    target: Path,
    format_name: str,
    context: Context,
    as_zip: bool,
    at_step: AtStep,
) -> ReleaseOutcome:
    """Make a bundle and give it its final name.

    Whoever calls this holds the project's turn, see `taking_turns`.

    Raises
    ------
    TargetExists
        If something stands under its name.
    CannotWrite, DiskFull
        If the folder does not take the bundle. Nothing of it is left then.
    SfumatoError
        As `BundleSpec.contents`.
    """
    refuse_existing(target)
    at_step("planned")
    staging = Staging.beside(target, making.release_id, making.recipient, as_zip)
    contents = replace(
        making.contents(Part(context, 0.0, 0.5)),
        escape_formulas=making.escape_formulas,
        dcat=making.dcat,
    )
    at_step("computed")
    with folder_for(target):
        with staged(project, staging):
            at_step("noted")
            files = _write(contents, staging, format_name, Part(context, 0.5, 1.0), at_step)
            number = prepare(project, making, staging, format_name, files)
        at_step("prepared")
        publish(project, staging.recorded(files.digest, number), at_step)
    at_step("completed")
    record = next(release for release in project.releases if release.number == number)
    return ReleaseOutcome(target, record)


@contextmanager
def taking_turns(project: ProjectFile, context: Context) -> Iterator[None]:
    """Wait until no other release of the project is under way; waiting can be cancelled."""
    while not project.releasing.acquire(timeout=0.2):
        context.report(0.0, "Waiting for another release")
    try:
        yield
    finally:
        project.releasing.release()


def refuse_existing(target: Path) -> None:
    """Raise `TargetExists` where something stands under a bundle's final name."""
    if os.path.lexists(target):
        raise TargetExists(
            "{target} exists already, and a release never overwrites anything.",
            "The same release may have been made before. Choose another folder, or move what is"
            " there.",
            target=target,
        )


@contextmanager
def folder_for(target: Path) -> Iterator[None]:
    """Make the target's folder; take it away again if the release comes to nothing."""
    missing = [folder for folder in target.parents if not os.path.lexists(folder)]
    try:
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        yield
    except OSError as error:
        _remove_empty(missing)
        raise refusal_to_write(error, target) from None
    except BaseException:
        _remove_empty(missing)
        raise


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def staged(project: ProjectFile, staging: Staging) -> Iterator[None]:
    """Note the staging; where its bundle comes to nothing, leave no trace of it."""
    with project.database.transaction() as connection:
        staging.note(connection)
    try:
        yield
    except BaseException as error:
        # What can't be removed now stays noted, and is removed at the next start.
        with suppress(OSError, SfumatoError):
            if not (project.database.in_place and _is_prepared(project, staging)):
                staging.remove_files()
                with project.database.transaction() as connection:
                    staging.clear(connection)
        if isinstance(error, OSError):
            raise refusal_to_write(error, staging.target_path) from None
        raise


def _is_prepared(project: ProjectFile, staging: Staging) -> bool:
    """Whether the ledger has the release already: from then on only recovery may end it."""
    return any(p.folder == staging.folder and p.prepared for p in pending_in(project.database))


def _write(
    contents: BundleContents,
    staging: Staging,
    format_name: str,
    context: Context,
    at_step: AtStep,
) -> BundleFiles:
    """Write the bundle into the staging folder and force it to the disk."""
    staging.folder_path.mkdir(mode=0o700)
    at_step("staged")
    write = write_bundle_zip if staging.as_zip else write_bundle
    files = write(contents, staging.bundle_path, format_name, context)
    at_step("written")
    sync_tree(staging.folder_path)
    at_step("synced")
    return files


def prepare(
    project: ProjectFile,
    making: BundleSpec,
    staging: Staging,
    format_name: str,
    files: BundleFiles,
    *,
    pending: bool = True,
) -> int:
    """Record the release, and that its files are complete; return the entry's number.

    Where it is `pending`, an interrupted one is settled when the project is opened again.
    """
    details = {
        **_details(making, staging, format_name, files),
        "policy": policy_to_keep(making.document, project.releases),
    }
    with project.database.transaction() as connection:
        if making.contradictions:
            project.ledger.append(
                connection,
                EntryKind.OVERRIDE,
                {
                    "reason": making.override,
                    "release_id": making.release_id,
                    "overridden": dict(making.contradictions),
                },
            )
        for kind, before in making.before:
            project.ledger.append(connection, kind, before)
        entry = project.ledger.append(connection, EntryKind.RELEASE_PREPARED, details)
        if pending:
            staging.recorded(files.digest, entry.number).note(connection)
    whole = {**details, "policy": to_plain(making.document)}
    project.kept_releases.keep(
        KeptRelease(entry.digest, entry.recorded_at, whole, staging, pending)
    )
    return entry.number


def _details(
    making: BundleSpec, staging: Staging, format_name: str, files: BundleFiles
) -> dict[str, Any]:
    source = making.source
    return {
        "release_id": making.release_id,
        "recipient": making.recipient,
        "title": making.document.title,
        "target": staging.target,
        "format": format_name,
        "zip": staging.as_zip,
        "escape_formulas": making.escape_formulas,
        "dcat": making.dcat,
        "digest": files.digest,
        "files": dict(files.files),
        **making.details,
        "record_key": making.document.record_key,
        "row_order": order_to_tell(making.document.rows_as_in_table),
        "source": {
            "digest": source.digest,
            "rows": source.rows,
            "options": dict(source.options),
        },
        "version": __version__,
    }


def publish(project: ProjectFile, staging: Staging, at_step: AtStep) -> None:
    """Give a recorded bundle its final name and record that, or take the release back.

    Raises
    ------
    TargetExists, CannotWrite, DiskFull, ProjectReplaced
        As `make_bundle` and `complete`.
    """
    try:
        project.database.require_place()
        finish(staging, at_step)
    except ProjectReplaced:
        take_back(project, staging, "the project was replaced")
        raise
    except FileExistsError:
        take_back(project, staging, "its name was taken")
        refuse_existing(staging.target_path)
        raise
    except OSError as error:
        if digest_of_bundle(staging.target_path) != staging.digest:
            take_back(project, staging, "it could not get its final name")
            raise refusal_to_write(error, staging.target_path) from None
    complete(project, staging)


def complete(project: ProjectFile, staging: Staging) -> None:
    """Record that a release's files have their final name.

    Raises
    ------
    ProjectReplaced
        If the project's file was replaced since: what this computer keeps of the release is
        recorded then when the project is opened next.
    """
    try:
        end_release(project.database, project.ledger, staging, EntryKind.RELEASE_COMPLETED, "")
    except ProjectReplaced:
        kept = any(kept.staging.folder == staging.folder for kept in project.kept_releases.read())
        raise ProjectReplaced(
            "The release to {recipient} is made ({target}), but the project {path} was moved,"
            " deleted or replaced by another program meanwhile, so its ledger may not tell of it.",
            _RECORDED_NEXT if kept else _NOT_RECORDED,
            recipient=staging.recipient,
            target=staging.target,
            path=project.path,
        ) from None


_RECORDED_NEXT: Final = (
    "Send the release to nobody yet. This computer keeps what the ledger has of it: open the"
    " project under that name, and it is recorded again."
)
_NOT_RECORDED: Final = "Remove the release, open the project that is there now, and make it again."


def take_back(project: ProjectFile, staging: Staging, reason: str) -> None:
    """Remove a release's files, which nobody was given, and record that."""
    staging.remove_files()
    entries = {entry.number: entry.digest for entry in project.ledger.entries}
    project.kept_releases.forget(entries[staging.prepared or 0])
    end_release(project.database, project.ledger, staging, EntryKind.RELEASE_ABANDONED, reason)
