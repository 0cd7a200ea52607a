"""A recovery sheet opens a project whose passphrase is lost, and nothing else does."""

from __future__ import annotations

import html
import re
import shutil

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import CannotWrite
from sfumato.project.errors import (
    NotSealed,
    PassphraseError,
    ProjectMissing,
    ProjectPart,
    ReadOnlyProject,
    WrongPassphrase,
    WrongRecoveryCode,
)
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery_sheet import make_sheet, recover
from sfumato.project.release.release import make_release
from sfumato.project.store.recovery_code import RecoveryCode
from sfumato.report.recovery_page import save_sheet
from tests.in_batches import in_batches
from tests.project.making import (
    CHEAP,
    PASSPHRASE,
    new_project,
    noon,
    read_only_folder,
    reopened,
    table,
)
from tests.project.tampering import change, put, rows
from tests.project.test_migrations import SECOND_VERSION

NEW = "pear glass tower violin"


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as made:
        yield made


def sheet_of(project, passphrase=PASSPHRASE):
    kept = []
    make_sheet(project, passphrase, kept.append)
    (sheet,) = kept
    return "-".join(sheet.code.groups)


def recovered(path, code, passphrase=NEW):
    return recover(path, code, passphrase, cost=CHEAP, clock=noon)


def released(project, folder):
    return make_release(project, in_batches(table()), "Clinic A", folder, "csv", Silent()).path


def test_a_lost_passphrase_does_not_end_the_ladder(project, tmp_path):
    code = sheet_of(project)
    before = (released(project, tmp_path / "a") / "data.csv").read_bytes()
    project.close()
    with recovered(project.path, code) as again:
        assert again.tampering is None
        assert (released(again, tmp_path / "b") / "data.csv").read_bytes() == before
        kinds = [(entry.kind, entry.details.get("by")) for entry in again.ledger.entries]
    assert ("recovery sheet made", None) in kinds
    assert ("passphrase changed", "recovery sheet") in kinds
    with pytest.raises(WrongPassphrase):
        ProjectFile.open(project.path, PASSPHRASE, clock=noon)
    ProjectFile.open(project.path, NEW, clock=noon).close()
    recovered(project.path, code, "and once more").close()


def test_a_new_sheet_makes_the_one_before_useless(project):
    first, second = sheet_of(project), sheet_of(project)
    project.close()
    with pytest.raises(WrongRecoveryCode, match="does not open this project") as caught:
        recovered(project.path, first)
    assert "newest" in caught.value.remedy
    ProjectFile.open(project.path, PASSPHRASE, clock=noon).close()
    recovered(project.path, second).close()


def test_a_sheet_stays_valid_when_the_passphrase_changes(project):
    code = sheet_of(project)
    project.change_passphrase(PASSPHRASE, "others", cost=CHEAP)
    project.close()
    with recovered(project.path, code) as again:
        assert again.tampering is None


def test_a_sheet_is_made_with_the_passphrase_alone(project):
    with pytest.raises(WrongPassphrase):
        sheet_of(project, "somebody at the open window")
    assert rows_of_keys(project) == []
    assert len(project.ledger.entries) == 1


def rows_of_keys(project):
    return project.database.rows("SELECT * FROM keys")


def test_another_code_no_sheet_and_no_project_are_told_apart(project, tmp_path):
    project.close()
    other = "-".join(RecoveryCode.generate().groups)
    with pytest.raises(WrongRecoveryCode, match="No recovery sheet was made"):
        recovered(project.path, other)
    with ProjectFile.open(project.path, PASSPHRASE, clock=noon) as again:
        code = sheet_of(again)
    with pytest.raises(WrongRecoveryCode, match="does not open"):
        recovered(project.path, other)
    with pytest.raises(ProjectMissing):
        recovered(tmp_path / "nowhere.sfumato", code)
    with pytest.raises(PassphraseError, match="empty"):
        recovered(project.path, code, "")
    wrong = code[:1].translate(str.maketrans("0123456789", "1234567890"))
    typo = ("8" if wrong == code[0] else wrong) + code[1:]
    if typo != code:
        with pytest.raises(WrongRecoveryCode, match="Group 1"):
            recovered(project.path, typo)
    ProjectFile.open(project.path, PASSPHRASE, clock=noon).close()


def test_a_sheet_of_another_project_opens_nothing(project, tmp_path):
    (tmp_path / "other").mkdir()
    with new_project(tmp_path / "other") as other:
        code = sheet_of(other)
    sheet_of(project)
    project.close()
    with pytest.raises(WrongRecoveryCode, match="does not open"):
        recovered(project.path, code)


def test_a_project_of_an_earlier_version_gets_a_sheet(tmp_path):
    path = tmp_path / "old.sfumato"
    shutil.copy(SECOND_VERSION, path)
    path.chmod(0o600)
    with pytest.raises(WrongRecoveryCode, match="No recovery sheet"):
        recovered(path, "-".join(RecoveryCode.generate().groups))
    with ProjectFile.open(path, PASSPHRASE, clock=noon) as project:
        code = sheet_of(project)
    with recovered(path, code) as project:
        assert project.document.title == "Ward 7"


