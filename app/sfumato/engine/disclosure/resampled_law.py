"""How often a resampled release shows a value among some people: the exact law, at any level.

A release by reconstruction privacy draws s of a protected group's n records, perturbs the draws
once at the top's retention probability p₀, copies them until there are n again and deals the
copies out to the group's rows at random (`sfumato.engine.mechanisms.reconstruction.mechanism`). A
release at p < p₀ then keeps each *row* with probability p/p₀ and otherwise replaces it evenly. So
copies of one draw do not share their fate below the top: each of them is kept or replaced by
itself, and of k copies of a value as many are left as k draws with the chance p/p₀ + (1 - p/p₀)/m
and n - k with the chance (1 - p/p₀)/m show.

Whoever knows other columns than those that make the protected groups tells other groups apart.
Each is made of parts, r rows out of n of a protected group, which hold a hypergeometric number of
the copies. Parts of different groups are independent, so what they show adds up.

What a resampled group's rows hold is worked out step by step, each of which turns how likely each
number is into how likely each other one is: which records are drawn, what they show, how often
it is copied, how many copies fall to some of the rows, what is left of them further down the
ladder. Numbers of independent groups are added by their generating functions at roots of unity
(Hong 2013, "On computing the distribution function for the Poisson binomial distribution"), which
is exact but for rounding.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Flags, Floats, Integers
from sfumato.engine.disclosure.group_tails import (
    CountLaw,
    SampleDraw,
    Tails,
    beyond,
    count_law,
    release_tails,
)
from sfumato.engine.table.micro_groups import MicroGroups, value_counts

_Complex = npt.NDArray[np.complex128]

_NEGLIGIBLE: Final = 1e-18
"""Chances below this are left out; there are fewer than a million of them."""

_CERTAIN: Final = 37.0
"""e^-37 is below 1e-16: what is less likely than that counts as impossible."""

_STEEPNESS: Final = np.geomspace(0.25, 4.0, 9)
"""Where Chernoff's bound is tried, around what is best for a normal law."""

_SHORT: Final = 512
"""Up to so many rows, no count is ruled out first."""

_CELLS: Final = 1 << 20
"""Powers that are held at once."""


class Weighted(NamedTuple):
    """Whole numbers, ascending, and how likely each is, shape (u,)."""

    numbers: Integers
    chances: Floats


# ----- one protected group


def copies_in_part(
    law: CountLaw, draw: SampleDraw, size: int, count: int, sample: int, records: int
) -> Weighted:
    """Return how many rows of a part of a resampled group hold a copy of a value, at the top.

    Parameters
    ----------
    law
        The law of a perturbed draw.
    draw
        Which records are drawn.
    size, count
        The group's records n, and how many of them have the value, c.
    sample
        How many are drawn, s.
    records
        How many of the group's rows are in the part, r.
    """
    drawn = _drawn(draw, size, count, sample)
    shown = _shown(drawn, sample, law)
    # j draws become j·n/s copies, rounded down or up so that the mean is kept.
    low, rest = np.divmod(shown.numbers * size, sample)
    share = rest / sample
    copies = _gathered(
        np.concatenate([low, low + 1]),
        np.concatenate([shown.chances * (1.0 - share), shown.chances * share]),
    )
    return copies if records == size else _dealt(copies, size, records)


def _drawn(draw: SampleDraw, size: int, count: int, sample: int) -> Weighted:
    """Return how many records with the value are drawn."""
    if draw is SampleDraw.BY_VALUE:
        fewer, rest = divmod(count * sample, size)
        share = rest / size
        return _gathered(np.array([fewer, fewer + 1]), np.array([1.0 - share, share]))
    numbers = np.arange(max(0, sample - (size - count)), min(count, sample) + 1)
    return _gathered(numbers, _hypergeometric(numbers, size, count, sample))


def _shown(drawn: Weighted, sample: int, law: CountLaw) -> Weighted:
    """Return how many of a sample's draws show the value once they are perturbed."""
    length = sample + 1
    generated = _Ragged([drawn]).generating(_roots(length), law, sample)
    shown = scipy.fft.irfft(generated, length)
    return _gathered(np.arange(length), np.maximum(shown, 0.0))


def _dealt(copies: Weighted, size: int, records: int) -> Weighted:
    """Return how many copies of the value fall to some of a group's rows."""
    found: Floats = np.zeros(records + 1)
    for number, chance in zip(copies.numbers.tolist(), copies.chances.tolist(), strict=True):
        inside = np.arange(max(0, records - (size - number)), min(number, records) + 1)
        found[inside] += chance * _hypergeometric(inside, size, number, records)
    return _gathered(np.arange(records + 1), found)


