"""A program that synchronizes folders deletes, moves or replaces the file of an open project."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.project.errors import NotSealed, ProjectPart, ProjectReplaced
from sfumato.project.ledger import EntryKind, ReleaseState
from sfumato.project.project_file import ProjectFile, copy_project
from sfumato.project.release.release import make_plan, make_release
from sfumato.project.store.seal import state_folder
from tests.in_batches import in_batches
from tests.project.making import PASSPHRASE, document, new_project, noon, table

DEEDS = {
    "deleted": lambda path, _: path.unlink(),
    "moved": lambda path, older: path.rename(older.with_name("moved.sfumato")),
    "replaced": lambda path, older: shutil.copy(older, path.with_suffix(".tmp")).replace(path),
}
BEFORE_ITS_NAME = ("planned", "computed", "noted", "staged", "written", "synced", "prepared")
AFTER_ITS_NAME = ("renamed", "cleared")


@pytest.fixture
def path(tmp_path):
    """A project, and an older copy of it beside."""
    with new_project(tmp_path) as project:
        pass
    shutil.copy(project.path, tmp_path / "older.sfumato")
    return project.path


def opened(path, **options):
    return ProjectFile.open(path, PASSPHRASE, clock=noon, **options)


def do(deed, path):
    DEEDS[deed](path, path.with_name("older.sfumato"))


def release(project, deed="", step="", **options):
    def at_step(name):
        if name == step:
            do(deed, project.path)

    folder = project.path.with_name("out")
    return make_release(
        project,
        in_batches(table()),
        "Clinic A",
        folder,
        "csv",
        Silent(),
        at_step=at_step,
        **options,
    )


def names_in(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("deed", DEEDS)
def test_nothing_is_saved_where_nobody_finds_it(path, deed, tmp_path):
    with opened(path) as project:
        do(deed, path)
        standing = path.read_bytes() if path.exists() else None
        for save in (
            lambda: project.save_document(project.document),
            lambda: project.save_document(replace(document(), title="Ward 9")),
            lambda: project.record(EntryKind.OVERRIDE, {}),
        ):
            with pytest.raises(ProjectReplaced, match="moved, deleted or replaced"):
                save()
        assert (path.read_bytes() if path.exists() else None) == standing
        project.save_document(replace(document(), title="Ward 9"), anywhere=True)
        copy_project(project, tmp_path / "copy.sfumato")
    with opened(tmp_path / "copy.sfumato") as copy:
        assert copy.document.title == "Ward 9"


@pytest.mark.parametrize("moment", ["begin", "end", "committed"])
def test_a_save_during_which_the_file_is_replaced_does_not_succeed(path, moment, monkeypatch):
    with opened(path) as project:
        keeper = project.database.keeper
        real = getattr(keeper, moment)

        def replacing(*arguments):
            do("replaced", path)
            return real(*arguments)

        monkeypatch.setattr(keeper, moment, replacing)
        with pytest.raises(ProjectReplaced):
            project.save_document(replace(document(), title="Ward 9"))
        assert project.document.title == "Ward 7"


@pytest.mark.turns(4)
@pytest.mark.few(6)
@pytest.mark.parametrize("as_zip", [False, True])
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("step", BEFORE_ITS_NAME)
def test_a_release_is_refused_and_nothing_of_it_is_left(path, deed, step, as_zip):
    with opened(path) as project, pytest.raises(ProjectReplaced):
        release(project, deed, step, as_zip=as_zip)
    assert names_in(path.with_name("out")) == []
    if deed == "replaced":
        with opened(path, accepting="synchronized") as project:
            assert project.releases == ()
            assert project.recovered == ()


@pytest.mark.turns(4)
@pytest.mark.few(4)
@pytest.mark.parametrize("as_zip", [False, True])
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("step", AFTER_ITS_NAME)
def test_a_release_that_was_made_is_recorded_again(path, deed, step, as_zip):
    with opened(path) as project:
        with pytest.raises(ProjectReplaced, match=r"is made .* keeps what the ledger has"):
            release(project, deed, step, as_zip=as_zip)
        (before,) = project.releases
    if deed != "replaced":  # a backup takes its place
        shutil.copy(path.with_name("older.sfumato"), path)
    with pytest.raises(NotSealed) as caught:
        opened(path)
    assert caught.value.parts == {ProjectPart.OLDER}
    for times in (1, 0, 0):
        with opened(path, accepting="synchronized" if times else "") as project:
            assert len(project.recovered) == times
            (record,) = project.releases
            assert record.state is ReleaseState.COMPLETED
            assert (record.digest, record.policy) == (before.digest, before.policy)
            assert record.details["recorded_before"] == before.recorded_at
            project.ledger.verify_chain()
    assert names_in(path.with_name("out")) == [record.target.name]


def test_a_release_whose_project_is_replaced_later_is_recorded_again(path):
    with opened(path) as project:
        release(project)
        do("replaced", path)
    with opened(path, accepting="synchronized") as project:
        assert [record.state for record in project.releases] == [ReleaseState.COMPLETED]


def test_a_plan_whose_project_is_replaced_later_counts_as_made(path):
    with opened(path) as project:
        project.save_document(document(record_key="person"))
        shutil.copy(path, path.with_name("older.sfumato"))
        make_plan(
            project,
            in_batches(table()),
            "Clinic A",
            path.with_name("plan"),
            path.with_name("keys"),
            Silent(),
        )
        do("replaced", path)
    with opened(path, accepting="synchronized") as project:
        assert [record.state for record in project.releases] == [ReleaseState.UNTRACED]


def test_nothing_is_kept_of_a_project_that_was_closed_in_its_place(path):
    with opened(path) as project:
        release(project)
        (kept,) = (state_folder() / "releases").iterdir()
        assert b"Clinic A" not in kept.read_bytes()
    assert names_in(state_folder() / "releases") == []


@pytest.mark.parametrize("content", [b"", b"x" * 200])
def test_what_was_kept_and_then_damaged_does_nothing(path, content):
    with opened(path) as project:
        release(project)
        do("replaced", path)
        project.kept_releases.path.write_bytes(content)
    with opened(path, accepting="synchronized") as project:
        assert project.releases == ()


def test_a_state_folder_that_takes_nothing_promises_nothing(path, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with opened(path) as project, pytest.raises(ProjectReplaced, match="Remove the release"):
        release(project, "replaced", "renamed")
