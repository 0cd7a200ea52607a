"""Whether a bundle is what it claims to be: a release of this project, unaltered and safe.

Every check says in plain words what was found; no finding holds a value of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, as_sentence, listed
from sfumato.engine.generalization.checker import PublicationCheck, verify_publication
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.randomness.row_order import Positions
from sfumato.engine.table.repeated_units import Codes, units_of
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.datapackage import DATAPACKAGE_NAME
from sfumato.formats.bundles.reading import Bundle, read_bundle
from sfumato.formats.comparison import all_within, differing_rows
from sfumato.formats.errors import FileError
from sfumato.project.document.generalization import Generalization
from sfumato.project.document.model import Document, from_plain
from sfumato.project.ledger import ReleaseRecord, ReleaseState
from sfumato.project.project_file import ProjectFile
from sfumato.project.publication.generalization_pipeline import prepare, published_rows
from sfumato.project.publication.prepared import Prepared
from sfumato.project.publication.publish import hierarchies_digest
from sfumato.project.release.regenerate import PoliciesInForce, Regenerator, changes_since
from sfumato.project.verification.chain import check_entries
from sfumato.project.verification.recognition import Known, Match, find_release, order_of
from sfumato.project.verification.rows import any_rows, check_rows, compare, describe_difference


@dataclass(frozen=True)
class VerificationReport:
    """What a verification found.

    Parameters
    ----------
    checks
        Every check that was made, in the order in which they build on each other.
    release
        The release that the bundle was recognised as, or None.
    recipient
        Whom that release was made for; empty where nothing was recognised.
    whole
        Whether a whole bundle was examined; a file for itself is known by its digest alone.
    """

    checks: tuple[Check, ...]
    release: ReleaseRecord | None = None
    recipient: str = ""
    whole: bool = True

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that don't hold."""
        return tuple(check for check in self.checks if not check.holds)


def verify_bundle(
    project: ProjectFile, table: Table, bundle_path: Path, context: Context
) -> VerificationReport:
    """Examine a bundle against the project, its ledger and the source table.

    It is judged by the policy that was in force when it was released. Nothing is written. An
    altered, cut, reordered or foreign bundle is no error: the report
    says what is wrong with it.

    Parameters
    ----------
    project
        The project; read-only is enough.
    table
        The source table, as the project's source was read.
    bundle_path
        The bundle, a folder or a zip file.
    context
        Progress and cancelling.

    Returns
    -------
    VerificationReport
        The checks and the release that was recognised.
    """
    try:
        bundle = read_bundle(bundle_path, Part(context, 0.0, 0.3), accept_altered=True)
    except FileError as error:
        return VerificationReport((Check("Files", False, error.sentence),))
    releases = project.releases
    folders = (project.path.parent,)
    policies = PoliciesInForce(project.document, table, project.keys, folders)
    match = find_release(bundle, releases, policies, Part(context, 0.3, 0.5))
    regenerator = policies.at(match.record)
    examined = check_known_facts(project, table.rows, bundle, match)
    if match.record is not None and match.record.is_publication:
        part = Part(context, 0.5, 1.0)
        found = check_publication(bundle, match, regenerator, part)
        return VerificationReport((*examined, *found), match.record, match.recipient)
    comparison = compare(bundle, match, regenerator, Part(context, 0.5, 0.6))
    checks = (
        *examined,
        *check_rows(bundle, match, regenerator, comparison),
        *check_entries(bundle, match, releases, regenerator, comparison, Part(context, 0.6, 1.0)),
    )
    context.report(1.0, "Verified")
    return VerificationReport(checks, match.record, match.recipient)


def check_known_facts(
    project: ProjectFile, rows: int, bundle: Bundle, match: Match
) -> tuple[Check, ...]:
    """Check what is known without the rows of bundle and table, of which there are so many."""
    return (
        _check_files(bundle),
        _check_ledger(bundle, match),
        *_check_policy(project, match),
        _check_source(project, rows, match),
    )


def _check_files(bundle: Bundle) -> Check:
    """Check the bundle's files against the digests that it states itself."""
    if bundle.altered:
        return Check(
            "Files",
            False,
            Sentence(
                "Not as {description} states: {names}. The digest differs, so the file "
                "was altered after it was released.",
                description=DATAPACKAGE_NAME,
                names=", ".join(bundle.altered),
            ),
        )
    return Check(
        "Files",
        True,
        Sentence("All files are as {description} states.", description=DATAPACKAGE_NAME),
    )


