"""Sound bundles held against their project, and what about the project can be off."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Callback
from sfumato.engine.table.table import Table
from sfumato.project.document.model import TableSource
from sfumato.project.ledger import ReleaseRecord, ReleaseState
from sfumato.project.project_file import ProjectFile
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.project.making import PASSPHRASE, noon
from tests.project.verifying import (
    ILLNESSES,
    ROWS,
    a_document,
    a_table,
    failed,
    new_project,
    release,
    verify,
)


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as made:
        yield made


@pytest.mark.turns(4)
@pytest.mark.few(2)
@pytest.mark.parametrize("format_name", ["csv", "parquet", "sav", "dta"])
@pytest.mark.parametrize("as_zip", [False, True])
def test_a_sound_release_holds_in_every_format(project, tmp_path, format_name, as_zip):
    path = release(project, tmp_path / "out", format_name=format_name, as_zip=as_zip)
    report = verify(project, path)
    assert failed(report) == {}
    assert report.holds
    assert report.recipient == "Clinic A"
    assert report.release == project.releases[0]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_every_part_of_the_promise_is_examined(project, tmp_path):
    path = release(project, tmp_path / "out")
    release(project, tmp_path / "out", "Institute B")
    release(project, tmp_path / "out", "Public C")
    release(project, tmp_path / "out", "Clinic D")
    report = verify(project, path)
    assert report.holds
    found = {check.title: check.finding for check in report.checks}
    assert list(found)[:8] == [
        "Files",
        "Ledger",
        "Source table",
        "Records",
        "Columns",
        "Identifying columns",
        "Unperturbed columns",
        "illness: ladder",
    ]
    assert "to Clinic A, recorded on 2026-11-20" in found["Ledger"]
    assert found["Records"] == "It has all 900 records of the source table."
    assert found["Columns"] == "It has the 5 columns that were released."
    assert found["Identifying columns"] == "The identifying column is not in it."
    assert found["Unperturbed columns"] == "All 3 are as in the source table."
    assert found["illness: values"] == "All 900 are those that the key gives."
    assert "illness: Retained values" in found
    assert "illness beside Institute B: Retained values" in found
    assert "illness beside Public C: Spread of released values" in found
    assert not any("beside Clinic D" in title for title in found), "the same level, the same values"
    assert "work beside others" in found


@pytest.mark.slow
@pytest.mark.turns(1)
def test_every_release_of_a_project_holds_beside_the_others(project, tmp_path):
    names = ("Public C", "Clinic A", "Institute B", "Clinic D")
    paths = [release(project, tmp_path / "out", name) for name in names]
    for path, name in zip(paths, names, strict=True):
        report = verify(project, path)
        assert failed(report) == {}
        assert report.recipient == name


def test_an_unpacked_zip_is_known(project, tmp_path):
    path = release(project, tmp_path / "out", as_zip=True)
    shutil.unpack_archive(path, tmp_path / "unpacked")
    assert verify(project, tmp_path / "unpacked").holds


def test_a_project_that_is_open_for_reading_verifies(project, tmp_path):
    path = release(project, tmp_path / "out")
    project.close()
    with ProjectFile.open(project.path, PASSPHRASE, read_only=True, clock=noon) as again:
        assert verify(again, path).holds


def test_what_is_no_bundle_is_told(project, tmp_path):
    report = verify(project, tmp_path)
    assert not report.holds
    assert report.release is None
    assert "is not a bundle" in failed(report)["Files"]


def test_a_release_that_only_a_copy_of_the_project_made_is_traced_by_the_key(project, tmp_path):
    project.close()
    shutil.copy(project.path, tmp_path / "copy.sfumato")
    with ProjectFile.open(tmp_path / "copy.sfumato", PASSPHRASE, clock=noon) as copy:
        path = release(copy, tmp_path / "out", "Institute B")
    with ProjectFile.open(project.path, PASSPHRASE, read_only=True, clock=noon) as again:
        report = verify(again, path)
    found = failed(report)
    assert set(found) == {"Ledger"}
    assert "those that Institute B would get" in found["Ledger"]
    assert report.recipient == "Institute B"


def test_a_changed_domain_is_told_where_the_ledger_keeps_no_policy(project, tmp_path, monkeypatch):
    path = release(project, tmp_path / "out")
    monkeypatch.setattr(ReleaseRecord, "policy", None)
    wider = ColumnSpec("illness", Role.SENSITIVE, domain=Domain((*ILLNESSES, "measles")))
    project.save_document(project.document.with_column(wider))
    found = failed(verify(project, path))
    assert set(found) == {"illness: ladder"}
    assert "not what they were" in found["illness: ladder"]


def test_a_changed_source_table_is_told(project, tmp_path):
    path = release(project, tmp_path / "out")
    frame = a_table().frame.copy()
    frame.loc[4, "illness"] = next(name for name in ILLNESSES if name != frame.loc[4, "illness"])
    changed = replace(project.document, source=TableSource("/data/ward.csv", "cd" * 32, ROWS))
    project.save_document(changed)
    report = verify(project, path, Table(frame))
    assert report.only_table_differs
    assert not report.holds, "what was not compared is not verified"
    found = failed(report)
    assert set(found) == {"Source table"}, "an unaltered bundle is not said to be unsound"
    assert "changed since the release was made" in found["Source table"]
    assert "are those that were released" in found["Source table"]


def test_an_altered_bundle_is_told_beside_a_changed_source_table_too(project, tmp_path):
    path = release(project, tmp_path / "out")
    lines = (path / "data.csv").read_text("utf-8").splitlines(keepends=True)
    (path / "data.csv").write_text("".join([lines[0], *lines[2:], lines[2]]), "utf-8")
    changed = replace(project.document, source=TableSource("/data/ward.csv", "cd" * 32, ROWS))
    project.save_document(changed)
    report = verify(project, path)
    assert not report.only_table_differs
    assert {"Files", "Ledger", "Source table"} < set(failed(report))
    assert "illness: values" in failed(report)


def test_a_file_that_was_added_is_no_matter_of_a_changed_source_table(project, tmp_path):
    path = release(project, tmp_path / "out")
    (path / "originals.csv").write_text("illness\n", "utf-8")
    changed = replace(project.document, source=TableSource("/data/ward.csv", "cd" * 32, ROWS))
    project.save_document(changed)
    report = verify(project, path)
    assert set(failed(report)) == {"Added files", "Source table"}
    assert not report.only_table_differs


def test_a_bundle_of_the_table_as_it_is_holds_or_fails(project, tmp_path):
    path = release(project, tmp_path / "out")
    frame = a_table().frame.copy()
    frame["illness"] = frame["illness"].sample(frac=1.0, random_state=1).to_numpy()
    assert not verify(project, path).only_table_differs
    report = verify(project, path, Table(frame))
    assert failed(report), "its rows are not those of the table that the project names"
    assert not report.only_table_differs


def test_a_shorter_source_table_is_told(project, tmp_path):
    path = release(project, tmp_path / "out")
    found = failed(verify(project, path, a_table(850)))
    assert "It has 850 records, but the release was made from 900" in found["Source table"]
    assert set(found) == {"Source table"}


def test_a_release_that_was_abandoned_is_told(project, tmp_path, monkeypatch):
    path = release(project, tmp_path / "out")
    (abandoned,) = project.releases
    monkeypatch.setattr(
        ProjectFile,
        "releases",
        property(lambda self: (replace(abandoned, state=ReleaseState.ABANDONED),)),
    )
    found = failed(verify(project, path))
    assert "which was abandoned" in found["Ledger"]


def test_a_release_on_another_ladder_is_told(project, tmp_path, monkeypatch):
    path = release(project, tmp_path / "out")
    (mine,) = project.releases
    strange = tuple(replace(plan, ladder="00" * 32) for plan in mine.plans)
    other = replace(mine, recipient="Stranger", plans=strange, digest="1", release_id="1")
    monkeypatch.setattr(ProjectFile, "releases", property(lambda self: (mine, other)))
    found = failed(verify(project, path))
    assert set(found) == {"illness beside Stranger", "work beside Stranger"}
    assert "on another ladder" in found["illness beside Stranger"]


def test_records_that_are_told_apart_by_a_key_verify(tmp_path):
    with new_project(tmp_path, a_document(record_key="person")) as keyed:
        path = release(keyed, tmp_path / "out")
        release(keyed, tmp_path / "out", "Institute B")
        assert verify(keyed, path).holds


@pytest.mark.slow
def test_a_numeric_source_in_decimals_of_any_precision_verifies(tmp_path):
    table = a_table()
    frame = table.frame.assign(income=(np.arange(ROWS) / 7).astype(np.float32))
    with new_project(tmp_path) as made:
        for format_name in ("csv", "parquet", "sav", "dta"):
            path = release(made, tmp_path / "out", "Clinic A", format_name, Table(frame))
            assert failed(verify(made, path, Table(frame))) == {}


def test_verifying_writes_nothing(project, tmp_path):
    path = release(project, tmp_path / "out")
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    entries = project.ledger.entries
    verify(project, path)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before
    assert project.ledger.entries == entries


def test_verifying_can_be_cancelled(project, tmp_path):
    path = release(project, tmp_path / "out")
    seen = []
    context = Callback(lambda fraction, text: seen.append(text), lambda: len(seen) > 5)
    with pytest.raises(Cancelled):
        verify_bundle(project, in_batches(a_table()), path, context)


def test_progress_goes_from_start_to_end(project, tmp_path):
    path = release(project, tmp_path / "out")
    seen: list[float] = []
    context = Callback(lambda fraction, text: seen.append(fraction), lambda: False)
    verify_bundle(project, in_batches(a_table()), path, context)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
