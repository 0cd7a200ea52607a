"""Releases made by Spark are the local ones, and no key is anywhere on the way."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import find_spec

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cluster.sent import OF_UNITS, QUASI, STRICT, drive, facts_by_hand, send

pytestmark = [
    pytest.mark.slow,
    pytest.mark.queued,
    pytest.mark.skipif(
        find_spec("pyspark") is None or shutil.which("java") is None,
        reason="Spark needs pyspark and Java",
    ),
]


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    """What is sent: a table with a plan, and others in folders of it."""
    folder = tmp_path_factory.mktemp("spark")
    for name in ("strict", "units", "groups"):
        (folder / name).mkdir()
    return {
        ".": send(folder),
        "strict": send(folder / "strict", STRICT),
        "units": send(folder / "units", OF_UNITS, of_houses=True, placed=True),
        "groups": send(folder / "groups", grouped=True),
    }


@pytest.fixture(scope="module")
def ran(sent):
    """The folder after Spark has worked in it, once for all tests."""
    folder = sent["."].folder
    drive("spark_driver", folder, PYSPARK_PYTHON=sys.executable)
    return folder


def shown(sent, content):
    """In which forms a key of any plan stands in some bytes."""
    return [form for each in sent.values() for form in each.shown(content)]


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("whole", "."),
        ("killed", "."),
        ("texts", "."),
        *((name, name) for name in ("strict", "units", "groups")),
    ],
)
def test_spark_makes_the_release_that_is_made_here(sent, ran, name, of):
    made = pa.parquet.read_table(ran / f"{name}.parquet")
    assert sent[of].as_released(made).equals(sent[of].released)


def test_spark_counts_classes_as_they_are_counted_by_hand(sent, ran):
    found = json.loads((ran / "facts.json").read_text())
    expected = facts_by_hand(sent["."].table.to_pandas(), ["age", "zip"], "illness")
    assert found.pop("") == pytest.approx(expected)
    assert "illness" in found
    for name, facts in found.items():
        assert facts == pytest.approx(facts_by_hand(sent["units"].classes, QUASI, name))


def test_workers_were_killed_midway(ran):
    assert (ran / "read-2").exists()
    assert (ran / "groups-5").exists()


def test_no_key_is_in_an_event_log_a_plan_or_a_file_of_spark(sent, ran):
    events = b"".join(path.read_bytes() for path in (ran / "events").rglob("*") if path.is_file())
    assert b"SparkListener" in events
    assert shown(sent, events) == []
    for name in ("said.txt", "explained.txt", "scratch.bin", "row.txt", "keys.txt", "groups.txt"):
        assert shown(sent, (ran / name).read_bytes()) == [], name


def test_what_does_not_fit_is_said_by_name_and_without_a_value(ran):
    assert "Column illness has values outside its domain" in (ran / "row.txt").read_text()
    assert "person is not unique: 2 keys" in (ran / "keys.txt").read_text()
    assert (ran / "columns.txt").read_text().startswith("TableError: The table has no column zip")
    assert "has 1, and k is 4" in (ran / "class.txt").read_text()
    assert (
        "illness is released by groups of records, and these are not"
        in (ran / "groups.txt").read_text()
    )
    for name in ("row.txt", "keys.txt", "said.txt"):
        assert "Secret" not in (ran / name).read_text(errors="replace")
