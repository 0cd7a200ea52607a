"""Making a release: crash-safe, on the ladder of the releases before it, never overwriting.

The order is what makes it safe. The staging folder is noted in the project before it exists;
the bundle is written there and forced to the disk; the ledger records the release with the
bundle's digest; only then does the bundle get its final name, and the ledger its completion.
Whatever interrupts this, `app.project.recovery` can tell what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from app import __version__
from app.engine.errors import SfumatoError
from app.engine.mechanisms import mechanism_called
from app.engine.progress import Context, Part
from app.engine.table import Table
from app.formats.bundle import (
    BundleContents,
    BundleFiles,
    Perturbation,
    write_bundle,
    write_bundle_zip,
)
from app.formats.files import refusal_to_write
from app.formats.tables import format_called
from app.project.errors import TargetExists
from app.project.files import sync_tree
from app.project.ledger import EntryKind
from app.project.plan import EntryPlan
from app.project.records import ReleaseRecord
from app.project.recovery import AtStep, end_release, finish, no_step
from app.project.release_plan import ReleasePlan, bundle_name, plan_of
from app.project.released import (
    Material,
    released_by_plan,
    released_specs,
    released_table,
)
from app.project.staging import Staging, digest_of_bundle, pending_in
from app.project.standing import (
    domain_fingerprints,
)
from app.project.store import ProjectFile


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


def make_release(
    project: ProjectFile,
    table: Table,
    recipient_name: str,
    out_folder: Path,
    format_name: str,
    context: Context,
    as_zip: bool = False,
    *,
    override: str = "",
    at_step: AtStep = no_step,
) -> ReleaseOutcome:
    """Make one recipient's release and put its bundle into a folder.

    Parameters
    ----------
    project
        Open for writing. Its saved document is what is released by.
    table
        The source table, as the document's source was read.
    recipient_name
        One of the document's recipients.
    out_folder
        Where the bundle goes, under `bundle_name`; made where it is missing.
    format_name
        ``csv``, ``parquet``, ``sav`` or ``dta``.
    context
        Progress and cancelling. A cancelled release leaves no file and no ledger entry.
    as_zip
        One zip file instead of a folder.
    override
        The custodian's reason to show a column that was perturbed before, or the reverse.
    at_step
        Told each step as it is done.

    Raises
    ------
    ReleaseError
        If there is no such recipient, no source table, or something under the bundle's name.
    LadderError
        If an attribute would leave the ladder of its earlier releases.
    SourceChanged
        If the table is another one than the project's, or than the first release's.
    CannotWrite, DiskFull
        If the folder does not take the bundle. Nothing of the release is left then.
    SfumatoError
        As `app.project.released.released_columns` and `app.formats.bundle.write_bundle`.
    """
    format_called(format_name)
    with _turn(project, context):
        plan = plan_of(project, table, recipient_name, override)
        name = bundle_name(plan, format_name)
        target = Path(out_folder).absolute() / (f"{name}.zip" if as_zip else name)
        _refuse_existing(target)
        at_step("planned")
        staging = Staging.beside(target, plan.release_id, recipient_name, as_zip)
        number = _make(project, plan, staging, format_name, context, at_step)
    record = next(release for release in project.releases if release.number == number)
    return ReleaseOutcome(target, record)


def _make(
    project: ProjectFile,
    plan: ReleasePlan,
    staging: Staging,
    format_name: str,
    context: Context,
    at_step: AtStep,
) -> int:
    """Make a planned release step by step; return the number of its ledger entry."""
    frame = released_by_plan(plan.material, plan.entries, project.keys, Part(context, 0, 0.5))
    contents = _contents(plan, frame)
    at_step("computed")
    with _folder_for(staging.target_path):
        with _staged(project, staging):
            at_step("noted")
            files = _write(contents, staging, format_name, Part(context, 0.5, 1.0), at_step)
            number = _prepare(project, plan, staging, format_name, files)
        at_step("prepared")
        _publish(project, staging.recorded(files.digest, number), at_step)
    at_step("completed")
    return number


@contextmanager
def _turn(project: ProjectFile, context: Context) -> Iterator[None]:
    """Wait until no other release of the project is under way; waiting can be cancelled."""
    while not project.releasing.acquire(timeout=0.2):
        context.report(0.0, "Waiting for another release")
    try:
        yield
    finally:
        project.releasing.release()


def _refuse_existing(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise TargetExists(
            "{target} exists already, and a release never overwrites anything.",
            "The same release may have been made before. Choose another folder, or move what is"
            " there.",
            target=target,
        )


def _contents(plan: ReleasePlan, frame: pd.DataFrame) -> BundleContents:
    document, table = plan.document, plan.material.table
    specs = released_specs(document, table)
    return BundleContents(
        table=released_table(document, table, frame),
        columns=tuple(spec for _, spec in specs),
        perturbations=tuple(_perturbation(entry, plan.material) for entry in plan.entries),
        recipient=plan.recipient.name,
        title=document.title,
        release_id=plan.release_id,
        version=__version__,
    )


def _perturbation(entry: EntryPlan, material: Material) -> Perturbation:
    mechanism = mechanism_called(entry.mechanism)
    attributes = [material.attributes[name] for name in entry.attributes]
    return Perturbation(
        attributes=entry.attributes,
        mechanism=entry.mechanism,
        title=mechanism.title,
        summary=mechanism.summary,
        published=mechanism.published(entry.level, attributes, entry.settings),
        promise=mechanism.promise(entry.level, attributes, entry.settings),
    )


@contextmanager
def _folder_for(target: Path) -> Iterator[None]:
    """Make the target's folder; take it away again if the release comes to nothing."""
    missing = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
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
def _staged(project: ProjectFile, staging: Staging) -> Iterator[None]:
    """Note the staging; where its bundle comes to nothing, leave no trace of it."""
    with project.database.transaction() as connection:
        staging.note(connection)
    try:
        yield
    except BaseException as error:
        # What can't be removed now stays noted, and is removed at the next start.
        with suppress(OSError, SfumatoError):
            if not _is_prepared(project, staging):
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
    staging.folder_path.mkdir()
    at_step("staged")
    write = write_bundle_zip if staging.as_zip else write_bundle
    files = write(contents, staging.bundle_path, format_name, context)
    at_step("written")
    sync_tree(staging.folder_path)
    at_step("synced")
    return files


