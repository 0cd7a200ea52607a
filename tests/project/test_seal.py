"""Whoever can write to the file, but has no passphrase, changes nothing that is believed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Silent
from sfumato.project import project_file
from sfumato.project.document.model import document_from_json, document_to_json
from sfumato.project.errors import (
    DamagedProject,
    NotSealed,
    ProjectInUse,
    ProjectPart,
    WrongPassphrase,
)
from sfumato.project.ledger import EntryKind, ReleaseState
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.store.files import Staging, stagings_of
from sfumato.project.store.schema import digest_of_rows, empty_database
from sfumato.project.store.seal import SeenCounter, state_folder
from tests.in_batches import in_batches
from tests.project.making import CHEAP, PASSPHRASE, document, new_project, noon, table
from tests.project.tampering import change, everything_in, put, rows


@pytest.fixture
def path(tmp_path):
    with new_project(tmp_path) as project:
        project.record(EntryKind.OVERRIDE, {"reason": "agreed with the board"})
        project.save_document(replace(document(), title="Ward 8"))
    return project.path


def opened(path, **options):
    return ProjectFile.open(path, PASSPHRASE, clock=noon, **options)


def refused(path):
    """Return the parts for which a project is refused, having seen that reading shows the same."""
    content = path.read_bytes()
    with pytest.raises(NotSealed) as caught:
        opened(path)
    assert path.read_bytes() == content
    with opened(path, read_only=True) as project:
        assert project.tampering.parts == caught.value.parts
    assert path.read_bytes() == content
    return caught.value.parts


def edit_document(path, edit):
    (row,) = rows(path, "document")
    text = document_to_json(edit(document_from_json(row[1])))
    assert text != row[1]
    change(path, ("UPDATE document SET content = ?", (text,)))


def test_every_change_is_sealed_and_counted(path):
    (first,) = rows(path, "seal")
    with opened(path) as project:
        project.save_document(replace(document(), title="Ward 9"))
        project.record(EntryKind.OVERRIDE, {})
    (second,) = rows(path, "seal")
    assert (first[1], second[1]) == (3, 5)
    with opened(path) as project:
        assert project.tampering is None


@pytest.mark.parametrize("as_zip", [False, True])
@pytest.mark.parametrize("prepared", [None, 1])
def test_a_forged_pending_row_deletes_and_moves_nothing(path, tmp_path, as_zip, prepared):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("the only copy")
    staging = Staging(str(precious), str(tmp_path / "moved"), "id", "Clinic A", as_zip)
    plain = {"target": staging.target, "release_id": "id", "recipient": "Clinic A"}
    details = json.dumps(plain | {"as_zip": as_zip, "digest": "ab"})
    change(path, ("INSERT INTO pending VALUES (?, ?, ?)", (staging.folder, details, prepared)))
    before = everything_in(tmp_path)
    assert refused(path) == {ProjectPart.PENDING}
    assert everything_in(tmp_path) == before
    with opened(path, accepting="Looked at it") as project:
        assert project.recovered == ()
        assert project.ledger.entries[-1].details["unfinished_releases_forgotten"] == 1
    assert (precious / "thesis").read_text() == "the only copy"
    assert not (tmp_path / "moved").exists()


def test_an_edited_level_is_not_released_by(path):
    edit_document(
        path,
        lambda found: replace(
            found,
            recipients=(
                replace(
                    found.recipients[0], statements={"illness": {"retention_probability": 0.999}}
                ),
                *found.recipients[1:],
            ),
        ),
    )
    assert refused(path) == {ProjectPart.DOCUMENT}


def test_an_identifying_column_does_not_become_insensitive(path):
    edit_document(
        path,
        lambda found: found.with_column(replace(found.column("person"), role=Role.INSENSITIVE)),
    )
    assert refused(path) == {ProjectPart.DOCUMENT}


def test_a_recipient_can_not_be_added(path):
    edit_document(
        path,
        lambda found: replace(
            found, recipients=(*found.recipients, replace(found.recipients[0], name="Mallory"))
        ),
    )
    assert refused(path) == {ProjectPart.DOCUMENT}


@pytest.mark.parametrize("when", ["AFTER UPDATE ON", "AFTER INSERT ON", "BEFORE DELETE ON"])
@pytest.mark.parametrize("name", ["document", "ledger", "pending", "seal"])
def test_a_foreign_trigger_never_runs(path, when, name):
    change(
        path,
        f"CREATE TRIGGER evil {when} {name} BEGIN"
        " UPDATE document SET saved_at = 'evil'; INSERT INTO pending VALUES ('evil', 1, 1); END",
    )
    assert refused(path) == {ProjectPart.SCHEMA}
    with opened(path, accepting="Looked at it") as project:
        project.save_document(replace(project.document, title="Ward 10"))
    assert rows(path, "pending") == []
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        assert {name for (name,) in names} == {
            "ledger_is_never_changed",
            "ledger_is_never_shortened",
        }
    opened(path).close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW evil AS SELECT * FROM document",
        "CREATE TABLE evil (x)",
        "CREATE INDEX evil ON ledger (upper(kind))",
        'CREATE TABLE "ev""il; DROP TABLE ledger" (x)',
        "DROP TRIGGER ledger_is_never_changed",
    ],
)
def test_what_the_schema_has_too_much_or_lacks_is_named_and_mended(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    assert refused(path) == {ProjectPart.SCHEMA}
    opened(path, accepting="Looked at it").close()
    with opened(path) as project:
        assert project.tampering is None
        assert project.document.title == "Ward 8"


@pytest.mark.parametrize("name", ["document", "ledger", "pending", "seal", "project"])
def test_a_table_of_ours_in_another_form_is_damage_for_reader_and_writer(path, name):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"ALTER TABLE {name} RENAME TO kept")
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM kept")
    for read_only in (False, True):
        with pytest.raises(DamagedProject, match="lacks the table"):
            opened(path, read_only=read_only)


def test_the_old_wrapping_does_not_undo_a_change_of_passphrase(path):
    before = rows(path, "wrapping")
    with opened(path) as project:
        project.change_passphrase(PASSPHRASE, "new words", cost=CHEAP)
    put(path, "wrapping", before)
    assert refused(path) == {ProjectPart.WRAPPING}  # with the old passphrase
    with pytest.raises(WrongPassphrase):
        ProjectFile.open(path, "new words")


def test_an_older_end_does_not_cut_the_ledger(path):
    end = rows(path, "ledger_end")
    with opened(path) as project:
        project.record(EntryKind.OVERRIDE, {"reason": "to be forgotten"})
    put(path, "ledger_end", end)
    change(path, "DELETE FROM ledger WHERE number > 2")
    assert refused(path) == {ProjectPart.LEDGER}


def test_a_cut_ledger_that_is_accepted_stays_told(path):
    end = rows(path, "ledger_end")
    with opened(path) as project:
        project.record(EntryKind.OVERRIDE, {"reason": "to be forgotten"})
    put(path, "ledger_end", end)
    change(path, "DELETE FROM ledger WHERE number > 2")
    with opened(path, accepting="The backup is gone") as project:
        assert {finding.part for finding in project.accepted} == {ProjectPart.LEDGER}
    with opened(path) as project:
        *_, last = project.ledger.entries
        assert last.kind == EntryKind.ACCEPTED_UNSEALED
        assert last.details["reason"] == "The backup is gone"
        assert "cut off" in last.details["findings"][0]["what"]
        project.record(EntryKind.OVERRIDE, {"reason": "after it"})
    with opened(path) as project:
        project.ledger.verify_chain()


@pytest.mark.parametrize(
    "statement",
    [
        'UPDATE ledger SET details = \'{"reason":"forged"}\' WHERE number = 2',
        "UPDATE ledger SET details = details || ' ' WHERE number = 2",
        "UPDATE ledger SET details = 'nothing' WHERE number = 2",
        "UPDATE ledger SET details = '{}', kind = 'release prepared' WHERE number = 2",
        "UPDATE ledger SET details = '{\"prepared\":[1]}', kind = 'release completed'"
        " WHERE number = 2",
        "DELETE FROM ledger WHERE number = 1",
        "DELETE FROM ledger",
        "UPDATE ledger SET number = 9223372036854775807 WHERE number = 2",
        "UPDATE ledger SET number = -5 WHERE number = 2",
    ],
)
def test_a_forged_ledger_can_be_accepted_and_its_rows_can_not_change_again(path, statement):
    change(path, statement)
    assert refused(path) == {ProjectPart.LEDGER}
    with opened(path, accepting="Known") as project:
        assert project.releases == ()
    with opened(path) as project:
        assert [e.kind for e in project.ledger.entries][-1] == EntryKind.ACCEPTED_UNSEALED
        project.record(EntryKind.OVERRIDE, {"reason": "after it"})
    change(path, "UPDATE ledger SET recorded_at = 'x' WHERE number = 1 OR kind = 'override'")
    assert refused(path) == {ProjectPart.LEDGER}


def test_the_counter_can_not_be_changed(path):
    change(path, "UPDATE seal SET counter = counter + 5")
    assert refused(path) == {ProjectPart.SEAL}


def test_the_seal_of_an_older_state_does_not_fit_the_newer_one(path):
    seal = rows(path, "seal")
    with opened(path) as project:
        project.save_document(replace(document(), title="Ward 9"))
    put(path, "seal", seal)
    assert ProjectPart.DOCUMENT in refused(path)


def test_a_file_made_to_look_as_from_before_there_were_seals_is_refused(path):
    (wrapping,) = rows(path, "wrapping")
    cost = json.loads(wrapping[2])
    with closing(empty_database(1)) as old:
        (sql,) = old.execute("SELECT sql FROM sqlite_master WHERE name = 'secret'").fetchone()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"DROP TABLE seal; DROP TABLE wrapping; DROP TABLE keys; PRAGMA user_version = 1; {sql}"
        )
        values = (1, *wrapping[3:], cost["n"], cost["r"], cost["p"])
        connection.execute("INSERT INTO secret VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        connection.commit()
    assert refused(path) == {ProjectPart.NEVER_SEALED}
    with pytest.raises(NotSealed, match="this computer has seen the project sealed"):
        opened(path)


def test_an_older_copy_in_the_place_of_the_file_is_noticed_and_can_be_accepted(path, tmp_path):
    shutil.copy(path, tmp_path / "older")
    with opened(path) as project:
        project.record(EntryKind.OVERRIDE, {"reason": "to be forgotten"})
    shutil.copy(tmp_path / "older", path)
    assert refused(path) == {ProjectPart.OLDER}
    with opened(path, accepting="The disk failed") as project:
        assert project.ledger.entries[-1].details["findings"][0]["part"] == "older state"
    with opened(path) as project:
        assert project.tampering is None
    assert rows(path, "seal")[0][1] == 5  # above what this machine had seen


def saving_during(monkeypatch, path, step, titles):
    """Let a writer save under each title, one title each time a reader comes to a step."""
    left, real = list(titles), getattr(project_file, step)

    def interrupted(*arguments):
        result = real(*arguments)
        if left:
            title = left.pop(0)
            with monkeypatch.context() as undone:
                undone.setattr(project_file, step, real)
                with opened(path) as project:
                    project.save_document(replace(document(), title=title))
        return result

    monkeypatch.setattr(project_file, step, interrupted)
    return left


@pytest.mark.parametrize("step", ["connect_for_reading", "unwrap", "document_from_json"])
@pytest.mark.parametrize("times", [1, 2, 7])
def test_a_reader_beside_a_writer_is_not_told_of_an_older_copy(path, monkeypatch, step, times):
    saving_during(monkeypatch, path, step, [f"Ward {10 + time}" for time in range(times)])
    with opened(path, read_only=True) as project:
        assert project.tampering is None
        if step == "connect_for_reading":
            assert project.document.title == "Ward 10"  # the contents read next are the newest


def test_an_older_copy_is_noticed_although_somebody_saves_meanwhile(path, tmp_path, monkeypatch):
    shutil.copy(path, tmp_path / "older")
    with opened(path) as project:
        project.record(EntryKind.OVERRIDE, {"reason": "to be forgotten"})
    real = project_file.unwrap

    def replaced(*arguments):
        shutil.copy(tmp_path / "older", path)
        return real(*arguments)

    monkeypatch.setattr(project_file, "unwrap", replaced)
    with opened(path, read_only=True) as project:  # what it held before was the newest
        assert project.tampering is None
    with opened(path, read_only=True) as project:
        assert project.tampering.parts == {ProjectPart.OLDER}


def test_on_another_machine_an_older_copy_is_not_noticed(path, tmp_path, monkeypatch):
    shutil.copy(path, tmp_path / "older")
    with opened(path) as project:
        project.record(EntryKind.OVERRIDE, {})
    shutil.copy(tmp_path / "older", path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    with opened(path) as project:
        assert project.tampering is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"counter":99,"mac":"ab"}', "[" * 900])
def test_a_forged_note_of_what_was_seen_does_nothing(path, content):
    (note,) = state_folder().iterdir()
    assert json.loads(note.read_text())["counter"] == 3
    assert path.stem not in note.name
    note.write_text(content)
    with opened(path) as project:
        assert project.tampering is None
        assert SeenCounter(project.secret).counter() == 3


def test_a_state_folder_that_takes_nothing_is_no_fault(path, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with opened(path) as project:
        project.save_document(replace(document(), title="Ward 9"))
    with opened(path) as project:
        assert project.document.title == "Ward 9"


def test_a_change_while_the_project_is_open_is_not_sealed_over(path, tmp_path):
    with opened(path) as project:
        with project.database.raw() as connection:  # as if the bytes had changed on the disk
            connection.execute("UPDATE document SET content = replace(content, '0.3', '0.9')")
        with pytest.raises(NotSealed, match="decisions were changed"):
            project.record(EntryKind.OVERRIDE, {})


READER = """\
import sys; from pathlib import Path
from sfumato.project.project_file import ProjectFile
with ProjectFile.open(Path(sys.argv[1]), 'correct horse', read_only=True) as project:
    print(project.document.title, len(project.ledger.entries), project.tampering)
