"""What a report is made from, collected once: snapshots, no open project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sfumato.analysis.guarantee import Guarantee, guarantee_of
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.collusion import restored_alone, restored_together, restored_without
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.engine.disclosure.gaussian_experiment import Pool, expected_by_copies
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.postprocessing import form_leaks_of
from sfumato.engine.mechanisms.postprocessing_leakage import FormLeaks
from sfumato.engine.table.table import Attribute, Table
from sfumato.plots.collusion_bars import CollusionData, Member
from sfumato.plots.error_by_copies import CopiesData
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.errors import LedgerTampered
from sfumato.project.ledger.ledger import Entry
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.store.clock import Clock, stamp


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
    plans
        For each policy entry's key, the recipients' releases: their names and levels.
    coalitions
        For each policy entry with matrices, what all recipients together restore.
    copies
        For each policy entry of numbers, what all recipients together leave open.
    forms
        For each policy entry whose numbers are rounded or bounded, what that gives away.
    releases
        What the ledger has of releases, oldest first.
    entries
        The ledger's entries, oldest first.
    tampering
        Why the ledger can't be relied on; empty where it can.
    made_at
        When, ISO 8601, UTC.
    """

    document: Document
    rows: int
    attributes: Mapping[str, Attribute]
    guarantee: Guarantee
    plans: Mapping[str, tuple[tuple[str, EntryPlan], ...]]
    coalitions: Mapping[str, CollusionData]
    copies: Mapping[str, CopiesData]
    forms: Mapping[str, FormLeaks]
    releases: tuple[ReleaseRecord, ...]
    entries: tuple[Entry, ...]
    tampering: str
    made_at: str

    def chosen(self, entry: PolicyEntry) -> tuple[Attribute, ...]:
        """Return an entry's attributes."""
        return tuple(self.attributes[name] for name in entry.attributes)


def collect(project: ProjectFile, table: Table, clock: Clock, context: Context) -> ReportMaterial:
    """Collect what a report tells of.

    Parameters
    ----------
    project
        The project; read-only is enough. Its saved document is reported.
    table
        The source table.
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
    # A generalized table in the place of releases needs no policy.
    instead = document.generalization is not None and not document.policy
    attributes = {} if instead else Regenerator(document, table, project.keys).attributes()
    guarantee = guarantee_of(document, attributes, releases)
    plans = {entry.key: _plans(guarantee, entry, releases) for entry in document.policy}
    coalitions, copies, forms = {}, {}, {}
    for place, entry in enumerate(document.policy):
        count = len(document.policy)
        part = Part(context, 0.2 + 0.8 * place / count, 0.2 + 0.8 * (place + 1) / count)
        part.report(0.0, f"Weighing the coalition of all recipients of {entry.key}")
        data = _coalition(entry, plans[entry.key], attributes, part)
        if data is not None:
            coalitions[entry.key] = data
        pool = _pool(entry, plans[entry.key], attributes)
        pooled = None if pool is None else _copies(entry, plans[entry.key], pool)
        if pool is not None and pooled is not None:
            copies[entry.key] = pooled
            leaks = form_leaks_of(pool.mechanism, pool.levels, pool.attributes, pool.settings, part)
            if leaks is not None:
                forms[entry.key] = leaks
    return ReportMaterial(
        document=document,
        rows=table.rows,
        attributes=attributes,
        guarantee=guarantee,
        plans=plans,
        coalitions=coalitions,
        copies=copies,
        forms=forms,
        releases=releases,
        entries=entries,
        tampering=tampering,
        made_at=stamp(clock),
    )


def _ledger(
    project: ProjectFile,
) -> tuple[tuple[ReleaseRecord, ...], tuple[Entry, ...], str]:
    if project.tampering is not None:
        return (), (), str(project.tampering)
    try:
        project.ledger.verify_chain()
        return project.releases, project.ledger.entries, ""
    except LedgerTampered as tampering:
        return (), (), str(tampering)


def _plans(
    guarantee: Guarantee, entry: PolicyEntry, releases: tuple[ReleaseRecord, ...]
) -> tuple[tuple[str, EntryPlan], ...]:
    """Return who holds or will hold what of an entry, the most trusted first."""
    found: dict[tuple[str, float], tuple[str, EntryPlan]] = {}
    for record in releases:
        plan = record.plan_for(entry.attributes[0]) if record.counts else None
        same = plan is not None and plan.attributes == entry.attributes
        if plan is not None and same and plan.mechanism == entry.mechanism:
            found[record.recipient, plan.level] = (record.recipient, plan)
    for promise in guarantee.promises:
        if promise.entry.key == entry.key:
            plan = EntryPlan(
                entry.attributes, entry.mechanism, entry.settings, {}, promise.level, ""
            )
            found.setdefault((promise.recipient, promise.level), (promise.recipient, plan))
    mechanism = mechanism_called(entry.mechanism)
    return tuple(sorted(found.values(), key=lambda held: -mechanism.trust(held[1].level)))


def _coalition(
    entry: PolicyEntry,
    plans: tuple[tuple[str, EntryPlan], ...],
    attributes: Mapping[str, Attribute],
    context: Context,
) -> CollusionData | None:
    """Return what all recipients of an entry restore together; None where it has no matrices."""
    mechanism = mechanism_called(entry.mechanism)
    chosen = [attributes[name] for name in entry.attributes]
    # Where rows change places in their groups, a record's chances aren't its matrix's.
    if not plans or chosen[0].counts is None or mechanism.needs_groups:
        return None
    try:
        found = [mechanism.matrix(plan.level, chosen, plan.settings) for _, plan in plans]
    except SfumatoError:
        return None  # released under settings that no longer fit; verifying its file tells more
    matrices = [matrix for matrix in found if matrix is not None]
    frequencies = chosen[0].frequencies
    if len(matrices) < len(plans) or any(m.size != len(frequencies) for m in matrices):
        return None
    alone = [
        restored_alone(matrix, frequencies, Part(context, 0.0, 0.5)).guessed for matrix in matrices
    ]
    together = restored_together(matrices, frequencies, Part(context, 0.5, 1.0))
    members = tuple(
        Member(name, mechanism.trust(plan.level), share)
        for (name, plan), share in zip(plans, alone, strict=True)
    )
    return CollusionData(
        attribute=entry.key,
        members=members,
        on_ladder=alone[0],
        independent=max(together.guessed, alone[0]),
        uncertainty=together.half_width,
        without=restored_without(frequencies).guessed,
    )


def _pool(
    entry: PolicyEntry,
    plans: tuple[tuple[str, EntryPlan], ...],
    attributes: Mapping[str, Attribute],
) -> Pool | None:
    """Return the copies that all recipients of an entry's numbers hold; None where it has none."""
    chosen = tuple(attributes[name] for name in entry.attributes)
    if not plans or any(attribute.numbers is None for attribute in chosen):
        return None
    levels = tuple(plan.level for _, plan in plans)
    return Pool(mechanism_called(entry.mechanism), entry.settings, chosen, levels)


def _copies(
    entry: PolicyEntry, plans: tuple[tuple[str, EntryPlan], ...], pool: Pool
) -> CopiesData | None:
    """Return what all recipients of an entry's numbers leave open together."""
    try:
        errors = expected_by_copies(pool)
    except SfumatoError:
        return None  # the promises say what is wrong with the numbers
    return CopiesData(
        entry.key,
        tuple(name for name, _ in plans),
        errors[Dependence.LADDER],
        errors[Dependence.INDEPENDENT],
        errors[Dependence.LINEAR],
    )
