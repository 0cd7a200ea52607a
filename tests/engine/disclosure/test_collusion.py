"""What coalitions restore: against enumeration, and against what is known of ladders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.disclosure import coalition_risk
from sfumato.engine.disclosure.best_guess import restored_alone, restored_without
from sfumato.engine.disclosure.coalition_risk import restored_together
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix
from tests.thorough import tried

FREQUENCIES = np.array([0.5, 0.3, 0.15, 0.05])


def brute_force(matrices, frequencies):
    """Go through all outcomes of all members, by the definition."""
    size = len(frequencies)
    guessed = posterior = 0.0
    for outcome in itertools.product(range(size), repeat=len(matrices)):
        joint = np.array(
            [
                frequencies[x]
                * np.prod([m.row(y)[x] for m, y in zip(matrices, outcome, strict=True)])
                for x in range(size)
            ]
        )
        guessed += joint.max()
        posterior += (joint**2).sum() / joint.sum() if joint.sum() else 0.0
    return guessed, posterior


def test_without_a_release_the_commonest_value_is_guessed():
    result = restored_without(FREQUENCIES)
    assert result.guessed == 0.5
    assert result.posterior == pytest.approx((FREQUENCIES**2).sum())


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=3),
    st.lists(st.floats(0.01, 1.0), min_size=2, max_size=4),
)
@settings(deadline=None, max_examples=tried(40))
def test_independent_coalitions_agree_with_enumeration(levels, weights):
    frequencies = np.array(weights) / np.sum(weights)
    matrices = [uniform_matrix(level, len(frequencies)) for level in levels]
    result = restored_together(matrices, frequencies, Silent())
    guessed, posterior = brute_force(matrices, frequencies)
    assert result.half_width == 0.0
    assert result.guessed == pytest.approx(guessed)
    assert result.posterior == pytest.approx(posterior)


def test_any_matrix_will_do():
    dense = DenseMatrix(np.array([[0.7, 0.1, 0.2], [0.2, 0.8, 0.2], [0.1, 0.1, 0.6]]))
    matrices = [dense, RetentionMatrix(np.array([0.2, 0.4, 0.0]))]
    frequencies = np.array([0.2, 0.5, 0.3])
    result = restored_together(matrices, frequencies, Silent())
    assert (result.guessed, result.posterior) == pytest.approx(brute_force(matrices, frequencies))


def test_the_original_restores_everything_and_noise_nothing():
    original, noise = uniform_matrix(1.0, 4), uniform_matrix(0.0, 4)
    assert restored_alone(original, FREQUENCIES, Silent()).guessed == pytest.approx(1.0)
    assert restored_alone(noise, FREQUENCIES, Silent()).guessed == pytest.approx(0.5)


def test_drawn_outcomes_agree_with_enumerated_ones(monkeypatch):
    matrices = [uniform_matrix(level, 4) for level in (0.6, 0.3, 0.1)]
    exact = restored_together(matrices, FREQUENCIES, Silent())
    monkeypatch.setattr(coalition_risk, "MOST_ENTRIES", 0)
    drawn = restored_together(matrices, FREQUENCIES, Silent())
    assert 0.0 < drawn.half_width < 0.01
    assert abs(drawn.guessed - exact.guessed) < 2 * drawn.half_width
    assert drawn == restored_together(matrices, FREQUENCIES, Silent())


def test_drawing_never_sees_an_impossible_value(monkeypatch):
    monkeypatch.setattr(coalition_risk, "MOST_ENTRIES", 0)
    frequencies = np.array([0.6, 0.4, 0.0])
    matrices = [uniform_matrix(1.0, 3), uniform_matrix(0.5, 3)]
    result = restored_together(matrices, frequencies, Silent())
    assert result.guessed == pytest.approx(1.0)


@given(st.lists(st.floats(0.05, 0.9), min_size=2, max_size=3))
@settings(deadline=None, max_examples=tried(25))
def test_independent_noise_gives_a_coalition_at_least_what_the_ladder_gives(levels):
    matrices = [uniform_matrix(level, 4) for level in levels]
    best = max(restored_alone(m, FREQUENCIES, Silent()).guessed for m in matrices)
    assert restored_together(matrices, FREQUENCIES, Silent()).guessed >= best - 1e-12


def test_many_independent_releases_restore_far_more_than_the_ladder():
    """The paper's Figure 7: independent releases approach certainty, the ladder does not."""
    frequencies = np.full(20, 0.05)
    matrices = [uniform_matrix(level, 20) for level in np.linspace(0.001, 0.5, 30)]
    together = restored_together(matrices, frequencies, Silent())
    alone = restored_alone(matrices[-1], frequencies, Silent())
    assert together.guessed > 0.98
    assert alone.guessed == pytest.approx(0.525)


def test_a_coalition_over_a_large_domain_can_be_cancelled():
    context = Callback(lambda _fraction, _text: None, lambda: True)
    with pytest.raises(Cancelled):
        restored_alone(uniform_matrix(0.5, 3000), np.full(3000, 1 / 3000), context)
