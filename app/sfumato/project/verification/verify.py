"""Whether a bundle is what it claims to be: a release of this project, unaltered and safe.

Every check says in plain words what was found; no finding holds a value of the table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, joined
from sfumato.engine.mechanisms.base import Check
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.reading import Bundle, opened_bundle
from sfumato.formats.files import printable
from sfumato.project.count_tables.verifying import check_count_table, is_count_table
from sfumato.project.ledger import ReleaseRecord, ReleaseState
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.regenerate import changes_since
from sfumato.project.verification.chain import check_entries
from sfumato.project.verification.compared import Order, all_rows_within, compared_rows
from sfumato.project.verification.policies import RecalledPolicies, TablePolicies
from sfumato.project.verification.published import check_publication
from sfumato.project.verification.recognition import (
    RecognizedBy,
    RecognizedRelease,
    find_release,
    known_release,
)
from sfumato.project.verification.rows import check_rows, classes_in
from sfumato.project.withdrawal import check_withdrawn

EXAMINED: Final = 1 << 22
"""So many rows are looked at more closely, drawn evenly where there are more."""
_SOURCE_TABLE: Final = "Source table"
"""The check that the table is the one that a release was made from."""


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
    added
        What is in the bundle and was not released, by its path in it.
    as_released
        Whether the ledger knows all files of the bundle that were released, byte for byte.
    """

    checks: tuple[Check, ...]
    release: ReleaseRecord | None = None
    recipient: str = ""
    whole: bool = True
    added: tuple[str, ...] = ()
    as_released: bool = False

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that don't hold."""
        return tuple(check for check in self.checks if not check.holds)

    @property
    def only_table_differs(self) -> bool:
        """Whether nothing fails but that the source table is not the one it was made from.

        Such a bundle is as it was released. It does not hold, since its values can be verified
        only with the table it was made from.
        """
        return self.as_released and [check.title for check in self.failed] == [_SOURCE_TABLE]


