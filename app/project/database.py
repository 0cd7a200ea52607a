"""The SQLite connection under a project file, and what its failures mean to a custodian."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from app.engine.errors import SfumatoError
from app.formats.errors import CannotWrite, DiskFull
from app.project.errors import DamagedProject, NotAProject, ProjectInUse, ReadOnlyProject

APPLICATION_ID: Final = 0x53464D54
"""The letters SFMT, which mark an SQLite file as a Sfumato project."""

_MEANING: Final[tuple[tuple[str, type[SfumatoError], str, str], ...]] = (
    (
        "SQLITE_NOTADB",
        NotAProject,
        "{path} is not a Sfumato project.",
        "Choose a file that Sfumato saved; its name ends in .sfumato.",
    ),
    (
        "SQLITE_CORRUPT",
        DamagedProject,
        "The project {path} is damaged: a part of the file is missing or overwritten.",
        "Use a copy of it from before, for instance from your backup.",
    ),
    (
        "SQLITE_FULL",
        DiskFull,
        "The disk that holds {path} is full, so nothing was saved.",
        "Make room on it and try again; the project is as it was before.",
    ),
    (
        "SQLITE_BUSY",
        ProjectInUse,
        "The project {path} is open in another window or command.",
        "Close it there and try again.",
    ),
    (
        "SQLITE_LOCKED",
        ProjectInUse,
        "The project {path} is open in another window or command.",
        "Close it there and try again.",
    ),
    (
        "SQLITE_READONLY",
        CannotWrite,
        "The project {path} can't be written: the file or its folder is read-only.",
        "Open it for reading only, or copy it to a folder of your own.",
    ),
    (
        "SQLITE_CANTOPEN",
        CannotWrite,
        "{path} can't be opened: its folder is missing, or you may not use it.",
        "Choose another folder, or ask its owner for permission.",
    ),
)


def explain(error: sqlite3.Error, path: Path) -> SfumatoError:
    """Return what a failure of the database means to the custodian."""
    name = _name_of(error)
    for prefix, kind, what, remedy in _MEANING:
        if name.startswith(prefix):
            return kind(what, remedy, path=path)
    return DamagedProject(
        "The project {path} can't be read or written ({code}).",
        "Check the disk, then try again or use a copy of the project from before.",
        path=path,
        code=name or type(error).__name__,
    )


def _name_of(error: sqlite3.Error) -> str:
    """Return SQLite's name of an error; empty where Python itself raised it."""
    return getattr(error, "sqlite_errorname", None) or ""


class Database:
    """One open project file. May be used from several threads; calls take turns.

    Parameters
    ----------
    path
        The file, for messages.
    connection
        An open connection in autocommit mode.
    read_only
        Whether transactions are refused.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._connection = connection
        self._turn = threading.RLock()

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._turn, self._explained():
            return self._connection.execute(statement, values).fetchall()

    def row(self, statement: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Return the one row of a query.

        Raises
        ------
        DamagedProject
            If there is none: the project lacks a part that it always has.
        """
        found = self.rows(statement, values)
        if not found:
            raise DamagedProject(
                "The project {path} lacks a part of its contents.",
                "Use a copy of it from before, for instance from your backup.",
                path=self.path,
            )
        return found[0]

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give a connection whose changes are saved together, or not at all.

        Raises
        ------
        ReadOnlyProject
            If the project is open for reading only.
        """
        if self.read_only:
            raise ReadOnlyProject(
                "The project {path} is open for reading only.",
                "Close it and open it for writing.",
                path=self.path,
            )
        with self._turn, self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def raw(self) -> Iterator[sqlite3.Connection]:
        """Give the connection itself, for migrations only, which run their own transactions."""
        with self._turn, self._explained():
            yield self._connection

    def close(self) -> None:
        """Give the file free. Closing twice is harmless."""
        with self._turn:
            self._connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise explain(error, self.path) from None


def connect_for_writing(path: Path) -> Database:
    """Open an existing file and keep all others out until it is closed.

    Raises
    ------
    SfumatoError
        If it is no project, in use, or can't be written.
    """
    try:
        connection = _connect(f"{path.absolute().as_uri()}?mode=rw")
    except sqlite3.Error as error:
        raise explain(error, path) from None
    try:
        # EXTRA is FULL that also makes the journal's end durable in its folder.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        check_application(connection, path)
        _lock(connection)
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path) from None
    except BaseException:
        connection.close()
        raise
    return Database(path, connection, read_only=False)


def connect_for_reading(path: Path) -> Database:
    """Read an existing file into memory, so that nothing of it can change.

    Raises
    ------
    SfumatoError
        If it is no project, or in use.
    """
    try:
        try:
            memory = _copied(path, "ro")
        except sqlite3.OperationalError as error:
            if not _name_of(error).startswith("SQLITE_READONLY"):
                raise
            # A killed process left a half-made change, which has to be undone in the file.
            memory = _copied(path, "rw")
    except sqlite3.Error as error:
        raise explain(error, path) from None
    return Database(path, memory, read_only=True)


def _copied(path: Path, mode: str) -> sqlite3.Connection:
    """Return a copy of a project in memory."""
    memory = _connect("file::memory:")
    try:
        with closing(_connect(f"{path.absolute().as_uri()}?mode={mode}")) as file:
            check_application(file, path)
            file.backup(memory)
    except BaseException:
        memory.close()
        raise
    return memory


def _lock(connection: sqlite3.Connection) -> None:
    """Take the exclusive lock by a change that is not kept, which a read-only file refuses."""
    connection.execute("BEGIN EXCLUSIVE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version + 1:d}")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def check_application(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database of another program, and one whose pages don't fit together."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise NotAProject(
            "{path} is not a Sfumato project.",
            "Choose a file that Sfumato saved; its name ends in .sfumato.",
            path=path,
        )
    (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    if finding != "ok" or path.stat().st_size < pages * size:
        raise DamagedProject(
            "The project {path} is damaged: a part of the file is missing or overwritten.",
            "Use a copy of it from before, for instance from your backup.",
            path=path,
        )


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=0.2, check_same_thread=False
    )
