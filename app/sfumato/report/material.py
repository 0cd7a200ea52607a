"""What a report is made from, collected once: snapshots, no open project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from enum import StrEnum
from functools import partial

from sfumato.analysis.all_rows import AllRows, rows_of
from sfumato.analysis.answers import Answer
from sfumato.analysis.audit_inputs import AuditInputs, inputs_of
from sfumato.analysis.coalitions.holdings import Holding, ReleaseBasis
from sfumato.analysis.coarsening.view_checks import seen_by
from sfumato.analysis.coarsening.views import unique_by_recipient
from sfumato.analysis.disclosure.pooled_rows import pooled_rows, repeated_units
from sfumato.analysis.disclosure.record_losses import losses_by_records
from sfumato.analysis.guarantee import Guarantee, guarantee_of
from sfumato.analysis.planning.board import board_rows, example_of, untold_in
from sfumato.analysis.questions import all_questions
from sfumato.analysis.questions.question import AuditQuestion
from sfumato.analysis.readiness.readiness import LookedAt, looked_at
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.analysis.releasing import check_project
from sfumato.analysis.shown_columns import ShownColumns
from sfumato.analysis.tables.generalized_table import check_publication
from sfumato.analysis.unperturbed.open_columns import OpenAnswer, answer_open_columns
from sfumato.engine.core.columns import Leaves
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Attribute
from sfumato.project.count_tables.held import count_tables_in
from sfumato.project.document.entry_plan import EntryPlan, ladder_of
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.errors import LedgerTampered
from sfumato.project.ledger import Entry, ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.regenerate import changes_since
from sfumato.project.release.uniqueness import SampleUniques
from sfumato.project.store.files import Clock, stamp
from sfumato.project.verification.policies import TablePolicies


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
class EntryFindings:
    """What is found out about one policy entry.

    Parameters
    ----------
    held
        What everybody holds or will hold of it, the most trusted first.
    answers
        What all of them together learn, and what each release gives away of small groups.
    """

    held: tuple[Holding, ...]
    answers: tuple[Answer, ...] = ()


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
    publication
        What a check finds of a generalized table in the place of releases; None where it is none.
    sections
        The answers to the questions that have a section of their own.
    ways
        By recipient and column, how it leaves.
    found
        What the check before a release finds for each recipient; none where it can't be made.
    """

    document: Document
    rows: int
    attributes: Mapping[str, Attribute]
    guarantee: Guarantee
    findings: Mapping[str, EntryFindings]
    open: OpenAnswer | None
    unique: tuple[SampleUniques, ...]
    releases: tuple[ReleaseRecord, ...]
    entries: tuple[Entry, ...]
    tampering: str
    made_at: str
    earlier: Mapping[str, EarlierPolicy] = field(default_factory=dict)
    sampled: int | None = None
    publication: Readiness | None = None
    sections: Mapping[AuditQuestion, tuple[Answer, ...]] = field(default_factory=dict)
    ways: Mapping[str, Mapping[str, Leaves]] = field(default_factory=dict)
    found: tuple[Readiness, ...] = ()

    def chosen(self, entry: PolicyEntry) -> tuple[Attribute, ...]:
        """Return an entry's attributes."""
        return tuple(self.attributes[name] for name in entry.attributes)


