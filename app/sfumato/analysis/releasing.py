"""Checking a project, making its releases and weighing what they are worth: one step each.

Nothing else releases: what the check finds grave keeps a release back, whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import APPROVAL, Finding
from sfumato.analysis.readiness.readiness import (
    LookedAt,
    accepted_for,
    checked_rows,
    looked_at,
    require_ready,
    settle,
)
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.analysis.utility.worth import RecipientWorth, weigh_worth
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.wording import Sentence
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.formats.memory import give_memory_back
from sfumato.project.approval import approvals, lacking_sentence
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.release.release import ReleaseOutcome, RowsBy, make_plan, make_release


def check_project(
    project: ProjectFile,
    table: BatchedTable,
    context: Context,
    recipients: Collection[str] | None = None,
    looked: LookedAt | None = None,
) -> tuple[Readiness, ...]:
    """Return what stands in the way of a project's releases, for each recipient.

    Parameters
    ----------
    project, table
        The project, and its source table.
    context
        Progress and cancelling.
    recipients
        Whose releases are examined; None for all. What was found of others before is told, too.
    looked
        What `looked_at` found for all of them, where somebody has looked already.

    Returns
    -------
    tuple of Readiness
        The most exposed recipient first. A project that publishes a generalized table alone has
        one, called `PUBLIC`.

    Raises
    ------
    SfumatoError
        If policy and table don't fit together.
    """
    document = project.document
    found: tuple[Readiness, ...]
    if document.is_published_only:
        # All that makes such a table is needed by few releases.
        from sfumato.analysis.tables.generalized_table import check_publication  # noqa: PLC0415

        found = (check_publication(document, table, context),)
    else:
        given = document, table, project.keys, project.remembered, context
        rows = checked_rows(*given, recipients, looked)
        found = rows.readiness(project.releases, document.accepted)
    if document.needs_approval:
        found = _with_approvals(project, found)
    if (changed := project.tampering) is not None:
        seal = Finding("Seal and ledger", Severity.GRAVE, changed.sentence, refuses=True)
        found = tuple(replace(each, findings=(seal, *each.findings)) for each in found)
    return found


def _with_approvals(project: ProjectFile, found: Sequence[Readiness]) -> tuple[Readiness, ...]:
    """Return what was found with the second person's approval, or that there is none."""
    known = approvals(project, project.document, [each.recipient for each in found])
    made = []
    for each in found:
        approval = known[each.recipient]
        if approval is None:
            lacking = lacking_sentence(project, each.recipient)
            finding = Finding(APPROVAL, Severity.GRAVE, lacking, asks=False, refuses=True)
        else:
            told = Sentence("{name} approved it.", name=approval.name)
            finding = Finding(APPROVAL, Severity.GOOD, told)
        made.append(replace(each, findings=(finding, *each.findings)))
    return tuple(made)


@dataclass(frozen=True)
class ReleaseOrder:
    """What is to be released.

    Parameters
    ----------
    recipients
        Their names, in order.
    folder
        Where the bundles go; made where it is missing.
    format_name
        The data files' format: ``csv``, ``parquet``, ``sav`` or ``dta``.
    as_zip
        One zip file each instead of a folder.
    override
        The reason for releasing a column otherwise than before; may be empty.
    escape_formulas
        Whether texts that a spreadsheet would run are made harmless in CSV files.
    dcat
        Whether bundles are described for data catalogues too.
    """

    recipients: tuple[str, ...]
    folder: Path
    format_name: str = "csv"
    as_zip: bool = False
    override: str = ""
    escape_formulas: bool = True
    dcat: bool = False

    def _release(
        self,
        project: ProjectFile,
        prepared: PreparedTable,
        recipient: str,
        checked: Sequence[Readiness],
        context: Context,
        rows_by: RowsBy | None = None,
    ) -> ReleaseOutcome:
        """Make one recipient's release, for which the check found nothing that keeps it back.

        Parameters
        ----------
        project, prepared
            Open for writing; and its source table.
        recipient, checked
            For whom; and what was found, whose reasons the ledger keeps.
        context
            Progress and cancelling. A cancelled release leaves nothing.
        rows_by
            What makes the released rows in this process's place.

        Raises
        ------
        SfumatoError
            As `make_release` does.
        """
        return make_release(
            project,
            prepared.table,
            recipient,
            self.folder,
            self.format_name,
            context,
            self.as_zip,
            override=self.override,
            escape_formulas=self.escape_formulas,
            dcat=self.dcat,
            prepared=prepared,
            accepted=accepted_for(checked, recipient),
            rows_by=rows_by,
        )


