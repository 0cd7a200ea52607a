"""(ε, δ)-reconstruction privacy: how well a small group's distribution can be estimated.

Wang, Han and Fu, "Randomization Resilient To Sensitive Reconstruction" (2012). Records that
agree on every public attribute are a micro group. Whoever counts a value O* times among the
group's |g| released records estimates its share as F' = (O*/|g| - (1 - p)/m)/p (Lemma 1). The
group is private where that estimate is off by more than ε·f, on either side, with a
probability that nobody can show to be below δ.

Three tests are offered. The published ones ask that Chernoff's *upper bound* on the error's
probability is at least δ (equations 9 and 10), which promises nothing about the probability
itself: at f = p = 0.5, m = 10 and ε = δ = 0.3 they let 128 records pass whose estimate is off
by more than 30 % with a probability of 2 %. The exact test computes the probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.values import Flags, Floats, Indices, Integers, distinct
from sfumato.engine.disclosure.group_tails import Tails, count_law, release_tails

_BERRY_ESSEEN: Final = 0.56
"""Shevtsova 2010: no sum of independent indicators with standard deviation σ is farther from
the normal law than 0.56/σ."""

_SIZES_AT_ONCE: Final = 16
"""How many sample sizes are tried at once, from the largest that is possible downwards."""

_LARGEST_SAMPLE: Final = 10_000
"""The exact test looks no further than this."""

_FINENESS: Final = 1_000
"""Above this, the exact test tries sizes a thousandth apart: what it finds passes, but one
slightly larger may pass as well."""

_HAIR: Final = 1e-12
"""Tails are rounded by less."""

_ENDLESS: Final = 1 << 40
"""A group so large that copying its sample rounds nothing."""


class PrivacyTest(StrEnum):
    """Which test decides whether a group is private."""

    SIMPLIFIED = "simplified"
    """The simplified Chernoff bound, equation 10."""
    CHERNOFF = "chernoff"
    """The full Chernoff bound, equation 9."""
    EXACT = "exact"
    """The true probabilities."""


MOST_DELTA: Final = 0.5
"""An estimate can't be too high and too low with more probability on either side."""


def check_limits(rule: PrivacyTest, epsilon: float, delta: float) -> None:
    """Refuse an ε or δ that the test has no meaning for.

    Raises
    ------
    LevelError
        Naming the range.
    """
    if not 0.0 < epsilon <= 1.0:
        raise LevelError(
            "The relative error ε = {epsilon:g} is not above 0 and at most 1.",
            "Give the error that an attacker's estimate has to exceed, for instance 0.3 for 30 %.",
            epsilon=epsilon,
        )
    most = MOST_DELTA if rule is PrivacyTest.EXACT else 1.0
    if not 0.0 < delta <= most or delta == 1.0:
        raise LevelError(
            "The probability δ = {delta:g} is not between 0 and {most:g}.",
            "An estimate is too high or too low, so both can't be likelier than one half each:"
            " give at most 0.5."
            if rule is PrivacyTest.EXACT
            else "Give a probability above 0 and below 1.",
            delta=delta,
            most=most,
        )


def allowed_size(
    rule: PrivacyTest,
    retention: float,
    size_of_domain: int,
    frequency: npt.ArrayLike,
    epsilon: float,
    delta: float,
) -> Floats:
    """Return the largest number of independent draws that leaves a value's share private, s_g.

    Parameters
    ----------
    rule
        The test.
    retention, size_of_domain
        The retention probability p, in (0, 1), and the number of values m.
    frequency
        The value's share f in the group, in (0, 1]; of the group's values, the largest share
        decides. Any shape.
    epsilon, delta
        The relative error ε, and the probability δ on each side.

    Returns
    -------
    numpy.ndarray
        Of the shape of `frequency`. By equation 10 or 9 a real number, which |g| must not
        exceed. By the exact test the largest whole number of records s, sampled from any number
        of records with this share, whose two true tails pass (`passes`); 0 where none does,
        and at most 10,000. Above 1,000 it is right to a thousandth, and never too large.
        Smaller samples may fail, because counts are whole: test a group by `is_private`.

    Raises
    ------
    LevelError
        If a parameter is out of its range.
    """
    check_limits(rule, epsilon, delta)
    _check_retention(retention)
    shares = np.asarray(frequency, dtype=np.float64)
    if not np.all((shares > 0.0) & (shares <= 1.0)):
        raise LevelError(
            "A share is not above 0 and at most 1.", "Give shares of values that occur."
        )
    shown = shares * retention + (1.0 - retention) / size_of_domain
    theta = epsilon * retention * shares / shown
    if rule is PrivacyTest.SIMPLIFIED:
        return np.asarray(-2.0 * math.log(delta) / (shown * theta**2), dtype=np.float64)
    if rule is PrivacyTest.CHERNOFF:
        # ln(e^-θ/(1 - θ)^(1 - θ)), with the limit -1 at θ = 1.
        bound = -theta - scipy.special.xlog1py(1.0 - theta, -theta)
        return np.asarray(math.log(delta) / (shown * bound), dtype=np.float64)
    distinct, inverse = np.unique(shares, return_inverse=True)
    found = [
        _largest_sample(retention, size_of_domain, float(share), epsilon, delta)
        for share in distinct
    ]
    return np.array(found, dtype=np.float64)[inverse].reshape(shares.shape)