def verify_bundle(
    project: ProjectFile, table: BatchedTable, bundle_path: Path, context: Context
) -> VerificationReport:
    """Examine a bundle against the project, its ledger and the source table.

    It is judged by the policy that was in force when it was released. Nothing is written but for
    what is put aside meanwhile. An altered, cut, reordered or foreign bundle is no error: the
    report says what is wrong with it.

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
    if is_count_table(bundle_path):
        return VerificationReport(check_count_table(project, table, bundle_path, context))
    try:
        with opened_bundle(bundle_path, Part(context, 0.0, 0.1)) as (bundle, folder):
            found = _Verification(project, table, bundle, folder, Part(context, 0.1, 1.0)).report()
    except BundleError as error:
        return VerificationReport((Check("Files", False, error.sentence),))
    context.report(1.0, "Verified")
    return found


class _Verification:
    """A bundle whose files are in a folder, beside a project and its source table."""

    def __init__(
        self,
        project: ProjectFile,
        table: BatchedTable,
        bundle: Bundle,
        folder: Path,
        context: Context,
    ) -> None:
        self._project, self._table, self._bundle, self._folder = project, table, bundle, folder
        self._looking, self._context = Part(context, 0.0, 0.2), Part(context, 0.2, 1.0)
        self._policies: TablePolicies = RecalledPolicies(project, table, self._looking)

    def report(self) -> VerificationReport:
        """Compare all rows; see `verify_bundle`."""
        project, bundle = self._project, self._bundle
        match = known_release(bundle, project.releases)
        if match.record is None:
            self._policies = TablePolicies(project, self._table, self._looking)
            match = find_release(bundle, project.releases, self._policies, self._differing)
        known = _check_known_facts(project, self._table.rows, bundle, match)
        checks: tuple[Check, ...] = ()
        try:
            if match.record is not None and match.record.is_publication:
                given = (project, self._table, bundle, match.record, self._folder)
                checks = check_publication(*given, self._context)
            else:
                checks = self._checks_of_rows(match)
        except BundleError:
            raise
        except SfumatoError as error:
            finding = Sentence("It can't be compared. {error}", error=error.sentence)
            checks = (Check("Records", False, finding),)
        *first, source = known
        as_released = match.how is RecognizedBy.BY_DIGEST and not bundle.altered
        if as_released and not source.holds:
            source, checks = _beside_another_table(source, checks)
        told, added = (*first, source, *checks), bundle.added
        known_as = match.record, match.recipient
        return VerificationReport(told, *known_as, added=added, as_released=as_released)

    def _checks_of_rows(self, match: RecognizedRelease) -> tuple[Check, ...]:
        maker = self._policies.at(match.record)
        known = self._policies.context_of(maker)
        part, room = Part(self._context, 0.2, 0.7), self._table.folder
        again = known.rows_again(maker, match, Part(self._context, 0.0, 0.2))
        both = (again, self._bundle, self._folder, room)
        together = [plan.attributes for plan in match.plans]
        with ExitStack() as stack:
            classes = classes_in(self._bundle, match, known.left, stack)
            comparison = compared_rows(
                *both, part, together=together, counts=classes, examine=EXAMINED
            )
            part = Part(self._context, 0.7, 0.8)
            recognised = match.how is not RecognizedBy.NOT_AT_ALL
            if recognised and not comparison.all_alike and all_rows_within(*both, part):
                comparison = replace(comparison, order=Order.OTHER)
            kept: tuple[Check, ...] = ()
            if match.view is not None and classes is not None:
                kept = classes.checks(comparison, match.view.own.k)
        found = (*check_rows(self._bundle, match, maker, comparison), *kept)
        if not match.plans:
            return found
        rest, releases = Part(self._context, 0.8, 1.0), self._project.releases
        examined = known.part_at(comparison.examined.places, match, Part(rest, 0.0, 0.5))
        given = (match, releases, maker, examined, comparison)
        return (*found, *check_entries(*given, Part(rest, 0.5, 1.0)))

    def _differing(self, match: RecognizedRelease) -> float:
        """Return the share of rows in which perturbed columns are not a release's."""
        names = tuple(name for plan in match.plans for name in plan.attributes)
        if not names or not set(names) <= set(self._bundle.table.columns):
            return 1.0
        try:
            maker = self._policies.at(match.record)
            if any(maker.obstacle(plan) for plan in match.plans):
                return 1.0
            known = self._policies.context_of(maker)
            again = known.rows_again(maker, match, self._looking, only=names)
            given = (again, self._bundle, self._folder, self._table.folder, self._looking)
            found = compared_rows(*given, together=[names])
        except BundleError:
            raise
        except SfumatoError:
            return 1.0
        differing = found.differing.get(names)
        return 0.0 if differing is None else differing.count / found.rows


def _check_known_facts(
    project: ProjectFile, rows: int, bundle: Bundle, match: RecognizedRelease
) -> tuple[Check, ...]:
    """Check what is known without the rows of bundle and table, of which there are so many."""
    return (
        _check_files(bundle),
        *_check_added(bundle),
        _check_ledger(bundle, match),
        *check_withdrawn(None if match.record is None else match.record.withdrawn),
        *_check_policy(project, match),
        _check_source(project, rows, match),
    )


def _check_files(bundle: Bundle) -> Check:
    """Check the bundle's files against the digests that it states itself."""
    if bundle.altered:
        return Check.failed(
            "Files",
            "Not as {description} states: {names}. The digest differs, so the file "
            "was altered after it was released.",
            description=DATAPACKAGE_NAME,
            names=", ".join(bundle.altered),
        )
    return Check.passed(
        "Files", "All files are as {description} states.", description=DATAPACKAGE_NAME
    )


_OF_THE_SYSTEM: Final = re.compile(
    r"(.*/)?([.]DS_Store|[.]_.*|Thumbs[.]db|desktop[.]ini)|__MACOSX/.*"
)
"""What a desktop puts into folders that are looked at, and into zips that it makes."""
_NAMED: Final = 10
_LONGEST: Final = 200


def _check_added(bundle: Bundle) -> tuple[Check, ...]:
    """Name what is in a bundle and was not released; what a desktop puts there is no fault."""
    by_desktop = [name for name in bundle.added if _OF_THE_SYSTEM.fullmatch(name)]
    by_others = [name for name in bundle.added if not _OF_THE_SYSTEM.fullmatch(name)]
    checks = []
    if by_others:
        finding = Sentence(
            "The bundle has {count:,} {count:file|files} that {count:was|were} not released:"
            " {names}. Nothing is known of {count:it|them}: remove {count:it|them}, or ask who"
            " added {count:it|them}.",
            count=len(by_others),
            names=_named(by_others),
        )
        checks.append(Check("Added files", False, finding))
    if by_desktop:
        finding = Sentence(
            "The system added {count:,} {count:file|files}, which {count:tells|tell} how the folder"
            " is shown: {names}.",
            count=len(by_desktop),
            names=_named(by_desktop),
        )
        checks.append(Check("Added files", True, finding))
    return tuple(checks)


