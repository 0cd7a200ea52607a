"""What a report is made from, collected once: snapshots, no open project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sfumato.analysis.all_rows import AllRows, rows_of
from sfumato.analysis.coalitions import CoalitionAnswer, weigh_coalition
from sfumato.analysis.composition import Beside, asked_of, beside_others
from sfumato.analysis.guarantee import Guarantee, guarantee_of
from sfumato.analysis.holdings import Basis, Holding, holdings_of
from sfumato.analysis.open_columns import OpenAnswer, answer_open_columns
from sfumato.analysis.pooled_numbers import PooledNumbers, numbers_coalition, weigh_numbers
from sfumato.analysis.pooled_rows import pooled_rows, repeated_units
from sfumato.analysis.readiness import looked_through
from sfumato.analysis.shown_columns import ShownColumns
from sfumato.analysis.small_groups import RiskAnswer, Subject, risk_of_each
from sfumato.analysis.views import unique_by_recipient
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Attribute, Table
from sfumato.project.document.entry_plan import EntryPlan, ladder_of
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.errors import LedgerTampered
from sfumato.project.ledger import Entry, ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.byproducts import check_weights
from sfumato.project.release.groups import usual_knowledge
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.regenerate import PoliciesInForce, changes_since
from sfumato.project.release.release_columns import check_columns, leaving_table
from sfumato.project.release.uniqueness import AloneInRelease
from sfumato.project.store.files import Clock, stamp
from sfumato.project.verification.long_leak import LongPolicies


class Audience(StrEnum):
    """Who a report is for."""

    INTERNAL = "internal"
    """The custodian's house: everything but the secret and single values of people."""
    OUTSIDE = "outside"
    """Anyone: nothing secret, no count below the threshold, no place of a file."""


USUAL_THRESHOLD = 10


@dataclass(frozen=True)
class ReportOptions:
    """What the custodian chooses.

    Parameters
    ----------
    audience
        Who it is for.
    threshold
        The smallest count of records that is shown to outsiders, at least 1.
    """

    audience: Audience = Audience.INTERNAL
    threshold: int = USUAL_THRESHOLD

    @property
    def internal(self) -> bool:
        """Whether it stays in the house."""
        return self.audience is Audience.INTERNAL


