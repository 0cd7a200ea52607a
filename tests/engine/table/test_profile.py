"""Profiles of columns, proposals with their reasons, and suggested bins."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled, DomainError
from sfumato.engine.core.progress import Callback
from sfumato.engine.table.profile import (
    MOST_BARS,
    MOST_TOP,
    BinWidths,
    profile_columns,
    suggest_binning,
    summarize,
)
from sfumato.engine.table.table import Table
from tests.thorough import tried

ROWS = 200


def profile(values, dtype=None, name="x"):
    return summarize(pd.Series(values, dtype=dtype, name=name))


def numbered(text, rows=ROWS):
    return [f"{text} {place}" for place in range(rows)]


def cycled(values, rows=ROWS):
    return list(itertools.islice(itertools.cycle(values), rows))


@pytest.mark.parametrize("dtype", ["str", object, "category"])
def test_texts_are_counted_most_frequent_first(dtype):
    found = profile(["b", "a", "b", None, "b", "a", "c"], dtype)
    assert (found.count, found.missing, found.distinct, found.present) == (7, 1, 3, 6)
    assert [(item.value, item.count) for item in found.top] == [("b", 3), ("a", 2), ("c", 1)]
    assert found.type_name == "text"
    assert found.mean_length == 1.0
    assert found.distribution == pytest.approx((3 / 6, 2 / 6, 1 / 6))


@pytest.mark.parametrize(
    ("values", "dtype", "type_name"),
    [
        ([1, 2], "int64", "whole number"),
        ([1, None], "Int64", "whole number"),
        ([1.0, 2.0], "float64", "whole number"),
        ([1.5, 2.0], "float64", "number"),
        ([True, False], "bool", "yes/no"),
        ([True, None], "boolean", "yes/no"),
        (pd.to_datetime(["2024-01-01", "2024-01-02"]), None, "date"),
        (pd.to_datetime(["2024-01-01 10:00", "2024-01-02 11:00"]), None, "date and time"),
        ([1, "a"], object, "mixed"),
        ([1, 2, 1], "category", "whole number"),
    ],
)
def test_types_have_plain_names(values, dtype, type_name):
    assert profile(values, dtype).type_name == type_name


def test_numbers_are_summed_up_with_quantiles_and_a_histogram():
    values = np.random.default_rng(1).normal(50, 10, 20_000)
    found = profile(np.append(values, [np.nan] * 5))
    numbers = found.numbers
    assert found.missing == 5
    assert found.distinct == 20_000
    assert numbers.minimum == values.min()
    assert numbers.maximum == values.max()
    assert numbers.mean == pytest.approx(values.mean())
    wanted = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
    assert numbers.quantiles == pytest.approx(wanted, abs=0.05)
    counts, edges = np.histogram(values, bins=MOST_BARS)
    assert numbers.edges == pytest.approx(edges)
    assert np.abs(np.array(numbers.counts) - counts).max() <= 1
    assert sum(numbers.counts) == 20_000
    assert sum(found.distribution) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([None, None], "str"),
        ([None, None], "float64"),
        ([None, None], "Int64"),
        ([None, None], "datetime64[us]"),
        ([None, None], "category"),
        ([None, None], "boolean"),
    ],
)
def test_a_column_without_values_has_a_profile(values, dtype):
    found = profile(values, dtype)
    assert (found.count, found.missing, found.distinct) == (2, 2, 0)
    assert found.top == found.distribution == ()
    assert found.numbers is None
    assert found.earliest is None
    assert not found.is_unique


def test_infinite_numbers_do_not_break_a_profile():
    found = profile([1.0, 2.0, np.inf, -np.inf, 3.0])
    assert found.numbers.maximum == np.inf
    assert found.numbers.mean == 2.0
    assert sum(found.numbers.counts) == 3
    assert profile([np.inf, np.inf]).numbers is None


@settings(deadline=None, max_examples=tried(80))
@given(st.lists(st.floats(), min_size=1, max_size=20))
def test_any_numbers_have_a_profile(values):
    found = profile(values, "float64")
    finite = [value for value in values if np.isfinite(value)]
    assert found.missing == sum(np.isnan(values))
    assert sum(found.numbers.counts if found.numbers else ()) == len(finite)
    if finite:
        slack = 1e-12 * max(map(abs, finite))
        assert min(finite) - slack <= found.numbers.mean <= max(finite) + slack


def test_a_single_value_has_a_histogram_of_one_bin():
    found = profile([7, 7, 7])
    assert found.numbers.counts == (3,)
    assert found.numbers.quantiles == (7.0,) * 5


def test_dates_have_ends_and_a_distribution():
    found = profile(pd.to_datetime(["2024-01-31", "2023-05-01", None, "2023-05-01"]))
    assert (found.earliest, found.latest) == ("2023-05-01", "2024-01-31")
    assert found.top[0].value == "2023-05-01"
    assert found.top[0].count == 2
    assert sum(found.distribution) == pytest.approx(1.0)


def test_what_a_profile_holds_is_bounded():
    found = profile(numbered("value", 5000))
    assert found.distinct == 5000
    assert found.is_unique
    assert len(found.top) == MOST_TOP
    assert len(found.distribution) == MOST_BARS


def test_large_whole_numbers_are_told_apart():
    found = profile([2**60, 2**60 + 1, 2**60 + 2])
    assert found.distinct == 3
    assert found.top[0].value == 2**60


@pytest.mark.parametrize("values", [["leukaemia"] * 3, [123456.5] * 3])
def test_the_text_form_of_a_profile_holds_no_values(values):
    text = repr(profile(values))
    assert "leukaemia" not in text
    assert "123456" not in text


def test_profiling_reports_each_column_and_stops_when_asked():
    table = Table(pd.DataFrame({"a": [1], "b": ["x"]}))
    said = []
    profiles = profile_columns(table, Callback(lambda *report: said.append(report), lambda: False))
    assert [column.name for column in profiles] == ["a", "b"]
    assert [fraction for fraction, _ in said] == [0.0, 0.5, 1.0]
    assert "a" in said[0][1]
    with pytest.raises(Cancelled):
        profile_columns(table, Callback(lambda *_: None, lambda: True))


def test_ages_get_the_bins_that_a_person_would_choose():
    ages = pd.Series(np.random.default_rng(3).integers(17, 91, 10_000), name="age")
    equal = suggest_binning(ages, 8, BinWidths.EQUAL)
    assert equal.edges == tuple(range(10, 100, 10))
    counts = suggest_binning(ages, 4).apply(ages).value_counts()
    assert len(counts) == 4
    assert counts.min() > 10_000 / 4 / 1.5
    assert all(float(edge).is_integer() for edge in suggest_binning(ages, 4).edges)


def test_a_frequent_number_gets_a_bin_and_no_empty_ones():
    costs = pd.Series([0.0] * 700 + [*np.linspace(1, 1000, 300)])
    binned = suggest_binning(costs, 5).apply(costs)
    assert binned.value_counts().min() > 0
    top = pd.Series([10] * 60 + list(range(10)) * 4)
    assert suggest_binning(top, 4).apply(top).notna().all()


@settings(deadline=None, max_examples=tried(150))
@given(
    st.lists(st.one_of(st.floats(), st.integers(-50, 50).map(float)), min_size=1, max_size=50),
    st.integers(2, 20),
    st.sampled_from(list(BinWidths)),
)
def test_suggested_bins_hold_every_number(values, count, widths):
    column = pd.Series(values)
    try:
        binning = suggest_binning(column, count, widths)
    except DomainError:
        finite = column[np.isfinite(column)]
        gaps = np.diff(np.unique(finite)) / np.abs(finite).max()
        close = finite.nunique() < 2 or gaps.max() < 1e-14
        assert close or not 1e-270 < np.ptp(finite / 2) < 1e270
        return
    assert binning.apply(column[np.isfinite(column)]).notna().all()
    assert len(binning.edges) - 1 <= (count if widths is BinWidths.QUANTILE else 3 * count)


@settings(deadline=None, max_examples=tried(150))
@given(
    st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=40, unique=True),
    st.integers(2, 12),
    st.sampled_from(list(BinWidths)),
)
def test_no_suggested_edge_is_a_record_s_number(values, count, widths):
    # Numbers with a dust of digits behind: a round edge can't meet one by chance.
    column = pd.Series([value + math.pi * 1e-4 * max(1.0, abs(value)) for value in values])
    try:
        edges = suggest_binning(column, count, widths).edges
    except DomainError:
        return
    long = {value for value in column if len(f"{abs(value):.15g}".replace(".", "")) > 12}
    assert not long & set(edges)


def test_quantiles_of_crowded_numbers_are_not_taken_as_edges():
    crowded = pd.Series([1.0 + place * 1.23456789e-7 for place in range(400)] + [9_876.54321])
    for widths in BinWidths:
        edges = suggest_binning(crowded, 5, widths).edges
        assert not set(edges) & set(crowded)


@pytest.mark.parametrize(
    ("column", "count"),
    [
        (pd.Series(["a", "b"]), 3),
        (pd.Series([True, False]), 3),
        (pd.Series([1, 1]), 3),
        (pd.Series([np.nan, np.inf]), 3),
        (pd.Series([1, 2]), 1),
    ],
)
def test_what_cannot_be_binned_is_refused_with_a_remedy(column, count):
    with pytest.raises(DomainError) as refused:
        suggest_binning(column, count)
    assert refused.value.remedy
