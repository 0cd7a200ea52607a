"""Making a release, and what may stand beside the releases already made."""

from __future__ import annotations

import errno
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.errors import Cancelled, LadderError, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.table.table import Table
from sfumato.formats.errors import CannotWrite, UnknownFormat
from sfumato.formats.files import digest_of_files
from sfumato.project import recovery
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.project.errors import ReadOnlyProject, ReleaseError, SourceChanged, TargetExists
from sfumato.project.ledger import ReleaseState
from sfumato.project.release.release import make_release
from sfumato.project.store.files import digest_of_bundle
from tests.in_batches import in_batches
from tests.project.making import (
    ILLNESSES,
    document,
    new_project,
    read_only_folder,
    reopened,
    table,
)
from tests.row_order import in_table_order


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as opened:
        yield opened


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def release(project, out, recipient="Clinic A", given=None, **options):
    return make_release(
        project, in_batches(given or table()), recipient, out, "csv", Silent(), **options
    )


def kinds(project):
    return [entry.kind for entry in project.ledger.entries]


def expect_nothing_left(project, out):
    assert not out.exists() or list(out.iterdir()) == []
    assert project.database.rows("SELECT * FROM pending") == []
    assert kinds(project) == ["project created"]


def released_csv(outcome):
    return pd.read_csv(outcome.path / "data.csv")


def test_a_bundle_stands_under_its_name_and_the_ledger_has_it(project, out):
    outcome = release(project, out)
    assert outcome.path.parent == out
    assert outcome.path.name == f"Ward-7-Clinic-A-{outcome.record.release_id[:8]}-csv"
    assert [path.name for path in out.iterdir()] == [outcome.path.name]
    assert kinds(project) == ["project created", "release prepared", "release completed"]
    record = outcome.record
    assert record == project.releases[0]
    assert (record.state, record.recipient, record.target) == (
        ReleaseState.COMPLETED,
        "Clinic A",
        outcome.path,
    )
    assert record.digest == digest_of_bundle(outcome.path) == digest_of_files(record.files)
    assert [plan.level for plan in record.plans] == [pytest.approx(0.6)]
    assert record.open_columns == ("sex",)
    assert project.database.rows("SELECT * FROM pending") == []


def test_what_is_released_is_the_table_without_who_it_is_about(project, out):
    outcome = release(project, out)
    frame = in_table_order(project, outcome.path, table())
    assert list(frame.columns) == ["sex", "illness"]
    assert frame["sex"].tolist() == table().frame["sex"].tolist()
    assert set(frame["illness"]) <= set(ILLNESSES)


def test_a_zip_has_the_digest_of_the_folder(project, out, tmp_path):
    folder = release(project, out)
    archive = release(project, tmp_path / "zipped", as_zip=True)
    assert archive.path.suffix == ".zip"
    assert archive.record.digest == folder.record.digest == digest_of_bundle(archive.path)
    assert [path.name for path in archive.path.parent.iterdir()] == [archive.path.name]
    with zipfile.ZipFile(archive.path) as opened:
        assert set(opened.namelist()) == set(archive.record.files)


def test_the_same_release_has_the_same_bytes_and_identifier(project, out, tmp_path):
    first = release(project, out)
    second = release(reopened(project), tmp_path / "again")
    assert first.record.release_id == second.record.release_id
    assert first.record.digest == second.record.digest
    for name in first.record.files:
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes()


def test_another_recipient_level_or_project_has_another_identifier(project, out, tmp_path):
    ids = {release(project, out, name).record.release_id for name in ("Clinic A", "Institute B")}
    raised = Recipient("Clinic A", {"illness": {"retention_probability": 0.61}})
    project.save_document(replace(document(), recipients=(raised,)))
    ids.add(release(project, out).record.release_id)
    (tmp_path / "other").mkdir()
    with new_project(tmp_path / "other") as other:
        ids.add(release(other, out).record.release_id)
    assert len(ids) == 4


def test_an_identifier_can_not_be_computed_from_the_table(project, out, tmp_path):
    """Two projects that differ in nothing but their secret: a guess can't be confirmed."""
    first = release(project, out).record.release_id
    (tmp_path / "other").mkdir()
    with new_project(tmp_path / "other") as other:
        other.project_id = project.project_id
        assert release(other, tmp_path / "there").record.release_id != first


def test_the_bundle_says_nothing_of_the_source_file(project, out):
    outcome = release(project, out)
    for name in outcome.record.files:
        content = (outcome.path / name).read_bytes()
        for secret in (b"ab" * 32, b"/data/ward.csv", project.secret.reveal(), b"P003"):
            assert secret not in content


def test_nothing_is_ever_overwritten(project, out):
    outcome = release(project, out)
    entries = kinds(project)
    with pytest.raises(TargetExists, match="never overwrites") as caught:
        release(project, out)
    assert "another folder" in caught.value.remedy
    assert kinds(project) == entries
    assert digest_of_bundle(outcome.path) == outcome.record.digest


