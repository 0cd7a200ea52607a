"""Both sides of the blind promise, by a checker that shares no code with the mechanism.

It takes nothing from the engine but how many records are drawn and what is said of it. Samples
are counted, what they show is convolved draw by draw, copies are made from every start, and
whether an estimate is off is decided in whole numbers.
"""

from __future__ import annotations

import re
import time
from fractions import Fraction
from math import comb, lcm

import numpy as np
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.reconstruction.limits import GroupLimits, GroupSampling, blind_sizes
from tests.engine.categories import column_of

USUAL = ("0.5", 10, "0.3", "0.17")
SETTINGS = [USUAL, ("0.5", 4, "0.3", "0.17"), ("0.2", 40, "0.5", "0.1"), ("0.4", 3, "0.2", "0.25")]


def drawn(setting, sizes):
    retention, domain, epsilon, delta = setting
    limits = GroupLimits(
        float(epsilon),
        float(delta),
        PrivacyTest.EXACT,
        GroupSampling.BLIND,
        float(retention),
        domain,
    )
    return [int(s) for s in blind_sizes(limits, np.array(sizes), Silent())]


def both_sides(size, sample, retention, domain, epsilon):
    """Return how likely estimates are too high and too low, for each count of a value."""
    p, e = Fraction(retention), Fraction(epsilon)
    other = (1 - p) / domain
    own = p + other
    shown = np.zeros((sample + 1, sample + 1))
    for taken in range(sample + 1):
        law = np.ones(1)
        for draw in range(sample):
            chance = float(own if draw < taken else other)
            law = np.convolve(law, [1 - chance, chance])
        shown[taken] = law
    # (O/n - other)/p against (1 ± ε)·c/n, all multiplied until they are whole.
    scale = lcm(other.denominator, p.denominator, e.denominator) ** 2
    high, low, offset = (int(x * scale) for x in (p * (1 + e), p * (1 - e), other))
    assert Fraction(high, scale) == p * (1 + e)
    copies = np.array(
        [[(j * size + start) // sample for start in range(sample)] for j in range(sample + 1)]
    )
    above, below = [], []
    for count in range(1, size + 1):
        ways = [
            Fraction(comb(count, taken) * comb(size - count, sample - taken), comb(size, sample))
            if sample - taken <= size - count
            else 0
            for taken in range(sample + 1)
        ]
        chances = np.array(ways, dtype=float) @ shown
        estimate = copies * scale - size * offset
        above.append(float(chances @ (estimate > high * count).mean(axis=1)))
        below.append(float(chances @ (estimate < low * count).mean(axis=1)))
    return np.array(above), np.array(below)


def keeps(above, below, delta):
    least, most = np.minimum(above, below), np.maximum(above, below)
    return (least >= delta - 1e-9) | (most >= 1 - delta - 1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize("setting", SETTINGS)
def test_each_side_is_kept_for_every_group_of_up_to_60_records(setting):
    sizes = range(1, 61)
    for size, sample in zip(sizes, drawn(setting, sizes), strict=True):
        above, below = both_sides(size, sample, *setting[:3])
        assert keeps(above, below, float(setting[3])).all(), size


@pytest.mark.few(1)
@pytest.mark.parametrize("setting", SETTINGS)
def test_each_side_is_kept_for_every_group_of_some_hundred_records(setting):
    rng = np.random.default_rng(11)
    sizes = sorted({175, 192, *rng.integers(61, 700, 8).tolist()})
    for size, sample in zip(sizes, drawn(setting, sizes), strict=True):
        above, below = both_sides(size, sample, *setting[:3])
        assert keeps(above, below, float(setting[3])).all(), size


def test_no_larger_draw_would_keep_both_sides():
    sizes = [3, 10, 17, 35]
    for size, sample in zip(sizes, drawn(USUAL, sizes), strict=True):
        for more in range(sample + 1, size + 1):
            assert not keeps(*both_sides(size, more, *USUAL[:3]), 0.17).all(), (size, more)


def test_by_the_usual_settings_no_value_of_a_large_group_is_an_exception():
    # The sum of both sides was kept at size 192 with 175 alike, and one side was 0.120.
    for size, sample in zip((35, 192), drawn(USUAL, (35, 192)), strict=True):
        assert min(map(np.min, both_sides(size, sample, *USUAL[:3]))) >= 0.17


def test_the_promise_says_what_the_checker_finds():
    mechanism = mechanism_called("reconstruction")
    attribute = column_of([40] * 10, values=tuple("abcdefghij")).attribute
    settings = mechanism.default_settings((attribute,))
    promise = mechanism.promise(0.5, (attribute,), settings)
    told = re.search(
        r"too high at least ([\d.]+) % of the time and too low as often, or, where a value is too"
        r" rare for both, on one side at least ([\d.]+) % of the time",
        promise.sentence,
    )
    each, nearly = (float(number) / 100 for number in told.groups())
    assert each == pytest.approx(0.17)
    for size, sample in zip(range(1, 40), drawn(USUAL, range(1, 40)), strict=True):
        above, below = both_sides(size, sample, *USUAL[:3])
        least, most = np.minimum(above, below), np.maximum(above, below)
        assert ((least >= each - 1e-9) | (most >= nearly - 1e-9)).all()
        assert (above + below >= 1 / 3).all(), "one time in three"


@pytest.mark.slow
def test_a_thousand_sizes_take_a_fraction_of_a_second():
    began = time.process_time()
    drawn(USUAL, range(1, 1001))  # Every size that 500,000 records can have at once.
    assert time.process_time() - began < 3.0
