"""Estimating frequencies: unbiased, with errors that are right, and inside the simplex."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import EstimationError, LevelError, PolicyError
from sfumato.engine.matrices.estimate import (
    Target,
    aggregate_utility,
    estimate_frequencies,
    expected_standard_errors,
    reconstruct,
    record_utility,
)
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix
from tests.thorough import tried

ZIPF = 1 / np.arange(1, 7)
ZIPF = ZIPF / ZIPF.sum()
MIXED = np.array([0.7, 0.2, 0.5, 0.9, 0.3, 0.0])


def released_counts(true_counts, matrix, generator):
    """Counts of one release of a fixed table."""
    return sum(
        generator.multinomial(count, matrix.column(value))
        for value, count in enumerate(true_counts)
    )


def most_likely(observed, retention):
    """The exact maximum of the uniform ladder's likelihood, by filling the largest first."""
    floor = (1 - retention) / len(observed) / retention
    ordered = np.sort(observed)[::-1]
    for used in range(len(observed), 0, -1):
        scale = (1 + used * floor) / ordered[:used].sum()
        if ordered[used - 1] * scale > floor:
            break
    return np.maximum(0.0, observed * scale - floor)


def test_the_uniform_estimate_is_the_known_formula():
    counts = np.array([50, 30, 20])
    estimate = estimate_frequencies(counts, uniform_matrix(0.4, 3))
    assert estimate.frequencies == pytest.approx((counts / 100 - 0.2) / 0.4)
    assert estimate.frequencies.sum() == pytest.approx(1.0)
    assert estimate.records == 100


def test_population_errors_are_multinomial_through_the_inverse():
    counts = np.array([50, 30, 20])
    shares = counts / 100
    estimate = estimate_frequencies(counts, uniform_matrix(0.4, 3), target=Target.POPULATION)
    assert estimate.standard_errors == pytest.approx(np.sqrt(shares * (1 - shares) / 100) / 0.4)


def test_table_errors_count_the_perturbation_alone():
    counts, size, retention = np.array([50, 30, 20]), 3, 0.4
    own, other = retention + (1 - retention) / size, (1 - retention) / size
    estimate = estimate_frequencies(counts, uniform_matrix(retention, size))
    share = estimate.frequencies
    variance = (share * own * (1 - own) + (1 - share) * other * (1 - other)) / 100
    assert estimate.standard_errors == pytest.approx(np.sqrt(variance) / retention)


def test_without_perturbation_the_table_is_known_and_the_population_is_sampled():
    counts = np.array([5, 3, 2])
    table = estimate_frequencies(counts, uniform_matrix(1.0, 3))
    population = estimate_frequencies(counts, uniform_matrix(1.0, 3), target=Target.POPULATION)
    assert table.frequencies == pytest.approx([0.5, 0.3, 0.2])
    assert np.all(table.standard_errors == 0.0)
    assert population.standard_errors == pytest.approx(np.sqrt([0.025, 0.021, 0.016]))


def covariance_of(counts, matrix, target):
    """The covariance of the estimated frequencies, by the whole inverse."""
    observed, inverse = counts / counts.sum(), np.linalg.inv(matrix.dense())
    frequencies = inverse @ observed
    known = np.diag(frequencies)
    if target is Target.POPULATION:
        known = np.outer(frequencies, frequencies)
    return ((inverse * observed) @ inverse.T - known) / counts.sum()


