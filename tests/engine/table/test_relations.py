"""Columns that follow from others: found where they do, and only there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.table import relations
from sfumato.engine.table.relations import (
    LinearRelation,
    determined,
    exact_relations,
    linear_relations,
)
from sfumato.engine.table.table import Table

ROWS = 8_000


@pytest.fixture(scope="module")
def books():
    rng = np.random.default_rng(3)
    revenue = rng.lognormal(10, 1, ROWS).round(2)
    costs = rng.lognormal(9, 1, ROWS).round(2)
    celsius = rng.normal(10.0, 8.0, ROWS).round(1)
    return {
        "revenue": revenue,
        "costs": costs,
        "celsius": celsius,
    }


def formulas(numbers, *wanted):
    return [relation.formula for relation in linear_relations(numbers, wanted, Silent())]


def test_sums_and_units_are_found_and_solved_for_the_sensitive_column(books):
    numbers = books | {
        "result": books["revenue"] - books["costs"],
        "fahrenheit": books["celsius"] * 9 / 5 + 32,
    }
    assert formulas(numbers, "result") == [
        "fahrenheit = 1.8·celsius + 32",
        "result = revenue − costs",
    ]
    assert "costs = revenue − result" in formulas(numbers, "costs")


def test_a_total_is_what_is_solved_for_where_nothing_is_sensitive(books):
    numbers = {"left": books["revenue"] - books["costs"], **books}
    assert formulas(numbers) == ["revenue = costs + left"]


def test_one_row_that_differs_is_no_relation(books):
    total = books["revenue"] + books["costs"]
    total[ROWS // 2 + 1] += 1.0
    assert formulas(books | {"total": total}, "total") == []


def test_columns_that_hang_together_do_not_follow(books):
    near = books["revenue"] + np.random.default_rng(4).normal(size=ROWS)
    assert formulas(books | {"near": near}, "near") == []


def test_rows_with_missing_numbers_are_left_out(books):
    costs = books["costs"].copy()
    costs[::7] = np.nan
    numbers = books | {"costs": costs, "total": books["revenue"] + books["costs"]}
    assert formulas(numbers, "total") == ["total = revenue + costs"]


def test_constants_and_few_rows_say_nothing():
    numbers = {"one": np.ones(100), "two": np.arange(100.0)}
    assert formulas(numbers, "one") == []
    few = np.arange(8.0)
    assert formulas({"a": few, "b": 2 * few}, "b") == []


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(5)
    household = rng.integers(0, ROWS // 4, ROWS)
    town = rng.integers(0, 40, ROWS // 4)[household]
    year = rng.integers(0, 30, ROWS)
    return {
        "row": np.arange(ROWS),
        "household": household,
        "town": town,
        "year": year,
        "water": rng.integers(0, 3, ROWS // 4)[household],
        "price": (town * 30 + year) % 7,
        "free": rng.integers(0, 4, ROWS),
    }


def found(codes, *wanted):
    return {(d.name, d.columns) for d in determined(codes, wanted, Silent())}


def test_what_is_constant_within_another_column_is_found(codes):
    assert found(codes, "water") == {("water", ("household",))}


def test_that_rows_of_one_unit_are_alike_shows_nothing(codes):
    household = codes["household"]
    region = household % 9
    both = {"household": household, "region": region, "water": region // 2}
    found = determined(both, ["water"], Silent(), units=household)
    assert {each.columns for each in found} == {("region",)}
    assert not determined(codes, ["water"], Silent(), units=household)


def test_two_columns_that_determine_one_together_are_found(codes):
    assert ("price", ("town", "year")) in found(codes, "price")


def test_keys_and_columns_that_chance_would_agree_with_determine_nothing(codes):
    assert found(codes, "free") == set()
    rare = np.zeros(ROWS, dtype=np.int64)
    rare[0] = 1
    assert found({"town": codes["town"], "rare": rare}, "rare") == set()


def test_relations_are_said_in_words(codes, books):
    [single] = determined(codes, ["water"], Silent())
    assert single.sentence.startswith("household determines water:")
    numbers = books | {"total": books["revenue"] + books["costs"]}
    [total] = linear_relations(numbers, ["total"], Silent())
    assert total.sentence.startswith("total = revenue + costs in every row:")


def test_a_table_tells_its_sums_and_what_determines_what_and_no_keys(books):
    rows = len(books["revenue"])
    town = np.arange(rows) % 7
    frame = pd.DataFrame(books | {"left": books["revenue"] - books["costs"]}).assign(
        person=np.arange(rows),
        town=np.array([f"town {place}" for place in town]),
        region=np.array([f"region {place}" for place in town // 3]),
    )
    names = tuple(frame.columns)
    found = exact_relations(Table(frame), names, Silent())
    [town_tells] = [each for each in found if each.name == "region"]
    assert town_tells.columns == ("town",)
    assert "protect town as well" in town_tells.advice
    sums = [each for each in found if isinstance(each, LinearRelation)]
    assert sums
    for each in sums:
        left = frame[each.name] - each.constant
        for name, factor in each.terms:
            left = left - factor * frame[name]
        assert np.allclose(left, 0.0)
        assert "protect all" in each.advice
    assert not any("person" in each.columns for each in found)


def test_a_part_of_a_long_table_tells_what_all_of_it_tells(monkeypatch):
    rng = np.random.default_rng(4)
    town = rng.integers(0, 300, 60_000)
    rare = np.where(np.arange(60_000) % 997 == 5, "b", "a")
    frame = pd.DataFrame(
        {
            "town": town,
            "county": town % 7,
            "almost": np.where(np.arange(60_000) == 31, 9, town % 5),
            "gross": town + 3.0,
            "rare": rare,
            "of rare": np.where(rare == "b", "y", "x"),
            "constant": "c",
            "key": np.arange(60_000),
        }
    )
    whole = exact_relations(Table(frame), list(frame), Silent())
    assert {(r.name, r.columns) for r in whole} >= {
        ("county", ("town",)),
        ("of rare", ("rare",)),
        ("rare", ("of rare",)),
    }
    assert "almost" not in {r.name for r in whole}
    monkeypatch.setattr(relations, "_PART", 900)
    assert exact_relations(Table(frame), list(frame), Silent()) == whole


@pytest.mark.slow
def test_among_many_columns_exactly_those_are_found_that_hold_in_every_row():
    rng = np.random.default_rng(8)
    rows = 600
    codes = {f"c{i}": rng.integers(0, rng.integers(2, 40), rows) for i in range(60)}
    codes |= {f"of c{i}": codes[f"c{i}"] % 3 for i in range(5)}
    codes["but one"] = codes["c7"] % 2
    codes["but one"][-1] ^= 1
    codes["key"] = np.arange(rows)
    found = determined(codes, tuple(codes), Silent(), pairs=False)
    expected = []
    for name, of in codes.items():
        spread = 1.0 - np.square(np.bincount(of) / rows).sum()
        for other, by in codes.items():
            groups = len(np.unique(by))
            alike = len(np.unique(np.stack([by, of]), axis=1).T) == groups
            if other != name and alike and (rows - groups) * spread >= 20.0:
                expected.append((name, other))
    assert [(each.name, *each.columns) for each in found] == expected
    assert {("of c2", "c2"), ("of c4", "c4")} <= set(expected)


def test_sums_are_found_among_many_columns():
    rng = np.random.default_rng(9)
    numbers = {f"n{i}": rng.lognormal(3.0, 1.0, 500) for i in range(80)}
    numbers["total"] = numbers["n3"] + numbers["n70"] + 2.0 * numbers["n41"]
    numbers["nearly"] = numbers["n5"] + numbers["n6"] + 1e-3 * rng.normal(size=500)
    [total] = linear_relations(numbers, ["total"], Silent())
    assert total.name == "total"
    assert dict(total.terms) == pytest.approx({"n3": 1.0, "n70": 1.0, "n41": 2.0})