def make_releases(
    project: ProjectFile,
    prepared: PreparedTable,
    order: ReleaseOrder,
    reason: str,
    context: Context,
    rows_by: RowsBy | None = None,
) -> Iterator[ReleaseOutcome]:
    """Check a project, and make releases to recipients, one after another.

    Parameters
    ----------
    project, prepared
        Open for writing; and what releases of its source table have in common.
    order
        Who gets a bundle, and how it is made.
    reason
        The custodian's reason for whatever grave is open; may be empty.
    context
        Progress and cancelling. A release that is cancelled leaves nothing; those before stay.
    rows_by
        What makes the released rows in this process's place.

    Yields
    ------
    ReleaseOutcome
        Each release, once it is in its place.

    Raises
    ------
    ReleaseError
        If something grave is open and no reason is given, or as `make_release` does.
    SfumatoError
        As `settle` and `make_release` do.
    """
    if len(order.recipients) > 1:
        prepared.expect_several()
    checked = settle(project, prepared.table, order.recipients, reason, Part(context, 0.0, 0.1))
    give_memory_back()  # what the check took, before the rows are put in order
    for recipient, part in one_by_one(Part(context, 0.1, 1.0), order.recipients):
        yield order._release(project, prepared, recipient, checked, part, rows_by)


def release_as_plan(
    project: ProjectFile,
    table: BatchedTable,
    recipient: str,
    files: tuple[Path, Path],
    reason: str,
    context: Context,
    override: str = "",
) -> ReleaseRecord:
    """Check a project, and write a plan and its keys, by which a release is made elsewhere.

    Parameters
    ----------
    project, table
        Open for writing; and its source table.
    recipient
        For whom.
    files
        Where the plan goes, and where its keys.
    reason
        The custodian's reason for whatever grave is open; may be empty.
    context
        Progress and cancelling.
    override
        The reason for releasing a column otherwise than before; may be empty.

    Raises
    ------
    SfumatoError
        As `settle` and `make_plan` do.
    """
    checked = settle(project, table, [recipient], reason, Part(context, 0.0, 0.6))
    accepted = accepted_for(checked, recipient)
    rest = Part(context, 0.6, 1.0)
    return make_plan(project, table, recipient, *files, rest, override=override, accepted=accepted)


@dataclass(frozen=True)
class Refusal:
    """A release that could not be made."""

    recipient: str
    error: SfumatoError


@dataclass(frozen=True)
class Made:
    """What became of an order."""

    outcomes: tuple[ReleaseOutcome, ...]
    refusals: tuple[Refusal, ...]


def make_all(
    project: ProjectFile, table: BatchedTable, order: ReleaseOrder, context: Context
) -> Made:
    """Make the releases of an order, one after another; a refused one does not stop the others.

    Raises
    ------
    Cancelled
        When asked to stop. Releases that were finished by then stay.
    """
    outcomes: list[ReleaseOutcome] = []
    refusals: list[Refusal] = []
    count, document = len(order.recipients), project.document
    prepared = PreparedTable(project, table)
    if count > 1:
        prepared.expect_several()
    given = (document, prepared.table, project.keys, project.remembered)
    try:
        rows = checked_rows(*given, Part(context, 0.0, 0.3), order.recipients)
        checked = rows.readiness(project.releases, document.accepted)
    except SfumatoError as error:
        return Made((), tuple(Refusal(name, error) for name in order.recipients))
    rest = Part(context, 0.3, 1.0)
    for place, recipient in enumerate(order.recipients):
        part = Part(rest, place / count, (place + 1) / count)
        part.report(0.0, recipient)
        try:
            require_ready(checked, [recipient])
            outcome = order._release(project, prepared, recipient, checked, part)
        except SfumatoError as error:
            refusals.append(Refusal(recipient, error))
        else:
            outcomes.append(outcome)
    return Made(tuple(outcomes), tuple(refusals))


def worth_of_releases(
    project: ProjectFile, table: BatchedTable, context: Context
) -> tuple[RecipientWorth, ...]:
    """Return what each recipient's release is worth to them.

    Raises
    ------
    PolicyError
        If the project has no recipients.
    """
    document, keys = project.document, project.keys
    if document.is_published_only or not document.recipients:
        raise PolicyError(
            "The project has no recipients whose releases could be weighed.",
            "Add recipients and their levels by a rules file (sfumato rules --apply).",
        )
    seen = looked_at(document, table, keys, Part(context, 0.0, 0.6))
    return tuple(weigh_worth(*seen, Part(context, 0.6, 1.0), KeyedNoise(keys)))
