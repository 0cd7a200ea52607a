"""A long table whose records are released by groups: in parts it is as in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.analysis.readiness.readiness import looked_at, settle
from sfumato.engine.core.columns import Binning, Coding, ColumnSpec, Domain, Role
from sfumato.engine.core.errors import DomainError, TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.options import ReadOptions
from sfumato.formats.tables import delimited, parquet
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release import bucket_counts, groups, release_stream
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.table_survey import survey_of
from sfumato.project.source import open_long_source, read_source
from sfumato.project.verification.found import verify_file
from sfumato.project.verification.leak import read_leak, trace_file
from tests.in_batches import in_batches
from tests.project.making import new_project
from tests.project.test_long_leak import LEAKS, told

ROWS = 900
ILLNESSES = ("asthma", "cold", "flu", "gout")


def frame_of():
    numbers = np.random.default_rng(3)
    age = pd.array(numbers.integers(18, 78, ROWS), dtype="Int64")
    age[600] = pd.NA
    return pd.DataFrame(
        {
            "person": [f"P{one:04}" for one in numbers.permutation(ROWS)],
            "sex": [None if one == 500 else "mf"[one % 2] for one in range(ROWS)],
            "age": age,
            "kids": pd.array([pd.NA if one == 700 else one % 2 for one in range(ROWS)], "Int64"),
            "wage": numbers.normal(3000, 900, ROWS).round(2),
            "seen": pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(ROWS) % 2, unit="D"),
            "ward": numbers.choice(["A", "B", "C"], ROWS, p=[0.7, 0.2, 0.1]),
            "illness": numbers.choice(ILLNESSES, ROWS, p=[0.55, 0.25, 0.15, 0.05]),
        }
    )


def document_of(source, public=("sex", "age", "wage"), record_key="person", **settings):
    by_groups = {"epsilon": 0.3, "delta": 0.17, "public": list(public), **settings}
    return Document(
        title="Ward 7",
        source=source,
        columns=(
            ColumnSpec("person", Role.IDENTIFYING, "text"),
            ColumnSpec("sex", Role.QUASI_IDENTIFIER),
            ColumnSpec("age", Role.QUASI_IDENTIFIER, "numeric", binning=Binning((0, 40, 99))),
            ColumnSpec("kids", Role.INSENSITIVE, "numeric"),
            ColumnSpec("wage", Role.INSENSITIVE, "numeric", coding=Coding(top=3001.0, step=3000.0)),
            ColumnSpec("seen", Role.INSENSITIVE, "date"),
            ColumnSpec("ward", Role.SENSITIVE),
            ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESSES)),
        ),
        record_key=record_key,
        policy=(
            PolicyEntry(("ward",), "reconstruction", by_groups),
            PolicyEntry(("illness",), "uniform", {}),
        ),
        recipients=tuple(
            Recipient(name, {key: {"retention_probability": p} for key in ("ward", "illness")})
            for name, p in (("Clinic A", 0.5), ("Public", 0.2))
        ),
    )


@pytest.fixture(params=["parquet", "csv"])
def file(request, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_LONG", 1)
    monkeypatch.setattr(bucket_counts, "BUCKET_ROWS", 200)
    monkeypatch.setattr(bucket_counts, "BUCKET_NUMBERS", 200)
    monkeypatch.setattr(bucket_counts, "HELD_NUMBERS", 0)
    path = tmp_path / f"ward.{request.param}"

    def written(frame):
        if request.param == "csv":
            frame.to_csv(path, index=False)
        else:
            pa.parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
        return path

    return written


@pytest.fixture
def opened(file, tmp_path):
    """Makes a project of a frame, with its table in parts and in memory."""

    def made(frame=None, **stated):
        path = file(frame_of() if frame is None else frame)
        options = ReadOptions(format=path.suffix[1:])
        table, source = read_source(path, options, Silent())
        table = table.in_memory(Silent())
        project = new_project(tmp_path, document_of(source, **stated))
        return project, open_long_source(project.document, Silent(), tmp_path)[0], table

    return made


def batches_of(monkeypatch, rows):
    for each in (delimited, parquet):
        monkeypatch.setattr(each, "BATCH_ROWS", rows)


def bundle(project, table, recipient, folder):
    made = make_release(project, in_batches(table), recipient, folder, "csv", Silent())
    return made, {path.name: path.read_bytes() for path in made.path.iterdir()}


HOW = {
    "some columns": {},
    "all columns": {"public": ("sex", "age", "kids", "wage", "seen")},
    "as published": {"sampling": "published"},
    "records known by their position": {"record_key": None},
}


@pytest.mark.slow
@pytest.mark.turns(4)
@pytest.mark.parametrize(("how", "rows"), list(zip(HOW, [170, 333, 5000, 170], strict=True)))
def test_a_bundle_made_in_parts_is_that_of_the_whole_table(
    opened, tmp_path, monkeypatch, how, rows
):
    batches_of(monkeypatch, rows)
    project, long, table = opened(**HOW[how])
    with project:
        attribute = attributes_of(project.document, table)["ward"]
        sizes = attribute.groups.sizes
        for name in ("Clinic A", "Public"):
            _, whole = bundle(project, table, name, tmp_path / "whole")
            made, parts = bundle(project, long, name, tmp_path / "parts")
            assert parts == whole
            verified = verify_file(project, in_batches(long), made.path, Silent())
            assert verified.holds, verified.failed
            assert "ward: values" in {str(each.title) for each in verified.checks}
    assert len(sizes) > 3
    assert sizes.max() > 50 > sizes.min()  # some groups are drawn from, others left whole


@pytest.mark.few(1)
def test_a_table_whose_groups_are_too_small_to_be_drawn_from_is_released_in_parts(
    opened, tmp_path, monkeypatch
):
    batches_of(monkeypatch, 333)
    project, long, table = opened(frame_of().iloc[:8].reset_index(drop=True))
    with project:
        _, whole = bundle(project, table, "Clinic A", tmp_path / "whole")
        made, parts = bundle(project, long, "Clinic A", tmp_path / "parts")
        assert parts == whole
        assert verify_file(project, in_batches(long), made.path, Silent()).holds


@pytest.mark.slow
def test_what_the_checks_find_and_levels_mean_is_as_in_memory(opened, monkeypatch):
    batches_of(monkeypatch, 70)
    project, long, table = opened()
    with project:
        _, _, wanted = looked_at(project.document, in_batches(table), project.keys, Silent())
        _, _, found = looked_at(project.document, in_batches(long), project.keys, Silent())
        survey = survey_of(long, Silent(), "person")
        surveyed = survey.attributes_of(project.document, Silent())
        told, again = (
            [
                (one.check, str(one.sentence))
                for each in settle(project, in_batches(one), ["Clinic A"], "It is small.", Silent())
                for one in each.findings
            ]
            for one in (table, long)
        )
    for each in (found, surveyed):
        one, other = each["ward"].groups, wanted["ward"].groups
        assert one.digest == other.digest
        assert (one.counts != other.counts).nnz == 0
        assert one.names == other.names
    assert again == told


@pytest.mark.few(1)
def test_a_value_that_was_altered_in_a_bundle_is_found_in_parts(opened, tmp_path, monkeypatch):
    batches_of(monkeypatch, 333)
    project, long, _ = opened()
    with project:
        made, _ = bundle(project, long, "Clinic A", tmp_path / "parts")
        [data] = made.path.glob("*.csv")
        lines = data.read_text(encoding="utf-8").split("\n")
        place = next(at for at, line in enumerate(lines) if at > 40 and '"A"' in line)
        lines[place] = lines[place].replace('"A"', '"B"')
        data.write_text("\n".join(lines), encoding="utf-8", newline="")
        verified = verify_file(project, in_batches(long), made.path, Silent())
    assert not verified.holds
    assert {"ward: values"} <= {str(each.title) for each in verified.failed}


def test_too_many_combinations_or_too_large_groups_are_refused_by_name(
    opened, tmp_path, monkeypatch
):
    project, long, _ = opened()
    with project:
        monkeypatch.setattr(release_stream, "MOST_TOGETHER", 60)
        with pytest.raises(TableError, match=r"ward .* group of more than 60 records"):
            bundle(project, long, "Clinic A", tmp_path / "out")
        monkeypatch.setattr(release_stream, "MOST_TOGETHER", 1000)
        monkeypatch.setattr(release_stream, "MOST_DEALT", 3)
        with pytest.raises(TableError, match=r"ward .* more than 3 samples"):
            bundle(project, long, "Clinic A", tmp_path / "out")
        monkeypatch.setattr(groups, "MOST_COMBINATIONS", 5)
        with pytest.raises(TableError, match=r"ward take more than 5 different combinations"):
            survey_of(long, Silent()).attributes_of(project.document, Silent())
        assert project.releases == ()


def test_a_row_outside_the_bins_that_make_groups_is_named(opened, tmp_path, monkeypatch):
    batches_of(monkeypatch, 70)
    project, long, _ = opened(frame_of().assign(age=lambda f: f["age"].mask(f.index == 811, 120)))
    with project, pytest.raises(DomainError, match=r"age.*row 812"):
        bundle(project, long, "Clinic A", tmp_path / "out")


@pytest.mark.slow
@pytest.mark.turns(4)
@pytest.mark.parametrize("how", ["some columns", "records known by their position"])
def test_a_leak_of_what_groups_show_is_traced_in_parts(opened, tmp_path, monkeypatch, how):
    batches_of(monkeypatch, 170)
    project, long, table = opened(**HOW[how])
    with project:
        made, _ = bundle(project, long, "Clinic A", tmp_path / "out")
        first = read_leak(made.path, Silent()).frame
        # Today's policy makes other groups than that of the release.
        entry = project.document.policy[0]
        other = replace(entry, settings={**entry.settings, "public": ["sex", "kids"]})
        policy = (other, *project.document.policy[1:])
        project.save_document(replace(project.document, policy=policy))
        verdicts = {}
        for name in ("all", "altered"):
            leak = Table(LEAKS[name](first).reset_index(drop=True))
            wanted = told(trace_file(project, in_batches(table), leak, Silent()))
            assert told(trace_file(project, in_batches(long), leak, Silent())) == wanted, name
            verdicts[name] = wanted[-1]
    assert "from the release to Clinic A" in verdicts["all"]
