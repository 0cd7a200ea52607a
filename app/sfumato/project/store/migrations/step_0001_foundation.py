"""The first file: project, wrapped secret, document, ledger and unfinished releases."""

from __future__ import annotations

import sqlite3

_TABLES = (
    """
    CREATE TABLE project (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        project_id TEXT NOT NULL,
        created_at TEXT NOT NULL,
        created_with TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE secret (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        salt BLOB NOT NULL,
        nonce BLOB NOT NULL,
        ciphertext BLOB NOT NULL,
        cost_n INTEGER NOT NULL,
        cost_r INTEGER NOT NULL,
        cost_p INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE document (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        content TEXT NOT NULL,
        saved_at TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE ledger (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        recorded_at TEXT NOT NULL,
        details TEXT NOT NULL,
        previous TEXT NOT NULL,
        digest TEXT NOT NULL,
        seal TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE ledger_end (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        number INTEGER NOT NULL,
        digest TEXT NOT NULL,
        seal TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE pending (
        staging TEXT PRIMARY KEY,
        details TEXT NOT NULL,
        prepared INTEGER
    ) STRICT
    """,
    """
    CREATE TRIGGER ledger_is_never_changed BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END
    """,
    """
    CREATE TRIGGER ledger_is_never_shortened BEFORE DELETE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END
    """,
)


def upgrade(connection: sqlite3.Connection) -> None:
    """Lay out an empty file."""
    for statement in _TABLES:
        connection.execute(statement)
