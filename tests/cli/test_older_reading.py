"""A project of the first version of reading goes on as it was, and is told once what would differ.

`tests/samples/kept/reading` was made by the version of commit 45c2268: its table has two rows of
delimiters alone, which that version read as records.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, ExitCode
from sfumato.project.project_file import ProjectFile
from tests.cli.conftest import CommandLine

KEPT = Path(__file__).parents[1] / "samples" / "kept" / "reading"
PASSPHRASE = "read since before"
TOLD = "By the present version: 60 rows in place of 62."


@pytest.fixture
def older(tmp_path, monkeypatch):
    for name in ("visits.csv", "visits.sfumato"):
        shutil.copy(KEPT / name, tmp_path)
    state = tmp_path / "state"
    monkeypatch.setattr("sfumato.project.store.remembered.state_folder", lambda: state)
    return CommandLine(tmp_path, {PASSPHRASE_VARIABLE: PASSPHRASE})


def project(older):
    return older.folder / "visits.sfumato"


@pytest.mark.slow
@pytest.mark.turns(1)
def test_it_releases_the_same_bytes_as_then(older):
    out = older.folder / "again"
    more = ["--recipient", "Clinic A", "--out", out, "--override", "kept", "--accept", "kept"]
    assert older.run("release", project(older), *more) == ExitCode.OK, older.remarks
    [data] = out.glob("*/data.csv")
    assert data.read_bytes() == (KEPT / "released.csv").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["1000", "0"])
def test_what_would_be_read_otherwise_is_told_once_and_kept(older, memory):
    assert older.run("check", project(older), "--memory", memory) == ExitCode.OK, older.remarks
    assert TOLD in older.remarks
    assert f"sfumato source {project(older)} --new-edition" in older.remarks
    assert older.run("check", project(older), "--memory", memory) == ExitCode.OK
    assert TOLD not in older.remarks
    out = older.folder / "again"
    more = ["--recipient", "Clinic A", "--out", out, "--override", "kept", "--accept", "kept"]
    assert older.run("release", project(older), *more) == ExitCode.OK
    assert TOLD not in older.remarks
    with ProjectFile.open(project(older), PASSPHRASE, read_only=True) as opened:
        [note] = opened.document.source.notes
        assert note.ways[0].options.version == 2


def test_records_known_by_position_do_not_move_after_a_release(older):
    table = older.folder / "visits.csv"
    code = older.run("source", project(older), "--new-edition", table)
    assert code == ExitCode.EXPECTED_ERROR
    assert "it had 62 rows then and has 60 now" in older.remarks


def test_before_a_release_an_edition_is_read_by_the_present_version(older):
    table = older.folder / "visits.csv"
    path = older.folder / "new.sfumato"
    with ProjectFile.open(project(older), PASSPHRASE, read_only=True) as opened:
        document = replace(opened.document, source=replace(opened.document.source, path=str(table)))
    ProjectFile.create(path, PASSPHRASE, document).close()
    assert older.run("source", path, "--new-edition", table) == ExitCode.OK, older.remarks
    with ProjectFile.open(path, PASSPHRASE, read_only=True) as opened:
        source = opened.document.source
        assert (source.rows, source.options["version"]) == (60, 2)
        [entry] = [one for one in opened.ledger.entries if one.kind == "source changed"]
        assert entry.details["to"]["read otherwise"] == ["Read as by version: 2"]
