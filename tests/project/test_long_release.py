"""A table that is too long for memory is released in parts: the bundle is the same."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.analysis.readiness.readiness import examine, looked_at, settle
from sfumato.engine.core.columns import Binning, Coding, ColumnSpec, Role
from sfumato.engine.core.errors import (
    Cancelled,
    DiversityError,
    DomainError,
    LadderError,
    SfumatoError,
    TableError,
)
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.generalization.hierarchies import Intervals, Masking, Orders
from sfumato.engine.randomness.keys import AttributeKey, KeyRing
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import target_of
from sfumato.formats.errors import DiskFull
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.reading import read_table
from sfumato.formats.table_format import Batches
from sfumato.formats.tables import delimited, parquet
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit, ViewRule
from sfumato.project.errors import SourceChanged
from sfumato.project.release import batched_table, batched_views, bucket_counts
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.batched_views import counted_view
from sfumato.project.release.leaving_units import leaving_rows
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import leaving_table
from sfumato.project.release.views import coarsening_of, told_of
from sfumato.project.source import open_long_source, read_source
from sfumato.project.verification.found import verify_file
from tests.in_batches import in_batches
from tests.project.batched import hospital, hospital_document
from tests.project.counting_alone import alone_in_release
from tests.project.making import new_project
from tests.project.whole_table import coarsened
from tests.thorough import tried

ROWS = 300
OPTIONS = {
    "parquet": ReadOptions(format="parquet"),
    "csv": ReadOptions(column_types={"far": ColumnType.NUMBER, "zip": ColumnType.TEXT}),
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    for each in (delimited, parquet):
        monkeypatch.setattr(each, "BATCH_ROWS", 110)
    monkeypatch.setattr(parquet, "_LONG", 1)  # texts that repeat are read as dictionaries
    for name, number in (("BUCKET_ROWS", 110), ("BUCKET_NUMBERS", 110), ("HELD_NUMBERS", 0)):
        monkeypatch.setattr(bucket_counts, name, number)
    monkeypatch.setattr(batched_table, "SAMPLE", 90)


def frame_of(rows=ROWS):
    frame = hospital(rows).frame
    frame["severity"] = frame["severity"].astype(str)
    frame["note"] = ["=1+2" if i == 200 else "plain" for i in range(rows)]
    frame["late"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(
        [1.5 if i == 250 else 0 for i in range(rows)], unit="s"
    )
    frame["far"] = [float("inf") if i == 260 else i / 8 for i in range(rows)]
    return frame


def unweighted(spec):
    return replace(spec, role=Role.INSENSITIVE) if spec.role is Role.WEIGHT else spec


def weighted(document, *rules):
    columns = [
        replace(each, role=Role.WEIGHT) if each.name == "weight" else each
        for each in document.columns
    ]
    return seen_coarsely(*rules)(replace(document, columns=tuple(columns)))


@pytest.fixture
def ward(tmp_path):
    """Makes a project of a frame, whose table is in a file of Parquet or CSV."""

    def made(frame, change=lambda document: document, ending="parquet"):
        path = tmp_path / f"ward.{ending}"
        if ending == "csv":
            frame.to_csv(path, index=False)
        else:
            whole = pa.Table.from_pandas(frame, preserve_index=False)
            pa.parquet.write_table(whole, path, row_group_size=70)
        document = hospital_document(ROWS)
        columns = [unweighted(each) for each in document.columns if each.name in frame]
        extra = [ColumnSpec(name, Role.INSENSITIVE, "text") for name in ("note", "late", "far")]
        _, source = read_source(path, OPTIONS[ending], Silent())
        document = replace(document, columns=(*columns, *extra), source=source)
        return new_project(tmp_path, change(document))

    return made


def long_of(project):
    found = open_long_source(project.document, Silent(), project.path.parent)
    assert found is not None
    return found[0]


def whole_of(project):
    source = project.document.source
    return read_table(source.place, ReadOptions.from_dict(source.options), Silent())


def bundle(project, table, folder, format_name):
    made = make_release(project, in_batches(table), "Clinic A", folder, format_name, Silent())
    return {path.name: path.read_bytes() for path in made.path.iterdir()}, made.record


def with_orders(frame):
    """Categories in an order, one of which no row has, and whole numbers without a sign."""
    grades = pd.CategoricalDtype(["low", "middle", "high", "worst"], ordered=True)
    far = np.arange(len(frame), dtype=np.uint64)
    far[260] = 2**64 - 1
    dose = pd.array(frame["visits"], dtype="UInt64")
    return frame.assign(severity=frame["severity"].astype(grades), far=far, visits=dose)


def stored_by_parts(frame, path):
    """Row groups whose lists of categories are parts of the whole one."""
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.parquet.ParquetWriter(path, whole.schema) as file:
        for start in range(0, len(frame), 60):
            part = frame.iloc[start : start + 60]
            if start == 120:
                part = part.assign(severity=part["severity"].cat.remove_unused_categories())
            file.write_table(pa.Table.from_pandas(part, whole.schema, preserve_index=False))


@pytest.mark.turns(2)
@pytest.mark.slow
@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_what_is_known_from_all_rows_only_is_released_in_parts_as_in_memory(
    ward, tmp_path, format_name
):
    frame = with_orders(frame_of())
    with ward(frame) as project:
        source = project.document.source
        stored_by_parts(frame, source.place)
        _, source = read_source(source.place, OPTIONS["parquet"], Silent())
        project.save_document(replace(project.document, source=source))
        whole, first = bundle(project, whole_of(project), tmp_path / "whole", format_name)
        parts, second = bundle(project, long_of(project), tmp_path / "parts", format_name)
        [made] = (tmp_path / "parts").iterdir()
        tables = in_batches(whole_of(project)), long_of(project)
        told = [verify_file(project, each, made, Silent()) for each in tables]
        types = long_of(project).batches.types
    assert parts == whole
    assert first.digest == second.digest
    assert [str(c.finding) for each in told for c in each.failed] == []
    assert (types["far"], types["visits"]) == (pa.uint64(), pa.int64())
    if format_name == "parquet":
        severity = pd.read_parquet(made / "data.parquet")["severity"]
        assert severity.cat.categories.tolist() == ["low", "middle", "high"]  # that rows have


@pytest.mark.few(1)
@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("format_name", ["parquet", "csv"])
@pytest.mark.parametrize("order", ["", "The register is public."], ids=["keyed", "as in table"])
def test_the_bundle_of_a_release_in_parts_is_that_of_the_whole_table(
    ward, tmp_path, format_name, order, ending
):
    def ordered(document):
        return replace(document, rows_as_in_table=order)

    with ward(frame_of(), ordered, ending) as project:
        whole, first = bundle(project, whole_of(project), tmp_path / "whole", format_name)
        parts, second = bundle(project, long_of(project), tmp_path / "parts", format_name)
        [made] = (tmp_path / "parts").iterdir()
        verified = verify_file(project, long_of(project), made, Silent())
    assert verified.holds, verified.failed
    assert {str(check.title) for check in verified.checks} >= {"Records", "cost + stay: values"}
    assert parts == whole
    assert first.digest == second.digest
    files = [path.name for path in (tmp_path / "parts").rglob("*") if path.is_file()]
    assert sorted(files) == sorted(whole)


@pytest.mark.slow
def test_texts_of_a_dictionary_that_no_row_has_are_in_no_domain(ward, tmp_path):
    def open_domain(document):
        columns = [replace(each, domain=None) for each in document.columns]
        return replace(document, columns=tuple(columns))

    frame = frame_of()
    with ward(frame, open_domain) as project:
        path = project.document.source.place
        table = pa.Table.from_pandas(frame, preserve_index=False)
        names = sorted(frame["severity"].unique())
        codes = pa.array([names.index(each) for each in frame["severity"]], type=pa.int32())
        place = table.schema.get_field_index("severity")
        held = pa.DictionaryArray.from_arrays(codes, pa.array([*names, "nowhere"]))
        table = table.set_column(place, "severity", held)
        pa.parquet.write_table(table, path, row_group_size=110)
        [stored, *_] = pa.parquet.read_table(path, read_dictionary=["severity"])["severity"].chunks
        assert "nowhere" in stored.dictionary.to_pylist()
        _, source = read_source(path, OPTIONS["parquet"], Silent())
        project.save_document(replace(project.document, source=source))
        whole, _ = bundle(project, whole_of(project), tmp_path / "whole", "parquet")
        parts, _ = bundle(project, long_of(project), tmp_path / "parts", "parquet")
    assert parts == whole
    assert not any(b"nowhere" in content for content in parts.values())


@pytest.mark.slow
def test_the_checks_before_a_release_count_in_all_rows(ward):
    with ward(frame_of()) as project:
        given = project.keys, Silent()
        _, whole, attributes = looked_at(project.document, in_batches(whole_of(project)), *given)
        _, parts, counted = looked_at(project.document, long_of(project), *given)
        [wanted], [found] = (
            settle(project, in_batches(table), ["Clinic A"], "Nobody is in it.", Silent())
            for table in (whole_of(project), long_of(project))
        )
    assert parts.table.rows == 90
    assert parts.rows == whole.rows == ROWS
    for name, attribute in attributes.items():
        assert counted[name].domain == attribute.domain
        if attribute.counts is not None:
            assert counted[name].counts.tolist() == attribute.counts.tolist()
    for name in ("age", "zip", "grade", "visits", "smoker", "visited", "note", "far"):
        exact, about = whole.profile(name), parts.profile(name)
        assert (about.count, about.missing) == (exact.count, exact.missing), name
        if name != "visits":  # counted as it leaves, rounded
            assert about.distinct == exact.distinct, name
    told = {one.check: one.sentence for one in found.findings if not one.check.startswith("Open")}
    for one in wanted.findings:
        if one.check in ("Unique records", "Rare labels", "Extreme numbers", "Promises"):
            assert told[one.check] == one.sentence


def test_values_without_a_stated_domain_are_found_in_all_rows(ward, tmp_path):
    def open_domain(document):
        columns = [
            replace(each, domain=None) if each.name in ("illness", "ward") else each
            for each in document.columns
        ]
        policy = tuple(
            replace(each, mechanism="uniform", settings={}) if each.key == "ward" else each
            for each in document.policy
        )
        levels = {**document.recipients[0].statements, "ward": {"retention_probability": 0.4}}
        recipients = (replace(document.recipients[0], statements=levels),)
        return replace(document, columns=tuple(columns), policy=policy, recipients=recipients)

    frame = frame_of()
    frame["illness"] = ["rare" if i == 280 else str(v) for i, v in enumerate(frame["illness"])]
    with ward(frame, open_domain) as project:
        whole, _ = bundle(project, whole_of(project), tmp_path / "whole", "parquet")
        parts, _ = bundle(project, long_of(project), tmp_path / "parts", "parquet")
    assert parts == whole


def test_a_disk_without_room_is_said_and_nothing_is_left(ward, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with ward(frame_of()) as project:
        table = long_of(project)
        table.summary(project.document, Silent())
        monkeypatch.setattr(bucket_counts.pa.ipc, "new_stream", full)
        with pytest.raises(DiskFull):
            bundle(project, table, tmp_path / "out", "parquet")
        assert project.releases == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ward.parquet", "ward.sfumato"]


MISFITS = {
    "a value outside": ("illness", 211, "Secret", DomainError, "illness.*row 212"),
    "a missing value": ("illness", 211, None, DomainError, "illness.*row 212"),
    "no key": ("person", 211, None, TableError, "person.*row 212"),
    "a key twice": ("person", 211, "P00007é", TableError, "rows 27 and 212 share a key"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("case", MISFITS)
def test_a_row_that_does_not_fit_is_named_and_nothing_is_left(ward, tmp_path, case):
    name, row, value, kind, words = MISFITS[case]
    frame = frame_of()
    frame[name] = frame[name].astype(object)
    frame.loc[row, name] = value
    with ward(frame) as project:
        with pytest.raises(kind, match=words) as refused:
            bundle(project, long_of(project), tmp_path / "out", "parquet")
        assert project.releases == ()
    assert "Secret" not in str(refused.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ward.parquet", "ward.sfumato"]


@pytest.mark.few(2)
@pytest.mark.parametrize("reports", [1, 3, 5, 7])
def test_a_release_in_parts_can_be_cancelled_at_any_time(ward, tmp_path, reports):
    told = []

    def stopped():
        return len(told) >= reports

    context = Callback(lambda fraction, _: told.append(fraction), stopped)
    with ward(frame_of()) as project:
        with pytest.raises(Cancelled):
            make_release(
                project, long_of(project), "Clinic A", tmp_path / "out", "parquet", context
            )
        assert project.releases == ()
    assert told == sorted(told)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ward.parquet", "ward.sfumato"]


def test_a_table_that_was_replaced_meanwhile_is_refused(ward, tmp_path):
    with ward(frame_of()) as project:
        table = long_of(project)
        shorter = pa.Table.from_pandas(frame_of().iloc[:-1], preserve_index=False)
        pa.parquet.write_table(shorter, tmp_path / "ward.parquet")
        with pytest.raises(TableError, match="changed while it was read"):
            bundle(project, table, tmp_path / "out", "parquet")


@pytest.mark.parametrize("change", ["other values", "a part more", "nothing but the time"])
def test_a_parquet_file_that_changed_between_two_passes_is_refused(tmp_path, change):
    folder = tmp_path / "parts"
    folder.mkdir()
    table = pa.table({"illness": ["cold", "gout"] * 40})
    pa.parquet.write_table(table, folder / "1.parquet")
    batches = parquet.FORMAT.batches(folder, ReadOptions(format="parquet"), Silent())
    first = batches.read(["illness"])
    assert sum(map(len, first)) == 80
    passing = batches.read(["illness"])
    next(passing)
    if change == "nothing but the time":
        os.utime(folder / "1.parquet", ns=(1, 1))
    else:
        name = "1.parquet" if change == "other values" else "2.parquet"
        pa.parquet.write_table(pa.table({"illness": ["gout", "cold"] * 40}), folder / name)
    for rows in (passing, batches.read(["illness"])):
        with pytest.raises(TableError, match="changed while it was read") as refused:
            list(rows)
        assert "gout" not in str(refused.value)


def test_a_text_that_changed_between_passes_is_refused_without_a_trace(ward, tmp_path, monkeypatch):
    monkeypatch.setattr(batched_table, "HELD_BYTES", 0)
    path = tmp_path / "ward.csv"
    with ward(frame_of(), ending="csv") as project:
        table = long_of(project)
        table.summary(project.document, Silent())
        path.write_bytes(path.read_bytes().replace(b",plain,", b",plane,", 1))
        with pytest.raises(TableError, match="changed while it was read"):
            bundle(project, table, tmp_path / "out", "parquet")
        assert project.releases == ()
        with pytest.raises(SourceChanged):
            long_of(project)
        path.write_text("person\n1\n1,2\n")
        with pytest.raises(SourceChanged):
            long_of(project)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ward.csv", "ward.sfumato"]


@pytest.mark.slow
def test_an_attribute_in_bins_is_counted_by_bin_and_a_misfit_is_named(ward, tmp_path):
    def binned(document, edges=(0.0, 10.0, 31.0)):
        columns = tuple(
            replace(each, binning=Binning(edges)) if each.name == "stay" else each
            for each in document.columns
            if each.name != "cost"
        )
        policy = (
            *(each for each in document.policy if len(each.attributes) == 1),
            PolicyEntry(("stay",), "uniform"),
        )
        statements = {**document.recipients[0].statements, "stay": {"retention_probability": 0.5}}
        statements.pop("cost + stay")
        recipients = (replace(document.recipients[0], statements=statements),)
        return replace(document, columns=columns, policy=policy, recipients=recipients)

    frame = frame_of().drop(columns="cost")
    with ward(frame, binned) as project:
        whole, _ = bundle(project, whole_of(project), tmp_path / "whole", "parquet")
        parts, _ = bundle(project, long_of(project), tmp_path / "parts", "parquet")
        _, _, counted = looked_at(project.document, long_of(project), project.keys, Silent())
        assert parts == whole
        assert counted["stay"].counts.sum() == ROWS
        narrow = binned(hospital_document(ROWS), (0.0, 10.0, 20.0))
        columns = {each.name: each for each in narrow.columns}
        document = project.document.with_column(columns["stay"])
        with pytest.raises(DomainError, match=r"stay .*There may be more") as refused:
            long_of(project).summary(document, Silent())
    first = int((frame["stay"] > 20.0).to_numpy().argmax()) + 1
    assert f"first in row {first}." in str(refused.value)


@pytest.mark.few(1)
@pytest.mark.parametrize("format_name", ["sav", "dta"])
def test_formats_that_are_made_in_memory_are_refused(ward, tmp_path, format_name):
    with ward(frame_of()) as project, pytest.raises(SfumatoError, match="300 rows"):
        bundle(project, long_of(project), tmp_path / "out", format_name)


def seen_coarsely(*rules):
    """Give the recipients views: the first is Clinic A's, others get the same levels of trust."""

    def change(document):
        first = document.recipients[0]
        names = ["Clinic A", "Clinic B", "Clinic C"]
        recipients = [
            replace(first, name=name, view=rule) for name, rule in zip(names, rules, strict=False)
        ]
        return replace(document, recipients=tuple(recipients))

    return change