def _check_ledger(bundle: Bundle, match: Match) -> Check:
    """Check that the ledger knows the bundle."""
    if match.record is not None:
        return _check_known(bundle, match.how, match.record)
    if match.how is Known.BY_KEY:
        return Check(
            "Ledger",
            False,
            Sentence(
                "The ledger has no such release. Its values are those that {recipient} "
                "would get, so it was made with this project's key: by a copy of the "
                "project, or before the ledger was lost.",
                recipient=match.recipient,
            ),
        )
    return Check(
        "Ledger",
        False,
        "The ledger has no such release, and its values are not those of any release of this"
        " project: it was made from another project, or altered beyond recognition.",
    )


def _check_known(bundle: Bundle, how: Known, record: ReleaseRecord) -> Check:
    """Check what the ledger says of the release that a bundle was recognised as."""
    day = record.day
    release = Sentence(
        "the release {release_id} to {recipient}, recorded on {day}",
        release_id=record.release_id,
        recipient=record.recipient,
        day=day,
    )
    if how is Known.BY_VALUES:
        finding = Sentence(
            "The ledger has no bundle with these files. Its values are those of {release}.",
            release=release,
        )
    elif how is Known.BY_IDENTIFIER:
        finding = Sentence(
            "It states to be {release}; not as released: {other_files}.",
            release=release,
            other_files=_other_files(bundle, record),
        )
    elif record.state is ReleaseState.ABANDONED:
        finding = Sentence(
            "It is {release}, which was abandoned: nobody should have it.", release=release
        )
    elif record.state is ReleaseState.COMPLETED:
        return Check("Ledger", True, Sentence("It is {release}.", release=release))
    else:
        return Check(
            "Ledger", True, Sentence("It is {release}, which was interrupted.", release=release)
        )
    return Check("Ledger", False, finding)


def _other_files(bundle: Bundle, record: ReleaseRecord) -> str:
    names = {*bundle.files, *record.files}
    differing = [name for name in names if bundle.files.get(name) != record.files.get(name)]
    return ", ".join(sorted(differing))


def _check_policy(project: ProjectFile, match: Match) -> tuple[Check, ...]:
    """Tell by which policy a release is judged, where it is not today's."""
    then = None if match.record is None else match.record.policy
    changed = () if then is None else changes_since(then, project.document)
    if not changed:
        return ()
    finding = Sentence(
        "Judged by the policy in force at its release, which the ledger keeps. Since then, these"
        " columns have changed: {columns}.",
        columns=", ".join(changed),
    )
    return (Check("Policy", True, finding),)


def _check_source(project: ProjectFile, rows: int, match: Match) -> Check:
    """Check that the table is the one that the release was made from."""
    title = "Source table"
    known = project.document.source
    made_from = known if match.record is None else match.record.source
    if known is None or made_from is None:
        return Check(title, True, Sentence("It has {rows:,} {rows:record|records}.", rows=rows))
    if rows != made_from.rows:
        return Check(
            title,
            False,
            Sentence(
                "It has {rows:,} {rows:record|records}, but the release was made from"
                " {made_from:,}. Verify with the table of then.",
                rows=rows,
                made_from=made_from.rows,
            ),
        )
    if known.digest != made_from.digest:
        return Check(
            title,
            False,
            "It has changed since the release was made. Verify with the table of then.",
        )
    return Check(
        title,
        True,
        Sentence("The release was made from it: {rows:,} {rows:record|records}.", rows=rows),
    )