@pytest.mark.parametrize("retention", [np.full(6, 0.3), MIXED, np.full(6, 1.0)])
@pytest.mark.parametrize("target", list(Target))
def test_standard_errors_are_the_covariances_diagonal(retention, target):
    matrix = RetentionMatrix(retention)
    counts = np.rint(matrix.apply(ZIPF) * 1_000_000).astype(int)
    covariance = covariance_of(counts, matrix, target)
    estimate = estimate_frequencies(counts, matrix, target=target)
    variances = np.diagonal(covariance)
    assert estimate.standard_errors**2 == pytest.approx(variances, rel=1e-3, abs=1e-12)
    # The frequencies always sum to 1, so the whole has no variance.
    assert covariance.sum() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("records", "retention"),
    [(29, np.full(8, 0.05)), (29, np.full(4, 0.5)), (300, np.full(8, 0.1))],
)
def test_standard_errors_hold_for_few_records(records, retention):
    """400 releases: the spread of z has a standard error of 0.04; before, it was 1.6 at worst."""
    generator, matrix = np.random.default_rng(3), RetentionMatrix(retention)
    true = np.bincount(np.arange(records) % (matrix.size // 2), minlength=matrix.size)
    scores = []
    for _ in range(400):
        found = estimate_frequencies(released_counts(true, matrix, generator), matrix)
        scores.append((found.frequencies - true / records) / found.standard_errors)
    assert np.std(scores, axis=0).max() < 1.2


@pytest.mark.slow
@pytest.mark.parametrize("retention", [MIXED, np.full(6, 0.3)])
def test_estimates_are_unbiased_with_the_stated_errors(retention):
    """4,000 releases of one table; each bound is five standard errors: alarms once in 1e6."""
    generator = np.random.default_rng(7)
    matrix = RetentionMatrix(retention)
    true = np.round(ZIPF * 2000).astype(int)
    rounds = 4000
    found = np.array(
        [
            estimate_frequencies(released_counts(true, matrix, generator), matrix).frequencies
            for _ in range(rounds)
        ]
    )
    shares = true / true.sum()
    expected = expected_standard_errors(shares, matrix, true.sum())
    assert np.all(np.abs(found.mean(axis=0) - shares) < 5 * expected / math.sqrt(rounds))
    assert np.all(np.abs(found.std(axis=0) / expected - 1) < 5 / math.sqrt(2 * rounds))


@pytest.mark.few(1)
@pytest.mark.parametrize("target", list(Target))
def test_intervals_cover_what_they_are_about(target):
    """1,500 releases, 6 values: 90 % intervals cover within five standard errors."""
    generator = np.random.default_rng(8)
    matrix, records, rounds = uniform_matrix(0.4, 6), 3000, 1500
    covered = np.zeros(6)
    for _ in range(rounds):
        true = np.round(ZIPF * records).astype(int)
        if target is Target.POPULATION:
            true = generator.multinomial(records, ZIPF)
        truth = ZIPF if target is Target.POPULATION else true / true.sum()
        counts = released_counts(true, matrix, generator)
        estimate = estimate_frequencies(counts, matrix, confidence=0.9, target=target)
        covered += (estimate.low <= truth) & (truth <= estimate.high)
    bound = 5 * math.sqrt(0.9 * 0.1 / rounds) + 0.005  # and half a point for the approximation
    assert np.all(np.abs(covered / rounds - 0.9) < bound)


def test_higher_confidence_is_wider_and_intervals_stay_probabilities():
    counts, matrix = np.array([90, 6, 4]), uniform_matrix(0.2, 3)
    narrow, wide = (estimate_frequencies(counts, matrix, level) for level in (0.5, 0.99))
    assert np.all(wide.high - wide.low >= narrow.high - narrow.low)
    assert wide.low.min() >= 0.0
    assert wide.high.max() <= 1.0
    normal = estimate_frequencies(np.array([34, 33, 33]), matrix)
    half = (normal.high - normal.low) / 2
    inside = (normal.low > 0) & (normal.high < 1)
    assert half[inside] == pytest.approx(1.959964 * normal.standard_errors[inside])


@settings(deadline=None, max_examples=tried(60))
@given(
    st.lists(st.integers(0, 500), min_size=2, max_size=8).filter(lambda c: sum(c) > 0),
    st.floats(0.05, 1.0),
)
def test_the_iterative_method_finds_the_most_likely_frequencies(counts, retention):
    observed = np.array(counts) / sum(counts)
    found = reconstruct(np.array(counts), uniform_matrix(retention, len(counts)), tolerance=1e-11)
    assert found.converged
    assert found.frequencies.min() >= 0.0
    assert found.frequencies.sum() == pytest.approx(1.0)
    assert found.frequencies == pytest.approx(most_likely(observed, retention), abs=2e-3)


def test_the_iterative_method_is_the_inverse_inside_the_simplex():
    counts, matrix = np.array([400, 330, 270]), uniform_matrix(0.5, 3)
    inverse = estimate_frequencies(counts, matrix).frequencies
    found = reconstruct(counts, matrix, tolerance=1e-14)
    assert inverse.min() > 0
    assert found.frequencies == pytest.approx(inverse, abs=1e-6)


def test_the_iterative_method_is_fast_at_low_trust():
    generator = np.random.default_rng(9)
    shares = 1 / np.arange(1, 51)
    shares /= shares.sum()
    matrix = uniform_matrix(0.01, 50)
    counts = generator.multinomial(100_000, matrix.apply(shares))
    found = reconstruct(counts, matrix)
    assert found.converged
    assert found.steps < 20_000


def test_the_iterative_method_works_where_values_cannot_be_told_apart():
    found = reconstruct(np.array([7, 2, 1]), uniform_matrix(0.0, 3))
    assert found.converged
    assert found.frequencies == pytest.approx(np.full(3, 1 / 3))


def test_too_few_steps_are_said_not_hidden():
    found = reconstruct(np.array([60, 30, 9, 1]), uniform_matrix(0.05, 4), most_steps=1)
    assert not found.converged
    assert found.gap > 1e-9


def test_expected_errors_are_those_of_the_expected_release():
    matrix, records = uniform_matrix(0.4, 6), 10_000
    for target in Target:
        planned = expected_standard_errors(ZIPF, matrix, records, target)
        made = estimate_frequencies(matrix.apply(ZIPF) * records, matrix, target=target)
        assert planned == pytest.approx(made.standard_errors)


def test_record_utility_is_the_papers():
    # Chaytor et al., example 2: 1/3 for uniform, 0.4375 for fine-grain with the data's shares.
    fine = RetentionMatrix(np.array([0, 1 / 3, 1 / 3, 1 / 3]))
    assert record_utility(np.array([0.25, 0.25, 0.25, 0.25]), fine) == pytest.approx(0.4375)
    uniform = uniform_matrix(1 / 9, 4)
    assert record_utility(np.array([0.1, 0.2, 0.3, 0.4]), uniform) == pytest.approx(1 / 3)


def test_aggregate_utility_is_the_papers_definition_2():
    true, guess = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.3])
    assert aggregate_utility(true, guess) == pytest.approx(1 - 0.2 / 3)
    assert aggregate_utility(true, true) == 1.0


