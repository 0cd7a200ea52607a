"""What a file or a journal says leads nowhere outside, and others may read meanwhile."""

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

from sfumato.engine.core.progress import Silent
from sfumato.project.errors import DamagedProject, ProjectInUse
from sfumato.project.ledger import EntryKind, ReleaseState
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.store.files import Staging, stagings_of
from sfumato.project.store.schema import digest_of_rows
from tests.project.making import PASSPHRASE, document, new_project, noon, table
from tests.project.tampering import everything_in, rows


@pytest.fixture
def path(tmp_path):
    with new_project(tmp_path) as project:
        project.record(EntryKind.OVERRIDE, {"reason": "agreed with the board"})
        project.save_document(replace(document(), title="Ward 8"))
    return project.path


def opened(path, **options):
    return ProjectFile.open(path, PASSPHRASE, clock=noon, **options)


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
            project, table(), "Clinic A", tmp_path / "out", "csv", Silent(), as_zip, at_step=die
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


READER = """\
import sys; from pathlib import Path
from sfumato.project.project_file import ProjectFile
with ProjectFile.open(Path(sys.argv[1]), 'correct horse', read_only=True) as project:
    print(project.document.title, len(project.ledger.entries), project.tampering)
"""


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
