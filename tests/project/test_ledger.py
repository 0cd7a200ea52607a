from __future__ import annotations

import json
import sqlite3

import pytest

from sfumato.project.errors import LedgerTampered, NotSealed, ProjectError, ProjectPart
from sfumato.project.ledger import FIRST_LINK, EntryKind, Ledger
from sfumato.project.project_file import ProjectFile
from sfumato.project.store.database import connect_for_writing
from sfumato.project.store.secret import ProjectSecret
from tests.project.making import PASSPHRASE, new_project, noon, reopened


@pytest.fixture
def path(tmp_path):
    with new_project(tmp_path) as project:
        project.record(EntryKind.OVERRIDE, {"reason": "agreed with the board"})
        project.record(EntryKind.SOURCE_CHANGED, {"to": "cd" * 32})
        project.record(EntryKind.OVERRIDE, {"reason": "agreed again"})
    return project.path


def tamper(path, *statements):
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER ledger_is_never_changed")
    connection.execute("DROP TRIGGER ledger_is_never_shortened")
    for statement in statements:
        connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(
            statement
        )
    connection.commit()
    connection.close()


def expect_tampering(path, number):
    with pytest.raises(NotSealed, match=f"Entry {number} of the ledger") as caught:
        ProjectFile.open(path, PASSPHRASE)
    assert ProjectPart.LEDGER in caught.value.parts
    assert "read-only" in caught.value.remedy


def test_entries_are_numbered_chained_and_dated(path):
    with ProjectFile.open(path, PASSPHRASE) as project:
        entries = project.ledger.entries
    assert [entry.number for entry in entries] == [1, 2, 3, 4]
    assert [entry.kind for entry in entries] == [
        "project created",
        "override",
        "source changed",
        "override",
    ]
    assert entries[0].previous == FIRST_LINK
    assert [entry.previous for entry in entries[1:]] == [entry.digest for entry in entries[:-1]]
    assert {entry.recorded_at for entry in entries} == {"2026-11-20T12:00:00+00:00"}


def test_what_was_read_is_kept_until_the_file_holds_something_else(path):
    with ProjectFile.open(path, PASSPHRASE) as project:
        before = project.ledger.entries
        assert project.ledger.entries is before
        assert project.releases is project.releases
        project.record(EntryKind.OVERRIDE, {"reason": "once more"})
        assert project.ledger.entries[:-1] == before
        assert project.ledger.entries[-1].details == {"reason": "once more"}
        with project.database.transaction() as connection:
            connection.execute("DROP TRIGGER ledger_is_never_changed")
            connection.execute("UPDATE ledger SET details = '{}' WHERE number = 2")
        assert project.ledger.entries[1].details == {}


def test_an_untouched_chain_holds(path):
    with ProjectFile.open(path, PASSPHRASE) as project:
        project.ledger.verify_chain()
        assert project.tampering is None


@pytest.mark.parametrize("statement", ["UPDATE ledger SET kind = 'x'", "DELETE FROM ledger"])
def test_the_file_itself_refuses_to_change_an_entry(path, statement):
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("column", ["kind", "recorded_at", "previous", "digest", "seal"])
def test_a_changed_entry_is_named(path, column):
    tamper(path, f"UPDATE ledger SET {column} = 'x' || {column} WHERE number = 2")
    expect_tampering(path, 2)


def test_changed_details_are_named(path):
    tamper(path, ("UPDATE ledger SET details = ? WHERE number = 3", ('{"to":"ef"}',)))
    expect_tampering(path, 3)


@pytest.mark.parametrize("details", ["", "nonsense", "[]", '{"a": NaN}'])
def test_unreadable_details_are_named(path, details):
    tamper(path, ("UPDATE ledger SET details = ? WHERE number = 3", (details,)))
    expect_tampering(path, 3)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_removed_entry_is_named(path, number):
    tamper(path, f"DELETE FROM ledger WHERE number = {number}")
    expect_tampering(path, number)


def test_entries_cut_off_the_end_with_their_count_are_named(path):
    tamper(
        path,
        "DELETE FROM ledger WHERE number > 2",
        "UPDATE ledger_end SET number = 2, digest = (SELECT digest FROM ledger WHERE number = 2)",
    )
    expect_tampering(path, 2)


def test_an_emptied_ledger_is_noticed(path):
    tamper(path, "DELETE FROM ledger", "DELETE FROM ledger_end")
    expect_tampering(path, 1)


def test_two_entries_that_changed_places_are_named(path):
    tamper(
        path,
        "UPDATE ledger SET number = 99 WHERE number = 2",
        "UPDATE ledger SET number = 2 WHERE number = 3",
        "UPDATE ledger SET number = 3 WHERE number = 99",
    )
    expect_tampering(path, 2)


def test_a_chain_written_anew_without_the_secret_is_noticed(path):
    """Someone who knows the format, but not the passphrase, rewrites history consistently."""
    forger = ProjectSecret.generate()
    connection = sqlite3.connect(path, isolation_level=None)
    rows = connection.execute("SELECT kind, details FROM ledger ORDER BY number").fetchall()
    (project_id,) = connection.execute("SELECT project_id FROM project").fetchone()
    connection.close()
    tamper(path, "DELETE FROM ledger", "DELETE FROM ledger_end")
    database, _ = connect_for_writing(path)
    ledger = Ledger(database, project_id, forger, noon)
    with database.transaction() as connection:
        for kind, details in rows:
            ledger.append(connection, EntryKind(kind), json.loads(details))
    ledger.verify_chain()
    database.close()
    expect_tampering(path, 1)


def test_a_ledger_of_another_project_does_not_fit(tmp_path, path):
    (tmp_path / "other").mkdir()
    other = new_project(tmp_path / "other")
    other.close()
    connection = sqlite3.connect(other.path)
    row = connection.execute("SELECT * FROM ledger").fetchone()
    connection.close()
    tamper(
        path,
        "DELETE FROM ledger WHERE number = 1",
        (f"INSERT INTO ledger VALUES ({','.join('?' * 7)})", row),
    )
    expect_tampering(path, 1)


def test_a_tampered_project_can_be_read_but_not_changed(path):
    tamper(path, "DELETE FROM ledger WHERE number = 4")
    with ProjectFile.open(path, PASSPHRASE, read_only=True) as project:
        assert project.tampering.parts == {ProjectPart.LEDGER, ProjectPart.SCHEMA}
        with pytest.raises(LedgerTampered):
            project.ledger.verify_chain()
        assert len(project.ledger.entries) == 3
        with pytest.raises(ProjectError, match="reading only"):
            project.record(EntryKind.OVERRIDE, {})


def test_an_entry_that_was_not_committed_leaves_no_trace(path):
    project = ProjectFile.open(path, PASSPHRASE)
    with pytest.raises(ZeroDivisionError):
        append_and_fail(project)
    with reopened(project) as again:
        assert len(again.ledger.entries) == 4


def append_and_fail(project):
    with project.database.transaction() as connection:
        project.ledger.append(connection, EntryKind.OVERRIDE, {})
        project.ledger.append(connection, EntryKind.OVERRIDE, {"share": 1 / 0})


def test_the_sealing_key_does_not_stand_in_the_file(path):
    with ProjectFile.open(path, PASSPHRASE) as project:
        key = project.secret.derive("ledger")
    assert key not in path.read_bytes()