def _prepare(
    project: ProjectFile, plan: ReleasePlan, staging: Staging, format_name: str, files: BundleFiles
) -> int:
    """Record the release, and that its files are complete; return the entry's number."""
    details = _details(plan, staging, format_name, files)
    with project.database.transaction() as connection:
        if plan.contradictions:
            project.ledger.append(
                connection,
                EntryKind.OVERRIDE,
                {
                    "reason": plan.override,
                    "release_id": plan.release_id,
                    "overridden": dict(plan.contradictions),
                },
            )
        entry = project.ledger.append(connection, EntryKind.RELEASE_PREPARED, details)
        staging.recorded(files.digest, entry.number).note(connection)
    return entry.number


def _details(
    plan: ReleasePlan, staging: Staging, format_name: str, files: BundleFiles
) -> dict[str, Any]:
    document = plan.document
    perturbed = {name for entry in plan.entries for name in entry.attributes}
    released = [name for name, _ in released_specs(document, plan.material.table)]
    return {
        "release_id": plan.release_id,
        "recipient": plan.recipient.name,
        "title": document.title,
        "target": staging.target,
        "format": format_name,
        "zip": staging.as_zip,
        "digest": files.digest,
        "files": dict(files.files),
        "entries": [entry.to_dict() for entry in plan.entries],
        "domains": domain_fingerprints(plan.material.attributes),
        "open_columns": [name for name in released if name not in perturbed],
        "record_key": document.record_key,
        "source": {
            "digest": plan.source.digest,
            "rows": plan.source.rows,
            "options": dict(plan.source.options),
        },
        "version": __version__,
    }


def _publish(project: ProjectFile, staging: Staging, at_step: AtStep) -> None:
    """Give the bundle its final name and record that, or take the release back."""
    try:
        finish(staging, at_step)
    except FileExistsError:
        _take_back(project, staging, "its name was taken")
        _refuse_existing(staging.target_path)
        raise
    except OSError as error:
        if digest_of_bundle(staging.target_path) != staging.digest:
            _take_back(project, staging, "it could not get its final name")
            raise refusal_to_write(error, staging.target_path) from None
    end_release(project.database, project.ledger, staging, EntryKind.RELEASE_COMPLETED, "")


def _take_back(project: ProjectFile, staging: Staging, reason: str) -> None:
    staging.remove_files()
    end_release(project.database, project.ledger, staging, EntryKind.RELEASE_ABANDONED, reason)
