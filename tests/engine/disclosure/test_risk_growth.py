"""How the risk grows as recipients join: with independent noise to certainty, on a ladder not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.coalition_risk import risk_growth
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.randomness.keys import uniforms


def levels_between(lowest: float, highest: float, count: int) -> np.ndarray:
    return lowest + (highest - lowest) * uniforms(count, 1 << 40)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_independent_releases_approach_certainty_and_the_ladder_does_not():
    """The paper's Fig. 7, on its uniform prior of 50 values."""
    prior = np.full(50, 0.02)
    levels = levels_between(0.001, 0.5, 50)
    assert levels.min() >= 0.001
    assert levels.max() < 0.5
    points = risk_growth([uniform_matrix(p, 50) for p in levels], levels, prior, Silent())
    assert [point.recipients for point in points] == list(range(1, 51))
    assert points[29].independent > 0.9
    assert points[-1].independent > 0.99
    assert points[-1].on_ladder < 0.5
    best = np.maximum.accumulate(levels)
    for point, level in zip(points, best, strict=True):
        own = level + (1 - level) / 50  # by symmetry: what is shown is believed that much
        assert point.on_ladder == pytest.approx(own * own + (1 - own) ** 2 / 49)
        assert point.independent >= point.on_ladder - point.independent_error - 1e-9


@pytest.mark.slow
def test_growth_is_exact_where_outcomes_are_few_and_continuous_where_they_are_drawn(monkeypatch):
    levels = levels_between(0.1, 0.5, 20)
    matrices = [uniform_matrix(p, 2) for p in levels]
    points = risk_growth(matrices, levels, np.array([0.7, 0.3]), Silent())
    assert points[0].independent == pytest.approx(points[0].on_ladder)
    assert points[10].independent_error == 0.0
    assert points[-1].independent_error > 0.0
    means = [point.independent for point in points]
    assert all(b > a - 0.02 for a, b in itertools.pairwise(means))
