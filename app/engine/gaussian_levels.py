"""What a noise level leaves an attacker with, and the level that leaves them with as much.

Of all attackers only this is proved: two values of an attribute that lie d apart, and seemed
equally likely, are told apart from one release with probability Φ(d/(2s)) at most (the
likelihood-ratio test; Neyman and Pearson 1933). Here s is the standard deviation of the
attribute's noise given the noise of all others, 1/√((σ²·K)⁻¹)_ii, so that it holds for somebody
who knows the person's other numbers as well, whatever the numbers' distribution.

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

from app.engine.errors import LevelError
from app.engine.gaussian_settings import GaussianSettings, Noise
from app.engine.noise_level import HIGHEST, first_level

Floats = npt.NDArray[np.float64]

WITHIN_90: Final = 1.6448536269514722
"""A normal error lies within so many standard deviations with 90 % confidence."""

THREE_IN_FOUR: Final = 2.0 * 0.6744897501960817
"""Of two values so many standard deviations of noise apart, a guess is right 3 times in 4."""

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
        self._spreads = settings.moments.spreads
        self._factor = settings.factor
        self._vectors: Floats | None = None
        self._values: Floats | None = None
        if settings.noise is Noise.SEPARATE and settings.size > 1:
            covariance = settings.moments.covariance
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

    def indistinct(self, level: float) -> Floats:
        """Return how far apart two values are that are told apart 3 times in 4, shape (N,).

        Nobody does so more often, whatever else they know of the person; see above.
        """
        distances: Floats = THREE_IN_FOUR * self.own_noise(level)
        return distances

    def chance_to_tell_apart(self, level: float) -> float:
        """Return how often a guess between two values, one spread apart, is right at most."""
        own = self.own_noise(level) / self._spreads
        return 0.5 * math.erfc(-0.5 / (math.sqrt(2.0) * float(own.min())))

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
