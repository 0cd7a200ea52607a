"""The project file: one SQLite file that holds everything but the table itself.

Every change is one transaction that is on the disk when the call returns, and seals the whole
state. While a project is open for writing, SQLite's exclusive lock keeps every other writer
out; the operating system frees the lock when a process dies.

What stands in a file is read once, under the lock, and examined before any of it is acted on.

Accepting a project as it stands, although it is not as it was sealed, is the custodian's explicit
decision. It is recorded in the ledger together with everything
that was found, and it believes nothing that could reach outside: unfinished releases that are
not sealed are forgotten, their files left where they are.
"""

from __future__ import annotations

import operator
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from sfumato import __version__
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.engine.randomness.keys import KeyRing
from sfumato.formats.files import (
    is_file,
    refusal_to_write,
    remove_abandoned,
    remove_all_abandoned,
    unfinished_beside,
)
from sfumato.project.document.edits import check_shown
from sfumato.project.document.model import Document, document_from_json, document_to_json
from sfumato.project.errors import (
    LedgerTampered,
    NotSealed,
    ProjectExists,
    ProjectMissing,
    ProjectPart,
    SealViolation,
)
from sfumato.project.ledger import (
    Entry,
    EntryKind,
    Ledger,
    ReleaseRecord,
    ReleaseState,
    entry_of,
    events_in,
    releases_in,
)
from sfumato.project.recovery import Recovered, record_kept, recover
from sfumato.project.store import schema
from sfumato.project.store.database import (
    APPLICATION_ID,
    Database,
    connect_for_reading,
    connect_for_writing,
    explain,
)
from sfumato.project.store.files import (
    Clock,
    move_without_overwriting,
    pending_in,
    stagings_of,
    stamp,
    sync_file,
    utc_now,
)
from sfumato.project.store.kept_releases import KeptReleases
from sfumato.project.store.remembered import Remembered
from sfumato.project.store.schema import Contents, Row
from sfumato.project.store.seal import Seal, SeenCounter, folders_of_state
from sfumato.project.store.secret import (
    STANDARD_COST,
    Cost,
    ProjectSecret,
    WrappedSecret,
    unwrap,
    wrap,
    wrapped_in,
    wrapped_in_row,
    write_wrapping,
)

LARGEST_NUMBER: Final = 2**53
_READINGS: Final = 50
_UNCERTAIN: Final = {ProjectPart.PENDING, ProjectPart.SEAL, ProjectPart.NEVER_SEALED}
"""What makes the list of unfinished releases one that nobody may act on."""


