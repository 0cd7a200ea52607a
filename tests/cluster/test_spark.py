"""Releases made by Spark are the local ones, and no key is anywhere on the way."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import find_spec

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cluster.sent import STRICT, drive, facts_by_hand, send

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(
        find_spec("pyspark") is None or shutil.which("java") is None,
        reason="Spark needs pyspark and Java",
    ),
]


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    (folder / "strict").mkdir()
    return send(folder)


@pytest.fixture(scope="module")
def strict(sent):
    """The same table with a k above 1."""
    return send(sent.folder / "strict", STRICT)


@pytest.fixture(scope="module")
def units(sent):
    """A table whose rows belong to units."""
    (sent.folder / "units").mkdir()
    return send(sent.folder / "units", None, of_houses=True)


@pytest.fixture(scope="module")
def ran(sent, strict, units):
    """The folder after Spark has worked in it, once for all tests."""
    assert strict.folder.parent == units.folder.parent == sent.folder
    drive("spark_driver", sent.folder, PYSPARK_PYTHON=sys.executable)
    return sent.folder


@pytest.mark.parametrize("name", ["whole", "killed"])
def test_spark_makes_the_release_that_is_made_here(sent, ran, name):
    made = pa.parquet.read_table(ran / f"{name}.parquet")
    assert sent.as_released(made).equals(sent.released)


def test_spark_suppresses_the_rows_that_are_suppressed_here(strict, ran):
    made = pa.parquet.read_table(ran / "strict.parquet")
    assert strict.as_released(made).equals(strict.released)
    assert "has 1, and k is 4" in (ran / "class.txt").read_text()


def test_spark_holds_back_the_rows_of_units_that_are_held_back_here(units, ran):
    made = pa.parquet.read_table(ran / "units.parquet")
    assert units.as_released(made).equals(units.released)


def test_spark_counts_classes_as_they_are_counted_by_hand(sent, ran):
    found = json.loads((ran / "facts.json").read_text())
    expected = facts_by_hand(sent.table.to_pandas(), ["age", "zip"], "illness")
    assert found == pytest.approx(expected)


def test_a_worker_was_killed_midway(ran):
    assert (ran / "read-2").exists()


def test_no_key_is_in_an_event_log_a_plan_or_a_file_of_spark(sent, units, ran):
    events = b"".join(path.read_bytes() for path in (ran / "events").rglob("*") if path.is_file())
    assert b"SparkListener" in events
    assert sent.shown(events) == units.shown(events) == []
    for name in ("said.txt", "explained.txt", "scratch.bin", "row.txt", "keys.txt"):
        content = (ran / name).read_bytes()
        assert sent.shown(content) == units.shown(content) == [], name


def test_what_does_not_fit_is_said_by_name_and_without_a_value(ran):
    assert "Column illness has values outside its domain" in (ran / "row.txt").read_text()
    assert "person is not unique: 2 keys" in (ran / "keys.txt").read_text()
    assert (ran / "columns.txt").read_text().startswith("TableError: The table has no column zip")
    for name in ("row.txt", "keys.txt", "said.txt"):
        assert "Secret" not in (ran / name).read_text(errors="replace")
