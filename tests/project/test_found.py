"""Whatever a person has of a release is recognised: bundle, lone file, zipped or altered."""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import replace

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.bundles.packages import bundle_at
from sfumato.formats.errors import FileError
from sfumato.project.ledger import ReleaseState
from sfumato.project.verification.found import find_file, verify_file
from sfumato.project.verification.leak import read_leak, trace_file
from tests.in_batches import in_batches
from tests.project.verifying import SECRETS, a_table, edit, failed, new_project, release


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as made:
        yield made


@pytest.fixture
def bundle(project, tmp_path):
    release(project, tmp_path / "out", "Institute B")
    return release(project, tmp_path / "out")


@pytest.fixture
def lone(bundle, tmp_path):
    """The data file of a release, renamed, far from the rest of its bundle."""
    found = tmp_path / "elsewhere" / "from the web.csv"
    found.parent.mkdir()
    return shutil.copy(bundle / "data.csv", found)


def zipped(path, *files):
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            archive.write(file, file.name)
    return path


def verify(project, path):
    report = verify_file(project, in_batches(a_table()), path, Silent())
    assert not [c for c in report.checks if any(secret in c.finding for secret in SECRETS)]
    return report


def test_a_bundle_is_known_by_itself_and_by_each_of_its_files(bundle, tmp_path):
    for path in (bundle, bundle / "datapackage.json", bundle / "data.csv", bundle / "README.md"):
        assert bundle_at(path) == bundle
    packed = zipped(tmp_path / "b.zip", *bundle.iterdir())
    assert bundle_at(packed) == packed


def test_what_only_lies_beside_a_bundle_is_none_of_it(bundle, tmp_path):
    beside = bundle / "notes.csv"
    beside.write_text("a\n1\n", encoding="utf-8")
    assert bundle_at(beside) is None
    assert bundle_at(tmp_path) is None
    assert bundle_at(tmp_path / "nothing") is None
    assert bundle_at(zipped(tmp_path / "n.zip", beside)) is None


@pytest.mark.few(1)
@pytest.mark.parametrize("part", ["data.csv", "datapackage.json", "README.md"])
def test_a_bundle_is_verified_whole_by_any_of_its_files(project, bundle, part):
    report = verify(project, bundle / part)
    assert report.holds
    assert report.whole
    assert len(report.checks) > 5


def test_a_lone_file_is_recognised_by_its_bytes(project, lone):
    report = verify(project, lone)
    assert report.holds
    assert not report.whole
    assert report.recipient == "Clinic A"
    assert report.release == project.releases[-1]
    assert "data.csv of the release" in report.checks[0].finding


def test_a_lone_file_in_a_zip_is_recognised(project, lone, tmp_path):
    assert verify(project, zipped(tmp_path / "found.zip", lone)).recipient == "Clinic A"


def test_a_lone_file_that_was_changed_is_no_released_file(project, lone):
    lone.write_bytes(lone.read_bytes() + b"\r\n")
    report = verify(project, lone)
    assert not report.holds
    assert report.release is None
    assert "Trace it" in failed(report)["Files"]


def test_a_release_that_was_abandoned_is_told(project, lone, monkeypatch):
    abandoned = [replace(r, state=ReleaseState.ABANDONED) for r in project.releases]
    monkeypatch.setattr(type(project), "releases", abandoned)
    assert "abandoned" in failed(verify(project, lone))["Ledger"]


def test_an_altered_bundle_is_told_by_any_of_its_files(project, bundle):
    edit(bundle, lambda rows: rows[1:])
    assert (
        "not as datapackage.json states"
        in failed(verify(project, bundle / "data.csv"))["Files"].lower()
    )


def test_a_zip_without_one_table_says_what_to_do(project, bundle, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a\n1\n", encoding="utf-8")
    two = zipped(tmp_path / "two.zip", other, bundle / "data.csv")
    none = zipped(tmp_path / "empty.zip", bundle / "README.md")
    for path, count in ((two, "2 tables"), (none, "0 tables")):
        with pytest.raises(FileError, match=count) as refusal:
            find_file(path, project.releases, Silent())
        assert "unpack the table" in str(refusal.value)
        assert count in failed(verify(project, path))["Files"]


def test_a_damaged_zip_is_told(project, tmp_path):
    path = tmp_path / "cut.zip"
    path.write_bytes(b"PK\x03\x04 and no more")
    assert "Files" in failed(verify(project, path))


def test_a_zipped_part_of_a_release_is_traced(project, lone, tmp_path):
    lines = lone.read_bytes().splitlines(keepends=True)
    lone.write_bytes(b"".join([lines[0], *lines[400:150:-1]]))
    leak = read_leak(zipped(tmp_path / "found.zip", lone), Silent())
    report = trace_file(project, in_batches(a_table()), leak, Silent())
    (source,) = report.traced.sources
    assert "Clinic A" in report.name_of(source)
