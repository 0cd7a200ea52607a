"""Boosted regression trees for estimates from many columns: numbers, or shares of values.

Gradient boosting (Friedman 2001) with trees whose nodes of one depth share their split, as in
CatBoost (Prokhorenkova and others 2018): a tree of depth d is d comparisons and 2^d leaves, which
numpy grows from histograms. With several outcomes (the shares of a categorical attribute's
values) all of them share each tree; its splits are found for a random projection of the
gradients (Iosipoi and Vakhrushev 2022), its leaves hold a step for every outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Flags, Floats, Indices
from sfumato.engine.disclosure.feature_bins import Bins
from sfumato.engine.disclosure.tree_splits import LEAST, Splits
from sfumato.engine.randomness.keys import uniforms

_TREES: Final = 120
_PATIENCE: Final = 12
_RATE: Final = 0.2
_STREAM: Final = 0x0C01


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree: comparisons of bins, the first the lowest bit of the leaf, and a step a leaf.

    Parameters
    ----------
    splits
        For each depth the feature and, for each of its bins, whether it goes right.
    steps
        Shape (leaves, outcomes).
    """

    splits: tuple[tuple[int, Flags], ...]
    steps: Floats

    def leaves(
        self, bins: Bins, order: Indices | None = None, shuffled: frozenset[int] = frozenset()
    ) -> Indices:
        """Return each row's leaf, some features being those of the rows in another order."""
        found = np.zeros(bins.number_of_rows, dtype=np.intp)
        for depth, (feature, right) in enumerate(self.splits):
            column = bins.of(feature)
            if feature in shuffled:
                column = column[order]
            found |= right[column].astype(np.intp) << depth
        return found

    def rests_on(self, features: frozenset[int]) -> bool:
        """Whether any of some features is compared."""
        return any(feature in features for feature, _ in self.splits)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Boosted trees.

    Parameters
    ----------
    trees
        The trees, in order; none where features tell nothing.
    outcomes
        How many numbers a prediction has.
    """

    trees: tuple[Tree, ...]
    outcomes: int

    def predict(self, bins: Bins) -> Floats:
        """Return the sum of the trees' steps, shape (rows, outcomes)."""
        total = np.zeros((bins.number_of_rows, self.outcomes))
        for tree in self.trees:
            total += tree.steps[tree.leaves(bins)]
        return total

    def rests_on(self, features: frozenset[int]) -> bool:
        """Whether any of some features is compared in any tree."""
        return any(tree.rests_on(features) for tree in self.trees)

    def moved(self, bins: Bins, order: Indices, features: frozenset[int]) -> Floats:
        """Return by how much predictions change if some features are put into another order."""
        total = np.zeros((bins.number_of_rows, self.outcomes))
        for tree in self.trees:
            if tree.rests_on(features):
                total += tree.steps[tree.leaves(bins, order, features)]
                total -= tree.steps[tree.leaves(bins)]
        return total


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows with their features, what is known of them beforehand, and their outcomes.

    Parameters
    ----------
    bins
        The features' bins.
    start
        The estimate that trees are added to, shape (rows, outcomes).
    outcomes
        What is estimated, shape (rows,): a number, or the place of the row's value.
    """

    bins: Bins
    start: Floats
    outcomes: Floats | Indices


def shares_of(logarithms: Floats) -> Floats:
    """Return the shares that logarithms of odds stand for, shape (rows, width).

    Where all rows are one row, broadcast, it is computed once.
    """
    different = logarithms[:1] if logarithms.strides[0] == 0 else logarithms
    powers = np.exp(different - different.max(axis=1, keepdims=True))
    found: Floats = powers / powers.sum(axis=1, keepdims=True)
    return np.broadcast_to(found, logarithms.shape)


def boost(
    learn: TrainingRows, watch: TrainingRows, levels: Flags, *, shares: bool, context: Context
) -> Ensemble:
    """Grow trees until they don't help on rows that they don't learn from.

    Parameters
    ----------
    learn
        The rows to learn from.
    watch
        Other rows, which say when it is enough.
    levels
        Which features are codes of categories, shape (F,).
    shares
        Whether outcomes are shares of values (estimates are logarithms of odds) or a number,
        whose largest deviations count no more than the 90 % quantile (Huber).
    context
        Progress and cancelling.
    """
    bins, watched = learn.bins, watch.bins
    estimate = _Shares(learn, watch) if shares else _NumberEstimates(learn, watch)
    parting = Splits(bins, levels)
    trees: list[Tree] = []
    best, chosen = estimate.loss(), 0
    randoms = uniforms(4 * _TREES, _STREAM + 1).reshape(_TREES, 4)
    for number in range(_TREES):
        context.report(number / _TREES, "Weighing the columns released unchanged")
        stream = _STREAM + 2 + int(randoms[number, 0] * 2.0**32)
        others = partial(estimate.directions, stream)
        splits = parting.of_tree(estimate.wanted(stream), others, randoms[number, 1])
        if not splits:
            break
        tree = Tree(splits, np.empty((2 ** len(splits), 0)))
        leaves = tree.leaves(bins)
        tree = Tree(splits, _RATE * estimate.steps(leaves, 2 ** len(splits)))
        trees.append(tree)
        estimate.move(tree.steps, leaves, tree.leaves(watched))
        loss = estimate.loss()
        if loss < best:
            best, chosen = loss, number + 1
        elif number + 1 - chosen >= _PATIENCE:
            break
    return Ensemble(tuple(trees[:chosen]), learn.start.shape[1])


class _NumberEstimates:
    """Estimates of a number, of the rows that are learned from and of those that are watched."""

    def __init__(self, learn: TrainingRows, watch: TrainingRows) -> None:
        self._true, self._watched = learn.outcomes, watch.outcomes
        self._here, self._there = learn.start[:, 0].copy(), watch.start[:, 0].copy()

    def loss(self) -> float:
        """Return how far the watched rows' estimates are off."""
        return float(np.abs(self._watched - self._there).mean())

    def wanted(self, stream: int) -> Floats:
        """Return by how much each row's estimate should move, shape (rows,)."""
        del stream  # A number has one direction.
        off = self._true - self._here
        bound = float(np.quantile(np.abs(off), 0.9))
        self._slopes: Floats = np.clip(off, -bound, bound)
        return self._slopes

    def directions(self, stream: int) -> tuple[Floats, ...]:
        """Return what is wanted in other directions: there are none."""
        del stream
        return ()

    def steps(self, leaves: Indices, count: int) -> Floats:
        """Return by how much each leaf moves its rows, shape (leaves, 1)."""
        sums = np.bincount(leaves, weights=self._slopes, minlength=count)
        found: Floats = sums / (np.bincount(leaves, minlength=count) + LEAST)
        return found[:, np.newaxis]

    def move(self, steps: Floats, leaves: Indices, watched: Indices) -> None:
        """Add a tree."""
        self._here += steps[leaves, 0]
        self._there += steps[watched, 0]


