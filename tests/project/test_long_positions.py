"""Records of a long table that are told apart by their position, and a column that leaves alone."""

from __future__ import annotations

import csv
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.formats.options import BadValues, RaggedRows
from sfumato.formats.tables import delimited, parquet
from sfumato.project.document.model import ViewRule
from sfumato.project.errors import SourceChanged
from sfumato.project.release.release import make_plan
from sfumato.project.source import accept_edition, read_source
from sfumato.project.verification.found import verify_file
from tests.in_batches import in_batches
from tests.project import test_long_release
from tests.project.test_long_release import (
    OPTIONS,
    bundle,
    frame_of,
    long_of,
    seen_coarsely,
    whole_of,
)
from tests.project.test_long_units import by_house, of_units

ward, small_parts = test_long_release.ward, test_long_release.small_parts


def by_position(document):
    return replace(document, record_key=None)


def same_in_parts(project, folder, format_name="parquet"):
    """Release in memory and in parts, which have to agree; return how many rows were released."""
    whole, _ = bundle(project, whole_of(project), folder / "whole", format_name)
    parts, _ = bundle(project, long_of(project), folder / "parts", format_name)
    assert parts == whole
    [made] = (folder / "parts").iterdir()
    for table in (long_of(project), whole_of(project)):
        verified = verify_file(project, in_batches(table), made, Silent())
        assert verified.holds, verified.failed
    if format_name == "parquet":
        return pa.parquet.read_table(made / "data.parquet").num_rows
    with (made / "data.csv").open(encoding="utf-8", newline="") as file:
        return sum(1 for _ in csv.reader(file)) - 1


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize(("size", "order"), [(19, ""), (64, "The register is public."), (1000, "")])
def test_parts_of_any_size_are_released_as_the_whole_table(
    ward, tmp_path, monkeypatch, ending, size, order
):
    def change(document):
        return replace(by_position(document), rows_as_in_table=order)

    for each in (delimited, parquet):
        monkeypatch.setattr(each, "BATCH_ROWS", size)
    with ward(frame_of(), change, ending) as project:
        rows = same_in_parts(project, tmp_path, "csv" if ending == "parquet" else "parquet")
    assert rows == len(frame_of())


@pytest.mark.slow
def test_the_rows_of_several_files_stand_as_they_do_in_memory(ward, tmp_path):
    frame, folder = frame_of(), tmp_path / "parts of it"
    folder.mkdir()
    with ward(frame, by_position) as project:
        for name, start in (("10", 0), ("2", 90), ("b", 210)):
            part = frame.iloc[start : {0: 90, 90: 210, 210: None}[start]]
            held = pa.Table.from_pandas(part, preserve_index=False)
            pa.parquet.write_table(held, folder / f"{name}.parquet", row_group_size=50)
        _, source = read_source(folder, OPTIONS["parquet"], Silent())
        project.save_document(replace(project.document, source=source))
        assert same_in_parts(project, tmp_path) == len(frame)


@pytest.mark.slow
def test_rows_that_are_left_out_do_not_count(ward, tmp_path, monkeypatch):
    options = replace(OPTIONS["csv"], ragged_rows=RaggedRows.SKIP, bad_values=BadValues.SKIP)
    monkeypatch.setitem(OPTIONS, "csv", options)
    frame = frame_of().astype({"far": object})
    frame.loc[[3, 71, 72, 299], "far"] = "unknown"
    with ward(frame, by_position, "csv") as project:
        path = tmp_path / "ward.csv"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([*lines[:9], "short,line\n", *lines[9:]]))
        _, source = read_source(path, options, Silent())
        project.save_document(replace(project.document, source=source))
        assert same_in_parts(project, tmp_path) == len(frame) - 4


VIEW = ViewRule(2, 0.9, {"age": 2, "zip": 2, "grade": 0})


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("rules", [(), (VIEW,)], ids=["as it is", "a view"])
@pytest.mark.parametrize("most_rows", [1, 3])
def test_which_rows_of_a_unit_leave_follows_from_where_they_stand(ward, tmp_path, most_rows, rules):
    frame = of_units(frame_of())

    def change(document):
        rule = rules or (None,)
        return by_position(seen_coarsely(*rule)(by_house(most_rows, "illness")(document)))

    with ward(frame, change) as project:
        left = same_in_parts(project, tmp_path)
    kept = frame.groupby("house").size().clip(upper=most_rows).sum()
    assert left == kept


def alone(name):
    """Nothing leaves but one column."""

    def change(document):
        columns = [
            each
            if each.name == name
            else replace(each, role=Role.IDENTIFYING, pseudonym=None, coding=None)
            for each in document.columns
        ]
        first = document.recipients[0]
        stated = {key: level for key, level in first.statements.items() if key == name}
        return replace(
            document,
            columns=tuple(columns),
            policy=tuple(each for each in document.policy if each.key == name),
            hierarchies={},
            recipients=(replace(first, statements=stated),),
        )

    return change


@pytest.mark.turns(4)
@pytest.mark.few(1)
@pytest.mark.parametrize("format_name", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["illness", "ward", "dose", "zip", "visits", "far"])
def test_a_column_that_leaves_alone_is_written_as_in_memory(ward, tmp_path, name, format_name):
    with ward(frame_of(), alone(name), "csv") as project:
        assert same_in_parts(project, tmp_path, format_name) == len(frame_of())


@pytest.mark.few(1)
@pytest.mark.parametrize("truly", [0, 1], ids=["none", "one"])
def test_a_missing_value_that_is_drawn_stands_in_its_line(ward, tmp_path, truly):
    frame = frame_of()
    frame["ward"] = frame["ward"].fillna(7)
    frame.loc[: truly - 1, "ward"] = None
    with ward(frame, alone("ward")) as project:
        same_in_parts(project, tmp_path, "csv")
        [made] = (tmp_path / "parts").iterdir()
    assert b'\r\n""\r\n' in (made / "data.csv").read_bytes()


@pytest.mark.slow
def test_a_plan_for_a_cluster_is_refused_and_so_is_another_table(ward, tmp_path):
    with ward(frame_of(), by_position) as project:
        places = (tmp_path / "plan.json", tmp_path / "keys")
        for table in (whole_of, long_of):
            with pytest.raises(PolicyError, match="told apart by their position"):
                make_plan(project, in_batches(table(project)), "Clinic A", *places, Silent())
            assert not any(place.exists() for place in places)
        bundle(project, long_of(project), tmp_path / "out", "parquet")
        other = tmp_path / "next month.parquet"
        shown = pa.Table.from_pandas(frame_of().iloc[1:], preserve_index=False)
        pa.parquet.write_table(shown, other)
        with pytest.raises(SourceChanged, match="position"):
            accept_edition(project, other, Silent(), memory=0)