def test_a_sheet_that_can_not_be_written_down_leaves_the_earlier_one_valid(project):
    code = sheet_of(project)

    def fail(_sheet):
        raise OSError("no paper")

    with pytest.raises(OSError, match="no paper"):
        make_sheet(project, PASSPHRASE, fail)
    assert [entry.kind for entry in project.ledger.entries].count("recovery sheet made") == 1
    project.close()
    recovered(project.path, code).close()


def test_a_project_that_is_open_for_reading_gets_no_sheet(project):
    with reopened(project, read_only=True) as reading, pytest.raises(ReadOnlyProject):
        sheet_of(reading)


# ----- what an attacker can do with the file


def test_a_sheet_that_was_removed_or_set_back_is_noticed(project):
    sheet_of(project)
    old = rows_of_keys(project)
    sheet_of(project)
    project.close()
    content = project.path.read_bytes()
    for statements in (["DELETE FROM keys"], ["UPDATE keys SET name = 'x'"], [], None):
        if statements is None:
            change(project.path, "UPDATE keys SET public = x'00'")
        elif statements:
            change(project.path, *statements)
        else:
            put(project.path, "keys", old)
        with pytest.raises(NotSealed) as caught:
            ProjectFile.open(project.path, PASSPHRASE, clock=noon)
        assert caught.value.parts == {ProjectPart.KEYS}
        with ProjectFile.open(project.path, PASSPHRASE, clock=noon, read_only=True) as reading:
            assert reading.tampering.parts == {ProjectPart.KEYS}
        project.path.write_bytes(content)


def test_a_sheet_does_not_open_what_is_not_as_it_was_sealed(project):
    code = sheet_of(project)
    project.close()
    change(project.path, "UPDATE document SET saved_at = 'now'")
    with pytest.raises(NotSealed):
        recovered(project.path, code)
    assert [row[1] for row in rows(project.path, "ledger")].count("passphrase changed") == 0


def test_the_code_does_not_open_the_project_as_a_passphrase(project):
    code = sheet_of(project)
    project.close()
    (_, _, _, *wrapped) = rows(project.path, "keys")[0]
    put(project.path, "wrapping", [(1, *wrapped)])
    for typed in (code, code.replace("-", "")):
        with pytest.raises(WrongPassphrase):
            ProjectFile.open(project.path, typed, clock=noon)


def test_the_code_is_not_in_the_file_nor_in_what_is_shown(project, caplog):
    code = sheet_of(project)
    kept = []
    make_sheet(project, PASSPHRASE, kept.append)
    project.close()
    content = project.path.read_bytes()
    for text in (code, code.replace("-", ""), kept[0].code.reveal()):
        assert text.encode() not in content
        assert text not in repr(kept[0]) + caplog.text
    assert kept[0].code.groups[0] not in repr(kept[0])


# ----- the sheet as a file


@pytest.mark.parametrize("name", ["sheet.html", "sheet.txt", "SHEET.HTML"])
def test_a_printed_sheet_opens_the_project_and_says_what_it_is_of(project, tmp_path, name):
    path = tmp_path / name
    save_sheet(project, PASSPHRASE, path)
    project.close()
    page = html.unescape(re.sub("<[^>]+>", " ", path.read_text(encoding="utf-8")))
    assert "ward.sfumato" in page
    assert "Ward 7" in page
    assert "2026-11-20 12:00 UTC" in page
    groups = re.findall(r"\b[1-8]\s+([0-9A-Z]{5})\b", page)
    recovered(project.path, " ".join(groups)).close()


def test_a_sheet_overwrites_nothing_and_is_the_owners_alone(project, tmp_path):
    path = tmp_path / "sheet.html"
    path.write_text("precious")
    code = sheet_of(project)
    with pytest.raises(CannotWrite, match="already"):
        save_sheet(project, PASSPHRASE, path)
    assert path.read_text() == "precious"
    for name in ("sheet.pdf", "sheet", "sheet.html.exe"):
        with pytest.raises(CannotWrite, match=r"html or \.txt"):
            save_sheet(project, PASSPHRASE, tmp_path / name)
    with pytest.raises(CannotWrite):
        save_sheet(project, PASSPHRASE, tmp_path / "nowhere" / "sheet.txt")
    with read_only_folder() as folder, pytest.raises(CannotWrite):
        save_sheet(project, PASSPHRASE, folder / "sheet.txt")
    save_sheet_path = tmp_path / "new.txt"
    project.close()
    recovered(project.path, code).close()
    with ProjectFile.open(project.path, NEW, clock=noon) as again:
        save_sheet(again, NEW, save_sheet_path)
    assert save_sheet_path.stat().st_mode & 0o077 == 0


def test_a_sheet_that_could_not_be_recorded_is_taken_away_again(project, tmp_path, monkeypatch):
    code = sheet_of(project)
    path = tmp_path / "sheet.html"

    def replaced():
        if path.exists():
            raise RuntimeError("the power is gone")

    with monkeypatch.context() as patch:
        patch.setattr(project.database, "require_place", replaced)
        with pytest.raises(RuntimeError):
            save_sheet(project, PASSPHRASE, path)
    assert not path.exists()
    project.close()
    recovered(project.path, code).close()


def test_the_ledger_tells_that_a_sheet_was_made(project):
    sheet_of(project)
    assert project.ledger.entries[-1].kind == EntryKind.RECOVERY_SHEET_MADE
    assert project.ledger.entries[-1].details == {}
