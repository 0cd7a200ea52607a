"""The Brownian ladder: its law by exact algebra, what it is a function of, and what it draws."""

from __future__ import annotations

import hashlib
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.engine.core.errors import Cancelled, LevelError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.ladders.brownian import (
    HIGHEST,
    LOWEST,
    brownian_motion,
    first_level,
    on_grid,
    path,
    plan_for,
)
from tests.engine.numbers import KEYS
from tests.thorough import tried

KEY = KEYS.for_attribute("pay", "ladder", "noise")
GRID = st.builds(
    math.ldexp,
    st.integers(2048, 4095),
    st.integers(-31, 8),
)
ANY = st.floats(LOWEST, HIGHEST)


def motion(values, times, ids=None, **how):
    values = np.atleast_2d(np.asarray(values, dtype=float))
    ids = np.arange(values.shape[1]) if ids is None else ids
    return brownian_motion(values, np.asarray(ids, dtype=np.uint64), KEY, times, Silent(), **how)


# ----- the law, exactly


def covariance(one: float, other: float) -> Fraction:
    """Cov[W(one), W(other)] from the normals on both paths, without rounding."""
    first = {step.time: step for step in path(one)}
    return sum(
        (
            Fraction(step.weight) * Fraction(first[step.time].weight) * Fraction(step.variance)
            for step in path(other)
            if step.time in first
        ),
        Fraction(0),
    )


@settings(deadline=None, max_examples=tried(150))
@given(st.lists(GRID, min_size=2, max_size=5))
def test_the_noise_of_any_levels_in_any_order_has_the_corner_wave_covariance(levels):
    for one in levels:
        for other in levels:
            assert covariance(one, other) == min(Fraction(one), Fraction(other))


@pytest.mark.parametrize("low", [LOWEST, 0.25, 1.0, 1024.0])
def test_all_neighbours_on_a_stretch_of_the_grid_have_it_too(low):
    levels = [low * (1 + step / 2048) for step in range(0, 2048, 61)]
    for one, other in itertools.pairwise(levels):
        assert covariance(one, other) == Fraction(one)
        assert covariance(other, other) == Fraction(other)


@settings(deadline=None, max_examples=tried(100))
@given(ANY, ANY)
def test_levels_off_the_grid_have_it_as_far_as_floats_can_tell(one, other):
    assert float(covariance(one, other)) == pytest.approx(min(one, other), rel=1e-14)


@settings(deadline=None, max_examples=tried(60))
@given(st.lists(GRID, min_size=1, max_size=6, unique=True))
def test_a_plan_for_several_times_walks_every_path_in_its_own_order(times):
    plan = plan_for(times)
    for place, time in enumerate(times):
        walked = [
            (step, share.coefficient)
            for step, shares in plan.steps
            for share in shares
            if share.place == place
        ]
        assert walked == [(step.time, step.coefficient) for step in path(time)]
    assert len({step for step, _ in plan.steps}) == len(plan.steps)


def test_a_level_of_the_grid_takes_few_steps():
    assert len(path(1.0)) == 1
    assert len(path(2.0)) == len(path(0.5)) == 2
    assert max(len(path(1 + step / 2048)) for step in range(2048)) == 13


@pytest.mark.parametrize("time", [0.0, -1.0, math.inf, math.nan])
def test_there_is_no_path_to_a_time_that_is_none(time):
    with pytest.raises(ValueError):
        path(time)


# ----- the grid


@settings(deadline=None, max_examples=tried(200))
@given(ANY)
def test_a_level_becomes_the_next_one_of_the_grid_with_as_much_noise(level):
    used = on_grid(level)
    assert level <= used <= level * (1 + 2.0**-11)
    assert on_grid(used) == used
    assert len(path(used)) <= 13 + abs(math.frexp(used)[1])


@pytest.mark.parametrize("level", [0.0, -1.0, math.inf, math.nan, LOWEST / 2, HIGHEST * 2])
def test_levels_out_of_range_are_refused(level):
    with pytest.raises(LevelError, match="out of range"):
        on_grid(level)


@settings(deadline=None, max_examples=tried(100))
@given(ANY)
def test_the_first_level_that_is_enough_is_found(bound):
    assert first_level(lambda level: level >= bound) == on_grid(bound)
    assert first_level(lambda level: False) is None
    assert first_level(lambda level: True) == LOWEST


# ----- what it is a function of


