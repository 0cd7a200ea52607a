"""What noisy copies made elsewhere are: at which level, and what their holders know together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from sfumato.engine.mechanisms.gaussian.noise_level import HIGHEST, LOWEST
from sfumato.engine.mechanisms.gaussian.settings import NumberForm

Floats = npt.NDArray[np.float64]

_MOST_DECIMALS: Final = 4
_RELATED: Final = 4.5
"""A copy is of this table if it goes with the true values by so many standard errors."""

_RIDGE: Final = 1e-9


@dataclass(frozen=True)
class NoiseFound:
    """The noise that a copy seems to have.

    Parameters
    ----------
    level
        The best estimate of σ².
    low, high
        A 95 % interval.
    numbers
        From how many numbers.
    usable
        Whether the copy is neither the original nor unrelated to the table.
    """

    level: float
    low: float
    high: float
    numbers: int
    usable: bool


def find_noise(true: Floats, shown: Floats, variances: Floats) -> NoiseFound:
    """Estimate σ² from the differences between a copy and the true values.

    Parameters
    ----------
    true, shown
        The true values and the copy's, NaN where missing, shape (N, n).
    variances
        The variance of the noise of each attribute at σ² = 1, shape (N,).
    """
    scaled = (shown - true) / np.sqrt(variances)[:, np.newaxis]
    squares = np.nanmean(np.square(scaled), axis=1)
    counts = (~np.isnan(scaled)).sum(axis=1)
    level = float(squares.mean())
    # The noises of several attributes may be one and the same: they count as one.
    freedom = float(counts.min())
    low = level * freedom / float(special.chdtri(freedom, 0.025))
    high = level * freedom / float(special.chdtri(freedom, 0.975))
    related = all(_related(*pair) for pair in zip(true, shown, strict=True))
    usable = related and LOWEST <= level <= HIGHEST
    return NoiseFound(level, low, high, int(counts.min()), usable)


def roundest(low: float, high: float) -> float:
    """Return the number with the fewest digits in an interval of positive numbers."""
    middle = math.sqrt(low * high)
    for digits in range(1, 17):
        number = float(f"{middle:.{digits}g}")
        if low <= number <= high:
            return number
    return middle


def form_of(shown: Floats) -> NumberForm:
    """Return how a copy's numbers of one attribute seem to be rounded, NaN where missing."""
    present = shown[~np.isnan(shown)]
    for decimals in range(_MOST_DECIMALS + 1):
        if (np.round(present, decimals) == present).all():
            return NumberForm(10.0**-decimals)
    return NumberForm()


def open_share(true: Floats, copies: Sequence[Floats]) -> Floats:
    """Return the share of each attribute's variance that the copies together leave open.

    The best linear estimate is fitted to the table itself: that is what an attacker could do
    at best who knew how true values and copies go together.

    Parameters
    ----------
    true
        The true values, NaN where missing, shape (N, n).
    copies
        The copies, each of shape (N, n).

    Returns
    -------
    numpy.ndarray
        Shape (N,); NaN where there are too few records.
    """
    told = np.vstack(copies)
    known = ~np.isnan(np.vstack([true, told])).any(axis=0)
    if known.sum() <= len(told) + 1:
        return np.full(len(true), np.nan)
    hidden, seen = true[:, known], told[:, known]
    hidden = hidden - hidden.mean(axis=1, keepdims=True)
    seen = seen - seen.mean(axis=1, keepdims=True)
    seen /= np.maximum(seen.std(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    gram = seen @ seen.T + _RIDGE * seen.shape[1] * np.eye(len(seen))
    left = hidden - hidden @ seen.T @ np.linalg.solve(gram, seen)
    shares: Floats = np.square(left).sum(axis=1) / np.square(hidden).sum(axis=1)
    return shares


def _related(true: Floats, shown: Floats) -> bool:
    """Tell whether a copy goes with the true values more than chance would make it."""
    both = ~(np.isnan(true) | np.isnan(shown))
    one, other = true[both] - true[both].mean(), shown[both] - shown[both].mean()
    length = math.sqrt(float(one @ one) * float(other @ other))
    return length > 0.0 and float(one @ other) / length * math.sqrt(both.sum()) > _RELATED
