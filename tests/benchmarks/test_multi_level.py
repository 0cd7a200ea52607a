"""The paper's experiments: the simulation has the law of multi-pert, the noise is as expected."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato.engine.matrices.retention_matrix import uniform_matrix
from tests.benchmarks.multi_level import collusion as experiment
from tests.benchmarks.multi_level.collusion import (
    collusion_test,
    equivalence,
    usefulness,
)
from tests.benchmarks.multi_level.history_cost import (
    Order,
    drawn_codes,
    history_cost,
    ordered_levels,
)
from tests.benchmarks.multi_level.simulation import (
    PAPER_ARRIVALS,
    draw_counts,
    gaussian_prior,
    joint_counts,
    uniform_prior,
)
from tests.engine.ladders.multi_pert import joint_law
from tests.thorough import tried

PRIOR = np.array([0.5, 0.3, 0.2])
FALSE_ALARM = 1e-6


def expected_counts(prior, arrivals, simulations):
    """Each cell's expectation, by exact enumeration of the paper's algorithm."""
    size = len(prior)
    exact = [Fraction(str(level)) for level in arrivals]
    order = sorted(range(3), key=lambda place: -exact[place])
    cells = np.zeros((size,) * 4)
    for x in range(size):
        for falling, chance in joint_law(exact, x, size).items():
            values = [0, 0, 0]
            for place, value in zip(order, falling, strict=True):
                values[place] = value
            cells[(x, *values)] = prior[x] * float(chance)
    return cells * simulations


@pytest.mark.parametrize("arrivals", list(itertools.permutations(PAPER_ARRIVALS)))
def test_the_simulation_has_the_law_of_multi_pert_in_every_order(arrivals):
    """Chi-square over all 81 cells; false alarm 1e-6 each, and the draws are always the same."""
    counts = joint_counts(PRIOR, 300_000, arrivals)
    assert counts.sum() == 300_000
    expected = expected_counts(PRIOR, arrivals, 300_000)
    assert chisquare(counts.ravel(), expected.ravel()).pvalue > FALSE_ALARM


def test_simulations_repeat_and_runs_differ():
    first, again = (joint_counts(PRIOR, 10_000) for _ in range(2))
    other = joint_counts(PRIOR, 10_000, run=1)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@given(
    st.lists(st.floats(0.0, 1.0), min_size=2, max_size=9).filter(lambda shares: sum(shares) > 0.1),
    st.integers(1, 10**10),
)
@settings(deadline=None, max_examples=tried(40))
def test_every_simulation_has_a_true_value_that_occurs(shares, simulations):
    prior = np.array(shares) / np.sum(shares)
    counts = draw_counts(prior, simulations)
    assert counts.sum() == simulations
    assert counts.min() >= 0
    assert not counts[prior == 0.0].any()
    spread = np.sqrt(simulations * prior * (1 - prior))
    assert np.all(np.abs(counts - simulations * prior) <= 6 * spread + 2)


@pytest.mark.parametrize("run", range(5))
def test_collusion_is_no_use_and_releases_are_uniform_perturbation(run, monkeypatch):
    """The mean relative square is 1: within six standard errors, a false alarm in 10^8."""
    counts = joint_counts(gaussian_prior(12), 400_000, run=run)
    for found in (usefulness(counts, PAPER_ARRIVALS), equivalence(counts, PAPER_ARRIVALS)):
        _, squares = found
        error = squares.std(ddof=1) / len(squares) ** 0.5
        assert abs(squares.mean() - 1.0) < 6 * error


def test_independent_noise_is_found_out():
    """The same comparison, given releases that collusion helps against, is far off."""
    size, simulations = 6, 200_000
    matrices = [uniform_matrix(level, size).dense() for level in PAPER_ARRIVALS]
    law = np.einsum("x,ax,bx,cx->xabc", np.full(size, 1 / size), *matrices)
    counts = np.round(law * simulations).astype(np.int64)
    worst, squares = usefulness(counts, PAPER_ARRIVALS)
    assert squares.mean() > 10
    assert worst.distance > 0.3


def test_the_report_names_the_worst_pair_and_what_noise_alone_gives():
    test = collusion_test(uniform_prior(8), 200_000)
    ya, yb, yc = test.usefulness.worst.given
    assert max(ya, yb, yc) < 8
    assert test.usefulness.worst.found.sum() == pytest.approx(1.0)
    assert test.usefulness.worst.expected.argmax() == yc
    assert test.usefulness.pairs == 8**3
    assert test.equivalence.pairs == 3 * 8
    assert test.usefulness.reference_runs == 3
    for compared in (test.usefulness, test.equivalence):
        assert compared.worst.distance == pytest.approx(compared.largest_from_noise, rel=0.5)
        assert abs(compared.ratio - 1.0) < 3 * compared.ratio_error


def test_many_simulations_take_one_reference_run(monkeypatch):
    monkeypatch.setattr(experiment, "_FEW", 1000)
    assert collusion_test(PRIOR, 2000).usefulness.reference_runs == 1


@pytest.mark.parametrize("order", Order)
def test_histories_stay_short_in_every_order(order):
    """The paper's Fig. 8a and Lemma 2, its bound tightened to 1 + ln(p_max/p_min)."""
    codes = drawn_codes(np.full(10, 0.1), 400)
    cost = history_cost(codes, 10, 150, order)
    assert cost.records == 400
    assert cost.releases[-1] == 150
    assert cost.length[0] == 1.0
    assert np.all(np.diff(cost.bound) >= 0)
    error = np.sqrt(cost.bound / 400)
    assert np.all(cost.length < cost.bound + 5 * error)


@pytest.mark.slow
@pytest.mark.parametrize("order", Order)
def test_histories_grow_as_the_proof_of_lemma_2_says_and_the_same_each_time(order):
    """Expected are 1 + Σ (1 - p_i+1/p_i)·(s - 1)/s elements over the levels as they fall."""
    codes = drawn_codes(np.full(10, 0.1), 300)
    cost, again = (history_cost(codes, 10, 400, order) for _ in range(2))
    falling = ordered_levels(400, Order.DESCENDING)
    expected = 1.0 + 0.9 * (1.0 - falling[1:] / falling[:-1]).sum()
    assert abs(cost.length[-1] - expected) < 5 * (expected / 300) ** 0.5
    assert np.array_equal(cost.length, again.length)


def test_the_orders_ask_for_the_same_levels():
    drawn, up, down = (ordered_levels(100, order) for order in Order)
    assert np.array_equal(np.sort(drawn), up)
    assert np.array_equal(up[::-1], down)
    assert not np.array_equal(drawn, up)
