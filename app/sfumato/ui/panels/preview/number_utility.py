"""Means, spreads and correlations as a recipient estimates them, beside the true ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.engine.mechanisms.gaussian.utility import estimate_covariance, estimate_means
from sfumato.plots.number_estimates import Estimate, EstimatesData, Figure

Floats = npt.NDArray[np.float64]


def estimates_of(
    recipient: str, attributes: Sequence[str], true: Floats, released: Floats, noise: Floats
) -> EstimatesData:
    """Return every mean, spread and correlation with its error.

    Errors are those of the table's own figures: the records are no sample of anything.

    Parameters
    ----------
    recipient
        Who estimates.
    attributes
        Their names.
    true, released
        The numbers, shape (n, N); not a number where missing.
    noise
        The covariance of the noise, shape (N, N), which the recipient is told.

    Raises
    ------
    EstimationError
        If there are too few numbers to estimate anything.
    """
    count = int(np.isfinite(released).any(axis=1).sum())
    means = estimate_means(released.T, noise)
    corrected = estimate_covariance(released.T, noise)
    truth = estimate_covariance(true.T, np.zeros_like(noise)).values
    true_means = np.nanmean(true, axis=0)
    scales = np.sqrt(np.where(np.diag(truth) > 0, np.diag(truth), 1.0))
    found = [
        Estimate(Figure.MEAN, name, float(mean), float(value), float(error), float(scale))
        for name, mean, value, error, scale in zip(
            attributes, true_means, means.values, means.errors, scales, strict=True
        )
    ]
    # A variance can be estimated below 0: then there is too little to tell of its attribute.
    usable = np.diag(corrected.values) > 0
    for i in np.flatnonzero(usable).tolist():
        spread = float(np.sqrt(corrected.values[i, i]))
        error = float(corrected.errors[i, i]) / (2 * spread)
        true_spread = float(np.sqrt(truth[i, i]))
        found.append(
            Estimate(Figure.SPREAD, attributes[i], true_spread, spread, error, float(scales[i]))
        )
    found += [
        _correlation(attributes, truth, corrected.values, noise, count, i, j)
        for i, j in itertools.combinations(np.flatnonzero(usable).tolist(), 2)
    ]
    return EstimatesData(recipient, count, tuple(found))


def _correlation(
    attributes: Sequence[str],
    truth: Floats,
    corrected: Floats,
    noise: Floats,
    count: int,
    i: int,
    j: int,
) -> Estimate:
    """Return a correlation, its error by the delta method."""
    scale = np.sqrt(corrected[i, i] * corrected[j, j])
    value = corrected[i, j] / scale
    entries = ((i, j), (i, i), (j, j))
    slope = np.array([1 / scale, -value / (2 * corrected[i, i]), -value / (2 * corrected[j, j])])
    spread = np.array(
        [[_covariance_of_products(corrected, noise, a, b) for b in entries] for a in entries]
    )
    true_scale = np.sqrt(truth[i, i] * truth[j, j])
    return Estimate(
        Figure.CORRELATION,
        f"{attributes[i]} and {attributes[j]}",
        float(truth[i, j] / true_scale) if true_scale > 0 else 0.0,
        float(np.clip(value, -1.0, 1.0)),
        float(np.sqrt(max(slope @ spread @ slope, 0.0) / count)),
        1.0,
    )


def _covariance_of_products(
    truth: Floats, noise: Floats, first: tuple[int, int], second: tuple[int, int]
) -> float:
    """Return n times the covariance of two entries of the released covariance matrix.

    The true numbers stand still; of Gaussian noise Z, products have covariance
    K_ik·K_jl + K_il·K_jk (Isserlis), and the true numbers weigh the noise once.
    """
    (i, j), (k, m) = first, second

    def crossed(left: Floats, right: Floats) -> float:
        return float(left[i, k] * right[j, m] + left[i, m] * right[j, k])

    return (
        crossed(noise, noise)
        + crossed(truth, noise)
        + float(truth[j, m] * noise[i, k] + truth[j, k] * noise[i, m])
    )