"""


def test_pending_rows_of_another_form_are_damage():
    good = json.dumps(
        {"target": "/t", "release_id": "", "recipient": "", "as_zip": False, "digest": ""}
    )
    assert stagings_of([("/.t.partial-00000000", good, None)])[0].target == "/t"
    for details in ("", "[]", "{}", "7", "null", good.replace("false", "0"), "[" * 100_000):
        with pytest.raises(DamagedProject, match="interrupted release"):
            stagings_of([("/x", details, None)])


@pytest.mark.parametrize(
    "folder",
    [
        *("/data/precious", "/out/.bundle.partial-0123456g", "/out/.other.partial-01234567"),
        *("/elsewhere/.bundle.partial-01234567", ".bundle.partial-01234567", "/out", "/"),
        "/out/x/../.bundle.partial-01234567",
    ],
)
def test_only_a_name_of_our_own_making_is_a_staging(folder):
    assert not Staging(folder, "/out/bundle", "", "", False).is_own
    assert Staging.beside(Path("/out/bundle"), "", "", False).is_own


@pytest.mark.parametrize("as_zip", [False, True])
@pytest.mark.parametrize("recorded", [False, True])
def test_a_link_in_the_place_of_staged_files_is_left_alone(path, tmp_path, as_zip, recorded):
    class Died(BaseException):
        pass

    def die(step):
        if step == ("prepared" if recorded else "noted"):
            raise Died

    project = opened(path)
    monkey = pytest.MonkeyPatch()
    monkey.setattr(Staging, "clear", lambda *_: (_ for _ in ()).throw(OSError()))
    with pytest.raises(Died):
        make_release(
            project,
            in_batches(table()),
            "Clinic A",
            tmp_path / "out",
            "csv",
            Silent(),
            as_zip,
            at_step=die,
        )
    monkey.undo()
    project.close()
    ((folder, *_),) = rows(path, "pending")
    shutil.rmtree(folder, ignore_errors=True)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("the only copy")
    Path(folder).parent.mkdir(exist_ok=True)
    Path(folder).symlink_to(precious)
    with opened(path) as project:
        assert "link" in project.recovered[0].explanation
        states = [record.state for record in project.releases]
        assert states == [ReleaseState.UNTRACED] * recorded
    assert (precious / "thesis").read_text() == "the only copy"


@pytest.mark.skipif(os.name != "posix", reason="links need no rights here")
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["super-journal", "link", "hard link"])
def test_a_journal_that_names_another_file_is_refused(path, tmp_path, kind, linked):
    """SQLite would delete the file that a journal names as its super-journal.

    It looks for the journal beside the file itself, also where the project is a link to it.
    """
    precious = tmp_path / "precious"
    precious.write_text("the only copy")
    if linked:
        (tmp_path / "elsewhere").mkdir()
        real = path.rename(tmp_path / "elsewhere" / "real.sfumato")
        path.symlink_to(real)
    journal = path.resolve().with_name(f"{path.resolve().name}-journal")
    magic = bytes.fromhex("d9d505f920a163d7")
    if kind == "link":
        journal.symlink_to(precious)
    elif kind == "hard link":
        journal.hardlink_to(precious)
    else:
        name = str(precious).encode()
        record = len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + magic
        journal.write_bytes(magic + bytes(504) + name + record)
    for read_only in (False, True):
        with pytest.raises(DamagedProject, match="journal"):
            opened(path, read_only=read_only)
    assert precious.read_text() == "the only copy"


@pytest.mark.parametrize("way", ["empty log", "log", "header"])
def test_a_write_ahead_log_is_refused(path, way):
    """Sfumato keeps none: what stands in one is not in the project's file."""
    log = path.with_name(f"{path.name}-wal")
    with closing(sqlite3.connect(path)) as connection:
        if way == "empty log":
            log.touch()
        else:
            connection.execute("PRAGMA journal_mode = WAL")
        if way == "log":
            connection.execute("UPDATE document SET content = '{}'")
            connection.commit()
            content, changes = path.read_bytes(), log.read_bytes()
    if way == "log":
        path.write_bytes(content)
        log.write_bytes(changes)
    before = everything_in(path.parent)
    for read_only in (False, True):
        with pytest.raises(DamagedProject, match=r"log|-wal"):
            opened(path, read_only=read_only)
    assert everything_in(path.parent) == before