def _hypergeometric(numbers: Integers, size: int, count: int, sample: int) -> Floats:
    """Return how likely a sample holds so many of the records that count."""
    logarithm = -(
        scipy.special.gammaln(numbers + 1.0)
        + scipy.special.gammaln(count - numbers + 1.0)
        + scipy.special.gammaln(sample - numbers + 1.0)
        + scipy.special.gammaln(size - count - sample + numbers + 1.0)
    )
    chance = np.exp(logarithm - logarithm.max())
    return chance / chance.sum()


def _gathered(numbers: Integers, chances: Floats) -> Weighted:
    """Return distinct numbers with their chances, without those that never occur."""
    distinct, place = np.unique(numbers, return_inverse=True)
    added = np.bincount(place, weights=chances)
    kept = added > _NEGLIGIBLE
    return Weighted(distinct[kept].astype(np.int64), added[kept] / added[kept].sum())


# ----- sums


class _Ragged:
    """Numbers of several independent groups, one after the other."""

    def __init__(self, groups: list[Weighted]) -> None:
        self.numbers: Integers = np.concatenate([each.numbers for each in groups])
        self.chances: Floats = np.concatenate([each.chances for each in groups])
        lengths = [len(each.numbers) for each in groups]
        self.starts: Integers = np.cumsum([0, *lengths[:-1]])
        self.row: Integers = np.repeat(np.arange(len(groups)), lengths)

    def moments(self) -> tuple[float, float]:
        """Return the sum's mean and variance."""
        means = np.add.reduceat(self.numbers * self.chances, self.starts)
        spread = (self.numbers - means[self.row]) ** 2 @ self.chances
        return float(means.sum()), float(spread)

    def log_moments(self, steep: Floats) -> Floats:
        """Return ln E[e^hS] of the sum S, for some h."""
        exponents = np.multiply.outer(steep, self.numbers)
        highest = np.maximum.reduceat(exponents, self.starts, axis=1)
        terms = np.exp(exponents - highest[:, self.row]) * self.chances
        return (np.log(np.add.reduceat(terms, self.starts, axis=1)) + highest).sum(axis=1)

    def generating(self, roots: _Complex, law: CountLaw | None, rows: int) -> _Complex:
        """Return E[z^O] for the rows O that show the value, at some z on the unit circle.

        Parameters
        ----------
        roots
            The z.
        law
            What becomes of each row; None where rows stay as they are.
        rows
            How many rows all groups have.
        """
        numbers, place = np.unique(self.numbers, return_inverse=True)
        chances = np.zeros((int(self.row[-1]) + 1, len(numbers)))
        chances[self.row, place] = self.chances
        total = np.empty(len(roots), dtype=np.complex128)
        step = max(1, _CELLS // len(numbers))
        for start in range(0, len(roots), step):
            here = roots[start : start + step]
            if law is None:
                ratio, others = here, np.ones_like(here)
            else:
                # own + other <= 1 for every m >= 2, so the ratio stays inside the unit circle.
                others = 1.0 + law.other * (here - 1.0)
                ratio = (1.0 + law.own * (here - 1.0)) / others
            powers = _powers(ratio, numbers)
            by_group = (chances @ powers.view(np.float64)).view(np.complex128)
            total[start : start + step] = by_group.prod(axis=0) * others**rows
        return total


class Sum:
    """How many of a group's rows show a value.

    Parameters
    ----------
    copies
        How many rows of each resampled part hold a copy of the value at the top.
    copied_rows
        How many rows these parts have together.
    below
        What becomes of each of these rows further down; None at the top.
    plain
        How many rows are perturbed by themselves, and how many of these have the value.
    law
        The law of such a row.
    """

    def __init__(
        self,
        copies: list[Weighted],
        copied_rows: int,
        below: CountLaw | None,
        plain: tuple[int, int],
        law: CountLaw,
    ) -> None:
        self._copied = _Ragged(copies)
        self._copied_rows = copied_rows
        self._below = below
        self._plain = plain
        self._law = law
        self._size = copied_rows + plain[0]

    def tails(self, above: int, below: int) -> tuple[float, float]:
        """Return Pr[O > above] and Pr[O <= below]."""
        if self._below is None and len(self._copied.starts) == 1 and not self._plain[0]:
            numbers, chances = self._copied.numbers, self._copied.chances
            return float(chances[numbers > above].sum()), float(chances[numbers <= below].sum())
        first, last = self._reach() if self._size > _SHORT else (0, self._size)
        if first > below and last <= above:
            return 0.0, 0.0
        length = scipy.fft.next_fast_len(last - first + 1, real=True)
        roots = _roots(length)
        generated = self._copied.generating(roots, self._below, self._copied_rows)
        rows, own = self._plain
        if rows:
            shown, other = (1.0 + p * (roots - 1.0) for p in (self._law.own, self._law.other))
            generated *= shown**own * other ** (rows - own)
        # Counts outside the reach are as good as impossible, so they may wrap round.
        law = np.roll(scipy.fft.irfft(generated, length), -(first % length))[: last - first + 1]
        split = [max(0, limit - first + 1) for limit in (above, below)]
        upper, lower = float(law[split[0] :].sum()), float(law[: split[1]].sum())
        return min(max(upper, 0.0), 1.0), min(max(lower, 0.0), 1.0)

    def _reach(self) -> tuple[int, int]:
        """Return the lowest and the highest count that are not as good as impossible.

        By Chernoff's bound, Pr[O >= x] <= E[e^hO]/e^hx for every h > 0, and likewise below.
        """
        _, variance = self._copied.moments()
        # A count that is kept adds its own variance, at most a quarter a row.
        steep = _STEEPNESS * np.sqrt(2.0 * _CERTAIN / (variance + self._size / 4.0 + 1.0))
        highest = ((self._log_moments(steep) + _CERTAIN) / steep).min()
        lowest = -((self._log_moments(-steep) + _CERTAIN) / steep).min()
        return max(0, int(np.floor(lowest))), min(self._size, int(np.ceil(highest)))

    def _log_moments(self, steep: Floats) -> Floats:
        """Return ln E[e^hO] for some h."""
        shown, other = steep, np.zeros(len(steep))
        if self._below is not None:
            shown, other = (_log_moment(p, steep) for p in (self._below.own, self._below.other))
        total = self._copied.log_moments(shown - other) + self._copied_rows * other
        rows, own = self._plain
        law = self._law
        total += own * _log_moment(law.own, steep) + (rows - own) * _log_moment(law.other, steep)
        return total


def _log_moment(chance: float, steep: Floats) -> Floats:
    """Return ln E[e^hX] of a row X that shows the value with some chance below 1."""
    return np.logaddexp(np.log1p(-chance), np.log(chance) + steep)


def _roots(length: int) -> _Complex:
    """Return the roots of unity that a real transform of this length needs."""
    return np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)