def _named(names: Sequence[str]) -> Sentence | str:
    shown = [printable(Path(name))[:_LONGEST] for name in names[:_NAMED]]
    more = len(names) - len(shown)
    joined = ", ".join(shown)
    return joined if not more else Sentence("{names} and {more:,} more", names=joined, more=more)


def _check_ledger(bundle: Bundle, match: RecognizedRelease) -> Check:
    """Check that the ledger knows the bundle."""
    if match.record is not None:
        return _check_known(bundle, match.how, match.record)
    if match.how is RecognizedBy.BY_KEY:
        return Check.failed(
            "Ledger",
            "The ledger has no such release. Its values are those that {recipient} "
            "would get, so it was made with this project's key: by a copy of the "
            "project, or before the ledger was lost.",
            recipient=match.recipient,
        )
    return Check(
        "Ledger",
        False,
        "The ledger has no such release, and its values are not those of any release of this"
        " project: it was made from another project, or altered beyond recognition.",
    )


def _check_known(bundle: Bundle, how: RecognizedBy, record: ReleaseRecord) -> Check:
    """Check what the ledger says of the release that a bundle was recognised as."""
    day = record.day
    release = Sentence(
        "the release {release_id} to {recipient}, recorded on {day}",
        release_id=record.release_id,
        recipient=record.recipient,
        day=day,
    )
    if how is RecognizedBy.BY_VALUES:
        finding = Sentence(
            "The ledger has no bundle with these files. Its values are those of {release}.",
            release=release,
        )
    elif how is RecognizedBy.BY_IDENTIFIER:
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
        return Check.passed("Ledger", "It is {release}, which was interrupted.", release=release)
    return Check("Ledger", False, finding)


def _other_files(bundle: Bundle, record: ReleaseRecord) -> str:
    names = {*bundle.files, *record.files}
    differing = [name for name in names if bundle.files.get(name) != record.files.get(name)]
    return ", ".join(sorted(differing))


def _beside_another_table(
    source: Check, checks: Sequence[Check]
) -> tuple[Check, tuple[Check, ...]]:
    """Return what a table that is not the one of then tells of an unaltered bundle.

    The ledger knows its files to the last byte. Whatever differs from rows of another table speaks
    of that table: it is no sign that the bundle was altered, and is not told as one.
    """
    apart = [check.title for check in checks if not check.holds]
    if not apart:
        return source, tuple(checks)
    finding = joined(
        source.finding,
        Sentence(
            "The bundle's files are those that were released; {count:,} {count:comparison|"
            "comparisons} with rows of the table as it is now {count:says|say} nothing about them"
            " and {count:is|are} left out.",
            count=len(apart),
        ),
    )
    told = Check(source.title, False, finding)
    return told, tuple(check for check in checks if check.holds)


def _check_policy(project: ProjectFile, match: RecognizedRelease) -> tuple[Check, ...]:
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


def _check_source(project: ProjectFile, rows: int, match: RecognizedRelease) -> Check:
    """Check that the table is the one that the release was made from."""
    title = _SOURCE_TABLE
    known = project.document.source
    made_from = known if match.record is None else match.record.source
    if known is None or made_from is None:
        return Check(title, True, Sentence("It has {rows:,} {rows:record|records}.", rows=rows))
    if rows != made_from.rows:
        return Check.failed(
            title,
            "It has {rows:,} {rows:record|records}, but the release was made from"
            " {made_from:,}. Verify the bundle with the table it was made from.",
            rows=rows,
            made_from=made_from.rows,
        )
    if known.digest != made_from.digest:
        return Check(
            title,
            False,
            "It has changed since the release was made. Verify the bundle with the table it was"
            " made from.",
        )
    return Check.passed(
        title, "The release was made from it: {rows:,} {rows:record|records}.", rows=rows
    )
