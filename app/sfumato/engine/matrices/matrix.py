"""The perturbation matrix: what a release does to values, and what it reveals about them.

Column = original value, row = released value, in the order of the domain, so each column sums
to 1 and expected released frequencies are P times the true ones (papers 1, 4 and 5 all use
this orientation: Xiao et al. 2009, equation 1; Chaytor et al. 2010, equation 1).

Everything that is promised about a release is computed here from the entries of the matrix
that is used, whatever formula chose it.

A `DenseMatrix` is given by its entries, such as one of a release made elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy

from sfumato.engine.core.errors import EstimationError, LadderError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Indices
from sfumato.engine.matrices.privacy import epsilon_of_gamma, rho2_of_gamma

Vector = Floats
Square = Floats

CERTAINLY_REGULAR = 1e10
"""A matrix is regular where its Frobenius condition is below this: the rank's limit, 1/(m·ε), lies
above it for any m up to `DENSE_LIMIT`."""
NEARLY_SINGULAR = 1e-6
"""A matrix is as good as singular where one record moves an estimated count by more than 1/this: a
table of a million records would not tell a value's share from nothing."""
DENSE_LIMIT = 4096
"""The largest domain whose matrix is built whole (128 MB)."""

MOST_TOLD = 64
"""The largest domain whose matrix recipients are told whole."""

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
    def outcomes(self) -> int:
        """The number of released values; m, unless symbols stand for the values.

        What is of shape (m,) on the released side below is of this shape.
        """
        return self.size

    @property
    def shows_symbols(self) -> bool:
        """Whether what is released are symbols, which are none of the values."""
        return self.outcomes != self.size

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
    def block(self, released: Indices, original: Indices) -> Square:
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

    @property
    @abstractmethod
    def untold(self) -> Indices:
        """The places of the values that can't be told apart; empty where P has a useful inverse.

        Where one record moves an estimated count by more than 1/`NEARLY_SINGULAR`, P is as good as
        singular, and everything that is said of singular matrices is said of it.
        """

    @property
    def is_singular(self) -> bool:
        """Whether some values can't be told apart, see `untold`."""
        return len(self.untold) > 0

    @abstractmethod
    def solve_transposed(self, scores: Vector) -> Vector:
        """Return P⁻ᵀ·s, shape (m,): what each released value adds to Σ s·f as it is estimated.

        Raises as `solve` does.
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

    def told(self) -> list[list[float]] | None:
        """Return the rows for recipients; None where it is large, or has no inverse to use."""
        if self.size > MOST_TOLD:
            return None
        try:
            self.inverse_ranges()
        except EstimationError:
            return None
        return self.dense().tolist()

    def dense(self) -> Square:
        """Return the whole matrix, shape (m, m), for display.

        Raises
        ------
        PolicyError
            If the domain has more than `DENSE_LIMIT` values; use `block`.
        """
        if self.size > DENSE_LIMIT:
            raise PolicyError(
                "A matrix of {size} {size:value|values} is too large to be shown whole.",
                "Show a part of it.",
                size=self.size,
            )
        return self.block(np.arange(self.outcomes), np.arange(self.size))

    def posterior(self, prior: Vector, released: int | None = None) -> Floats:
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
        return np.divide(joint, total, out=np.full_like(joint, np.nan), where=total > 0.0)

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

    def rho2_for(self, rho1: float) -> float:
        """Return the highest belief to which a belief of at most ρ1 can rise.

        Raises
        ------
        LevelError
            Unless 0 <= ρ1 <= 1.
        """
        return rho2_of_gamma(self.gamma, rho1)

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
                "A distribution over {size} {size:value|values} is needed; {given}"
                " {given:number was|numbers were} given.",
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


_PART = 1e-3
"""A smaller part of a direction, beside its largest, is left by rounding."""
_ROUNDING = 1e-9
"""How far a column's sum may be from 1, and a channel's entry below 0, by rounding."""


class DenseMatrix(PerturbationMatrix):
    """Any perturbation matrix, kept whole.

    Parameters
    ----------
    entries
        Pr[released | original], shape (m, m), m >= 2; each column sums to 1.

    Raises
    ------
    PolicyError
        If the entries are not such a matrix.
    """

    def __init__(self, entries: Square) -> None:
        kept = np.array(entries, dtype=np.float64)
        if kept.ndim != 2 or kept.shape[0] != kept.shape[1] or kept.shape[0] < 2:
            raise PolicyError(
                "A perturbation matrix needs as many rows as columns, and at least two.",
                "Give a row and a column for each value of the domain.",
            )
        wrong = ~np.isfinite(kept).all(axis=0) | (kept < 0.0).any(axis=0)
        wrong |= ~(np.abs(kept.sum(axis=0) - 1.0) <= _ROUNDING)
        if wrong.any():
            raise PolicyError(
                "Column {column} of the perturbation matrix is not a distribution.",
                "Give probabilities that sum to 1 over the released values (the rows).",
                column=int(wrong.argmax()) + 1,
            )
        kept.flags.writeable = False
        self._entries: Square = kept

    def __repr__(self) -> str:
        return f"DenseMatrix(m={self.size})"

    def mixed(self, share: float) -> DenseMatrix:
        """Return what shows this release with a probability, and else any value: s·P + (1 − s)/m.

        Its inverse follows from this one's, which is found once for all shares.
        """
        return _MixedMatrix(self, share)

    @property
    def size(self) -> int:
        """The number of values, m."""
        return int(self._entries.shape[0])

    @property
    def diagonal(self) -> Vector:
        """The chance that each value is released as itself, shape (m,)."""
        return np.diagonal(self._entries).copy()

    def row(self, released: int) -> Vector:
        """Return Pr[released | original] for every original value, shape (m,)."""
        return self._entries[released].copy()

    def column(self, original: int) -> Vector:
        """Return Pr[released | original] for every released value, shape (m,)."""
        return self._entries[:, original].copy()

    def block(self, released: Indices, original: Indices) -> Square:
        """Return the entries of some rows and columns, shape (rows, columns)."""
        return self._entries[np.ix_(released, original)]

    def apply(self, frequencies: Vector) -> Vector:
        """Return P·f, shape (m,)."""
        return self._entries @ np.asarray(frequencies, dtype=np.float64)

    def apply_transposed(self, weights: Vector) -> Vector:
        """Return Pᵀ·w, shape (m,)."""
        return self._entries.T @ np.asarray(weights, dtype=np.float64)

    def solve(self, observed: Vector) -> Vector:
        """Return P⁻¹·o, shape (m,)."""
        return self._inverse @ np.asarray(observed, dtype=np.float64)

    def solve_transposed(self, scores: Vector) -> Vector:
        """Return P⁻ᵀ·s, shape (m,)."""
        return self._inverse.T @ np.asarray(scores, dtype=np.float64)

    def apply_squared_inverse(self, weights: Vector) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·w_j, shape (m,)."""
        return self._inverse**2 @ np.asarray(weights, dtype=np.float64)

    def own_second_moments(self) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·P_ji, shape (m,)."""
        return (self._inverse**2 * self._entries.T).sum(axis=1)

    def inverse_ranges(self) -> Vector:
        """Return max_j − min_j of (P⁻¹)_ij, shape (m,)."""
        return np.ptp(self._inverse, axis=1)

    def worst_odds_ratios(self) -> OddsRatios:
        """Return how far the release can move the odds on each value, from the entries.

        Over all beliefs, the odds on i after seeing j move by at most P_ji/min P_jk and at
        least P_ji/max P_jk, k running over the other values.
        """
        return self._worst_odds_ratios

    @cached_property
    def _worst_odds_ratios(self) -> OddsRatios:
        least, most = _extremes_of_others(self._entries)
        with np.errstate(divide="ignore", invalid="ignore"):
            up = self._entries / least
            down = self._entries / most
        # 0/0: under such a belief the released value is never seen, so it moves nothing.
        up[np.isnan(up)] = 0.0
        down[np.isnan(down)] = np.inf
        return OddsRatios(up=up.max(axis=0), down=down.min(axis=0))

    def test_garbling_of(self, upper: PerturbationMatrix) -> GarblingTest:
        """Examine whether this release can be made from `upper`'s alone."""
        self._check_same_size(upper)
        source = upper if isinstance(upper, DenseMatrix) else DenseMatrix(upper.dense())
        if not source._lacks_rank:
            return _test_entries(self._entries @ source._regular)
        return GarblingTest(_feasible_channel(source._entries, self._entries) is not None)

    @cached_property
    def untold(self) -> Indices:
        """The places of the values that can't be told apart; empty where P has a useful inverse.

        They are those that differ between distributions whose releases are alike: the right
        singular vectors of P's least singular values.
        """
        if not self._lacks_rank and np.ptp(self._regular, axis=1).max() <= 1.0 / NEARLY_SINGULAR:
            return np.zeros(0, dtype=np.intp)
        _, sizes, directions = np.linalg.svd(self._entries)
        alike = np.flatnonzero(sizes <= NEARLY_SINGULAR * sizes[0])
        chosen = directions[alike] if len(alike) else directions[-1:]
        parts = np.abs(chosen).max(axis=0)
        return np.flatnonzero(parts > _PART * parts.max())

    @cached_property
    def _lacks_rank(self) -> bool:
        """Whether some distributions of original values give the same released ones.

        The rank tells, from singular values, which take long. An inverse far from the limits of
        the arithmetic, as nearly all have, tells it in a twentieth of the time.
        """
        if self._inverted is None:
            return True
        with np.errstate(over="ignore", invalid="ignore"):
            # numpy's own norm asks BLAS, whose threads wait for each other on a busy machine.
            squared = np.square(self._entries).sum() * np.square(self._inverted).sum()
            condition = np.sqrt(squared)
        if condition < CERTAINLY_REGULAR:
            return False
        return bool(np.linalg.matrix_rank(self._entries) < self.size)

    @cached_property
    def _inverted(self) -> Square | None:
        """What inverting gives, good or not; None where that fails."""
        try:
            return np.linalg.inv(self._entries).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            return None

    def _channel_to(self, lower: PerturbationMatrix) -> PerturbationMatrix:
        target = lower.dense()
        if self._lacks_rank:
            channel = _feasible_channel(self._entries, target)
            if channel is None:
                raise AssertionError("the channel was tested before")
        else:
            channel = target @ self._regular
        clipped = np.maximum(channel, 0.0)
        return DenseMatrix(clipped / clipped.sum(axis=0))

    @property
    def _regular(self) -> Square:
        """The inverse of a matrix that does not lack rank."""
        assert self._inverted is not None
        return self._inverted

    @cached_property
    def _inverse(self) -> Square:
        if self._inverted is None or self.is_singular:
            raise EstimationError(
                "The release can't tell some values of the domain apart: its perturbation matrix"
                " is singular.",
                "Choose a matrix whose columns are not mixtures of one another.",
            )
        return self._inverted