@pytest.mark.parametrize("text", [b"ledger_is_never_changed", b"CREATE TABLE pending", b"Ward 8"])
def test_bytes_that_are_no_text_are_damage(path, text):
    content = path.read_bytes()
    assert text in content
    path.write_bytes(content.replace(text, b"\xcc" + text[1:]))
    for read_only in (False, True):
        with pytest.raises(DamagedProject):
            opened(path, read_only=read_only)


def test_digests_tell_values_and_rows_apart():
    some = [
        [],
        [()],
        [(), ()],
        *([(value,)] for value in (None, "", b"", 0, "0", b"0", 1, "1", 1.0, "a\0b")),
        *([("ab", "c")], [("a", "bc")], [("ab",), ("c",)], [("abc",)]),
    ]
    assert len({digest_of_rows(rows) for rows in some}) == len(some)


@pytest.mark.slow
def test_another_process_reads_while_the_project_is_open(path):
    with opened(path) as project:
        project.save_document(replace(document(), title="Ward 9"))
        ended = subprocess.run(
            [sys.executable, "-c", READER, str(path)], check=False, capture_output=True, text=True
        )
        assert ended.stdout == "Ward 9 2 None\n", ended.stderr
        with pytest.raises(ProjectInUse):
            opened(path, read_only=True)
        project.save_document(replace(document(), title="Ward 10"))


@pytest.mark.slow
def test_another_process_does_not_read_a_change_that_is_under_way(path, monkeypatch):
    with opened(path) as project, project.database.transaction() as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.executemany(
            "INSERT INTO pending VALUES (?, ?, NULL)", [(str(n), "x" * 4000) for n in range(100)]
        )
        ended = subprocess.run(
            [sys.executable, "-c", READER, str(path)], check=False, capture_output=True, text=True
        )
        assert "ProjectInUse" in ended.stderr
        connection.execute("DELETE FROM pending")
