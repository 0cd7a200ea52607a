from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace

import pytest

from sfumato.engine.core.errors import SfumatoError
from sfumato.formats.errors import CannotWrite
from sfumato.project import project_file as store
from sfumato.project.document.model import Document
from sfumato.project.errors import (
    DamagedProject,
    NotAProject,
    PassphraseError,
    ProjectExists,
    ProjectInUse,
    ReadOnlyProject,
    WrongPassphrase,
)
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.store.seal import state_folder
from tests.project.making import (
    CHEAP,
    PASSPHRASE,
    document,
    new_project,
    noon,
    read_only_folder,
    reopened,
)


def test_a_project_opens_with_what_was_saved(tmp_path):
    with new_project(tmp_path) as project:
        project.save_document(replace(document(), title="Ward 8"))
        again = reopened(project)
    with again:
        assert again.document == replace(document(), title="Ward 8")
        assert again.secret.reveal() == project.secret.reveal()
        assert again.project_id == project.project_id


def test_what_is_saved_is_waited_for_until_the_disk_has_it(tmp_path, waited_for, monkeypatch):
    monkeypatch.setattr("sfumato.project.store.database.SYNCHRONOUS", waited_for)
    with new_project(tmp_path) as project:
        assert project.database.row("PRAGMA synchronous") == (3,)  # EXTRA


def test_the_file_is_marked_as_a_project_and_only_its_owner_may_read_it(tmp_path):
    new_project(tmp_path).close()
    path = tmp_path / "ward.sfumato"
    assert path.read_bytes()[68:72] == b"SFMT"
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_folder_holds_nothing_but_the_project(tmp_path):
    with new_project(tmp_path) as project:
        project.save_document(replace(document(), title="Ward 8"))
    assert [p.name for p in tmp_path.iterdir()] == ["ward.sfumato"]


def test_neither_passphrase_nor_secret_stand_in_the_file(tmp_path):
    with new_project(tmp_path) as project:
        secret = project.secret.reveal()
    content = (tmp_path / "ward.sfumato").read_bytes()
    assert secret not in content
    assert secret.hex().encode() not in content
    assert PASSPHRASE.encode() not in content


def test_the_text_form_of_a_project_shows_no_secret(tmp_path):
    with new_project(tmp_path) as project:
        assert repr(project) == f"ProjectFile({str(project.path)!r})"
        assert "hidden" in repr(project.secret)
        assert project.secret.reveal().hex() not in repr(vars(project))


def test_saving_what_is_saved_already_does_not_touch_the_file(tmp_path):
    with new_project(tmp_path) as project:
        changes = project.database.row("SELECT total_changes()")
        project.save_document(document())
        assert project.database.row("SELECT total_changes()") == changes


def test_a_new_project_never_takes_the_place_of_a_file(tmp_path):
    (tmp_path / "ward.sfumato").write_text("precious")
    with pytest.raises(ProjectExists, match="already"):
        new_project(tmp_path)
    assert (tmp_path / "ward.sfumato").read_text() == "precious"


