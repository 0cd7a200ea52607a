"""Noisy features are as good for learning on the ladder as with noise of their own."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engine.ladders.brownian import on_grid


@pytest.mark.slow
@pytest.mark.turns(3)
def test_classifiers_do_as_well_on_a_ladder_as_on_independent_noise():
    """With these seeds, once and for all; equal accuracies fail for one choice in 1,000."""
    datasets = pytest.importorskip("sklearn.datasets")
    # Imported here: it takes a second, which nobody waits for who leaves the test out.
    from tests.benchmarks.gaussian_learning import SCHEMES, accuracies  # noqa: PLC0415

    features, classes = datasets.load_iris(return_X_y=True)
    levels = [on_grid(level) for level in (0.05, 0.25, 1.0)]
    found = {scheme: accuracies(features, classes, levels, 8, scheme) for scheme in SCHEMES}
    for classifier in found["ladder"]:
        one, other = (found[scheme][classifier] for scheme in SCHEMES)
        error = np.sqrt((one.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / 8)
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 4.5 * error + 1e-3).all()
        # More noise, less to learn.
        assert (np.diff(one.mean(axis=0)) < 0).all()
        assert one.mean(axis=0)[-1] > 0.4
