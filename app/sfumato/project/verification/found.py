"""What a file that turned up is to a project, and verifying whatever a person has of a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.base import Check
from sfumato.formats.bundles.packages import bundle_at, lone_file
from sfumato.formats.errors import FileError
from sfumato.formats.files import digest_of, is_file
from sfumato.project.count_tables.verifying import known_count_file
from sfumato.project.ledger import ReleaseRecord, ReleaseState
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.verification.verify import VerificationReport, verify_bundle
from sfumato.project.withdrawal import check_withdrawn


@dataclass(frozen=True)
class FoundFile:
    """What a file is.

    Parameters
    ----------
    path
        The bundle, folder or zip; or the file for itself.
    is_bundle
        Whether it is a bundle.
    release
        The release that a file for itself belongs to, byte for byte; None where there is none.
    name
        What the file was called when it was released.
    """

    path: Path
    is_bundle: bool
    release: ReleaseRecord | None = None
    name: str = ""


def find_file(path: Path, releases: Sequence[ReleaseRecord], context: Context) -> FoundFile:
    """Return what a file is to a project.

    Parameters
    ----------
    path
        A bundle, folder or zip; a file of one; or a file for itself, zipped or not.
    releases
        What the ledger has, oldest first.
    context
        Progress and cancelling.

    Raises
    ------
    FileError
        If it can't be read, or is a zip file with no table or several.
    """
    bundle = bundle_at(path)
    if bundle is not None:
        return FoundFile(bundle, True)
    with lone_file(path, context) as file:
        digest = digest_of(file, context) if releases else ""
    for record in reversed(releases):
        for name, known in record.files.items():
            if known == digest:
                return FoundFile(path, False, record, name)
    return FoundFile(path, False)


def verify_file(
    project: ProjectFile, table: BatchedTable, path: Path, context: Context
) -> VerificationReport:
    """Examine what a person has of a release: a whole bundle, or one of its files for itself.

    A whole bundle is verified against the project, its ledger and the table. A file for itself
    can only be one that was released, byte for byte, or not.

    Parameters
    ----------
    project
        The project; read-only is enough.
    table
        The source table, as the project's source was read.
    path
        As `find_file` takes it.
    context
        Progress and cancelling.
    """
    if not is_file(path):
        return verify_bundle(project, table, path, context)
    try:
        found = find_file(path, project.releases, context)
    except FileError as error:
        return VerificationReport((Check("Files", False, error.sentence),))
    if found.is_bundle:
        return verify_bundle(project, table, found.path, context)
    if found.release is None and (known := known_count_file(path, project, context)):
        name, counts = known
        said = Sentence("It is {name} of a table of counts that was released.", name=name)
        told = (Check("Files", True, said), *check_withdrawn(counts.withdrawn))
        return VerificationReport(told, whole=False)
    if found.release is None:
        finding = (
            "The ledger has no file with these bytes: it was changed or saved by another program"
            " since it was released, is only a part, or comes from elsewhere. Trace it to see"
            " whose rows it holds."
        )
        return VerificationReport((Check("Files", False, finding),), whole=False)
    record = found.release
    whose = Sentence(
        "It is {name} of the release {release_id} to {recipient}, recorded on {day}, byte for"
        " byte.",
        name=found.name,
        release_id=record.release_id,
        recipient=record.recipient,
        day=record.day,
    )
    checks = [Check("Files", True, whose)]
    if record.state is ReleaseState.ABANDONED:
        finding = "This release was abandoned: nobody should have it."
        checks.append(Check("Ledger", False, finding))
    checks += check_withdrawn(record.withdrawn)
    return VerificationReport(tuple(checks), record, record.recipient, whole=False)