def test_a_file_that_appears_meanwhile_is_kept(tmp_path, monkeypatch):
    def built_slowly(staged):
        (tmp_path / "ward.sfumato").write_text("precious")

    monkeypatch.setattr(store, "sync_file", built_slowly)
    with pytest.raises(ProjectExists):
        new_project(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["ward.sfumato"]
    assert (tmp_path / "ward.sfumato").read_text() == "precious"


def test_an_empty_passphrase_makes_no_file(tmp_path):
    with pytest.raises(PassphraseError):
        ProjectFile.create(tmp_path / "ward.sfumato", "", document(), cost=CHEAP)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_passphrase_is_refused_and_leaves_the_project_free(tmp_path):
    new_project(tmp_path).close()
    path = tmp_path / "ward.sfumato"
    with pytest.raises(WrongPassphrase, match="keyboard"):
        ProjectFile.open(path, "wrong", clock=noon)
    ProjectFile.open(path, PASSPHRASE, clock=noon).close()


def test_a_changed_passphrase_replaces_the_old_one(tmp_path):
    with new_project(tmp_path) as project:
        secret = project.secret.reveal()
        with pytest.raises(WrongPassphrase):
            project.change_passphrase("wrong", "new words", cost=CHEAP)
        with pytest.raises(PassphraseError, match="empty"):
            project.change_passphrase(PASSPHRASE, "", cost=CHEAP)
        project.change_passphrase(PASSPHRASE, "new words", cost=CHEAP)
    with pytest.raises(WrongPassphrase):
        ProjectFile.open(project.path, PASSPHRASE)
    with ProjectFile.open(project.path, "new words") as again:
        assert again.secret.reveal() == secret
        assert again.ledger.entries[-1].kind == EntryKind.PASSPHRASE_CHANGED


@pytest.mark.parametrize(
    "content", [b"", b"age,sex\n1,f\n" * 99, b"SQLite format 3\x00", bytes(5000)]
)
def test_another_file_is_no_project(tmp_path, content):
    path = tmp_path / "ward.sfumato"
    path.write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(NotAProject, match="not a Sfumato project"):
            ProjectFile.open(path, PASSPHRASE, read_only=read_only)
    assert path.read_bytes() == content


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_truncated_project_says_that_it_is_damaged(tmp_path, share):
    new_project(tmp_path).close()
    path = tmp_path / "ward.sfumato"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DamagedProject, match=r"damaged|can't be read"):
        ProjectFile.open(path, PASSPHRASE)


@pytest.mark.parametrize("seed", range(0, 100, 9))
def test_overwritten_bytes_never_end_in_a_crash(tmp_path, seed):
    new_project(tmp_path).close()
    path = tmp_path / "ward.sfumato"
    content = bytearray(path.read_bytes())
    start = len(content) * seed // 100
    content[start : start + 600] = bytes((seed * 7 + i * 31) % 256 for i in range(600))
    path.write_bytes(content)
    refusal = None
    try:
        ProjectFile.open(path, PASSPHRASE, clock=noon).close()
    except SfumatoError as error:
        refusal = error
    assert refusal is None or (refusal.what and refusal.remedy)


def test_a_project_without_one_of_its_tables_is_damaged(tmp_path):
    new_project(tmp_path).close()
    path = tmp_path / "ward.sfumato"
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM wrapping")
    connection.commit()
    connection.close()
    with pytest.raises(DamagedProject, match="lacks"):
        ProjectFile.open(path, PASSPHRASE)


def test_a_project_open_elsewhere_is_said_to_be_so(tmp_path):
    with new_project(tmp_path) as project:
        for read_only in (False, True):
            with pytest.raises(ProjectInUse, match="another window"):
                ProjectFile.open(project.path, PASSPHRASE, read_only=read_only)
        project.save_document(replace(document(), title="still mine"))


@pytest.mark.slow
def test_a_project_open_in_another_process_is_said_to_be_so(tmp_path):
    with new_project(tmp_path) as project:
        code = (
            "import sys; from pathlib import Path\n"
            "from sfumato.project.errors import ProjectInUse\n"
            "from sfumato.project.project_file import ProjectFile\n"
            "try: ProjectFile.open(Path(sys.argv[1]), 'correct horse')\n"
            "except ProjectInUse: sys.exit(42)"
        )
        ended = subprocess.run([sys.executable, "-c", code, str(project.path)], check=False)
    assert ended.returncode == 42


def test_a_closed_project_can_be_opened_again_at_once(tmp_path):
    project = new_project(tmp_path)
    for _ in range(3):
        project = reopened(project)
    project.close()
    project.close()
    assert project.path.exists()


def test_a_project_open_for_reading_refuses_to_change(tmp_path):
    project = new_project(tmp_path)
    content = project.path.read_bytes()
    with reopened(project, read_only=True) as reading:
        assert reading.document == document()
        with pytest.raises(ReadOnlyProject, match="reading only"):
            reading.save_document(replace(document(), title="changed"))
        with pytest.raises(ReadOnlyProject):
            reading.record(EntryKind.OVERRIDE, {})
        assert reading.document == document()
    assert project.path.read_bytes() == content


