"""The terms of a promise: each is a function of γ, and conversions never promise too much."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import LevelError
from sfumato.engine.matrices.privacy import (
    check_retention,
    delta_of_gamma,
    epsilon_of_gamma,
    gamma_for_epsilon,
    gamma_for_rho,
    retention_for_gamma,
    rho2_of_gamma,
)
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from tests.thorough import tried

SIZES = st.integers(2, 30_000)


def test_gamma_of_the_uniform_matrix_is_the_formula():
    """γ = 1 + m·p/(1 - p)."""
    assert uniform_matrix(0.5, 10).gamma == pytest.approx(11.0, rel=1e-15)
    assert uniform_matrix(0.0, 10).gamma == 1.0
    assert uniform_matrix(1.0, 10).gamma == math.inf


def test_rho_limits_are_the_amplification_of_evfimievski():
    assert gamma_for_rho(0.1, 0.5) == pytest.approx(9.0)
    # The limits of the fine-grain paper's example 1 and the γ of its example 2.
    pairs = [
        (1 / 10, 1 / 7, 1.5),
        (1 / 10, 1 / 4, 3.0),
        (1 / 9, 19 / 35, 9.5),
        (1 / 8, 18 / 25, 18),
    ]
    for rho1, rho2, gamma in pairs:
        assert gamma_for_rho(rho1, rho2) == pytest.approx(gamma)


def test_the_papers_uniform_operator_keeps_one_third():
    retention = retention_for_gamma(1.5, 4)
    assert retention == pytest.approx((1.5 - 1) / (4 - 1 + 1.5))
    diagonal = uniform_matrix(retention, 4).diagonal
    assert diagonal == pytest.approx(np.full(4, 1 / 3))


def test_delta_growth_is_the_largest_rise_of_any_belief():
    priors = np.linspace(0, 1, 200_001)
    for gamma in (1.0, 1.5, 7.7, 400.0):
        rises = gamma * priors / (1 - priors + gamma * priors) - priors
        assert delta_of_gamma(gamma) == pytest.approx(rises.max(), abs=1e-9)
    assert delta_of_gamma(math.inf) == 1.0


@settings(deadline=None, max_examples=tried(150))
@given(st.floats(1.0, 1e12), SIZES)
def test_a_stated_gamma_holds_exactly_for_p_and_for_the_stored_entries(gamma, size):
    retention = retention_for_gamma(gamma, size)
    exact = Fraction(retention)
    assert 1 + size * exact / (1 - exact) <= Fraction(gamma)
    matrix = uniform_matrix(retention, size)
    entries = matrix.block(np.array([0, 1]), np.array([0, 1]))
    assert Fraction(entries[0, 0]) <= Fraction(gamma) * Fraction(entries[0, 1])
    assert matrix.gamma <= gamma


@settings(deadline=None, max_examples=tried(100))
@given(st.floats(1.01, 1e6), SIZES)
def test_rounding_down_costs_next_to_nothing(gamma, size):
    ideal = (gamma - 1) / (size - 1 + gamma)
    assert retention_for_gamma(gamma, size) >= ideal * (1 - 1e-9)


@settings(deadline=None, max_examples=tried(100))
@given(st.floats(0.0, 40.0), SIZES)
def test_a_stated_epsilon_holds_for_the_matrix(epsilon, size):
    kept = retention_for_gamma(gamma_for_epsilon(epsilon), size)
    assert uniform_matrix(kept, size).epsilon <= epsilon


@settings(deadline=None, max_examples=tried(150))
@given(st.floats(1e-6, 1 - 1e-6), st.floats(1e-6, 1 - 1e-6), SIZES)
def test_stated_limits_on_belief_hold_upward_and_downward(one, other, size):
    rho1, rho2 = min(one, other), max(one, other)
    if rho1 == rho2:
        return
    matrix = uniform_matrix(retention_for_gamma(gamma_for_rho(rho1, rho2), size), size)
    assert matrix.rho2_for(rho1) <= rho2
    assert matrix.gamma <= gamma_for_rho(rho1, rho2)
    falling = rho2 / (rho2 + matrix.gamma * (1 - rho2))
    assert falling >= rho1 * (1 - 1e-12)


@settings(deadline=None, max_examples=tried(100))
@given(st.floats(0.0, 0.999), SIZES)
def test_a_level_restated_by_its_own_gamma_comes_back(retention, size):
    gamma = uniform_matrix(retention, size).gamma
    assert retention_for_gamma(gamma, size) == pytest.approx(retention, rel=1e-9, abs=1e-12)


def test_an_epsilon_beyond_all_numbers_still_gives_a_level_below_one():
    assert gamma_for_epsilon(1e6) == pytest.approx(1.797e308, rel=1e-3)
    assert 0.999 < retention_for_gamma(gamma_for_epsilon(1e6), 5) < 1.0
    assert gamma_for_epsilon(0.0) == 1.0
    assert epsilon_of_gamma(1.0) == 0.0


def test_a_belief_rises_as_bayes_says():
    assert rho2_of_gamma(9.0, 0.1) == pytest.approx(0.5)
    assert rho2_of_gamma(math.inf, 0.1) == 1.0
    assert rho2_of_gamma(math.inf, 0.0) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: check_retention(-0.1),
        lambda: check_retention(1.1),
        lambda: check_retention(math.nan),
        lambda: gamma_for_rho(0.5, 0.5),
        lambda: gamma_for_rho(0.0, 0.5),
        lambda: gamma_for_rho(0.5, 1.0),
        lambda: gamma_for_rho(math.nan, 0.5),
        lambda: gamma_for_epsilon(-1.0),
        lambda: gamma_for_epsilon(math.inf),
        lambda: gamma_for_epsilon(math.nan),
        lambda: retention_for_gamma(0.9, 5),
        lambda: retention_for_gamma(math.inf, 5),
        lambda: rho2_of_gamma(2.0, 1.5),
    ],
)
def test_what_is_out_of_range_is_refused_with_a_remedy(call):
    with pytest.raises(LevelError) as refused:
        call()
    assert refused.value.remedy