def check_publication(
    bundle: Bundle, match: Match, regenerator: Regenerator, context: Context
) -> tuple[Check, ...]:
    """Check a bundle against the publication that the ledger knows it as.

    Its rows are compared with the table made again, and its promises are computed anew from
    its own rows.

    Parameters
    ----------
    bundle
        The bundle.
    match
        The publication of the ledger that it was recognised as.
    regenerator
        Knows the source table and the order of its rows.
    context
        Progress and cancelling.
    """
    assert match.record is not None
    table = regenerator.table
    document, facts = published_by(match.record, regenerator.document)
    try:
        prepared = prepare(document, table, Part(context, 0.0, 0.4))
    except SfumatoError as error:
        return (Check("Table", False, Sentence("It can't be made again. {error}", error=error)),)
    units = None if document.unit is None else units_of(table, document.unit.columns)
    promises = partial(_check_promises, bundle, prepared, units)
    if hierarchies_digest(prepared.hierarchies) != facts["hierarchies"]:
        finding = "It can't be made again: a hierarchy is not what it was when it was published."
        return (promises(None), Check("Table", False, finding))
    context.report(0.6, "Making the table again")
    try:
        frame, rows = published_rows(prepared, tuple(facts["levels"])).published(table)
        order = order_of(match, regenerator, rows)
    except SfumatoError as error:
        finding = Sentence("It can't be made again. {error}", error=error)
        return (promises(None), Check("Table", False, finding))
    made = frame.take(order).reset_index(drop=True)
    return (promises(rows[order]), _check_rows(bundle.table.frame, made, rows[order]))


def published_by(record: ReleaseRecord, today: Document) -> tuple[Document, dict[str, Any]]:
    """Return what a publication was made by, and what the ledger keeps of its generalization."""
    facts: dict[str, Any] = record.details["generalization"]
    decided = replace(from_plain(Generalization, facts["decided"]), node=None)
    return replace(record.policy or today, generalization=decided), facts


def _check_promises(
    bundle: Bundle, prepared: Prepared, units: Codes | None, places: Positions | None
) -> Check:
    """Check what was promised from the bundle's own rows.

    Whose rows they are is known by the source table's rows that stand at `places`.
    """
    if places is None or len(places) != bundle.table.rows:
        units = None
    elif units is not None:
        units = units[places]
    names = (prepared.decided.quasi_identifiers, prepared.decided.sensitive)
    asked, others, order = prepared.criteria, prepared.others, prepared.values
    try:
        found = verify_publication(bundle.table.frame, *names, asked, others, order, units)
    except SfumatoError as error:
        return Check("Promises", False, error.sentence)
    return promises_kept(found, units is None and prepared.coded.units is not None)


def promises_kept(found: PublicationCheck, in_records: bool) -> Check:
    """Say whether rows keep what was promised; units may have been counted `in_records` only."""
    title = "Promises"
    failing = [as_sentence(c.criterion.title) for c in found.criteria if not c.holds]
    if failing:
        return Check(title, False, Sentence("Its rows don't keep {names}.", names=listed(failing)))
    kept = listed([as_sentence(c.criterion.title) for c in found.criteria])
    said = "Its {rows:,} {rows:row|rows} in {classes:,} {classes:class|classes} keep {kept}."
    if in_records:
        said = (
            "Its {rows:,} {rows:row|rows} in {classes:,} {classes:class|classes} keep {kept}, k"
            " counted in records only."
        )
    detail = {"rows": found.rows, "classes": found.classes, "kept": kept}
    return Check(title, True, Sentence(said, **detail))


def all_published(rows: int) -> Check:
    """Say that a bundle's rows are those that were published."""
    return Check(
        "Table",
        True,
        Sentence(
            "All {rows:,} {rows:row is the one that was|rows are those that were} published.",
            rows=rows,
        ),
    )


def other_number(found: int, made: int) -> Check:
    """Say that a bundle has another number of rows than were published."""
    return Check(
        "Table",
        False,
        Sentence(
            "It has {found:,} {found:row|rows}; {made:,} {made:was|were} published.",
            found=found,
            made=made,
        ),
    )


def _check_rows(found: pd.DataFrame, made: pd.DataFrame, places: Positions) -> Check:
    """Check the rows against those of the table made again, from these rows of the source."""
    title = "Table"
    if list(found.columns) != list(made.columns):
        return Check(title, False, "Its columns are not those that were published.")
    rows = min(len(found), len(made))
    differing = any_rows(
        (differing_rows(made[name].iloc[:rows], found[name].iloc[:rows]) for name in made), rows
    )
    if len(found) == len(made) and not differing.any():
        return all_published(rows)
    if all_within(made, found):
        what = "in another order" if len(found) == len(made) else "but not all of them"
        return Check(
            title, False, Sentence("Its rows are those that were published, {what}.", what=what)
        )
    if len(found) != len(made):
        return other_number(len(found), len(made))
    return Check(
        title,
        False,
        Sentence(
            "They are not those published: {difference}.",
            difference=describe_difference(differing, places[:rows]),
        ),
    )