class _MixedMatrix(DenseMatrix):
    """s·P + (1 − s)·u·1ᵀ with u = 1/m, whose inverse is (P⁻¹ − (1 − s)·P⁻¹u·1ᵀ)/s.

    Sherman and Morrison's formula gives that, since 1ᵀP⁻¹ = 1ᵀ as 1ᵀP = 1ᵀ.
    """

    def __init__(self, whole: DenseMatrix, share: float) -> None:
        super().__init__(share * whole._entries + (1 - share) / whole.size)
        self._whole, self._share = whole, share

    @cached_property
    def _inverted(self) -> Square | None:
        whole = self._whole._inverted
        if whole is None or self._share == 0.0:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            away = whole.mean(axis=1, keepdims=True)
            inverse: Square = (whole - (1 - self._share) * away) / self._share
        return inverse


def _extremes_of_others(entries: Square) -> tuple[Square, Square]:
    """Return each entry's least and greatest fellow in its row, both of shape (m, m)."""
    rows = np.arange(len(entries))
    order = np.argsort(entries, axis=1)
    least = np.repeat(entries[rows, order[:, 0]][:, None], len(entries), axis=1)
    least[rows, order[:, 0]] = entries[rows, order[:, 1]]
    most = np.repeat(entries[rows, order[:, -1]][:, None], len(entries), axis=1)
    most[rows, order[:, -1]] = entries[rows, order[:, -2]]
    return least, most


