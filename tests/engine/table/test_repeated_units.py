"""Finding the columns that say which rows belong together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.repeated_units import (
    RowsOfUnits,
    find_repeated_units,
    may_name_units,
    repeated_unit,
    units_of,
    varying_units,
)
from sfumato.engine.table.table import Table
from tests.samples.make_households import households


def test_the_household_number_is_found_with_what_is_the_same_in_a_household():
    frame = households(300)
    found, *others = find_repeated_units(Table(frame), Silent())
    assert {other.column for other in others} <= {"rent"}  # a rare rent brings households together
    assert found.column == "household"
    assert found.units == 300
    assert found.largest == frame["household"].value_counts().max()
    assert dict(found.constant) == {"region": 1.0, "water": 1.0, "rent": 1.0}


def test_what_differs_in_a_few_households_is_nearly_the_same():
    frame = households(300)
    first = frame.index[frame["household"].duplicated()][0]
    frame.loc[first, "water"] = "truck" if frame.loc[first, "water"] != "truck" else "well"
    found = find_repeated_units(Table(frame), Silent())[0]
    assert 0.99 < found.constant["water"] < 1.0


def test_a_table_of_single_persons_has_no_units():
    frame = households(300).drop_duplicates("household").reset_index(drop=True)
    assert find_repeated_units(Table(frame), Silent()) == ()


def test_a_rare_value_is_no_sign_of_units_although_it_is_mostly_the_same():
    rng = np.random.default_rng(1)
    numbers = np.repeat(np.arange(200), 3)
    rare = rng.random(600) < 0.01
    table = Table(pd.DataFrame({"number": numbers, "rare": rare}))
    assert find_repeated_units(table, Silent()) == ()
    assert dict(repeated_unit(table, "number", Silent()).constant) == {}


def test_units_named_by_several_columns_are_told_apart_by_all_of_them():
    frame = pd.DataFrame({"street": ["a", "a", "b", "b"], "house": [1, 2, 1, 1]})
    assert units_of(Table(frame), ["street", "house"]).tolist() == [0, 1, 2, 2]


def test_a_row_that_belongs_nowhere_is_named():
    frame = pd.DataFrame({"household": ["a", None, "b"]})
    with pytest.raises(TableError, match=r"household .* missing in 1 row, first in row 2"):
        units_of(Table(frame), ["household"])


def test_a_column_of_different_values_brings_no_rows_together():
    frame = pd.DataFrame({"person": [1, 2, 3], "water": ["a", "b", "b"]})
    with pytest.raises(TableError, match="No two rows share a value of person"):
        repeated_unit(Table(frame), "person", Silent())


def test_missing_numbers_are_alike():
    units = np.array([0, 0, 1, 1])
    numbers = np.array([np.nan, np.nan, 1.0, np.nan])
    assert varying_units(units, numbers).tolist() == [False, True]


def test_no_column_that_names_units_is_ruled_out_by_rows_drawn_evenly():
    rng = np.random.default_rng(3)
    rows = 400_000
    whole = pd.DataFrame(
        {
            "household": np.repeat(np.arange(rows // 100), 100),  # as many rows a unit as may be
            "region": rng.integers(0, 30, rows),
            "income": rng.lognormal(size=rows),
        }
    )
    for share in (0.05, 0.2, 1.0):
        sample = whole.sample(frac=share, random_state=1)
        ruled = {name: may_name_units(sample[name], rows) for name in whole.columns}
        assert ruled == {"household": True, "region": False, "income": False}


@pytest.mark.parametrize("among", [None, ("household",)])
def test_rows_are_kept_for_columns_only_that_may_name_units(among):
    rows = 4_000
    frame = pd.DataFrame({"household": np.arange(rows) // 4, "water": np.arange(rows) // 4 % 7})
    found = RowsOfUnits(tuple(frame.columns), among=among)
    for start in range(0, rows, 700):
        found.add(Table(frame.iloc[start : start + 700].reset_index(drop=True), is_part=True))
    [unit] = found.found()
    assert unit.column == "household"
    assert unit.constant == {"water": 1.0}


def test_among_many_columns_those_are_found_that_hold_within_nine_tenths_of_the_units():
    rng = np.random.default_rng(12)
    units = 300
    home = np.repeat(np.arange(units), 3)
    frame = {"home": [f"h{number}" for number in home]}
    for place, varying in enumerate((0.0, 0.05, 0.09, 0.12, 0.5)):
        codes = rng.integers(0, 50, units)[home]
        codes[: 3 * round(varying * units) : 3] += 50
        frame[f"v{place}"] = codes
    frame |= {f"free{place}": rng.integers(0, 5, 3 * units) for place in range(200)}
    found = repeated_unit(Table(pd.DataFrame(frame)), "home", Silent())
    assert list(found.constant) == ["v0", "v1", "v2"]
    assert found.constant["v1"] == pytest.approx(0.95)


def test_columns_that_differ_within_a_tenth_of_the_units_are_told_apart_from_others():
    # The first units compared refute most columns, the others those that differ later only.
    rng = np.random.default_rng(8)
    units = np.repeat(np.arange(200), 2)
    columns = {"household": units}
    for differing in (0, 10, 19, 21, 22, 40, 200):
        for order, of in {"first": np.arange(200), "last": np.arange(200)[::-1]}.items():
            values = rng.integers(0, 1_000, 200)[units] * 2
            values[2 * of[:differing] + 1] += 1
            columns[f"{differing} {order}"] = values
    found = repeated_unit(Table(pd.DataFrame(columns)), "household", Silent()).constant
    expected = {f"{n} {order}": 1.0 - n / 200 for n in (0, 10, 19) for order in ("first", "last")}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("rows", [127, 128, 129, 130])
def test_a_column_with_as_many_values_as_rows_hides_no_unit(rows):
    unit = np.arange(rows) // 3
    columns = {"own": np.arange(rows), "unit": unit, "kind": unit % 7, "other": np.arange(rows) % 5}
    found = find_repeated_units(Table(pd.DataFrame(columns)), Silent())
    assert [(each.column, set(each.constant)) for each in found] == [("unit", {"kind"})]
