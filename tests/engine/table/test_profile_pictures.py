"""Small pictures of columns: a histogram of measures, a bar for each value of codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.table.profile import MOST_BARS, MOST_TOP, summarize
from sfumato.engine.table.profile_pictures import bars_of


def bars(values, labels=()):
    return bars_of(summarize(pd.Series(values, name="a")), dict(labels))


def test_few_codes_have_a_bar_each_in_their_order():
    assert bars([9, 1, 2, 2, None]) == pytest.approx((1 / 4, 2 / 4, 1 / 4))
    assert bars([-9, 0.5, 0.5]) == pytest.approx((1 / 3, 2 / 3))


def test_of_many_labelled_codes_the_most_frequent_have_one():
    codes = np.repeat(np.arange(20), np.arange(20, 0, -1))
    found = bars(codes, {code: f"country {code}" for code in range(20)})
    assert len(found) == MOST_TOP
    assert found[:2] == pytest.approx((20 / 210, 19 / 210))


def test_a_measure_is_a_histogram_and_texts_are_as_they_were():
    ages = np.arange(100)
    assert len(bars(ages, {99: "unknown"})) == MOST_BARS
    assert bars(["b", "a", "b"]) == pytest.approx((2 / 3, 1 / 3))
    assert bars([None, None]) == ()
