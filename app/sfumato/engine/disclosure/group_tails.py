"""How far an estimate made from one group can be off, computed exactly.

Of a group of n records, c show a value. A sample of s of them (all of them, where s = n) is
perturbed and its released values are copied until there are n again. The number O of copies that
show the value then has a law that is known to the last digit: the sample holds a of the c
records, they show the value with probability p + (1 - p)/m each and the others with
(1 - p)/m, and a count j of sampled records becomes ``j·n/s`` copies, rounded up or down at random
so that its mean is kept. Recipients estimate the value's share by Lemma 1 of Wang, Han and Fu
(2012); the estimate exceeds the truth by more than the relative error ε exactly when
O > n·w + ε·p·c, with w = p·c/n + (1 - p)/m.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
import scipy

from sfumato.engine.core.values import Floats, Indices, Integers, distinct

LARGEST_TABLE: Final = 192
"""Samples up to this size are looked up in a table of all their laws (19 MB at most)."""

_TIE: Final = 1e-9
"""Counts this close to the allowed error (relative to it) don't count as beyond it, so that
rounding errs towards privacy."""

_DEVIATIONS: Final = 12.0
"""Binomial terms farther from their mean than this many standard deviations are below 1e-30."""

_TERMS: Final = 1 << 20
"""How many terms are added up at once, to spare memory."""


class SampleDraw(StrEnum):
    """Which records of a group a sample takes."""

    BY_VALUE = "by value"
    """The same share of every value, up to one record (algorithm 1 of the paper)."""
    AT_RANDOM = "at random"
    """Any records, whatever their values."""


class Tails(NamedTuple):
    """How likely an estimate is off: above by more than ε, below by more than ε."""

    upper: Floats
    lower: Floats

    @property
    def total(self) -> Floats:
        """The probability of being off by more than ε, on either side."""
        return self.upper + self.lower


class CountLaw:
    """The law of how many of some perturbed records show a value.

    Parameters
    ----------
    retention
        The retention probability p, in (0, 1).
    size_of_domain
        The number of values in the domain, m.
    """

    def __init__(self, retention: float, size_of_domain: int) -> None:
        self.other: Final = (1.0 - retention) / size_of_domain
        self.own: Final = retention + self.other
        self._growing = Lock()
        self._laws = [np.ones((1, 1))]
        self._flat: Floats = np.empty(0)
        self._starts: Integers = np.empty(0, dtype=np.int64)

    def at_most(self, records: Integers, own: Integers, limit: Integers) -> Floats:
        """Return Pr[O <= limit] for each question; all of one shape.

        Parameters
        ----------
        records
            How many records are perturbed, s.
        own
            How many of them have the value itself.
        limit
            The count; below 0 and from s on it is certain.
        """
        small = records <= LARGEST_TABLE
        answer = np.empty(records.shape)
        if small.any():
            answer[small] = self._look_up(records[small], own[small], limit[small])
        if not small.all():
            large = ~small
            questions = np.stack([records[large], own[large], limit[large]])
            asked, inverse = np.unique(questions, axis=1, return_inverse=True)
            answer[large] = self._added_up(*asked)[inverse.ravel()]
        return answer

    def _look_up(self, records: Integers, own: Integers, limit: Integers) -> Floats:
        self._grow(int(records.max()))
        place = np.clip(limit, -1, records) + 1
        return self._flat[self._starts[records] + own * (records + 2) + place]

    def _grow(self, records: int) -> None:
        """Tabulate the laws of up to so many records."""
        with self._growing:
            if records < len(self._starts):
                return
            while len(self._laws) <= min(max(records, 16), LARGEST_TABLE):
                self._laws.append(self._with_one_more(self._laws[-1]))
            tables = [
                np.concatenate([np.zeros((len(law), 1)), np.cumsum(law, axis=1)], axis=1)
                for law in self._laws
            ]
            # The longer table holds the shorter one, so a look-up beside this one stays right.
            self._flat = np.concatenate([table.ravel() for table in tables])
            self._starts = np.cumsum([0, *(table.size for table in tables[:-1])])

    def _with_one_more(self, law: Floats) -> Floats:
        """Return the laws of one more record; row a is that of a records with the value."""
        count = len(law)
        longer = np.zeros((count + 1, count + 1))
        longer[:-1, :-1] = law * (1.0 - self.other)
        longer[:-1, 1:] += law * self.other
        longer[-1, :-1] = law[-1] * (1.0 - self.own)
        longer[-1, 1:] += law[-1] * self.own
        return longer

    def _added_up(self, records: Integers, own: Integers, limit: Integers) -> Floats:
        """Add up the convolution of the two binomials around the first one's mean."""
        answer = (limit >= records).astype(np.float64)
        reach = _DEVIATIONS * np.sqrt(own * self.own * (1.0 - self.own)) + 30.0
        first = np.maximum(0, own * self.own - reach).astype(np.int64)
        last = np.minimum(np.minimum(own, limit), (own * self.own + reach).astype(np.int64))
        lengths = np.where(limit < records, np.maximum(last - first + 1, 0), 0)
        for part in _stretches(lengths):
            row = np.repeat(np.arange(part.start, part.stop), lengths[part])
            begins = np.cumsum(lengths[part]) - lengths[part]
            shown = first[row] + np.arange(len(row)) - begins[row - part.start]
            chance = _binomial(shown, own[row], self.own)
            chance *= _binomial_at_most(limit[row] - shown, (records - own)[row], self.other)
            added = np.bincount(row - part.start, weights=chance, minlength=part.stop - part.start)
            answer[part] += added
        return answer


