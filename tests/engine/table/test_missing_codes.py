"""Numbers that look like codes for missing values are found, and others are let alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.table import missing_codes
from sfumato.engine.table.missing_codes import codes_among, suspected_codes
from sfumato.engine.table.table import MissingReasons, Table
from tests.thorough import tried

RNG = np.random.default_rng(20)


def codes(values, labels=None):
    found = codes_among(pd.Series(values, name="x"), labels or {})
    return () if found is None else found.codes


def with_codes(values, *pairs):
    return np.concatenate([values, *(np.full(count, code) for code, count in pairs)])


INCOME = RNG.integers(900, 4000, 400).astype(float)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (with_codes(INCOME, (-7, 13), (-8, 14), (-9, 12), (99999, 15)), (-9, -8, -7, 99999)),
        # Of the census of Adult: no gains for most, up to 41,310 for others.
        (with_codes(np.repeat([0, 0, 0, 2174, 15024, 41310], 50), (99999, 24)), (99999,)),
        (with_codes(RNG.integers(0, 91, 500), (999, 4)), (999,)),
        (with_codes(RNG.integers(1900, 2024, 500), (9999, 5)), (9999,)),
        (with_codes(RNG.integers(0, 8, 500), (98, 3), (99, 5)), (98, 99)),
        (with_codes(RNG.normal(10, 8, 500).round(1), (-99.9, 4)), (-99.9,)),
        (with_codes(RNG.integers(1, 800, 100), (-1, 500)), (-1,)),
        (with_codes(RNG.integers(1, 6, 500), (-8, 5), (-9, 7)), (-9, -8)),
    ],
)
def test_codes_that_repeat_and_stand_apart_are_found(values, expected):
    assert codes(values) == expected
    shuffled = pd.Series(RNG.permutation(values)).astype("Float64")
    shuffled[0] = pd.NA
    assert set(codes(shuffled)) == set(expected)


OWN = np.random.default_rng(21)
WAGES = OWN.lognormal(8, 0.6, 4000)


@pytest.mark.parametrize("rows", [1, 5])
def test_nines_amid_others_are_found_where_they_are_more_frequent_than_what_is_around(rows):
    wages = np.tile(WAGES, rows).round(-2)
    found = codes_among(pd.Series(with_codes(wages, (9999, 300 * rows))), {})
    assert (found.codes, found.count, found.amid) == ((9999,), 300 * rows, True)
    assert not codes(with_codes(wages, (9998, 300 * rows)))
    assert not codes(with_codes(wages[wages < 9_000], (9999, 2)))


@pytest.mark.parametrize(
    "values",
    [
        WAGES.round(-3),  # many at 10,000
        with_codes(WAGES.round(), (9999, 2), (12_000, 2)),
        with_codes(WAGES.round(-2), (10_000, 200), (9999, 300)),  # prices and thresholds
        np.repeat([99.0, 499.0, 999.0, 1499.0, 9999.0, 19_999.0], 50),
        OWN.integers(0, 20_000, 50_000),
        OWN.integers(0, 3_000, 50_000),
        np.minimum(WAGES, 9999.0).round(),  # an end there
    ],
)
def test_nines_amid_others_are_let_alone_that_are_no_more_frequent(values):
    assert not codes(values)


@pytest.mark.parametrize(
    "values",
    [
        RNG.integers(0, 100, 5000),  # ages to 99
        np.minimum(RNG.gamma(9, 8, 5000).round(), 99),  # and with an end there
        RNG.integers(-2, 9, 500),  # floors
        RNG.integers(-9, 10, 500),  # differences
        RNG.normal(5, 8, 500).round(),  # temperatures
        RNG.integers(0, 101, 500),  # shares
        np.arange(9_000, 10_000),  # numbers of records
        RNG.integers(10_115, 100_000, 500),  # postcodes
        with_codes(INCOME, (99999, 1)),  # no code stands once
        with_codes(RNG.integers(0, 20_000, 500), (9998, 30)),  # inside the others
        with_codes(np.array([0.0, 1.0]), (99, 30)),  # too few others to stand apart from
        np.repeat([np.nan, np.inf], 30),
        np.array([]),
    ],
)
def test_other_numbers_are_not_asked_about(values):
    assert codes(values) == ()


@pytest.mark.parametrize("kind", ["float64", "int64", "Int64"])
@pytest.mark.parametrize("seed", range(12))
def test_what_some_rows_rule_out_all_rows_do_not_tell(monkeypatch, seed, kind):
    rng = np.random.default_rng(seed)
    top, low = rng.choice([8, 60, 90, 96, 990]), rng.choice([0, 1, -5, -98])
    pairs = [(rng.choice([99, 98, 77, 999, -9, -1, -99]), rng.integers(1, 30)) for _ in range(3)]
    values = rng.permutation(with_codes(rng.integers(low, top, 12_000), *pairs))
    series = pd.Series(values).astype(kind)
    if kind != "int64":
        series[rng.random(len(series)) < 0.1] = pd.NA if kind == "Int64" else np.nan
    found = codes(series)
    monkeypatch.setattr(missing_codes, "_may_have_codes", lambda _: True)
    assert codes(series) == found


@given(
    st.integers(1, 10_000),
    st.sampled_from(["lognormal", "poisson", "normal", "gamma", "geometric"]),
    st.integers(30, 3000),
)
@settings(max_examples=tried(60), deadline=None)
def test_numbers_without_codes_raise_no_alarm(seed, family, rows):
    rng = np.random.default_rng(seed)
    drawn = {
        "lognormal": lambda: np.exp(rng.normal(rng.uniform(2, 10), 1.2, rows)),
        "poisson": lambda: rng.poisson(rng.choice([0.5, 5, 60, 90]), rows),
        "normal": lambda: rng.normal(rng.uniform(-20, 120), rng.uniform(2, 60), rows),
        "gamma": lambda: rng.gamma(9, 5, rows),
        "geometric": lambda: rng.geometric(rng.uniform(0.02, 0.6), rows),
    }[family]()
    assert codes(drawn.round()) == ()


@pytest.mark.parametrize(
    "label",
    [
        *("Refused", "Don't know", "no answer", "Weiß nicht", "keine Angabe", "verweigert"),
        *("Ne sait pas", "Refus", "No sabe / No contesta", "Non risponde", "weet niet", "nie wiem"),
    ],
)
def test_a_number_labelled_as_no_answer_is_found_wherever_it_stands(label):
    values = with_codes(np.arange(0, 20_000, 40), (9999, 1))
    assert codes(values, {9999: label}) == (9999,)
    assert codes(values, {9999: "ten thousand"}) == ()


def test_categories_that_all_have_labels_are_not_asked_about():
    values = with_codes(RNG.integers(1, 6, 500), (9, 7))
    labels = {**{code: f"class {code}" for code in range(1, 6)}, 9: "refused"}
    assert codes(values, labels) == ()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["yes", "no", "-9"], ("-9",)),
        (["north", "south", "99999999", "-1"], ("-1", "99999999")),
        (["yes", "no", "9"], None),
        (["1", "2", "-9"], None),
        (["up to 5", "10", "-9"], None),
        (["yes", "-9"], None),
        (["yes", "no", "99"], None),
    ],
)
def test_a_code_among_words_is_found_and_no_class_of_numbers(values, expected):
    series = pd.Series(values * 20, name="smoker", dtype="category")
    found = codes_among(series, {})
    assert (found and found.codes) == expected
    if found is not None:
        assert (found.texts, found.count) == (True, 20 * len(expected))
        assert series[list(found.rows)].isin(expected).all()


def test_a_code_among_words_that_no_row_has_or_that_is_labelled_is_let_alone():
    series = pd.Series(["yes", "no"] * 20, dtype=pd.CategoricalDtype(["yes", "no", "-9"]))
    assert codes_among(series, {}) is None
    labelled = pd.Series(["yes", "no", "-9"] * 20, dtype="category")
    assert codes_among(labelled, {"-9": "refused"}) is None


def test_a_table_tells_the_columns_rows_and_counts():
    frame = pd.DataFrame(
        {
            "name": ["a"] * 404,
            "income": with_codes(INCOME, (99999, 4)),
            "yes": [True, False] * 202,
            "x_missing": with_codes(INCOME, (99999, 4)),
        }
    )
    known = {"yes": MissingReasons({}, {}, companion="x_missing")}
    [found] = suspected_codes(Table(frame, missing_reasons=known))
    assert (found.column, found.count, found.rows) == ("income", 4, (400, 401, 402, 403))
    assert "99999" not in repr(found)
