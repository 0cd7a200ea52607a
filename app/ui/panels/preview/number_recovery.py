"""Quantiles and regressions as a recipient recovers them, beside the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from app.engine.errors import EstimationError
from app.engine.gaussian_utility import estimate_quantiles, estimate_regression
from app.plots.figure import percent
from app.plots.number_estimates import Estimate, EstimatesData, Figure

Floats = npt.NDArray[np.float64]

SHARES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)


def quantiles_of(
    recipient: str, attributes: Sequence[str], true: Floats, released: Floats, noise: Floats
) -> tuple[EstimatesData | None, ...]:
    """Return each attribute's quantiles; None where too much noise hides its spread.

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
    """
    return tuple(
        _quantiles(recipient, name, true[:, place], released[:, place], noise[place, place])
        for place, name in enumerate(attributes)
    )


def _quantiles(
    recipient: str, attribute: str, true: Floats, released: Floats, noise: float
) -> EstimatesData | None:
    try:
        found = estimate_quantiles(released, float(noise), SHARES)
    except EstimationError:
        return None
    spread = float(np.nanstd(true)) or 1.0
    rows = zip(SHARES, np.nanquantile(true, SHARES), found.values, found.errors, strict=True)
    estimates = tuple(
        Estimate(
            Figure.QUANTILE, attribute, float(truth), float(value), float(error), spread,
            percent(share),
        )
        for share, truth, value, error in rows
    )  # fmt: skip
    return EstimatesData(recipient, int(np.isfinite(released).sum()), estimates)


def regressions_of(
    recipient: str, attributes: Sequence[str], true: Floats, released: Floats, noise: Floats
) -> tuple[EstimatesData | None, ...]:
    """Return each attribute's regression on all others; None where it can't be estimated.

    Parameters
    ----------
    recipient, attributes, true, released, noise
        As for `quantiles_of`.
    """
    return tuple(
        _regression(recipient, attributes, true, released, noise, place)
        for place in range(len(attributes))
    )


def _regression(
    recipient: str,
    attributes: Sequence[str],
    true: Floats,
    released: Floats,
    noise: Floats,
    outcome: int,
) -> EstimatesData | None:
    predictors = [place for place in range(len(attributes)) if place != outcome]
    if not predictors:
        return None
    try:
        found = estimate_regression(released.T, noise, outcome, predictors)
        truth = estimate_regression(true.T, np.zeros_like(noise), outcome, predictors)
    except EstimationError:
        return None
    spreads = np.nanstd(true, axis=0)
    name = attributes[outcome]
    kinds = [(Figure.INTERCEPT, ", ".join(attributes[p] for p in predictors), spreads[outcome])]
    kinds += [(Figure.SLOPE, attributes[p], spreads[outcome] / spreads[p]) for p in predictors]
    estimates = tuple(
        Estimate(figure, name, float(true_value), float(value), float(error), float(scale), at)
        for (figure, at, scale), true_value, value, error in zip(
            kinds, truth.values, found.values, found.errors, strict=True
        )
    )
    count = int(np.isfinite(released).all(axis=1).sum())
    return EstimatesData(recipient, count, estimates)
