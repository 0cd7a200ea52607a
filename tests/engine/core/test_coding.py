"""Rounding and cutting off numbers that leave unperturbed, checked number by number."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.core.columns import Coding, beyond
from sfumato.engine.core.errors import DomainError
from sfumato.engine.table.profile import SHARED_BY, EndsNotNeeded, alone_at_ends, suggest_ends

AGES = pd.Series([0, 4, 17, 62, 91, 104], name="age")


def test_ends_are_shown_in_the_place_of_what_lies_beyond():
    assert Coding(bottom=5, top=90).apply(AGES).tolist() == [5, 5, 17, 62, 90, 90]
    assert beyond(AGES, Coding(bottom=5, top=90)) == 4
    assert Coding(bottom=5, top=90).sentences == ("5 means 5 or less", "90 means 90 or more")


def test_whole_numbers_stay_whole_and_exact_however_large():
    large = pd.Series([2**60 + 1, 7], name="x")
    coded = Coding(bottom=8).apply(large)
    assert coded.tolist() == [2**60 + 1, 8]
    assert coded.dtype == np.int64


def test_halves_are_rounded_up_and_multiples_have_no_dust():
    assert Coding(step=5).apply(pd.Series([0, 2, 3, 7, 8])).tolist() == [0, 0, 5, 5, 10]
    assert Coding(step=2).apply(pd.Series([1, 3])).tolist() == [2, 4]
    assert Coding(step=0.1).apply(pd.Series([0.31, 0.25])).tolist() == [0.3, 0.3]


@pytest.mark.parametrize("dtype", ["Int64", "float64"])
def test_what_is_missing_stays_missing(dtype):
    column = pd.Series([1, None, 50], dtype=dtype)
    shown = Coding(top=40, step=2).apply(column)
    assert shown.isna().tolist() == [False, True, False]
    assert shown.dropna().tolist() == [2, 40]


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30),
    st.floats(-1e5, 0.0),
    st.floats(1.0, 1e5),
    st.sampled_from([None, 0.5, 1.0, 10.0]),
)
def test_every_number_is_shown_as_the_definition_says(numbers, bottom, top, step):
    shown = Coding(bottom, top, step).apply(pd.Series(numbers)).tolist()
    for number, found in zip(numbers, shown, strict=True):
        rounded = number if step is None else math.floor(number / step + 0.5) * step
        assert found == pytest.approx(min(max(rounded, bottom), top))


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"bottom": 5.0, "top": 5.0}, "not below"),
        ({"step": 0.0}, "above 0"),
        ({"top": math.inf}, "finite"),
    ],
)
def test_what_can_t_be_is_refused(stated, said):
    with pytest.raises(DomainError, match=said):
        Coding(**stated)


def test_texts_are_refused_by_their_column():
    with pytest.raises(DomainError, match="Column name"):
        Coding(top=3.0).apply(pd.Series(["a"], name="name"))


def test_proposed_ends_are_reached_by_several_records_each():
    numbers = pd.Series(np.random.default_rng(4).lognormal(10, 1.5, 800))
    found = suggest_ends(numbers)
    assert (numbers >= found.top).sum() >= SHARED_BY
    assert (numbers <= found.bottom).sum() >= SHARED_BY
    assert beyond(numbers, found) < 0.05 * len(numbers)
    assert found.top not in set(numbers)


def test_ends_are_shared_by_several_units_and_not_by_the_rows_of_one():
    """One unit alone has the largest numbers in many rows, and another the smallest."""
    units = np.array([0] * 40 + [1] * 40 + list(range(2, 402)))
    middle = np.random.default_rng(4).uniform(100, 900, 400)
    numbers = pd.Series([5000.0] * 40 + [-70.0] * 40 + list(middle), name="cost")
    with pytest.raises(EndsNotNeeded):
        suggest_ends(numbers)
    found = suggest_ends(numbers, units)
    assert len(set(units[numbers >= found.top])) >= SHARED_BY
    assert len(set(units[numbers <= found.bottom])) >= SHARED_BY
    assert alone_at_ends(numbers) == (0, 0)
    assert alone_at_ends(numbers, units) == (1, 1)


def test_ends_of_whole_numbers_are_whole():
    years = pd.Series([*np.repeat(np.arange(1930, 2020), 9), 2020, 2021, 2022, 2023])
    found = suggest_ends(years)
    assert found.bottom is None
    assert found.top == 2019
    assert alone_at_ends(years) == (0, 1)
    assert alone_at_ends(pd.Series([None, None], dtype="Float64")) == (0, 0)


def test_extremes_that_many_share_need_no_end():
    zeros = pd.Series([0.0] * 50 + list(np.linspace(1, 9, 50)) + [1000.0, 2000.0])
    found = suggest_ends(zeros)
    assert found.bottom is None
    assert found.top < 1000
    with pytest.raises(DomainError, match="Several records share"):
        suggest_ends(pd.Series([1, 2] * 20))
