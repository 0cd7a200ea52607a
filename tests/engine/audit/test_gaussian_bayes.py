"""Attackers who know the distribution: the ladder holds for them; rounding costs what it costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from app.engine.audit.gaussian_attack import Dependence, between_copies
from app.engine.audit.gaussian_bayes import (
    Prior,
    bayes_by_copies,
    bayes_errors,
    combine,
    empirical_prior,
    posterior_means,
)
from app.engine.audit.gaussian_experiment import simulated_copies
from app.engine.audit.rounding_leak import likelihoods, rounding_leak
from app.engine.covariance import factor_of
from app.engine.errors import EstimationError, LevelError
from app.engine.gaussian_settings import NumberForm
from app.engine.progress import Silent

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


@settings(deadline=None, max_examples=25)
@given(LEVELS, st.integers(0, 1000), st.sampled_from([LADDER, INDEPENDENT]))
def test_the_posterior_given_all_copies_is_found_from_one_sufficient_copy(levels, seed, how):
    draw = np.random.default_rng(seed)
    prior = Prior(draw.normal(size=(2, 6)) * 2, draw.dirichlet(np.ones(6)))
    copies = draw.normal(size=(len(levels), 2, 4)) * 2
    wanted = prior.atoms @ naive_posterior(copies, levels, how, prior, FACTOR)
    one = combine(copies, levels, how)
    found = posterior_means(one.numbers, one.level, prior, FACTOR, Silent())
    assert found == pytest.approx(wanted, abs=1e-7)


@settings(deadline=None, max_examples=25)
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


def test_on_a_table_the_ladder_holds_and_independent_noise_does_not():
    true = groups()
    factor = factor_of(np.cov(true, bias=True))
    levels = [1.0, 0.5, 2.0, 0.75]
    found = {
        how: bayes_errors(
            true,
            simulated_copies(true, levels, how, factor, Silent()),
            levels,
            how,
            factor,
            Silent(),
        )
        for how in (LADDER, INDEPENDENT)
    }
    assert found[LADDER].apart < 1e-7
    assert found[LADDER].together == pytest.approx(found[LADDER].best)
    assert (found[INDEPENDENT].together < 0.6 * found[INDEPENDENT].best).all()
    # Knowing the distribution, one does better than the best linear estimate.
    assert (found[LADDER].best < 0.9 * 0.5 / 1.5).all()


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


# ----- rounding


def numeric_likelihood(shown, levels, form, atom):
    """The chance of two rounded numbers of a ladder, by integrating numerically."""
    first, second = math.sqrt(levels[0]), math.sqrt(levels[1] - levels[0])
    half = form.step / 2

    def ends(number):
        low = -np.inf if form.lowest is not None and number <= form.lowest else number - half
        high = np.inf if form.highest is not None and number >= form.highest else number + half
        return low, high

    low, high = ends(shown[1])

    def inside(y):
        step = stats.norm(y, second)
        return stats.norm.pdf(y, atom, first) * (step.cdf(high) - step.cdf(low))

    low_first, high_first = ends(shown[0])
    start, end = max(low_first, atom - 9 * first), min(high_first, atom + 9 * first)
    return integrate.quad(inside, start, end, limit=200, points=[(start + end) / 2])[0]


@pytest.mark.parametrize(
    ("levels", "form"),
    [
        ([1.0, 2.0], NumberForm(1.0)),
        ([1.0, 1.05], NumberForm(1.0)),
        ([0.04, 0.05], NumberForm(2.0)),
        ([1.0, 1.5], NumberForm(1.0, -1.0, 2.0)),
        ([4.0, 4.004], NumberForm(2.0)),
    ],
)
def test_the_likelihood_of_rounded_numbers_is_their_integral(levels, form):
    atoms = np.array([-0.3, 0.0, 0.4])
    shown = np.array([[0.0, 1.0, -1.0, 2.0], [0.0, 0.0, -1.0, 2.0]])
    shown = form.apply(shown * (form.step if form.lowest is None else 1.0))
    found = likelihoods(shown, 1.0, levels, form, atoms)
    found /= found.sum(axis=1, keepdims=True)
    for row in range(shown.shape[1]):
        wanted = np.array([numeric_likelihood(shown[:, row], levels, form, a) for a in atoms])
        if wanted.max() > 1e-9:
            assert found[row] == pytest.approx(wanted / wanted.sum(), abs=0.01), shown[:, row]


def ages(rows=3000):
    draw = np.random.default_rng(3)
    return np.clip(draw.normal(40, 13, rows), 17, 90).round()


@pytest.mark.parametrize("step", [1.0, 30.0])
def test_a_leak_lies_between_the_best_rounded_copy_and_the_best_unrounded_one(step):
    found = rounding_leak(ages(), 13.0, [1.0, 0.25, 0.5, 2.0], NumberForm(step), Silent())
    assert found.records == 2000
    slack = 4.5 * found.error + 1e-3
    assert found.plain <= found.together + slack
    assert found.together <= found.best + slack
    assert found.leak == found.best - found.together
    if step == 30.0:
        assert found.leak > 4.5 * found.error
        assert found.leak > 0.03
    else:
        assert abs(found.leak) < 1e-3


def test_one_copy_alone_leaks_nothing_and_missing_numbers_are_left_out():
    numbers = ages(300)
    numbers[::3] = np.nan
    form = NumberForm(5.0, 17.0, 90.0)
    found = rounding_leak(numbers, 13.0, [0.5, 0.5], form, Silent())
    assert found.leak == 0.0
    assert found.records == 200
    assert found.plain == pytest.approx(found.best, abs=0.02)


def test_there_has_to_be_a_copy_and_a_number():
    with pytest.raises(EstimationError, match="nothing to measure"):
        rounding_leak(ages(), 13.0, [], NumberForm(1.0), Silent())
    with pytest.raises(EstimationError, match="nothing to measure"):
        rounding_leak(np.array([np.nan]), 13.0, [1.0], NumberForm(1.0), Silent())
    with pytest.raises(LevelError):
        rounding_leak(ages(), 13.0, [0.0], NumberForm(1.0), Silent())


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