VIEWS = {
    "no k": (ViewRule(1, 0.0, {"age": 1, "zip": 0, "grade": 1}),),
    "rows hidden": (ViewRule(4, 0.9, {"age": 1, "zip": 2, "grade": 0}),),
    "cells hidden": (ViewRule(4, 0.9, {"age": 1, "zip": 1, "grade": 0}, cells=True),),
    "a chain of cells": (
        ViewRule(9, 0.9, {"age": 2, "zip": 2, "grade": 0}, cells=True),
        None,
        ViewRule(3, 0.9, {"age": 1, "zip": 1, "grade": 0}, cells=True),
    ),
    "as it is": (ViewRule(1, 0.0, {"age": 0, "zip": 0, "grade": 0}),),
    "a chain": (
        ViewRule(9, 0.9, {"age": 2, "zip": 2, "grade": 0}),
        None,
        ViewRule(3, 0.9, {"age": 1, "zip": 2, "grade": 0}),
    ),
}


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("case", VIEWS)
def test_a_view_in_parts_is_the_view_of_the_whole_table(ward, tmp_path, case):
    format_name = "csv" if case == "a chain" else "parquet"
    with ward(frame_of(), seen_coarsely(*VIEWS[case])) as project:
        for recipient in project.document.recipients[::2]:
            made = []
            for table, folder in ((whole_of, "whole"), (long_of, "parts")):
                where = tmp_path / folder
                given = in_batches(table(project)), recipient.name, where, format_name
                done = make_release(project, *given, Silent())
                files = {path.name: path.read_bytes() for path in done.path.iterdir()}
                made.append((files, done.record.details.get("view")))
            assert made[0] == made[1]
            verified = [
                verify_file(project, in_batches(table(project)), done.path, Silent())
                for table in (whole_of, long_of)
            ]
            assert verified[1].holds, verified[1].failed
            whole, parts = ({str(c.title): str(c.finding) for c in v.checks} for v in verified)
            for title in ("Quasi-identifiers", "Unperturbed columns"):
                assert parts.get(title) == whole.get(title)


