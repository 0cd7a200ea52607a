"""How often a resampled release shows a value among some people: the exact law, at any level.

A release by reconstruction privacy draws s of a protected group's n records, perturbs the draws
once at the top's retention probability p₀, copies them until there are n again and deals the
copies out to the group's rows at random (`sfumato.engine.mechanisms.reconstruction.release`). A
release at p < p₀ then keeps each *row* with probability p/p₀ and otherwise replaces it evenly. So
copies of one draw do not share their fate below the top: each of them is kept or replaced by
itself, and of k copies of a value as many are left as k draws with the chance p/p₀ + (1 - p/p₀)/m
and n - k with the chance (1 - p/p₀)/m show.

Whoever knows other columns than those that make the protected groups tells other groups apart.
Each is made of parts, r rows out of n of a protected group, which hold a hypergeometric number of
the copies. Parts of different groups are independent, so what they show adds up
(`sfumato.engine.mechanisms.reconstruction.sums`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.reconstruction.sums import Sum, Weighted, copies_in_part
from sfumato.engine.mechanisms.reconstruction.tails import (
    CountLaw,
    Draw,
    Floats,
    Tails,
    Whole,
    beyond,
    count_law,
    release_tails,
)
from sfumato.engine.table.micro_groups import MicroGroups, value_counts


class Resampling(NamedTuple):
    """How a release draws and repeats the records of the groups that it protects.

    Parameters
    ----------
    samples
        How many records of each protected group are drawn, shape (H,).
    draw
        Which records.
    top
        The retention probability p₀ of the most trusted release.
    retention
        That of the release itself, p, above 0 and at most p₀.
    size_of_domain
        The number of values m.
    """

    samples: Whole
    draw: Draw
    top: float
    retention: float
    size_of_domain: int


class Trials(NamedTuple):
    """What the estimates for some groups rest on where a release repeats records.

    Parameters
    ----------
    counts
        How many records that are perturbed by themselves would give an estimate the variance it
        has, shape (G,).
    draw
        Which records are drawn.
    law
        The exact law of what the groups show; None where each group is a protected one of a most
        trusted release, so that `counts` of its records are drawn.
    """

    counts: Whole
    draw: Draw
    law: ResampledLaw | None = None


@dataclass(frozen=True)
class GroupParts:
    """The groups that somebody tells apart, cut along the groups that a release protects.

    Parameters
    ----------
    starts
        Where the parts of each of G known groups begin, shape (G + 1,).
    protected
        The protected group that each part belongs to, shape (P,).
    records
        How many records each part has, r, shape (P,).
    counts
        How often each value occurs in each part, shape (P, m).
    whole_counts
        How often it occurs in each protected group, shape (H, m).
    """

    starts: Whole
    protected: Whole
    records: Whole
    counts: sparse.csr_array = field(repr=False)
    whole_counts: sparse.csr_array = field(repr=False)

    @classmethod
    def of(cls, known: MicroGroups, protected: MicroGroups, codes: Codes, size: int) -> GroupParts:
        """Cut the groups of n records.

        Parameters
        ----------
        known, protected
            The groups that are told apart, and those that a release protects.
        codes
            Each record's sensitive value, shape (n,).
        size
            The number of values in its domain, m.
        """
        key = known.codes * protected.count + protected.codes
        present, part = np.unique(key, return_inverse=True)
        owner, inside = np.divmod(present, protected.count)
        records = np.bincount(part).astype(np.int64)
        counts = value_counts(MicroGroups(part.astype(np.int64), records), codes, size)
        starts = np.searchsorted(owner, np.arange(known.count + 1)).astype(np.int64)
        return cls(starts, inside, records, counts, value_counts(protected, codes, size))

    @cached_property
    def sizes(self) -> Whole:
        """The protected groups' records, n, shape (H,)."""
        counts = self.whole_counts
        sizes: Whole = np.add.reduceat(counts.data, counts.indptr[:-1])
        return sizes

    @cached_property
    def in_part(self) -> _CellCounts:
        """How often a value occurs in a part."""
        return _CellCounts(self.counts)

    @cached_property
    def in_whole(self) -> _CellCounts:
        """How often a value occurs in a protected group."""
        return _CellCounts(self.whole_counts)