def _powers(base: _Complex, exponents: Integers) -> _Complex:
    """Return each base to ascending powers, shape (exponents, bases)."""
    powers = np.empty((len(exponents), len(base)), dtype=np.complex128)
    # Steps between exponents recur, and a product is much faster than a power.
    steps: dict[int, _Complex] = {}
    current, reached = np.ones_like(base), 0
    for place, exponent in enumerate(exponents.tolist()):
        step = exponent - reached
        if step not in steps:
            steps[step] = base**step
        current = current * steps[step]
        powers[place], reached = current, exponent
    return powers


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

    samples: Integers
    draw: SampleDraw
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

    counts: Integers
    draw: SampleDraw
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

    starts: Integers
    protected: Integers
    records: Integers
    counts: scipy.sparse.csr_array = field(repr=False)
    whole_counts: scipy.sparse.csr_array = field(repr=False)

    @classmethod
    def of(
        cls,
        known: MicroGroups,
        protected: MicroGroups,
        codes: Codes,
        size: int,
        numbers: Integers | None = None,
    ) -> GroupParts:
        """Cut the groups of n records.

        Parameters
        ----------
        known, protected
            The groups that are told apart, and those that a release protects.
        codes
            Each record's sensitive value, shape (n,).
        size
            The number of values in its domain, m.
        numbers
            How many records each of them stands for, shape (n,); None for one.
        """
        key = known.codes * protected.count + protected.codes
        present, part = np.unique(key, return_inverse=True)
        owner, inside = np.divmod(present, protected.count)
        records = np.bincount(part, weights=numbers).astype(np.int64)
        counts = value_counts(MicroGroups(part.astype(np.int64), records), codes, size, numbers)
        starts = np.searchsorted(owner, np.arange(known.count + 1)).astype(np.int64)
        whole = value_counts(protected, codes, size, numbers)
        return cls(starts, inside, records, counts, whole)

    @cached_property
    def sizes(self) -> Integers:
        """The protected groups' records, n, shape (H,)."""
        counts = self.whole_counts
        return np.add.reduceat(counts.data, counts.indptr[:-1])

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

    def __init__(self, counts: scipy.sparse.csr_array) -> None:
        self._size = counts.shape[1]
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        self._keys = rows * self._size + counts.indices
        self._found = counts.data

    def __call__(self, rows: Integers, values: Integers | int) -> Integers:
        key = rows * self._size + values
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return np.where(self._keys[place] == key, self._found[place], 0)


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
        self, groups: Integers, values: Integers, counts: Integers, epsilon: float, context: Context
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

    def estimate_variance(self, asked: Flags, shares: Floats) -> Floats:
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
        if how.draw is SampleDraw.AT_RANDOM:
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
        return total / how.retention**2

    def _as_one_sample(self, groups: Integers, sizes: Integers) -> Integers:
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
    return shares * own + (1.0 - shares) * other
