"""What a release is worth in true records: by the law, and by simulated releases."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix
from sfumato.engine.matrices.worth import (
    design_effect,
    detail_kept,
    effective_records,
    least_reaching,
    variance_between_units,
    worth_of_mean,
    worth_of_member,
    worth_of_shares,
)
from sfumato.engine.mechanisms.distribution import DistributionMatrix

EIGHT = np.full(8, 1 / 8)
SKEWED = np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
MIXED = np.array([0.7, 0.2, 0.5, 0.9, 0.3, 0.4])
MATRICES = {
    "uniform": uniform_matrix(0.3, 6),
    "of its own": RetentionMatrix(MIXED),
    "one never kept": RetentionMatrix(np.where(MIXED == 0.2, 0.0, MIXED)),
    "drawn from shares": DistributionMatrix(0.3, SKEWED[::-1]),
    "any": DenseMatrix(np.full((6, 6), 0.05) + 0.7 * np.eye(6)[[1, 0, 2, 3, 4, 5]]),
}


def test_one_in_ten_of_eight_values_is_worth_about_one_record_in_a_hundred():
    found = worth_of_shares(EIGHT, uniform_matrix(0.1, 8), 10_000)
    assert found.records == pytest.approx(100, rel=0.02)
    assert found.by_value == pytest.approx(np.full(8, found.records))


def test_true_values_are_worth_as_many_records_as_there_are():
    found = worth_of_shares(SKEWED, uniform_matrix(1.0, 6), 500)
    assert found.records == pytest.approx(500)
    assert found.by_value == pytest.approx(np.full(6, 500.0))


@pytest.mark.parametrize("name", MATRICES)
def test_worth_is_that_of_the_covariance_written_out(name):
    matrix = MATRICES[name]
    inverse = np.linalg.inv(matrix.dense())
    shown = matrix.dense() @ SKEWED
    covariance = inverse @ (np.diag(shown) - np.outer(shown, shown)) @ inverse.T
    found = worth_of_shares(SKEWED, matrix, 900)
    assert found.records == pytest.approx(900 * (1 - SKEWED @ SKEWED) / np.trace(covariance))
    assert found.by_value == pytest.approx(900 * SKEWED * (1 - SKEWED) / np.diag(covariance))
    scores = np.arange(6.0)
    assert matrix.solve_transposed(scores) == pytest.approx(inverse.T @ scores)


@pytest.mark.parametrize("name", MATRICES)
def test_estimates_of_simulated_releases_err_as_a_sample_of_that_size_does(name):
    """The releases are drawn and inverted here, with nothing of the house's arithmetic."""
    entries, records, tries = MATRICES[name].dense(), 2_000, 4_000
    generator = np.random.default_rng(20)
    released = np.stack([generator.multinomial(records, entries @ SKEWED) for _ in range(tries)])
    estimated = np.linalg.solve(entries, released.T / records).T
    squares = ((estimated - SKEWED) ** 2).sum(axis=1)
    worth = (1 - SKEWED @ SKEWED) / squares.mean()
    error = worth * squares.std() / squares.mean() / np.sqrt(tries)
    found = worth_of_shares(SKEWED, MATRICES[name], records)
    assert abs(found.records - worth) < 4 * error


def test_values_that_cannot_be_told_apart_are_named_and_all_is_worth_nothing():
    found = worth_of_shares(SKEWED, RetentionMatrix(np.array([0.5, 0, 0.3, 0, 0.2, 0.9])), 1e6)
    assert (found.records, found.untold) == (0.0, (1, 3))
    mixture = np.array([[0.6, 0.2, 0.4], [0.2, 0.6, 0.4], [0.2, 0.2, 0.2]])
    found = worth_of_shares(np.array([0.5, 0.3, 0.2]), DenseMatrix(mixture), 1e6)
    assert (found.records, found.untold) == (0.0, (0, 1, 2))


@pytest.mark.parametrize(
    "matrix",
    [
        RetentionMatrix(np.array([0.5, 1e-9, 0.3, 1e-9])),
        DenseMatrix(RetentionMatrix(np.array([0.5, 1e-9, 0.3, 1e-9])).dense()),
        DenseMatrix(np.array([[0.5, 0.5, 0.1], [0.3, 0.3 - 1e-9, 0.2], [0.2, 0.2 + 1e-9, 0.7]])),
    ],
)
def test_matrices_that_are_as_good_as_singular_are_said_to_be(matrix):
    places = list(matrix.untold)
    assert places == ([1, 3] if matrix.size == 4 else [0, 1])
    assert matrix.is_singular
    with pytest.raises(EstimationError):
        matrix.solve(np.full(matrix.size, 1 / matrix.size))


def test_a_nearly_singular_uniform_level_tells_nothing():
    assert list(uniform_matrix(1e-8, 3).untold) == [0, 1, 2]
    assert list(DistributionMatrix(1e-8, np.full(3, 1 / 3)).untold) == [0, 1, 2]


