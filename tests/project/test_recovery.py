"""A release is killed at every step; afterwards nothing of it is lost and nothing is half done."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import DiskFull
from sfumato.project.count_tables.held import count_tables_in
from sfumato.project.ledger import EntryKind, ReleaseState, events_in
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.store.files import digest_of_bundle, pending_in
from tests.in_batches import in_batches
from tests.project.making import PASSPHRASE, new_project, noon, table

BEFORE_RECORDED = (
    *("planned", "computed", "noted", "staged", "written", "synced"),
    *("1", "2", "4", "5"),  # in the midst of computing and of writing
)
AFTER_RECORDED = ("prepared", "renamed", "cleared", "completed")
STEPS = BEFORE_RECORDED + AFTER_RECORDED
FORMS = ("folder", "zip")


class Died(BaseException):
    """Stands for the death of the process: nothing of the release runs after it."""


def kill(*jobs):
    """Make releases, each in a process that dies at its step: (folder, step, form)."""
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.project.release_driver",
            *(":".join([str(folder), *rest]) for folder, *rest in jobs),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr


def opened(folder, **options):
    return ProjectFile.open(folder / "ward.sfumato", PASSPHRASE, clock=noon, **options)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def expect_whole(project, out):
    """Every bundle under a final name is whole and recorded, and nothing else is there."""
    completed = [r for r in project.releases if r.state is ReleaseState.COMPLETED]
    assert names_in(out) == sorted(record.target.name for record in completed)
    for record in completed:
        assert digest_of_bundle(record.target) == record.digest
    assert pending_in(project.database) == ()
    project.ledger.verify_chain()


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh")
    new_project(folder).close()
    return folder / "ward.sfumato"


@pytest.fixture
def folder(tmp_path, fresh):
    shutil.copy(fresh, tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def killed(tmp_path_factory, fresh):
    """For each step and form, a folder in which a release was killed there."""
    folders = {}
    for step, form in itertools.product(STEPS, FORMS):
        folder = tmp_path_factory.mktemp("killed")
        shutil.copy(fresh, folder)
        folders[step, form] = folder
    kill(*((folder, *job) for job, folder in folders.items()))
    return folders


@pytest.mark.slow
@pytest.mark.turns(4)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("step", BEFORE_RECORDED)
def test_killed_before_it_is_recorded_a_release_is_removed(killed, step, form):
    folder = killed[step, form]
    with opened(folder) as project:
        assert project.releases == ()
        expect_whole(project, folder / "out")
        assert names_in(folder / "out") == []
        noted = step not in {"planned", "computed", "1", "2"}
        kinds = [entry.kind for entry in project.ledger.entries]
        assert kinds == ["project created"] + ["release abandoned"] * noted
        assert len(project.recovered) == noted


@pytest.mark.slow
@pytest.mark.turns(4)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("step", AFTER_RECORDED)
def test_killed_after_it_is_recorded_a_release_is_finished(killed, step, form):
    folder = killed[step, form]
    with opened(folder) as project:
        (record,) = project.releases
        assert record.state is ReleaseState.COMPLETED
        expect_whole(project, folder / "out")
        assert len(names_in(folder / "out")) == 1
        assert len(project.recovered) == (step != "completed")


COUNTS_STEPS = {"noted": 0, "written": 0, "prepared": 1, "renamed": 1, "cleared": 1}
"""How many tables of counts there are after a death at each step."""


@pytest.fixture(scope="module")
def tables_killed(tmp_path_factory, fresh):
    """For each step, a folder in which the making of a table of counts was killed there."""
    folders = {step: tmp_path_factory.mktemp("killed") for step in COUNTS_STEPS}
    for folder in folders.values():
        shutil.copy(fresh, folder)
    kill(*((folder, step, "counts") for step, folder in folders.items()))
    return folders


@pytest.mark.slow
@pytest.mark.parametrize("step", COUNTS_STEPS)
def test_a_table_of_counts_that_is_killed_is_whole_and_recorded_or_nowhere(tables_killed, step):
    with opened(folder := tables_killed[step]) as project:
        tables = count_tables_in(project.ledger.entries)
        assert len(tables) == COUNTS_STEPS[step]
        assert names_in(folder / "out") == [Path(each.target).name for each in tables]
        assert [digest_of_bundle(Path(each.target)) for each in tables] == [
            each.digest for each in tables
        ]
        assert len(project.recovered) == 1
        assert pending_in(project.database) == ()
        project.ledger.verify_chain()


@pytest.mark.slow
def test_a_table_of_counts_whose_files_are_broken_is_abandoned_and_counts_no_more(folder):
    kill((folder, "prepared", "counts"))
    (staged,) = (folder / "out").iterdir()
    (staged / "counts.csv").write_text("broken")
    with opened(folder) as project:
        assert count_tables_in(project.ledger.entries) == ()
        assert names_in(folder / "out") == []
        *_, made = events_in(project.ledger.entries)
        assert made.entry.kind == EntryKind.COUNTS_RELEASED
        assert made.ending.kind == EntryKind.RELEASE_ABANDONED


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_recovery_itself_can_be_killed_at_every_step(folder, fresh, form, monkeypatch):
    folders = []
    for step in ("renamed", "cleared", "settled"):
        (folder / step).mkdir()
        shutil.copy(fresh, folder / step)
        folders += [
            (folder / step, "prepared", form),
            (folder / step, f"recovery-{step}", form),
        ]
    kill(*folders)
    for step in ("renamed", "cleared", "settled"):
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / step / "state"))
        with opened(folder / step) as project:
            assert project.releases[0].state is ReleaseState.COMPLETED
            expect_whole(project, folder / step / "out")


def test_an_opening_after_the_recovery_has_nothing_left_to_do(folder):
    prepared(folder)
    opened(folder).close()
    with opened(folder) as project:
        assert project.recovered == ()


def test_after_a_recovery_the_same_release_can_be_made_again(folder):
    prepared(folder)
    opened(folder).close()
    shutil.rmtree(folder / "out")
    with opened(folder) as project:
        outcome = make_release(
            project, in_batches(table()), "Clinic A", folder / "out", "csv", Silent()
        )
        first, second = project.releases
        assert (first.digest, first.release_id) == (second.digest, second.release_id)
        assert digest_of_bundle(outcome.path) == second.digest


def test_reading_only_settles_nothing(folder):
    prepared(folder)
    with opened(folder, read_only=True) as project:
        assert project.releases[0].state is ReleaseState.PREPARED
        assert project.recovered == ()
    with opened(folder) as project:
        assert project.releases[0].state is ReleaseState.COMPLETED


def prepared(folder):
    """Leave a release recorded and staged, without the cost of a process."""

    def die(step):
        if step == "prepared":
            raise Died

    project = opened(folder)
    with pytest.raises(Died):
        make_release(
            project, in_batches(table()), "Clinic A", folder / "out", "csv", Silent(), at_step=die
        )
    (staging,) = pending_in(project.database)
    project.close()
    return staging


def test_staged_files_that_were_changed_are_removed(folder):
    staging = prepared(folder)
    (Path(staging.folder) / "data.csv").write_text("sex,illness\n")
    with opened(folder) as project:
        assert project.releases[0].state is ReleaseState.ABANDONED
        assert "not whole" in project.recovered[0].explanation
        expect_whole(project, folder / "out")


def test_a_recorded_release_whose_files_are_gone_still_counts(folder):
    staging = prepared(folder)
    shutil.rmtree(staging.folder)
    with opened(folder) as project:
        (record,) = project.releases
        assert record.state is ReleaseState.UNTRACED
        assert record.counts
        assert project.recovered[0].ending is EntryKind.RELEASE_UNTRACED


def test_a_name_that_was_taken_meanwhile_is_kept(folder):
    staging = prepared(folder)
    Path(staging.target).mkdir()
    (Path(staging.target) / "precious").write_text("kept")
    with opened(folder) as project:
        assert project.releases[0].state is ReleaseState.ABANDONED
        assert "taken" in project.recovered[0].explanation
    assert [p.name for p in (folder / "out").rglob("*") if p.is_file()] == ["precious"]


def test_a_release_on_a_disk_that_is_not_there_waits(folder):
    prepared(folder)
    (folder / "out").rename(folder / "unplugged")
    with opened(folder) as project:
        assert project.releases[0].state is ReleaseState.PREPARED
        assert project.releases[0].counts
        (note,) = project.recovered
        assert note.ending is None
        assert "next" in note.explanation
    (folder / "unplugged").rename(folder / "out")
    with opened(folder) as project:
        assert project.releases[0].state is ReleaseState.COMPLETED
        expect_whole(project, folder / "out")


def test_a_disk_that_fills_up_before_the_last_record_loses_nothing(folder, monkeypatch):
    def full(*record):
        raise DiskFull("The disk is full.", "Make room.")

    with opened(folder) as project, monkeypatch.context() as patch:
        patch.setattr("sfumato.project.release.bundle_making.end_release", full)
        with pytest.raises(DiskFull):
            make_release(project, in_batches(table()), "Clinic A", folder / "out", "csv", Silent())
        assert project.releases[0].state is ReleaseState.PREPARED
    with opened(folder) as again:
        assert again.releases[0].state is ReleaseState.COMPLETED
        expect_whole(again, folder / "out")