def findings(project, table):
    document, columns, attributes = looked_at(
        project.document, in_batches(table), project.keys, Silent()
    )
    found = examine(document, columns, attributes, (), Silent())
    return [one for each in found for one in each.findings]


@pytest.mark.slow
def test_checks_of_views_in_parts_count_in_all_rows(ward):
    with ward(frame_of(), seen_coarsely(*VIEWS["a chain"])) as project:
        wanted, told = (findings(project, table) for table in (whole_of(project), long_of(project)))
        exact = ("View", "Unique records", "Small classes", "Rare labels")
        sentences = [one.sentence for one in told if one.check in exact]
        assert sentences == [one.sentence for one in wanted if one.check in exact]
        assert len(sentences) >= 4


@pytest.mark.slow
def test_a_view_that_hides_too_many_is_refused_in_parts_with_the_same_ways_out(ward, tmp_path):
    rule = ViewRule(5, 0.1, {"age": 1, "zip": 2, "grade": 0})
    with ward(frame_of(), seen_coarsely(rule)) as project:
        [wanted], [told] = (
            [one for one in findings(project, table) if one.check == "View"]
            for table in (whole_of(project), long_of(project))
        )
        assert told == wanted
        assert told.remedies
        with pytest.raises(DiversityError) as refused:
            bundle(project, long_of(project), tmp_path / "out", "parquet")
        assert str(refused.value.what) in str(told.sentence)
        assert project.releases == ()


