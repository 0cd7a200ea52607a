"""The ledger: an append-only record of what happened to a project.

Each entry holds the digest of the entry before it (a hash chain, SHA-256 over canonical
JSON) and a seal, an HMAC under a key derived from the project secret. The chain shows an
entry that was changed; the seal shows a chain that was written anew by someone without the
secret. The last entry's number is sealed as well, so that entries can't be cut off the end.
What no ledger in one file can show is the return of a whole older copy of the project.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from app.project.clock import Clock, stamp
from app.project.database import Database
from app.project.errors import LedgerTampered
from app.project.secret import ProjectSecret
from app.project.serialise import canonical_json

FIRST_LINK: Final = "0" * 64


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
        entry = self._sealed(number + 1, kind.value, stamp(self._clock), dict(details), previous)
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
        """All entries, oldest first.

        Raises
        ------
        LedgerTampered
            If an entry is not even readable.
        """
        found = []
        for number, kind, recorded_at, details, previous, digest, seal in self._database.rows(
            "SELECT number, kind, recorded_at, details, previous, digest, seal FROM ledger"
            " ORDER BY number"
        ):
            try:
                plain = json.loads(details, parse_constant=_refuse_constant)
            except ValueError:
                raise tampered_at(number) from None
            if not isinstance(plain, dict):
                raise tampered_at(number)
            found.append(Entry(number, kind, recorded_at, plain, previous, digest, seal))
        return tuple(found)

    def verify_chain(self) -> None:
        """Examine every link and seal.

        Raises
        ------
        LedgerTampered
            Naming the first entry that is not as Sfumato wrote it, or that is missing.
        """
        previous = FIRST_LINK
        count = 0
        for entry in self.entries:
            count += 1
            expected = self._sealed(
                count, entry.kind, entry.recorded_at, dict(entry.details), previous
            )
            if not _same(entry, expected):
                raise tampered_at(count)
            previous = entry.digest
        number, digest, seal = self._end()
        if count < max(number, 1):
            raise tampered_at(count + 1)
        whole = count == number and digest == previous
        if not whole or not hmac.compare_digest(seal, self._end_seal(number, digest)):
            raise tampered_at(count)

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
    return links == (expected.number, expected.previous, expected.digest) and hmac.compare_digest(
        entry.seal, expected.seal
    )


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def tampered_at(number: int) -> LedgerTampered:
    """Return the error that says which entry is not as Sfumato wrote it."""
    return LedgerTampered(
        "Entry {number} of the ledger was changed or removed outside Sfumato.",
        "Use a copy of the project from before the change. Until then you can open the project"
        " for reading only and compare its entries with the files you released.",
        number=number,
    )
