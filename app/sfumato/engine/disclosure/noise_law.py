"""The laws of noise on numbers, as somebody uses them who wants to see through it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import scipy

from sfumato.engine.table.covariance import factor_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoiseLaw:
    """Normally distributed noise on N numbers.

    Parameters
    ----------
    covariance
        Its covariance, shape (N, N).
    """

    covariance: Floats = field(repr=False)

    @property
    def excess(self) -> float:
        """The excess kurtosis of each number's noise."""
        return 0.0

    @property
    def spreads(self) -> Floats:
        """The standard deviation of each number's noise, shape (N,)."""
        spreads: Floats = np.sqrt(np.diagonal(self.covariance))
        return spreads

    def scores(self, shown: Floats, atoms: Floats) -> Floats:
        """Return logarithms of likelihoods, but for a constant of each record.

        Parameters
        ----------
        shown
            What is released of r records, shape (N, r).
        atoms
            The true numbers they may have, shape (N, A).

        Returns
        -------
        numpy.ndarray
            Shape (r, A).
        """
        # From the atoms' middle: squares of years, or of seconds since 1970, would drown the noise.
        middle = atoms.mean(axis=1, keepdims=True)
        inverse = np.linalg.pinv(factor_of(self.covariance))
        white = inverse @ (atoms - middle)
        found: Floats = (inverse @ (shown - middle)).T @ white - 0.5 * np.square(white).sum(axis=0)
        return found

    def draws(self, uniforms: Floats) -> Floats:
        """Return noise made of numbers between 0 and 1, shape (N, n)."""
        noise: Floats = factor_of(self.covariance) @ scipy.special.ndtri(uniforms)
        return noise

    def half_widths(self, share: float) -> Floats:
        """Return how large each number's noise is at most so often, shape (N,)."""
        return -float(scipy.special.ndtri((1.0 - share) / 2.0)) * self.spreads

    def pooled_half_widths(self, share: float, rows: float) -> Floats:
        """Return the same of the best estimate from several rows that show one number."""
        return self.half_widths(share) / math.sqrt(rows)


@dataclass(frozen=True, eq=False)
class LaplaceNoise(NoiseLaw):
    """Noise on one number with a density that falls exponentially on both sides.

    Parameters
    ----------
    scale
        By how much the number has to change for a likelihood to change by a factor of e.
    fourth
        The excess kurtosis.
    """

    scale: float = 1.0
    fourth: float = 3.0

    @property
    def excess(self) -> float:
        """The excess kurtosis of the noise."""
        return self.fourth

    def scores(self, shown: Floats, atoms: Floats) -> Floats:
        """Return logarithms of likelihoods, shape (r, A); see `NoiseLaw.scores`."""
        found: Floats = -np.abs(shown[0][:, np.newaxis] - atoms[0]) / self.scale
        return found

    def draws(self, uniforms: Floats) -> Floats:
        """Return noise made of numbers between 0 and 1, shape (1, n)."""
        beside = uniforms - 0.5
        noise: Floats = -self.scale * np.sign(beside) * np.log1p(-2.0 * np.abs(beside))
        return noise

    def half_widths(self, share: float) -> Floats:
        """Return how large the noise is at most so often, shape (1,)."""
        return np.array([-self.scale * math.log(1.0 - share)])

    def pooled_half_widths(self, share: float, rows: float) -> Floats:
        """Return the same from several rows.

        The likelihood's information is 1/scale² a row, twice what the mean makes of it.
        """
        normal = -float(scipy.special.ndtri((1.0 - share) / 2.0)) * self.scale / math.sqrt(rows)
        return np.minimum(self.half_widths(share), normal)