@pytest.mark.slow
def test_views_that_cross_one_that_was_released_are_refused_in_parts(ward, tmp_path):
    fine = ViewRule(4, 0.9, {"age": 1, "zip": 2, "grade": 0})
    with ward(frame_of(), seen_coarsely(fine)) as project:
        bundle(project, long_of(project), tmp_path / "first", "parquet")
        [recipient] = project.document.recipients
        # Coarser levels of another chain need not hide what the first one hid.
        for levels in ({"age": 0, "zip": 3, "grade": 0}, {"age": 1, "zip": 2, "grade": 1}):
            rule = ViewRule(4, 0.9, levels)
            other = replace(project.document, recipients=(replace(recipient, view=rule),))
            project.save_document(other)
            for table in (whole_of(project), long_of(project)):
                with pytest.raises(LadderError, match="neither wholly finer nor wholly coarser"):
                    bundle(project, table, tmp_path / "second", "parquet")


def test_quasi_identifiers_that_differ_too_much_are_refused_and_what_to_do_is_said(
    ward, tmp_path, monkeypatch
):
    rule = ViewRule(2, 0.9, {"age": 0, "zip": 0, "grade": 0})
    monkeypatch.setattr(batched_views, "MOST_APART", 100)
    with ward(frame_of(), seen_coarsely(rule)) as project:
        with pytest.raises(TableError, match=r"more than 100 different .*let more memory"):
            bundle(project, long_of(project), tmp_path / "out", "parquet")
        assert project.releases == ()