def test_a_draw_depends_on_key_record_value_and_time_alone():
    values = np.random.default_rng(1).normal(size=(3, 5000))
    values[1, ::7] = np.nan
    times = (0.3, 1.0, 5.5)
    whole = motion(values, times)
    rows = np.array([4999, 17, 0, 2048])
    part = motion(values[:, rows], (5.5, 0.3), rows, threads=1, stretch=3)
    assert (part[0] == whole[2][:, rows]).all()
    assert (part[1] == whole[0][:, rows]).all()
    assert (motion(values, times, threads=1, stretch=777) == whole).all()


def test_another_record_another_value_or_another_key_draws_anew():
    base = motion(np.zeros((2, 8)), (1.0,))
    assert len(np.unique(base)) == base.size
    corrected = np.zeros((2, 8))
    corrected[1, 3] = 1e-300
    again = motion(corrected, (1.0,))
    assert (again[0, :, 3] != base[0, :, 3]).all()
    assert (np.delete(again, 3, axis=2) == np.delete(base, 3, axis=2)).all()
    other = KEYS.for_attribute("pay", "another", "noise")
    ids = np.arange(8, dtype=np.uint64)
    assert not (brownian_motion(np.zeros((2, 8)), ids, other, (1.0,), Silent()) == base).any()


def test_zero_is_zero_and_missing_is_missing_however_they_are_written():
    odd = np.frombuffer(np.uint64(0xFFF8_0000_0000_1234).tobytes(), dtype=float)[0]
    assert (motion([0.0, np.nan], (0.7,)) == motion([-0.0, odd], (0.7,))).all()


DIGEST = "1139cea512409cd078b1e4c81aeb01adcf0cb1699b1effdb0c455c48d3df4a17"


def test_the_same_key_gives_the_same_bytes_on_every_machine():
    values = np.linspace(-3, 3, 4000).reshape(2, 2000)
    drawn = motion(values, (LOWEST, 0.3, 1.0, 77.0))
    # Over 200,000 normals: the tail and the rims of the layers are among them.
    digest = hashlib.sha256(np.ascontiguousarray(drawn, dtype="<f8").tobytes()).hexdigest()
    assert digest == DIGEST


def test_the_work_can_be_stopped():
    stop = Callback(lambda fraction, text: None, lambda: True)
    ids = np.arange(100_000, dtype=np.uint64)
    with pytest.raises(Cancelled):
        brownian_motion(np.zeros((1, 100_000)), ids, KEY, (0.3,), stop, stretch=1000)


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        (np.zeros(4), np.arange(4, dtype=np.uint64)),
        (np.zeros((0, 4)), np.arange(4, dtype=np.uint64)),
        (np.zeros((1, 4)), np.arange(5, dtype=np.uint64)),
        (np.zeros((1, 4), dtype=np.float32), np.arange(4, dtype=np.uint64)),
        (np.zeros((1, 4)), np.arange(4)),
    ],
)
def test_values_and_records_that_do_not_fit_are_refused(values, ids):
    with pytest.raises(ValueError, match="values"):
        brownian_motion(values, ids, KEY, (1.0,), Silent())


# ----- what it draws: with this key, once and for all; a sound ladder fails once in 10,000 keys


def test_draws_are_normal_with_the_variance_of_their_time():
    drawn = motion(np.zeros((2, 100_000)), (0.01, 0.3, 1.0, 6.0))
    for place, time in enumerate((0.01, 0.3, 1.0, 6.0)):
        for attribute in range(2):
            found = stats.kstest(drawn[place, attribute] / math.sqrt(time), "norm")
            assert found.pvalue > 1e-5, (time, attribute)


def test_covariances_are_those_of_the_corner_wave_between_levels_and_none_between_attributes():
    times = (0.25, 0.3, 1.0, 1.7, 4.0)
    rows = 100_000
    drawn = motion(np.zeros((2, rows)), times).reshape(10, rows)
    wanted = np.kron(np.minimum.outer(times, times), np.eye(2))
    found = drawn @ drawn.T / rows
    error = np.sqrt((np.outer(np.diag(wanted), np.diag(wanted)) + wanted**2) / rows)
    assert np.abs((found - wanted) / error).max() < 5.0


def test_increments_know_nothing_of_what_came_before():
    drawn = motion(np.zeros((1, 100_000)), (0.4, 0.7, 3.1))[:, 0]
    step = drawn[2] - drawn[1]
    for earlier in (drawn[0], drawn[1], np.abs(drawn[1]), drawn[0] ** 2):
        assert abs(np.corrcoef(step, earlier)[0, 1]) * math.sqrt(100_000) < 4.5
        assert abs(np.corrcoef(np.abs(step), earlier)[0, 1]) * math.sqrt(100_000) < 4.5
