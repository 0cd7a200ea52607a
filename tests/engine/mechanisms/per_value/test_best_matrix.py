"""The best matrix within per-value limits, beside the paper's family and an independent check."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.engine.core.errors import LevelError
from sfumato.engine.mechanisms.best_matrix import MOST_VALUES, best_matrix
from sfumato.engine.mechanisms.per_value import gammas_by_tolerance
from sfumato.engine.mechanisms.retention_solver import BreachMode, solve

MODES = pytest.mark.parametrize("mode", BreachMode)
EXAMPLE = np.array([1.5, 3.0, 9.5, 18.0])
"""The limits of example 2 of the paper, whose values are equally frequent."""


def broken(entries, gammas, mode):
    """Return the limits that don't hold, by plain loops in exact arithmetic."""
    exact = [[Fraction(float(chance)) for chance in row] for row in entries]
    found = []
    for value, gamma in enumerate(gammas):
        if np.isinf(gamma):
            continue
        bound = Fraction(float(gamma))
        for released, row in enumerate(exact):
            for other, chance in enumerate(row):
                if row[value] > bound * chance:
                    found.append((value, other, released, "up"))
                if mode is BreachMode.STRICT and chance > bound * row[value]:
                    found.append((value, other, released, "down"))
    return found


def kept(entries, frequencies):
    return float(frequencies @ np.diagonal(entries))


def drawn_limits(seed):
    """Return shares and limits of every tightness, some of none."""
    drawn = np.random.default_rng(seed)
    size = int(drawn.integers(2, 10))
    gammas = 1.0 + 10.0 ** drawn.uniform(-6.0, 9.0, size)
    gammas[drawn.random(size) < 0.2] = np.inf
    return drawn.dirichlet(np.full(size, 0.5)), gammas


def test_the_papers_example_keeps_more_than_any_profile():
    shares = np.full(4, 0.25)
    found = best_matrix(shares, EXAMPLE, BreachMode.PUBLISHED)
    family = solve(shares, EXAMPLE, BreachMode.PUBLISHED).record_utility(shares)
    assert family == pytest.approx(0.4375, abs=1e-12)
    assert kept(found, shares) == pytest.approx(0.472, abs=5e-4)
    assert kept(found, shares) == pytest.approx(0.4718137, abs=1e-7)
    assert broken(found, EXAMPLE, BreachMode.PUBLISHED) == []


@pytest.mark.few(5)
@MODES
@pytest.mark.parametrize("seed", range(8))
def test_every_limit_holds_exactly_and_no_profile_keeps_more(mode, seed):
    shares, gammas = drawn_limits(seed)
    found = best_matrix(shares, gammas, mode)
    assert found.sum(axis=0) == pytest.approx(1.0, abs=1e-12)
    assert found.min() >= 0.0
    assert broken(found, gammas, mode) == []
    family = solve(shares, gammas, mode).record_utility(shares)
    assert kept(found, shares) >= family - 1e-12


@MODES
def test_what_holds_upward_alone_keeps_at_least_as_much_as_both_ways(mode):
    shares, gammas = drawn_limits(3)
    strict = kept(best_matrix(shares, gammas, BreachMode.STRICT), shares)
    assert kept(best_matrix(shares, gammas, mode), shares) >= strict - 1e-9


@MODES
def test_one_limit_for_all_values_gives_the_uniform_matrix(mode):
    shares = np.full(5, 0.2)
    found = best_matrix(shares, np.full(5, 4.0), mode)
    assert kept(found, shares) == pytest.approx(4.0 / 8.0, abs=1e-12)


@MODES
@pytest.mark.parametrize("epsilon", [12.0, 17.0, 25.0])
def test_loose_limits_are_not_mistaken_for_none(mode, epsilon):
    shares = np.arange(1.0, 9.0) / 36.0
    gammas = np.full(8, np.exp(epsilon))
    found = best_matrix(shares, gammas, mode)
    assert broken(found, gammas, mode) == []
    assert 0.999 < kept(found, shares) < 1.0


def test_without_limits_everything_is_kept():
    found = best_matrix(np.array([0.3, 0.7]), np.full(2, np.inf), BreachMode.STRICT)
    assert found.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_matrix_a_rounding_beyond_a_limit_is_recognised():
    even = np.full((3, 3), 1.0 / 3.0)
    gammas = np.full(3, 1.5)
    assert not broken(even, gammas, BreachMode.STRICT)
    found = best_matrix(np.full(3, 1.0 / 3.0), gammas, BreachMode.STRICT)
    assert not broken(found, gammas, BreachMode.STRICT)
    moved = found.copy()
    moved[0, 0] = 1.5 * found[0].min() * (1.0 + 1e-13)
    assert broken(moved, gammas, BreachMode.STRICT)


@pytest.mark.slow
@MODES
def test_a_hundred_values_are_solved(mode):
    shares = 1.0 / np.arange(1.0, MOST_VALUES + 1.0)
    shares /= shares.sum()
    gammas = gammas_by_tolerance(shares, 5.0)
    found = best_matrix(shares, gammas, mode)
    assert not broken(found, gammas, mode)
    assert kept(found, shares) > solve(shares, gammas, mode).record_utility(shares)


def test_more_than_a_hundred_values_are_refused():
    with pytest.raises(LevelError, match="up to 100 values"):
        best_matrix(np.full(101, 1.0 / 101.0), np.full(101, 2.0), BreachMode.STRICT)
