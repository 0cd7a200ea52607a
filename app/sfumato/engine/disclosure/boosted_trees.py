"""Boosted regression trees for estimates from many columns: numbers, or shares of values.

Gradient boosting (Friedman 2001) with trees whose nodes of one depth share their split, as in
CatBoost (Prokhorenkova and others 2018): a tree of depth d is d comparisons and 2^d leaves, which
numpy grows from histograms. With several outcomes (the shares of a categorical attribute's
values) all of them share each tree; its splits are found for a random projection of the
gradients (Iosipoi and Vakhrushev 2022), its leaves hold a step for every outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy

from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Bytes, Flags, Floats, Indices
from sfumato.engine.randomness.keys import uniforms

Bins = Bytes

BINS: Final = 64
_DEPTH: Final = 4
_TREES: Final = 120
_PATIENCE: Final = 12
_RATE: Final = 0.2
_SPLIT_ROWS: Final = 5_000
_LEAST: Final = 8.0
"""Added to every leaf's rows: steps of small leaves are shrunk."""
_STREAM: Final = 0x0C01


@dataclass(frozen=True, eq=False)
class Binning:
    """How features become bins, learned from some rows.

    Parameters
    ----------
    edges
        For each feature its edges; the bin is the number of edges that are not above the value,
        plus one. Missing values have bin 0.
    levels
        Which features are codes of categories: each has its own bin.
    """

    edges: tuple[Floats, ...]
    levels: Flags

    @classmethod
    def of(cls, features: Floats, levels: Flags) -> Binning:
        """Learn the bins: quantiles of numbers, one for each category."""
        edges = []
        for column, is_level in zip(features.T, levels, strict=True):
            known = np.unique(column[~np.isnan(column)])
            if is_level or len(known) < BINS - 1:
                found = (known[1:] + known[:-1]) / 2.0
            else:
                found = np.unique(np.nanquantile(column, np.arange(1, BINS - 1) / (BINS - 1)))
            edges.append(found[: BINS - 2])
        return cls(tuple(edges), levels)

    def apply(self, features: Floats) -> Bins:
        """Return the bins, shape of the features."""
        found = np.zeros(features.shape, dtype=np.uint8)
        for place, edges in enumerate(self.edges):
            column = features[:, place]
            bins = np.searchsorted(edges, column, side="right") + 1
            found[:, place] = np.where(np.isnan(column), 0, bins)
        return found


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

    def leaves(self, bins: Bins) -> Indices:
        """Return each row's leaf."""
        found = np.zeros(len(bins), dtype=np.intp)
        for depth, (feature, right) in enumerate(self.splits):
            found |= right[bins[:, feature]].astype(np.intp) << depth
        return found


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Boosted trees.

    Parameters
    ----------
    binning
        How features become bins.
    trees
        The trees, in order; none where features tell nothing.
    outcomes
        How many numbers a prediction has.
    """

    binning: Binning
    trees: tuple[Tree, ...]
    outcomes: int

    def predict(self, features: Floats) -> Floats:
        """Return the sum of the trees' steps, shape (rows, outcomes)."""
        total = np.zeros((len(features), self.outcomes))
        if not self.trees:
            return total
        bins = self.binning.apply(features)
        for tree in self.trees:
            total += tree.steps[tree.leaves(bins)]
        return total


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with their features, what is known of them beforehand, and their outcomes.

    Parameters
    ----------
    features
        Not a number where missing, shape (rows, F).
    start
        The estimate that trees are added to, shape (rows, outcomes).
    outcomes
        What is estimated, shape (rows,): a number, or the place of the row's value.
    """

    features: Floats
    start: Floats
    outcomes: Floats | Indices


def boost(learn: Rows, watch: Rows, levels: Flags, *, shares: bool, context: Context) -> Ensemble:
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
    binning = Binning.of(learn.features, levels)
    bins, watched = binning.apply(learn.features), binning.apply(watch.features)
    estimate = _Shares(learn, watch) if shares else _Numbers(learn, watch)
    trees: list[Tree] = []
    best, chosen = estimate.loss(), 0
    randoms = uniforms(4 * _TREES, _STREAM + 1).reshape(_TREES, 4)
    for number in range(_TREES):
        context.report(number / _TREES, "Weighing the columns released unchanged")
        wanted = estimate.wanted(_STREAM + 2 + int(randoms[number, 0] * 2.0**32))
        step = max(1, len(bins) // _SPLIT_ROWS)
        some = slice(int(randoms[number, 1] * step), None, step)
        splits = tuple(_splits(bins[some], wanted[some], levels))
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
    return Ensemble(binning, tuple(trees[:chosen]), learn.start.shape[1])


class _Numbers:
    """Estimates of a number, of the rows that are learned from and of those that are watched."""

    def __init__(self, learn: Rows, watch: Rows) -> None:
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

    def steps(self, leaves: Indices, count: int) -> Floats:
        """Return by how much each leaf moves its rows, shape (leaves, 1)."""
        sums = np.bincount(leaves, weights=self._slopes, minlength=count)
        found: Floats = sums / (np.bincount(leaves, minlength=count) + _LEAST)
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

    def __init__(self, learn: Rows, watch: Rows) -> None:
        self._true, self._watched = (each.outcomes.astype(np.intp) for each in (learn, watch))
        self._here, self._there = (
            scipy.special.softmax(each.start, axis=1).astype(np.float32) for each in (learn, watch)
        )
        self._rows = np.arange(len(self._watched))

    def loss(self) -> float:
        """Return the watched rows' mean surprise."""
        return -float(np.log(self._there[self._rows, self._watched].astype(np.float64)).mean())

    def wanted(self, stream: int) -> Floats:
        """Return by how much each row should move in a random direction, shape (rows,)."""
        width = self._here.shape[1]
        direction = np.where(uniforms(width, stream) < 0.5, -1.0, 1.0)
        return direction[self._true] - self._here @ direction.astype(np.float32)

    def steps(self, leaves: Indices, count: int) -> Floats:
        """Return by how much each leaf moves the logarithms of odds, shape (leaves, width)."""
        width = self._here.shape[1]
        inside = (leaves == np.arange(count)[:, np.newaxis]).astype(np.float32)
        expected = (inside @ self._here).astype(np.float64)
        curvatures = expected - inside @ np.square(self._here)
        seen = np.bincount(leaves * width + self._true, minlength=count * width)
        sums = seen.reshape(count, width) - expected
        # A row of a rare value has little curvature: what a leaf moves is bounded.
        return np.clip(sums / (curvatures + _LEAST * 0.1), -_BOUND, _BOUND)

    def move(self, steps: Floats, leaves: Indices, watched: Indices) -> None:
        """Add a tree."""
        factors = np.exp(steps).astype(np.float32)
        one = np.ones(factors.shape[1], dtype=np.float32)
        for shares, places in ((self._here, leaves), (self._there, watched)):
            np.multiply(shares, factors[places], out=shares)
            # BLAS may call invalid what lies beside the shares, which are finite.
            with np.errstate(invalid="ignore"):
                sums = shares @ one
            np.divide(shares, sums[:, np.newaxis], out=shares)
            np.maximum(shares, _LEAST_SHARE, out=shares)


