"""What a project file holds: its tables, how earlier versions become this one, and its rows.

A database can hold code: triggers, views, generated columns, checks, expressions in indexes.
A file is therefore compared with the schema of its version before any statement that could
run such code. What was added is named, and never used; a table that was changed is damage.

A new project is an empty file that went through all steps from version to version, so old and new
files can't differ. A step that was released is never changed; a change of the file is a new step.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from sfumato.engine.core.frozen import dataclass
from sfumato.project.errors import DamagedProject, NewerProject

Step = Callable[[sqlite3.Connection], None]
Row = tuple[Any, ...]

_FOUNDATION: Final = (
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
"""The first file: project, wrapped secret, document, ledger and unfinished releases."""

_SEAL: Final = (
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
"""The seal over the whole state, and a wrapping that names its key derivation function.

The seal itself is written by whoever upgrades, who has the secret.
"""


_KEYS: Final = (
    """
    CREATE TABLE keys (
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        public BLOB NOT NULL,
        kdf TEXT NOT NULL,
        cost TEXT NOT NULL,
        salt BLOB NOT NULL,
        nonce BLOB NOT NULL,
        ciphertext BLOB NOT NULL,
        PRIMARY KEY (kind, name)
    ) STRICT
    """,
)
"""Further keys: the secret wrapped by a recovery code, and the keys of who approves releases."""


@cache
def all_steps() -> Mapping[int, Step]:
    """Return every step by the version that it leads to, in order."""
    return {number: _running(sql) for number, sql in enumerate((_FOUNDATION, _SEAL, _KEYS), 1)}


def _running(statements: tuple[str, ...]) -> Step:
    def step(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return step


def newest_version() -> int:
    """Return the version of the files that this program writes."""
    return len(all_steps())


def version_of(connection: sqlite3.Connection) -> int:
    """Return a file's version; 0 for an empty one."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def upgrade(connection: sqlite3.Connection, steps: Mapping[int, Step]) -> None:
    """Apply the steps that a file lacks, inside a transaction of the caller.

    All of them and the seal that the caller writes are saved together, so that no interruption
    leaves a new file under an old seal.

    Parameters
    ----------
    connection
        In a transaction.
    steps
        From `all_steps`, or the first of them; the last one's number is the version to reach.
    """
    for number, step in steps.items():
        if number > version_of(connection):
            step(connection)
            connection.execute(f"PRAGMA user_version = {number:d}")


_OWN: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_LONGEST_NAME: Final = 40


@dataclass(frozen=True)
class SchemaProblem:
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
    return _database_after(_steps_to(version))


def tables_of(version: int) -> tuple[str, ...]:
    """Return the names of the tables of a version."""
    layout = _layout_after(_steps_to(version))
    return tuple(name for kind, name, _, _ in layout if kind == "table")


_Steps = tuple[tuple[int, Step], ...]


def _steps_to(version: int) -> _Steps:
    return tuple(takewhile(lambda item: item[0] <= version, all_steps().items()))


def _database_after(steps: _Steps) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN")
    upgrade(connection, dict(steps))
    connection.execute("COMMIT")
    return connection


@cache
def _layout_after(steps: _Steps) -> tuple[Row, ...]:
    """Return the schema that steps lead to, laid out once however many files are read."""
    with closing(_database_after(steps)) as connection:
        return tuple(connection.execute(_OWN))


def oddities_in(
    connection: sqlite3.Connection, version: int, path: Path
) -> tuple[SchemaProblem, ...]:
    """Return what a file's schema has too much or lacks; empty where it is exactly ours.

    Raises
    ------
    DamagedProject
        If a table is missing, or is another one than Sfumato laid out.
    """
    expected = set(_layout_after(_steps_to(version)))
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
    added = [
        SchemaProblem(str(kind), str(name))
        for kind, name, _, _ in sorted(found - expected, key=str)
    ]
    missing = [SchemaProblem(kind, name, sql) for kind, name, _, sql in sorted(expected - found)]
    # What was added goes first: it may stand where a missing guard belongs.
    return (*added, *missing)


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
    oddities: tuple[SchemaProblem, ...]

    def row(self, table: str) -> Row:
        """Return the one row of a table.

        Raises
        ------
        DamagedProject
            If there is none: the project lacks a part that it always has.
        """
        if not self.tables[table]:
            raise lacking(self.path)
        return self.tables[table][0]

    def as_database(self) -> sqlite3.Connection:
        """Return a database in memory of the newest version, with these rows and nothing else."""
        connection = empty_database(self.version)
        connection.execute("BEGIN")
        for table, rows in self.tables.items():
            for row in rows:
                connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
        upgrade(connection, all_steps())
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
    version, newest = version_of(connection), newest_version()
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


def lacking(path: Path) -> DamagedProject:
    """Return the error for a project without something that every project has."""
    return DamagedProject(
        "The project {path} lacks a part of its contents.",
        "Restore an earlier copy, for instance from your backup.",
        path=path,
    )