@dataclass(frozen=True)
class Findings:
    """What is found out about one policy entry.

    Parameters
    ----------
    held
        What everybody holds or will hold of it, the most trusted first.
    coalition
        What all of them together restore; None where it has no matrices.
    numbers
        What all of them together leave open; None where it is not one of numbers.
    small_groups
        What each recipient's release gives away of groups alike in the quasi-identifiers.
    problem
        Why what is held can't be weighed together; empty where it can.
    """

    held: tuple[Holding, ...]
    coalition: CoalitionAnswer | None = None
    numbers: PooledNumbers | None = None
    small_groups: tuple[RiskAnswer, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class EarlierPolicy:
    """What was released of an entry on a ladder that today's policy has no more.

    Parameters
    ----------
    attributes
        The entry's attributes as they were; none where the table does not have them any more.
    held
        The releases, each with the entry's plan, oldest first.
    """

    attributes: tuple[Attribute, ...]
    held: tuple[tuple[ReleaseRecord, EntryPlan], ...]


@dataclass(frozen=True)
class ReportMaterial:
    """Everything a report tells of.

    Parameters
    ----------
    document
        What is decided.
    rows
        The records of the source table, n.
    attributes
        What is known of the policy's attributes, by name.
    guarantee
        What the present settings promise.
    findings
        For each policy entry's key, who holds it and what that comes to.
    beside
        What our table and other holders' leave together; None where there are no others.
    open
        What the columns released unchanged tell; None where there are no releases of that kind.
    unique
        How many records are unique on the columns that are not perturbed, as they are and as
        each recipient with a view sees them; none where there are no such columns or releases.
    releases
        What the ledger has of releases, oldest first.
    entries
        The ledger's entries, oldest first.
    tampering
        Why the ledger can't be relied on; empty where it can.
    made_at
        When, ISO 8601, UTC.
    earlier
        For each ladder that releases sit on and today's policy has no more, what was released.
    sampled
        From how many records, drawn evenly, numbers are known; None for all.
    """

    document: Document
    rows: int
    attributes: Mapping[str, Attribute]
    guarantee: Guarantee
    findings: Mapping[str, Findings]
    beside: Beside | None
    open: OpenAnswer | None
    unique: tuple[AloneInRelease, ...]
    releases: tuple[ReleaseRecord, ...]
    entries: tuple[Entry, ...]
    tampering: str
    made_at: str
    earlier: Mapping[str, EarlierPolicy] = field(default_factory=dict)
    sampled: int | None = None

    def chosen(self, entry: PolicyEntry) -> tuple[Attribute, ...]:
        """Return an entry's attributes."""
        return tuple(self.attributes[name] for name in entry.attributes)


def collect(
    project: ProjectFile, table: Table | LongTable, clock: Clock, context: Context
) -> ReportMaterial:
    """Collect what a report tells of.

    Parameters
    ----------
    project
        The project; read-only is enough. Its saved document is reported.
    table
        The source table, in memory or not.
    clock
        Tells when the report is made.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        If the policy and the table don't fit together.
    """
    document = project.document
    context.report(0.0, "Reading the ledger")
    releases, entries, tampering = _ledger(project)
    rows = rows_of(document, table, project.keys, (project.path.parent,))
    known = _known(project, table, rows, Part(context, 0.0, 0.3))
    attributes = known.attributes
    findings = {}
    for place, entry in enumerate(document.policy):
        count = len(document.policy)
        part = Part(context, 0.3 + 0.5 * place / count, 0.3 + 0.5 * (place + 1) / count)
        part.report(0.0, Sentence("Weighing the coalition of everybody with {key}", key=entry.key))
        found = _weighed(document, entry, attributes, releases, Part(part, 0.0, 0.5))
        if len(entry.attributes) == 1 and attributes[entry.attributes[0]].domain is not None:
            subject = Subject(rows, entry, usual_knowledge(document))
            found = replace(found, small_groups=risk_of_each(subject, Part(part, 0.5, 1.0)))
        findings[entry.key] = found
    units = repeated_units(table, Part(context, 0.8, 0.85))
    pooled = pooled_rows(document, attributes, units, releases, Basis.EITHER, Silent())
    beside = _beside(document, table, Part(context, 0.85, 0.9))
    policies = _policies(project, table, Part(context, 0.9, 1.0))
    return ReportMaterial(
        document=document,
        rows=table.rows,
        attributes=attributes,
        guarantee=guarantee_of(document, attributes, releases, pooled),
        findings=findings,
        beside=beside,
        open=known.open,
        unique=known.unique,
        releases=releases,
        entries=entries,
        tampering=tampering,
        made_at=stamp(clock),
        earlier=_earlier(document, policies, attributes, releases),
        sampled=rows.sampled,
    )


def _policies(project: ProjectFile, table: Table | LongTable, context: Context) -> PoliciesInForce:
    """Return the policies that releases were made by."""
    if isinstance(table, Table):
        folders = (project.path.parent,)
        return PoliciesInForce(project.document, table, project.keys, folders)
    return LongPolicies(project, table, context)


@dataclass(frozen=True)
class _Known:
    """What a report's figures rest on; see `ReportMaterial`."""

    attributes: Mapping[str, Attribute]
    unique: tuple[AloneInRelease, ...] = ()
    open: OpenAnswer | None = None


def _known(
    project: ProjectFile, table: Table | LongTable, rows: AllRows, context: Context
) -> _Known:
    """Return what is known of the rows."""
    document = project.document
    looking, counting = Part(context, 0.0, 0.4), Part(context, 0.4, 0.5)
    if document.generalization is not None and not document.policy:
        return _Known({})  # a generalized table in the place of releases needs no policy
    if isinstance(table, LongTable):
        seen = looked_through(document, table, project.keys, looking)[1]
        columns: ShownColumns = seen
        left: Table | LongTable = seen.long
    else:
        check_columns(document, table)
        check_weights(document, table)
        columns, left = ShownColumns(table), leaving_table(document, table, project.keys)
    attributes = rows.attributes(looking)
    unique = unique_by_recipient(document, left, counting)
    opened = answer_open_columns(document, columns, attributes, Part(context, 0.5, 1.0))
    return _Known(attributes, unique, opened)


def _weighed(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    releases: Sequence[ReleaseRecord],
    context: Context,
) -> Findings:
    """Weigh what everybody holds, or will hold, by the entry's present mechanism."""
    everybody = holdings_of(document, entry, attributes, releases, Basis.EITHER)
    held = tuple(each for each in everybody if each.plan.mechanism == entry.mechanism)
    pool = numbers_coalition(entry, held, attributes)
    try:
        return Findings(
            held,
            weigh_coalition(entry, held, attributes, context) if held else None,
            None if pool is None else weigh_numbers(pool, context),
        )
    except SfumatoError as error:
        return Findings(held, problem=error.sentence)


def _earlier(
    document: Document,
    policies: PoliciesInForce,
    attributes: Mapping[str, Attribute],
    releases: Sequence[ReleaseRecord],
) -> dict[str, EarlierPolicy]:
    """Return what was released on ladders that today's policy has no more."""
    today = {ladder_of(document, entry, attributes) for entry in document.policy}
    found: dict[str, EarlierPolicy] = {}
    for record in releases:
        for plan in record.plans if record.counts else ():
            if plan.ladder in today or not _has_changed(record, plan, document):
                continue
            if plan.ladder not in found:
                chosen: tuple[Attribute, ...] = ()
                with suppress(SfumatoError, KeyError):  # of columns that the table has no more
                    known = policies.at(record).attributes_of(plan)
                    chosen = tuple(known[name] for name in plan.attributes)
                found[plan.ladder] = EarlierPolicy(chosen, ())
            known_so_far = found[plan.ladder]
            held = (*known_so_far.held, (record, plan))
            found[plan.ladder] = replace(known_so_far, held=held)
    return found


def _has_changed(record: ReleaseRecord, plan: EntryPlan, now: Document) -> bool:
    """Whether columns are released otherwise today; other rows alone make another ladder, too."""
    if record.policy is None:
        return True
    return not set(plan.attributes).isdisjoint(changes_since(record.policy, now))


def _beside(document: Document, table: Table | LongTable, context: Context) -> Beside | None:
    """Return what our table and the others' leave; None where none is named or can be read."""
    decided = document.generalization
    if decided is None or not decided.others:
        return None
    with suppress(SfumatoError):
        return beside_others(document, table, True, asked_of(document) or 1, "this table", context)
    return None


def _ledger(
    project: ProjectFile,
) -> tuple[tuple[ReleaseRecord, ...], tuple[Entry, ...], str]:
    if project.tampering is not None:
        return (), (), project.tampering.sentence
    try:
        project.ledger.verify_chain()
        return project.releases, project.ledger.entries, ""
    except LedgerTampered as tampering:
        return (), (), tampering.sentence