def passes(found: Tails, delta: float) -> Flags:
    """Return whether two true tails keep the promise.

    Both have to be at least δ; or one is at least 1 - δ, which happens where a group is so
    small, or a value so rare, that no count comes near the truth: the estimate then errs on one
    side nearly always.
    """
    least = np.minimum(found.upper, found.lower)
    most = np.maximum(found.upper, found.lower)
    return (least >= delta - _HAIR) | (most >= 1.0 - delta - _HAIR)


class DistinctCells(NamedTuple):
    """The stored entries of counts in groups, by the group's size and the count.

    Millions of groups have few different ones, of which alone tails are computed.

    Parameters
    ----------
    sizes, counts
        Each pair of them that occurs, once, in order, shape (k,).
    places
        Which pair each entry has.
    kinds
        The pairs that the most frequent values of groups have, in order, shape (j,).
    tops
        Which of these that of each group has, shape (G,).
    """

    sizes: Integers
    counts: Integers
    places: Indices
    kinds: Indices
    tops: Indices

    @classmethod
    def of(cls, counts: scipy.sparse.csr_array) -> DistinctCells:
        """Return those of counts as `private_groups` takes them."""
        sizes: Integers = np.add.reduceat(counts.data, counts.indptr[:-1]).astype(np.int64)
        most = int(counts.data.max()) + 1
        found, places = distinct(np.repeat(sizes, np.diff(counts.indptr)) * most + counts.data)
        # The pairs of a group are in the order of its counts.
        tops = distinct(np.maximum.reduceat(places, counts.indptr[:-1]))
        return cls(*np.divmod(found, most), places, *tops)


def private_groups(
    rule: PrivacyTest,
    counts: scipy.sparse.csr_array,
    retention: float,
    size_of_domain: int,
    epsilon: float,
    delta: float,
    cells: DistinctCells | None = None,
) -> Flags:
    """Return which groups pass a test when they are perturbed whole, shape (G,).

    Parameters
    ----------
    rule
        The test. By the published ones the group's size is compared with the size that its
        largest share allows; by the exact one the true tails of every value that occurs count.
    counts
        How often each value occurs in each group, shape (G, values), only where it occurs
        (`sfumato.engine.table.micro_groups.value_counts`); no group is empty.
    retention, size_of_domain, epsilon, delta
        As for `allowed_size`.
    cells
        Those of the counts, where they are known already.
    """
    check_limits(rule, epsilon, delta)
    _check_retention(retention)
    starts = counts.indptr[:-1]
    if rule is not PrivacyTest.EXACT:
        sizes: Integers = np.add.reduceat(counts.data, starts)
        shares = np.maximum.reduceat(counts.data, starts) / sizes
        allowed = allowed_size(rule, retention, size_of_domain, shares, epsilon, delta)
        return np.asarray(sizes <= allowed, dtype=np.bool_)
    cells = cells or DistinctCells.of(counts)
    n, c = cells.sizes, cells.counts
    tops = n[cells.kinds]
    shares = c[cells.kinds] / tops
    small = tops <= largest_possible(retention, size_of_domain, shares, epsilon, delta)
    # Tails take long where groups are large, so only sizes are asked about that may pass.
    asked = np.isin(n, tops[small])
    found = release_tails(n[asked], c[asked], n[asked], retention, size_of_domain, epsilon)
    broken = np.zeros(len(n), dtype=np.bool_)
    broken[asked] = ~passes(found, delta)
    private: Flags = small[cells.tops]
    if broken.any():
        private &= ~np.logical_or.reduceat(broken[cells.places], starts)
    return private


