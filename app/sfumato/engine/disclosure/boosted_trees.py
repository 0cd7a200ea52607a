"""Boosted regression trees for estimates from many columns: numbers, or shares of values.

Gradient boosting (Friedman 2001) with trees whose nodes of one depth share their split, as in
CatBoost (Prokhorenkova and others 2018): a tree of depth d is d comparisons and 2^d leaves, which
numpy grows from histograms. With several outcomes (the shares of a categorical attribute's
values) all of them share each tree; its splits are found for a random projection of the
gradients (Iosipoi and Vakhrushev 2022), its leaves hold a step for every outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Bytes, Flags, Floats, Indices, Integers
from sfumato.engine.randomness.keys import uniforms

BINS: Final = 64


@dataclass(frozen=True, eq=False)
class Placed:
    """A feature as its values and each row's place among them.

    Parameters
    ----------
    values
        The values, not a number where missing, shape (v,).
    places
        Shape (rows,).
    """

    values: Floats
    places: Integers

    @classmethod
    def of(cls, column: Floats) -> Placed:
        """Return a column's distinct values and their places."""
        values, places = np.unique(column, return_inverse=True)
        return cls(values, places.astype(np.min_scalar_type(len(values))))


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of F features in some rows.

    Parameters
    ----------
    tables
        For each feature, the bin of each of its values; see `bins_of`.
    places
        For each feature, the place of each row's value, shape (n,).
    rows
        Which of these rows, ascending; None for all.
    """

    tables: Sequence[Bytes] = field(repr=False)
    places: Sequence[Integers] = field(repr=False)
    rows: Indices | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def number_of_rows(self) -> int:
        """How many rows there are."""
        return len(self.places[0]) if self.rows is None else len(self.rows)

    def among(self, rows: Indices) -> Bins:
        """Return the bins in some of the rows."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def of(self, feature: int) -> Bytes:
        """Return the bin of a feature in each row, shape (rows,)."""
        places = self.places[feature]
        return self.tables[feature][places if self.rows is None else places[self.rows]]

    def matrix(self, features: Sequence[int]) -> Bytes:
        """Return the bins of some features, shape (features, rows)."""
        found = np.empty((len(features), self.number_of_rows), dtype=np.uint8)
        for at, feature in enumerate(features):
            found[at] = self.of(feature)
        return found


def bins_of(values: Floats, counts: Integers, *, level: bool) -> Bytes:
    """Return the bins of a feature's values: quantiles of numbers, one for each category.

    Parameters
    ----------
    values
        The values, in any order, not a number where missing, shape (v,).
    counts
        How many of the rows that edges are learned from have each, shape (v,).
    level
        Whether they are codes of categories: each has its own bin.

    Returns
    -------
    The number of edges that are not above the value, plus one; missing values have bin 0.
    """
    known = np.flatnonzero((counts > 0) & ~np.isnan(values))
    known = known[np.argsort(values[known], kind="stable")]
    numbers = values[known]
    first = np.flatnonzero(np.diff(numbers, prepend=np.nan) != 0.0)
    if level or len(first) < BINS - 1:
        distinct = numbers[first]
        edges = (distinct[1:] + distinct[:-1]) / 2.0
    else:
        edges = np.unique(_quantiles(numbers, counts[known].cumsum()))
    found = np.searchsorted(edges[: BINS - 2], values, side="right") + 1
    return np.where(np.isnan(values), 0, found).astype(np.uint8)


def _quantiles(numbers: Floats, until: Integers) -> Floats:
    """Return the quantiles of ascending numbers, so many of them until each, as numpy does."""
    at = np.arange(1, BINS - 1) / (BINS - 1) * (until[-1] - 1)
    below = np.floor(at)
    left, right = (numbers[np.searchsorted(until, below + n, side="right")] for n in (0, 1))
    share = at - below
    nearer_left = left + (right - left) * share
    return np.where(share < 0.5, nearer_left, right - (right - left) * (1.0 - share))


DEPTH: Final = 4
TRIED: Final = 128
"""So many features are tried for a tree."""
CHOSEN_FOR: Final = 20
"""Features are chosen for so many trees."""
SPLIT_ROWS: Final = 5_000
LEAST: Final = 8.0
"""Added to every leaf's rows: steps of small leaves are shrunk."""

_AT_ONCE: Final = 16
"""So many features are looked at together, so that their bins stay in the cache."""


