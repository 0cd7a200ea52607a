"""The seal over the whole state, and a wrapping that names its key derivation function."""

from __future__ import annotations

import sqlite3

_STATEMENTS = (
    """
    CREATE TABLE wrapping (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        kdf TEXT NOT NULL,
        cost TEXT NOT NULL,
        salt BLOB NOT NULL,
        nonce BLOB NOT NULL,
        ciphertext BLOB NOT NULL
    ) STRICT
    """,
    """
    INSERT INTO wrapping
    SELECT 1, 'scrypt', '{"n":' || cost_n || ',"p":' || cost_p || ',"r":' || cost_r || '}',
        salt, nonce, ciphertext
    FROM secret
    """,
    "DROP TABLE secret",
    """
    CREATE TABLE seal (
        only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
        counter INTEGER NOT NULL,
        parts TEXT NOT NULL,
        mac TEXT NOT NULL
    ) STRICT
    """,
)


def upgrade(connection: sqlite3.Connection) -> None:
    """Make room for the seal; it is written by whoever upgrades, who has the secret."""
    for statement in _STATEMENTS:
        connection.execute(statement)
