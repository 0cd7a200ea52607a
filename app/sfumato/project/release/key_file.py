"""Releases that are made elsewhere: a plan that anybody may see, and a file of the keys it needs.

Whoever holds both makes the release, and can tell which released values of the plan's attributes
are true. So they count as a release from the moment that they are made: the ledger has them before
they are there. The project's secret, from which all other keys follow, is in neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.writing import BundleFiles
from sfumato.formats.files import write_whole
from sfumato.project.ledger import EntryKind, ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery import end_release
from sfumato.project.release.bundle_making import prepare, refuse_existing, taking_turns
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.release.release import making_of, sent_plan
from sfumato.project.release.release_plan import plan_of
from sfumato.project.store.files import Staging

PLAN_FORMAT: Final = "plan and keys"
"""What the ledger has in the place of a data file's format."""


def make_plan(
    project: ProjectFile,
    table: Table | LongTable,
    recipient_name: str,
    plan_path: Path,
    keys_path: Path,
    context: Context,
    *,
    override: str = "",
    accepted: Sequence[Mapping[str, str]] = (),
) -> ReleaseRecord:
    """Write a plan and its keys for a recipient; return what the ledger has of them.

    Parameters and errors are those of `sfumato.project.release.release.make_release`, with the
    two files in the bundle's place.

    Raises
    ------
    PolicyError
        If a record's release depends on other records: it can't be made row by row then.
    """
    plan_path, keys_path = plan_path.absolute(), keys_path.absolute()
    with taking_turns(project, context):
        for path in (plan_path, keys_path):
            refuse_existing(path)
        prepared = PreparedTable(project, table)
        release = plan_of(project, prepared, recipient_name, override, context)
        plan, keys = sent_plan(project, release, prepared)
        content = f"{plan.to_json()}\n".encode()
        files = BundleFiles({plan_path.name: sha256(content).hexdigest()})
        making = making_of(project, release, prepared, accepted)
        staging = Staging.beside(plan_path, release.release_id, recipient_name, as_zip=True)
        number = prepare(project, making, staging, PLAN_FORMAT, files, pending=False)
        staging = staging.recorded(files.digest, number)
        ended, reason = EntryKind.RELEASE_ABANDONED, "its files could not be written"
        try:
            write_whole(keys_path, keys.to_bytes())
            write_whole(plan_path, content)
            ended, reason = EntryKind.RELEASE_COMPLETED, ""
        finally:
            if reason:
                keys_path.unlink(missing_ok=True)
            end_release(project.database, project.ledger, staging, ended, reason)
    return next(record for record in project.releases if record.number == number)