class _Shares:
    """Estimates of the shares of values, kept as the shares themselves, shape (rows, width).

    A step of the logarithm of odds is a factor of the share, so that a tree costs no logarithm of
    a cell. They are many cells, and estimates from thousands of rows: single precision does.
    """

    def __init__(self, learn: TrainingRows, watch: TrainingRows) -> None:
        self._true, self._watched = (each.outcomes.astype(np.intp) for each in (learn, watch))
        self._here, self._there = (
            np.ascontiguousarray(shares_of(each.start), np.float32) for each in (learn, watch)
        )
        self._rows = np.arange(len(self._watched))

    def loss(self) -> float:
        """Return the watched rows' mean surprise."""
        return -float(np.log(self._there[self._rows, self._watched].astype(np.float64)).mean())

    def wanted(self, stream: int) -> Floats:
        """Return by how much each row should move in a random direction, shape (rows,)."""
        width = self._here.shape[1]
        direction = np.where(uniforms(width, stream) < 0.5, -1.0, 1.0)
        return direction[self._true] - _product(self._here, direction.astype(np.float32))

    def directions(self, stream: int) -> list[Floats]:
        """Return what is wanted in a few more random directions."""
        return [self.wanted(stream + more) for more in range(1, _DIRECTIONS)]

    def steps(self, leaves: Indices, count: int) -> Floats:
        """Return by how much each leaf moves the logarithms of odds, shape (leaves, width)."""
        width = self._here.shape[1]
        inside = (leaves == np.arange(count)[:, np.newaxis]).astype(np.float32)
        expected = _product(inside, self._here).astype(np.float64)
        curvatures = expected - _product(inside, np.square(self._here))
        seen = np.bincount(leaves * width + self._true, minlength=count * width)
        sums = seen.reshape(count, width) - expected
        # A row of a rare value has little curvature: what a leaf moves is bounded.
        return np.clip(sums / (curvatures + LEAST * 0.1), -_BOUND, _BOUND)

    def move(self, steps: Floats, leaves: Indices, watched: Indices) -> None:
        """Add a tree."""
        factors = np.exp(steps).astype(np.float32)
        one = np.ones(factors.shape[1], dtype=np.float32)
        for shares, places in ((self._here, leaves), (self._there, watched)):
            np.multiply(shares, factors[places], out=shares)
            np.divide(shares, _product(shares, one)[:, np.newaxis], out=shares)
            np.maximum(shares, _LEAST_SHARE, out=shares)


def _product(
    shares: npt.NDArray[np.float32], others: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Return a product of finite matrices; BLAS may call invalid what lies beside them."""
    with np.errstate(invalid="ignore"):
        found: npt.NDArray[np.float32] = shares @ others
    return found


_DIRECTIONS: Final = 4
"""By so many random directions features are chosen."""
_LEAST_SHARE: Final = np.float32(1e-30)
"""No share becomes so small that its logarithm is infinite."""
_BOUND: Final = 4.0
"""By how much a leaf may move the logarithm of odds before the rate."""
