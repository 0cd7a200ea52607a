"""What a check found in rows is remembered until something changes, and only then used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.analysis.findings import RemedyKind
from sfumato.analysis.readiness import readiness
from sfumato.analysis.readiness.readiness import checked_rows, settle
from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Silent
from sfumato.project.release.release import make_release
from sfumato.project.store import remembered
from sfumato.project.verification.found import verify_file
from tests.in_batches import in_batches
from tests.project import test_long_release
from tests.project.batched import with_few_columns
from tests.project.test_long_release import (
    VIEWS,
    bundle,
    frame_of,
    long_of,
    seen_coarsely,
    whole_of,
)

ward, small_parts = test_long_release.ward, test_long_release.small_parts

REASON = "Nobody is in it."


@pytest.fixture
def looked(monkeypatch):
    """How often rows were looked through."""
    times = []
    look = readiness.looked_at

    def looking(*given):
        times.append(given)
        return look(*given)

    monkeypatch.setattr(readiness, "looked_at", looking)
    return times


def check(project, table):
    return checked_rows(
        project.document, in_batches(table(project)), project.keys, project.remembered, Silent()
    )


def settled(project, table):
    return settle(project, in_batches(table(project)), ["Clinic A"], REASON, Silent())


@pytest.mark.few(1)
@pytest.mark.parametrize("table", [whole_of, long_of])
@pytest.mark.parametrize("view", [None, "a chain"])
def test_the_same_rows_are_looked_through_once(ward, looked, table, view):
    rules = () if view is None else VIEWS[view]

    def change(document):
        return with_few_columns(seen_coarsely(*rules)(document) if rules else document)

    with ward(frame_of(), change) as project:
        first = settled(project, table)
        assert settled(project, table) == first
        project.save_document(replace(project.document, title="Another title", accepted={}))
        again = settled(project, table)
    assert again == first
    assert len(looked) == 1


@pytest.mark.slow
def test_releases_after_a_remembered_check_have_the_same_bytes(ward, tmp_path):
    with ward(frame_of()) as project:
        settled(project, long_of)
        wanted, _ = bundle(project, long_of(project), tmp_path / "first", "parquet")
        table = long_of(project)
        settle(project, in_batches(table), ["Clinic A"], REASON, Silent())
        found, _ = bundle(project, table, tmp_path / "second", "parquet")
        assert not table._known
    assert found == wanted


@pytest.mark.slow
def test_what_was_released_since_is_seen_beside_remembered_rows(ward, tmp_path, looked):
    with ward(frame_of()) as project:
        settled(project, long_of)
        bundle(project, long_of(project), tmp_path / "made", "parquet")
        rows, record = check(project, long_of), project.releases[0]
        told = [
            rows.readiness(releases, {})[0].findings
            for releases in ([], [record], [replace(record, open_columns=("illness",))])
        ]
    assert len(looked) == 1
    assert [one.key for one in told[0]] == [one.key for one in told[1]]
    other = [{one.deed for each in found for one in each.remedies} for found in told[:2]]
    assert other[0] - other[1] == {RemedyKind.MECHANISM}  # what was released stays on its ladder
    [more] = [one for one in told[2] if one not in told[1]]
    assert (more.check, more.columns) == ("Released before", ("illness",))


@pytest.mark.slow
def test_another_document_is_looked_through_anew(ward, looked):
    with ward(frame_of(), with_few_columns) as project:
        settled(project, long_of)
        spec = replace(project.document.column("note"), role=Role.IDENTIFYING)
        project.save_document(project.document.with_column(spec))
        settled(project, long_of)
    assert len(looked) == 2


@pytest.mark.slow
def test_a_bundle_is_verified_by_the_remembered_summary(ward, tmp_path):
    with ward(frame_of(), with_few_columns) as project:
        settled(project, long_of)
        made = make_release(
            project, long_of(project), "Clinic A", tmp_path / "made", "csv", Silent()
        )
        table = long_of(project)
        report = verify_file(project, in_batches(table), made.path, Silent())
        assert report.holds
        assert not table._known


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["a bit", "cut off", "another program", "removed", "of another"])
def test_what_was_changed_counts_as_none(ward, looked, monkeypatch, harm):
    with ward(frame_of(), with_few_columns) as project:
        first = settled(project, long_of)
        path = project.remembered.path("check")
        content = bytearray(path.read_bytes())
        if harm == "a bit":
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
        elif harm == "cut off":
            path.write_bytes(content[:5])
        elif harm == "removed":
            path.unlink()
        elif harm == "of another":
            path.write_bytes(remembered.AESGCM(bytes(32)).encrypt(bytes(12), b"", b""))
        else:
            monkeypatch.setattr(remembered, "_program", lambda: "later")
        assert settled(project, long_of) == first
    assert len(looked) == 2


def test_another_version_of_a_library_is_another_program(monkeypatch):
    before = remembered._program.__wrapped__()
    assert remembered._program.__wrapped__() == before
    monkeypatch.setattr(remembered.pd, "__version__", "99.0")
    assert remembered._program.__wrapped__() != before


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_is_remembered_tells_nothing_without_the_passphrase(ward):
    frame = frame_of()
    with ward(frame, with_few_columns) as project:
        settled(project, long_of)
        content = project.remembered.path("check").read_bytes()
        assert project.path.stem not in project.remembered.path("check").name
    assert len(content) > 1000
    for text in (b"Clinic", b"severity", b"plain", *map(str.encode, frame["severity"].unique())):
        assert text not in content


@pytest.mark.slow
def test_without_a_state_folder_nothing_is_remembered(ward, looked, monkeypatch):
    monkeypatch.setattr(remembered, "state_folder", lambda: None)
    with ward(frame_of(), with_few_columns) as project:
        assert settled(project, long_of) == settled(project, long_of)
    assert len(looked) == 2
