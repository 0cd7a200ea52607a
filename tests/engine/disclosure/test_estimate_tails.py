"""The tails of a group's estimate are those of every release that could be drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.estimate_tails import (
    estimate_tails,
    inverse_rows,
    retention_of,
    simulated_errors,
)
from sfumato.engine.disclosure.group_tails import SampleDraw
from sfumato.engine.disclosure.grouped_values import GroupedValues, grouped_values
from sfumato.engine.disclosure.resampled_law import Trials
from sfumato.engine.matrices.matrix import DenseMatrix, PerturbationMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix
from sfumato.engine.table.micro_groups import micro_groups
from tests.thorough import tried


def one_group(counts: list[int]) -> GroupedValues:
    codes = np.repeat(np.arange(len(counts)), counts).astype(np.uint8)
    frame = pd.DataFrame({"all": np.zeros(len(codes))})
    return grouped_values(micro_groups(frame, ["all"], Silent()), codes, len(counts))


def enumerated(
    counts: list[int], matrix: PerturbationMatrix, epsilon: float
) -> tuple[float, float]:
    """Both tails for the most frequent value, over every release of the group."""
    size, total = matrix.size, sum(counts)
    true = np.repeat(np.arange(size), counts)
    top = int(np.argmax(counts))
    share = counts[top] / total
    dense = matrix.dense()
    high = low = 0.0
    for outcome in itertools.product(range(size), repeat=total):
        chance = float(np.prod(dense[list(outcome), true]))
        observed = np.bincount(outcome, minlength=size) / total
        error = (matrix.solve(observed)[top] - share) / share
        high += chance * (error > epsilon + 1e-12)
        low += chance * (error < -epsilon - 1e-12)
    return high, low


@settings(deadline=None, max_examples=tried(25))
@given(
    counts=st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(lambda c: 0 < sum(c) < 8),
    retention=st.sampled_from([0.1, 0.3, 0.5, 0.9]),
    epsilon=st.sampled_from([0.1, 0.25, 0.5, 1.0]),
)
def test_uniform_tails_are_those_of_all_releases(
    counts: list[int], retention: float, epsilon: float
) -> None:
    matrix = uniform_matrix(retention, 3)
    tails = estimate_tails(one_group(counts), matrix, epsilon, Silent())
    high, low = enumerated(counts, matrix, epsilon)
    assert tails.exact
    assert tails.high[0] == pytest.approx(high, abs=1e-12)
    assert tails.low[0] == pytest.approx(low, abs=1e-12)
    assert tails.within[0] == pytest.approx(1 - high - low, abs=1e-12)


def test_a_group_that_rests_on_fewer_trials_is_estimated_worse() -> None:
    table = one_group([60, 20, 20])
    matrix = uniform_matrix(0.5, 3)
    every = estimate_tails(table, matrix, 0.3, Silent())
    fewer = estimate_tails(
        table, matrix, 0.3, Silent(), trials=Trials(np.array([25]), SampleDraw.BY_VALUE)
    )
    assert min(fewer.high[0], fewer.low[0]) > 2 * min(every.high[0], every.low[0])
    # 15 of 25 have the value: the group of 25, each record standing for four.
    small = estimate_tails(one_group([15, 5, 5]), matrix, 0.3, Silent())
    assert fewer.high[0] == pytest.approx(small.high[0], abs=1e-12)


def test_without_retention_nothing_can_be_estimated() -> None:
    tails = estimate_tails(one_group([5, 5]), uniform_matrix(0.0, 2), 0.3, Silent())
    assert tails.high[0] == tails.low[0] == 1.0


def test_the_original_is_estimated_without_error() -> None:
    tails = estimate_tails(one_group([5, 3]), uniform_matrix(1.0, 2), 0.3, Silent())
    assert (tails.high[0], tails.low[0]) == (0.0, 0.0)


@pytest.mark.parametrize("counts", [[40, 10, 5, 5], [10, 9, 1, 0], [200, 50, 0, 0]])
def test_per_value_tails_are_near_those_of_simulated_releases(counts: list[int]) -> None:
    matrix = RetentionMatrix(np.array([0.2, 0.4, 0.5, 0.7]))
    table = one_group(counts)
    tails = estimate_tails(table, matrix, 0.3, Silent())
    weights = inverse_rows(matrix, np.array([0]), Silent())[0][np.newaxis]
    row = table.counts[[0]]
    error = simulated_errors(
        row.indices.astype(np.int64), row.data, matrix, weights, stream=99, draws=100_000
    )[0]
    limit = 0.3 * counts[0]
    assert not tails.exact
    assert tails.error < 0.05
    assert tails.high[0] == pytest.approx((error > limit).mean(), abs=0.03)
    assert tails.low[0] == pytest.approx((error < -limit).mean(), abs=0.03)


def test_any_matrix_is_near_the_exact_tails_where_these_are_known() -> None:
    uniform = uniform_matrix(0.4, 5)
    table = one_group([30, 20, 10, 5, 0])
    exact = estimate_tails(table, uniform, 0.3, Silent())
    near = estimate_tails(table, DenseMatrix(uniform.dense()), 0.3, Silent())
    assert near.high[0] == pytest.approx(exact.high[0], abs=0.04)
    assert near.low[0] == pytest.approx(exact.low[0], abs=0.04)


def test_simulated_errors_are_centred() -> None:
    matrix = RetentionMatrix(np.array([0.3, 0.9]))
    weights = inverse_rows(matrix, np.array([1]), Silent())[1][np.newaxis]
    error = simulated_errors(np.array([0, 1]), np.array([3, 4]), matrix, weights, 7, 50_000)[0]
    assert abs(error.mean()) < 4 * error.std() / 50_000**0.5


def test_values_that_cannot_be_told_apart_are_an_error() -> None:
    matrix = RetentionMatrix(np.array([0.0, 0.0, 0.5]))
    with pytest.raises(EstimationError, match="apart"):
        estimate_tails(one_group([3, 2, 1]), matrix, 0.3, Silent())


def test_one_retention_probability_is_recognized() -> None:
    assert retention_of(uniform_matrix(0.3, 4)) == 0.3
    assert retention_of(RetentionMatrix(np.array([0.3, 0.4]))) is None
    assert retention_of(DenseMatrix(np.eye(3))) is None
