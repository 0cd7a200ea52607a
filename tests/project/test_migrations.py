from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.project.errors import NewerProject, NotSealed, ProjectPart
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.store import schema
from tests.project.making import PASSPHRASE, document, new_project, noon

FIRST_VERSION = Path(__file__).parent / "data" / "version-1.sfumato"
SECOND_VERSION = FIRST_VERSION.with_name("version-2.sfumato")


def version_of(path):
    connection = sqlite3.connect(path)
    try:
        return schema.version_of(connection)
    finally:
        connection.close()


def with_another_step(monkeypatch, step):
    steps = {**schema.all_steps(), schema.newest_version() + 1: step}
    monkeypatch.setattr(schema, "all_steps", lambda: steps)
    return len(steps)


def add_a_table(connection):
    connection.execute("CREATE TABLE hierarchies (name TEXT NOT NULL) STRICT")
    connection.execute("INSERT INTO hierarchies SELECT project_id FROM project")


def test_a_new_project_has_the_newest_version(tmp_path):
    new_project(tmp_path).close()
    assert version_of(tmp_path / "ward.sfumato") == schema.newest_version() >= 1


def test_an_older_project_is_brought_to_this_version_with_all_it_holds(tmp_path, monkeypatch):
    new_project(tmp_path).close()
    newest = with_another_step(monkeypatch, add_a_table)
    path = tmp_path / "ward.sfumato"
    with ProjectFile.open(path, PASSPHRASE, clock=noon) as project:
        assert project.document == document()
        assert project.database.rows("SELECT name FROM hierarchies") == [(project.project_id,)]
    assert version_of(path) == newest
    ProjectFile.open(path, PASSPHRASE, clock=noon).close()


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    def break_halfway(connection):
        add_a_table(connection)
        raise RuntimeError("broken step")

    new_project(tmp_path).close()
    path = tmp_path / "ward.sfumato"
    before = version_of(path)
    with monkeypatch.context() as patch:
        with_another_step(patch, break_halfway)
        with pytest.raises(RuntimeError, match="broken step"):
            ProjectFile.open(path, PASSPHRASE, clock=noon)
    assert version_of(path) == before
    with ProjectFile.open(path, PASSPHRASE, clock=noon) as project:
        names = project.database.rows("SELECT name FROM sqlite_master WHERE name = 'hierarchies'")
        assert names == []


def test_an_older_project_can_be_read_without_being_changed(tmp_path, monkeypatch):
    new_project(tmp_path).close()
    path = tmp_path / "ward.sfumato"
    content = path.read_bytes()
    with_another_step(monkeypatch, add_a_table)
    with ProjectFile.open(path, PASSPHRASE, read_only=True, clock=noon) as project:
        assert project.database.rows("SELECT COUNT(*) FROM hierarchies") == [(1,)]
    assert path.read_bytes() == content


def test_a_newer_project_is_refused_and_left_alone(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        with_another_step(patch, add_a_table)
        new_project(tmp_path).close()
    path = tmp_path / "ward.sfumato"
    content = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(NewerProject, match="later version of Sfumato") as caught:
            ProjectFile.open(path, PASSPHRASE, read_only=read_only, clock=noon)
        assert "update" in caught.value.remedy
    assert path.read_bytes() == content


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.sfumato"
    shutil.copy(FIRST_VERSION, path)
    path.chmod(0o600)
    assert version_of(path) == 1
    return path


def unconfirmed():
    """The document of then: nobody was asked whether the values are those that could occur."""
    before = document()
    return before.with_column(replace(before.column("illness"), from_rows=True))


def test_a_project_from_before_there_were_seals_can_be_read(old):
    content = old.read_bytes()
    with ProjectFile.open(old, PASSPHRASE, read_only=True, clock=noon) as project:
        assert project.document == unconfirmed()
        assert project.tampering.parts == {ProjectPart.NEVER_SEALED}
    assert old.read_bytes() == content


def test_a_project_from_before_there_were_seals_is_written_once_that_is_accepted(old):
    with pytest.raises(NotSealed, match="no seal"):
        ProjectFile.open(old, PASSPHRASE, clock=noon)
    assert version_of(old) == 1
    reason = "Checked against our files"
    with ProjectFile.open(old, PASSPHRASE, accepting=reason, clock=noon) as project:
        assert project.document == unconfirmed()
        first, second = project.ledger.entries
        assert (first.number, second.kind) == (1, EntryKind.ACCEPTED_UNSEALED)
        assert second.details["reason"] == reason
        assert second.details["findings"][0]["part"] == "never sealed"
    assert version_of(old) == schema.newest_version()
    with ProjectFile.open(old, PASSPHRASE, clock=noon) as project:
        assert project.tampering is None
        assert len(project.ledger.entries) == 2


def test_a_sealed_project_from_before_there_were_further_keys_is_opened_as_it_is(tmp_path):
    path = tmp_path / "old.sfumato"
    shutil.copy(SECOND_VERSION, path)
    path.chmod(0o600)
    assert version_of(path) == 2
    content = path.read_bytes()
    with ProjectFile.open(path, PASSPHRASE, read_only=True, clock=noon) as project:
        assert project.tampering is None
        assert project.document == document()
    assert path.read_bytes() == content
    for _ in range(2):
        with ProjectFile.open(path, PASSPHRASE, clock=noon) as project:
            assert project.document == document()
            assert len(project.ledger.entries) == 1
        assert version_of(path) == schema.newest_version()


def test_a_part_of_an_older_project_that_was_changed_is_still_found(tmp_path):
    path = tmp_path / "old.sfumato"
    shutil.copy(SECOND_VERSION, path)
    path.chmod(0o600)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE document SET saved_at = 'now'")
    with pytest.raises(NotSealed) as caught:
        ProjectFile.open(path, PASSPHRASE, clock=noon)
    assert caught.value.parts == {ProjectPart.DOCUMENT}