def test_a_name_taken_at_the_last_moment_is_kept(project, out):
    def take_the_name(step):
        if step == "prepared":
            (target,) = (p for p in [Path(project.ledger.entries[-1].details["target"])])
            target.mkdir()
            (target / "precious").write_text("kept")

    with pytest.raises(TargetExists):
        release(project, out, at_step=take_the_name)
    assert kinds(project)[-1] == "release abandoned"
    assert [path.name for path in out.rglob("*") if path.is_file()] == ["precious"]
    assert project.releases[0].state is ReleaseState.ABANDONED


@pytest.mark.few(1)
@pytest.mark.parametrize("as_zip", [False, True])
def test_cancelling_leaves_nothing_behind_whenever_it_comes(project, out, as_zip):
    reports = []
    watching = Callback(lambda *report: reports.append(report), lambda: False)
    make_release(project, in_batches(table()), "Clinic A", out, "csv", watching, as_zip)
    with new_project_beside(project, "second") as second:
        for limit in range(len(reports)):
            seen = []
            stopping = Callback(
                lambda *report, seen=seen: seen.append(report),
                lambda seen=seen, limit=limit: len(seen) >= limit,
            )
            with pytest.raises(Cancelled):
                make_release(
                    second, in_batches(table()), "Clinic A", out / "b", "csv", stopping, as_zip
                )
            expect_nothing_left(second, out / "b")
    assert len(reports) >= 5


def new_project_beside(project, name):
    folder = project.path.parent / name
    folder.mkdir()
    return new_project(folder)


def test_progress_never_goes_back(project, out):
    fractions = []
    watching = Callback(lambda fraction, text: fractions.append(fraction), lambda: False)
    make_release(project, in_batches(table()), "Clinic A", out, "csv", watching)
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] <= fractions[-1] <= 1


def test_a_cancelled_release_takes_the_folder_it_made_away_again(project, tmp_path):
    (tmp_path / "mine").mkdir()
    out = tmp_path / "mine" / "new" / "deep"
    stopping = Callback(lambda *report: None, out.exists)
    with pytest.raises(Cancelled):
        make_release(project, in_batches(table()), "Clinic A", out, "csv", stopping)
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_folder_that_takes_no_file_is_named(project):
    with read_only_folder() as folder:
        with pytest.raises(CannotWrite, match="may not write"):
            release(project, folder)
        with pytest.raises(CannotWrite):
            release(project, folder / "inside")
        assert list(folder.iterdir()) == []
    expect_nothing_left(project, project.path.parent / "out")


def test_a_renaming_that_the_system_refuses_is_taken_back(project, out, monkeypatch):
    def refuse(staged, target):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(recovery, "move_without_overwriting", refuse)
    with pytest.raises(CannotWrite):
        release(project, out)
    assert kinds(project)[-2:] == ["release prepared", "release abandoned"]
    assert not out.exists()
    monkeypatch.undo()
    assert release(project, out).record.state is ReleaseState.COMPLETED


def test_a_failure_after_the_renaming_does_not_lose_the_release(project, out, monkeypatch):
    def rename_and_fail(staged, target):
        staged.rename(target)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(recovery, "move_without_overwriting", rename_and_fail)
    outcome = release(project, out)
    assert outcome.record.state is ReleaseState.COMPLETED
    assert digest_of_bundle(outcome.path) == outcome.record.digest


def test_an_unknown_recipient_is_named_with_those_that_exist(project, out):
    with pytest.raises(ReleaseError, match="Clinic Z") as caught:
        release(project, out, "Clinic Z")
    assert "Clinic A, Institute B" in caught.value.remedy
    expect_nothing_left(project, out)


def test_an_unknown_format_leaves_nothing_behind(project, out):
    with pytest.raises(UnknownFormat):
        make_release(project, in_batches(table()), "Clinic A", out, "docx", Silent())
    expect_nothing_left(project, out)


def test_a_project_open_for_reading_makes_no_release(project, out):
    with reopened(project, read_only=True) as reading, pytest.raises(ReadOnlyProject):
        release(reading, out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("", "Clinic-A"),
        ("../../etc: passwd?", "etc-passwd-Clinic-A"),
        ("Größe (2026)", "Größe-2026-Clinic-A"),
        ("x" * 300, "x" * 40 + "-Clinic-A"),
    ],
)
def test_the_name_of_a_bundle_is_fit_for_any_disk(project, out, title, name):
    project.save_document(replace(document(), title=title))
    outcome = release(project, out)
    assert outcome.path.name == f"{name}-{outcome.record.release_id[:8]}-csv"
    assert outcome.path.parent == out


