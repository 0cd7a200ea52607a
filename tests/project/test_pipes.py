"""Pipes where files of ours belong: nobody writes to them, so whoever opened one would wait."""

from __future__ import annotations

import os
import signal

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import FileError
from sfumato.formats.files import read_regular
from sfumato.formats.reading import detect_options, preview
from sfumato.project.errors import DamagedProject, ProjectMissing
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.store.seal import state_folder
from sfumato.project.store.unsaved import UnsavedWork, unsaved_in
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.project.making import PASSPHRASE, document, new_project, noon, table

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no such pipes")


@pytest.fixture(autouse=True)
def impatient():
    """End a test that waits, rather than all of them."""

    def give_up(*_):
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def become_pipes(folder):
    """Put a pipe in the place of every file in a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        path.unlink()
        os.mkfifo(path)
    return files


def test_a_pipe_is_no_file_to_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Invalid argument"):
        read_regular(tmp_path / "pipe")


def test_a_project_opens_beside_pipes_in_the_state_folder(tmp_path):
    with new_project(tmp_path) as project:
        project.remembered.keep("a thing", "about", 1)
        make_release(project, in_batches(table()), "Clinic A", tmp_path / "out", "csv", Silent())
        assert len(become_pipes(state_folder())) == 3
        assert project.remembered.find("a thing", "about") is None
        assert project.kept_releases.read() == ()
        project.database.close()  # as a process that is killed
    assert become_pipes(state_folder()) == []
    for read_only in (True, False):
        with ProjectFile.open(project.path, PASSPHRASE, clock=noon, read_only=read_only) as project:
            assert len(project.releases) == 1


def test_unsaved_work_is_passed_over_where_pipes_are(tmp_path):
    work = UnsavedWork(tmp_path)
    work.document = document()
    work.write()
    work.leave()
    kept, key = work.path, work.key_path
    key.unlink()
    os.mkfifo(key)
    assert unsaved_in(tmp_path) is None
    kept.unlink()
    os.mkfifo(kept)
    assert unsaved_in(tmp_path) is None


def test_a_pipe_in_the_place_of_a_project_or_its_journal_is_refused(tmp_path):
    path = new_project(tmp_path).path
    journal = path.with_name(f"{path.name}-journal")
    journal.unlink(missing_ok=True)
    os.mkfifo(journal)
    for read_only in (True, False):
        with pytest.raises(DamagedProject, match="was not left by Sfumato"):
            ProjectFile.open(path, PASSPHRASE, read_only=read_only)
    journal.unlink()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ProjectMissing):
        ProjectFile.open(path, PASSPHRASE)


@pytest.mark.parametrize("name", ["data.csv", "datapackage.json", "README.md", "added.txt"])
def test_a_bundle_with_a_pipe_in_it_fails(tmp_path, name):
    with new_project(tmp_path) as project:
        path = make_release(
            project, in_batches(table()), "Clinic A", tmp_path / "out", "csv", Silent()
        ).path
        (path / name).unlink(missing_ok=True)
        os.mkfifo(path / name)
        assert not verify_bundle(project, in_batches(table()), path, Silent()).holds


def test_a_folder_of_parquet_files_with_a_pipe_among_them_is_refused(tmp_path):
    os.mkfifo(tmp_path / "part.parquet")
    with pytest.raises(FileError, match="is a pipe"):
        preview(tmp_path, detect_options(tmp_path))
