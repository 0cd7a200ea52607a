"""Matrices that keep a value with one probability and otherwise draw from a fixed distribution.

P = p·I + (1 − p)·π·1ᵀ. With π uniform it is the uniform ladder's matrix (Xiao, Tao and Chen, VLDB
2009, equation 1). Products stay in the family: P(p)·P(q) = P(p·q) for one π, so releases at any
levels form a ladder; and P·π = π, so values that are distributed as π stay so at every level (an
invariant post-randomisation). A diagonal plus rank one costs O(m).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import EstimationError, PolicyError
from sfumato.engine.matrices.matrix import (
    DenseMatrix,
    GarblingTest,
    OddsRatios,
    PerturbationMatrix,
    Square,
    Vector,
)
from sfumato.engine.matrices.privacy import check_retention


class DistributionMatrix(PerturbationMatrix):
    """Every value is kept with probability p and otherwise replaced by a draw from π.

    Parameters
    ----------
    retention
        The retention probability p, from 0 to 1.
    distribution
        π, shape (m,), m >= 2: every probability above 0, summing to 1.

    Raises
    ------
    LevelError
        If the retention probability is not between 0 and 1.
    PolicyError
        If π is no such distribution.
    """

    def __init__(self, retention: float, distribution: Vector) -> None:
        drawn = np.array(distribution, dtype=np.float64)
        sound = drawn.ndim == 1 and drawn.size >= 2 and bool((drawn > 0.0).all())
        if not sound or abs(float(drawn.sum()) - 1.0) > 1e-12:
            raise PolicyError(
                "What replaced values are drawn from is not a distribution over the domain with a"
                " probability above 0 for each value.",
                "Give two values or more, with probabilities above 0 that sum to 1.",
            )
        drawn.flags.writeable = False
        self._retention = check_retention(retention)
        self._drawn: Vector = drawn
        self._other: Vector = (1.0 - self._retention) * drawn

    def __repr__(self) -> str:
        return f"DistributionMatrix(m={self.size}, p={self._retention:g})"

    @property
    def size(self) -> int:
        """The number of values, m."""
        return int(self._drawn.size)

    @property
    def retention(self) -> float:
        """The retention probability p."""
        return self._retention

    @property
    def distribution(self) -> Vector:
        """What replaced values are drawn from, π, shape (m,), read-only."""
        return self._drawn

    @property
    def diagonal(self) -> Vector:
        """The chance that each value is released as itself: p + (1 − p)·π, shape (m,)."""
        shown: Vector = self._retention + self._other
        return shown

    def row(self, released: int) -> Vector:
        """Return Pr[released | original] for every original value, shape (m,)."""
        row = np.full(self.size, self._other[released])
        row[released] += self._retention
        return row

    def column(self, original: int) -> Vector:
        """Return Pr[released | original] for every released value, shape (m,)."""
        column = self._other.copy()
        column[original] += self._retention
        return column

    def block(self, released: npt.NDArray[np.intp], original: npt.NDArray[np.intp]) -> Square:
        """Return the entries of some rows and columns, shape (rows, columns)."""
        same = np.asarray(released)[:, None] == np.asarray(original)[None, :]
        block: Square = self._other[released][:, None] + self._retention * same
        return block

    def apply(self, frequencies: Vector) -> Vector:
        """Return P·f, shape (m,)."""
        shares = np.asarray(frequencies, dtype=np.float64)
        expected: Vector = self._retention * shares + self._other * float(shares.sum())
        return expected

    def apply_transposed(self, weights: Vector) -> Vector:
        """Return Pᵀ·w, shape (m,)."""
        given = np.asarray(weights, dtype=np.float64)
        answer: Vector = self._retention * given + float(self._other @ given)
        return answer

    def solve(self, observed: Vector) -> Vector:
        """Return P⁻¹·o = (o − (1 − p)·π·Σo)/p, shape (m,)."""
        kept = self._kept()
        seen = np.asarray(observed, dtype=np.float64)
        answer: Vector = (seen - self._other * float(seen.sum())) / kept
        return answer

    def apply_squared_inverse(self, weights: Vector) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·w_j, shape (m,); (P⁻¹)_ij = (δ_ij − (1 − p)·π_i)/p."""
        kept = self._kept()
        given = np.asarray(weights, dtype=np.float64)
        spread = given * (1.0 - 2.0 * self._other) + self._other**2 * float(given.sum())
        answer: Vector = spread / kept**2
        return answer

    def own_second_moments(self) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·P_ji, shape (m,)."""
        kept, shown = self._kept(), self.diagonal
        moments: Vector = (1.0 - self._other) ** 2 * shown + self._other**2 * (1.0 - shown)
        return moments / kept**2

    def inverse_ranges(self) -> Vector:
        """Return max_j − min_j of (P⁻¹)_ij: 1/p, shape (m,)."""
        return np.full(self.size, 1.0 / self._kept())

    def worst_odds_ratios(self) -> OddsRatios:
        """Return how far the release can move the odds on each value, from the entries.

        A value's odds rise most when it is released itself: by 1 + p/((1 − p)·π_i). They fall
        most when the rarest other value of π is released.
        """
        shown = self.diagonal
        least = int(self._drawn.argmin())
        second = float(np.delete(self._drawn, least).min())
        rarest = np.full(self.size, self._drawn[least])
        rarest[least] = second
        other = (1.0 - self._retention) * rarest
        with np.errstate(divide="ignore"):
            up = shown / self._other
        return OddsRatios(up=up, down=other / (self._retention + other))

    def test_garbling_of(self, upper: PerturbationMatrix) -> GarblingTest:
        """Examine whether this release can be made from `upper`'s alone."""
        self._check_same_size(upper)
        if isinstance(upper, DistributionMatrix) and self._shares_ladder(upper):
            if self._retention <= upper.retention:
                return GarblingTest(holds=True)
            if upper.retention == 0.0:
                return GarblingTest(holds=False)
        return DenseMatrix(self.dense()).test_garbling_of(upper)

    def _channel_to(self, lower: PerturbationMatrix) -> PerturbationMatrix:
        if isinstance(lower, DistributionMatrix) and lower._shares_ladder(self):
            ratio = lower.retention / self._retention if self._retention > 0.0 else 0.0
            return DistributionMatrix(min(ratio, 1.0), self._drawn)
        return DenseMatrix(self.dense()).garbling_to(lower)

    def _shares_ladder(self, other: DistributionMatrix) -> bool:
        return np.array_equal(self._drawn, other._drawn)

    def _kept(self) -> float:
        if self._retention == 0.0:
            raise EstimationError(
                "The release says nothing about the values: all of them are drawn at random.",
                "Choose a retention probability above 0.",
            )
        return self._retention
