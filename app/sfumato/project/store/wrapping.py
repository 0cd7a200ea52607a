"""The wrapped secret as rows of the project file, of this version and of earlier ones."""

from __future__ import annotations

import sqlite3

from sfumato.project.document.serialise import canonical_json
from sfumato.project.store.contents import Contents, Row
from sfumato.project.store.secret import WrappedSecret, cost_from_json, cost_to_json


def wrapped_in(contents: Contents) -> WrappedSecret:
    """Return the wrapped secret that stands in a file.

    Raises
    ------
    DamagedProject
        If it is none that Sfumato writes.
    """
    if contents.version == 1:  # which knows scrypt alone
        _, salt, nonce, ciphertext, n, r, p = contents.row("secret")
        cost = canonical_json({"n": n, "p": p, "r": r})
        return wrapped_in_row((1, "scrypt", cost, salt, nonce, ciphertext))
    return wrapped_in_row(contents.row("wrapping"))


def wrapped_in_row(row: Row) -> WrappedSecret:
    """Return the wrapped secret that a row holds; raises as `wrapped_in`."""
    _, kdf, cost, salt, nonce, ciphertext = row
    return WrappedSecret(salt, nonce, ciphertext, cost_from_json(kdf, cost))


def write_wrapping(connection: sqlite3.Connection, wrapped: WrappedSecret) -> None:
    """Write a wrapped secret in the place of the one before, inside a transaction."""
    cost = wrapped.cost
    connection.execute(
        "INSERT OR REPLACE INTO wrapping VALUES (1, ?, ?, ?, ?, ?)",
        (cost.kdf, cost_to_json(cost), wrapped.salt, wrapped.nonce, wrapped.ciphertext),
    )
