"""What a ledger's entries tell of, one event after another.

A release is told by several entries: that it was prepared, and how it ended. They are one event
here, at the place of the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sfumato.project.ledger.ledger import Entry, EntryKind
from sfumato.project.ledger.records import END_STATES, ReleaseRecord, releases_in


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
