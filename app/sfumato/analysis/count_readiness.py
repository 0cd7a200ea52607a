"""Ready for a table of counts? What a record would have lost in all, checked before it is made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import APPROVAL, TOTAL_EPSILON, About, Finding
from sfumato.analysis.readiness import accepted_for, accepting, require_ready
from sfumato.analysis.record_losses import (
    LossInAll,
    editions_sentence,
    losses_by_records,
    losses_in_all,
    uncounted_sentence,
)
from sfumato.analysis.verdicts import Readiness
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, formatted, joined, listed
from sfumato.engine.table.table import Table
from sfumato.formats.choices import cautions_first
from sfumato.project.approval import approval_of, lacking_sentence
from sfumato.project.count_tables.approving import content_of_counts
from sfumato.project.count_tables.held import CountTableRecord, count_tables_in
from sfumato.project.count_tables.making import counted_for, make_count_table
from sfumato.project.count_tables.noise import NoisyCounts
from sfumato.project.document.model import Document, Recipient
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable

_PROMISES_LITTLE: Final = 13.8
"""From this ε on, odds may change a million times."""
_SAME: Final = 1.0 + 1e-9


def readiness_for_counts(
    document: Document,
    columns: Sequence[str],
    recipient: str,
    epsilon: float,
    losses: Sequence[LossInAll],
    editions: int = 0,
) -> Readiness:
    """Return what speaks against a table of counts, the worst first.

    Parameters
    ----------
    document
        What is decided; its reasons for findings stand.
    columns, recipient, epsilon
        The table, and who would get it.
    losses
        What everybody has of a record, with the table; see `losses_in_all`.
    editions
        From how many editions of the table records were released.
    """
    found = [
        *_reading(document, columns),
        *_in_all(document, columns, recipient, epsilon, losses, editions),
    ]
    named = [replace(one, recipient=recipient) for one in found]
    kept = [replace(one, reason=document.accepted.get(one.key, "")) for one in named]
    kept.sort(key=lambda one: (not one.is_open, one.severity))
    return Readiness(recipient, tuple(kept))


def _reading(document: Document, columns: Sequence[str]) -> Iterator[Finding]:
    """Tell what the readers cautioned of in the columns that are counted by."""
    source = document.source
    for note in cautions_first((source.notes if source else None) or ()):
        if note.caution and set(note.columns) & set(columns):
            yield Finding("How it is read", Severity.CAUTION, note.sentence, about=About.READING)


def _in_all(
    document: Document,
    columns: Sequence[str],
    recipient: str,
    epsilon: float,
    losses: Sequence[LossInAll],
    editions: int,
) -> Iterator[Finding]:
    """Compare what a record loses in all with what the project allows."""
    (theirs,) = [one for one in losses if one.recipient == recipient]
    everybody, most = losses[-1], document.most_epsilon
    grows = theirs.grows or everybody.grows
    over = most is not None and max(theirs.total, everybody.total) > most * _SAME
    told = joined(
        _said(document, theirs, everybody),
        Sentence("The project allows {most}.", most=_figure(most)) if most is not None else "",
        "" if grows else Sentence("This table adds nothing to it."),
    )
    figures = (epsilon, theirs.total, everybody.total, most)
    facts = (sorted(columns), *(None if one == math.inf else one for one in figures))
    if over and grows:
        yield Finding(TOTAL_EPSILON, Severity.GRAVE, told, facts, about=About.POLICY)
    elif over or everybody.total > _PROMISES_LITTLE:
        yield Finding(TOTAL_EPSILON, Severity.CAUTION, told, facts, about=About.POLICY)
    else:
        yield Finding(TOTAL_EPSILON, Severity.GOOD, told, facts)
    yield from _beside(everybody, editions)


def _beside(everybody: LossInAll, editions: int) -> Iterator[Finding]:
    """Tell what ε doesn't count."""
    if everybody.shown:
        said = Sentence(
            "True values of {columns} left already: of these, ε bounds nothing.",
            columns=listed(everybody.shown),
        )
        yield Finding("Not counted", Severity.CAUTION, said, about=About.POLICY)
    if everybody.uncounted:
        said = uncounted_sentence(everybody.uncounted)
        yield Finding("Not counted", Severity.CAUTION, said, about=About.POLICY)
    if editions > 1:
        told = editions_sentence(editions)
        yield Finding("Editions", Severity.CAUTION, told, about=About.POLICY)


