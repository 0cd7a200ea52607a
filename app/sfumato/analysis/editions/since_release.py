"""What has changed since a recipient's last release, attribute by attribute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, as_sentence
from sfumato.engine.mechanisms import all_mechanisms
from sfumato.engine.mechanisms.base import Statement
from sfumato.engine.table.table import Attribute
from sfumato.project.document.entry_plan import EntryPlan, plan_entry
from sfumato.project.document.model import Document, PolicyEntry, Recipient, ViewRule, to_plain
from sfumato.project.ledger import ReleaseRecord, ReleaseState
from sfumato.project.release.release_compatibility import domain_fingerprints

_SAME_LEVEL = 1e-9
"""Levels that differ by no more come from one statement, written in two ways."""


@dataclass(frozen=True)
class SinceRelease:
    """A recipient's last release beside what they would get today.

    Parameters
    ----------
    recipient
        The recipient's name.
    record
        The last release that was completed for them; None where there is none.
    changes
        For each attribute or column that they would get otherwise, its name and what is
        otherwise; the name is empty for what concerns the whole table.
    """

    recipient: str
    record: ReleaseRecord | None
    changes: tuple[tuple[str, Sentence], ...] = ()

    @property
    def current(self) -> bool:
        """Whether the last release is what they would get today."""
        return self.record is not None and not self.changes


def since_releases(
    document: Document, attributes: Mapping[str, Attribute], releases: Sequence[ReleaseRecord]
) -> tuple[SinceRelease, ...]:
    """Return for every recipient what has changed since their last release.

    Parameters
    ----------
    document
        What is decided today.
    attributes
        What is known of the policy's attributes, by name; without it, levels are compared as
        they are stated.
    releases
        What the ledger tells of, oldest first.
    """
    last = {
        record.recipient: record
        for record in releases
        if record.state is ReleaseState.COMPLETED and not record.is_publication
    }
    return tuple(
        SinceRelease(
            recipient.name, record, tuple(_changes(document, attributes, recipient, record))
        )
        if (record := last.get(recipient.name)) is not None
        else SinceRelease(recipient.name, None)
        for recipient in document.recipients
    )


def _changes(
    document: Document,
    attributes: Mapping[str, Attribute],
    recipient: Recipient,
    record: ReleaseRecord,
) -> Iterator[tuple[str, Sentence]]:
    if record.withdrawn is not None:
        yield "", Sentence("it was withdrawn on {day}", day=record.withdrawn.day)
    before = {plan.key: plan for plan in record.plans}
    for entry in document.policy:
        plan = before.pop(entry.key, None)
        if plan is None:
            yield entry.key, Sentence("not protected in this way then")
        elif told := _entry_change(document, attributes, recipient, entry, plan, record):
            yield entry.key, told
    yield from ((key, Sentence("protected in this way then, and not now")) for key in before)
    named = {name for entry in document.policy for name in entry.attributes}
    named |= {name for plan in record.plans for name in plan.attributes}
    yield from _column_changes(document, record, named)
    yield from _view_changes(document, recipient, record)
    yield from _table_changes(document, record)


def _entry_change(
    document: Document,
    attributes: Mapping[str, Attribute],
    recipient: Recipient,
    entry: PolicyEntry,
    plan: EntryPlan,
    record: ReleaseRecord,
) -> Sentence | None:
    """Say what a recipient would get otherwise of one policy entry; None where nothing."""
    was, stated = _stated(plan.mechanism, plan.statement), recipient.statements.get(entry.key)
    if stated is None:
        return Sentence("{before} then, no level now", before=was)
    now = _stated(entry.mechanism, stated)
    if plan.mechanism != entry.mechanism:
        was, now = (
            Sentence("{mechanism}, {level}", mechanism=_title(mechanism), level=level)
            for mechanism, level in ((plan.mechanism, was), (entry.mechanism, now))
        )
        return Sentence("{before} then, {now} now", before=was, now=now)
    same = dict(plan.statement) == dict(stated)
    try:
        present = plan_entry(document, entry, attributes, recipient)
    except (SfumatoError, KeyError):
        present = None
    if present is not None and not math.isclose(plan.level, present.level, rel_tol=_SAME_LEVEL):
        if same:
            return Sentence("{now} as then, which means another level now", now=now)
        return Sentence("{before} then, {now} now", before=was, now=now)
    if present is None and not same:
        return Sentence("{before} then, {now} now", before=was, now=now)
    return _other_form(entry, plan, present, attributes, record)


def _other_form(
    entry: PolicyEntry,
    plan: EntryPlan,
    present: EntryPlan | None,
    attributes: Mapping[str, Attribute],
    record: ReleaseRecord,
) -> Sentence | None:
    """Say what is otherwise at the same level; None where nothing is."""
    if to_plain(plan.settings) != to_plain(entry.settings):
        return Sentence("other settings of {mechanism}", mechanism=_title(entry.mechanism))
    if present is None or present.ladder == plan.ladder:
        return None
    chosen = {name: attributes[name] for name in entry.attributes}
    if any(record.domains.get(name) != one for name, one in domain_fingerprints(chosen).items()):
        return Sentence("other possible values")
    return Sentence("other bins, or records told apart otherwise")


def _stated(mechanism: str, statement: Statement) -> Sentence:
    """Write a level as it was stated, ``p = 0.6``; limits on belief as a sentence."""
    if set(statement) == {"rho1", "rho2"}:
        words = "a hunch of {before:.4g} % rises to {after:.4g} % at most"
        return Sentence(words, before=100.0 * statement["rho1"], after=100.0 * statement["rho2"])
    known = all_mechanisms().get(mechanism)
    terms = () if known is None else known.terms
    titles = {field.name: field.title for term in terms for field in term.fields}
    parts = [
        Sentence("{title} = {value:g}", title=Sentence(titles.get(name, name)), value=value)
        for name, value in statement.items()
    ]
    first, *others = parts or [Sentence("no level")]
    for other in others:
        first = Sentence("{first}, {second}", first=first, second=other)
    return first


def _title(mechanism: str) -> Sentence:
    known = all_mechanisms().get(mechanism)
    return as_sentence(mechanism) if known is None else Sentence(known.title)


def _column_changes(
    document: Document, record: ReleaseRecord, protected: set[str]
) -> Iterator[tuple[str, Sentence]]:
    """Tell of the columns that would leave otherwise; policy entries tell of theirs."""
    before = {} if record.policy is None else {one.name: one for one in record.policy.columns}
    for column in document.columns:
        if column.name in protected:
            continue
        old = before.get(column.name)
        was = _leaves(old) if old is not None else None
        if old is None:
            shown = column.name in record.open_columns
            was = Sentence("unchanged") if shown else Sentence("left out")
        now = _leaves(column)
        if was != now:
            yield column.name, Sentence("{before} then, {now} now", before=was, now=now)
        elif old is not None and not column.is_dropped and _form(old) != _form(column):
            yield column.name, Sentence("other bins, ends, rounding or pseudonyms")


def _leaves(column: ColumnSpec) -> Sentence:
    """Say how a column that no mechanism protects leaves."""
    if column.is_dropped:
        return Sentence("left out")
    if column.as_pseudonym is not None:
        return Sentence("as a pseudonym")
    if column.role is Role.SENSITIVE:
        return Sentence("perturbed")
    if column.binning is not None:
        return Sentence("in bins")
    return Sentence("unchanged") if column.coded is None else Sentence("rounded or cut off")


def _form(column: ColumnSpec) -> tuple[object, ...]:
    return column.binning, column.coded, column.as_pseudonym


def _view_changes(
    document: Document, recipient: Recipient, record: ReleaseRecord
) -> Iterator[tuple[str, Sentence]]:
    """Tell of the quasi-identifiers that the recipient would see more or less finely."""
    policy = record.policy
    if policy is None:
        return
    old = next((one.view for one in policy.recipients if one.name == recipient.name), None)
    was, now = old or ViewRule(), recipient.view or ViewRule()
    for name in sorted({*was.levels, *now.levels}):
        before, after = was.levels.get(name, 0), now.levels.get(name, 0)
        if before != after:
            yield (
                name,
                Sentence("seen at level {before} then, {now} now", before=before, now=after),
            )
    if was.k != now.k:
        yield "", Sentence("k = {before} then, {now} now", before=was.k, now=now.k)
    if was.suppression != now.suppression:
        yield "", Sentence("another share of records may be suppressed")
    if bool(was.cells) != bool(now.cells):
        yield (
            "",
            Sentence("single cells were suppressed then, whole records now")
            if was.cells
            else Sentence("whole records were suppressed then, single cells now"),
        )
    if was.cells and now.cells and (policy.importance or ()) != (document.importance or ()):
        yield "", Sentence("other columns' cells are suppressed first")


def _table_changes(document: Document, record: ReleaseRecord) -> Iterator[tuple[str, Sentence]]:
    """Tell of what concerns every row."""
    source = document.source
    if source is not None and source.digest != record.source.digest:
        yield "", Sentence("the table is another edition")
    if record.rows_as_in_table != bool(document.rows_as_in_table):
        yield "", Sentence("the rows stand in another order")
    if record.record_key != document.record_key:
        yield "", Sentence("records are told apart otherwise")
    if record.policy is not None and record.policy.unit != document.unit:
        yield "", Sentence("another unit of protection")