def test_a_column_of_a_combination_is_worth_what_its_own_matrix_says():
    shares = np.outer([0.6, 0.4], [0.5, 0.3, 0.2]).ravel()
    member = np.repeat([0, 1], 3)
    found = worth_of_member(shares, uniform_matrix(0.3, 6), member, 1_000)
    alone = worth_of_shares(np.array([0.6, 0.4]), uniform_matrix(0.3, 2), 1_000)
    assert found.records == pytest.approx(alone.records)
    assert found.by_value == pytest.approx(alone.by_value)


@pytest.mark.parametrize("noise", [0.0, 1.0, 30.0])
def test_noise_on_numbers_is_worth_the_share_of_the_variance_that_is_true(noise):
    true = np.linspace(0.0, 10.0, 500)
    variance = true.var()
    found = worth_of_mean(true, true, np.full(500, noise), 500)
    assert found == pytest.approx(500 * variance / (variance + noise))


def test_clipping_that_moves_the_mean_does_not_average_out():
    true = np.random.default_rng(3).lognormal(0.0, 1.5, 200_000)
    clipped = np.minimum(true, np.quantile(true, 0.99))
    assert 1 - clipped.mean() / true.mean() > 0.05
    few, many = (worth_of_mean(true, clipped, np.zeros(len(true)), count) for count in (2e5, 2e7))
    bound = true.var() / (clipped.mean() - true.mean()) ** 2
    assert few < many < bound


def test_rows_of_a_unit_tell_less_than_rows_that_have_nothing_to_do_with_each_other():
    units = np.repeat(np.arange(200), 4)
    values = np.random.default_rng(1).integers(0, 3, 200)[units]
    between = variance_between_units(values, units, 3)
    shares = np.bincount(values, minlength=3) / 800
    assert between == pytest.approx(4 * shares * (1 - shares))
    assert design_effect(values.astype(float), units) == pytest.approx(4.0)
    apart = np.random.default_rng(1).normal(size=800)
    assert design_effect(apart, units) == pytest.approx(1.0, abs=0.3)


def test_between_units_is_the_sum_of_squared_deviations_of_units():
    generator = np.random.default_rng(7)
    units, values = generator.integers(0, 40, 300), generator.integers(0, 5, 300)
    shares = np.bincount(values, minlength=5) / 300
    indicators = (values[:, None] == np.arange(5)) - shares
    whole = np.stack([indicators[units == unit].sum(axis=0) for unit in range(40)])
    expected = (whole**2).sum(axis=0) / 300
    assert variance_between_units(values, units, 5) == pytest.approx(expected)


def test_kish_counts_records_of_unequal_weight():
    assert effective_records(np.full(40, 2.5)) == pytest.approx(40)
    assert effective_records(np.array([1.0, 1.0, 8.0])) == pytest.approx(100 / 66)


def test_detail_is_the_share_of_the_information_that_a_coarser_column_keeps():
    fine = np.arange(8).repeat(10)
    assert detail_kept(fine, fine // 2) == pytest.approx(2 / 3)
    assert detail_kept(fine, np.zeros(80, dtype=int)) == 0.0
    assert detail_kept(fine, fine[::-1]) == pytest.approx(1.0)
    assert detail_kept(np.arange(8), np.arange(8) // 4) == pytest.approx(1 / 3)
    assert detail_kept(np.zeros(5, dtype=int), np.zeros(5, dtype=int)) == 1.0


def test_a_suppressed_cell_keeps_no_detail_though_it_follows_from_the_value():
    # Every value is different: which cells are hidden, whatever for, is a function of the value.
    true, hidden = np.arange(64), np.arange(64) % 2 == 1
    labels = np.where(hidden, 0, 1 + true // 16)
    assert detail_kept(true, labels, hidden=hidden) == pytest.approx(0.5 * 2 / 6)
    assert detail_kept(true, np.where(hidden, 0, 1), hidden=hidden) == 0.0
    assert detail_kept(true, labels, hidden=np.ones(64, dtype=bool)) == 0.0


def test_detail_and_what_suppression_itself_tells_are_the_whole_information():
    random = np.random.default_rng(8)
    for _ in range(20):
        true, hidden = random.integers(6, size=40), random.random(40) < 0.4
        labels = np.where(hidden, 0, 1 + true // 2)
        told = Counter(zip(true.tolist(), hidden.tolist(), strict=True))
        shares = {pair: count / 40 for pair, count in told.items()}
        whose = {value: np.mean(true == value) for value in range(6)}
        shown = {False: 1 - hidden.mean(), True: hidden.mean()}
        own = -sum(share * np.log(share) for share in whose.values() if share)
        by_hiding = sum(
            share * np.log(share / (whose[value] * shown[star]))
            for (value, star), share in shares.items()
        )
        kept = detail_kept(true, labels, hidden=hidden)
        assert kept + by_hiding / own == pytest.approx(detail_kept(true, labels))


def test_the_least_trust_that_is_worth_enough_is_found():
    def worth_at(retention):
        return worth_of_shares(EIGHT, uniform_matrix(retention, 8), 1000).records

    found = least_reaching(100, worth_at, 0.01)
    assert found is not None
    assert worth_at(found) == pytest.approx(100, 1e-4)
    assert least_reaching(100, lambda p: 50 * p, 0.1) is None
