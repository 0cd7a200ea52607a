"""The noise of tables of counts: its law, its ladder, and what is computed from noisy counts."""

from __future__ import annotations

import hashlib
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from sfumato.engine.core.errors import LevelError
from sfumato.engine.ladders.counts import (
    MOST_ROWS,
    adjusted_counts,
    half_width_of_sum,
    law_of_counts,
    noise_of_cells,
)
from sfumato.engine.randomness.keys import KeyRing

FALSE_ALARM = 1e-6
"""How often each statistical test would fail although the law is right, if keys were drawn."""


def key(name="table", edition="first", counts="0"):
    ring = KeyRing(hashlib.sha256(b"the noise of counts").digest())
    return ring.for_counts(name, edition, counts)


def chance(rate, noise):
    """The discrete Laplace law, written anew."""
    step = math.exp(-rate)
    return (1 - step) / (1 + step) * step ** abs(noise)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_every_table_of_small_cases_keeps_epsilon_by_enumeration(epsilon):
    rate = law_of_counts(epsilon).rate
    tables = [cells for cells in itertools.product(range(4), repeat=3) if sum(cells) == 3]
    shown = list(itertools.product(range(-3, 7), repeat=3))
    worst = 0.0
    for one, other in itertools.permutations(tables, 2):
        if sum(abs(a - b) for a, b in zip(one, other, strict=True)) != 2:
            continue
        for cells in shown:
            odds = sum(
                rate * (abs(c - b) - abs(c - a)) for a, b, c in zip(one, other, cells, strict=True)
            )
            worst = max(worst, odds)
    assert worst == pytest.approx(2 * rate)
    assert epsilon * 0.99 < worst < epsilon


@pytest.mark.parametrize(("lower", "upper"), [(0.2, 0.5), (0.5, 3.0)])
def test_a_lower_level_is_the_upper_one_with_noise_of_its_own_by_enumeration(lower, upper):
    a, b = law_of_counts(lower), law_of_counts(upper)
    stays = (math.sinh(a.rate / 2) / math.sinh(b.rate / 2)) ** 2
    assert a.unchanged_from(b) == pytest.approx(stays)
    reach = range(-1500, 1501)
    for noise in range(-5, 6):
        mixed = stays * chance(b.rate, noise) + (1 - stays) * sum(
            chance(b.rate, first) * chance(a.rate, noise - first) for first in reach
        )
        assert mixed == pytest.approx(chance(a.rate, noise), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "rows"), [(0.5, 1), (2.0, 1), (2.0, 4)])
def test_the_noise_of_cells_has_its_law(epsilon, rows):
    law = law_of_counts(epsilon, rows)
    drawn = noise_of_cells(60_000, epsilon, key(), rows)
    reach = int(3 / law.rate)
    values = np.arange(-reach, reach + 1)
    expected = np.array([chance(law.rate, value) for value in values])
    counted = np.array([(drawn == value).sum() for value in values])
    outside = 1 - expected.sum()
    found = stats.chisquare(
        [*counted, len(drawn) - counted.sum()], len(drawn) * np.array([*expected, outside])
    )
    assert found.pvalue > FALSE_ALARM


def test_what_a_lower_level_adds_knows_nothing_of_the_upper_ones_noise():
    """The joint law of two levels is that of the chain, cell by cell of a small square."""
    lower, upper = law_of_counts(0.8), law_of_counts(2.0)
    below = noise_of_cells(60_000, 0.8, key())
    above = noise_of_cells(60_000, 2.0, key())
    stays = lower.unchanged_from(upper)
    square = list(itertools.product(range(-2, 3), repeat=2))
    counted = [((above == first) & (below == then)).sum() for first, then in square]
    expected = [
        chance(upper.rate, first)
        * (stays * (first == then) + (1 - stays) * chance(lower.rate, then - first))
        for first, then in square
    ]
    rest = (len(below) - sum(counted), 1 - sum(expected))
    found = stats.chisquare([*counted, rest[0]], len(below) * np.array([*expected, rest[1]]))
    assert found.pvalue > FALSE_ALARM


def test_another_table_edition_or_count_has_noise_of_its_own_and_the_same_has_the_same():
    first = noise_of_cells(500, 1.0, key())
    assert (first == noise_of_cells(500, 1.0, key())).all()
    assert (first[:100] == noise_of_cells(100, 1.0, key())).all()
    for other in (key("another"), key(edition="next"), key(counts="1")):
        again = noise_of_cells(500, 1.0, other)
        assert 10 < (first == again).sum() < 250


@pytest.mark.parametrize("summed", [1, 2, 5, 40])
def test_a_half_width_is_the_least_that_holds_so_often(summed):
    law = law_of_counts(0.7)
    values = np.arange(-400, 401)
    single = np.array([chance(law.rate, value) for value in values])
    total = single
    for _ in range(summed - 1):
        total = np.convolve(total, single)
    middle = len(total) // 2
    for share in (0.5, 0.95, 0.999):
        width = half_width_of_sum(law, summed, share)
        held = total[middle - width : middle + width + 1].sum()
        assert held >= share - 1e-9
        assert total[middle - width + 1 : middle + width].sum() < share or width == 0


def test_of_very_many_cells_the_normal_law_is_taken():
    law = law_of_counts(0.02)
    width = half_width_of_sum(law, 1_000_000, 0.95)
    assert width == pytest.approx(1.959964 * math.sqrt(1e6 * law.variance), rel=1e-5)


def test_adjusted_counts_are_the_closest_that_are_not_negative_and_add_up():
    draws = np.random.default_rng(5)
    for _ in range(50):
        noisy, total = draws.integers(-9, 12, size=8), int(draws.integers(1, 40))
        found = adjusted_counts(noisy, total)
        assert found.sum() == pytest.approx(total)
        assert (found >= 0).all()
        taken = noisy - found
        # Kuhn and Tucker: what is above 0 lost the same, and what is 0 would have lost less.
        kept = found > 1e-9
        assert np.ptp(taken[kept]) < 1e-9
        assert (taken[~kept] <= taken[kept].min() + 1e-9).all()
    assert (adjusted_counts(np.array([3, -4]), 0) == 0).all()


def test_levels_and_units_out_of_range_are_refused():
    for epsilon in (0.0, 0.01, 65.0, math.nan):
        with pytest.raises(LevelError):
            law_of_counts(epsilon)
    for rows in (0, MOST_ROWS + 1):
        with pytest.raises(ValueError, match="rows"):
            law_of_counts(1.0, rows)
