"""The thresholds of the ladder give its law: exact sums over all words that can be drawn."""

from __future__ import annotations

import math
from decimal import getcontext, localcontext
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.engine.ladders.uniform_cells import (
    CELL_RATIO,
    GROUP_CELLS,
    WORD,
    DrawPurpose,
    UniformRung,
    count_thresholds,
    rung_at,
    stream,
)
from tests.thorough import tried

LEVELS = st.floats(min_value=5e-324, max_value=1 - 2**-53)
COMMON_LEVELS = st.floats(min_value=1e-4, max_value=1 - 2**-53)
BELOW_A_CELL = st.builds(
    lambda cell, share: 0.75**cell * (1 - share), st.integers(0, 30), st.floats(1e-15, 1e-2)
)
"""Where nearly all events of a cell lie below, so that all roundings add up."""


def number_law() -> dict[int, Fraction]:
    """Return the chance of each number of events of an occupied cell."""
    bounds = [0, *count_thresholds(), WORD]
    return {n: Fraction(bounds[n] - bounds[n - 1], WORD) for n in range(1, len(bounds))}


def retention(rung: UniformRung) -> Fraction:
    """Return the exact probability that no event counts at a rung."""
    one, two = count_thresholds()[:2]
    place = Fraction(rung.place, WORD)
    all_below = Fraction(rung.single, WORD)
    if rung.inside:
        all_below += Fraction(rung.second - one, WORD) * place
    all_below += sum(chance * place**n for n, chance in number_law().items() if n > 2)
    assert one <= rung.second <= two or not rung.inside
    return CELL_RATIO ** (rung.cell - 1) * (CELL_RATIO + (1 - CELL_RATIO) * all_below)


@settings(max_examples=tried(300), deadline=None)
@given(LEVELS | COMMON_LEVELS | BELOW_A_CELL)
@example(0.7493586784277534)
def test_a_record_is_retained_with_the_stated_probability_and_never_a_higher_one(level):
    kept = retention(rung_at(level))
    assert kept <= Fraction(level)
    assert kept >= Fraction(level) * (1 - Fraction(1, 2**60))


@pytest.mark.parametrize("cell", [1, 2, 5, 31, 32, 33])
def test_the_end_of_a_cell_is_exact(cell):
    level = 0.75**cell
    assert Fraction(level) == CELL_RATIO**cell
    assert rung_at(level) == UniformRung(cell)
    assert retention(rung_at(level)) == Fraction(level)


@pytest.mark.parametrize("cell", [1, 2, 5, 31, 32, 33])
def test_levels_beside_the_end_of_a_cell_lie_in_the_right_cell(cell):
    assert rung_at(math.nextafter(0.75**cell, 0)).cell == cell + 1
    assert rung_at(math.nextafter(0.75**cell, 1)).cell == cell


def test_the_number_of_events_is_poisson_given_that_there_is_one():
    law = number_law()
    mean = math.log(4 / 3)
    assert sum(law.values()) == 1
    for number, chance in law.items():
        expected = 3 * mean**number / math.factorial(number)
        assert abs(float(chance) - expected) < 1e-15


@settings(max_examples=tried(100), deadline=None)
@given(st.lists(st.integers(0, WORD), min_size=4, max_size=4))
def test_disjoint_stretches_of_a_cell_hold_events_independently(places):
    """Which is what makes a lower release a garbling of a higher one."""
    a, b, c, d = (Fraction(place, WORD) for place in sorted(places))

    def free(length: Fraction) -> Fraction:
        """Return the chance that no event lies in stretches of this length together."""
        held = sum(chance * (1 - length) ** n for n, chance in number_law().items())
        return CELL_RATIO + (1 - CELL_RATIO) * held

    assert abs(free((b - a) + (d - c)) - free(b - a) * free(d - c)) < Fraction(1, 2**58)


@settings(max_examples=tried(100), deadline=None)
@given(LEVELS, LEVELS)
def test_an_event_that_counts_at_a_level_counts_at_every_lower_one(one, other):
    low, high = (rung_at(level) for level in sorted([one, other]))
    assert low.cell >= high.cell
    if low.cell == high.cell:
        assert low.place <= high.place
        assert low.single <= high.single
        assert low.second <= high.second


@pytest.mark.parametrize("level", [5e-324, 2.2e-308, 1e-9, 0.001, 0.5, 1 - 2**-53])
def test_every_level_has_a_rung_that_fits_its_stream(level):
    rung = rung_at(level)
    assert CELL_RATIO**rung.cell <= Fraction(level) < CELL_RATIO ** (rung.cell - 1)
    assert 0 < rung.cell < 4096
    assert rung.bit < 2**GROUP_CELLS
    assert rung.mask < 2**GROUP_CELLS


def test_the_groups_of_a_deep_level_end_at_the_original():
    rung, cells = rung_at(1e-12), []
    while rung is not None:
        cells.append(rung.cell)
        rung = rung.above
    assert cells == [97, 96, 64, 32]


def test_no_two_draws_share_a_stream():
    seen = {
        stream(draw, cell, item, attempt)
        for draw, cell, item, attempt in product(
            DrawPurpose, (0, 1, 2, 2589, 4095), (0, 1, 15, 1023), (0, 1, 255)
        )
    }
    assert len(seen) == 4 * 5 * 4 * 3
    assert max(seen) < 2**32


def test_thresholds_do_not_depend_on_the_precision_that_others_set():
    before = rung_at(0.123), count_thresholds()
    count_thresholds.cache_clear()
    with localcontext() as context:
        context.prec = 5
        assert (rung_at(0.123), count_thresholds()) == before
    assert getcontext().prec != 5
