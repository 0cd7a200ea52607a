"""What a bundle holds is a function of the rows that leave, as they leave, and of what is stated.

Two tables that differ in rows that stay behind only, or in values that are coarsened alike, give
the same bytes under the same keys.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engine.core.columns import Binning, Coding, ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.criteria import Suppressed
from sfumato.engine.generalization.hierarchies import Intervals
from sfumato.engine.table.table import Table
from sfumato.project.document.model import (
    Document,
    PolicyEntry,
    Recipient,
    TableSource,
    Unit,
    ViewRule,
)
from sfumato.project.publication.publish import publish_table
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import leaving_rows
from tests.in_batches import in_batches
from tests.project.making import crossed, new_project
from tests.project.test_generalizing import decided
from tests.project.verifying import a_table
from tests.project.verifying import new_project as new_ward

ROWS = 60
TOWNS = [f"town {i}" for i in range(4)]
DAY = pd.Timestamp("2024-03-01")
FORMATS = ("csv", "parquet", "sav", "dta")
COLUMNS = {
    "texts": ("str", ["a", "b"], ["=1+1", "", "ä" * 90, None, 'say "x", and\nmore']),
    "texts that repeat": ("category", ["a", "b"], ["=1+1", "", "ä" * 90, None]),
    "ordered": (
        pd.CategoricalDtype([*TOWNS, "hamlet", "z" * 90, "nobody's"], ordered=True),
        TOWNS,
        ["hamlet", None, "z" * 90],
    ),
    "decimals": ("float64", [0.5, 1.0], [np.inf, -0.0, None, 1e-300, 1e300]),
    "whole": ("Int64", [1, 2], [None, -(2**40), 2**50]),
    "unsigned": ("UInt64", [1, 2], [2**64 - 1, None]),
    "moments": (
        "datetime64[us]",
        [DAY, DAY + pd.Timedelta(1, "D")],
        [DAY + pd.Timedelta(1, "us"), None, DAY + pd.Timedelta(1, "ms")],
    ),
    "yes or no": ("boolean", [True, False], [None]),
}
"""A column's type, the values of rows that leave, and others that rows that stay behind have."""


def frame_with(dtype, usual, odd, at):
    """A table of households, whose rows at some places have odd values in one column."""
    values = [usual[i % len(usual)] for i in range(ROWS)]
    for number, place in enumerate(at):
        values[place] = odd[number % len(odd)]
    return pd.DataFrame(
        {
            "person": [f"P{i:03d}" for i in range(ROWS)],
            "home": [f"H{i // 3:03d}" for i in range(ROWS)],
            "x": pd.Series(values, dtype=dtype),
            "ill": [("flu", "cold", "none")[i % 3] for i in range(ROWS)],
        }
    )


def document(x, **changes):
    return replace(
        Document(
            title="Ward 7",
            source=TableSource("/data/ward.csv", "ab" * 32, ROWS),
            record_key="person",
            columns=(
                ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
                ColumnSpec("home", Role.IDENTIFYING, Kind.TEXT),
                x,
                ColumnSpec("ill", Role.SENSITIVE, domain=Domain(("cold", "flu", "none"))),
            ),
            policy=(PolicyEntry(("ill",), "uniform"),),
            recipients=(Recipient("Clinic A", {"ill": {"retention_probability": 0.5}}),),
        ),
        **changes,
    )


def bundle(project, frame, folder, form, labels=None):
    """The files of a table's bundle, by name."""
    table = Table(frame, {} if labels is None else {"x": labels})
    made = make_release(project, in_batches(table), "Clinic A", folder, form, Silent())
    return {path.name: path.read_bytes() for path in made.path.iterdir()}


@pytest.mark.few(3)
@pytest.mark.turns(4)
@pytest.mark.parametrize(("kind", "form"), crossed([*COLUMNS], FORMATS))
def test_rows_that_stay_behind_leave_no_trace(tmp_path, kind, form):
    dtype, usual, odd = COLUMNS[kind]
    plain = document(ColumnSpec("x", Role.INSENSITIVE), unit=Unit(("home",), 1, ()))
    frame = frame_with(dtype, usual, [], [])
    with new_project(tmp_path, plain) as project:
        leave = set(leaving_rows(plain, Table(frame), project.keys).tolist())
        behind = [row for row in range(ROWS) if row not in leave]
        with_odd = frame_with(dtype, usual, odd, behind)
        without = bundle(project, frame, tmp_path / "without", form)
        assert bundle(project, with_odd, tmp_path / "with", form) == without
    assert len(behind) == 2 * ROWS // 3


NUMBER = ColumnSpec("x", Role.QUASI_IDENTIFIER, Kind.NUMERIC)
ALIKE = {
    "rounded": (replace(NUMBER, coding=Coding(step=10.0)), [7.0, -1.0, 18.0], [12.0, 3.5, 22.0]),
    "cut off": (
        replace(NUMBER, coding=Coding(bottom=10.0, top=20.0)),
        [3.0, 25.0, 13.5],
        [-0.0, np.inf, 13.5],
    ),
    "binned": (
        replace(NUMBER, binning=Binning((0.0, 10.0, 20.0, 30.0))),
        [1.0, 12.0],
        [-0.0, 19.999],
    ),
    "seen by a hierarchy": (NUMBER, [1.0, 12.0], [9.5, 19.75]),
}
"""How a column is coarsened, and two lists of values that it shows alike."""


