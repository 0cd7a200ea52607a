"""What pooling the rows of a unit restores, beside enumeration that shares no code with it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.pooled_rows import chances, pooled_restoration, units_by_size
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix

PRIORS = ([0.25, 0.25, 0.25, 0.25], [0.5, 0.3, 0.15, 0.05], [0.5, 0.5, 0.0, 0.0])


def enumerated(columns, prior, rows):
    """Return the chance that the likeliest value is true, over all outcomes of a unit's rows."""
    right = 0.0
    for outcome in itertools.product(range(len(prior)), repeat=rows):
        joint = [
            share * np.prod([columns[value][released] for released in outcome])
            for value, share in enumerate(prior)
        ]
        right += max(joint)
    return right


def columns_of(matrix):
    return [matrix.column(value) for value in range(matrix.size)]


@pytest.mark.few(9)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("retention", [0.0, 0.1, 0.6])
def test_uniform_retention_pooled_is_as_enumerated(prior, rows, retention):
    matrix = uniform_matrix(retention, 4)
    found, error = chances(matrix, np.asarray(prior), rows)
    assert not error.any()
    assert found @ prior == pytest.approx(enumerated(columns_of(matrix), prior, rows), abs=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_values_with_retentions_of_their_own_pooled_are_as_enumerated(prior):
    matrix = RetentionMatrix(np.array([0.0, 0.2, 0.5, 0.8]))
    found, _ = chances(matrix, np.asarray(prior), 4)
    assert found @ prior == pytest.approx(enumerated(columns_of(matrix), prior, 4), abs=1e-12)


def test_any_other_matrix_is_drawn_within_the_error_it_states():
    matrix = DenseMatrix(np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]))
    prior = np.array([0.5, 0.3, 0.2])
    found, error = chances(matrix, prior, 3)
    assert (error > 0.0).all()
    exact = enumerated(columns_of(matrix), prior, 3)
    assert abs(found @ prior - exact) < 5.0 * np.sqrt(((error * prior) ** 2).sum())


def test_a_table_is_weighed_unit_by_unit():
    units = np.array([0, 0, 0, 1, 2, 2, 3, 3, 3])
    codes = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])
    by_size = units_by_size(units, codes, 3)
    assert {size: counts.tolist() for size, counts in by_size.items()} == {
        1: [0, 1, 0],
        2: [0, 1, 0],
        3: [2, 0, 0],
    }
    found = pooled_restoration(uniform_matrix(0.5, 3), by_size, Silent())
    prior = np.array([0.5, 0.5, 0.0])
    of = {size: chances(uniform_matrix(0.5, 3), prior, size)[0] for size in (1, 2, 3)}
    assert found.rows == pytest.approx((6 * of[3][0] + 2 * of[2][1] + of[1][1]) / 9)
    assert found.units == pytest.approx((2 * of[3][0] + of[2][1] + of[1][1]) / 4)
    assert found.one_row == pytest.approx((6 * of[1][0] + 3 * of[1][1]) / 9)


def test_what_is_released_as_it_is_is_restored_whole():
    found, _ = chances(uniform_matrix(1.0, 3), np.array([0.5, 0.5, 0.0]), 4)
    assert found.tolist() == [1.0, 1.0, 0.0]
