"""What somebody believes about records after each of several independent releases (Bayes).

The weights Pr[X = x]·Π Pr[Y_i = y_i | X = x] of appendix 2 (Xiao, Tao and Chen, VLDB 2009) are
carried from release to release. Where every release keeps or replaces, only the values that were
seen have weights of their own: k releases cost O(k) a record and never m.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sfumato.engine.matrices.matrix import PerturbationMatrix, Square, Vector
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.randomness.simulation_rng import Places

LARGEST_WHOLE = 64
"""Domains up to this size carry all weights; it is quicker than finding those that differ."""


class Beliefs(Protocol):
    """Beliefs about some records, each with one true value that is known to who asks."""

    def see(self, matrix: PerturbationMatrix, seen: Places) -> None:
        """Take one more release into account; `seen` has each record's released value."""

    def of_true(self) -> Vector:
        """Return the probability given to each record's true value, shape (records,)."""

    def of_best(self) -> Vector:
        """Return the probability given to each record's likeliest value, shape (records,)."""


def beliefs_about(
    true: Places, frequencies: Vector, matrices: Sequence[PerturbationMatrix]
) -> Beliefs:
    """Return the beliefs of somebody who knows the frequencies and has seen nothing yet.

    Parameters
    ----------
    true
        The records' true values, shape (records,).
    frequencies
        The share of each value, shape (m,), summing to 1.
    matrices
        The releases that will be seen.
    """
    if is_sparse(frequencies, matrices):
        return SparseBeliefs(true, frequencies, len(matrices))
    return WholeBeliefs(true, frequencies)


def is_sparse(frequencies: Vector, matrices: Sequence[PerturbationMatrix]) -> bool:
    """Return whether beliefs about so many values need only carry those that were seen."""
    plain = all(isinstance(matrix, RetentionMatrix) for matrix in matrices)
    return plain and len(frequencies) > LARGEST_WHOLE


class WholeBeliefs:
    """Carries the weights of all values: any matrix, O(m) a record and release."""

    def __init__(self, true: Places, frequencies: Vector) -> None:
        self._true = true
        self._weights: Square = np.tile(frequencies, (len(true), 1))

    def see(self, matrix: PerturbationMatrix, seen: Places) -> None:
        """Take one more release into account."""
        kinds, which = np.unique(seen, return_inverse=True)
        self._weights *= matrix.block(kinds, np.arange(matrix.size))[which]
        self._weights /= self._weights.sum(axis=1, keepdims=True)

    def of_true(self) -> Vector:
        """Return the probability given to each record's true value."""
        belief: Vector = self._weights[np.arange(len(self._true)), self._true]
        return belief

    def of_best(self) -> Vector:
        """Return the probability given to each record's likeliest value."""
        best: Vector = self._weights.max(axis=1)
        return best


class SparseBeliefs:
    """Carries the weights of the values seen; all others share one list of weights.

    A release that keeps or replaces gives the value it shows a likelihood of its own, and any
    other value x the likelihood (1 − p_x)/m whatever is shown. Weights are kept as logarithms.
    """

    def __init__(self, true: Places, frequencies: Vector, releases: int) -> None:
        self._true = true
        with np.errstate(divide="ignore"):
            self._common: Vector = np.log(frequencies)
        shape = (len(true), releases)
        self._seen = np.full(shape, -1, dtype=np.int64)
        self._weights = np.full(shape, -np.inf)
        self._count = 0

    def see(self, matrix: PerturbationMatrix, seen: Places) -> None:
        """Take one more release into account; it must keep or replace."""
        assert isinstance(matrix, RetentionMatrix)
        with np.errstate(divide="ignore"):
            replaced = np.log((1.0 - matrix.retention) / matrix.size)
            shown = np.log(matrix.diagonal)
        earlier = self._seen[:, : self._count]
        again = earlier == seen[:, None]
        self._weights[:, : self._count] += np.where(again, shown[earlier], replaced[earlier])
        # A value seen twice has its weight in the place where it was seen first.
        fresh = ~again.any(axis=1)
        self._weights[:, self._count] = np.where(fresh, self._common[seen] + shown[seen], -np.inf)
        self._seen[:, self._count] = np.where(fresh, seen, -1)
        self._common = self._common + replaced
        self._count += 1

    def of_true(self) -> Vector:
        """Return the probability given to each record's true value."""
        mine = self._seen[:, : self._count] == self._true[:, None]
        weights = np.where(mine, self._weights[:, : self._count], -np.inf)
        own = np.max(weights, axis=1, initial=-np.inf)
        unseen = ~mine.any(axis=1)
        own[unseen] = self._common[self._true[unseen]]
        belief: Vector = np.exp(own - self._total())
        return belief

    def of_best(self) -> Vector:
        """Return the probability given to each record's likeliest value."""
        # Showing a value never lowers its weight, so a value that was seen never does worse
        # than its place in the common list says.
        highest = np.max(self._weights[:, : self._count], axis=1, initial=-np.inf)
        best: Vector = np.exp(np.maximum(highest, self._common.max()) - self._total())
        return best

    def _total(self) -> Vector:
        """Return the logarithm of the sum of all values' weights, shape (records,)."""
        weights, seen = self._weights[:, : self._count], self._seen[:, : self._count]
        highest = float(self._common.max())
        top = np.maximum(np.max(weights, axis=1, initial=-np.inf), highest)
        common = np.zeros(len(self._common))
        if np.isfinite(highest):
            common = np.exp(self._common - highest)
        gone = np.where(seen >= 0, np.take(common, seen, mode="clip"), 0.0).sum(axis=1)
        others = np.maximum(common.sum() - gone, 0.0) * np.exp(highest - top)
        total: Vector = top + np.log(np.exp(weights - top[:, None]).sum(axis=1) + others)
        return total
