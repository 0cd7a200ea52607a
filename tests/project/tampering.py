"""An attacker who can write to a project's file, knows its format, and has no passphrase."""

from __future__ import annotations

import sqlite3
from contextlib import closing


def change(path, *statements):
    """Change a project file behind its back; its guards stand again afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        guards = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(
                statement
            )
        for _, sql in guards:
            connection.execute(sql)


def rows(path, table):
    """Return all rows of a table."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


def put(path, table, content):
    """Put other rows in the place of a table's."""
    marks = ",".join("?" * len(content[0])) if content else ""
    change(
        path,
        f"DELETE FROM {table}",
        *((f"INSERT INTO {table} VALUES ({marks})", row) for row in content),
    )


def everything_in(folder):
    """Return every path below a folder with what stands there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