@given(
    sizes=st.lists(st.sampled_from([1, 2, 7, 300, 1 << 20, 1 << 31]), min_size=1, max_size=6),
    seed=st.integers(0, 2**32 - 1),
    parts=st.integers(1, 5),
)
def test_rows_are_counted_however_many_quasi_identifiers_there_are(sizes, seed, parts):
    rng = np.random.default_rng(seed)
    some = [rng.integers(0, size, 3) for size in sizes]
    rows = np.stack([values[rng.integers(0, 3, 40)] for values in some], axis=1)
    packing, counted = bucket_counts.Packing(sizes), batched_views._Counted(1 << 22, TableError)
    for part in np.array_split(rows, parts):
        counted.add(packing.pack(list(part.T)))
    keys, counts = counted.finished()
    found = np.stack(packing.unpack(keys), axis=1)
    wanted, expected = np.unique(rows, axis=0, return_counts=True)
    assert found.tolist() == wanted.tolist()
    assert counts.tolist() == expected.tolist()
    assert (
        (keys[np.searchsorted(keys, packing.pack(list(rows.T)))]).tolist()
        == packing.pack(list(rows.T)).tolist()
    )


def in_parts(table, size, folder):
    """The rows of a table as a file of Arrow has them, so many at a time."""
    whole = pa.Table.from_pandas(table.frame, preserve_index=False).combine_chunks()
    types = {name: target_of(name, whole.schema.field(name).type) for name in table.columns}
    whole = whole.cast(pa.schema(types.items()))

    def read(names):
        return iter(whole.select(list(names)).to_batches(max_chunksize=size))

    return BatchedTable(Batches(types, table.rows, {}, {}, read), folder)


