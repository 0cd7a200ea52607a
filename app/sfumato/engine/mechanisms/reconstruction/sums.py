"""Numbers of rows that show a value: how likely each number is, and sums of independent ones.

What a resampled group's rows hold is worked out step by step, each of which turns how likely each
number is into how likely each other one is: which records are drawn, what they show, how often
it is copied, how many copies fall to some of the rows, what is left of them further down the
ladder. Numbers of independent groups are added by their generating functions at roots of unity
(Hong 2013, "On computing the distribution function for the Poisson binomial distribution"), which
is exact but for rounding.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import fft, special

from sfumato.engine.mechanisms.reconstruction.tails import CountLaw, Draw, Floats, Whole

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

    numbers: Whole
    chances: Floats


# ----- one protected group


def copies_in_part(
    law: CountLaw, draw: Draw, size: int, count: int, sample: int, records: int
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


def _drawn(draw: Draw, size: int, count: int, sample: int) -> Weighted:
    """Return how many records with the value are drawn."""
    if draw is Draw.BY_VALUE:
        fewer, rest = divmod(count * sample, size)
        share = rest / size
        return _gathered(np.array([fewer, fewer + 1]), np.array([1.0 - share, share]))
    numbers = np.arange(max(0, sample - (size - count)), min(count, sample) + 1)
    return _gathered(numbers, _hypergeometric(numbers, size, count, sample))


def _shown(drawn: Weighted, sample: int, law: CountLaw) -> Weighted:
    """Return how many of a sample's draws show the value once they are perturbed."""
    length = sample + 1
    generated = _Ragged([drawn]).generating(_roots(length), law, sample)
    shown = fft.irfft(generated, length)
    return _gathered(np.arange(length), np.maximum(shown, 0.0))


def _dealt(copies: Weighted, size: int, records: int) -> Weighted:
    """Return how many copies of the value fall to some of a group's rows."""
    found: Floats = np.zeros(records + 1)
    for number, chance in zip(copies.numbers.tolist(), copies.chances.tolist(), strict=True):
        inside = np.arange(max(0, records - (size - number)), min(number, records) + 1)
        found[inside] += chance * _hypergeometric(inside, size, number, records)
    return _gathered(np.arange(records + 1), found)


def _hypergeometric(numbers: Whole, size: int, count: int, sample: int) -> Floats:
    """Return how likely a sample holds so many of the records that count."""
    logarithm = -(
        special.gammaln(numbers + 1.0)
        + special.gammaln(count - numbers + 1.0)
        + special.gammaln(sample - numbers + 1.0)
        + special.gammaln(size - count - sample + numbers + 1.0)
    )
    chance = np.exp(logarithm - logarithm.max())
    answer: Floats = chance / chance.sum()
    return answer


def _gathered(numbers: Whole, chances: Floats) -> Weighted:
    """Return distinct numbers with their chances, without those that never occur."""
    distinct, place = np.unique(numbers, return_inverse=True)
    added = np.bincount(place, weights=chances)
    kept = added > _NEGLIGIBLE
    return Weighted(distinct[kept].astype(np.int64), added[kept] / added[kept].sum())


# ----- sums


class _Ragged:
    """Numbers of several independent groups, one after the other."""

    def __init__(self, groups: list[Weighted]) -> None:
        self.numbers: Whole = np.concatenate([each.numbers for each in groups])
        self.chances: Floats = np.concatenate([each.chances for each in groups])
        lengths = [len(each.numbers) for each in groups]
        self.starts: Whole = np.cumsum([0, *lengths[:-1]])
        self.row: Whole = np.repeat(np.arange(len(groups)), lengths)

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
        answer: Floats = (np.log(np.add.reduceat(terms, self.starts, axis=1)) + highest).sum(axis=1)
        return answer

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
        length = fft.next_fast_len(last - first + 1, real=True)
        roots = _roots(length)
        generated = self._copied.generating(roots, self._below, self._copied_rows)
        rows, own = self._plain
        if rows:
            shown, other = (1.0 + p * (roots - 1.0) for p in (self._law.own, self._law.other))
            generated *= shown**own * other ** (rows - own)
        # Counts outside the reach are as good as impossible, so they may wrap round.
        law = np.roll(fft.irfft(generated, length), -(first % length))[: last - first + 1]
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
        answer: Floats = total
        return answer


def _log_moment(chance: float, steep: Floats) -> Floats:
    """Return ln E[e^hX] of a row X that shows the value with some chance below 1."""
    answer: Floats = np.logaddexp(np.log1p(-chance), np.log(chance) + steep)
    return answer


def _roots(length: int) -> _Complex:
    """Return the roots of unity that a real transform of this length needs."""
    roots: _Complex = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)
    return roots


def _powers(base: _Complex, exponents: Whole) -> _Complex:
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
