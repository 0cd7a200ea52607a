"""All rows of a project file, read once, before any of them is believed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sfumato.project.errors import DamagedProject, NewerProject
from sfumato.project.store import migrations
from sfumato.project.store.schema import Oddity, empty_database, oddities_in, tables_of

Row = tuple[Any, ...]

_TAGS: Final = {type(None): b"n", int: b"i", float: b"f", str: b"t", bytes: b"b"}


@dataclass(frozen=True)
class Contents:
    """What stands in a project file.

    Parameters
    ----------
    path
        The file, for messages.
    version
        The version of its schema.
    tables
        All rows of every table, by the table's name.
    oddities
        What its schema has too much or lacks.
    """

    path: Path
    version: int
    tables: Mapping[str, tuple[Row, ...]]
    oddities: tuple[Oddity, ...]

    def row(self, table: str) -> Row:
        """Return the one row of a table.

        Raises
        ------
        DamagedProject
            If there is none: the project lacks a part that it always has.
        """
        if not self.tables[table]:
            raise DamagedProject(
                "The project {path} lacks a part of its contents.",
                "Restore an earlier copy, for instance from your backup.",
                path=self.path,
            )
        return self.tables[table][0]

    def as_database(self) -> sqlite3.Connection:
        """Return a database in memory of the newest version, with these rows and nothing else."""
        connection = empty_database(self.version)
        connection.execute("BEGIN")
        for table, rows in self.tables.items():
            for row in rows:
                connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
        migrations.upgrade(connection, migrations.all_steps())
        connection.execute("COMMIT")
        return connection


def read_contents(connection: sqlite3.Connection, path: Path) -> Contents:
    """Read a whole project file, inside a transaction or under the lock.

    Raises
    ------
    NewerProject
        If a later version of Sfumato wrote it.
    DamagedProject
        If it has other tables than Sfumato's, or its pages don't fit together.
    """
    version, newest = migrations.version_of(connection), migrations.newest_version()
    if version > newest:
        raise NewerProject(
            "The project {path} was saved by a later version of Sfumato (its file format"
            " is {version}, this version reads up to {newest}).",
            "Open it with that version, or update this one.",
            path=path,
            version=version,
            newest=newest,
        )
    try:
        oddities = oddities_in(connection, version, path)
        # Not before the schema is known: it evaluates the checks of the tables.
        (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if version < 1 or finding != "ok":
            raise damaged(path)
        tables = {table: rows_of(connection, table) for table in tables_of(version)}
    except UnicodeDecodeError:  # a text whose bytes were overwritten
        raise damaged(path) from None
    return Contents(path, version, tables, oddities)


def rows_of(connection: sqlite3.Connection, table: str) -> tuple[Row, ...]:
    """Return all rows of one of our tables, by the table's own order."""
    # No index is asked: one that was added could leave rows out.
    return tuple(connection.execute(f"SELECT * FROM {table} NOT INDEXED ORDER BY rowid"))


def digest_of_rows(rows: Iterable[Sequence[Any]]) -> str:
    """Return SHA-256 over rows: each value with its type and length, so that no two agree."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(b"row %d:" % len(row))
        for value in row:
            content = value if isinstance(value, bytes) else str(value).encode()
            digest.update(b"%s%d:" % (_TAGS[type(value)], len(content)))
            digest.update(content)
    return digest.hexdigest()


def damaged(path: Path) -> DamagedProject:
    """Return the error for a file whose pages don't fit together."""
    return DamagedProject(
        "The project {path} is damaged: a part of the file is missing or overwritten.",
        "Restore an earlier copy, for instance from your backup.",
        path=path,
    )
