"""Noise for statistics: its law, that it is keyed, and that it is drawn once."""

from __future__ import annotations

import hashlib
import math
from collections import Counter

import numpy as np
import pytest

from sfumato.engine.core.errors import LevelError
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import (
    KeyedNoise,
    check_epsilon,
    shares_of,
    standard_deviation,
)
from tests.noise import NOISE


def secret(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def law(z: int, sensitivity: int, epsilon: float) -> float:
    """The discrete Laplace law, written down anew: (1 − r)/(1 + r)·r^|z|."""
    r = math.exp(-epsilon / sensitivity)
    return (1 - r) / (1 + r) * r ** abs(z)


@pytest.mark.few(1)
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(2, 0.5), (2, 3.0), (1, 0.1), (7, 2.0)])
def test_the_noise_follows_the_discrete_laplace_law(sensitivity, epsilon):
    # χ² over all cells that expect 20 or more, and a bound on the rest. By the seeded key the
    # outcome is fixed; a right law fails at other keys with probability below 1e-6.
    drawn = NOISE.integers("law", [0] * 40_000, sensitivity, epsilon)
    counts = Counter(drawn)
    cells = [z for z in range(-2_000, 2_001) if 40_000 * law(z, sensitivity, epsilon) >= 20]
    statistic = sum(
        (counts[z] - 40_000 * law(z, sensitivity, epsilon)) ** 2
        / (40_000 * law(z, sensitivity, epsilon))
        for z in cells
    )
    degrees = len(cells)
    assert statistic < degrees + 5 * math.sqrt(2 * degrees) + 15
    left = 1 - sum(law(z, sensitivity, epsilon) for z in cells)
    outside = sum(n for z, n in counts.items() if z not in set(cells))
    assert abs(outside - 40_000 * left) < 6 * math.sqrt(40_000 * left) + 10
    spread = standard_deviation(sensitivity, epsilon)
    assert np.std(drawn) == pytest.approx(spread, rel=0.05)
    exact = sum(z * z * law(z, sensitivity, epsilon) for z in range(-5_000, 5_001))
    assert spread == pytest.approx(math.sqrt(exact))


def test_the_law_keeps_what_it_promises_for_one_record_replaced():
    epsilon = 0.4
    # One record moves from one value to another: two counts differ by 1 each.
    for z in range(-40, 41):
        for w in range(-40, 41):
            here = law(z, 2, epsilon) * law(w, 2, epsilon)
            there = law(z - 1, 2, epsilon) * law(w + 1, 2, epsilon)
            assert here <= there * math.exp(epsilon) * (1 + 1e-12)


def test_the_same_table_gets_the_same_noise_and_another_one_other_noise():
    counts = [40, 30, 0, 5] * 20
    once = NOISE.counts("disease", counts, 0.5)
    assert NOISE.counts("disease", np.array(counts), 0.5) == once
    moved = [*counts[:-2], counts[-2] + 1, counts[-1] - 1]
    noise = np.subtract(once, counts)
    for other in (
        np.subtract(NOISE.counts("disease", moved, 0.5), moved),
        np.subtract(NOISE.counts("income", counts, 0.5), counts),
        np.subtract(NOISE.counts("disease", counts, 0.50001), counts),
        np.subtract(KeyedNoise(KeyRing(secret("other"))).counts("disease", counts, 0.5), counts),
        np.subtract(NOISE.integers("disease", counts, 3, 0.5), counts),
    ):
        assert (other != noise).mean() > 0.5


def test_statistics_of_any_size_stay_whole_numbers():
    huge = [10**30, -(10**25)]
    noisy = NOISE.integers("sums", huge, 10**20, 0.1)
    assert all(type(value) is int for value in noisy)
    assert all(0 < abs(n - h) < 10**23 for n, h in zip(noisy, huge, strict=True))


@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, 21.0, True, "0.1", None, 1e-9])
def test_an_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(LevelError, match="ε0"):
        check_epsilon(epsilon)


def test_shares_are_made_of_counts_that_may_be_below_zero():
    assert shares_of([3, -2, 1]).tolist() == [0.75, 0.0, 0.25]
    assert shares_of([-1, 0, -5, -9]).tolist() == [0.25] * 4


def test_the_source_hides_its_keys():
    assert repr(NOISE) == "KeyedNoise(keys hidden)"
