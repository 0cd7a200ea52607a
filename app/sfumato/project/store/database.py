"""The SQLite connection under a project file, and what its failures mean to a custodian.

A file is never trusted here: its journal and its schema are examined before anything runs, and
what is read for reading only is copied, row by row, into a database of our own making.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

from sfumato.engine.core.errors import SfumatoError
from sfumato.formats.errors import CannotWrite, DiskFull
from sfumato.formats.files import refusal_to_read
from sfumato.project.errors import (
    DamagedProject,
    NotAProject,
    ProjectInUse,
    ProjectReplaced,
    ReadOnlyProject,
)
from sfumato.project.store.schema import Contents, damaged, harden, lacking, read_contents

APPLICATION_ID: Final = 0x53464D54
"""The letters SFMT, which mark an SQLite file as a Sfumato project."""
SYNCHRONOUS = "EXTRA"
"""FULL that also makes the journal's end durable in its folder."""

_JOURNAL_BEGINS: Final = bytes.fromhex("d9d505f920a163d7")
"""What SQLite's journals begin with while a change is under way."""
_LOG_STATED: Final = slice(18, 20)
_OWNER_STATED: Final = slice(68, 72)
"""Where the file's header says whether there is a write-ahead log, and whose it is."""
_READINGS: Final = 50
_PAUSE_SECONDS: Final = 0.02

