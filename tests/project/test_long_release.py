"""A table that is too long for memory is released in parts: the bundle is the same."""

from __future__ import annotations

import errno
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.analysis.readiness import looked_at, settle
from sfumato.engine.core.columns import Binning, ColumnSpec, Role
from sfumato.engine.core.errors import Cancelled, DomainError, SfumatoError, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.formats.errors import DiskFull
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import read_table
from sfumato.formats.tables import parquet
from sfumato.project.document.model import PolicyEntry, Unit, ViewRule
from sfumato.project.release import buckets, long_table
from sfumato.project.release.long_table import reason_for_whole
from sfumato.project.release.release import make_release
from sfumato.project.source import open_long_source, read_source
from sfumato.project.verification.found import verify_file
from tests.project.batched import hospital, hospital_document
from tests.project.making import new_project

ROWS = 300
OPTIONS = ReadOptions(format="parquet")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 70)
    monkeypatch.setattr(buckets, "BUCKET_ROWS", 40)
    monkeypatch.setattr(long_table, "SAMPLE", 90)


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


@pytest.fixture
def ward(tmp_path):
    """Makes a project of a frame, whose table is in a Parquet file."""

    def made(frame, change=lambda document: document):
        path = tmp_path / "ward.parquet"
        pa.parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
        document = hospital_document(ROWS)
        columns = [unweighted(each) for each in document.columns if each.name in frame]
        extra = [ColumnSpec(name, Role.INSENSITIVE, "text") for name in ("note", "late", "far")]
        _, source = read_source(path, OPTIONS, Silent())
        document = replace(document, columns=(*columns, *extra), source=source)
        return new_project(tmp_path, change(document))

    return made


def long_of(project):
    found = open_long_source(project.document, Silent(), project.path.parent)
    assert found is not None
    return found[0]


def whole_of(project):
    return read_table(project.document.source.place, OPTIONS, Silent())


def bundle(project, table, folder, format_name):
    made = make_release(project, table, "Clinic A", folder, format_name, Silent())
    return {path.name: path.read_bytes() for path in made.path.iterdir()}, made.record


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
@pytest.mark.parametrize("order", ["", "The register is public."], ids=["keyed", "as in table"])
def test_the_bundle_of_a_release_in_parts_is_that_of_the_whole_table(
    ward, tmp_path, format_name, order
):
    with ward(frame_of(), lambda document: replace(document, rows_as_in_table=order)) as project:
        whole, first = bundle(project, whole_of(project), tmp_path / "whole", format_name)
        parts, second = bundle(project, long_of(project), tmp_path / "parts", format_name)
        [made] = (tmp_path / "parts").iterdir()
        verified = verify_file(project, long_of(project), made, Silent())
    assert verified.holds, verified.failed
    assert {str(check.title) for check in verified.checks} >= {"Records", "cost + stay: values"}
    assert parts == whole
    assert first.digest == second.digest
    assert sorted(
        path.name for path in (tmp_path / "parts").rglob("*") if path.is_file()
    ) == sorted(whole)


def test_the_checks_before_a_release_count_in_all_rows(ward):
    with ward(frame_of()) as project:
        _, whole, attributes = looked_at(project, whole_of(project), Silent())
        _, parts, counted = looked_at(project, long_of(project), Silent())
        [wanted], [found] = (
            settle(project, table, ["Clinic A"], "Nobody is in it.", Silent())
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
        monkeypatch.setattr(buckets.pa.ipc, "new_stream", full)
        with pytest.raises(DiskFull):
            bundle(project, table, tmp_path / "out", "parquet")
        assert project.releases == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ward.parquet", "ward.sfumato"]


MISFITS = {
    "a value outside": ("illness", 211, "Secret", DomainError, "illness.*row 212"),
    "a missing value": ("illness", 211, None, DomainError, "illness.*row 212"),
    "no key": ("person", 211, None, TableError, "person.*row 212"),
    "a key twice": ("person", 211, "P00007é", TableError, "1 key stands in several rows"),
}


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


@pytest.mark.parametrize("reports", [1, 5, 9, 14])
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
        frame = frame_of().iloc[:-1]
        pa.parquet.write_table(
            pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "ward.parquet"
        )
        with pytest.raises(TableError, match="changed while it was read"):
            bundle(project, table, tmp_path / "out", "parquet")


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
        _, _, counted = looked_at(project, long_of(project), Silent())
        assert parts == whole
        assert counted["stay"].counts.sum() == ROWS
        narrow = binned(hospital_document(ROWS), (0.0, 10.0, 20.0))
        columns = {each.name: each for each in narrow.columns}
        document = project.document.with_column(columns["stay"])
        with pytest.raises(DomainError, match=r"stay .*There may be more") as refused:
            long_of(project).summary(document, Silent())
    first = int((frame["stay"] > 20.0).to_numpy().argmax()) + 1
    assert f"first in row {first}." in str(refused.value)


@pytest.mark.parametrize("format_name", ["sav", "dta"])
def test_formats_that_are_made_in_memory_are_refused(ward, tmp_path, format_name):
    with ward(frame_of()) as project, pytest.raises(SfumatoError, match="300 rows"):
        bundle(project, long_of(project), tmp_path / "out", format_name)


def test_what_needs_all_rows_at_once_is_said():
    document = hospital_document(ROWS)
    assert "weights" in reason_for_whole(document)
    plain = replace(document, columns=tuple(map(unweighted, document.columns)))
    assert not reason_for_whole(plain)
    assert "position" in reason_for_whole(replace(plain, record_key=None))
    unit = Unit(("zip",), 3)
    assert "units" in reason_for_whole(replace(plain, unit=unit))
    viewed = replace(document.recipients[0], view=ViewRule(2, 0.0, {"age": 1}))
    assert "Clinic A" in reason_for_whole(replace(plain, recipients=(viewed,)))