_LEAST_SHARE: Final = np.float32(1e-30)
"""No share becomes so small that its logarithm is infinite."""
_BOUND: Final = 4.0
"""By how much a leaf may move the logarithm of odds before the rate."""


def _splits(bins: Bins, wanted: Floats, levels: Flags) -> list[tuple[int, Flags]]:
    """Return the comparisons that leave least of the wanted numbers' variance in the leaves."""
    rows, features = bins.shape
    # Categories are put in the order of what is wanted of them (Fisher 1958).
    ranks = np.tile(np.arange(BINS), (features, 1))
    ordered = bins.astype(np.int32)
    for place in np.flatnonzero(levels).tolist():
        counts = np.bincount(bins[:, place], minlength=BINS)
        sums = np.bincount(bins[:, place], weights=wanted, minlength=BINS)
        ranks[place][np.argsort(sums / np.maximum(counts, 1), kind="stable")] = np.arange(BINS)
        ordered[:, place] = ranks[place][bins[:, place]]
    ordered += np.arange(features, dtype=np.int32) * BINS
    weights = np.repeat(wanted, features)
    leaf = np.zeros(rows, dtype=np.int32)
    found: list[tuple[int, Flags]] = []
    for depth in range(_DEPTH):
        keys = (ordered + (leaf * (features * BINS))[:, np.newaxis]).ravel()
        cells = (2**depth, features, BINS)
        size = 2**depth * features * BINS
        counts = np.bincount(keys, minlength=size).reshape(cells).astype(np.float64)
        sums = np.bincount(keys, weights=weights, minlength=size).reshape(cells)
        left_count, left = counts.cumsum(axis=2), sums.cumsum(axis=2)
        right_count = left_count[:, :, -1:] - left_count
        right = left[:, :, -1:] - left
        gain = left**2 / (left_count + _LEAST) + right**2 / (right_count + _LEAST)
        gains = gain.sum(axis=0)[:, :-1]
        nothing = float((left[:, 0, -1] ** 2 / (left_count[:, 0, -1] + _LEAST)).sum())
        feature, cut = divmod(int(np.argmax(gains)), BINS - 1)
        if not gains[feature, cut] > nothing * (1.0 + 1e-9) + 1e-300:
            break
        goes_right = ranks[feature] > cut
        found.append((feature, goes_right))
        leaf |= goes_right[bins[:, feature]].astype(np.int32) << depth
    return found
