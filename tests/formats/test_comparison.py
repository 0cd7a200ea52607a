"""The same value in another type is the same value; another one is not."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import Domain
from sfumato.formats.comparison import (
    codes_in,
    common_positions,
    decoded,
)
from tests.thorough import tried

SAME = {
    "text and categories": (["a", None, "b"], pd.Categorical(["a", None, "b"])),
    "whole and decimal": ([1, 2, 3], [1.0, 2.0, 3.0]),
    "whole and nullable": ([1.0, np.nan, 3.0], pd.array([1, None, 3], "Int64")),
    "coded categories": (pd.Categorical([1, 2, None]), pd.array([1, 2, None], "Int64")),
    "yes and no": (pd.array([True, None], "boolean"), pd.array([True, None], "boolean")),
    "yes as an object": ([True, False], pd.array([True, False], "boolean")),
    "days": (
        pd.to_datetime(["2024-01-01", None]),
        pd.Series([dt.date(2024, 1, 1), None], dtype=object),
    ),
    "days as text": (pd.Categorical(["2024-01-01"]), pd.to_datetime(["2024-01-01"])),
    "moments": (
        pd.Series(pd.to_datetime(["2024-01-01T10:00:01"])).astype("datetime64[s]"),
        pd.Series(pd.to_datetime(["2024-01-01T10:00:01"])).astype("datetime64[ns]"),
    ),
    "exact decimals": ([Decimal("1.5"), Decimal("2")], [1.5, 2.0]),
    "empty text and missing": (["", "a"], [None, "a"]),
}

DIFFERENT = {
    "text": (["a", "b"], ["a", "c"]),
    "case": (["a"], ["A"]),
    "a number and its text": (pd.Categorical([1]), pd.Categorical(["1"])),
    "missing": ([1.0, 2.0], [1.0, np.nan]),
    "beyond decimals": ([2**53], [2**53 + 1]),
    "beyond signed numbers": (np.array([2**64 - 1], np.uint64), np.array([2**64 - 2], np.uint64)),
    "the last digit": ([0.1 + 0.2], [0.3]),
    "an unknown category": (pd.Categorical(["a"]), pd.Categorical(["zebra"])),
    "yes and one": (pd.Categorical([True]), pd.Categorical([1])),
}


def differing(expected, actual):
    return np.not_equal(*common_positions(expected, actual))


@pytest.mark.parametrize("name", SAME)
def test_the_same_values_in_other_types_do_not_differ(name):
    expected, actual = (pd.Series(values) for values in SAME[name])
    assert not differing(expected, actual).any()
    assert not differing(actual, expected).any()


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_values_differ(name):
    expected, actual = (pd.Series(values) for values in DIFFERENT[name])
    assert differing(expected, actual)[-1]
    assert differing(actual, expected)[-1]


NUMBERS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([0.1, -0.0, 2.5, np.inf]))


@settings(deadline=None, max_examples=tried(60))
@given(st.lists(NUMBERS, min_size=1, max_size=12), st.lists(NUMBERS, min_size=1, max_size=12))
def test_numbers_are_equal_where_they_are_as_objects(left, right):
    numbers = [pd.Series(each, dtype="float64") for each in (left, right)]
    found = np.concatenate(common_positions(*numbers))
    as_objects = np.concatenate(common_positions(*(each.astype(object) for each in numbers)))
    assert ((found == -1) == (as_objects == -1)).all()
    assert ((found < -1) == (as_objects < -1)).all()
    assert ((found[:, None] == found) == (as_objects[:, None] == as_objects)).all()


VALUES = st.one_of(st.none(), st.text(max_size=3), st.sampled_from(["NA", "nan", " "]))


@pytest.mark.slow
@settings(deadline=None, max_examples=tried(60))
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=30))
def test_texts_differ_exactly_where_they_differ(pairs):
    left, right = ([pair[side] or None for pair in pairs] for side in (0, 1))
    wanted = [one != other for one, other in zip(left, right, strict=True)]
    for make in (lambda v: pd.Series(v, dtype="str"), lambda v: pd.Series(pd.Categorical(v))):
        for other in (lambda v: pd.Series(v, dtype="str"), lambda v: pd.Series(pd.Categorical(v))):
            assert list(differing(make(left), other(right))) == wanted


def test_codes_of_a_domain_are_found_in_any_type():
    domain = Domain((1, 2, None))
    assert list(codes_in(domain, pd.Series([2.0, np.nan, 1.0]))) == [1, 2, 0]
    codes = codes_in(domain, pd.Series(pd.array([1, 7, None], "Int64")))
    assert codes[0] == 0
    assert codes[1] < 0
    assert codes[2] == 2


def test_a_missing_value_outside_the_domain_is_outside():
    assert codes_in(Domain(("a", "b")), pd.Series(["a", None]))[1] < 0


def test_codes_become_values_again():
    domain = Domain(("a", "b", None))
    column = pd.Series(["b", None, "a"], dtype="str")
    found = decoded(domain, codes_in(domain, column), "x")
    assert found.name == "x"
    assert [None if pd.isna(value) else value for value in found] == ["b", None, "a"]
