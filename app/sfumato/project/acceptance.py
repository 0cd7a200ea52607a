"""Accepting a project as it stands, although it is not as it was sealed.

This is the custodian's explicit decision. It is recorded in the ledger together with everything
that was found, and it believes nothing that could reach outside: unfinished releases that are
not sealed are forgotten, their files left where they are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from sfumato.project.errors import Finding, LedgerTampered, Part
from sfumato.project.ledger.ledger import EntryKind, Ledger, entry_of
from sfumato.project.ledger.records import ReleaseState, events_in, releases_in
from sfumato.project.store import schema
from sfumato.project.store.database import Database
from sfumato.project.store.schema import Contents, Row

LARGEST_NUMBER: Final = 2**53
_UNCERTAIN: Final = {Part.PENDING, Part.SEAL, Part.NEVER_SEALED}
"""What makes the list of unfinished releases one that nobody may act on."""


def accept(
    database: Database,
    ledger: Ledger,
    contents: Contents,
    findings: Sequence[Finding],
    reason: str,
) -> None:
    """Take a project as it stands, record that, and seal it, in one transaction.

    Parameters
    ----------
    database, ledger
        Of the project, open for writing; its keeper seals the result.
    contents
        What was read from the file.
    findings
        In which ways that is not as it was sealed.
    reason
        The custodian's, for the ledger.
    """
    parts = {finding.part for finding in findings}
    certain = not parts & _UNCERTAIN
    with database.transaction() as connection:
        for oddity in contents.oddities:
            oddity.mend(connection)
        schema.upgrade(connection, schema.all_steps())
        details: dict[str, Any] = {
            "reason": reason,
            "findings": [
                {"part": finding.part.value, "what": str(finding.what)} for finding in findings
            ],
        }
        if not certain and contents.tables["pending"]:
            connection.execute("DELETE FROM pending")
            details["unfinished_releases_forgotten"] = len(contents.tables["pending"])
        if Part.LEDGER in parts:
            removed = _remove_unreadable(connection, contents.tables["ledger"])
            if removed:
                details["unreadable_entries_removed"] = removed
            ledger.restart(connection, EntryKind.ACCEPTED_UNSEALED, details)
        else:
            ledger.append(connection, EntryKind.ACCEPTED_UNSEALED, details)
        if not certain:
            _give_up_prepared(connection, ledger)


def _remove_unreadable(connection: sqlite3.Connection, rows: Sequence[Row]) -> int:
    """Remove the rows that are no entries at all; return how many there were."""
    unreadable = [row[0] for row in rows if not _readable(row)]
    if unreadable:
        guard = "ledger_is_never_shortened"
        (restore,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", (guard,)
        ).fetchone()
        connection.execute(f"DROP TRIGGER {guard}")
        connection.executemany("DELETE FROM ledger WHERE number = ?", [(n,) for n in unreadable])
        connection.execute(restore)
    return len(unreadable)


def _readable(row: Row) -> bool:
    try:
        entry = entry_of(row)
        events_in((entry,))
    except (LedgerTampered, TypeError, ValueError, KeyError, AttributeError):
        return False
    return 1 <= entry.number < LARGEST_NUMBER


def _give_up_prepared(connection: sqlite3.Connection, ledger: Ledger) -> None:
    """End releases that nothing certain is known of: someone may have them."""
    for record in releases_in(ledger.entries):
        if record.state is ReleaseState.PREPARED:
            details = {
                "prepared": record.number,
                "release_id": record.release_id,
                "recipient": record.recipient,
                "target": str(record.target),
                "reason": "it was interrupted, and then an unsealed state was accepted",
            }
            ledger.append(connection, EntryKind.RELEASE_UNTRACED, details)
