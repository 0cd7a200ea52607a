"""The releases and the events that a ledger tells of, put together from its entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.engine.core.errors import SfumatoError
from sfumato.formats.bundles.contents import KEYED_ORDER, TABLE_ORDER
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import Document, Source
from sfumato.project.document.serialise import from_plain, to_plain
from sfumato.project.ledger.ledger import Entry, EntryKind, tampered_at


class ReleaseState(StrEnum):
    """How far a release came."""

    PREPARED = "prepared"
    """Recorded; its files do not have their final name yet."""
    COMPLETED = "completed"
    """Its files stood under their final name."""
    ABANDONED = "abandoned"
    """Its files were removed before anyone could be given them."""
    UNTRACED = "untraced"
    """It was interrupted and its files are gone; someone may have them."""


END_STATES: Mapping[str, ReleaseState] = {
    EntryKind.RELEASE_COMPLETED: ReleaseState.COMPLETED,
    EntryKind.RELEASE_ABANDONED: ReleaseState.ABANDONED,
    EntryKind.RELEASE_UNTRACED: ReleaseState.UNTRACED,
}
"""The state that each kind of entry brings a release into."""


@dataclass(frozen=True)
class ReleaseRecord:
    """One release as the ledger has it.

    Parameters
    ----------
    number
        The number of the ledger entry that prepared it.
    recorded_at
        When that was; ISO 8601, UTC.
    release_id
        The same for two releases with the same contents for the same recipient.
    recipient
        The recipient's name.
    target
        Where the bundle was put.
    format_name, as_zip
        How the bundle was written.
    digest
        The bundle's digest, see `sfumato.formats.bundles.writing.digest_of_files`.
    files
        SHA-256 of each file in the bundle, by name.
    plans
        The policy entries with their levels and ladders.
    domains
        The domain's fingerprint of each perturbed attribute that has one.
    open_columns
        The columns that were released as they are.
    record_key
        The record-key column; None where records were told apart by their position.
    source
        Digest, rows and reading options of the source table.
    details
        The whole entry, for display.
    rows_as_in_table
        Whether rows stand in the table's order: chosen, or made before there was another.
    rows_reason
        Why the custodian chose that.
    state
        How far it came.
    in_force
        The document it was made by, as plain values; None for a release of a version that did
        not keep it.
    """

    number: int
    recorded_at: str
    release_id: str
    recipient: str
    target: Path
    format_name: str
    as_zip: bool
    digest: str
    files: Mapping[str, str]
    plans: tuple[EntryPlan, ...]
    domains: Mapping[str, str]
    open_columns: tuple[str, ...]
    record_key: str | None
    source: Source
    details: Mapping[str, Any]
    rows_as_in_table: bool = False
    rows_reason: str = ""
    state: ReleaseState = ReleaseState.PREPARED
    in_force: Mapping[str, Any] | None = field(default=None, repr=False)

    @cached_property
    def policy(self) -> Document | None:
        """The document that it was made by, and is judged by for ever; None where unknown.

        Raises
        ------
        LedgerTampered
            If what the ledger keeps is no document.
        """
        if self.in_force is None:
            return None
        try:
            kept: Document = from_plain(Document, self.in_force)
        except (LookupError, TypeError, ValueError, AttributeError, SfumatoError):
            raise tampered_at(self.number) from None
        return kept

    @property
    def day(self) -> date:
        """The day it was recorded, UTC."""
        return date.fromisoformat(self.recorded_at[:10])

    @property
    def counts(self) -> bool:
        """Whether someone may hold it, so that later releases must stay on its ladder."""
        return self.state is not ReleaseState.ABANDONED

    @property
    def is_publication(self) -> bool:
        """Whether it is a generalized table, which shows true sensitive values."""
        return "generalization" in self.details

    def plan_for(self, attribute: str) -> EntryPlan | None:
        """Return the policy entry that covered an attribute, if any."""
        return next((plan for plan in self.plans if attribute in plan.attributes), None)


_TEXTS = ("release_id", "recipient", "target", "format", "digest")


def order_to_tell(reason: str) -> dict[str, str]:
    """Return what a release's entry tells of the order of its rows.

    Parameters
    ----------
    reason
        Why they stay in the table's order; empty where the order is keyed.
    """
    return {"order": TABLE_ORDER, "reason": reason} if reason else {"order": KEYED_ORDER}


def releases_in(entries: Iterable[Entry]) -> tuple[ReleaseRecord, ...]:
    """Return the releases that entries tell of, oldest first.

    Raises
    ------
    LedgerTampered
        If an entry does not even hold what a release's entry holds.
    """
    found: dict[int, ReleaseRecord] = {}
    for entry in entries:
        if entry.kind == EntryKind.RELEASE_PREPARED:
            try:
                found[entry.number] = _record(entry, found)
            except (KeyError, TypeError, ValueError, AttributeError, SfumatoError):
                raise tampered_at(entry.number) from None
        elif entry.kind in END_STATES:
            prepared = entry.details.get("prepared")
            if isinstance(prepared, int) and prepared in found:
                found[prepared] = replace(found[prepared], state=END_STATES[entry.kind])
    return tuple(found.values())


def policy_to_keep(document: Document, releases: Iterable[ReleaseRecord]) -> dict[str, Any] | int:
    """Return what a release's entry keeps of the document that it is made by.

    It is the document, or the number of the entry that has the same one already.
    """
    plain: dict[str, Any] = to_plain(document)
    same = (record for record in releases if record.in_force == plain)
    return next((record.number for record in same), plain)


def _in_force(
    kept: Mapping[str, Any] | int | None, earlier: Mapping[int, ReleaseRecord]
) -> Mapping[str, Any] | None:
    if not isinstance(kept, int):
        return kept
    return earlier[kept].in_force


def _record(entry: Entry, earlier: Mapping[int, ReleaseRecord]) -> ReleaseRecord:
    details = entry.details
    listed = (*details["open_columns"], *(a for e in details["entries"] for a in e["attributes"]))
    told = (*(details[name] for name in _TEXTS), *details["files"].values(), *listed)
    if not all(isinstance(text, str) for text in told):
        raise TypeError
    # Releases from before they had an order of their own tell of none: they have the table's.
    rows = details.get("row_order", {"order": TABLE_ORDER})
    return ReleaseRecord(
        number=entry.number,
        recorded_at=entry.recorded_at,
        release_id=details["release_id"],
        recipient=details["recipient"],
        target=Path(details["target"]),
        format_name=details["format"],
        as_zip=details["zip"],
        digest=details["digest"],
        files=details["files"],
        plans=tuple(EntryPlan.from_dict(plan) for plan in details["entries"]),
        domains=details["domains"],
        open_columns=tuple(details["open_columns"]),
        record_key=details["record_key"],
        source=Source("", **details["source"]),
        details=details,
        rows_as_in_table=rows["order"] == TABLE_ORDER,
        rows_reason=rows.get("reason", ""),
        in_force=_in_force(details.get("policy"), earlier),
    )


class Subject(StrEnum):
    """What an event is about."""

    RELEASE = "release"
    """A release, or a published table."""
    ADOPTION = "adoption"
    """An earlier release that was made elsewhere was adopted."""
    OVERRIDE = "override"
    """A contradiction was overridden, for a reason."""
    PROJECT = "project"
    """The project itself: created, its passphrase or its source table changed."""


_SUBJECTS: Mapping[str, Subject] = {
    EntryKind.RELEASE_PREPARED: Subject.RELEASE,
    EntryKind.ADOPTED: Subject.ADOPTION,
    EntryKind.OVERRIDE: Subject.OVERRIDE,
}


@dataclass(frozen=True)
class LedgerEvent:
    """One event.

    Parameters
    ----------
    entry
        The entry that tells of it, or that tells of it first.
    subject
        What it is about.
    record
        The release; of an override, the release for which it was given; else None.
    ending
        The entry that tells how a release ended; None for other events, and before the end.
    """

    entry: Entry
    subject: Subject
    record: ReleaseRecord | None = None
    ending: Entry | None = None

    @property
    def number(self) -> int:
        """The number of its first entry."""
        return self.entry.number


def events_in(entries: Iterable[Entry]) -> tuple[LedgerEvent, ...]:
    """Return the events that entries tell of, oldest first.

    Raises
    ------
    LedgerTampered
        If an entry does not even hold what a release's entry holds.
    """
    entries = tuple(entries)
    records = {record.number: record for record in releases_in(entries)}
    endings = {
        prepared: entry
        for entry in entries
        if entry.kind in END_STATES
        and isinstance(prepared := entry.details.get("prepared"), int)
        and prepared in records
    }
    told = {ending.number for ending in endings.values()}
    found = []
    for entry in entries:
        if entry.number in told:
            continue
        subject = _SUBJECTS.get(entry.kind, Subject.PROJECT)
        record = records.get(entry.number)
        if subject is Subject.OVERRIDE:
            record = _release_after(entry, records.values())
        found.append(LedgerEvent(entry, subject, record, endings.get(entry.number)))
    return tuple(found)


def _release_after(entry: Entry, records: Iterable[ReleaseRecord]) -> ReleaseRecord | None:
    """Return the release that an override was given for: the next one of its identity."""
    wanted = entry.details.get("release_id")
    later = (r for r in records if r.number > entry.number and r.release_id == wanted)
    return min(later, key=lambda record: record.number, default=None)