def _stretches(lengths: Integers) -> list[slice]:
    """Cut questions into stretches with not too many terms."""
    begins = np.flatnonzero(np.diff(np.cumsum(lengths) // _TERMS, prepend=-1))
    ends = [*begins[1:], len(lengths)]
    return [slice(int(start), int(stop)) for start, stop in zip(begins, ends, strict=True)]


@lru_cache(maxsize=4)
def count_law(retention: float, size_of_domain: int) -> CountLaw:
    """Return the law for a retention probability and a domain; its tables are kept."""
    return CountLaw(retention, size_of_domain)


def effective_draws(
    sizes: Integers,
    shares: Floats,
    samples: Integers,
    retention: float,
    top: float,
    size_of_domain: int,
) -> Integers:
    """Return how many draws at a lower level give an estimate the variance it really has.

    A less trusted release perturbs every row of the most trusted one by itself, so the copies of
    a draw part: its estimate varies by what the draws vary, and by what the rows add.

    Parameters
    ----------
    sizes, shares, samples
        Each group's records, the share of its most frequent value and the draws at the top,
        shape (G,).
    retention, top
        The retention probability of the release, and that of the most trusted one.
    size_of_domain
        The number of values m.
    """
    if retention >= top or retention == 0.0:
        return samples
    low, high = (_variance(shares, p, size_of_domain) for p in (retention, top))
    draws = low / (high / samples + (low - high) / sizes)
    return np.clip(np.rint(draws), samples, sizes).astype(np.int64)


def _variance(shares: Floats, retention: float, size_of_domain: int) -> Floats:
    """Return the variance of an estimated share from one record, given the true values."""
    other = (1.0 - retention) / size_of_domain
    own = retention + other
    varying = shares * own * (1.0 - own) + (1.0 - shares) * other * (1.0 - other)
    return varying / retention**2


def release_tails(
    sizes: Integers,
    counts: Integers,
    samples: Integers,
    retention: float,
    size_of_domain: int,
    epsilon: float,
    draw: SampleDraw = SampleDraw.BY_VALUE,
) -> Tails:
    """Return how likely the estimate of a value's share in a group is off, exactly.

    Parameters
    ----------
    sizes
        Each group's number of records, n, shape (k,).
    counts
        How many of them have the value, c, from 1 to n, shape (k,).
    samples
        How many are sampled, s, from 1 to n; n where the group is released whole.
    retention, size_of_domain
        The retention probability p and the number of values m.
    epsilon
        The relative error ε.
    draw
        Which records the sample takes.
    """
    law = count_law(retention, size_of_domain)
    questions = np.stack(np.broadcast_arrays(sizes, counts, samples)).astype(np.int64)
    if not questions.size:
        return Tails(np.empty(questions.shape[1:]), np.empty(questions.shape[1:]))
    (size, count, sample), inverse = _distinct(questions.reshape(3, -1))
    above, below = beyond(law, size, count, epsilon)
    upper = 1.0 - _copies_at_most(law, size, count, sample, above, draw)
    lower = _copies_at_most(law, size, count, sample, below, draw)
    shape = questions.shape[1:]
    places = inverse.reshape(shape)
    return Tails(np.maximum(upper, 0.0)[places], lower[places])


def beyond(
    law: CountLaw, size: Integers, count: Integers, epsilon: float
) -> tuple[Integers, Integers]:
    """Return the counts O above the first of which, and up to the second, an estimate is off.

    Parameters
    ----------
    law
        The law of one perturbed record.
    size, count
        The group's records n, and how many of them have the value, c.
    epsilon
        The relative error ε.
    """
    mean = size * law.other + (law.own - law.other) * count
    allowed = epsilon * (law.own - law.other) * count
    above: Integers = np.floor((mean + allowed) * (1.0 + _TIE)).astype(np.int64)
    below: Integers = np.ceil((mean - allowed) * (1.0 - _TIE)).astype(np.int64) - 1
    return above, below


def _distinct(questions: Integers) -> tuple[Integers, Indices]:
    """Return the distinct columns, and which of them each column is."""
    highest = questions.max(axis=1, initial=0) + 1
    if float(highest[0]) * float(highest[1]) * float(highest[2]) >= 2.0**62:
        columns, inverse = np.unique(questions, axis=1, return_inverse=True)
        return columns, inverse.ravel()
    # One number a column sorts much faster than three.
    keys = (questions[0] * highest[1] + questions[1]) * highest[2] + questions[2]
    found, inverse = distinct(keys)
    pairs, samples = np.divmod(found, highest[2])
    return np.stack([*np.divmod(pairs, highest[1]), samples]), inverse


def _copies_at_most(
    law: CountLaw,
    size: Integers,
    count: Integers,
    sample: Integers,
    limit: Integers,
    draw: SampleDraw,
) -> Floats:
    """Return Pr[O <= limit] for the copies O of the value in the released group."""
    # The largest j with j·n/s <= limit certainly stays; the next may be rounded down to it.
    sure = limit * sample // size
    beyond = (sure + 1) * size - limit * sample
    share = np.where(beyond < sample, 1.0 - beyond / sample, 0.0)
    share[limit < 0] = 0.0
    sure[limit < 0] = -1
    certain = _sampled_at_most(law, size, count, sample, sure, draw)
    if not share.any():
        return certain
    touched = share > 0.0
    among = (size[touched], count[touched], sample[touched])
    more = _sampled_at_most(law, *among, sure[touched] + 1, draw)
    certain[touched] += share[touched] * (more - certain[touched])
    return certain


def _sampled_at_most(
    law: CountLaw,
    size: Integers,
    count: Integers,
    sample: Integers,
    limit: Integers,
    draw: SampleDraw,
) -> Floats:
    """Return Pr[j <= limit] for the sampled records j that show the value."""
    if draw is SampleDraw.BY_VALUE:
        fewer, rest = np.divmod(count * sample, size)
        answer = law.at_most(sample, fewer, limit)
        extra = rest > 0
        if extra.any():
            more = law.at_most(sample[extra], fewer[extra] + 1, limit[extra])
            answer[extra] += rest[extra] / size[extra] * (more - answer[extra])
        return answer
    answer = np.empty(len(size))
    for part in _stretches(np.minimum(count, sample) + 1):
        answer[part] = _mixed(law, size[part], count[part], sample[part], limit[part])
    return answer


def _mixed(
    law: CountLaw, size: Integers, count: Integers, sample: Integers, limit: Integers
) -> Floats:
    """Mix over how many records with the value a sample at random takes (hypergeometric)."""
    least = np.maximum(0, sample - (size - count))
    most = np.minimum(count, sample)
    lengths = most - least + 1
    row = np.repeat(np.arange(len(size)), lengths)
    starts = np.cumsum(lengths) - lengths
    own = np.arange(len(row)) - starts[row] + least[row]
    # ln C(c, a)·C(n - c, s - a) up to what is the same for all a.
    log_factorials = scipy.special.gammaln(np.arange(1.0, float(size.max()) + 2.0))
    chance = -log_factorials[own] - log_factorials[count[row] - own]
    left = sample[row] - own
    chance -= log_factorials[left] + log_factorials[(size - count)[row] - left]
    chance -= np.maximum.reduceat(chance, starts)[row]
    chance = np.exp(chance)
    found = law.at_most(sample[row], own, limit[row])
    return np.add.reduceat(chance * found, starts) / np.add.reduceat(chance, starts)


def _log_choose(total: Integers, chosen: Integers) -> Floats:
    return (
        scipy.special.gammaln(total + 1.0)
        - scipy.special.gammaln(chosen + 1.0)
        - scipy.special.gammaln(total - chosen + 1.0)
    )


def _binomial(shown: Integers, trials: Integers, chance: float) -> Floats:
    logarithm = _log_choose(trials, shown)
    logarithm += scipy.special.xlogy(shown, chance) + scipy.special.xlog1py(trials - shown, -chance)
    return np.exp(logarithm)


def _binomial_at_most(limit: Integers, trials: Integers, chance: float) -> Floats:
    inside = np.clip(limit, 0, trials)
    return np.where(limit < 0, 0.0, scipy.special.bdtr(inside, trials, chance))