@pytest.mark.turns(2)
@pytest.mark.slow
@pytest.mark.parametrize("rule", [ViewRule(2, 0.9, {"age": 4, "zip": 3, "grade": 2}), None])
def test_weights_are_counted_in_parts_as_in_the_whole_table(ward, tmp_path, rule):
    with ward(frame_of(), lambda document: weighted(document, rule)) as project:
        whole, _ = bundle(project, whole_of(project), tmp_path / "whole", "csv")
        parts, _ = bundle(project, long_of(project), tmp_path / "parts", "csv")
        wanted, told = (findings(project, table) for table in (whole_of(project), long_of(project)))
        [made] = (tmp_path / "parts").iterdir()
        verified = verify_file(project, long_of(project), made, Silent())
    assert parts == whole
    assert "By the sampling weights (“weight”)".encode() in parts["README.md"]
    assert verified.holds, verified.failed
    unique = [
        [one.sentence for one in found if one.check == "Unique records"] for found in (wanted, told)
    ]
    assert unique[0] == unique[1]
    assert "By the sampling weights" in unique[0][0]


@pytest.mark.few(1)
@pytest.mark.parametrize("weight", [0.0, None, float("inf")])
def test_a_weight_that_says_nothing_is_named_in_parts(ward, tmp_path, weight):
    frame = frame_of()
    frame.loc[211, "weight"] = weight
    with ward(frame, lambda document: weighted(document, None)) as project:
        with pytest.raises(TableError, match=r"weight .*in 1 row, first in row 212"):
            bundle(project, long_of(project), tmp_path / "out", "parquet")
        assert project.releases == ()


