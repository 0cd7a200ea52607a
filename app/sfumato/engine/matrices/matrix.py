"""The perturbation matrix: what a release does to values, and what it reveals about them.

Column = original value, row = released value, in the order of the domain, so each column sums
to 1 and expected released frequencies are P times the true ones (papers 1, 4 and 5 all use
this orientation: Xiao et al. 2009, equation 1; Chaytor et al. 2010, equation 1).

Everything that is promised about a release is computed here from the entries of the matrix
that is used, whatever formula chose it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import LadderError, PolicyError
from sfumato.engine.matrices.privacy import (
    check_priors,
    delta_of_gamma,
    epsilon_of_gamma,
    gamma_for_rho,
    rho2_of_gamma,
)

Vector = npt.NDArray[np.float64]
Square = npt.NDArray[np.float64]

DENSE_LIMIT = 4096
"""The largest domain whose matrix is built whole (128 MB)."""

MOST_FORBIDDING = 10
"""How many of the entries that forbid a garbling are named."""


@dataclass(frozen=True)
class OddsRatios:
    """How far a release can move anyone's odds on each value, over all beliefs beforehand.

    Parameters
    ----------
    up
        The largest factor by which a released value can multiply the odds on each original
        value, shape (m,); infinite where a released value can prove it.
    down
        The smallest factor, shape (m,); 0 where a released value can rule it out.
    """

    up: Vector
    down: Vector


@dataclass(frozen=True)
class ForbiddingEntry:
    """A negative entry of P2·P1⁻¹: no channel turns P1's releases into P2's.

    Parameters
    ----------
    released, original
        The entry's row and column, from 0.
    value
        The entry.
    """

    released: int
    original: int
    value: float


@dataclass(frozen=True)
class GarblingTest:
    """Whether one release could be another one, passed through a further random channel.

    Parameters
    ----------
    holds
        Whether such a channel exists.
    forbidding
        The most negative entries of the only candidate for that channel, worst first; empty
        where the channel exists, and where no candidate exists at all.
    """

    holds: bool
    forbidding: tuple[ForbiddingEntry, ...] = ()


class PerturbationMatrix(ABC):
    """The probabilities Pr[released = j | original = i] of one attribute's release.

    Sizes: m is the domain's size. Whole matrices are only built up to `DENSE_LIMIT` values;
    everything else costs O(m) for matrices that keep or replace.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of values, m."""

    @property
    @abstractmethod
    def diagonal(self) -> Vector:
        """The chance that each value is released as itself, shape (m,)."""

    @abstractmethod
    def row(self, released: int) -> Vector:
        """Return Pr[released | original] for every original value, shape (m,)."""

    @abstractmethod
    def column(self, original: int) -> Vector:
        """Return Pr[released | original] for every released value, shape (m,)."""

    @abstractmethod
    def block(self, released: npt.NDArray[np.intp], original: npt.NDArray[np.intp]) -> Square:
        """Return the entries of some rows and columns, shape (rows, columns)."""

    @abstractmethod
    def apply(self, frequencies: Vector) -> Vector:
        """Return P·f, the expected released frequencies, shape (m,)."""

    @abstractmethod
    def apply_transposed(self, weights: Vector) -> Vector:
        """Return Pᵀ·w, shape (m,)."""

    @abstractmethod
    def solve(self, observed: Vector) -> Vector:
        """Return P⁻¹·o, shape (m,).

        Raises
        ------
        EstimationError
            If P is singular, naming the values that can't be told apart.
        """

    @abstractmethod
    def apply_squared_inverse(self, weights: Vector) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·w_j, shape (m,); raises as `solve` does."""

    @abstractmethod
    def own_second_moments(self) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·P_ji, shape (m,); raises as `solve` does.

        The mean square of what a record with value i adds to the estimated count of i.
        """

    @abstractmethod
    def inverse_ranges(self) -> Vector:
        """Return max_j − min_j of (P⁻¹)_ij, shape (m,); raises as `solve` does.

        The most that one record moves an estimated count by.
        """

    @abstractmethod
    def worst_odds_ratios(self) -> OddsRatios:
        """Return how far the release can move the odds on each value."""

    @abstractmethod
    def test_garbling_of(self, upper: PerturbationMatrix) -> GarblingTest:
        """Examine whether this release can be made from `upper`'s alone.

        It can iff a channel G exists with P = G·P_upper. Then nobody who holds both releases
        learns more than the upper one tells.
        """

    @abstractmethod
    def _channel_to(self, lower: PerturbationMatrix) -> PerturbationMatrix:
        """Return a channel G with lower = G·P, which is known to exist."""

    # What follows is the same for every matrix.

    def dense(self) -> Square:
        """Return the whole matrix, shape (m, m), for display.

        Raises
        ------
        PolicyError
            If the domain has more than `DENSE_LIMIT` values; use `block`.
        """
        if self.size > DENSE_LIMIT:
            raise PolicyError(
                "A matrix of {size} values is too large to be shown whole.",
                "Show a part of it.",
                size=self.size,
            )
        everything = np.arange(self.size)
        return self.block(everything, everything)

    @property
    def entries(self) -> Square:
        """The whole matrix, as `dense` returns it."""
        return self.dense()

    def posterior(self, prior: Vector, released: int | None = None) -> npt.NDArray[np.float64]:
        """Return what someone believes who has seen a released value (Bayes).

        Parameters
        ----------
        prior
            The belief before, shape (m,): not negative, summing to 1.
        released
            The released value's position; None for all of them.

        Returns
        -------
        numpy.ndarray
            Pr[original | released], shape (m,); or shape (m, m) with a row for each released
            value. Not a number where a value can't be released at all under this prior.

        Raises
        ------
        PolicyError
            If the prior is not a distribution over the domain, or the whole is too large.
        """
        belief = self._checked_distribution(prior)
        joint = (self.dense() if released is None else self.row(released)) * belief
        total = joint.sum(axis=-1, keepdims=True)
        answer: npt.NDArray[np.float64] = np.divide(
            joint, total, out=np.full_like(joint, np.nan), where=total > 0.0
        )
        return answer

    def worst_odds_ratio(self) -> float:
        """Return γ: the most any released value can multiply the odds on anything.

        Both for one value and for any set of values, and 1/γ is the least.
        """
        return float(self.worst_odds_ratios().up.max())

    @property
    def gamma(self) -> float:
        """The amplification γ: the largest ratio of two entries of one row."""
        return self.worst_odds_ratio()

    @property
    def epsilon(self) -> float:
        """ε = ln γ: the release is ε-locally differentially private."""
        return epsilon_of_gamma(self.gamma)

    @property
    def delta_growth(self) -> float:
        """δ = (√γ − 1)/(√γ + 1): nobody's belief in anything grows by more than δ."""
        return delta_of_gamma(self.gamma)

    def rho2_for(self, rho1: float) -> float:
        """Return the highest belief to which a belief of at most ρ1 can rise.

        Raises
        ------
        LevelError
            Unless 0 <= ρ1 <= 1.
        """
        return rho2_of_gamma(self.gamma, rho1)

    def is_private(self, rho1: float, rho2: float) -> bool:
        """Return whether (ρ1, ρ2)-privacy holds, upward and downward, for every prior.

        Raises
        ------
        LevelError
            Unless 0 < ρ1 < ρ2 < 1.
        """
        check_priors(rho1, rho2)
        return self.gamma <= gamma_for_rho(rho1, rho2)

    def is_garbling_of(self, upper: PerturbationMatrix) -> bool:
        """Return whether this release can be made from `upper`'s alone."""
        return self.test_garbling_of(upper).holds

    def garbling_to(self, lower: PerturbationMatrix) -> PerturbationMatrix:
        """Return the channel that turns this release into a less trusted one.

        Raises
        ------
        LadderError
            If there is none.
        """
        test = lower.test_garbling_of(self)
        if not test.holds:
            raise LadderError(
                "One of the two releases can't be made from the other.",
                "Choose levels of one ladder, the more trusted release first.",
            )
        return self._channel_to(lower)

    def _checked_distribution(self, shares: Vector) -> Vector:
        checked = np.asarray(shares, dtype=np.float64)
        if checked.shape != (self.size,):
            raise PolicyError(
                "A distribution over {size} values is needed; {given} numbers were given.",
                "Give one probability for each value of the domain.",
                size=self.size,
                given=checked.size,
            )
        if not np.all(checked >= 0.0) or abs(float(checked.sum()) - 1.0) > 1e-9:
            raise PolicyError(
                "The numbers are not a distribution.",
                "Give probabilities that are not negative and sum to 1.",
            )
        return checked

    def _check_same_size(self, other: PerturbationMatrix) -> None:
        if self.size != other.size:
            raise LadderError(
                "The matrices have {first} and {second} values.",
                "Compare releases of one attribute with one domain.",
                first=self.size,
                second=other.size,
            )
