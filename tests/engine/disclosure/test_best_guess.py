"""Shares that are guessed right, by sums over the values, against their definitions."""

import numpy as np
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.best_guess import (
    guesses_at_each,
    guesses_at_released,
    restored_alone,
)
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix


@pytest.fixture(params=range(60))
def drawn(request):
    """Draw a release of few values, and beliefs in steps so coarse that many are alike."""
    rng = np.random.default_rng(request.param)
    size = int(rng.integers(2, 8))
    kept = rng.choice([0.0, 0.1, 0.3, 0.5, 1.0], size if request.param % 2 else 1)
    belief = rng.choice([0.0, 0.1, 0.2, 0.25, 0.5], (9, size))
    return RetentionMatrix(np.broadcast_to(kept, size)), belief, rng.integers(0, size, 9)


def test_what_one_release_restores_is_what_all_outcomes_restore(drawn):
    matrix, belief, _ = drawn
    shares = belief[0] + 0.1 * (belief[0].sum() == 0.0)
    shares = shares / shares.sum()
    one_by_one = restored_alone(DenseMatrix(matrix.dense()), shares, Silent())
    found = restored_alone(matrix, shares, Silent())
    assert (found.guessed, found.posterior) == pytest.approx(
        (one_by_one.guessed, one_by_one.posterior), abs=1e-12
    )


def test_a_released_value_is_weighed_by_bayes_rule(drawn):
    matrix, belief, released = drawn
    expected = [
        int((believed * matrix.row(int(value))).argmax())
        for believed, value in zip(belief, released, strict=True)
    ]
    assert guesses_at_released(belief, matrix, released).tolist() == expected
    at_each = guesses_at_each(belief, matrix)
    assert [int(at_each(value)[record]) for record, value in enumerate(released)] == expected
    dense = DenseMatrix(matrix.dense())
    assert guesses_at_released(belief, dense, released).tolist() == expected
