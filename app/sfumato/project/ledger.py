"""The ledger: an append-only record of what happened to a project.

Each entry holds the digest of the entry before it (a hash chain, SHA-256 over canonical
JSON) and a seal, an HMAC under a key derived from the project secret. The chain shows an
entry that was changed; the seal shows a chain that was written anew by someone without the
secret. The last entry's number is sealed as well, so that entries can't be cut off the end, and
the project's seal covers that (`sfumato.project.store.seal`).

Where a custodian accepts a ledger that was tampered with, as it stands, the entry that says so
is linked to the rows as they were found. The chain starts afresh there, and that stays told.

The releases and the events that it tells of are put together from its entries.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.formats.bundles.contents import KEYED_ORDER, TABLE_ORDER
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import (
    Document,
    TableSource,
    canonical_json,
    from_plain,
    to_plain,
)
from sfumato.project.errors import LedgerTampered
from sfumato.project.store.database import Database
from sfumato.project.store.files import Clock, stamp
from sfumato.project.store.schema import Row, digest_of_rows, rows_of
from sfumato.project.store.secret import ProjectSecret

FIRST_LINK: Final = "0" * 64
_ALL: Final = "SELECT * FROM ledger ORDER BY number"


class EntryKind(StrEnum):
    """What an entry records."""

    PROJECT_CREATED = "project created"
    PASSPHRASE_CHANGED = "passphrase changed"
    RECOVERY_SHEET_MADE = "recovery sheet made"
    SOURCE_CHANGED = "source changed"
    OVERRIDE = "override"
    ADOPTED = "earlier release adopted"
    RELEASE_PREPARED = "release prepared"
    RELEASE_COMPLETED = "release completed"
    RELEASE_ABANDONED = "release abandoned"
    RELEASE_UNTRACED = "release untraced"
    RELEASE_WITHDRAWN = "release withdrawn"
    RELEASE_APPROVED = "release approved"
    APPROVER_ADDED = "approver added"
    APPROVER_REMOVED = "approver removed"
    COUNTS_RELEASED = "table of counts released"
    COUNTS_WITHDRAWN = "table of counts withdrawn"
    ACCEPTED_UNSEALED = "unsealed state accepted"


@dataclass(frozen=True)
class Entry:
    """One entry of the ledger.

    Parameters
    ----------
    number
        1, 2, 3, …
    kind
        What it records, an `EntryKind` (as text: a later version may know more kinds).
    recorded_at
        ISO 8601, UTC.
    details
        Plain JSON values; they depend on the kind.
    previous, digest, seal
        The digest of the entry before, of this one, and the HMAC over it; hexadecimal.
    """

    number: int
    kind: str
    recorded_at: str
    details: Mapping[str, Any]
    previous: str
    digest: str
    seal: str


class Ledger:
    """The entries of one project.

    Parameters
    ----------
    database
        The open project file.
    project_id
        The project's identity, part of every digest.
    secret
        The project secret, which the sealing key is derived from.
    clock
        Tells the time of new entries.
    """

    def __init__(
        self, database: Database, project_id: str, secret: ProjectSecret, clock: Clock
    ) -> None:
        self._database = database
        self._project_id = project_id
        self._key = secret.derive("ledger")
        self._clock = clock
        self._read: tuple[list[Row], tuple[Entry, ...]] = ([], ())

    def append(
        self, connection: sqlite3.Connection, kind: EntryKind, details: Mapping[str, Any]
    ) -> Entry:
        """Add an entry inside a transaction of `Database.transaction`.

        Raises
        ------
        ValueError
            If the details are not plain JSON values.
        """
        number, previous, _ = self._end()
        return self._write(connection, number + 1, kind, details, previous)

    def restart(
        self, connection: sqlite3.Connection, kind: EntryKind, details: Mapping[str, Any]
    ) -> Entry:
        """Add an entry that takes the rows before it as they stand, whatever they are."""
        rows = rows_of(connection, "ledger")
        number = 1 + max((row[0] for row in rows), default=0)
        return self._write(connection, number, kind, details, digest_of_rows(rows))

    def _write(
        self,
        connection: sqlite3.Connection,
        number: int,
        kind: EntryKind,
        details: Mapping[str, Any],
        previous: str,
    ) -> Entry:
        entry = self._sealed(number, kind.value, stamp(self._clock), dict(details), previous)
        connection.execute(
            "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                entry.number,
                entry.kind,
                entry.recorded_at,
                canonical_json(entry.details),
                entry.previous,
                entry.digest,
                entry.seal,
            ),
        )
        connection.execute(
            "INSERT OR REPLACE INTO ledger_end VALUES (1, ?, ?, ?)",
            (entry.number, entry.digest, self._end_seal(entry.number, entry.digest)),
        )
        return entry

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, oldest first; the same objects as long as the file holds the same rows.

        Raises
        ------
        LedgerTampered
            If an entry is not even readable.
        """
        rows, (known, entries) = self._database.rows(_ALL), self._read
        if rows != known:
            kept = len(known) if rows[: len(known)] == known else 0
            entries = (*entries[:kept], *map(entry_of, rows[kept:]))
            self._read = (rows, entries)
        return entries

    def verify_chain(self) -> None:
        """Examine every link and seal.

        Raises
        ------
        LedgerTampered
            Naming the first entry that is not as Sfumato wrote it, or that is missing.
        """
        rows = self._database.rows(_ALL)
        self.verify_rows(rows, self._database.rows("SELECT * FROM ledger_end"))

    def verify_rows(self, rows: Sequence[Row], end: Sequence[Row]) -> None:
        """Examine the rows of a ledger, and the row of its end.

        Raises
        ------
        LedgerTampered
            As `verify_chain`.
        """
        first, count, previous = self._start(rows)
        for row in rows[first:]:
            count += 1
            entry = entry_of(row)
            if not _same(entry, self._expected(entry, count, previous)):
                raise tampered_at(count)
            previous = entry.digest
        _, number, digest, seal = end[0] if end else (1, 0, FIRST_LINK, "")
        if count < max(number, 1):
            raise tampered_at(count + 1)
        whole = count == number and digest == previous
        if not whole or not _agree(seal, self._end_seal(number, digest)):
            raise tampered_at(count)

    def _start(self, rows: Sequence[Row]) -> tuple[int, int, str]:
        """Return at which row the chain starts, the number before it, and its first link."""
        for place in range(len(rows) - 1, -1, -1):
            if rows[place][1] != EntryKind.ACCEPTED_UNSEALED:
                continue
            entry = entry_of(rows[place])
            genuine = _same(entry, self._expected(entry, entry.number, entry.previous))
            if genuine and entry.previous == digest_of_rows(rows[:place]):
                return place, entry.number - 1, entry.previous
        return 0, 0, FIRST_LINK

    def _expected(self, entry: Entry, number: int, previous: str) -> Entry:
        return self._sealed(number, entry.kind, entry.recorded_at, dict(entry.details), previous)

    def _end(self) -> tuple[int, str, str]:
        found = self._database.rows("SELECT number, digest, seal FROM ledger_end")
        return found[0] if found else (0, FIRST_LINK, "")

    def _sealed(
        self, number: int, kind: str, recorded_at: str, details: dict[str, Any], previous: str
    ) -> Entry:
        content = {
            "project": self._project_id,
            "number": number,
            "kind": kind,
            "recorded_at": recorded_at,
            "details": details,
            "previous": previous,
        }
        digest = hashlib.sha256(canonical_json(content).encode()).hexdigest()
        return Entry(
            number, kind, recorded_at, details, previous, digest, self._seal(f"entry {digest}")
        )

    def _end_seal(self, number: int, digest: str) -> str:
        return self._seal(f"end {number} {digest}")

    def _seal(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()


def _same(entry: Entry, expected: Entry) -> bool:
    links = (entry.number, entry.previous, entry.digest)
    return links == (expected.number, expected.previous, expected.digest) and _agree(
        entry.seal, expected.seal
    )


def _agree(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def entry_of(row: Row) -> Entry:
    """Return the entry that a row of the ledger holds.

    Raises
    ------
    LedgerTampered
        If its time is none, or its details are not as they are written, to the last blank.
    """
    number, kind, recorded_at, details, previous, digest, seal = row
    try:
        datetime.fromisoformat(recorded_at)
        plain = json.loads(details, parse_constant=_refuse_constant)
        as_written = isinstance(plain, dict) and canonical_json(plain) == details
    except (ValueError, RecursionError):
        raise tampered_at(number) from None
    if not as_written:
        raise tampered_at(number)
    return Entry(number, kind, recorded_at, plain, previous, digest, seal)


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def tampered_at(number: int) -> LedgerTampered:
    """Return the error that says which entry is not as Sfumato wrote it."""
    return LedgerTampered(
        "Entry {number} of the ledger was changed or removed outside Sfumato.",
        "Restore a copy of the project from before the change. Until then you can open the"
        " project for reading only and compare its entries with the files you released.",
        number=number,
    )


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
class PolicyInForce:
    """The document that releases were made by, one object for all that share it.

    Parameters
    ----------
    plain
        The document as plain values.
    """

    plain: Mapping[str, Any] = field(repr=False)

    @cached_property
    def document(self) -> Document:
        """The document; raises what `from_plain` does where it is none."""
        kept: Document = from_plain(Document, self.plain)
        return kept


@dataclass(frozen=True)
class Withdrawal:
    """That a release was wrong and should no longer be used. It goes on counting.

    Parameters
    ----------
    number
        The number of the ledger entry that says so.
    recorded_at
        When that was; ISO 8601, UTC.
    reason
        The custodian's.
    """

    number: int
    recorded_at: str
    reason: str

    @property
    def day(self) -> date:
        """The day it was recorded, UTC."""
        return date.fromisoformat(self.recorded_at[:10])


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
        The document it was made by; None for a release of a version that did not keep it.
    withdrawn
        That it was withdrawn, and why; None where it was not.
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
    source: TableSource
    details: Mapping[str, Any]
    rows_as_in_table: bool = False
    rows_reason: str = ""
    state: ReleaseState = ReleaseState.PREPARED
    in_force: PolicyInForce | None = field(default=None, repr=False)
    withdrawn: Withdrawal | None = None

    @property
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
            return self.in_force.document
        except (LookupError, TypeError, ValueError, AttributeError, SfumatoError):
            raise tampered_at(self.number) from None

    @property
    def day(self) -> date:
        """The day it was recorded, UTC."""
        return date.fromisoformat(self.recorded_at[:10])

    @property
    def counts(self) -> bool:
        """Whether someone may hold it, withdrawn or not: later releases stay on its ladder."""
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


def releases_in(
    entries: Iterable[Entry], before: Sequence[ReleaseRecord] = ()
) -> tuple[ReleaseRecord, ...]:
    """Return the releases that entries tell of, oldest first.

    Parameters
    ----------
    entries
        All entries, or those that came since.
    before
        What the entries before these tell of.

    Raises
    ------
    LedgerTampered
        If an entry does not even hold what a release's entry holds.
    """
    found = {record.number: record for record in before}
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
        elif entry.kind == EntryKind.RELEASE_WITHDRAWN:
            number = entry.details.get("withdrawn")
            if isinstance(number, int) and number in found:
                found[number] = replace(found[number], withdrawn=withdrawal_in(entry))
    return tuple(found.values())


def policy_to_keep(document: Document, releases: Iterable[ReleaseRecord]) -> dict[str, Any] | int:
    """Return what a release's entry keeps of the document that it is made by.

    It is the document, or the number of the entry that has the same one already.
    """
    source = document.source
    # What remarks offer to read as missing are values of the table, which nobody stated.
    stated = document if source is None else replace(document, source=source.without_offers)
    plain: dict[str, Any] = to_plain(stated)
    first: dict[int, tuple[int, PolicyInForce]] = {}
    for record in releases:
        if record.in_force is not None:
            first.setdefault(id(record.in_force), (record.number, record.in_force))
    return next((number for number, kept in first.values() if kept.plain == plain), plain)


def withdrawal_in(entry: Entry) -> Withdrawal:
    """Return what an entry tells of a withdrawal."""
    return Withdrawal(entry.number, entry.recorded_at, str(entry.details.get("reason", "")))


def _in_force(
    kept: Mapping[str, Any] | int | None, earlier: Mapping[int, ReleaseRecord]
) -> PolicyInForce | None:
    if isinstance(kept, int):
        return earlier[kept].in_force
    return None if kept is None else PolicyInForce(kept)


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
        source=TableSource("", **details["source"]),
        details=details,
        rows_as_in_table=rows["order"] == TABLE_ORDER,
        rows_reason=rows.get("reason", ""),
        in_force=_in_force(details.get("policy"), earlier),
    )


class EventSubject(StrEnum):
    """What an event is about."""

    RELEASE = "release"
    """A release, a published table, or a table of counts."""
    ADOPTION = "adoption"
    """An earlier release that was made elsewhere was adopted."""
    OVERRIDE = "override"
    """A contradiction was overridden, for a reason."""
    PROJECT = "project"
    """The project itself: created, its passphrase or its source table changed."""


_SUBJECTS: Mapping[str, EventSubject] = {
    EntryKind.RELEASE_PREPARED: EventSubject.RELEASE,
    EntryKind.RELEASE_WITHDRAWN: EventSubject.RELEASE,
    EntryKind.COUNTS_RELEASED: EventSubject.RELEASE,
    EntryKind.COUNTS_WITHDRAWN: EventSubject.RELEASE,
    EntryKind.ADOPTED: EventSubject.ADOPTION,
    EntryKind.OVERRIDE: EventSubject.OVERRIDE,
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
        The release, also of its withdrawal; of an override, the release for which it was given;
        else None.
    ending
        The entry that tells how a release ended; None for other events, and before the end.
    """

    entry: Entry
    subject: EventSubject
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
    begun = {e.number for e in entries if e.kind == EntryKind.COUNTS_RELEASED} | records.keys()
    endings = {
        prepared: entry
        for entry in entries
        if entry.kind in END_STATES
        and isinstance(prepared := entry.details.get("prepared"), int)
        and prepared in begun
    }
    told = {ending.number for ending in endings.values()}
    found = []
    for entry in entries:
        if entry.number in told:
            continue
        subject = _SUBJECTS.get(entry.kind, EventSubject.PROJECT)
        record = records.get(entry.number)
        if entry.kind == EntryKind.RELEASE_WITHDRAWN:
            withdrawn = entry.details.get("withdrawn")
            record = records.get(withdrawn) if isinstance(withdrawn, int) else None
        elif subject is EventSubject.OVERRIDE:
            record = _release_after(entry, records.values())
        found.append(LedgerEvent(entry, subject, record, endings.get(entry.number)))
    return tuple(found)


def _release_after(entry: Entry, records: Iterable[ReleaseRecord]) -> ReleaseRecord | None:
    """Return the release that an override was given for: the next one of its identity."""
    wanted = entry.details.get("release_id")
    later = (r for r in records if r.number > entry.number and r.release_id == wanted)
    return min(later, key=lambda record: record.number, default=None)