def largest_possible(
    retention: float, size_of_domain: int, shares: npt.ArrayLike, epsilon: float, delta: float
) -> Floats:
    """Return a number of draws above which no sample can pass the exact test.

    By the Berry-Esseen inequality both tails are below δ then. Copies of a sample are rounded,
    which moves a count by less than one.

    Parameters
    ----------
    shares
        The share f of the value, any shape.
    """
    law = count_law(retention, size_of_domain)
    every = np.asarray(shares, dtype=np.float64)
    # Hundreds of thousands of groups have few different shares.
    place, f = pd.factorize(every.ravel())
    spread = f * law.own * (1.0 - law.own) + (1.0 - f) * law.other * (1.0 - law.other)

    def may_pass(size: Floats) -> Flags:
        # A record that is only sometimes in the sample adds at most 1/4 to the variance.
        reach = np.maximum(epsilon * retention * f * size - 1.0, 0.0)
        bound = scipy.special.ndtr(-reach / np.sqrt(size * spread + 0.25))
        return bound + _BERRY_ESSEEN / np.sqrt(size * spread) >= delta

    return _largest_number(may_pass, f.shape)[place].reshape(every.shape)


def largest_by_chernoff(
    retention: float, size_of_domain: int, shares: npt.ArrayLike, epsilon: float, delta: float
) -> Floats:
    """Return what `largest_possible` does, by a bound that is closer where δ is small.

    Both tails are below δ then by Chernoff's bound for binomial counts, which holds for draws
    from records that differ, and without replacement, as well (Hoeffding 1963, theorems 1 and 4).
    """
    law = count_law(retention, size_of_domain)
    f = np.asarray(shares, dtype=np.float64)
    shown = f * law.own + (1.0 - f) * law.other

    def may_pass(size: Floats) -> Flags:
        reach = np.maximum(epsilon * retention * f - 1.0 / size, 0.0)
        nearer = np.minimum(_divergence(shown + reach, shown), _divergence(shown - reach, shown))
        return size * nearer <= -math.log(delta)

    return _largest_number(may_pass, f.shape)


def _largest_number(may_pass: Callable[[Floats], Flags], shape: tuple[int, ...]) -> Floats:
    """Return the last whole numbers that may pass, where none above one that may not does."""
    low, high = np.zeros(shape), np.full(shape, float(_ENDLESS))
    for _ in range(60):
        middle = np.maximum(np.floor((low + high) / 2), 1.0)
        possible = may_pass(middle)
        low, high = np.where(possible, middle, low), np.where(possible, high, middle)
        if np.all(high - low <= 1.0):
            break
    return low


def _divergence(share: Floats, expected: Floats) -> Floats:
    """Return the relative entropy of two coins; endless where a share is no share."""
    inside = np.clip(share, 0.0, 1.0)
    found = scipy.special.rel_entr(inside, expected) + scipy.special.rel_entr(
        1.0 - inside, 1.0 - expected
    )
    return np.where(inside == share, found, np.inf)


def _largest_sample(
    retention: float, size_of_domain: int, share: float, epsilon: float, delta: float
) -> int:
    """Return the largest sample of endlessly many records that passes; 0 where none does."""
    asked = (retention, size_of_domain, share, epsilon, delta)
    possible = min(float(largest_possible(*asked)), float(largest_by_chernoff(*asked)))
    top = min(int(possible), _LARGEST_SAMPLE)
    while top > 0:
        step = 1 + top // _FINENESS
        samples = np.arange(top, max(0, top - _SIZES_AT_ONCE * step), -step)
        sizes = np.full(len(samples), _ENDLESS)
        counts = np.full(len(samples), max(1, round(share * _ENDLESS)))
        found = passes(
            release_tails(sizes, counts, samples, retention, size_of_domain, epsilon), delta
        )
        if found.any():
            return int(samples[found.argmax()])
        top = int(samples[-1]) - step
    return 0


def _check_retention(retention: float) -> None:
    if not 0.0 < retention < 1.0:
        raise LevelError(
            "The retention probability {retention:g} is not between 0 and 1.",
            "At 0 there is nothing to estimate from, and at 1 nothing is hidden: choose a number"
            " between them.",
            retention=retention,
        )
