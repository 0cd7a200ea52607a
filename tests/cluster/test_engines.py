"""All engines release the same rows, count the same classes and refuse the same tables."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from importlib.util import find_spec

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import PolicyError, TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.reconstruction.mechanism import MECHANISM as RECONSTRUCTION
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.model import ViewRule
from sfumato.project.errors import KeyFileError
from sfumato.project.release import workers
from sfumato.project.release.engine import LocalRows, released, view_facts
from sfumato.project.release.group_shuffle import grouped_entries, mark_of, marks_as_told
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.workers import KeySource, read_plan
from tests.cluster.engine_cases import CASES, REFUSED, AskedEngine, in_parts
from tests.cluster.sent import LOOSE, QUASI, by_groups, drive, facts_by_hand, send
from tests.project.batched import KEYS, hospital, hospital_document, planned

LOCAL = pytest.param("local", marks=pytest.mark.slow)
DASK = pytest.param(
    "dask", marks=[pytest.mark.slow, pytest.mark.skipif(not find_spec("dask"), reason="no Dask")]
)
SPARK = pytest.param(
    "spark",
    marks=[
        pytest.mark.slow,
        pytest.mark.queued,
        pytest.mark.skipif(
            not (find_spec("pyspark") and shutil.which("java")), reason="no Spark or no Java"
        ),
    ],
)


def local(folder):
    return AskedEngine(
        folder, lambda table: LocalRows.of(pa.concat_tables(in_parts(table))), LocalRows.to_table
    )


def of_dask(folder):
    dd = pytest.importorskip("dask.dataframe")
    adapter = pytest.importorskip("sfumato.dask")

    def rows_of(table):
        parts = [part.to_pandas(types_mapper=pd.ArrowDtype) for part in in_parts(table)]
        return adapter.DaskRows(
            dd.from_map(lambda part: parts[part], range(len(parts)), meta=parts[1])
        )

    def table_of(rows):
        return pa.Table.from_pandas(rows.frame.compute(), preserve_index=False)

    return AskedEngine(folder, rows_of, table_of)


class Answers:
    """What is sent to an engine, and the folder with its answers.

    Spark answers all in one process; of others each is asked for when a test first needs it.
    """

    def __init__(self, folder, engine):
        self.folder, self.sent, self.engine = folder, {}, engine
        self.asked = set()
        if engine is None:
            for case in CASES:
                self.send(case)
            drive("spark_driver", folder, PYSPARK_PYTHON=sys.executable)

    def send(self, case):
        if case not in self.sent:
            (self.folder / case).mkdir()
            self.sent[case] = send(self.folder / case, **CASES[case])
        return self.sent[case]

    def about(self, case, ask, *name):
        """Return the folder once an answer about a case is there, and what was sent."""
        sent = self.send(case)
        if self.engine is not None and (ask, *name) not in self.asked:
            self.asked.add((ask, *name))
            ask(self.engine, *name)
        return self.folder, sent

    def of_case(self, case):
        return self.about(case, AskedEngine.answer_case, case)

    def of_refused(self, name):
        return self.about(REFUSED[name][0], AskedEngine.answer_refused, name)[0]


@pytest.fixture(scope="module", params=[LOCAL, DASK, SPARK])
def answered(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param != "dask":
        yield Answers(folder, local(folder) if request.param == "local" else None)
        return
    with pytest.importorskip("dask").config.set(scheduler="sync"):
        yield Answers(folder, of_dask(folder))


@pytest.mark.parametrize("case", CASES)
def test_an_engine_makes_the_release_that_the_project_makes(answered, case):
    folder, sent = answered.of_case(case)
    made = pa.parquet.read_table(folder / case / "made.parquet")
    assert sent.as_released(made).equals(sent.released)


def test_a_table_of_texts_is_released_as_the_plan_reads_it(answered):
    folder, sent = answered.about("plain", AskedEngine.answer_texts)
    made = pa.parquet.read_table(folder / "texts.parquet")
    assert sent.as_released(made).equals(sent.released)


@pytest.mark.parametrize("case", CASES)
def test_classes_of_a_view_tell_what_is_counted_by_hand(answered, case):
    folder, sent = answered.of_case(case)
    found = json.loads((folder / case / "facts.json").read_text())
    entries = {name for each in sent.plan.entries for name in each.attributes}
    assert set(found) == entries & {"illness", "ward", "grade_of_pain"}
    for name, facts in found.items():
        assert facts == pytest.approx(facts_by_hand(sent.classes, QUASI, name))


def test_classes_of_a_table_tell_what_is_counted_by_hand(answered):
    folder, sent = answered.about("plain", AskedEngine.answer_classes)
    found = json.loads((folder / "facts.json").read_text())
    frame = sent.table.to_pandas()
    assert found == pytest.approx(facts_by_hand(frame, ["age", "zip"], "illness"))


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_does_not_fit_is_refused_by_name_and_without_a_value(answered, name):
    said = (answered.of_refused(name) / f"{name}.txt").read_text()
    assert REFUSED[name][2] in said
    assert "Secret" not in said


@pytest.mark.parametrize("answered", [SPARK], indirect=True)
@pytest.mark.parametrize(("case", "reads"), [("plain", 2), ("groups", 5)])
def test_spark_makes_the_same_release_though_a_worker_is_killed_midway(answered, case, reads):
    folder, sent = answered.of_case(case)
    assert (folder / f"{case}-{reads}").exists(), "no worker died"
    made = pa.parquet.read_table(folder / f"{case}-killed.parquet")
    assert sent.as_released(made).equals(sent.released)


@pytest.mark.parametrize("answered", [SPARK], indirect=True)
def test_no_key_is_in_an_event_log_a_plan_or_a_file_of_spark(answered):
    folder, sent = answered.folder, answered.sent
    events = b"".join(
        each.read_bytes() for each in (folder / "events").rglob("*") if each.is_file()
    )
    assert b"SparkListener" in events
    written = [(folder / f"{name}.txt").read_bytes() for name in ("said", "explained", *REFUSED)]
    for content in (events, (folder / "scratch.bin").read_bytes(), *written):
        assert [form for each in sent.values() for form in each.shown(content)] == []


@pytest.fixture(scope="module")
def by_case(tmp_path_factory):
    """What is sent to whatever engine."""
    found = {}
    for name in ("plain", "groups"):
        found[name] = send(tmp_path_factory.mktemp(name), **CASES[name])
    return found


def in_folder(sent):
    return KeySource.in_file(sent.folder / "keys.bin")


def test_groups_too_large_for_a_worker_are_refused_by_name(by_case, monkeypatch):
    sent = by_case["groups"]
    monkeypatch.setattr(workers, "MOST_TOGETHER", 60)
    with pytest.raises(TableError, match=r"grade_of_pain .* a group of 100: more than 60 records"):
        released(LocalRows.of(sent.table), sent.plan, in_folder(sent))


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


def test_classes_of_a_plan_without_quasi_identifiers_are_refused(by_case):
    sent = by_case["plain"]
    columns = tuple(
        replace(each, role=Role.INSENSITIVE) if each.role is Role.QUASI_IDENTIFIER else each
        for each in sent.plan.columns
    )
    plan = replace(sent.plan, columns=columns, coarsening=None)
    with pytest.raises(PolicyError, match="shows no quasi-identifiers"):
        view_facts(LocalRows.of(sent.table), plan, in_folder(sent))


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (replace(hospital_document(), record_key=None), "position"),
        (hospital_document(view=ViewRule(2, 0.5, {"age": 1})), "too few"),
    ],
)
def test_plans_whose_rows_need_others_are_refused_by_engines(by_case, document, words):
    _, plan = planned(document, hospital())
    with pytest.raises(PolicyError, match=words):
        released(LocalRows.of(by_case["plain"].table), plan, in_folder(by_case["plain"]))
    with pytest.raises(PolicyError, match=words):
        plan.with_keys(KEYS)


def test_keys_of_another_plan_and_a_plan_without_keys_are_refused(by_case, tmp_path):
    sent = by_case["plain"]
    table = LocalRows.of(sent.table)
    _, other = replace(sent.plan, release_id="another").with_keys(KEYS)
    (tmp_path / "keys.bin").write_bytes(other.to_bytes())
    with pytest.raises(KeyFileError, match="not those of the plan"):
        released(table, sent.plan, KeySource.in_file(tmp_path / "keys.bin"))
    with pytest.raises(PolicyError, match="without keys"):
        released(table, replace(sent.plan, keys=""), in_folder(sent))


def test_a_plan_is_read_from_its_file(by_case, tmp_path):
    sent = by_case["plain"]
    assert read_plan(sent.folder / "plan.json") == sent.plan
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(PolicyError, match="version None"):
        read_plan(tmp_path / "other.json")
    (tmp_path / "other.json").write_text("no plan")
    with pytest.raises(KeyFileError, match="not a plan"):
        read_plan(tmp_path / "other.json")