def test_two_policy_entries_are_both_recorded(tmp_path, out):
    both = replace(
        document().with_column(ColumnSpec("sex", Role.SENSITIVE, domain=Domain(("f", "m")))),
        policy=(PolicyEntry(("sex",), "uniform"), PolicyEntry(("illness",), "uniform")),
        recipients=(
            Recipient(
                "Clinic A",
                {"sex": {"retention_probability": 0.5}, "illness": {"epsilon": 1.0}},
            ),
        ),
    )
    with new_project(tmp_path, both) as project:
        record = release(project, out).record
    assert [plan.key for plan in record.plans] == ["sex", "illness"]
    assert record.open_columns == ()
    assert set(record.domains) == {"sex", "illness"}


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_release_waits_for_another_and_can_be_cancelled_meanwhile(project, out):
    reports = []
    stopping = Callback(lambda *report: reports.append(report), lambda: bool(reports))
    with project.releasing, pytest.raises(Cancelled):
        make_release(project, in_batches(table()), "Clinic A", out, "csv", stopping)
    assert reports == [(0.0, "Waiting for another release")]
    expect_nothing_left(project, out)
    assert release(project, out).record.state is ReleaseState.COMPLETED


def test_releases_at_several_levels_sit_on_one_ladder(project, out):
    release(project, out, "Clinic A")
    release(project, out, "Institute B")
    ladders = {plan.ladder for record in project.releases for plan in record.plans}
    assert len(ladders) == 1


def with_domain(*values):
    spec = ColumnSpec("illness", Role.SENSITIVE, domain=Domain(values))
    return document().with_column(spec)


def test_a_domain_that_changed_since_a_release_is_refused(project, out):
    release(project, out)
    project.save_document(with_domain(*ILLNESSES, "measles"))
    with pytest.raises(LadderError, match="its domain changed") as caught:
        release(project, out, "Institute B")
    assert "Clinic A" in str(caught.value)
    assert "2026-11-20" in str(caught.value)
    assert "Restore it" in caught.value.remedy
    project.save_document(document())
    assert release(project, out, "Institute B").record.state is ReleaseState.COMPLETED


def test_an_abandoned_release_binds_nobody(project, out, monkeypatch):
    def refuse(staged, target):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(recovery, "move_without_overwriting", refuse)
        with pytest.raises(CannotWrite):
            release(project, out)
    project.save_document(with_domain(*ILLNESSES, "measles"))
    assert release(project, out).record.state is ReleaseState.COMPLETED


def other_source(base):
    return replace(base, source=replace(base.source, digest="cd" * 32))


def test_records_told_apart_by_position_need_the_table_of_the_first_release(project, out):
    release(project, out)
    project.save_document(other_source(document()))
    with pytest.raises(SourceChanged, match="position") as caught:
        release(project, out, "Institute B")
    assert "record-key" in caught.value.remedy


def test_another_sheet_of_the_same_file_is_another_table(project, out):
    release(project, out)
    source = replace(document().source, options={"sheet": "Second"})
    project.save_document(replace(document(), source=source))
    with pytest.raises(SourceChanged):
        release(project, out, "Institute B")


def test_records_told_apart_by_a_key_may_come_in_a_new_edition(tmp_path, out):
    keyed = document(record_key="person")
    with new_project(tmp_path, keyed) as project:
        first = in_table_order(project, release(project, out).path, table())
        turned = Table(table().frame.iloc[::-1].reset_index(drop=True))
        project.save_document(other_source(keyed))
        second = in_table_order(project, release(project, out, given=turned).path, turned)
    assert second["illness"].tolist() == first["illness"].tolist()[::-1]


def test_a_repeated_record_key_stops_the_release(tmp_path, out):
    twice = table()
    frame = twice.frame.assign(person=["P"] * 12)
    with new_project(tmp_path, document(record_key="person")) as project:
        with pytest.raises(TableError, match="person"):
            release(project, out, given=Table(frame))
        assert project.releases == ()
    assert not out.exists()


def test_a_column_that_was_perturbed_is_not_shown_later(project, out):
    release(project, out)
    shown = document().with_column(ColumnSpec("illness", Role.INSENSITIVE))
    shown = replace(shown, policy=(), recipients=(Recipient("Clinic A"),))
    project.save_document(shown)
    with pytest.raises(LadderError, match="illness was perturbed for Clinic A") as caught:
        release(project, out)
    assert "reason" in caught.value.remedy


def test_a_column_that_was_shown_is_not_said_to_be_hidden_later(tmp_path, out):
    shown = document().with_column(ColumnSpec("illness", Role.INSENSITIVE))
    with new_project(tmp_path, replace(shown, policy=())) as project:
        release(project, out)
        project.save_document(document())
        with pytest.raises(LadderError, match="hides nothing"):
            release(project, out)


def test_the_ledger_keeps_the_reason_of_an_override(tmp_path, out):
    shown = document().with_column(ColumnSpec("illness", Role.INSENSITIVE))
    with new_project(tmp_path, replace(shown, policy=())) as project:
        release(project, out)
        project.save_document(document())
        release(project, out, override=" the board agreed ")
        entry = project.ledger.entries[-3]
    assert entry.kind == "override"
    assert entry.details["reason"] == "the board agreed"
    assert list(entry.details["overridden"]) == ["illness"]
