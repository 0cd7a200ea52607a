"""The ledger: an append-only record of what happened to a project.

Each entry holds the digest of the entry before it (a hash chain, SHA-256 over canonical
JSON) and a seal, an HMAC under a key derived from the project secret. The chain shows an
entry that was changed; the seal shows a chain that was written anew by someone without the
secret. The last entry's number is sealed as well, so that entries can't be cut off the end, and
the project's seal covers that (`sfumato.project.store.seal`).

Where a custodian accepts a ledger that was tampered with, as it stands, the entry that says so
is linked to the rows as they were found. The chain starts afresh there, and that stays told.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sfumato.project.document.serialise import canonical_json
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
    SOURCE_CHANGED = "source changed"
    OVERRIDE = "override"
    ADOPTED = "earlier release adopted"
    RELEASE_PREPARED = "release prepared"
    RELEASE_COMPLETED = "release completed"
    RELEASE_ABANDONED = "release abandoned"
    RELEASE_UNTRACED = "release untraced"
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
        """All entries, oldest first; the same objects as long as the file holds the same.

        Raises
        ------
        LedgerTampered
            If an entry is not even readable.
        """
        rows, (known, entries) = self._database.rows(_ALL), self._read
        if rows != known:
            entries = tuple(map(entry_of, rows))
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