def test_two_may_read_a_project_at_once(tmp_path):
    project = new_project(tmp_path)
    with reopened(project, read_only=True) as one, reopened(project, read_only=True) as two:
        assert one.document == two.document


def test_a_read_only_project_opens_for_reading_only(tmp_path):
    new_project(tmp_path).close()
    content = (tmp_path / "ward.sfumato").read_bytes()
    with read_only_folder() as folder:
        path = folder / "ward.sfumato"
        euid = os.geteuid()
        _write_as_owner(path, content, euid)
        with pytest.raises(CannotWrite, match="read-only"):
            ProjectFile.open(path, PASSPHRASE)
        with ProjectFile.open(path, PASSPHRASE, read_only=True) as project:
            assert project.document == document()


def _write_as_owner(path, content, euid):
    """Put a file that can be read but not written into a folder that takes none."""
    if os.getuid() == 0:
        os.seteuid(0)
    path.parent.chmod(0o755)
    path.write_bytes(content)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    if os.getuid() == 0:
        os.seteuid(euid)


def test_an_entry_and_a_document_are_recorded_together_or_not_at_all(tmp_path):
    with new_project(tmp_path) as project:
        changed = replace(document(), title="Ward 9")
        with pytest.raises(ValueError, match="JSON"):
            project.record(EntryKind.OVERRIDE, {"number": float("nan")}, changed)
        assert project.document == document()
        project.record(EntryKind.OVERRIDE, {"reason": "agreed"}, changed)
        again = reopened(project)
        assert again.document == changed
        assert [entry.kind for entry in again.ledger.entries] == ["project created", "override"]
        again.close()


@pytest.mark.slow
@pytest.mark.parametrize("read_only", [False, True])
def test_a_project_of_a_process_that_was_killed_keeps_what_was_saved(tmp_path, read_only):
    """The process dies in a change so large that half of it is in the file already."""
    code = (
        "import os, sys; from pathlib import Path\n"
        "from dataclasses import replace\n"
        "from tests.project.making import new_project, document\n"
        "project = new_project(Path(sys.argv[1]))\n"
        "project.save_document(replace(document(), title='saved'))\n"
        "with project.database.transaction() as connection:\n"
        "    connection.execute('PRAGMA cache_size = 1')\n"
        "    for number in range(100):\n"
        "        values = (str(number), 'x' * 4000)\n"
        "        connection.execute('INSERT INTO pending VALUES (?, ?, NULL)', values)\n"
        "    connection.execute(\"UPDATE document SET content = 'half'\")\n"
        "    os._exit(9)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert ended.returncode == 9
    assert (tmp_path / "ward.sfumato-journal").stat().st_size > 0
    path = tmp_path / "ward.sfumato"
    with ProjectFile.open(path, PASSPHRASE, read_only=read_only) as project:
        assert project.document.title == "saved"
        assert project.database.rows("SELECT * FROM pending") == []


def test_an_empty_document_can_be_kept(tmp_path):
    with new_project(tmp_path, Document()) as project:
        assert reopened(project).document == Document()


def test_what_killed_writers_left_beside_a_project_and_in_the_state_folder_goes(tmp_path):
    with new_project(tmp_path) as project:
        path = project.path
    state = state_folder()
    (state / "remembered").mkdir()
    places = (tmp_path, state, state / "remembered")
    left = [
        folder / f".report.pdf.{digits}.part"
        for folder in places
        for digits in ("a" * 12, "b" * 16)
    ]
    others = [tmp_path / ".report.part", tmp_path / f"report.pdf.{'a' * 16}.part"]
    for file in (*left, *others):
        file.touch()
        os.utime(file, (0, 0))
    ProjectFile.open(path, PASSPHRASE, read_only=True).close()
    assert all(file.exists() for file in left)
    ProjectFile.open(path, PASSPHRASE).close()
    assert not any(file.exists() for file in left)
    assert all(file.exists() for file in others)