class _CellCounts:
    """Counts that are looked up cell by cell."""

    def __init__(self, counts: sparse.csr_array) -> None:
        self._size = counts.shape[1]
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        self._keys = rows * self._size + counts.indices
        self._found = counts.data

    def __call__(self, rows: Whole, values: Whole | int) -> Whole:
        key = rows * self._size + values
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        answer: Whole = np.where(self._keys[place] == key, self._found[place], 0)
        return answer


class ResampledLaw:
    """The law of estimates made from a resampled release.

    Parameters
    ----------
    parts
        The groups that are told apart.
    resampling
        How the release was made.
    """

    def __init__(self, parts: GroupParts, resampling: Resampling) -> None:
        self._parts = parts
        self._how = resampling
        share = resampling.retention / resampling.top
        self._drawn = count_law(resampling.top, resampling.size_of_domain)
        self._below = None if share >= 1.0 else count_law(share, resampling.size_of_domain)
        self._few = (resampling.samples < parts.sizes)[parts.protected]
        # Parts are often alike: what was found for one is kept.
        self._copies: dict[tuple[int, int, int, int], Weighted] = {}

    def tails(
        self, groups: Whole, values: Whole, counts: Whole, epsilon: float, context: Context
    ) -> Tails:
        """Return how likely the estimates of some values' shares in some groups are off.

        Parameters
        ----------
        groups, values
            The known group and the value of each question, shape (k,).
        counts
            How often the value occurs in the group, at least once, shape (k,).
        epsilon
            The relative error ε.
        context
            Progress and cancelling.

        Returns
        -------
        Tails
            Pr[(F' - f)/f > ε] and Pr[(F' - f)/f < -ε], to within 1e-12.
        """
        how, parts = self._how, self._parts
        sizes = np.add.reduceat(parts.records, parts.starts[:-1])[groups]
        upper, lower = np.empty(len(groups)), np.empty(len(groups))
        samples = self._as_one_sample(groups, sizes)
        direct = samples > 0
        found = release_tails(
            sizes[direct],
            counts[direct],
            samples[direct],
            how.retention,
            how.size_of_domain,
            epsilon,
            how.draw,
        )
        upper[direct], lower[direct] = found.upper, found.lower
        known: dict[tuple[int, ...], tuple[float, float]] = {}
        left = np.flatnonzero(~direct)
        for done, place in enumerate(left.tolist()):
            if done % 64 == 0:
                context.report(done / len(left), "Adding up what copies show")
            group, value, count = int(groups[place]), int(values[place]), int(counts[place])
            cells = self._cells(group, value)
            key = (count, *(number for row in sorted(cells) for number in row))
            if key not in known:
                known[key] = self._tails_of(cells, int(sizes[place]), count, epsilon)
            upper[place], lower[place] = known[key]
        return Tails(upper, lower)

    def estimate_variance(self, asked: npt.NDArray[np.bool_], shares: Floats) -> Floats:
        """Return the variance of how many records are estimated to have each value.

        Parameters
        ----------
        asked
            Which of the groups are asked about together, shape (G,).
        shares
            The values' shares in all of them, true or estimated, shape (m,). Where single groups
            have others, the variance is a little smaller than this.
        """
        how, parts = self._how, self._parts
        inside = np.repeat(asked, np.diff(parts.starts))
        few, plain = inside & self._few, inside & ~self._few
        protected = parts.protected[few]
        rows = parts.records[few].astype(np.float64)
        sizes, samples = parts.sizes[protected], how.samples[protected]
        others = np.maximum(sizes - 1, 1)
        f = np.clip(shares, 0.0, 1.0)
        shown = self._drawn.other + how.top * f
        # Of what is drawn; of who is drawn; of which copies fall to a part; of rounding copies.
        repeats = rows**2 / samples
        copies = repeats.sum() * _row_variance(self._drawn, f)
        if how.draw is Draw.AT_RANDOM:
            at_random = (repeats * (sizes - samples) / others).sum()
            copies += at_random * how.top**2 * f * (1.0 - f)
        else:
            # One record of a value is only sometimes drawn.
            copies += (rows**2 / samples**2).sum() * how.top**2 / 4.0
        copies += (rows * (sizes - rows) / others).sum() * shown * (1.0 - shown) + len(rows) / 4.0
        alone = _row_variance(count_law(how.retention, how.size_of_domain), f)
        total: Floats = parts.records[plain].sum() * alone
        kept = how.retention / how.top
        total = total + kept**2 * copies
        if self._below is not None:
            total = total + rows.sum() * _row_variance(self._below, shown)
        variance: Floats = total / how.retention**2
        return variance

    def _as_one_sample(self, groups: Whole, sizes: Whole) -> Whole:
        """Return the draws that each group rests on where it is one sample; else 0."""
        parts, how = self._parts, self._how
        few = np.add.reduceat(self._few.astype(np.int64), parts.starts[:-1])[groups]
        samples = np.where(few == 0, sizes, 0)
        if self._below is None:
            first = parts.starts[groups]
            protected = parts.protected[first]
            same = (np.diff(parts.starts)[groups] == 1) & (parts.sizes[protected] == sizes)
            samples = np.where(same, how.samples[protected], samples)
        return samples

    def _cells(self, group: int, value: int) -> list[tuple[int, int, int, int]]:
        """Return n, c, s and r of each part of a group; parts that are not resampled as one.

        For these n, s and r are the same, and c is counted in the part itself.
        """
        parts = self._parts
        rows = np.arange(parts.starts[group], parts.starts[group + 1])
        few = self._few[rows]
        plain, rows = rows[~few], rows[few]
        protected = parts.protected[rows]
        found = np.stack(
            [
                parts.sizes[protected],
                parts.in_whole(protected, value),
                self._how.samples[protected],
                parts.records[rows],
            ],
            axis=1,
        )
        cells = [(n, c, s, r) for n, c, s, r in found.tolist()]
        if len(plain):
            rest = int(parts.records[plain].sum())
            cells.append((rest, int(parts.in_part(plain, value).sum()), rest, rest))
        return cells

    def _tails_of(
        self, cells: list[tuple[int, int, int, int]], size: int, count: int, epsilon: float
    ) -> tuple[float, float]:
        """Return both tails of one group's estimate."""
        how = self._how
        rows = count_law(how.retention, how.size_of_domain)
        above, below = beyond(rows, np.array([size]), np.array([count]), epsilon)
        plain = [cell for cell in cells if cell[2] == cell[0]]
        total = Sum(
            [self._copies_of(cell) for cell in cells if cell[2] < cell[0]],
            sum(cell[3] for cell in cells if cell[2] < cell[0]),
            self._below,
            plain[0][:2] if plain else (0, 0),
            rows,
        )
        return total.tails(int(above[0]), int(below[0]))

    def _copies_of(self, cell: tuple[int, int, int, int]) -> Weighted:
        if cell not in self._copies:
            self._copies[cell] = copies_in_part(self._drawn, self._how.draw, *cell)
        return self._copies[cell]


def row_variance(retention: float, size_of_domain: int, shares: Floats) -> Floats:
    """Return the variance that one perturbed row adds to a count, given the true shares."""
    return _row_variance(count_law(retention, size_of_domain), shares)


def _row_variance(law: CountLaw, shares: Floats) -> Floats:
    own, other = law.own * (1.0 - law.own), law.other * (1.0 - law.other)
    answer: Floats = shares * own + (1.0 - shares) * other
    return answer
