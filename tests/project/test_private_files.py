"""What is written for others stays the custodian's own until it is shared."""

from __future__ import annotations

import os
import stat

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.project.publication.publish import publish_table
from sfumato.report.blocks import Report
from sfumato.report.writing import write_report
from tests.in_batches import in_batches
from tests.project.test_generalizing import decided
from tests.project.verifying import a_table, new_project, release

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions as on POSIX")


@pytest.fixture(autouse=True)
def open_to_everybody():
    """Where the system lets everybody read what one writes."""
    before = os.umask(0o000)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("format_name", ["csv", "parquet", "sav", "dta"])
def test_nobody_else_can_read_a_bundle_before_it_is_shared(tmp_path, format_name):
    with new_project(tmp_path) as project:
        path = release(project, tmp_path / "a" / "b", format_name=format_name)
    assert {mode(file) for file in path.iterdir()} == {0o600}
    assert {mode(folder) for folder in (path, path.parent, path.parent.parent)} == {0o700}


def test_nobody_else_can_read_a_zip_or_a_published_table(tmp_path):
    with new_project(tmp_path) as project:
        path = release(project, tmp_path / "out", as_zip=True)
        assert mode(path) == 0o600
    with new_project(tmp_path, decided(), "published") as project:
        path = publish_table(project, in_batches(a_table()), tmp_path / "out", "csv", Silent()).path
    assert {mode(file) for file in path.iterdir()} == {0o600}
    assert mode(path) == 0o700


def test_nobody_else_can_read_a_report(tmp_path):
    path = tmp_path / "report.html"
    path.touch(mode=0o666)
    write_report(Report("Ward 7", "", "", (), ""), [], path)
    assert mode(path) == 0o600
