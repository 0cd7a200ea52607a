"""The comparisons of a tree: which bins of which features part rows best, by histograms.

Only so many features are tried for every tree: those that part the rows best by themselves, by
what is still wanted of the rows. They are chosen again from all features every few trees, since
what the first ones tell is then known. Tables of fewer features lose nothing by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from sfumato.engine.core.values import Bytes, Flags, Floats, Indices, Integers
from sfumato.engine.disclosure.feature_bins import BINS, Bins

DEPTH: Final = 4
TRIED: Final = 128
"""So many features are tried for a tree."""
CHOSEN_FOR: Final = 20
"""Features are chosen for so many trees."""
SPLIT_ROWS: Final = 5_000
LEAST: Final = 8.0
"""Added to every leaf's rows: steps of small leaves are shrunk."""

_AT_ONCE: Final = 16
"""Histograms of so many features are counted at once, so that their keys stay in the cache."""


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
        keys = _keys(bins.matrix(range(len(bins))[these]))
        for wanted in directions:
            counts, sums = _Histograms(keys, wanted).of_rows(None, nowhere, 1)
            order = _orders(counts[0], sums[0], levels[these])
            found[these] += _gains(*(_put_in(each, order) for each in (counts, sums))).max(axis=1)
    return found


def _best(bins: Bytes, wanted: Floats, levels: Flags) -> list[tuple[int, Flags]]:
    """Return the comparisons of a tree, by their place among the features that are tried."""
    histograms = _Histograms(_keys(bins), wanted)
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


def _keys(bins: Bytes) -> Integers:
    """Return bins that differ from feature to feature, shape (features, rows)."""
    return bins.astype(np.int64) + (np.arange(len(bins)) * BINS)[:, np.newaxis]


class _Histograms:
    """Counts and sums of the wanted numbers by leaf, feature and bin, from one pass over the rows.

    A row's weight is a large number for the count and a small whole one for what is wanted, so
    that one sum tells both exactly.
    """

    def __init__(self, keys: Integers, wanted: Floats) -> None:
        self._keys = keys
        bits = len(wanted).bit_length()
        largest = float(np.abs(wanted).max(initial=0.0)) or 1.0
        self._scale = 2.0 ** (52 - 2 * bits) / largest
        self._one = 2.0 ** (53 - bits)
        self._weights = np.rint(wanted * self._scale) + self._one

    def of_rows(self, rows: Indices | None, leaf: Integers, leaves: int) -> tuple[Floats, Floats]:
        """Return counts and sums of some rows, or of all, shape (leaves, features, bins)."""
        features = len(self._keys)
        totals = np.empty((leaves, features, BINS))
        weights, leaf = (self._weights, leaf) if rows is None else (self._weights[rows], leaf[rows])
        for first in range(0, features, _AT_ONCE):
            keys = self._keys[first : first + _AT_ONCE]
            if rows is not None:
                keys = keys[:, rows]
            if leaves > 1:
                keys = keys + leaf * (len(keys) * BINS)
            keys = keys - first * BINS
            size = leaves * len(keys) * BINS
            found = np.bincount(keys.ravel(), np.tile(weights, len(keys)), size)
            totals[:, first : first + len(keys)] = found.reshape(leaves, len(keys), BINS)
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
