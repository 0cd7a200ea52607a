"""Attackers who know the distribution: the ladder holds for them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.gaussian_attack import (
    Dependence,
    Prior,
    bayes_by_copies,
    between_copies,
    combine,
    empirical_prior,
    estimate,
    expected_errors,
    joint_weights,
    posterior_means,
)
from sfumato.engine.mechanisms.postprocessing import Pool, make_experiment
from sfumato.engine.table.covariance import factor_of
from tests.engine.numbers import GAUSSIAN, attributes_of, number_columns
from tests.noise import NOISE
from tests.thorough import tried

LADDER, INDEPENDENT, LINEAR = Dependence
FACTOR = np.array([[1.5, 0.0], [0.4, 0.7]])
LEVELS = st.lists(st.integers(1, 64).map(lambda n: n / 16), min_size=1, max_size=5, unique=True)


def groups(rows=1500, seed=1):
    """Records in three groups that lie far apart: nothing like a normal distribution."""
    draw = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [6.0, 1.0], [7.0, -5.0]])
    return (centres[draw.integers(0, 3, rows)] + 0.2 * draw.normal(size=(rows, 2))).T


def naive_posterior(copies, levels, dependence, prior, factor):
    """The posterior by the joint density of all numbers, without any simplification."""
    count, size, rows = copies.shape
    covariance = np.kron(between_copies(levels, dependence), factor @ factor.T)
    means = np.tile(prior.atoms, (count, 1))
    stacked = copies.reshape(count * size, rows)
    posterior = (
        np.array(
            [stats.multivariate_normal(mean, covariance).logpdf(stacked.T) for mean in means.T]
        ).reshape(-1, rows)
        + np.log(prior.shares)[:, None]
    )
    posterior = np.exp(posterior - posterior.max(axis=0))
    return posterior / posterior.sum(axis=0)


@settings(deadline=None, max_examples=tried(25))
@given(LEVELS, st.integers(0, 1000), st.sampled_from([LADDER, INDEPENDENT]))
def test_the_posterior_given_all_copies_is_found_from_one_sufficient_copy(levels, seed, how):
    draw = np.random.default_rng(seed)
    prior = Prior(draw.normal(size=(2, 6)) * 2, draw.dirichlet(np.ones(6)))
    copies = draw.normal(size=(len(levels), 2, 4)) * 2
    wanted = prior.atoms @ naive_posterior(copies, levels, how, prior, FACTOR)
    one = combine(copies, levels, how)
    found = posterior_means(one.numbers, one.level, prior, FACTOR, Silent())
    assert found == pytest.approx(wanted, abs=1e-7)


@settings(deadline=None, max_examples=tried(25))
@given(LEVELS, st.integers(0, 1000))
def test_on_a_ladder_the_whole_posterior_is_that_of_the_best_copy(levels, seed):
    """Whatever is known of the distribution: the ladder holds for non-linear attackers."""
    draw = np.random.default_rng(seed)
    prior = Prior(draw.normal(size=(2, 6)) * 2, draw.dirichlet(np.ones(6)))
    copies = draw.normal(size=(len(levels), 2, 4)) * 2
    best = int(np.argmin(levels))
    everything = naive_posterior(copies, levels, LADDER, prior, FACTOR)
    alone = naive_posterior(copies[[best]], [levels[best]], LADDER, prior, FACTOR)
    assert everything == pytest.approx(alone, abs=1e-8)
    one = combine(copies, levels, LADDER)
    assert one.level == pytest.approx(levels[best])
    assert one.numbers == pytest.approx(copies[best], abs=1e-9)


def errors_by_integration(prior, levels, dependence):
    """The mean squared errors of Bayes' and the linear estimate, by Gauss and Hermite's rule."""
    mean = prior.atoms[0] @ prior.shares
    variance = np.array([[prior.shares @ np.square(prior.atoms[0] - mean)]])
    factor = np.sqrt(variance)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    normals = np.array(list(itertools.product(nodes, repeat=len(levels)))).T
    chances = np.prod(list(itertools.product(weights, repeat=len(levels))), axis=1)
    noise = factor[0, 0] * np.linalg.cholesky(between_copies(levels, dependence)) @ normals
    lines = joint_weights(levels, dependence, variance, variance)
    bayes = linear = 0.0
    for atom, share in zip(prior.atoms[0], prior.shares, strict=True):
        copies = (atom + noise)[:, np.newaxis]
        naive = prior.atoms @ naive_posterior(copies, levels, dependence, prior, factor)
        pooled = combine(copies, levels, dependence)
        found = posterior_means(pooled.numbers, pooled.level, prior, factor, Silent())
        assert found == pytest.approx(naive, abs=1e-8)
        bayes += share * chances @ np.square(found[0] - atom)
        guessed = estimate(copies, lines, np.array([mean]))
        linear += share * chances @ np.square(guessed[0] - atom)
    return bayes / variance[0, 0], linear / variance[0, 0]


def test_the_errors_of_both_attackers_are_what_integration_finds():
    prior = Prior(np.array([[9.0, 11.0, 16.0]]), np.array([0.5, 0.3, 0.2]))
    one = np.eye(1)
    alone = errors_by_integration(prior, [0.5], LADDER)
    for how in (LADDER, INDEPENDENT):
        bayes, linear = errors_by_integration(prior, [0.5, 2.0], how)
        expected = expected_errors([0.5, 2.0], how, one, one).overall
        assert linear == pytest.approx(expected, rel=1e-9)
        assert bayes < linear
        if how is LADDER:
            assert (bayes, linear) == pytest.approx(alone, rel=1e-3)
        else:
            assert bayes < 0.95 * alone[0]


def test_on_a_table_the_ladder_holds_and_independent_noise_does_not():
    true = groups()
    attributes = attributes_of(number_columns(a=true[0], b=true[1]))
    asked = Pool(
        GAUSSIAN,
        GAUSSIAN.complete_settings(attributes, {}, NOISE),
        attributes,
        (0.5, 0.75, 1.0, 2.0),
    )
    copies = make_experiment(asked, None, Silent()).copies
    factor = factor_of(asked.noise)
    found = {
        how: bayes_by_copies(true, copies[how], asked.levels, how, factor, Silent())
        for how in (LADDER, INDEPENDENT)
    }
    assert found[LADDER].apart < 1e-7
    assert found[LADDER].errors[-1] == pytest.approx(found[LADDER].errors[0])
    assert (found[INDEPENDENT].errors[-1] < 0.6 * found[INDEPENDENT].errors[0]).all()
    # Knowing the distribution, one does better than the best linear estimate.
    assert (found[LADDER].errors[0] < 0.9 * 0.5 / 1.5).all()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_for_normal_numbers_the_bayes_estimate_is_the_linear_one():
    draw = np.random.default_rng(6)
    true = 3.0 * draw.normal(size=(1, 4000))
    copy = true + 3.0 * draw.normal(size=true.shape)
    found = posterior_means(copy, 1.0, empirical_prior(true), np.array([[3.0]]), Silent())
    assert np.abs(found - copy / 2)[np.abs(copy) < 6].max() < 0.5


def test_incomplete_records_are_left_out_and_too_many_are_thinned():
    true = groups(800)
    true[0, ::2] = np.nan
    prior = empirical_prior(true, most=100)
    assert prior.atoms.shape == (2, 100)
    assert prior.shares.sum() == pytest.approx(1.0)
    with pytest.raises(EstimationError, match="No record"):
        empirical_prior(np.full((2, 5), np.nan))


def test_noises_that_determine_one_another_have_no_likelihood():
    copies = np.zeros((2, 1, 3))
    with pytest.raises(EstimationError, match="determine one another"):
        combine(copies, [1.0, 4.0], LINEAR)
    with pytest.raises(EstimationError, match="determine one another"):
        combine(copies, [1.0, 1.0], LADDER)


def test_pooling_copies_one_by_one_gains_nothing_on_the_ladder_and_much_beside_it():
    draw = np.random.default_rng(12)
    true = np.where(draw.random((1, 400)) < 0.5, -1.0, 1.0) + 0.1 * draw.normal(size=(1, 400))
    levels, factor = [0.5, 0.5, 1.0, 2.0], np.array([[true.std()]])
    steps = np.sqrt(np.diff([0.0, *levels]))[:, np.newaxis, np.newaxis]
    ladder = true + factor * np.cumsum(steps * draw.normal(size=(4, 1, 400)), axis=0)
    apart = true + factor * np.sqrt(levels)[:, np.newaxis, np.newaxis] * draw.normal(
        size=(4, 1, 400)
    )
    found, other = (
        bayes_by_copies(true, copies, levels, dependence, factor, Silent())
        for copies, dependence in ((ladder, Dependence.LADDER), (apart, Dependence.INDEPENDENT))
    )
    assert found.apart < 1e-9
    assert found.errors == pytest.approx(np.full((4, 1), found.errors[0, 0]), rel=1e-9)
    assert other.errors[-1, 0] < 0.5 * found.errors[-1, 0]
    assert found.errors[0, 0] < 0.5 / 1.5  # better than the best linear estimate


def test_where_the_numbers_lie_does_not_matter():
    """Moments of time, in seconds since 1970, that differ by minutes."""
    draw = np.random.default_rng(5)
    prior = Prior(100.0 * draw.normal(size=(1, 40)), np.full(40, 1 / 40))
    copy, factor = 100.0 * draw.normal(size=(1, 30)), np.array([[100.0]])
    wanted = posterior_means(copy, 0.01, prior, factor, Silent())
    moved = Prior(prior.atoms + 1.7e9, prior.shares)
    found = posterior_means(copy + 1.7e9, 0.01, moved, factor, Silent())
    assert found - 1.7e9 == pytest.approx(wanted, abs=1e-2)
