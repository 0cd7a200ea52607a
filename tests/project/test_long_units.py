"""Rows of a long table that belong to units are released in parts as in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.errors import PolicyError, TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import Table
from sfumato.project.document.entry_plan import unit_refusal
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit, ViewRule
from sfumato.project.release.bucket_counts import SIZES
from sfumato.project.release.leaving_units import leaving_rows
from sfumato.project.release.release_columns import leaving_rows as rows_in_memory
from sfumato.project.release.release_columns import leaving_table, material_of
from sfumato.project.verification.found import verify_file
from tests.in_batches import in_batches
from tests.project import test_long_release
from tests.project.counting_alone import alone_in_release
from tests.project.test_long_release import (
    ROWS,
    bundle,
    findings,
    frame_of,
    in_parts,
    long_of,
    seen_coarsely,
    weighted,
    whole_of,
)
from tests.thorough import tried

ward, small_parts = test_long_release.ward, test_long_release.small_parts


def of_units(frame, units=80):
    """Give each row a house, in which illness and cost are the same."""
    rng = np.random.default_rng(9)
    house = rng.integers(0, units, len(frame))
    first = {h: i for i, h in reversed(list(enumerate(house)))}
    firsts = [first[h] for h in house]
    kept = frame[["illness", "cost"]].iloc[firsts].reset_index(drop=True)
    return frame.assign(house=[f"H{h}" for h in house], **kept)


def by_house(most_rows, *constant):
    def change(document):
        house = ColumnSpec("house", Role.IDENTIFYING, "text")
        unit = Unit(("house",), most_rows, constant)
        document = replace(document, columns=(*document.columns, house), unit=unit)
        kept = tuple(each for each in document.policy if unit_refusal(document, each) is None)
        names = [name for each in kept for name in each.attributes]
        columns = tuple(
            replace(each, role=Role.INSENSITIVE)
            if each.role is Role.SENSITIVE and each.name not in names
            else each
            for each in document.columns
        )
        return replace(document, columns=columns, policy=kept)

    return change


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("most_rows", [2, 99])
def test_the_bundle_of_units_in_parts_is_that_of_the_whole_table(ward, tmp_path, most_rows, ending):
    with ward(of_units(frame_of()), by_house(most_rows, "illness"), ending) as project:
        whole, first = bundle(project, whole_of(project), tmp_path / "whole", "parquet")
        parts, second = bundle(project, long_of(project), tmp_path / "parts", "parquet")
        [made] = (tmp_path / "parts").iterdir()
        told = [
            verify_file(project, in_batches(t(project)), made, Silent())
            for t in (whole_of, long_of)
        ]
        path = made / "data.parquet"
        shown = pd.read_parquet(path)
        shown.iloc[:-1].to_parquet(path, index=False)
        less = verify_file(project, long_of(project), made, Silent())
    assert parts == whole
    assert first.digest == second.digest
    assert (len(shown) < ROWS) == (most_rows == 2)
    assert told[1].holds, told[1].failed
    records = [str(c.finding) for each in told for c in each.checks if c.title == "Records"]
    assert records[0] == records[1]
    assert "source table that may leave" in records[1]
    assert "1 is missing" in " ".join(str(check.finding) for check in less.failed)


@pytest.mark.turns(2)
@pytest.mark.slow
@pytest.mark.parametrize("k", [4, 1])
def test_views_count_units_in_parts_as_in_memory(ward, tmp_path, k):
    rule = ViewRule(k, 0.9, {"age": 3, "zip": 2, "grade": 1})

    def change(document):
        return by_house(2, "illness")(seen_coarsely(rule)(document))

    with ward(of_units(frame_of()), change) as project:
        whole, _ = bundle(project, whole_of(project), tmp_path / "whole", "parquet")
        parts, _ = bundle(project, long_of(project), tmp_path / "parts", "parquet")
        [made] = (tmp_path / "parts").iterdir()
        wanted, told = (findings(project, table) for table in (whole_of(project), long_of(project)))
        verified = [
            verify_file(project, in_batches(t(project)), made, Silent())
            for t in (whole_of, long_of)
        ]
        path = made / "data.parquet"
        shown = pd.read_parquet(path)
        shown.iloc[[*range(len(shown)), 0]].to_parquet(path, index=False)
        more = [
            verify_file(project, in_batches(t(project)), made, Silent())
            for t in (whole_of, long_of)
        ]
    assert parts == whole
    exact = ("Unique records", "Small classes", "View")
    sentences = [[str(o.sentence) for o in f if o.check in exact] for f in (wanted, told)]
    assert sentences[0] == sentences[1]
    assert any("with the same house" in each for each in sentences[0])
    assert verified[1].holds, verified[1].failed
    for reports, what in ((verified, "units"), (more, "records")):
        kept = [str(c.finding) for r in reports for c in r.checks if "Quasi" in str(c.title)]
        assert kept[0] == kept[1]
        assert f"{what}, and k = {k} was promised" in kept[0]


@pytest.mark.slow
@pytest.mark.parametrize("weights", [False, True])
def test_the_checks_before_a_release_count_units(ward, weights):
    def change(document):
        document = by_house(2, "illness")(document)
        return weighted(document, None) if weights else document

    frame = of_units(frame_of())
    frame["note"] = ["seldom" if i in (7, 9, 200) else "often" for i in range(ROWS)]
    with ward(frame, change) as project:
        wanted, told = (findings(project, table) for table in (whole_of(project), long_of(project)))
    exact = ("Unique records", "Small classes", "Rare labels", "Extreme numbers", "Promises")
    sentences = [str(one.sentence) for one in told if one.check in exact]
    assert sentences == [str(one.sentence) for one in wanted if one.check in exact]
    assert "units (records with the same house)" in sentences[0]
    assert ("By the sampling weights" in sentences[0]) == weights
    assert any("fewer than 3 units" in each for each in sentences)


def test_what_differs_within_a_unit_is_refused_in_parts_in_the_same_words(ward, tmp_path):
    frame = of_units(frame_of())
    frame.loc[211, "illness"] = "gout" if frame.loc[211, "illness"] != "gout" else "flu"
    with ward(frame, by_house(3, "illness")) as project:
        said = []
        for table in (whole_of(project), long_of(project)):
            with pytest.raises(PolicyError, match="illness is stated to be the same") as refused:
                bundle(project, table, tmp_path / "out", "parquet")
            said.append(str(refused.value))
        assert project.releases == ()
    assert said[0] == said[1]
    assert "gout" not in said[0]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_row_without_a_unit_and_a_key_that_stands_twice_are_refused(ward, tmp_path):
    frame = of_units(frame_of())
    for column, row, value, words in (
        ("house", 211, None, "house .*first in row 212"),
        ("person", 211, frame["person"][3], "rows 4 and 212 share a key"),
    ):
        wrong = frame.assign(**{column: frame[column].astype(object)})
        wrong.loc[row, column] = value
        folder = tmp_path / column
        folder.mkdir()
        with ward(wrong, by_house(1)) as project, pytest.raises(TableError, match=words) as refused:
            bundle(project, long_of(project), folder, "parquet")
        assert str(frame["person"][3]) not in str(refused.value)
        (tmp_path / "ward.sfumato").unlink()


@pytest.mark.slow
@settings(max_examples=tried(20))
@given(
    rows=st.integers(2, 60),
    units=st.integers(1, 30),
    most_rows=st.integers(1, 5),
    size=st.integers(1, 70),
    seed=st.integers(0, 2**32 - 1),
    weight=st.booleans(),
)
def test_units_are_counted_in_parts_as_in_memory(rows, units, most_rows, size, seed, weight):
    rng = np.random.default_rng(seed)
    house, flat = rng.integers(0, units, rows), rng.integers(0, 2, rows)
    ill = rng.integers(0, 3, 2 * units)[2 * house + flat]
    frame = pd.DataFrame(
        {
            "person": rng.permutation(rows),
            "house": [f"H{h}" for h in house],
            "flat": np.where(flat > 0, 1.5, -0.0),
            "ill": pd.array([["a", "b", None][i] for i in ill], "str"),
            "place": rng.integers(0, 3, rows),
            "age": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 4, rows)),
            "weight": rng.integers(1, 40, rows) / 7,
        }
    )
    columns = (
        ColumnSpec("person", Role.IDENTIFYING),
        ColumnSpec("house", Role.IDENTIFYING),
        ColumnSpec("flat", Role.IDENTIFYING, "numeric"),
        ColumnSpec("ill", Role.SENSITIVE, domain=Domain(("a", "b", None))),
        ColumnSpec("place", Role.QUASI_IDENTIFIER),
        ColumnSpec("age", kind="numeric"),
        *((ColumnSpec("weight", Role.WEIGHT, "numeric"),) if weight else ()),
    )
    table, keys = Table(frame[[each.name for each in columns]]), KeyRing(bytes(range(32)))
    document = Document(
        columns=columns,
        record_key="person",
        policy=(PolicyEntry(("ill",), "uniform"),),
        unit=Unit(("house", "flat"), most_rows, ("ill",)),
        recipients=(Recipient("R"),),
    )
    wanted = material_of(document, table).encoded["ill"].attribute
    left = leaving_table(document, table, keys)
    of = units_of(left, document.unit.columns)
    with TemporaryDirectory() as folder:
        long = leaving_rows(in_parts(table, size, Path(folder)), document, keys, Silent())
        places = np.concatenate([rows for _, rows in long.read(["person"], "", Silent())])
        summary = long.summary(document, Silent())
    assert places.tolist() == rows_in_memory(document, table, keys).tolist()
    assert long.units.number == int(of.max()) + 1
    assert long.units.sizes == pd.Series(of).value_counts().value_counts().to_dict()
    assert summary.encoded["ill"].attribute.counts.tolist() == wanted.counts.tolist()
    assert summary.alone == alone_in_release(document, left, Silent())
    classes = left.frame[list(summary.alone.columns)]
    together = classes.groupby(list(classes), dropna=False).ngroup()
    sizes = pd.Series(of).groupby(together).transform("nunique")
    assert list(summary.small) == np.bincount(sizes[sizes <= SIZES], minlength=SIZES + 1).tolist()
    for name in ("place", "age"):
        found = pd.Series(of).groupby(left.frame[name].to_numpy()).nunique()
        counts = summary.columns[name].counts
        assert sorted(counts.tolist()) == sorted(np.minimum(found, 4).tolist())
        if len(found):
            ends = [min(int(found.iloc[at]), 2) for at in (0, -1)]
            assert list(summary.columns[name].ends) == ends
