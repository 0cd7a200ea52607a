"""The optimal fine-grain profile: the paper's examples, a linear program, and exact bounds."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sfumato.engine.core.errors import LevelError
from sfumato.engine.matrices.privacy import gamma_for_rho, retention_for_gamma
from sfumato.engine.mechanisms.per_value import (
    LOOSER,
    binding_limits,
    gammas_by_tolerance,
)
from sfumato.engine.mechanisms.retention_solver import BreachMode, solve, violations
from tests.thorough import tried

EXAMPLE_LIMITS = [(1 / 10, 1 / 7), (1 / 10, 1 / 4), (1 / 9, 19 / 35), (1 / 8, 18 / 25)]
EXAMPLE_FREQUENCIES = np.full(4, 0.25)


def example_gammas():
    return np.array([gamma_for_rho(*limits) for limits in EXAMPLE_LIMITS])


def programmed_optimum(frequencies, gammas, mode):
    """Return max Σ f_i·p_i by a linear program over all m(m−1) constraints."""
    size = len(frequencies)
    rows, bounds = [], []
    for i in range(size):
        if np.isinf(gammas[i]):
            continue
        for j in set(range(size)) - {i}:
            pairs = [(i, j)] if mode is BreachMode.PUBLISHED else [(i, j), (j, i)]
            for own, other in pairs:
                row = np.zeros(size)
                row[own] += (size - 1) / gammas[i]
                row[other] += 1
                rows.append(row)
                bounds.append(1 - 1 / gammas[i])
    if not rows:
        return float(frequencies.sum())
    limits = [(0, 1)] * size
    return -linprog(-frequencies, A_ub=np.array(rows), b_ub=bounds, bounds=limits).fun


def test_example_2_gives_the_papers_gammas():
    assert example_gammas() == pytest.approx([1.5, 3, 9.5, 18], abs=1e-12)


def test_example_2_gives_the_matrix_of_figure_2b_and_its_record_utility():
    profile = solve(EXAMPLE_FREQUENCIES, example_gammas(), BreachMode.PUBLISHED)
    kept = profile.retention + (1 - profile.retention) / 4
    assert kept == pytest.approx([1 / 4, 1 / 2, 1 / 2, 1 / 2], abs=1e-12)
    assert (1 - profile.retention) / 4 == pytest.approx([1 / 4, 1 / 6, 1 / 6, 1 / 6], abs=1e-12)
    assert profile.record_utility(EXAMPLE_FREQUENCIES) == pytest.approx(0.4375, abs=1e-12)


def test_example_2_uniform_limits_keep_one_third_of_the_records():
    profile = solve(EXAMPLE_FREQUENCIES, np.full(4, 1.5), BreachMode.PUBLISHED)
    assert profile.record_utility(EXAMPLE_FREQUENCIES) == pytest.approx(1 / 3, abs=1e-12)


def test_strict_mode_on_example_2_keeps_a_sixth_of_three_values():
    profile = solve(EXAMPLE_FREQUENCIES, example_gammas(), BreachMode.STRICT)
    assert profile.retention == pytest.approx([0, 1 / 6, 1 / 6, 1 / 6], abs=1e-12)
    assert profile.record_utility(EXAMPLE_FREQUENCIES) == pytest.approx(0.34375, abs=1e-12)


def test_theorem_1_fails_downward_on_the_papers_own_example():
    # The release of figure 2(b): seeing "cancer" multiplies the odds on SARS by at least 1/2,
    # below 1/γ = 2/3, so a prior of 1/7 = ρ2 falls to 1/13, below ρ1 = 1/10.
    sars = [Fraction(1, 4)] * 4
    cancer_from_others = Fraction(1, 2)
    ratio = sars[3] / cancer_from_others
    assert ratio == Fraction(1, 2)
    assert ratio < 1 / Fraction(3, 2)
    prior = Fraction(1, 7)
    posterior = prior * sars[3] / (prior * sars[3] + (1 - prior) * cancer_from_others)
    assert posterior == Fraction(1, 13)
    assert posterior < Fraction(1, 10)
    published = solve(EXAMPLE_FREQUENCIES, example_gammas(), BreachMode.PUBLISHED)
    assert violations(published.retention, published.gammas, BreachMode.STRICT).max() > 0.1


@st.composite
def programs(draw):
    size = draw(st.integers(2, 7))
    weights = draw(st.lists(st.floats(0.001, 1), min_size=size, max_size=size))
    above_one = st.floats(0.01, 200).map(lambda excess: 1 + excess)
    limits = st.one_of(above_one, st.just(3.0), st.just(float("inf")))
    gammas = draw(st.lists(limits, min_size=size, max_size=size))
    return np.array(weights) / sum(weights), np.array(gammas)


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", list(BreachMode))
@given(program=programs())
@settings(deadline=None, max_examples=tried(60))
def test_the_optimum_is_that_of_the_full_linear_program(mode, program):
    frequencies, gammas = program
    profile = solve(frequencies, gammas, mode)
    assert violations(profile.retention, profile.gammas, profile.mode).max() <= 1e-15
    assert ((profile.retention >= 0) & (profile.retention <= 1)).all()
    best = programmed_optimum(frequencies, gammas, mode)
    assert frequencies @ profile.retention == pytest.approx(best, abs=1e-6)


@pytest.mark.few(4)
@pytest.mark.parametrize("mode", list(BreachMode))
@pytest.mark.parametrize("size", [2, 3, 50, 20_000])
def test_every_constraint_holds_when_recomputed_one_by_one(mode, size):
    generator = np.random.default_rng(size)
    frequencies = generator.dirichlet(np.ones(size))
    gammas = 1 + generator.exponential(20, size)
    profile = solve(frequencies, gammas, mode)
    p = profile.retention
    for i in generator.integers(0, size, 40):
        other = np.delete(p, i)
        assert ((size - 1) * p[i] + gammas[i] * other - (gammas[i] - 1)).max() <= 1e-12 * gammas[i]
        if mode is BreachMode.STRICT:
            mirrored = (size - 1) * other + gammas[i] * p[i] - (gammas[i] - 1)
            assert mirrored.max() <= 1e-12 * gammas[i]


def test_without_limits_everything_is_kept():
    profile = solve(np.array([0.2, 0.8]), np.array([np.inf, np.inf]), BreachMode.STRICT)
    assert (profile.retention == 1).all()


def test_the_tolerance_rule_leaves_frequent_values_unlimited():
    gammas = gammas_by_tolerance(np.array([0.6, 0.3, 0.1, 0.0]), 2.0)
    assert np.isinf(gammas[0])
    assert gammas[1:] == pytest.approx([gamma_for_rho(0.3, 0.6), gamma_for_rho(0.1, 0.2), 2.0])


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", list(BreachMode))
@given(gamma=st.floats(1.0001, 1e6), size=st.integers(2, 60))
@settings(deadline=None, max_examples=tried(60))
def test_one_limit_for_equally_frequent_values_is_the_uniform_ladder_to_the_bit(mode, gamma, size):
    profile = solve(np.full(size, 1 / size), np.full(size, gamma), mode)
    assert set(profile.retention) == {retention_for_gamma(gamma, size)}


def test_one_limit_for_values_of_unequal_frequency_can_keep_more_than_the_uniform_ladder():
    frequencies = np.array([0.8, 0.2])
    profile = solve(frequencies, np.array([2.0, 2.0]), BreachMode.PUBLISHED)
    assert profile.retention == pytest.approx([0.5, 0.0], abs=1e-12)
    assert frequencies @ profile.retention > retention_for_gamma(2.0, 2)


@pytest.mark.parametrize(
    ("frequencies", "gammas", "said"),
    [
        ([1.0], [2.0], "one value"),
        ([0.5, 0.5], [2.0, 2.0, 2.0], "3 limits for 2 values"),
        ([0.5, 0.5], [2.0, 1.0], "number 2"),
        ([0.5, 0.5], [float("nan"), 3.0], "number 1"),
    ],
)
def test_programs_that_make_no_sense_are_refused(frequencies, gammas, said):
    with pytest.raises(LevelError, match=said):
        solve(np.array(frequencies), np.array(gammas), BreachMode.PUBLISHED)


@pytest.mark.parametrize("theta", [1.0, 0.5, float("nan"), float("inf")])
def test_a_tolerance_that_is_not_above_one_is_refused(theta):
    with pytest.raises(LevelError, match="θ"):
        gammas_by_tolerance(np.array([0.5, 0.5]), theta)


def test_the_limit_that_binds_holds_the_others_and_costs_what_a_linear_program_says():
    gammas = example_gammas()
    profile = solve(EXAMPLE_FREQUENCIES, gammas, BreachMode.STRICT)
    [worst] = binding_limits(profile, EXAMPLE_FREQUENCIES)
    assert (worst.values, worst.held) == ((0,), (1, 2, 3))
    assert worst.kept == pytest.approx(0.34375)
    looser = gammas * [LOOSER, 1, 1, 1]
    optimum = programmed_optimum(EXAMPLE_FREQUENCIES, looser, BreachMode.STRICT)
    assert worst.kept_if_looser == pytest.approx(optimum * 3 / 4 + 1 / 4)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(BreachMode))
def test_no_limit_that_is_not_named_would_gain_anything_if_it_were_looser(mode):
    rng = np.random.default_rng(4)
    for _ in range(20):
        frequencies, gammas = rng.dirichlet(np.ones(6)), 1.0 + rng.gamma(2.0, 2.0, 6)
        profile = solve(frequencies, gammas, mode)
        named = {value for each in binding_limits(profile, frequencies) for value in each.values}
        best = programmed_optimum(frequencies, gammas, mode)
        for value in set(range(6)) - named:
            looser = np.where(np.arange(6) == value, gammas * LOOSER, gammas)
            assert programmed_optimum(frequencies, looser, mode) == pytest.approx(best, abs=1e-8)


def test_without_limits_nothing_binds():
    profile = solve(EXAMPLE_FREQUENCIES, np.full(4, np.inf), BreachMode.STRICT)
    assert binding_limits(profile, EXAMPLE_FREQUENCIES) == ()
