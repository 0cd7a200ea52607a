"""Releases made by Dask are the local ones, and no key is anywhere on the way."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import pairwise

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import DiversityError, PolicyError, TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.reconstruction.mechanism import MECHANISM as RECONSTRUCTION
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.model import ViewRule
from sfumato.project.errors import KeyFileError
from sfumato.project.release import workers
from sfumato.project.release.brought_together import grouped_entries, mark_of, marks_as_told
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.workers import KeySource, read_plan
from tests.cluster.sent import (
    DEATHS,
    LOOSE,
    OF_UNITS,
    QUASI,
    STRICT,
    by_groups,
    drive,
    facts_by_hand,
    send,
)
from tests.project.batched import KEYS, hospital, hospital_document, planned
from tests.thorough import tried

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
adapter = pytest.importorskip("sfumato.dask")


def in_folder(sent):
    return KeySource.in_file(sent.folder / "keys.bin")


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    return send(tmp_path_factory.mktemp("dask"))


@pytest.fixture(scope="module")
def by_case(tmp_path_factory):
    """What is sent of tables whose rows depend on others."""
    folder = tmp_path_factory.mktemp("dask-together")
    cases = {
        "units": {"view": OF_UNITS, "of_houses": True},
        "units as in the table": {"view": None, "of_houses": True, "placed": True},
        "groups": {"grouped": True},
        "groups as in the table": {"view": STRICT, "grouped": True, "placed": True},
    }
    for name in cases:
        (folder / name).mkdir()
    return {name: send(folder / name, **each) for name, each in cases.items()}


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


@pytest.fixture
def source(sent):
    return in_folder(sent)


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


@settings(max_examples=tried(6, least=3))
@given(CUTS)
def test_any_partitions_give_the_release_that_is_made_here(sent, cuts):
    made = release(cut(sent.table, cuts), sent.plan, in_folder(sent))
    assert sent.as_released(made).equals(sent.released)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", ["units", "units as in the table", "groups", "groups as in the table"]
)
@settings(max_examples=2)
@given(CUTS)
def test_rows_that_depend_on_others_are_brought_together_from_any_partitions(by_case, case, cuts):
    sent = by_case[case]
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
def test_a_table_with_other_groups_is_refused_before_anything_is_released(by_case):
    sent = by_case["groups"]
    frame = sent.table.to_pandas()
    other = "gout" if frame["illness"][7] != "gout" else "flu"
    moved = frame.assign(illness=frame["illness"].where(frame.index != 7, other))
    with pytest.raises(TableError, match=r"illness is released by groups .* another table"):
        release(dd.from_pandas(moved, npartitions=4), sent.plan, in_folder(sent))


def test_groups_too_large_for_a_worker_are_refused_by_name(by_case, monkeypatch):
    sent = by_case["groups"]
    monkeypatch.setattr(workers, "MOST_TOGETHER", 60)
    with pytest.raises(TableError, match=r"grade_of_pain .* a group of 100: more than 60 records"):
        release(dd.from_pandas(sent.table.to_pandas(), npartitions=4), sent.plan, in_folder(sent))


def test_a_plan_tells_nothing_of_groups_but_under_its_keys(by_case):
    sent, plain = by_case["groups"], hospital().frame
    assert sorted(sent.plan.group_marks) == ["grade_of_pain", "illness"]
    assert all(len(mark) == 32 for mark in sent.plan.group_marks.values())
    _, made = planned(by_groups(hospital_document(view=LOOSE)), Table(plain))
    again = mark_of(made, Table(plain.iloc[::-1].reset_index(drop=True)), KEYS)
    assert marks_as_told(made, again) == sent.plan.group_marks
    other = mark_of(made, Table(plain), KeyRing(bytes(32)))
    assert not set(marks_as_told(made, other).values()) & set(sent.plan.group_marks.values())


def test_some_of_the_groups_in_these_tests_are_drawn_from(by_case):
    document = by_groups(hospital_document())
    for entry in document.policy:
        if entry.key in by_case["groups"].plan.group_marks:
            attribute = attributes_of(document, hospital())[entry.key]
            drawn = RECONSTRUCTION.sample_sizes((attribute,), entry.settings, Silent())
            assert (drawn < attribute.groups.sizes).any()


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("case", ["rows alone", "groups"])
def test_a_frame_of_texts_that_dask_read_from_csv_is_released_as_the_plan_reads_it(
    sent, by_case, tmp_path, case
):
    sent = {"rows alone": sent}.get(case) or by_case[case]
    sent.table.to_pandas().to_csv(tmp_path / "table.csv", index=False)
    texts = {"dtype": "str", "keep_default_na": False, "na_values": [""]}
    table = dd.read_csv(tmp_path / "table.csv", blocksize=8000, **texts)
    assert table.npartitions > 2
    assert sent.as_released(release(table, sent.plan, in_folder(sent))).equals(sent.released)


def test_true_values_that_are_brought_together_do_not_even_tell_which_are_alike(by_case):
    sent = by_case["groups"]
    [batch] = sent.table.to_batches()
    rows = workers.released_part(batch, sent.plan.to_json(), in_folder(sent))
    for place, entry in enumerate(grouped_entries(sent.plan)):
        first, second, value = (rows[name].to_pylist() for name in workers.group_names(place))
        groups = sent.table.group_by(list(sent.plan.groups[entry.key])).aggregate([])
        assert len(set(zip(first, second, strict=True))) == len(groups)
        assert len(set(value)) == len(value) == 300
        assert entry.key not in rows.schema.names
    again = workers.class_part(batch, sent.plan.to_json(), in_folder(sent), with_values=True)
    classes = {name: again[name].to_pylist() for name in again.schema.names}
    known = zip(classes[workers.value_name("illness")], classes[workers.CLASS[0]], strict=True)
    assert len(set(known)) == len(set(classes[workers.value_name("illness")]))


def test_record_keys_that_repeat_across_partitions_are_refused(sent, source):
    frame = sent.table.to_pandas()
    twice = pd.concat([frame, frame.iloc[[4, 9, 9]]], ignore_index=True)
    with pytest.raises(TableError, match="person is not unique: 2 keys"):
        release(dd.from_pandas(twice, npartitions=4), sent.plan, source)


def test_a_table_without_a_column_of_the_plan_is_refused_before_anything_is_read(sent, source):
    table = dd.from_pandas(sent.table.to_pandas().drop(columns="zip"), npartitions=2)
    with pytest.raises(TableError, match="no column zip"):
        release(table, sent.plan, source)


@pytest.fixture
def strict(tmp_path):
    """A table, a plan with a k above 1, and its keys."""
    return send(tmp_path, STRICT)


@pytest.mark.slow
def test_rows_that_are_too_few_to_be_shown_are_suppressed_on_a_cluster_too(strict):
    table = dd.from_pandas(strict.table.to_pandas(), npartitions=4)
    plan, source = read_plan(strict.folder / "plan.json"), in_folder(strict)
    made = release(table, plan, source)
    assert strict.as_released(made).equals(strict.released)
    counts = adapter.class_counts(dd.from_pandas(made.to_pandas(), npartitions=3), QUASI)
    classes = counts.compute(scheduler="sync")
    assert classes["rows"].sum() == len(made)
    assert classes["rows"].min() >= STRICT.k


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
    assert asdict(found) == pytest.approx(expected)
    assert asdict(plain) == {
        name: expected[name] if name in ("rows", "classes", "smallest", "unique") else None
        for name in expected
    }


def test_classes_of_a_table_without_rows_are_refused():
    nothing = dd.from_pandas(pd.DataFrame({"age": [1]}).iloc[:0], npartitions=1)
    with dask.config.set(scheduler="sync"), pytest.raises(TableError, match="no rows"):
        adapter.class_facts(nothing, ["age"])


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("case", ["units", "groups as in the table"])
def test_what_classes_of_a_view_tell_is_counted_before_anything_is_released(by_case, case):
    sent = by_case[case]
    with dask.config.set(scheduler="sync"):
        table = dd.from_pandas(sent.table.to_pandas(), npartitions=3)
        found = adapter.view_facts(table, sent.plan, in_folder(sent))
    entries = {name for each in sent.plan.entries for name in each.attributes}
    assert set(found) == entries & {"illness", "ward", "grade_of_pain"}
    for name, facts in found.items():
        assert asdict(facts) == pytest.approx(facts_by_hand(sent.classes, QUASI, name))


def test_classes_of_a_plan_without_quasi_identifiers_are_refused(sent, source):
    columns = tuple(
        replace(each, role=Role.INSENSITIVE) if each.role is Role.QUASI_IDENTIFIER else each
        for each in sent.plan.columns
    )
    plan = replace(sent.plan, columns=columns, coarsening=None)
    with pytest.raises(PolicyError, match="shows no quasi-identifiers"):
        adapter.view_facts(dd.from_pandas(sent.table.to_pandas(), npartitions=2), plan, source)


def test_a_table_with_a_class_below_k_is_refused_before_anything_is_released(strict):
    frame = strict.table.to_pandas()
    frame = frame.assign(age=frame["age"].where(frame.index != 5, 200))
    with pytest.raises(DiversityError, match="has 1, and k is 4"):
        release(dd.from_pandas(frame, npartitions=4), strict.plan, in_folder(strict))


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (replace(hospital_document(), record_key=None), "position"),
        (hospital_document(view=ViewRule(2, 0.5, {"age": 1})), "too few"),
    ],
)
def test_plans_whose_rows_need_others_are_refused_on_a_cluster(sent, source, document, words):
    _, plan = planned(document, hospital())
    with pytest.raises(PolicyError, match=words):
        release(dd.from_pandas(hospital().frame, npartitions=2), plan, source)
    with pytest.raises(PolicyError, match=words):
        plan.with_keys(KEYS)


def test_keys_of_another_plan_and_a_plan_without_keys_are_refused(sent, source, tmp_path):
    table = dd.from_pandas(sent.table.to_pandas(), npartitions=2)
    _, other = replace(sent.plan, release_id="another").with_keys(KEYS)
    (tmp_path / "keys.bin").write_bytes(other.to_bytes())
    with pytest.raises(KeyFileError, match="not those of the plan"):
        release(table, sent.plan, KeySource.in_file(tmp_path / "keys.bin"))
    with pytest.raises(PolicyError, match="without keys"):
        release(table, replace(sent.plan, keys=""), source)


def test_rows_stay_as_in_the_table_where_the_plan_says_so(sent, tmp_path):
    document = replace(hospital_document(), rows_as_in_table="It is sorted by chance.")
    material, made = planned(document, hospital())
    plan, keys = replace(made, release_id="r").with_keys(KEYS)
    (tmp_path / "keys.bin").write_bytes(keys.to_bytes())
    table = dd.from_pandas(hospital().frame, npartitions=3)
    found = release(table, plan, KeySource.in_file(tmp_path / "keys.bin"))
    ages = material.table.frame["age"].tolist()
    assert found["age"].to_pylist() == ages


def test_a_plan_is_read_from_its_file(sent, tmp_path):
    assert read_plan(sent.folder / "plan.json") == sent.plan
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(PolicyError, match="version None"):
        read_plan(tmp_path / "other.json")
    (tmp_path / "other.json").write_text("no plan")
    with pytest.raises(KeyFileError, match="not a plan"):
        read_plan(tmp_path / "other.json")