def accept(
    database: Database,
    ledger: Ledger,
    contents: Contents,
    findings: Sequence[SealViolation],
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
        if ProjectPart.LEDGER in parts:
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


class ProjectFile:
    """An open project. Make one with `create` or `open`, and close it when done.

    It may be used from several threads: a worker can make a release while the window saves.

    Attributes
    ----------
    path
        The file.
    project_id
        The project's identity; not secret.
    read_only
        Whether saving and releasing are refused.
    kept_releases
        Its releases as they are kept on this computer while it is open.
    remembered
        What was found out about its table on this computer.
    recovered
        What became of releases that an interruption had left unfinished.
    tampering
        What is not as it was sealed, where it was opened for reading in spite of it.
    accepted
        What was not as it was sealed and was accepted at the opening.
    """

    def __init__(
        self,
        database: Database,
        contents: Contents,
        secret: ProjectSecret,
        clock: Clock,
        newest: int | None = None,
    ) -> None:
        self.path = database.path
        self.read_only = database.read_only
        self.database = database
        self.project_id = id_in(contents)
        self.secret = secret
        self.clock = clock
        self.ledger = Ledger(database, self.project_id, secret, clock)
        self.remembered = Remembered(secret)
        self.kept_releases = KeptReleases(secret, self.path)
        self._releases: tuple[tuple[Entry, ...], tuple[ReleaseRecord, ...]] = ((), ())
        self.keys = KeyRing(secret.reveal())
        self.releasing = threading.Lock()
        self.recovered: tuple[Recovered, ...] = ()
        self.accepted: tuple[SealViolation, ...] = ()
        self._seal = Seal(self.path, self.project_id, secret)
        findings = self._examined(contents, newest)
        self.tampering = NotSealed(self.path, findings) if findings else None
        self._saved_text: str = contents.row("document")[1]
        self._document = document_from_json(self._saved_text)

    def _examined(self, contents: Contents, newest: int | None) -> tuple[SealViolation, ...]:
        """Return in which ways the contents are not as they were sealed; see `Seal.examine`."""
        findings = self._seal.examine(contents, newest)
        try:
            self.ledger.verify_rows(contents.tables["ledger"], contents.tables["ledger_end"])
        except LedgerTampered as tampering:
            others = (finding for finding in findings if finding.part is not ProjectPart.LEDGER)
            findings = (
                *others,
                SealViolation(
                    ProjectPart.LEDGER, Sentence(tampering.what_template, **tampering.details)
                ),
            )
        return findings

    @classmethod
    def create(
        cls,
        path: Path,
        passphrase: str,
        document: Document,
        *,
        cost: Cost = STANDARD_COST,
        clock: Clock = utc_now,
    ) -> ProjectFile:
        """Make a new project with a new secret, and open it.

        Parameters
        ----------
        path
            The new file.
        passphrase
            What opens the project from now on.
        document
            Its first contents.
        cost
            The work of one guess of the passphrase.
        clock
            Tells the time for the ledger.

        Raises
        ------
        ProjectExists
            If there is a file already.
        PassphraseError
            If the passphrase is empty.
        CannotWrite, DiskFull
            If the folder does not take the file.
        """
        path = Path(path)
        if os.path.lexists(path):  # unlike Path.exists, silent about names that are too long
            raise _exists(path)
        secret, project_id = ProjectSecret.generate(), secrets.token_hex(16)
        wrapped = wrap(secret, passphrase, project_id, cost)
        # Built aside, so that a crash leaves no half project under the final name.
        try:
            with unfinished_beside(path) as staged:
                _build(staged, project_id, secret, wrapped, document, clock)
                sync_file(staged)
                move_without_overwriting(staged, path)
        except FileExistsError:
            raise _exists(path) from None
        except OSError as error:
            raise refusal_to_write(error, path) from None
        # Asking the passphrase for its secret once more would take as long as a guess.
        return cls.opened_by(path, lambda _: secret, clock)

    @classmethod
    def open(
        cls,
        path: Path,
        passphrase: str,
        *,
        read_only: bool = False,
        accepting: str = "",
        clock: Clock = utc_now,
    ) -> ProjectFile:
        """Open a project, upgrade it to this version, and finish what was interrupted.

        Parameters
        ----------
        path
            The file.
        passphrase
            What it was saved with.
        read_only
            Work on a copy in memory: the file is not locked, upgraded or recovered, it may be
            open elsewhere, and what is not as it was sealed is shown instead of refused.
        accepting
            The custodian's reason to go on with what is not as it was sealed. The ledger keeps
            it, with what was found.
        clock
            Tells the time for the ledger.

        Raises
        ------
        ProjectMissing, NotAProject, DamagedProject, NewerProject, ProjectInUse, CannotWrite
            If the file can't be used.
        WrongPassphrase
            If it was saved with another passphrase.
        NotSealed
            If it is not as it was sealed, unless `read_only` or `accepting`.
        """
        path = existing_project(path)

        def secret_in(contents: Contents) -> ProjectSecret:
            return unwrap(wrapped_in(contents), passphrase, id_in(contents))

        return cls.opened_by(path, secret_in, clock, read_only=read_only, accepting=accepting)

    @classmethod
    def opened_by(
        cls,
        path: Path,
        secret_in: Callable[[Contents], ProjectSecret],
        clock: Clock,
        *,
        read_only: bool = False,
        accepting: str = "",
    ) -> ProjectFile:
        """Open a project by what finds its secret in what stands in the file; see `open`."""
        if read_only:
            return cls._opened_for_reading(path, secret_in, clock)
        database, contents = connect_for_writing(path)
        try:
            project = cls(database, contents, secret_in(contents), clock)
            project._take_over(contents, accepting)
        except BaseException:
            database.close()
            raise
        return project

    @classmethod
    def _opened_for_reading(
        cls, path: Path, secret_in: Callable[[Contents], ProjectSecret], clock: Clock
    ) -> ProjectFile:
        """Open a project that somebody may be writing to.

        A writer goes on while the passphrase is tried, and then the note of the newest state is
        newer than what was read. So what contradicts the seal is believed only where the file
        still holds the same after that note was read; else what it holds now is examined, beside
        the note as it was before.
        """
        database, contents = connect_for_reading(path)
        opened, kept = [database], None
        try:
            secret = secret_in(contents)
            project = cls(database, contents, secret, clock)
            for _ in range(_READINGS):
                newest: int | None = SeenCounter(secret).counter()
                if project.tampering is None:
                    break
                database, now = connect_for_reading(path)
                opened.append(database)
                if now == contents:
                    break
                if now.tables["project"] != contents.tables["project"]:
                    secret, newest = secret_in(now), None
                contents = now
                project = cls(database, contents, secret, clock, newest)
            kept = project.database
        finally:
            for database in opened:
                if database is not kept:
                    database.close()
        return project

    def _take_over(self, contents: Contents, accepting: str) -> None:
        """Make the file one of this version that is sealed, and finish what was interrupted."""
        if self.tampering is not None and not accepting:
            raise self.tampering
        self.database.keeper = self._seal
        if self.tampering is not None:
            self.accepted = self.tampering.findings
            accept(self.database, self.ledger, contents, self.accepted, accepting)
            self.tampering = None
            pending = pending_in(self.database)
        else:
            self._upgrade(contents)
            pending = stagings_of(contents.tables["pending"])
        self._seal.remember()
        found = recover(self.database, self.ledger, pending)
        self.recovered = (*found, *record_kept(self.database, self.ledger, self.kept_releases))
        remove_abandoned(self.path)
        for folder in (self.path.parent, *folders_of_state()):
            remove_all_abandoned(folder)

    def _upgrade(self, contents: Contents) -> None:
        if contents.version < schema.newest_version():
            with self.database.transaction() as connection:
                schema.upgrade(connection, schema.all_steps())

    @property
    def document(self) -> Document:
        """The document as it was saved last."""
        return self._document

    @property
    def releases(self) -> tuple[ReleaseRecord, ...]:
        """Every release that the ledger tells of, oldest first.

        They are the same objects as long as the ledger is the same: the window asks at each edit,
        and what a record's policy was is worked out once. Of a ledger that has grown, what is new
        is read alone.
        """
        entries, (known, records) = self.ledger.entries, self._releases
        if entries is not known:
            grown = all(map(operator.is_, known, entries)) and len(known) <= len(entries)
            records = releases_in(entries[len(known) :], records) if grown else releases_in(entries)
            self._releases = (entries, records)
        return records

    def count_entries(self, context: Context) -> int:
        """Examine the ledger's chain and return the number of its entries.

        Raises
        ------
        LedgerTampered
            If an entry is not as it was written.
        NotSealed
            If something else in the project is not as it was sealed.
        """
        context.report(0.0, "Examining the ledger")
        if self.tampering is not None:
            raise self.tampering
        self.ledger.verify_chain()
        return len(self.ledger.entries)

    def save_document(self, document: Document, *, anywhere: bool = False) -> None:
        """Save the document; cheap where nothing changed, so it may be called often.

        Parameters
        ----------
        document
            What to save.
        anywhere
            As `Database.transaction`.

        Raises
        ------
        ReadOnlyProject
            If the project is open for reading only.
        ProjectReplaced
            If another file, or none, is under its name.
        DiskFull, CannotWrite
            If the file can't be written. The document before stays saved.
        """
        text = document_to_json(document)
        if text != self._saved_text:
            with self.database.transaction(anywhere) as connection:
                _write_document(connection, text, self.clock)
        elif not anywhere:
            self.database.require_place()
        self._saved_text, self._document = text, document

    def record(
        self, kind: EntryKind, details: Mapping[str, Any], document: Document | None = None
    ) -> None:
        """Add an entry to the ledger and save a document with it, both or neither."""
        text = None if document is None else document_to_json(document)
        with self.database.transaction() as connection:
            self.ledger.append(connection, kind, details)
            if text is not None:
                _write_document(connection, text, self.clock)
        if document is not None and text is not None:
            self._saved_text, self._document = text, document

    def change_passphrase(self, old: str, new: str, *, cost: Cost = STANDARD_COST) -> None:
        """Wrap the secret anew. Copies of the file still open with the old passphrase.

        Raises
        ------
        WrongPassphrase
            If `old` does not open the project.
        PassphraseError
            If `new` is empty.
        """
        self.check_passphrase(old)
        self.set_passphrase(new, {}, cost=cost)

    def set_passphrase(
        self, new: str, details: Mapping[str, Any], *, cost: Cost = STANDARD_COST
    ) -> None:
        """Wrap the secret anew; `details` are what the ledger keeps of how that came about."""
        wrapped = wrap(self.secret, new, self.project_id, cost)
        with self.database.transaction() as connection:
            write_wrapping(connection, wrapped)
            self.ledger.append(connection, EntryKind.PASSPHRASE_CHANGED, details)

    def check_passphrase(self, passphrase: str) -> None:
        """Raise `WrongPassphrase` unless a passphrase opens the project."""
        unwrap(self._wrapped_now(), passphrase, self.project_id)

    @property
    def cost(self) -> Cost:
        """The work of one guess of the passphrase."""
        return self._wrapped_now().cost

    def _wrapped_now(self) -> WrappedSecret:
        return wrapped_in_row(self.database.row("SELECT * FROM wrapping"))

    def close(self) -> None:
        """Give the file free. Closing twice is harmless."""
        if not self.read_only and self.database.is_open and self.database.in_place:
            self.kept_releases.forget_all()
        self.database.close()

    def __enter__(self) -> ProjectFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ProjectFile({str(self.path)!r})"


def _build(
    path: Path,
    project_id: str,
    secret: ProjectSecret,
    wrapped: WrappedSecret,
    document: Document,
    clock: Clock,
) -> None:
    """Write a whole new project file."""
    with _explained_connection(path) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
        database = Database(path, connection, read_only=False)
        database.keeper = Seal(path, project_id, secret)
        with database.transaction():
            schema.upgrade(connection, schema.all_steps())
            connection.execute(
                "INSERT INTO project VALUES (1, ?, ?, ?)", (project_id, stamp(clock), __version__)
            )
            write_wrapping(connection, wrapped)
            _write_document(connection, document_to_json(document), clock)
            Ledger(database, project_id, secret, clock).append(
                connection, EntryKind.PROJECT_CREATED, {"version": __version__}
            )


@contextmanager
def _explained_connection(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    except sqlite3.Error as error:
        raise explain(error, path) from None
    finally:
        connection.close()


def existing_project(path: str | Path) -> Path:
    """Return the path of a project; raise `ProjectMissing` where there is no file."""
    path = Path(path)
    if not is_file(path):
        raise ProjectMissing(
            "There is no project at {path}.",
            "Check the name, or choose the project where it is now.",
            path=path,
        )
    return path


def id_in(contents: Contents) -> str:
    """Return the identity of a project from what stands in its file."""
    return str(contents.row("project")[1])


def _write_document(connection: sqlite3.Connection, text: str, clock: Clock) -> None:
    connection.execute("INSERT OR REPLACE INTO document VALUES (1, ?, ?)", (text, stamp(clock)))


def _exists(path: Path) -> ProjectExists:
    return ProjectExists(
        "There is a file at {path} already.",
        "Choose another name, or open the project that is there.",
        path=path,
    )


def copy_project(project: ProjectFile, path: Path) -> None:
    """Write a copy of a project; it opens with the same passphrase.

    Both copies hold the same secret, so releases made from either sit on the same ladder.

    Parameters
    ----------
    project
        Open; saved as far as the copy should know.
    path
        The new file.

    Raises
    ------
    ProjectExists
        If there is a file already.
    CannotWrite, DiskFull
        If the folder does not take the file.
    """
    path = Path(path)
    try:
        with unfinished_beside(path) as staged:
            with closing(sqlite3.connect(staged)) as target, project.database.raw() as source:
                _copy(source, target, path)
            sync_file(staged)
            move_without_overwriting(staged, path)
    except FileExistsError:
        raise ProjectExists(
            "There is a file at {path} already.", "Choose another name.", path=path
        ) from None
    except OSError as error:
        raise refusal_to_write(error, path) from None


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, path: Path) -> None:
    try:
        source.backup(target)
    except sqlite3.Error as error:  # the original can be read: what fails is the copy
        raise explain(error, path) from None


def shown_whole(project: ProjectFile) -> ProjectFile:
    """Return a project that the window can show; close one with too many recipients.

    Raises
    ------
    PolicyError
        As `check_shown`.
    """
    try:
        check_shown(project.document)
    except PolicyError:
        project.close()
        raise
    return project