@pytest.mark.few(3)
@pytest.mark.turns(4)
@pytest.mark.parametrize(("kind", "form"), crossed([*ALIKE], FORMATS))
def test_values_that_are_coarsened_alike_leave_alike(tmp_path, kind, form):
    spec, *values = ALIKE[kind]
    settled = document(spec)
    if spec is NUMBER:
        [clinic] = settled.recipients
        seen = replace(clinic, view=ViewRule(2, 0.0, {"x": 1}))
        tens = {"x": Intervals(width=10.0)}
        settled = replace(settled, recipients=(seen,), hierarchies=tens)
    with new_project(tmp_path, settled) as project:
        made = [
            bundle(project, frame_with("float64", each, [], []), tmp_path / f"out{place}", form)
            for place, each in enumerate(values)
        ]
    assert made[0] == made[1]


@pytest.mark.parametrize("form", FORMATS[:2])
def test_a_zero_that_rounding_or_noise_makes_has_no_sign(tmp_path, form):
    settled = document(replace(NUMBER, coding=Coding(bottom=-0.0, step=0.5)))
    frame = frame_with("float64", [-0.25, 0.1, -3.0], [], [])
    with new_project(tmp_path, settled) as project:
        made = bundle(project, frame, tmp_path / "out", form)
    if form == "csv":
        lines = made["data.csv"].decode().splitlines()[1:]
        assert {line.split(",")[0] for line in lines} == {"0"}
    else:
        found = pq.read_table(pa.BufferReader(made["data.parquet"]))["x"].to_numpy()
        assert not np.signbit(found).any()


LABELS = {
    "Int64": ([1, 2], 3, {1: "one", 2: "two"}),
    "float64": ([1.0, 2.0], 1.5, {1: "one", 2: "two"}),
    "str": (["a", "b"], "c", {"a": "A", "b": "B"}),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("dtype", LABELS)
@pytest.mark.parametrize("behind", [True, False])
def test_labels_are_all_values_where_each_row_that_leaves_has_one(tmp_path, dtype, behind):
    usual, other, labels = LABELS[dtype]
    settled = document(ColumnSpec("x", Role.INSENSITIVE), unit=Unit(("home",), 1, ()))
    frame = frame_with(dtype, usual, [], [])
    with new_project(tmp_path, settled) as project:
        leave = leaving_rows(settled, Table(frame), project.keys).tolist()
        place = min({*range(ROWS)} - {*leave}) if behind else leave[-1]
        one = bundle(
            project, frame_with(dtype, usual, [other], [place]), tmp_path / "one", "csv", labels
        )
    [x, _] = json.loads(one["datapackage.json"])["resources"][0]["schema"]["fields"]
    assert [each["value"] for each in x.get("categories", x.get("sfumato", {}).get("labels"))] == (
        [*labels]
    )
    assert ("categories" in x) == (behind and dtype != "float64")


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize("form", FORMATS[:2])
def test_records_that_are_left_out_of_a_generalized_table_leave_no_trace(tmp_path, form):
    at = np.arange(900)
    frame = a_table().frame.assign(age=30 + at % 2, zip=[f"{i % 3:05d}" for i in at], income=at / 2)
    frame.loc[:2, "age"] = 70
    other = frame.copy()
    other.loc[:2, "age"] = [77, 79, 62]
    other.loc[:2, "income"] = [np.inf, np.nan, -0.0]
    settled = decided(suppression=0.2, suppressed=Suppressed.DROPPED)
    with new_ward(tmp_path, settled) as project:
        made = [
            publish_table(project, in_batches(Table(each)), tmp_path / name, form, Silent()).path
            for name, each in (("one", frame), ("other", other))
        ]
        gone = [each.details["generalization"]["suppressed_rows"] for each in project.releases]
    one, two = ({path.name: path.read_bytes() for path in each.iterdir()} for each in made)
    assert gone == [3, 3]
    assert one == two


@pytest.mark.parametrize("form", FORMATS[:2])
def test_what_a_suppressed_record_is_like_leaves_no_trace(tmp_path, form):
    clinic = Recipient(
        "Clinic A", {"ill": {"retention_probability": 0.5}}, view=ViewRule(2, 0.1, {"x": 1})
    )
    settled = document(NUMBER, recipients=(clinic,), hierarchies={"x": Intervals(width=10.0)})
    with new_project(tmp_path, settled) as project:
        made = [
            bundle(project, frame_with("float64", [1.0, 12.0], rare, [7, 9]), tmp_path / name, form)
            for name, rare in (("one", [95.0, 85.0]), ("other", [-4.5, 205.0]))
        ]
    assert made[0] == made[1]
    assert b"*" in made[0][f"data.{form}"]
