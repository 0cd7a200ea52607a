"""Only the tables that Sfumato lays out, with its own SQL, and nothing beside them.

A database can hold code: triggers, views, generated columns, checks, expressions in indexes.
A file is therefore compared with the schema of its version before any statement that could
run such code. What was added is named, and never used; a table that was changed is damage.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

from sfumato.project.errors import DamagedProject
from sfumato.project.store import migrations

_OWN: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_LONGEST_NAME: Final = 40


@dataclass(frozen=True)
class Oddity:
    """Something that a file's schema has too much, or a guard that it lacks.

    Parameters
    ----------
    kind, name
        ``table``, ``index``, ``view`` or ``trigger``, and what it is called.
    missing
        The SQL that restores it, where it is missing; empty where it was added.
    """

    kind: str
    name: str
    missing: str = ""

    @property
    def shown(self) -> str:
        """Its kind and name, harmless to show."""
        printable = "".join(letter if letter.isprintable() else "?" for letter in self.name)
        return f"{self.kind} {printable[:_LONGEST_NAME]}"

    def mend(self, connection: sqlite3.Connection) -> None:
        """Remove or restore it, inside a transaction."""
        if self.missing:
            connection.execute(self.missing)
        else:
            quoted = self.name.replace('"', '""')
            connection.execute(f'DROP {self.kind.upper()} IF EXISTS "{quoted}"')


def harden(connection: sqlite3.Connection) -> None:
    """Let a database that may have been crafted run nothing and reach nothing."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")
    # Python offers it from 3.12 on.
    configure = getattr(connection, "setconfig", None)
    if configure is not None:
        configure(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)  # type: ignore[attr-defined,unused-ignore]


def empty_database(version: int) -> sqlite3.Connection:
    """Return a database in memory that is laid out as a project of a version, without rows."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    steps = takewhile(lambda item: item[0] <= version, migrations.all_steps().items())
    connection.execute("BEGIN")
    migrations.upgrade(connection, dict(steps))
    connection.execute("COMMIT")
    return connection


def tables_of(version: int) -> tuple[str, ...]:
    """Return the names of the tables of a version."""
    with closing(empty_database(version)) as connection:
        return tuple(name for kind, name, _, _ in connection.execute(_OWN) if kind == "table")


def oddities_in(connection: sqlite3.Connection, version: int, path: Path) -> tuple[Oddity, ...]:
    """Return what a file's schema has too much or lacks; empty where it is exactly ours.

    Raises
    ------
    DamagedProject
        If a table is missing, or is another one than Sfumato laid out.
    """
    with closing(empty_database(version)) as own:
        expected = set(own.execute(_OWN))
    rows = connection.execute(_OWN).fetchall()
    found = set(rows)
    for _, name, _, _ in (row for row in expected - found if row[0] != "trigger"):
        raise DamagedProject(
            "The project {path} lacks the table {table}, or has another one in its place.",
            "Restore an earlier copy, for instance from your backup.",
            path=path,
            table=name,
        )
    if len(rows) != len(found):
        raise DamagedProject(
            "The project {path} has a part of its contents twice.",
            "Restore an earlier copy, for instance from your backup.",
            path=path,
        )
    added = [Oddity(str(kind), str(name)) for kind, name, _, _ in sorted(found - expected, key=str)]
    missing = [Oddity(kind, name, sql) for kind, name, _, sql in sorted(expected - found)]
    # What was added goes first: it may stand where a missing guard belongs.
    return (*added, *missing)
