"""Counts that outsiders may see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.report.counts import shown_counts


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12).map(np.array),
    st.integers(1, 30),
)
def test_nothing_small_is_shown_or_can_be_told_from_the_total(counts, threshold):
    shown, rest = shown_counts(counts, threshold)
    assert all(counts[place] >= threshold for place in shown)
    assert rest == 0 or rest >= threshold
    hidden = counts.sum() - counts[shown].sum()
    assert rest == hidden or (rest == 0 and not len(shown))


@pytest.mark.parametrize(
    ("counts", "shown", "rest"),
    [
        ([50, 3, 40], [0], 43),
        ([50, 6, 7, 40], [0, 3], 13),
        ([50, 0, 40], [0, 2], 0),
        ([4, 3], [], 0),
    ],
)
def test_small_counts_are_summed_up_with_the_next(counts, shown, rest):
    found, others = shown_counts(np.array(counts), 10)
    assert found.tolist() == shown
    assert others == rest


def test_without_a_threshold_everything_is_shown():
    found, others = shown_counts(np.array([0, 1, 2]), 0)
    assert found.tolist() == [0, 1, 2]
    assert others == 0
