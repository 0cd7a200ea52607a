"""Tables of counts: ready for one, one before it is made, and what those that left tell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from sfumato.analysis.answers import Answer, AnswerTable, CellKind, Severity
from sfumato.analysis.disclosure.record_losses import (
    LossInAll,
    RecordLosses,
    editions_sentence,
    loss_of,
    losses_by_records,
    losses_in_all,
    uncounted_sentence,
)
from sfumato.analysis.findings import APPROVAL, TOTAL_EPSILON, About, Finding
from sfumato.analysis.readiness.readiness import accepted_for, accepting, require_ready
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, formatted, joined, listed
from sfumato.engine.ladders.counts import Counts, half_width_of_sum
from sfumato.engine.randomness.keys import KeyRing
from sfumato.formats.choices import cautions_first
from sfumato.project.approval import approval_of, lacking_sentence
from sfumato.project.count_tables.held import CountTableRecord, count_tables_in
from sfumato.project.count_tables.making import (
    content_of_counts,
    counted,
    counted_for,
    make_count_table,
)
from sfumato.project.count_tables.noise import SHARE, NoisyCounts
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
    table: BatchedTable,
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
    standing = standing_for_counts(project, columns, recipient, epsilon)
    counts = counted_for(project, table, columns, epsilon, Part(context, 0.0, 0.8))
    found = _weighed(project, table, recipient, counts, Part(context, 0.8, 1.0))
    return Readiness(recipient.name, (*standing, *found.findings))


def release_counts(
    project: ProjectFile,
    table: BatchedTable,
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
    found: list[Readiness] = []
    check = partial(_settle, project, table, recipient, reason, found, Part(context, 0.0, 0.2))
    given = (project, table, columns, recipient, epsilon, out_folder, Part(context, 0.2, 1.0))
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


# ----- a table of counts before it is released: noisy and true counts, and what it costs


@dataclass(frozen=True)
class CountPreview:
    """What would be released, beside the truth, which is the custodian's alone.

    Parameters
    ----------
    rows, across
        The columns whose values stand at the left, and above.
    names, headings
        Each row's and each column's values.
    noisy, truth
        The counts, shape (rows, columns).
    half_width
        A noisy count is off by at most so much 95 times in 100.
    added_from
        The finer released table that it is added from; empty where its noise is its own.
    losses
        Of every recipient, then of all together.
    left
        What left in releases of records.
    readiness
        What speaks against the table.
    """

    rows: tuple[str, ...]
    across: tuple[str, ...]
    names: tuple[str, ...]
    headings: tuple[str, ...]
    noisy: Counts
    truth: Counts
    half_width: int
    added_from: tuple[str, ...]
    losses: tuple[LossInAll, ...]
    left: RecordLosses
    readiness: Readiness

    def interval(self, row: int, column: int) -> tuple[int, int]:
        """Return the interval that holds the true count 95 times in 100."""
        count = int(self.noisy[row, column])
        return max(count - self.half_width, 0), max(count + self.half_width, 0)


def preview_counts(
    document: Document,
    rows: BatchedTable,
    down: Sequence[str],
    across: Sequence[str],
    recipient: str,
    epsilon: float,
    keys: KeyRing,
    records: Sequence[CountTableRecord],
    left: RecordLosses,
    context: Context,
) -> CountPreview:
    """Return what a recipient would get; nothing is released.

    Parameters
    ----------
    document, rows
        What is decided, and the source table.
    down, across
        The columns whose values stand at the left, and above; one to four together.
    recipient, epsilon
        Who would get it, at which ε.
    keys, records, left
        The project's; the tables of counts that were released, and what left in records.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        As `counted`.
    """
    found = counted(document, rows, [*down, *across], epsilon, keys, records, context)
    table = found.table
    order = [table.columns.index(name) for name in (*down, *across)]
    labels = dict(zip(table.columns, table.labels(), strict=True))
    names, headings = (_combined([labels[name] for name in some]) for some in (down, across))
    shape = (len(names), len(headings))
    noisy, truth = (
        each.reshape(table.shape).transpose(order).reshape(shape)
        for each in (found.counts, found.truth)
    )
    own = found.root.columns == table.columns
    losses = losses_in_all(document, left, records, recipient, {found.noise: epsilon})
    return CountPreview(
        tuple(down),
        tuple(across),
        names,
        headings,
        noisy,
        truth,
        half_width_of_sum(found.law, found.summed, SHARE),
        () if own else found.root.columns,
        losses,
        left,
        readiness_for_counts(document, table.columns, recipient, epsilon, losses, left.editions),
    )


def _combined(labels: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(" · ".join(each) for each in itertools.product(*labels))


# ----- what tables of counts that left, and released records, tell of one person, by the law of ε


def answer_of_counts(
    document: Document,
    left: RecordLosses,
    records: Sequence[CountTableRecord],
    members: Sequence[str] = (),
) -> Answer:
    """Return what some recipients, or all, learn of a person together.

    Of each table the coalition knows what its most trusted member does; ε of tables and of
    randomised columns with noise of their own are added. Whatever they thought before, and whatever
    else they know, the odds on what is true of a record change by a factor of at most e^ε: who
    held two cases for equally likely is right about them in at most e^ε/(1 + e^ε) of the cases.
    That is not said where they hold what ε doesn't count: values with noise that bounds no odds, or
    records of several editions.

    Raises
    ------
    PolicyError
        If a member holds nothing and is no recipient.
    """
    everybody = losses_in_all(document, left, records)
    known = [one.recipient for one in everybody[:-1]]
    for name in members:
        if name not in known:
            raise PolicyError(
                "The project has no recipient {name}.",
                "Its recipients are: {known}.",
                name=name,
                known=", ".join(known),
            )
    asked = loss_of(document, left, records, members) if members else everybody[-1]
    bounded = not asked.uncounted and left.editions < 2
    rows = [
        (one.recipient or Sentence("all together"), one.by_records, one.after, one.total)
        for one in everybody
    ]
    columns: dict[str, CellKind] = {
        Sentence("Recipient"): CellKind.TEXT,
        Sentence("ε by released records"): CellKind.NUMBER,
        Sentence("ε by tables of counts"): CellKind.NUMBER,
        Sentence("ε in all"): CellKind.NUMBER,
    }
    return Answer(
        (_said_count_losses(document, asked, members or known, bounded),),
        notes=_notes(asked, left.editions),
        tables=(AnswerTable(columns, rows),),
        facts={
            "members": list(members or known),
            "epsilon": None if math.isinf(asked.total) else asked.total,
            "by_records": None if math.isinf(asked.by_records) else asked.by_records,
            "by_tables": asked.after,
            "right_at_most": right_at_most(asked.total) if bounded else None,
            "not_counted": list(asked.uncounted),
        },
    )


def _said_count_losses(
    document: Document, asked: LossInAll, names: Sequence[str], bounded: bool
) -> Sentence:
    told = listed(tuple(names))
    whom: str = Sentence("one record")
    if document.unit is not None:
        whom = Sentence("all rows with the same {unit}", unit=document.unit.name)
    if math.isinf(asked.total):
        return Sentence(
            "{names} hold true values of {columns}, so ε has no bound. Their tables of counts alone"
            " have ε = {tables} of {whom}.",
            names=told,
            columns=listed(asked.shown),
            tables=formatted(asked.after, ".4g"),
            whom=whom,
        )
    if not bounded:
        return Sentence(
            "By tables of counts, and by those released values that ε counts, {names} have"
            " ε = {total} of {whom} together. They hold more than that, so it bounds no guess.",
            names=told,
            total=formatted(asked.total, ".4g"),
            whom=whom,
        )
    return Sentence(
        "By tables of counts and released records {names} have ε = {total} of {whom} together."
        " Of two cases that they held for equally likely, they tell the true one in at most"
        " {right} of 100 tries.",
        names=told,
        total=formatted(asked.total, ".4g"),
        whom=whom,
        right=formatted(100.0 * right_at_most(asked.total), ".1f"),
    )


def right_at_most(epsilon: float) -> float:
    """Return how often the likelier of two cases is true, at most, where ε bounds the odds."""
    return 1.0 / (1.0 + math.exp(-epsilon))


def _notes(asked: LossInAll, editions: int) -> tuple[str, ...]:
    notes = [
        Sentence(
            "Columns that leave unperturbed are seen as they are; this is of what is true beside"
            " them."
        )
    ]
    if asked.uncounted:
        notes.append(uncounted_sentence(asked.uncounted))
    if editions > 1:
        notes.append(editions_sentence(editions))
    return tuple(notes)