class Splits:
    """Finds the splits of one tree after the other.

    Parameters
    ----------
    bins
        The features' bins.
    levels
        Which features are codes of categories, shape (F,).
    """

    def __init__(self, bins: Bins, levels: Flags) -> None:
        self._bins, self._levels = bins, levels
        self._step = max(1, bins.number_of_rows // SPLIT_ROWS)
        self._trees = 0
        self._tried = np.arange(len(bins))

    def of_tree(
        self, wanted: Floats, others: Callable[[], Sequence[Floats]], start: float
    ) -> tuple[tuple[int, Flags], ...]:
        """Return the comparisons that leave least of the wanted numbers' variance in the leaves.

        Parameters
        ----------
        wanted
            By how much each row should move, shape (rows,).
        others
            Returns the same in other directions, by which features are chosen.
        start
            Where the rows begin that splits are found by, from 0 to 1 of a step between them.
        """
        some = np.arange(int(start * self._step), len(wanted), self._step)
        there = self._bins.among(some)
        if len(self._bins) > TRIED and self._trees % CHOSEN_FOR == 0:
            gains = _gains_alone(there, [each[some] for each in (wanted, *others())], self._levels)
            self._tried = np.sort(np.argsort(-gains, kind="stable")[:TRIED])
        self._trees += 1
        bins = there.matrix(self._tried.tolist())
        found = _best(bins, wanted[some], self._levels[self._tried])
        return tuple((int(self._tried[feature]), right) for feature, right in found)


def _gains_alone(bins: Bins, directions: Sequence[Floats], levels: Flags) -> Floats:
    """Return what the best cut of each feature gains by itself in all directions, shape (F,)."""
    found, nowhere = np.zeros(len(bins)), np.zeros(bins.number_of_rows, dtype=np.int64)
    for first in range(0, len(bins), _AT_ONCE):
        these = slice(first, first + _AT_ONCE)
        some = bins.matrix(range(len(bins))[these])
        for wanted in directions:
            counts, sums = _Histograms(some, wanted).of_rows(None, nowhere, 1)
            order = _orders(counts[0], sums[0], levels[these])
            found[these] += _gains(*(_put_in(each, order) for each in (counts, sums))).max(axis=1)
    return found


def _best(bins: Bytes, wanted: Floats, levels: Flags) -> list[tuple[int, Flags]]:
    """Return the comparisons of a tree, by their place among the features that are tried."""
    histograms = _Histograms(bins, wanted)
    leaf = np.zeros(len(wanted), dtype=np.int64)
    counts, sums = histograms.of_rows(None, leaf, 1)
    # Categories are put in the order of what is wanted of them (Fisher 1958).
    order = _orders(counts[0], sums[0], levels)
    found: list[tuple[int, Flags]] = []
    for depth in range(DEPTH):
        ordered = [_put_in(each, order) for each in (counts, sums)]
        gains = _gains(*ordered)
        of_leaves, rows = sums[:, 0].sum(axis=1), counts[:, 0].sum(axis=1)
        nothing = float((of_leaves**2 / (rows + LEAST)).sum())
        feature, cut = divmod(int(np.argmax(gains)), BINS - 1)
        if not gains[feature, cut] > nothing * (1.0 + 1e-9) + 1e-300:
            break
        goes_right = np.ones(BINS, dtype=np.bool_)
        goes_right[order[feature, : cut + 1]] = False
        found.append((feature, goes_right))
        if depth + 1 < DEPTH:
            moved = goes_right[bins[feature]]
            right = histograms.of_rows(np.flatnonzero(moved), leaf, 2**depth)
            # What does not go right stays left.
            counts = np.concatenate([counts - right[0], right[0]])
            sums = np.concatenate([sums - right[1], right[1]])
            leaf |= moved.astype(np.int64) << depth
    return found


class _Histograms:
    """Counts and sums of the wanted numbers by leaf, feature and bin, from one pass over the rows.

    A row's weight is a large number for the count and a small whole one for what is wanted, so
    that one sum tells both exactly.
    """

    def __init__(self, bins: Bytes, wanted: Floats) -> None:
        self._bins = bins
        bits = len(wanted).bit_length()
        largest = float(np.abs(wanted).max(initial=0.0)) or 1.0
        self._scale = 2.0 ** (52 - 2 * bits) / largest
        self._one = 2.0 ** (53 - bits)
        self._weights = np.rint(wanted * self._scale) + self._one

    def of_rows(self, rows: Indices | None, leaf: Integers, leaves: int) -> tuple[Floats, Floats]:
        """Return counts and sums of some rows, or of all, shape (leaves, features, bins)."""
        bins, weights = self._bins, self._weights
        if rows is not None:
            bins, weights, leaf = bins[:, rows], weights[rows], leaf[rows]
        totals, begins = np.empty((leaves, len(bins), BINS)), leaf * BINS
        for feature, own in enumerate(bins):
            found = np.bincount(own + begins, weights, leaves * BINS)
            totals[:, feature] = found.reshape(leaves, BINS)
        counts = np.rint(totals / self._one)
        totals -= counts * self._one
        return counts, totals / self._scale


def _orders(counts: Floats, sums: Floats, levels: Flags) -> Indices:
    """Return each feature's bins in the order they are cut in, shape (features, bins)."""
    order = np.tile(np.arange(BINS), (len(levels), 1))
    means = sums[levels] / np.maximum(counts[levels], 1.0)
    order[levels] = np.argsort(means, axis=1, kind="stable")
    return order


def _put_in(cells: Floats, order: Indices) -> Floats:
    """Return cells of leaves, features and bins, the bins in another order."""
    found: Floats = np.take_along_axis(cells, order[np.newaxis], axis=2)
    return found


def _gains(counts: Floats, sums: Floats) -> Floats:
    """Return what each cut leaves unexplained the less, shape (features, bins − 1)."""
    left_count, left = counts.cumsum(axis=2), sums.cumsum(axis=2)
    right_count = left_count[:, :, -1:] - left_count
    right = left[:, :, -1:] - left
    gain = left**2 / (left_count + LEAST) + right**2 / (right_count + LEAST)
    found: Floats = gain.sum(axis=0)[:, :-1]
    return found


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