_locked_here: Final[set[tuple[int, int]]] = set()
"""The files that this process has open for writing."""

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
        "Restore an earlier copy, for instance from your backup.",
    ),
    (
        "SQLITE_FULL",
        DiskFull,
        "The disk that holds {path} is full, so nothing was saved.",
        "Make room on it and try again; the project is as it was before.",
    ),
    (  # a quota that is used up, or a limit on a file's size
        "SQLITE_IOERR_WRITE",
        DiskFull,
        "The disk takes no more of {path}, so nothing was saved.",
        "Make room on it, or ask for more if your share of it is limited, and try again; the"
        " project is as it was before.",
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


def explain(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> SfumatoError:
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


def _name_of(error: sqlite3.Error | UnicodeDecodeError) -> str:
    """Return SQLite's name of an error; empty where Python itself raised it."""
    return getattr(error, "sqlite_errorname", None) or ""


class Keeper(Protocol):
    """Sees every change of a project through, see `sfumato.project.store.seal.Seal`."""

    def begin(self, connection: sqlite3.Connection) -> None:
        """Examine the state before a change, inside its transaction."""

    def end(self, connection: sqlite3.Connection) -> None:
        """Seal the state after a change, inside its transaction."""

    def committed(self) -> None:
        """Learn that the change is on the disk."""


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

    Attributes
    ----------
    keeper
        Seals every change; None until the project's secret is known.
    is_open
        Whether it was not closed yet.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.keeper: Keeper | None = None
        self.is_open = True
        self._lock: tuple[int, int] | None = None
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
            raise lacking(self.path)
        return found[0]

    @property
    def in_place(self) -> bool:
        """Whether the open file is still the one under its name.

        Programs that synchronize folders replace files, and the system then keeps the one that is
        open without a name: what is written to it is gone once it is closed.
        """
        try:
            return self._lock is None or _identity(self.path) == self._lock
        except PermissionError:  # that it may not be looked at says nothing of it
            return True
        except OSError:
            return False

    def require_place(self) -> None:
        """Raise `ProjectReplaced` where another file, or none, is under the project's name."""
        if not self.in_place:
            raise ProjectReplaced(
                "The project {path} was moved, deleted or replaced by another program while it"
                " was open, so nothing more is saved in it.",
                "Save a copy of the project under another name and go on with that, or close it"
                " and open what is there now. A program that synchronizes the folder may have"
                " done it: pause it while you work.",
                path=self.path,
            )

    @contextmanager
    def transaction(self, anywhere: bool = False) -> Iterator[sqlite3.Connection]:
        """Give a connection whose changes are saved together, or not at all.

        Parameters
        ----------
        anywhere
            Whether the file may be without its name, because it is copied next.

        Raises
        ------
        ReadOnlyProject
            If the project is open for reading only.
        ProjectReplaced
            If another file, or none, is under the project's name. Where that was found before the
            end, nothing was changed.
        """
        if self.read_only:
            raise ReadOnlyProject(
                "The project {path} is open for reading only.",
                "Close it and open it for writing.",
                path=self.path,
            )
        with self._turn, self._explained():
            self._require_place(anywhere)
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                if self.keeper is not None:
                    self.keeper.begin(self._connection)
                yield self._connection
                if self.keeper is not None:
                    self.keeper.end(self._connection)
                self._require_place(anywhere)
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
            if self.keeper is not None:
                self.keeper.committed()
            self._require_place(anywhere)

    def _require_place(self, anywhere: bool) -> None:
        if not anywhere:
            self.require_place()

    @contextmanager
    def raw(self) -> Iterator[sqlite3.Connection]:
        """Give the connection itself, to read from it by SQLite's own means."""
        with self._turn, self._explained():
            yield self._connection

    def close(self) -> None:
        """Give the file free. Closing twice is harmless."""
        with self._turn:
            self._connection.close()
            self.is_open = False
            if self._lock is not None:
                _locked_here.discard(self._lock)

    def locks(self, identity: tuple[int, int]) -> None:
        """Remember which file is locked until this is closed."""
        self._lock = identity
        _locked_here.add(identity)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise explain(error, self.path) from None


def connect_for_writing(path: Path) -> tuple[Database, Contents]:
    """Open an existing file, keep all others out until it is closed, and read what is in it.

    Raises
    ------
    SfumatoError
        If it is no project, in use, or can't be written.
    """
    _refuse_foreign_journal(path)
    try:
        identity = _identity(path)
        connection = _connect(f"{path.absolute().as_uri()}?mode=rw")
    except sqlite3.Error as error:
        raise explain(error, path) from None
    except OSError as error:
        raise refusal_to_read(error, path) from None
    try:
        harden(connection)
        connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        _check_application(connection, path)
        _lock(connection)
        contents = read_contents(connection, path)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where names are no text
        connection.close()
        raise explain(error, path) from None
    except BaseException:
        connection.close()
        raise
    database = Database(path, connection, read_only=False)
    database.locks(identity)
    try:
        database.require_place()
    except BaseException:
        database.close()
        raise
    return database, contents


def connect_for_reading(path: Path) -> tuple[Database, Contents]:
    """Read an existing file into memory, also while another process has it open.

    Raises
    ------
    SfumatoError
        If it is no project, open for writing in this very process, or can't be read.
    """
    _refuse_foreign_journal(path)
    try:
        contents = _contents(path)
        return Database(path, contents.as_database(), read_only=True), contents
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise explain(error, path) from None


def _contents(path: Path) -> Contents:
    """Return what is in a file, however it can be had."""
    try:
        return _read(path, "ro")
    except sqlite3.OperationalError as error:
        name = _name_of(error)
        if name.startswith("SQLITE_READONLY"):
            # A killed process left a half-made change, which has to be undone in the file.
            return _read(path, "rw")
        # Closing a file that this process has locked would give its lock away.
        if name.startswith("SQLITE_BUSY") and _identity(path) not in _locked_here:
            return _read_beside_writer(path, error)
        raise


def _read(path: Path, mode: str) -> Contents:
    with closing(_connect(f"{path.absolute().as_uri()}?mode={mode}")) as file:
        harden(file)
        _check_application(file, path)
        file.execute("BEGIN")
        return read_contents(file, path)


def _read_beside_writer(path: Path, busy: sqlite3.OperationalError) -> Contents:
    """Read a file that another process has locked.

    What is read is of one moment where no change is under way between two readings that are
    the same: the journal stands from before a change's first byte until after its last.
    """
    for _ in range(_READINGS):
        try:
            image = path.read_bytes()
            if not _change_under_way(path) and path.read_bytes() == image:
                break
        except OSError:
            raise busy from None
        threading.Event().wait(_PAUSE_SECONDS)
    else:
        raise busy
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as memory:
        memory.deserialize(image)
        harden(memory)
        _check_application(memory, path)
        return read_contents(memory, path)


def _beside(path: Path, ending: str) -> Path:
    """Return a file that SQLite keeps beside a database; beside the file itself, not a link."""
    real = path.resolve()
    return real.with_name(f"{real.name}-{ending}")


def _change_under_way(path: Path) -> bool:
    """Whether a journal stands beside a file that is not finished."""
    try:
        with _beside(path, "journal").open("rb") as file:
            return file.read(len(_JOURNAL_BEGINS)) == _JOURNAL_BEGINS
    except FileNotFoundError:
        return False


def _refuse_foreign_journal(path: Path) -> None:
    """Refuse a journal that Sfumato can't have left, before SQLite acts on it.

    A journal that ends with the name of a "super-journal" would have SQLite delete that file,
    and one that is a link to a file would have it overwrite that file. Sfumato keeps no
    write-ahead log, whose changes would not be in the project's file.
    """
    journal, log = _beside(path, "journal"), _beside(path, "wal")
    foreign = journal if os.path.lexists(journal) and _is_foreign(journal) else None
    if os.path.lexists(log):
        foreign = log
    if foreign is not None:
        raise DamagedProject(
            "The journal {journal} beside the project was not left by Sfumato.",
            "Move it away, and find out who put it there.",
            journal=foreign,
        )
    try:
        with path.open("rb") as file:
            head = file.read(_OWNER_STATED.stop)
    except OSError:
        return  # SQLite tells why
    if 2 in head[_LOG_STATED] and head[_OWNER_STATED] == APPLICATION_ID.to_bytes(4, "big"):
        raise DamagedProject(
            "The project {path} was set to keep a write-ahead log, which Sfumato never does.",
            "Use a copy of it from before, for instance from your backup.",
            path=path,
        )


def _is_foreign(journal: Path) -> bool:
    found = journal.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        return True
    try:
        with journal.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_JOURNAL_BEGINS)))
            return file.read() == _JOURNAL_BEGINS
    except OSError:
        return True


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _lock(connection: sqlite3.Connection) -> None:
    """Take the exclusive lock by a change that is not kept, which a read-only file refuses."""
    connection.execute("BEGIN EXCLUSIVE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {(version + 1) % 1000:d}")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_application(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database of another program, and one that is shorter than it says."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise NotAProject(
            "{path} is not a Sfumato project.",
            "Choose a file that Sfumato saved; its name ends in .sfumato.",
            path=path,
        )
    try:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    except UnicodeDecodeError:  # The error would quote a schema that is no text.
        raise damaged(path) from None
    if path.stat().st_size < pages * size:
        raise damaged(path)


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=0.2, check_same_thread=False
    )
