"""The paper's three algorithms: one law, exactly, and the law of the Brownian ladder."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.ladders.brownian import path
from sfumato.engine.mechanisms.gaussian.release import bridge_weights
from tests.benchmarks.published_noise import (
    conditional_law,
    corner_wave,
    noise_on_demand,
    parallel_noise,
    sequential_noise,
)
from tests.thorough import tried

LEVELS = st.lists(
    st.integers(1, 64).map(lambda step: step / 16), min_size=2, max_size=7, unique=True
)
FACTOR = np.array([[2.0, 0.0], [-1.0, 0.5]])
K = FACTOR @ FACTOR.T


class Units:
    """A source of normals that hands out unit vectors, so that linear maps can be read off."""

    def __init__(self, drawn: int) -> None:
        self.drawn, self.place = drawn, 0

    def __call__(self, shape):
        copies, size, rows = shape
        units = np.zeros(shape)
        for copy, attribute in itertools.product(range(copies), range(size)):
            units[copy, attribute, self.place] = 1.0
            self.place += 1
        assert rows == self.drawn
        return units


def keyed(seed=1):
    draw = np.random.default_rng(seed)
    return lambda shape: draw.normal(size=shape)


def covariance_of(noise):
    """The exact covariance of noise that is a linear map of unit normals: shape (M, N, M, N)."""
    return np.einsum("mir,njr->minj", noise, noise)


def wanted(levels):
    return np.einsum("mn,ij->minj", corner_wave(levels), K)


# ----- exact algebra


@settings(deadline=None, max_examples=tried(60))
@given(LEVELS)
def test_algorithm_1_has_the_corner_wave_covariance_in_any_order(levels):
    noise = parallel_noise(levels, FACTOR, 2 * len(levels), Units(2 * len(levels)))
    assert covariance_of(noise) == pytest.approx(wanted(levels), abs=1e-12)


@settings(deadline=None, max_examples=tried(60))
@given(LEVELS)
def test_algorithm_2_has_it_too_least_noise_first(levels):
    found = list(sequential_noise(levels, FACTOR, 2 * len(levels), Units(2 * len(levels))))
    assert [level for level, _ in found] == sorted(levels)
    noise = np.array([noise for _, noise in found])
    assert covariance_of(noise) == pytest.approx(wanted(sorted(levels)), abs=1e-12)


@settings(deadline=None, max_examples=tried(60))
@given(LEVELS, st.data())
def test_algorithm_3_extends_any_copies_in_any_order(levels, data):
    known = data.draw(st.integers(1, len(levels) - 1))
    rows = 2 * len(levels)
    source = Units(rows)
    before = parallel_noise(levels[:known], FACTOR, rows, source)
    further = noise_on_demand(levels[:known], before, levels[known:], FACTOR, source)
    noise = np.concatenate([before, further])
    assert covariance_of(noise) == pytest.approx(wanted(levels), abs=1e-11)


@settings(deadline=None, max_examples=tried(40))
@given(LEVELS)
def test_algorithm_3_one_copy_at_a_time_is_the_same_law(levels):
    rows = 2 * len(levels)
    source = Units(rows)
    noise = parallel_noise(levels[:1], FACTOR, rows, source)
    for place in range(1, len(levels)):
        one = noise_on_demand(levels[:place], noise, [levels[place]], FACTOR, source)
        noise = np.concatenate([noise, one])
    assert covariance_of(noise) == pytest.approx(wanted(levels), abs=1e-11)


@settings(deadline=None, max_examples=tried(60))
@given(LEVELS)
def test_the_brownian_ladder_has_the_law_of_algorithm_3(levels):
    """Both are linear maps of normals: jointly Gaussian, so equal covariances are equal laws."""
    steps = sorted({step.time for level in levels for step in path(level)})
    ladder = np.zeros((len(levels), 1, len(steps)))
    for place, level in enumerate(levels):
        for step in path(level):
            ladder[place, 0, steps.index(step.time)] = step.coefficient
    ones = np.eye(1)
    source = Units(len(levels))
    first = parallel_noise(levels[:1], ones, len(levels), source)
    demand = np.concatenate([first, noise_on_demand(levels[:1], first, levels[1:], ones, source)])
    assert covariance_of(ladder) == pytest.approx(covariance_of(demand), abs=1e-12)


@settings(deadline=None, max_examples=tried(60))
@given(LEVELS, st.integers(1, 64))
def test_the_conditional_law_is_that_of_a_bridge_between_neighbours(levels, step):
    level = step / 16 + 1 / 64
    known = sorted(levels)
    weights, covariance = conditional_law(known, [level])
    assert weights[0] == pytest.approx(bridge_weights(level, known), abs=1e-10)
    below = max((one for one in known if one < level), default=0.0)
    above = min((one for one in known if one > level), default=math.inf)
    bridge = level - below
    if above < math.inf:
        bridge *= (above - level) / (above - below)
    assert covariance[0, 0] == pytest.approx(bridge, abs=1e-12)


def test_further_levels_in_different_gaps_know_nothing_of_one_another():
    _, covariance = conditional_law([1.0, 2.0], [0.5, 1.25, 1.5, 3.0])
    wanted_between = np.zeros((4, 4))
    wanted_between[np.diag_indices(4)] = [0.25, 0.1875, 0.25, 1.0]
    wanted_between[1, 2] = wanted_between[2, 1] = 0.125
    assert covariance == pytest.approx(wanted_between)


# ----- with normals


def test_a_known_level_asked_for_again_shows_the_same_noise():
    before = parallel_noise([0.5, 2.0], FACTOR, 50, keyed())
    again = noise_on_demand([0.5, 2.0], before, [2.0, 0.5], FACTOR, keyed(2))
    assert again == pytest.approx(before[::-1], abs=1e-6)


def test_one_attribute_needs_no_matrix():
    one = parallel_noise([1.0, 4.0], np.array([[3.0]]), 20_000, keyed())
    assert one.shape == (2, 1, 20_000)
    assert one[:, 0].std(axis=1) == pytest.approx([3.0, 6.0], rel=0.03)
