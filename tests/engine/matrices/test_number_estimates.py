"""What a recipient recovers from noisy numbers: right on average, with errors that say how well."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.matrices.estimate import Target
from sfumato.engine.matrices.number_estimates import (
    estimate_covariance,
    estimate_means,
    estimate_quantiles,
    estimate_regression,
    weighted_means,
)

ROWS, TIMES = 1500, 300
SPREAD = np.array([[4.0, 1.5], [1.5, 1.0]])
NOISE = 0.8 * SPREAD
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)


def sample(draw, rows=ROWS):
    """Records of a population that is skewed a little."""
    root = np.linalg.cholesky(SPREAD)
    own = np.vstack([draw.gamma(16.0, 0.25, rows) - 4.0, draw.normal(size=rows)])
    return root @ own + np.array([[30.0], [5.0]])


def noise(draw, rows=ROWS):
    return np.linalg.cholesky(NOISE) @ draw.normal(size=(2, rows))


def repeated(estimate, target):
    """Estimates and errors from many releases: of one table, or of tables drawn anew."""
    draw = np.random.default_rng(20)
    table = sample(draw)
    found = []
    for _ in range(TIMES):
        true = table if target is Target.TABLE else sample(draw)
        found.append(estimate(true + noise(draw)))
    values = np.array([one.values for one in found])
    errors = np.array([one.errors for one in found])
    return table, values, errors


def check_unbiased(values, errors, truth):
    """With this seed, once and for all; sound estimates fail once in 10,000 seeds."""
    off = (values.mean(axis=0) - truth) / (values.std(axis=0) / np.sqrt(TIMES))
    assert np.abs(off).max() < 4.5
    ratio = errors.mean(axis=0) / values.std(axis=0)
    assert ratio == pytest.approx(np.ones_like(ratio), rel=0.17)


@pytest.mark.parametrize("target", Target)
def test_means_are_right_and_their_errors_too(target):
    table, values, errors = repeated(lambda y: estimate_means(y, NOISE, target), target)
    truth = table.mean(axis=1) if target is Target.TABLE else [30.0, 5.0]
    check_unbiased(values, errors, truth)


@pytest.mark.few(1)
@pytest.mark.parametrize("target", Target)
def test_covariances_are_right_and_their_errors_too(target):
    table, values, errors = repeated(lambda y: estimate_covariance(y, NOISE, target), target)
    check_unbiased(values, errors, np.cov(table) if target is Target.TABLE else SPREAD)


def test_slopes_are_not_weakened_by_the_noise():
    _, values, errors = repeated(lambda y: estimate_regression(y, NOISE, 1, [0]), Target.POPULATION)
    slope = SPREAD[0, 1] / SPREAD[0, 0]
    truth = np.array([5.0 - 30.0 * slope, slope])
    assert values.mean(axis=0) == pytest.approx(truth, rel=0.02)
    assert errors.mean(axis=0) / values.std(axis=0) == pytest.approx([1.0, 1.0], rel=0.15)


def test_a_column_without_noise_can_explain_one_with_it():
    draw = np.random.default_rng(3)
    x = draw.normal(size=4000)
    y = 2.0 * x + draw.normal(size=4000)
    hidden = np.diag([0.0, 5.0])
    found = estimate_regression(np.array([x, y + draw.normal(0, 5**0.5, 4000)]), hidden, 1, [0])
    assert found.values == pytest.approx([0.0, 2.0], abs=4.5 * found.errors.max())


def test_noisy_and_exact_predictors_together_are_corrected_where_there_is_noise():
    """A noisy outcome on a noisy predictor with correlated noise, and on two exact ones."""
    draw, rows = np.random.default_rng(31), 1500
    hidden = np.zeros((4, 4))
    hidden[:2, :2] = 0.8 * np.array([[2.0, 0.9], [0.9, 1.0]])
    root = np.linalg.cholesky(hidden[:2, :2])
    slopes, found = np.array([0.7, -1.5, 0.002]), []
    for _ in range(TIMES):
        exact = np.vstack([draw.gamma(4.0, 0.5, rows), 900.0 * draw.normal(size=rows)])
        noisy = 0.8 * exact[0] - 0.001 * exact[1] + draw.normal(size=rows)
        outcome = 3.0 + slopes @ np.vstack([noisy, exact]) + 0.5 * draw.normal(size=rows)
        shown = np.vstack([outcome, noisy]) + root @ draw.normal(size=(2, rows))
        found.append(estimate_regression(np.vstack([shown, exact]), hidden, 0, [1, 2, 3]))
    values = np.array([one.values for one in found])
    errors = np.array([one.errors for one in found])
    truth = np.array([3.0, *slopes])
    off = np.abs(np.median(values, axis=0) - truth) / values.std(axis=0)
    assert off.max() < 0.3
    ratio = np.median(errors, axis=0) / values.std(axis=0)
    assert ratio == pytest.approx(np.ones(4), rel=0.2)
    covered = np.abs(values - truth) < 1.96 * errors
    assert covered.mean(axis=0) == pytest.approx(np.full(4, 0.95), abs=0.04)


def test_predictors_in_wildly_different_units_can_be_told_apart():
    """A share between 0 and 1 beside an income in cents."""
    draw = np.random.default_rng(32)
    share, cents = draw.random(3000), 1e7 * draw.normal(size=3000)
    outcome = 5.0 * share + 2e-7 * cents + draw.normal(size=3000)
    hidden = np.zeros((3, 3))
    hidden[2, 2] = 1e13
    shown = np.vstack([outcome, share, cents + 1e13**0.5 * draw.normal(size=3000)])
    found = estimate_regression(shown, hidden, 0, [1, 2])
    assert (np.abs(found.values - [0.0, 5.0, 2e-7]) < 4.5 * found.errors).all()


def test_predictors_that_follow_from_one_another_are_named_as_the_reason():
    draw = np.random.default_rng(33)
    x, y = draw.normal(size=(2, 400))
    for other in (3.0 * x + 2.0, np.full(400, 7.0)):
        with pytest.raises(EstimationError, match="follow from the others"):
            estimate_regression(np.vstack([y, x, other]), np.diag([1.0, 0, 0]), 0, [1, 2])


def test_quantiles_of_a_skewed_attribute_are_found_below_the_noise():
    law = stats.gamma(16.0, scale=0.25)
    draw = np.random.default_rng(9)
    found = [
        estimate_quantiles(law.rvs(6000, random_state=draw) + draw.normal(size=6000), 1.0, SHARES)
        for _ in range(60)
    ]
    values = np.array([one.values for one in found])
    errors = np.array([one.errors for one in found])
    assert values.mean(axis=0) == pytest.approx(law.ppf(SHARES), abs=0.05)
    ratio = errors.mean(axis=0) / values.std(axis=0)
    assert ratio == pytest.approx(np.ones_like(ratio), rel=0.35)


def test_quantiles_increase_however_skewed_the_numbers_are():
    numbers = np.random.default_rng(2).lognormal(0, 1.2, 800)
    found = estimate_quantiles(numbers, 0.1, [0.9, 0.01, 0.5, 0.2, 0.99])
    assert (np.diff(found.values[np.argsort([0.9, 0.01, 0.5, 0.2, 0.99])]) >= 0).all()


def test_records_with_something_missing_are_left_out_where_it_is_needed():
    draw = np.random.default_rng(4)
    released = sample(draw) + noise(draw)
    holes = released.copy()
    holes[1, ::2] = np.nan
    halved = released[:, 1::2]
    assert estimate_means(holes, NOISE).values[0] == estimate_means(released, NOISE).values[0]
    wanted = estimate_covariance(halved, NOISE).values
    assert estimate_covariance(holes, NOISE).values[0, 1] == pytest.approx(wanted[0, 1])
    one, other = (estimate_regression(y, NOISE, 1, [0]) for y in (holes, halved))
    assert one.values == pytest.approx(other.values)
    kept = estimate_quantiles(holes[1], 0.8, SHARES)
    assert kept.values == pytest.approx(estimate_quantiles(halved[1], 0.8, SHARES).values)


def test_too_few_records_or_too_much_noise_are_told():
    few = np.full((2, 3), np.nan)
    few[:, 0] = 1.0
    draw = np.random.default_rng(1)
    weak = draw.normal(size=(2, 30))
    loud = 10 * np.eye(2)
    for estimate in (
        lambda: estimate_means(few, NOISE),
        lambda: estimate_covariance(few, NOISE),
        lambda: estimate_regression(few, NOISE, 0, [1]),
        lambda: estimate_quantiles(few[0], 1.0, [0.5]),
    ):
        with pytest.raises(EstimationError, match="too few records"):
            estimate()
    with pytest.raises(EstimationError, match="too much noise for a regression on 30 records"):
        estimate_regression(weak, loud, 0, [1])
    with pytest.raises(EstimationError, match="explains all of the spread"):
        estimate_quantiles(weak[0], 10.0, [0.5])
    with pytest.raises(ValueError, match="share"):
        estimate_quantiles(weak[0], 0.1, [1.0])


@pytest.mark.slow
@pytest.mark.turns(1)
def test_weighted_intervals_hold_the_population_s_figures_as_often_as_they_say():
    """Rich people are drawn more rarely: without weights every figure would be off."""
    draw = np.random.default_rng(9)
    population = draw.gamma(6.0, 1.0, 40_000)
    chance = 1.0 / (1.0 + population)
    chance /= chance.sum()
    noise, shares = 2.0, [0.25, 0.5, 0.75]
    truths = np.array([population.mean(), *np.quantile(population, shares)])
    held, off = np.zeros(4), 0
    for _ in range(300):
        rows = draw.choice(len(population), 800, p=chance)
        shown = population[rows] + draw.normal(0.0, np.sqrt(noise), len(rows))
        weights = 1.0 / chance[rows]
        mean = weighted_means(shown[None], weights)
        found = estimate_quantiles(shown, noise, shares, weights)
        values = np.array([*mean.values, *found.values])
        held += np.abs(values - truths) <= 1.96 * np.array([*mean.errors, *found.errors])
        off += abs(shown.mean() - truths[0]) > 1.96 * shown.std() / np.sqrt(len(rows))
    assert (held / 300 > 0.9).all(), held / 300
    assert off > 200, "without weights the mean is off"


def test_equal_weights_change_nothing():
    numbers = np.random.default_rng(4).gamma(3.0, size=500)
    alike = estimate_quantiles(numbers, 0.2, SHARES, np.full(500, 7.0))
    plain = estimate_quantiles(numbers, 0.2, SHARES)
    assert alike.values == pytest.approx(plain.values)
    assert alike.errors == pytest.approx(plain.errors)
    mean = weighted_means(numbers[None], np.full(500, 7.0))
    assert mean.errors[0] == pytest.approx(numbers.std(ddof=1) / np.sqrt(500))