def test_weights_stand_on_the_disk_encrypted(tmp_path):
    key, marks = AttributeKey(bytes(32)), np.arange(50, dtype=np.uint64) // 2
    weights = np.full(50, 3.25)
    with bucket_counts.Buckets(tmp_path, 50) as aside:
        bucket_counts.put_marks(aside, marks, key, weights)
        held = [b"".join(written(file)) for file in aside._files]
        assert not any(weights[:1].tobytes() in each for each in held)
        sizes = bucket_counts.class_sizes(aside, 50, Silent(), key)
    assert (sizes.unique, sizes.smallest, sizes.expected) == (0, 2, 0.0)
    with bucket_counts.Buckets(tmp_path, 50) as aside:
        bucket_counts.put_marks(aside, np.arange(50, dtype=np.uint64), key, weights)
        assert bucket_counts.class_sizes(aside, 50, Silent(), key).expected == 50 / 3.25


def written(file):
    file.flush()
    place = file.tell()
    file.seek(0)
    yield file.read()
    file.seek(place)


@pytest.mark.slow
@settings(max_examples=tried(15))
@given(
    rows=st.integers(6, 60),
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 70),
    ks=st.lists(st.integers(1, 6), min_size=1, max_size=3).map(sorted),
    most_rows=st.none() | st.integers(1, 4),
    data=st.data(),
)
def test_each_row_is_shown_in_parts_as_in_the_whole_table(rows, seed, size, ks, most_rows, data):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "place": pd.array([["a", "b", None, "=c"][i] for i in rng.integers(0, 4, rows)], "str"),
            "age": rng.integers(0, 50, rows),
            "pay": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 9, rows) / 2),
            "rank": rng.integers(0, 3, rows).astype(float),
            "free": rng.integers(0, 2, rows),
            "weight": rng.integers(1, 40, rows) / 7,
            "person": rng.permutation(rows),
            "house": rng.integers(0, rows // 3, rows),
        }
    )
    marked = Role.QUASI_IDENTIFIER
    columns = (
        ColumnSpec("place", marked),
        ColumnSpec("age", marked, "numeric", coding=Coding(step=5.0)),
        ColumnSpec("pay", marked, "numeric", binning=Binning((0.0, 1.0, 3.0, 5.0))),
        ColumnSpec("rank", marked, "numeric"),
        *data.draw(st.sampled_from([(), (ColumnSpec("free"),)])),
        *data.draw(st.sampled_from([(), (ColumnSpec("weight", Role.WEIGHT, "numeric"),)])),
        ColumnSpec("person", Role.IDENTIFYING),
        ColumnSpec("house", Role.IDENTIFYING),
    )
    recipes = {
        "place": Masking(hidden=(1,)),
        "age": Intervals(width=20.0),
        "pay": Orders(sizes=(2,)),
        "rank": Intervals(width=2.0),
    }
    levels, recipients = dict.fromkeys(recipes, 0), []
    for place, k in enumerate(ks):
        levels = {name: data.draw(st.integers(at, 1)) for name, at in levels.items()}
        recipients.append(Recipient(f"R{place}", view=ViewRule(k, 0.9, dict(levels))))
    document = Document(
        columns=columns,
        recipients=tuple(recipients),
        hierarchies=recipes,
        record_key="person",
        unit=None if most_rows is None else Unit(("house",), most_rows),
    )
    keys, source = KeyRing(bytes(32)), Table(frame[[each.name for each in columns]])
    table = leaving_table(document, source, keys)
    frame, rows = table.frame, table.rows
    with TemporaryDirectory() as folder:
        long = leaving_rows(in_parts(source, size, Path(folder)), document, keys, Silent())
        for recipient in recipients:
            coarsening = coarsening_of(document, recipient)
            wanted = coarsened(coarsening, columns, table)
            counted = counted_view(long, document, recipient, Silent())
            assert told_of(counted.seen) == told_of(wanted)
            assert counted.seen.changed == wanted.changed
            assert counted.seen.units == wanted.units
            assert counted.alone == alone_in_release(document, table, Silent(), wanted)
            for start in range(0, rows, size):
                part = Table(frame.iloc[start : start + size], is_part=True)
                for name, shown in counted.seen.shown_in(part).items():
                    expected = wanted.columns[name].iloc[start : start + size]
                    assert shown.tolist() == expected.tolist()
                    assert list(shown.cat.categories) == list(wanted.columns[name].cat.categories)
