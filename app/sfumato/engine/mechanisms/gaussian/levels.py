"""What a noise level leaves an attacker with, and the level that leaves them with as much.

Of all attackers only this is proved: two values of an attribute that lie d apart, and seemed
equally likely, are told apart from one release with probability Φ(d/(2s)) at most (the
likelihood-ratio test; Neyman and Pearson 1933). Here s is the standard deviation of the
attribute's noise given the noise of all others, 1/√((σ²·K)⁻¹)_ii, so that it holds for somebody
who knows the person's other numbers as well, whatever the numbers' distribution. Where the
covariance was measured in the table with a privacy loss of ε0, it can have moved the odds of the
two by e^ε0 before; then the best test is right with probability π·Φ(x/2 + ε0/x) + (1−π)·Φ(x/2 −
ε0/x) at most, with x = d/s and π/(1−π) = e^ε0.

The linear attacker of the paper knows μ_X and K_X and makes the best linear estimate from one
release. With noise
proportional to K_X the error has covariance σ²/(1+σ²)·K_X (Li, Chen, Li and Zhang, TKDE 2012,
equation 8). With separate noise, correlated attributes help to estimate one another; then the
error's covariance is K − K·(K + σ²·D)⁻¹·K with D the diagonal of K (equation 7), and the share
that is left of each attribute's variance is computed from the correlations. The half-widths are
those of this estimate for numbers that are normally distributed; of others somebody can be surer.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import LevelError
from sfumato.engine.mechanisms.gaussian.noise_level import HIGHEST, first_level
from sfumato.engine.mechanisms.gaussian.settings import GaussianSettings, Noise

Floats = npt.NDArray[np.float64]

WITHIN_90: Final = 1.6448536269514722
"""A normal error lies within so many standard deviations with 90 % confidence."""

SHARES: Final = (0.75, 0.9, 0.99)
"""Distances are told at which guesses are right so often, the first that ε0 leaves room for."""

_TOLERATED: Final = 1.0 - 1e-12
"""A level restated and read again is the same level, whatever was rounded on the way."""


class Uncertainty:
    """What noise levels leave an attacker with.

    Parameters
    ----------
    settings
        The covariance of the attributes, and how the noise hangs together.
    """

    def __init__(self, settings: GaussianSettings) -> None:
        self._spreads = settings.spreads
        self._factor = settings.factor
        self._epsilon = settings.epsilon
        self._vectors: Floats | None = None
        self._values: Floats | None = None
        if settings.noise is Noise.SEPARATE and settings.size > 1:
            covariance = settings.covariance
            correlation = covariance / self._spreads / self._spreads[:, np.newaxis]
            values, vectors = np.linalg.eigh(correlation)
            self._values, self._vectors = np.maximum(values, 0.0), vectors

    def remaining(self, level: float) -> Floats:
        """Return the share that is left of each attribute's variance, shape (N,).

        Parameters
        ----------
        level
            σ².
        """
        if self._values is None or self._vectors is None:
            return np.full(len(self._spreads), level / (1.0 + level))
        left: Floats = np.square(self._vectors) @ (self._values * level / (self._values + level))
        return left

    def own_noise(self, level: float) -> Floats:
        """Return the spread of each attribute's noise given all other attributes', shape (N,)."""
        inverse = np.linalg.inv(self._factor / self._spreads[:, np.newaxis])
        own: Floats = self._spreads * math.sqrt(level) / np.linalg.norm(inverse, axis=0)
        return own

    @property
    def share(self) -> float | None:
        """How often two values are told apart at the distances of `indistinct`.

        None where ε0 alone can tell nearly all of them apart.
        """
        return next((s for s in SHARES if self._epsilon <= 0.5 * math.log(s / (1.0 - s))), None)

    def indistinct(self, level: float) -> Floats:
        """Return how far apart two values are that are told apart as often as `share`, (N,).

        Nobody does so more often, whatever else they know of the person; see above.
        """
        share, low, high = self.share, 0.0, 10.0
        if share is None:
            return np.zeros(len(self._spreads))
        while high - low > 1e-12:
            middle = (low + high) / 2.0
            apart = right_guesses(middle, self._epsilon) > share
            low, high = (low, middle) if apart else (middle, high)
        distances: Floats = low * self.own_noise(level)
        return distances

    def chance_to_tell_apart(self, level: float) -> float:
        """Return how often a guess between two values, one spread apart, is right at most."""
        own = self.own_noise(level) / self._spreads
        return right_guesses(1.0 / float(own.min()), self._epsilon)

    def normalized_error(self, level: float) -> float:
        """Return the smallest of the attributes' shares: the attacker's best success."""
        return float(self.remaining(level).min())

    def half_widths(self, level: float) -> Floats:
        """Return how far off the linear attacker is at most for 90 % of normal numbers."""
        widths: Floats = WITHIN_90 * self._spreads * np.sqrt(self.remaining(level))
        return widths

    def half_widths_without(self) -> Floats:
        """Return how far off somebody is who knows μ_X and K_X and has no release."""
        widths: Floats = WITHIN_90 * self._spreads
        return widths

    def level_for_error(self, error: float) -> float:
        """Return the level that leaves at least this normalized error.

        Raises
        ------
        LevelError
            If the error is not above 0 and below 1, or takes more noise than there is.
        """
        if not 0.0 < error < 1.0:
            raise LevelError(
                "The normalized error {error:g} is not between 0 and 1.",
                "Give a number above 0 (the original) and below 1 (nothing is told).",
                error=error,
            )
        wanted = error * _TOLERATED
        level = first_level(lambda noise: self.normalized_error(noise) >= wanted)
        if level is None:
            raise LevelError(
                "The normalized error {error} takes more noise than can be added.",
                "Give at most {largest:.6g}.",
                error=error,
                largest=self.normalized_error(HIGHEST),
            )
        return level

    def level_for_half_width(self, width: float) -> float:
        """Return the level that leaves the attacker this unsure of the first attribute.

        Raises
        ------
        LevelError
            If the width is not positive, or even nobody without a release is as unsure.
        """
        if not 0.0 < width < math.inf:
            raise LevelError("The width ± {width:g} is not above 0.", "Widen it.", width=width)
        wanted = width * _TOLERATED
        level = first_level(lambda noise: float(self.half_widths(noise)[0]) >= wanted)
        if level is None:
            raise LevelError(
                "No noise leaves anyone as unsure as ± {width:g}: whoever knows how the numbers"
                " are distributed, and has no release at all, knows them within ± {most:.4g}.",
                "Give a smaller width.",
                width=width,
                most=float(self.half_widths_without()[0]),
            )
        return level


def right_guesses(apart: float, epsilon: float) -> float:
    """Return how often the best guess between two values is right at most; see above.

    Parameters
    ----------
    apart
        How far they lie apart, in standard deviations of the noise.
    epsilon
        ε0 of what is known beside the released value.
    """
    if math.isinf(epsilon):
        return 1.0
    likelier = 1.0 / (1.0 + math.exp(-epsilon))
    if apart <= 0.0:
        return likelier
    half, tilt = apart / math.sqrt(8.0), epsilon / apart / math.sqrt(2.0)
    first, second = 0.5 * math.erfc(-half - tilt), 0.5 * math.erfc(-half + tilt)
    return likelier * first + (1.0 - likelier) * second