def test_twenty_thousand_values_are_estimated_without_a_whole_matrix():
    size = 20_000
    matrix = uniform_matrix(0.3, size)
    counts = np.random.default_rng(10).multinomial(1_000_000, np.full(size, 1 / size))
    estimate = estimate_frequencies(counts, matrix)
    assert estimate.frequencies.sum() == pytest.approx(1.0)
    with pytest.raises(PolicyError):
        matrix.dense()


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (EstimationError, lambda: estimate_frequencies(np.array([1, 2]), uniform_matrix(0.0, 2))),
        (EstimationError, lambda: estimate_frequencies(np.array([1, 2]), uniform_matrix(0.5, 3))),
        (EstimationError, lambda: estimate_frequencies(np.array([0, 0]), uniform_matrix(0.5, 2))),
        (EstimationError, lambda: estimate_frequencies(np.array([2, -1]), uniform_matrix(0.5, 2))),
        (
            EstimationError,
            lambda: estimate_frequencies(np.array([np.nan, 1]), uniform_matrix(1, 2)),
        ),
        (LevelError, lambda: estimate_frequencies(np.array([1, 2]), uniform_matrix(1, 2), 1.0)),
        (EstimationError, lambda: expected_standard_errors(ZIPF, uniform_matrix(0.5, 6), 0)),
        (EstimationError, lambda: aggregate_utility(ZIPF, ZIPF[:2])),
        (
            EstimationError,
            lambda: reconstruct(np.array([1, 1]), DenseMatrix(np.array([[0.0, 0], [1, 1]]))),
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused_with_a_remedy(error, call):
    with pytest.raises(error) as refused:
        call()
    assert refused.value.remedy
