"""A perturbation matrix given by its entries, such as one of a release made elsewhere."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import optimize, sparse

from sfumato.engine.core.errors import EstimationError, PolicyError
from sfumato.engine.matrices.matrix import (
    MOST_FORBIDDING,
    ForbiddingEntry,
    GarblingTest,
    OddsRatios,
    PerturbationMatrix,
    Square,
    Vector,
)

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
        row: Vector = self._entries[released].copy()
        return row

    def column(self, original: int) -> Vector:
        """Return Pr[released | original] for every released value, shape (m,)."""
        column: Vector = self._entries[:, original].copy()
        return column

    def block(self, released: npt.NDArray[np.intp], original: npt.NDArray[np.intp]) -> Square:
        """Return the entries of some rows and columns, shape (rows, columns)."""
        block: Square = self._entries[np.ix_(released, original)]
        return block

    def apply(self, frequencies: Vector) -> Vector:
        """Return P·f, shape (m,)."""
        expected: Vector = self._entries @ np.asarray(frequencies, dtype=np.float64)
        return expected

    def apply_transposed(self, weights: Vector) -> Vector:
        """Return Pᵀ·w, shape (m,)."""
        answer: Vector = self._entries.T @ np.asarray(weights, dtype=np.float64)
        return answer

    def solve(self, observed: Vector) -> Vector:
        """Return P⁻¹·o, shape (m,)."""
        answer: Vector = self._inverse @ np.asarray(observed, dtype=np.float64)
        return answer

    def apply_squared_inverse(self, weights: Vector) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·w_j, shape (m,)."""
        answer: Vector = self._inverse**2 @ np.asarray(weights, dtype=np.float64)
        return answer

    def own_second_moments(self) -> Vector:
        """Return Σ_j (P⁻¹)²_ij·P_ji, shape (m,)."""
        moments: Vector = (self._inverse**2 * self._entries.T).sum(axis=1)
        return moments

    def inverse_ranges(self) -> Vector:
        """Return max_j − min_j of (P⁻¹)_ij, shape (m,)."""
        ranges: Vector = np.ptp(self._inverse, axis=1)
        return ranges

    def worst_odds_ratios(self) -> OddsRatios:
        """Return how far the release can move the odds on each value, from the entries.

        Over all beliefs, the odds on i after seeing j move by at most P_ji/min P_jk and at
        least P_ji/max P_jk, k running over the other values.
        """
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
        if not source.is_singular:
            return _test_entries(self._entries @ source._inverse)
        return GarblingTest(_feasible_channel(source._entries, self._entries) is not None)

    @cached_property
    def is_singular(self) -> bool:
        """Whether some distributions of original values give the same released ones."""
        return bool(np.linalg.matrix_rank(self._entries) < self.size)

    def _channel_to(self, lower: PerturbationMatrix) -> PerturbationMatrix:
        target = lower.dense()
        if self.is_singular:
            channel = _feasible_channel(self._entries, target)
            if channel is None:
                raise AssertionError("the channel was tested before")
        else:
            channel = target @ self._inverse
        clipped = np.maximum(channel, 0.0)
        return DenseMatrix(clipped / clipped.sum(axis=0))

    @cached_property
    def _inverse(self) -> Square:
        if self.is_singular:
            raise EstimationError(
                "The release can't tell some values of the domain apart: its perturbation matrix"
                " is singular.",
                "Choose a matrix whose columns are not mixtures of one another.",
            )
        inverse: Square = np.linalg.inv(self._entries).astype(np.float64, copy=False)
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
    one = sparse.eye_array(size)
    equations = sparse.vstack(
        [sparse.kron(one, upper.T), sparse.kron(np.ones((1, size)), one)], format="csr"
    )
    targets = np.concatenate([lower.ravel(), np.ones(size)])
    # HiGHS takes sparse equations; the type stubs only know dense ones.
    solution = optimize.linprog(
        np.zeros(size * size), A_eq=cast(Any, equations), b_eq=targets, bounds=(0.0, None)
    )
    if not solution.success or solution.x is None:
        return None
    return solution.x.reshape(size, size)
