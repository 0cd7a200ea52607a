"""Project files, passphrases and ledgers that are not what they should be."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from sfumato.formats.errors import CannotWrite
from sfumato.project.errors import (
    DamagedProject,
    NewerProject,
    NotAProject,
    NotSealed,
    PassphraseError,
    ProjectExists,
    ProjectInUse,
    ProjectMissing,
    ReadOnlyProject,
    WrongPassphrase,
)
from sfumato.project.project_file import ProjectFile
from tests.bad_inputs.workshop import CHEAP, PASSPHRASE, Act, BadInput, Workshop


def opened(prepare: Callable[[Workshop], object]) -> Callable[[Workshop], Act]:
    """A stage on which the project is opened after something was done to its file."""

    def stage(workshop: Workshop) -> Act:
        prepare(workshop)
        return lambda: workshop.open().close()

    return stage


def tampered(statement: str) -> Callable[[Workshop], Act]:
    """A stage on which somebody changed the project with a tool of his own."""

    def change(workshop: Workshop) -> None:
        with closing(sqlite3.connect(workshop.project_path)) as connection, connection:
            guards = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            for (name,) in connection.execute(guards).fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute(statement)

    return opened(change)


def created(name: str, passphrase: str = PASSPHRASE) -> Callable[[Workshop], Act]:
    """A stage on which a new project is made."""

    def stage(workshop: Workshop) -> Act:
        path, document = workshop.folder / name, workshop.document()
        return lambda: ProjectFile.create(path, passphrase, document, cost=CHEAP).close()

    return stage


def _overwritten(workshop: Workshop) -> None:
    content = bytearray(workshop.project_path.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    workshop.project_path.write_bytes(content)


def _cut_short(workshop: Workshop) -> None:
    content = workshop.project_path.read_bytes()
    workshop.project_path.write_bytes(content[: len(content) // 2])


def _of_another_program(workshop: Workshop) -> None:
    workshop.project_path.unlink()
    with closing(sqlite3.connect(workshop.project_path)) as connection, connection:
        connection.execute("CREATE TABLE songs (title TEXT)")


def _in_use(workshop: Workshop) -> Act:
    def act() -> None:
        with workshop.open():
            workshop.open()

    return act


def _saved_while_reading(workshop: Workshop) -> Act:
    def act() -> None:
        with workshop.open(read_only=True) as project:
            project.save_document(replace(project.document, title="Another"))

    return act


def _passphrase_changed(old: str, new: str) -> Callable[[Workshop], Act]:
    def stage(workshop: Workshop) -> Act:
        def act() -> None:
            with workshop.open() as project:
                project.change_passphrase(old, new, cost=CHEAP)

        return act

    return stage


CASES = (
    BadInput(
        "a project that is not there",
        ProjectMissing,
        "no project at .*elsewhere.sfumato",
        lambda w: lambda: ProjectFile.open(w.folder / "elsewhere.sfumato", PASSPHRASE),
    ),
    BadInput(
        "a folder in the place of a project",
        ProjectMissing,
        "no project at",
        lambda w: lambda: ProjectFile.open(w.out, PASSPHRASE),
    ),
    BadInput(
        "a picture in the place of a project",
        NotAProject,
        "is not a Sfumato project",
        opened(lambda w: w.write("project.sfumato", b"\x89PNG\r\n\x1a\n" + bytes(2000))),
    ),
    BadInput(
        "a database of another program",
        NotAProject,
        "is not a Sfumato project",
        opened(_of_another_program),
    ),
    BadInput(
        "an empty file in the place of a project",
        NotAProject,
        "is not a Sfumato project",
        opened(lambda w: w.write("project.sfumato", b"")),
    ),
    BadInput("a project cut short", DamagedProject, "is damaged", opened(_cut_short)),
    BadInput("a project partly overwritten", DamagedProject, "is damaged", opened(_overwritten)),
    BadInput(
        "a project without its document",
        DamagedProject,
        "lacks a part",
        tampered("DELETE FROM document"),
    ),
    BadInput(
        "a project whose document is no document",
        DamagedProject,
        "document can't be read",
        tampered("UPDATE document SET content = '[1, 2'"),
    ),
    BadInput(
        "a project that asks for all memory",
        DamagedProject,
        "passphrase settings .* not valid",
        tampered("UPDATE wrapping SET cost = replace(cost, '16', '1073741824')"),
    ),
    BadInput(
        "a project of a later version",
        NewerProject,
        "saved by a later version",
        tampered("PRAGMA user_version = 99"),
    ),
    BadInput("a project that is open elsewhere", ProjectInUse, "open in another", _in_use),
    BadInput(
        "a wrong passphrase",
        WrongPassphrase,
        "passphrase does not open this project",
        lambda w: lambda: ProjectFile.open(w.project_path, PASSPHRASE.upper()),
    ),
    BadInput("an empty passphrase", PassphraseError, "is empty", created("new.sfumato", "")),
    BadInput(
        "a change of passphrase without the old one",
        WrongPassphrase,
        "does not open",
        _passphrase_changed("guess", "another"),
    ),
    BadInput(
        "a change to an empty passphrase",
        PassphraseError,
        "is empty",
        _passphrase_changed(PASSPHRASE, ""),
    ),
    BadInput(
        "a secret moved from another project",
        WrongPassphrase,
        "does not open",
        tampered("UPDATE wrapping SET ciphertext = zeroblob(48)"),
    ),
    BadInput(
        "a new project in the place of an old one",
        ProjectExists,
        "a file at .* already",
        created("project.sfumato"),
    ),
    BadInput(
        "a new project over the table itself",
        ProjectExists,
        "a file at .*table.csv already",
        created("table.csv"),
    ),
    BadInput(
        "a new project in a folder that is not there",
        CannotWrite,
        "new.sfumato",
        created("nowhere/new.sfumato"),
    ),
    BadInput(
        "a ledger entry that was changed",
        NotSealed,
        "Entry 2 of the ledger was changed or removed",
        tampered("UPDATE ledger SET details = replace(details, 'Office', 'Nobody')"),
    ),
    BadInput(
        "a ledger entry that was removed",
        NotSealed,
        "Entry 2 of the ledger was changed or removed",
        tampered("DELETE FROM ledger WHERE number = 2"),
    ),
    BadInput(
        "a ledger that was cut off at its end",
        NotSealed,
        "Entry 3 of the ledger was changed or removed",
        tampered("DELETE FROM ledger WHERE number = 3"),
    ),
    BadInput(
        "a ledger entry that is no entry",
        NotSealed,
        "Entry 2 of the ledger",
        tampered("UPDATE ledger SET details = 'nothing' WHERE number = 2"),
    ),
    BadInput(
        "saving what is open for reading only",
        ReadOnlyProject,
        "open for reading only",
        _saved_while_reading,
    ),
)
