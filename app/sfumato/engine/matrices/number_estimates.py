"""What a recipient recovers from numbers with noise: moments, regressions, quantiles.

A released number is the true one plus noise whose covariance is published. So the mean is right
as it is; the covariance of the noise is subtracted from that of the released numbers; linear
regressions follow from the corrected covariances (Fuller, "Measurement Error Models", 1987,
section 2.2); and the third and fourth central moments, of which noise has what
its variance and its excess kurtosis say, give quantiles by the expansion of Cornish and Fisher
(1938).

Standard errors refer to the records of the release, or to the population that they are a
sample of (`Target`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import scipy

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.matrices.estimate import Target

_SINGULAR: Final = 1e-10
"""Predictors whose correlations have a smaller eigenvalue follow from one another."""

_STEP: Final = 1e-4
"""By how much of its spread a moment is moved to see how a quantile follows."""


@dataclass(frozen=True)
class Estimates:
    """Estimates with their standard errors, in any shape."""

    values: Floats
    errors: Floats


def estimate_means(released: Floats, noise: Floats, target: Target = Target.TABLE) -> Estimates:
    """Estimate the true means.

    Parameters
    ----------
    released
        The released numbers, NaN where missing, shape (N, n).
    noise
        The covariance of the noise, shape (N, N).
    target
        What the standard errors refer to.

    Raises
    ------
    EstimationError
        If an attribute has fewer than two numbers.
    """
    counts = _counts(released)
    spread = np.diagonal(noise) if target is Target.TABLE else np.nanvar(released, axis=1)
    return Estimates(np.nanmean(released, axis=1), np.sqrt(spread / counts))


def weighted_means(scores: Floats, weights: Floats) -> Estimates:
    """Return weighted means over records, with errors for the population that they stand for.

    By linearization, as for a sample drawn with replacement: sampling and noise both.

    Parameters
    ----------
    scores
        A number for each record, shape (q, n), none missing.
    weights
        How many of the population each record stands for, shape (n,), above 0.

    Raises
    ------
    EstimationError
        If there are fewer than two records.
    """
    count = scores.shape[1]
    if count < 2:
        raise _too_few()
    share = weights / weights.sum()
    means = scores @ share
    spread = ((scores - means[:, None]) ** 2) @ share**2
    return Estimates(means, np.sqrt(spread * count / (count - 1)))


def estimate_covariance(
    released: Floats, noise: Floats, target: Target = Target.TABLE, excess: float = 0.0
) -> Estimates:
    """Estimate the true covariance matrix, from the records that have both numbers of a pair.

    Parameters
    ----------
    released, noise, target
        As for `estimate_means`.
    excess
        The excess kurtosis of each number's noise: 0 where it is normal.

    Returns
    -------
    Estimates
        Values and errors of shape (N, N). An estimate need not be positive semidefinite, and a
        variance can be estimated below 0 where there are few records and much noise.
    """
    _counts(released)
    size = len(released)
    values, counts = np.empty((size, size)), np.empty((size, size))
    sampling = np.empty((size, size))
    for one in range(size):
        for other in range(one + 1):
            pair = released[[one, other]]
            pair = pair[:, ~np.isnan(pair).any(axis=0)]
            if pair.shape[1] < 2:
                raise _too_few()
            product = np.prod(pair - pair.mean(axis=1, keepdims=True), axis=0)
            for places in ((one, other), (other, one)):
                values[places] = product.sum() / (pair.shape[1] - 1) - noise[places]
                sampling[places], counts[places] = product.var(), pair.shape[1]
    if target is Target.POPULATION:
        return Estimates(values, np.sqrt(sampling / counts))
    # Given the true numbers, noise meets itself and, twice, the true numbers.
    true, own = np.maximum(np.diagonal(values), 0.0), np.diagonal(noise)
    met = np.outer(true, own) + np.outer(own, true) + 2.0 * values * noise
    alone = np.outer(own, own) + noise**2 + np.diag(excess * own**2)
    return Estimates(values, np.sqrt(np.maximum(met + alone, 0.0) / counts))


def estimate_regression(
    released: Floats, noise: Floats, outcome: int, predictors: Sequence[int]
) -> Estimates:
    """Estimate a linear regression among the attributes, as if there were no noise.

    Parameters
    ----------
    released, noise
        As for `estimate_means`.
    outcome
        The place of the attribute that is explained.
    predictors
        The places of those that explain it. Columns that were not perturbed stand among the
        released ones with noise 0: only what the noise adds is taken off (errors in variables).

    Returns
    -------
    Estimates
        The intercept, then a slope for each predictor, with errors for the population.

    Raises
    ------
    EstimationError
        If some predictors determine the others, or there are too few records for so much noise:
        the corrected covariance of the predictors has no inverse with positive variances.
    """
    chosen = [*predictors, outcome]
    told = released[chosen]
    told = told[:, ~np.isnan(told).any(axis=0)]
    rows = told.shape[1]
    if rows <= len(chosen):
        raise _too_few()
    means = told.mean(axis=1)
    centred = told - means[:, np.newaxis]
    hidden = noise[np.ix_(chosen, chosen)]
    spread = centred @ centred.T / (rows - 1) - hidden
    within, across = spread[:-1, :-1], spread[:-1, -1]
    _check_tellable(centred[:-1], within)
    slopes = np.linalg.solve(within, across)
    intercept = means[-1] - slopes @ means[:-1]
    # Each record's part in the equations that the slopes solve (Fuller 1987, theorem 2.2.1).
    residual = centred[-1] - slopes @ centred[:-1]
    parts = centred[:-1] * residual
    parts -= (hidden[:-1, -1] - hidden[:-1, :-1] @ slopes)[:, np.newaxis]
    influence = np.linalg.solve(within, parts)
    from_mean = residual - means[:-1] @ influence
    influences = np.vstack([from_mean, influence])
    return Estimates(
        np.concatenate([[intercept], slopes]), influences.std(axis=1) / math.sqrt(rows)
    )


def estimate_quantiles(
    released: Floats,
    noise_variance: float,
    shares: Sequence[float],
    weights: Floats | None = None,
    excess: float = 0.0,
) -> Estimates:
    """Estimate quantiles of one attribute from its first four moments.

    Good for distributions with one peak; the expansion is bent back into increasing order where
    strong skewness would fold it.

    Parameters
    ----------
    released
        The released numbers of the attribute, NaN where missing, shape (n,).
    noise_variance
        The variance of its noise.
    shares
        Where the quantiles are wanted, each between 0 and 1.
    weights
        How many of the population each record stands for, shape (n,); None where all are alike.
    excess
        The excess kurtosis of its noise: 0 where it is normal.

    Returns
    -------
    Estimates
        Values and errors of shape (shares,), the errors for the population.

    Raises
    ------
    EstimationError
        If there are too few records for so much noise: no variance is left.
    ValueError
        If a share is not between 0 and 1.
    """
    wanted = np.asarray(shares, dtype=np.float64)
    if not ((wanted > 0.0) & (wanted < 1.0)).all():
        raise ValueError("a quantile's share is not between 0 and 1")
    known = ~np.isnan(released)
    told = released[known]
    if len(told) < 2:
        raise _too_few()
    share = np.ones(len(told)) if weights is None else weights[known]
    share = share / share.sum()
    centre = float(told @ share)
    scale = math.sqrt(float((told - centre) ** 2 @ share))
    if not scale**2 > noise_variance:
        raise EstimationError(
            "The noise explains all of the spread of the {rows} released {rows:number|numbers}.",
            "Take more records.",
            rows=len(told),
        )
    powers = ((told - centre) / scale) ** np.arange(1, 5)[:, np.newaxis]
    moments = powers @ share
    about = (noise_variance / scale**2, scipy.special.ndtri(wanted), excess)
    values = _bent(moments, *about)
    errors = weighted_means(_slopes(moments, *about) @ powers, share).errors
    return Estimates(centre + scale * values, scale * errors)


def _slopes(moments: Floats, hidden: float, scores: Floats, noisy: float) -> Floats:
    """Return how each quantile follows each moment, by central differences, shape (q, 4)."""
    slopes = np.empty((len(scores), 4))
    for place in range(4):
        moved = np.zeros(4)
        moved[place] = _STEP * max(abs(moments[place]), 1.0)
        above, below = (
            _bent(moments + moved, hidden, scores, noisy),
            _bent(moments - moved, hidden, scores, noisy),
        )
        slopes[:, place] = (above - below) / (2.0 * moved[place])
    return slopes


def _bent(moments: Floats, hidden: float, scores: Floats, noisy: float) -> Floats:
    """Return quantiles from raw moments of the released numbers (Cornish and Fisher).

    Parameters
    ----------
    moments
        The means of the first four powers, shape (4,).
    hidden
        The variance of the noise.
    scores
        The standard normal quantiles, shape (q,).
    noisy
        The excess kurtosis of the noise.
    """
    first, second, third, fourth = moments.tolist()
    spread = second - first**2
    cubed = third - 3.0 * first * second + 2.0 * first**3
    to_fourth = fourth - 4.0 * first * third + 6.0 * first**2 * second - 3.0 * first**4
    variance = max(spread - hidden, 1e-12)
    skewness = cubed / variance**1.5
    excess = (to_fourth - 3.0 * spread**2 - noisy * hidden**2) / variance**2
    bent = scores + (scores**2 - 1.0) * skewness / 6.0 + (scores**3 - 3.0 * scores) * excess / 24.0
    bent -= (2.0 * scores**3 - 5.0 * scores) * skewness**2 / 36.0
    order = np.argsort(scores)
    increasing = np.empty_like(bent)
    increasing[order] = np.sort(bent)
    return first + math.sqrt(variance) * increasing


def _check_tellable(centred: Floats, within: Floats) -> None:
    """Raise `EstimationError` unless predictors can be told apart, whatever their units.

    Parameters
    ----------
    centred
        The released predictors less their means, shape (p, n).
    within
        Their covariance with the noise taken off, shape (p, p).
    """
    rows = centred.shape[1]
    shown = centred @ centred.T / (rows - 1)
    spreads = np.sqrt(np.diagonal(shown))
    if not spreads.all() or _least(shown, spreads) <= _SINGULAR:
        raise EstimationError(
            "Some of the predictors are the same everywhere or follow from the others.",
            "Leave them out.",
        )
    if _least(within, spreads) <= _SINGULAR:
        raise EstimationError(
            "There is too much noise for a regression on {rows} {rows:record|records}.",
            "Take fewer predictors, or more records.",
            rows=rows,
        )


def _least(covariance: Floats, spreads: Floats) -> float:
    """Return the least eigenvalue of a covariance in units of some spreads."""
    scaled = covariance / spreads / spreads[:, np.newaxis]
    return float(np.linalg.eigvalsh(scaled)[0])


def _counts(released: Floats) -> Integers:
    counts: Integers = (~np.isnan(released)).sum(axis=1)
    if (counts < 2).any():
        raise _too_few()
    return counts


def _too_few() -> EstimationError:
    return EstimationError(
        "There are too few records with these numbers to estimate anything.",
        "Take more records.",
    )
