"""A summary found block by block is that of the whole column, and takes little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.table import profile as profiles
from sfumato.engine.table.profile import MOST_TOP, summarize


@pytest.fixture(params=[1, 3, 64])
def small_blocks(request, monkeypatch):
    monkeypatch.setattr(profiles, "_BLOCK", request.param)


def counted(series):
    counts = series.value_counts()
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(value, int(count)) for value, count in ordered[:MOST_TOP]]


@pytest.mark.parametrize("step", [1, 2, 10**9])
def test_the_most_frequent_numbers_are_found_across_blocks(small_blocks, step):
    random = np.random.default_rng(step)
    column = pd.Series(random.integers(0, 40, 200) * step, name="days")
    profile = summarize(column)
    assert profile.distinct == column.nunique()
    assert [(top.value, top.count) for top in profile.top] == counted(column)


def test_dates_are_found_across_blocks(small_blocks):
    random = np.random.default_rng(3)
    column = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 9, 50), "D"))
    profile = summarize(column)
    first = column.min().date().isoformat()
    assert (profile.type_name, profile.earliest) == ("date", first)
    days = [(value.date().isoformat(), count) for value, count in counted(column)]
    assert [(top.value, top.count) for top in profile.top] == days
    column[1] = pd.NaT
    assert summarize(column).missing == 1
    column[0] += pd.Timedelta(hours=1)
    assert summarize(column).type_name == "date and time"


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, -np.inf, np.inf, np.nan]), max_size=12))
def test_numbers_are_whole_only_if_all_are(numbers):
    column = pd.Series(numbers, dtype=np.float64)
    known = [number for number in numbers if not np.isnan(number)]
    whole = bool(known) and all(map(np.isfinite, known)) and all(n == int(n) for n in known)
    assert (summarize(column).type_name == "whole number") == whole


@pytest.mark.parametrize("missing", [False, True])
def test_a_summary_takes_one_copy_of_a_column(monkeypatch, missing):
    monkeypatch.setattr(profiles, "_BLOCK", 1 << 12)
    column = pd.Series(np.random.default_rng(1).normal(size=1 << 18))
    column[0] = np.nan if missing else 0.0
    tracemalloc.start()
    try:
        profile = summarize(column)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert profile.distinct > 200_000
    assert peak < 1.5 * column.to_numpy().nbytes