def _said(document: Document, theirs: LossInAll, everybody: LossInAll) -> Sentence:
    whom: str = Sentence("one record")
    if document.unit is not None:
        whom = Sentence("all rows with the same {unit}", unit=document.unit.name)
    return Sentence(
        "With this table {recipient} has ε = {total} of {whom} in all: {records} by released"
        " records and {tables} by tables of counts. All recipients together have {together}, and no"
        " coalition has more.",
        recipient=theirs.recipient,
        whom=whom,
        total=_figure(theirs.total),
        records=_figure(theirs.by_records),
        tables=_figure(theirs.after),
        together=_figure(everybody.total),
    )


def _figure(epsilon: float | None) -> str | Sentence:
    assert epsilon is not None
    return "∞" if math.isinf(epsilon) else formatted(epsilon, ".4g")


def standing_for_counts(
    project: ProjectFile, columns: Sequence[str], recipient: Recipient, epsilon: float
) -> tuple[Finding, ...]:
    """Return what is found of seal, ledger and approval, which no reason overrides."""
    found = []
    if (changed := project.tampering) is not None:
        found.append(Finding("Seal and ledger", Severity.GRAVE, changed.sentence, refuses=True))
    elif project.document.needs_approval:
        content = content_of_counts(project, columns, recipient, epsilon)
        approval = approval_of(project, content)
        if approval is None:
            said = lacking_sentence(project, recipient.name, content)
            lacking = Finding(APPROVAL, Severity.GRAVE, said, asks=False, refuses=True)
            found.append(lacking)
        else:
            told = Sentence("{name} approved it.", name=approval.name)
            found.append(Finding(APPROVAL, Severity.GOOD, told))
    return tuple(found)


def check_counts(
    project: ProjectFile,
    table: Table | BatchedTable,
    columns: Sequence[str],
    recipient: Recipient,
    epsilon: float,
    context: Context,
) -> Readiness:
    """Return what speaks against a recipient's table of counts; nothing is made.

    Raises
    ------
    SfumatoError
        As `counted_for`.
    """
    rows = BatchedTable.of(table, project.path.parent)
    standing = standing_for_counts(project, columns, recipient, epsilon)
    counts = counted_for(project, rows, columns, epsilon, Part(context, 0.0, 0.8))
    found = _weighed(project, rows, recipient, counts, Part(context, 0.8, 1.0))
    return Readiness(recipient.name, (*standing, *found.findings))


def release_counts(
    project: ProjectFile,
    table: Table | BatchedTable,
    columns: Sequence[str],
    recipient: Recipient,
    epsilon: float,
    out_folder: Path,
    reason: str,
    as_zip: bool,
    context: Context,
) -> tuple[Path, CountTableRecord, Readiness]:
    """Check and make a recipient's table of counts; return also what was found.

    Parameters
    ----------
    project, table, columns, recipient, epsilon, out_folder
        See `make_count_table`.
    reason
        The custodian's reason for whatever grave is open; may be empty.
    as_zip
        One zip file instead of a folder.
    context
        Progress and cancelling.

    Raises
    ------
    ReleaseError
        If something grave is open and no reason is given.
    SfumatoError
        As `make_count_table`.
    """
    rows = BatchedTable.of(table, project.path.parent)
    found: list[Readiness] = []
    check = partial(_settle, project, rows, recipient, reason, found, Part(context, 0.0, 0.2))
    given = (project, rows, columns, recipient, epsilon, out_folder, Part(context, 0.2, 1.0))
    path, record = make_count_table(*given, check=check, as_zip=as_zip)
    return path, record, found[-1]


def _settle(
    project: ProjectFile,
    rows: BatchedTable,
    recipient: Recipient,
    reason: str,
    told: list[Readiness],
    context: Context,
    counts: NoisyCounts,
) -> Sequence[Mapping[str, str]]:
    """Check a table that was counted; record a reason for what is open, or refuse."""
    found = _weighed(project, rows, recipient, counts, context)
    if found.open and reason.strip():
        named = found.open
        project.save_document(accepting(project.document, named, reason))
        found = replace(
            found,
            findings=tuple(
                replace(one, reason=reason.strip()) if one in named else one
                for one in found.findings
            ),
        )
    require_ready([found], [recipient.name])
    told.append(found)
    return accepted_for([found], recipient.name)


def _weighed(
    project: ProjectFile,
    rows: BatchedTable,
    recipient: Recipient,
    counts: NoisyCounts,
    context: Context,
) -> Readiness:
    """Return what is found of a table that was counted."""
    left = losses_by_records(project, rows, context)
    records = count_tables_in(project.ledger.entries)
    name, columns = recipient.name, counts.table.columns
    more = {counts.noise: counts.epsilon}
    losses = losses_in_all(project.document, left, records, name, more)
    asked = (columns, name, counts.epsilon, losses, left.editions)
    return readiness_for_counts(project.document, *asked)
