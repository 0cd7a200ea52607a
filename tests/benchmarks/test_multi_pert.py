"""multi-pert as published, and the compressed history of its releases."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.randomness.record_ids import record_ids_by_position
from tests.benchmarks.multi_level.multi_pert import ReleaseHistory, multi_pert
from tests.engine.ladders.multi_pert import chain_law
from tests.thorough import tried

KEY = AttributeKey(bytes(range(32)))
LEVELS = [0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05]


def test_the_list_of_the_papers_example():
    history = ReleaseHistory(np.zeros(1, dtype=np.uint8), 2)
    for level, code in zip((0.9, 0.7, 0.5, 0.3, 0.1), (0, 0, 1, 1, 0), strict=True):
        history.insert(level, np.array([code], dtype=np.uint8))
    assert history.steps_of(0) == ((0.9, 0), (0.5, 1), (0.1, 0))
    assert history.look_up(0.7).tolist() == [0]
    assert history.disparate_pairs.tolist() == [2]


def list_of(released, row):
    """Return history(t) as section 6 defines it: the first element, and each that differs."""
    falling = [(level, int(released[level][row])) for level in sorted(released, reverse=True)]
    changes = [below for above, below in itertools.pairwise(falling) if above[1] != below[1]]
    return (*falling[:1], *changes)


@settings(max_examples=tried(200), deadline=None)
@given(st.permutations(LEVELS), st.integers(1, 8), st.integers(0, 40), st.integers(0, 1000))
def test_releases_are_looked_up_as_they_were_made_in_whatever_order(levels, asked, rows, seed):
    rng = np.random.default_rng(seed)
    history = ReleaseHistory(np.zeros(rows, dtype=np.uint8), 3)
    released = {}
    for level in levels[:asked]:
        released[level] = rng.integers(0, 3, rows).astype(np.uint8)
        history.insert(level, released[level])
    for level, codes in released.items():
        assert (history.look_up(level) == codes).all()
    lists = [list_of(released, row) for row in range(rows)]
    assert [history.steps_of(row) for row in range(rows)] == lists
    assert history.disparate_pairs.tolist() == [len(steps) - 1 for steps in lists]
    assert history.elements == history.lengths.sum() == sum(map(len, lists))


@pytest.mark.parametrize("arrivals", [(0.8, 0.5, 0.2), (0.2, 0.8, 0.5), (0.5, 0.2, 0.8)])
def test_multi_pert_releases_have_the_law_of_the_chain(arrivals):
    n, size = 60_000, 3
    history = ReleaseHistory(np.ones(n, dtype=np.uint8), size)
    ids = record_ids_by_position(n)
    made = {level: multi_pert(history, level, ids, KEY).astype(int) for level in arrivals}
    place = made[0.8] * 9 + made[0.5] * 3 + made[0.2]
    law = chain_law([Fraction(4, 5), Fraction(1, 2), Fraction(1, 5)], 1, size)
    expected = np.array(
        [float(law[values]) * n for values in itertools.product(range(3), repeat=3)]
    )
    statistic = ((np.bincount(place, minlength=27) - expected) ** 2 / expected).sum()
    assert abs(statistic - 26) < 5 * 52**0.5


def test_a_level_that_was_released_is_looked_up():
    history = ReleaseHistory(np.arange(100, dtype=np.uint8) % 5, 5)
    ids = record_ids_by_position(100)
    first = multi_pert(history, 0.4, ids, KEY)
    multi_pert(history, 0.7, ids, KEY)
    assert (multi_pert(history, 0.4, ids, KEY) == first).all()
    assert history.levels == [0.7, 0.4]