def collect(
    project: ProjectFile, table: BatchedTable, clock: Clock, context: Context
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
    inputs = replace(
        _inputs(rows, table, releases, known),
        counts=() if tampering else count_tables_in(entries),
        losses=partial(losses_by_records, project, table),
    )
    findings = _findings(inputs, Part(context, 0.3, 0.8))
    units = repeated_units(table, Part(context, 0.8, 0.85))
    pooled = pooled_rows(document, attributes, units, releases, ReleaseBasis.EITHER, Silent())
    policies = TablePolicies(project, table, Part(context, 0.9, 1.0))
    return ReportMaterial(
        document=document,
        rows=table.rows,
        attributes=attributes,
        guarantee=guarantee_of(document, attributes, releases, pooled),
        findings=findings,
        publication=_publication(project, table, Part(context, 0.9, 0.95)),
        open=known.open,
        unique=known.unique,
        releases=releases,
        entries=entries,
        tampering=tampering,
        made_at=stamp(clock),
        earlier=_earlier(document, policies, attributes, releases),
        sampled=rows.sampled,
        sections=_sections(inputs),
        ways=_ways(document, known),
        found=_found(project, table, known.looked),
    )


def _ways(document: Document, known: _KnownFigures) -> dict[str, dict[str, Leaves]]:
    """Return how each column leaves for each recipient, as the board has it."""
    columns = known.leaving
    if columns is None:
        return {}
    recipes, people = document.hierarchies, document.recipients
    examples = {
        spec.name: example_of(spec, recipes.get(spec.name), columns) for spec in document.columns
    }
    rows = board_rows(document, examples, known.attributes, people)
    ways = {}
    for place, each in enumerate(people):
        own = {row.spec.name: row.cells[place].leaves for row in rows}
        with suppress(SfumatoError):  # a view that can't be made shows no cells
            seen = seen_by(document, each, columns)
            own |= dict.fromkeys(() if seen is None else untold_in(seen), Leaves.LEFT_OUT)
        ways[each.name] = own
    return ways


def _found(
    project: ProjectFile, table: BatchedTable, looked: LookedAt | None
) -> tuple[Readiness, ...]:
    """Return what the check before a release finds; nothing where it can't be made."""
    if project.document.is_published_only:
        return ()
    with suppress(SfumatoError):
        return check_project(project, table, Silent(), looked=looked)
    return ()


def _inputs(
    rows: AllRows,
    table: BatchedTable,
    releases: Sequence[ReleaseRecord],
    known: _KnownFigures,
) -> AuditInputs:
    """Return what questions are asked of, with what is known already."""
    inputs, leaving = inputs_of(rows, table, releases, known.attributes), known.leaving
    inputs = replace(inputs, opened=lambda _looking: known.open)
    return inputs if leaving is None else replace(inputs, leaving=lambda _looking: leaving)


def _sections(inputs: AuditInputs) -> dict[AuditQuestion, tuple[Answer, ...]]:
    """Return the answers to the questions that have a section of their own; else why not."""
    found = {}
    for question in all_questions():
        if question.in_report:
            try:
                found[question] = tuple(question.answers(inputs, Silent()))
            except SfumatoError as error:
                found[question] = (Answer((error.sentence,)),)
    return found


def _publication(project: ProjectFile, table: BatchedTable, context: Context) -> Readiness | None:
    """Return what a check finds of a generalized table; None where it takes no releases' place."""
    if not project.document.is_published_only:
        return None
    return check_publication(project.document, table, context)


@dataclass(frozen=True)
class _KnownFigures:
    """What a report's figures rest on; see `ReportMaterial`."""

    attributes: Mapping[str, Attribute]
    looked: LookedAt | None = None
    unique: tuple[SampleUniques, ...] = ()
    open: OpenAnswer | None = None

    @property
    def leaving(self) -> ShownColumns | None:
        """The columns of the rows that leave."""
        return None if self.looked is None else self.looked[1]


def _known(
    project: ProjectFile, table: BatchedTable, rows: AllRows, context: Context
) -> _KnownFigures:
    """Return what is known of the rows."""
    document = project.document
    looking, counting = Part(context, 0.0, 0.4), Part(context, 0.4, 0.5)
    if document.generalization is not None and not document.policy:
        return _KnownFigures({})  # a generalized table in the place of releases needs no policy
    looked = looked_at(document, table, project.keys, looking)
    told, leaving, _ = looked  # with the domains by which the check asks the same
    attributes = rows.attributes(looking)
    unique = unique_by_recipient(document, leaving.leaving, counting)
    opened = answer_open_columns(told, leaving.whole, attributes, Part(context, 0.5, 0.9))
    return _KnownFigures(attributes, looked, unique, opened)


def _findings(inputs: AuditInputs, context: Context) -> dict[str, EntryFindings]:
    """Return what is found out about each policy entry."""
    findings = {}
    for entry, part in one_by_one(context, inputs.document.policy):
        part.report(0.0, Sentence("Weighing the coalition of everybody with {key}", key=entry.key))
        answers = tuple(
            answer
            for question, asking in one_by_one(part, all_questions())
            for answer in question.of_entry(inputs, entry, asking)
        )
        findings[entry.key] = EntryFindings(inputs.held(entry), answers)
    return findings


def _earlier(
    document: Document,
    policies: TablePolicies,
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