def _test_entries(channel: Square) -> GarblingTest:
    """Name the negative entries of the only candidate for a channel."""
    bad = np.argwhere(channel < -_ROUNDING)
    listed = sorted((float(channel[i, j]), int(i), int(j)) for i, j in bad)
    forbidding = tuple(ForbiddingEntry(i, j, value) for value, i, j in listed[:MOST_FORBIDDING])
    return GarblingTest(not forbidding, forbidding)


def _feasible_channel(upper: Square, lower: Square) -> Square | None:
    """Return a channel G with lower = G·upper where `upper` is singular, or None.

    A linear program without an objective, over the m² entries of G, which are not negative;
    columns of G that `upper` never uses must still sum to 1.
    """
    size = len(upper)
    one = scipy.sparse.eye_array(size)
    equations = scipy.sparse.vstack(
        [scipy.sparse.kron(one, upper.T), scipy.sparse.kron(np.ones((1, size)), one)], format="csr"
    )
    targets = np.concatenate([lower.ravel(), np.ones(size)])
    # HiGHS takes sparse equations; the type stubs only know dense ones.
    solution = scipy.optimize.linprog(
        np.zeros(size * size), A_eq=cast(Any, equations), b_eq=targets, bounds=(0.0, None)
    )
    if not solution.success or solution.x is None:
        return None
    return solution.x.reshape(size, size)
