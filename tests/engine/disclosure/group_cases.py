"""Small groups whose releases are enumerated, with fractions and no shortcut."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import comb, floor

import numpy as np
from scipy import sparse

from sfumato.engine.disclosure.group_privacy import PrivacyTest, private_groups
from sfumato.engine.disclosure.group_tails import SampleDraw

_LISTED = 9
"""Of groups up to this size, every sample is listed; of larger ones they are counted."""


def enumerated_tails(
    size: int,
    count: int,
    sample: int,
    retention: Fraction,
    domain: int,
    epsilon: Fraction,
    draw: SampleDraw,
) -> tuple[Fraction, Fraction]:
    """Return a group's true tails by going through every sample, draw and rounding."""
    other = (1 - retention) / domain
    own = retention + other
    upper = lower = Fraction(0)
    for weight, taken in _samples(size, count, sample, draw):
        for shown in range(sample + 1):
            chance = weight * _shown(taken, sample - taken, own, other, shown)
            copies = Fraction(shown * size, sample)
            down = floor(copies)
            for rounded, share in ((down, 1 - (copies - down)), (down + 1, copies - down)):
                estimate = (Fraction(rounded, size) - other) / retention
                error = estimate / Fraction(count, size) - 1
                upper += chance * share * (error > epsilon)
                lower += chance * share * (error < -epsilon)
    return upper, lower


def _samples(
    size: int, count: int, sample: int, draw: SampleDraw
) -> Iterator[tuple[Fraction, int]]:
    """Yield how many of the value's records a sample takes, with the probability."""
    if draw is SampleDraw.BY_VALUE:
        exact = Fraction(count * sample, size)
        yield 1 - (exact - floor(exact)), floor(exact)
        if exact > floor(exact):
            yield exact - floor(exact), floor(exact) + 1
        return
    if size <= _LISTED:
        for chosen in combinations(range(size), sample):
            yield Fraction(1, comb(size, sample)), sum(place < count for place in chosen)
        return
    for taken in range(max(0, sample - (size - count)), min(count, sample) + 1):
        ways = comb(count, taken) * comb(size - count, sample - taken)
        yield Fraction(ways, comb(size, sample)), taken


def _shown(own: int, others: int, own_chance: Fraction, chance: Fraction, shown: int) -> Fraction:
    """Return the probability that `shown` of the perturbed records show the value."""
    return sum(
        (
            comb(own, first)
            * own_chance**first
            * (1 - own_chance) ** (own - first)
            * comb(others, shown - first)
            * chance ** (shown - first)
            * (1 - chance) ** (others - shown + first)
            for first in range(own + 1)
            if 0 <= shown - first <= others
        ),
        start=Fraction(0),
    )


def enumerated_law(
    size: int, count: int, sample: int, retention: Fraction, domain: int, draw: SampleDraw
) -> dict[int, Fraction]:
    """Return the probability of each number of copies that show a value."""
    other = (1 - retention) / domain
    law = dict.fromkeys(range(size + 1), Fraction(0))
    for weight, taken in _samples(size, count, sample, draw):
        for shown in range(sample + 1):
            chance = weight * _shown(taken, sample - taken, retention + other, other, shown)
            copies = Fraction(shown * size, sample)
            law[floor(copies)] += chance * (1 - (copies - floor(copies)))
            if copies > floor(copies):
                law[floor(copies) + 1] += chance * (copies - floor(copies))
    return law


def estimated_shares(counts: np.ndarray, retention: float, size_of_domain: int) -> np.ndarray:
    """Return the shares that Lemma 1 estimates from how often values were released."""
    shares = counts / counts.sum(axis=-1, keepdims=True)
    return (shares - (1.0 - retention) / size_of_domain) / retention


def is_private(
    rule: PrivacyTest, counts: np.ndarray, retention: float, size: int, epsilon: float, delta: float
) -> bool:
    """Return whether one perturbed group passes a test."""
    given = np.asarray(counts)
    row = sparse.csr_array(given[given > 0].reshape(1, -1))
    return bool(private_groups(rule, row, retention, size, epsilon, delta)[0])
