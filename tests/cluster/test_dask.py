"""Releases made by Dask are the local ones, and no key is anywhere on the way."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.project.release.engine import LocalRows, class_facts
from sfumato.project.release.workers import KeySource
from tests.cluster.sent import DEATHS, OF_UNITS, drive, facts_by_hand, send
from tests.late import LateModule
from tests.thorough import tried

dask = LateModule("dask")
dd = LateModule("dask.dataframe")
adapter = LateModule("sfumato.dask")


def in_folder(sent):
    return KeySource.in_file(sent.folder / "keys.bin")


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    return send(tmp_path_factory.mktemp("dask"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What was sent in a folder in which a cluster with two worker processes has worked."""
    folder = tmp_path_factory.mktemp("cluster")
    for name in ("plain", "groups", "units"):
        (folder / name).mkdir()
    found = {
        "plain": send(folder / "plain"),
        "groups": send(folder / "groups", grouped=True),
        "units": send(folder / "units", OF_UNITS, of_houses=True, placed=True),
    }
    drive("dask_driver", folder)
    return found


def release(frame, plan, source):
    with dask.config.set(scheduler="sync"):
        made = adapter.release(frame, plan, source).compute()
    return pa.Table.from_pandas(made, preserve_index=False)


def cut(table, cuts):
    """A frame of Dask's of a table that is cut in some places, with a partition of no rows."""
    frame = table.to_pandas()
    parts = [frame.iloc[one:other] for one, other in pairwise(sorted({0, len(frame), *cuts}))]
    parts.append(frame.iloc[:0])
    return dd.from_map(lambda part: parts[part], range(len(parts)), meta=frame.iloc[:0])


CUTS = st.lists(st.integers(0, 300), min_size=1, max_size=4)


@pytest.mark.slow
@pytest.mark.turns(1)
@settings(max_examples=tried(6, least=3))
@given(CUTS)
def test_any_partitions_give_the_release_that_is_made_here(sent, cuts):
    made = release(cut(sent.table, cuts), sent.plan, in_folder(sent))
    assert sent.as_released(made).equals(sent.released)


@pytest.mark.slow
@pytest.mark.queued
@pytest.mark.parametrize("name", ["plain", "groups", "units"])
def test_a_cluster_makes_the_same_release_though_a_worker_is_killed_midway(ran, name):
    sent = ran[name]
    assert list(sent.folder.glob(f"read-{DEATHS[name]}")), "no worker died"
    made = pa.parquet.read_table(sent.folder / "killed.parquet")
    assert sent.as_released(made).equals(sent.released)


@pytest.mark.slow
@pytest.mark.queued
@pytest.mark.parametrize("name", ["plain", "groups", "units"])
def test_no_key_is_in_a_graph_a_log_or_a_file_of_the_cluster(ran, name):
    sent = ran[name]
    assert sent.shown((sent.folder / "keys.bin").read_bytes()), "keys would not be found"
    for place in ("../scratch.bin", "../logs.txt", "../said.txt"):
        assert sent.shown((sent.folder / place).read_bytes()) == [], place
    for place in ("graphs.bin", "error.txt", "plan.json"):
        assert sent.shown((sent.folder / place).read_bytes()) == [], place
    assert (sent.folder / "graphs.bin").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.queued
def test_a_row_that_does_not_fit_is_said_by_name_and_without_its_value(ran):
    folder = ran["plain"].folder
    said = (folder / "error.txt").read_text()
    assert said.startswith("TableError: Column illness has values outside its domain")
    assert "in each part of the table" in said
    for name in ("error.txt", "../logs.txt", "../said.txt"):
        assert "Secret" not in (folder / name).read_text()


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_a_frame_of_texts_that_dask_read_from_csv_is_released_as_the_plan_reads_it(sent, tmp_path):
    sent.table.to_pandas().to_csv(tmp_path / "table.csv", index=False)
    texts = {"dtype": "str", "keep_default_na": False, "na_values": [""]}
    table = dd.read_csv(tmp_path / "table.csv", blocksize=8000, **texts)
    assert table.npartitions > 2
    assert sent.as_released(release(table, sent.plan, in_folder(sent))).equals(sent.released)


@pytest.mark.slow
@settings(max_examples=tried(10, least=3))
@given(
    st.lists(
        st.tuples(
            st.sampled_from([1, 2, None]), st.sampled_from("ab"), st.sampled_from(["x", "y", None])
        ),
        min_size=1,
        max_size=20,
    )
)
def test_classes_tell_k_unique_records_and_diversity_as_counted_by_hand(rows):
    frame = pd.DataFrame(rows, columns=["rows", "zip", "ill ness"])
    frame = frame.astype({"rows": "Int64", "zip": "str", "ill ness": "str"})
    table, columns = dd.from_pandas(frame, npartitions=3), ["rows", "zip"]
    expected = facts_by_hand(frame, columns, "ill ness")
    with dask.config.set(scheduler="sync"):
        found = adapter.class_facts(table, columns, "ill ness")
        plain = adapter.class_facts(table, columns)
    here = LocalRows.of(pa.Table.from_pandas(frame, preserve_index=False))
    assert asdict(found) == pytest.approx(expected)
    assert asdict(class_facts(here, columns, "ill ness")) == pytest.approx(expected)
    assert class_facts(here, columns) == plain
    assert asdict(plain) == {
        name: expected[name] if name in ("rows", "classes", "smallest", "unique") else None
        for name in expected
    }
