"""Levels fitted between releases that were made elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import smallest_unsigned
from sfumato.engine.core.errors import Cancelled, LevelError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.ladders.uniform_cells import WORD
from sfumato.engine.mechanisms.uniform.mechanism import (
    KnownRung,
    relative_level,
    release_between,
    thresholds_between,
)
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from tests.engine.ladders.adopted_law import adopted_law, stretch_law
from tests.engine.ladders.multi_pert import chain_law, joint_law, new_value
from tests.thorough import tried

KEYS = KeyRing(bytes(range(32)))
LEVELS = (Fraction(9, 10), Fraction(1, 2), Fraction(3, 10), Fraction(1, 20))
SOME = [pick for count in range(5) for pick in combinations(LEVELS, count)]


def key_of(purpose: str):
    return KEYS.for_attribute("disease", "d1", purpose)


def plain_ladder(n: int, size: int, levels: tuple[float, ...], original: int | None = None):
    """Return true codes and releases that another tool made one from the other."""
    rng = np.random.default_rng(4)
    above, level = rng.integers(0, size, n).astype(smallest_unsigned(size)), 1.0
    if original is not None:
        above[:] = original
    true, known = above, []
    for lower in levels:
        kept = rng.random(n) < lower / level
        above = np.where(kept, above, rng.integers(0, size, n)).astype(true.dtype)
        known.append(KnownRung(lower, above))
        level = lower
    return true, tuple(known)


def release(true, size, level, known, ids=None):
    ids = record_ids_by_position(len(true)) if ids is None else ids
    return release_between(true, size, level, ids, key_of, known, Silent())


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("adopted", SOME)
def test_whatever_was_adopted_all_levels_together_have_the_law_of_one_ladder(adopted, size):
    """Exactly, for every way to share four levels between the earlier tool and this one."""
    new = [level for level in LEVELS if level not in adopted]
    assert adopted_law(new, adopted, 0, size) == chain_law(LEVELS, 0, size)


@pytest.mark.parametrize("adopted", [pick for pick in SOME if len(pick) == 2])
def test_it_is_the_law_of_multi_pert_in_every_order_of_arrival(adopted):
    new = [level for level in LEVELS if level not in adopted]
    for order in permutations(new):
        expected = joint_law([*adopted, *order], 0, 3)
        assert adopted_law(new, adopted, 0, 3) == expected


@pytest.mark.parametrize("values", [(0, 0), (0, 1)])
@pytest.mark.parametrize("size", [2, 3, 10])
def test_one_level_between_two_has_the_coin_of_the_paper(values, size):
    upper, lower = Fraction(7, 10), Fraction(1, 5)
    for level in (Fraction(69, 100), Fraction(2, 5), Fraction(21, 100)):
        law = stretch_law([level], (upper, values[0]), (lower, values[1]), size)
        expected = new_value(level, {upper: values[0], lower: values[1]}, 0, size)
        assert [law.get((value,), 0) for value in range(size)] == expected


@settings(max_examples=tried(200), deadline=None)
@given(st.lists(st.floats(1e-6, 0.999999), min_size=3, max_size=3, unique=True), st.integers(2, 99))
def test_the_words_that_decide_are_within_a_word_of_the_law_and_err_towards_privacy(levels, size):
    w, p, u = (Fraction(level) for level in sorted(levels))
    limits = thresholds_between(float(p), float(u), float(w), size)
    unmoved = (w / u) / (w / u + (1 - w / u) / size)
    below = (w / p - w / u) / (1 - w / u)
    assert 0 <= unmoved - Fraction(limits.unmoved, WORD) < Fraction(1, WORD)
    assert 0 <= Fraction(limits.below, WORD) - below < Fraction(1, WORD)


@settings(max_examples=tried(200), deadline=None)
@given(st.floats(1e-300, 1.0), st.floats(1e-9, 1.0))
def test_a_level_relative_to_another_is_rounded_down_by_a_hair(level, upper):
    level, upper = sorted((level, upper))
    ratio = relative_level(level, upper)
    assert Fraction(ratio) * Fraction(upper) <= Fraction(level)
    assert math.nextafter(math.nextafter(ratio, 1.0), 1.0) * upper >= level * (1 - 1e-15)


def test_an_adopted_level_is_released_as_it_was():
    true, known = plain_ladder(5_000, 6, (0.6, 0.2))
    for rung in known:
        shown = release(true, 6, rung.level, known)
        assert (shown == rung.codes).all()
        assert not np.shares_memory(shown, rung.codes)
    assert (release(true, 6, 1.0, known) == true).all()


def test_below_the_lowest_adopted_release_the_ordinary_ladder_goes_on():
    true, known = plain_ladder(5_000, 6, (0.6, 0.2))
    ids, key = record_ids_by_position(5_000), key_of(f"below {0.2!r}")
    expected = release_codes(true, 6, 0.25, ids, key, Silent(), top=known[1].codes)
    assert (release(true, 6, 0.05, known) == expected).all()


def test_without_adopted_releases_it_is_the_ordinary_ladder():
    true, _ = plain_ladder(5_000, 6, ())
    ids = record_ids_by_position(5_000)
    expected = release_codes(true, 6, 0.4, ids, key_of(f"below {1.0!r}"), Silent())
    assert (release(true, 6, 0.4, ()) == expected).all()


@pytest.mark.parametrize("size", [2, 5])
def test_releases_beside_adopted_ones_follow_the_law_of_the_chain(size):
    """Joint counts of the original and five levels, two of them adopted: a chi-square test."""
    n, levels, adopted = 150_000, (0.8, 0.6, 0.45, 0.2, 0.1), (0.6, 0.2)
    # One original, so that every combination expects many records.
    true, known = plain_ladder(n, size, adopted, original=0)
    seen = {}
    for level in levels:
        seen[level] = release(true, size, level, known).astype(np.int64)
    place = sum(codes * size**i for i, codes in enumerate(seen.values()))
    counts = np.bincount(place, minlength=size ** len(levels))
    law = chain_law([Fraction(level) for level in levels], 0, size)
    expected = np.zeros(size ** len(levels))
    for values, chance in law.items():
        expected[sum(v * size**i for i, v in enumerate(values))] = float(chance) * n
    assert math.isclose(expected.sum(), n)
    enough = expected >= 5
    freedom = int(enough.sum()) - 1
    statistic = float(((counts - expected) ** 2 / expected)[enough].sum())
    assert abs(statistic - freedom) < 5 * (2 * freedom) ** 0.5


@settings(max_examples=tried(40), deadline=None)
@given(
    st.lists(st.floats(0.01, 0.99), max_size=4, unique=True),
    st.lists(st.floats(0.0, 1.0), min_size=2, max_size=4, unique=True),
    st.integers(2, 300),
)
def test_a_release_depends_on_nothing_but_record_value_and_level(adopted, levels, size):
    true, known = plain_ladder(300, size, tuple(sorted(adopted, reverse=True)))
    ids = record_ids_by_position(300)
    first = {level: release(true, size, level, known) for level in levels}
    order = np.random.default_rng(3).permutation(300)
    mixed = [KnownRung(rung.level, rung.codes[order]) for rung in reversed(known)]
    for level in reversed(levels):
        shown = release(true[order], size, level, mixed, ids[order])
        assert shown.dtype == true.dtype
        assert (shown == first[level][order]).all()


def test_a_value_between_two_equal_rungs_is_mostly_theirs():
    """With many values, the same at both ends means that it was never replaced."""
    size, n = 1_000_000, 4_000
    true, known = plain_ladder(n, size, (0.8, 0.4))
    same = known[0].codes == known[1].codes
    for level in (0.7, 0.6, 0.5):
        assert (release(true, size, level, known)[same] == known[0].codes[same]).all()


def test_levels_of_adopted_releases_lie_between_0_and_1():
    true, _ = plain_ladder(10, 3, ())
    for level in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(LevelError, match="adopted release is not between"):
            release(true, 3, 0.5, [KnownRung(level, true)])


def test_two_adopted_releases_of_one_level_must_be_the_same():
    true, known = plain_ladder(1_000, 3, (0.5,))
    again = KnownRung(0.5, known[0].codes.copy())
    one = release(true, 3, 0.7, known)
    assert (release(true, 3, 0.7, (*known, again)) == one).all()
    again.codes[7] = (again.codes[7] + 1) % 3
    with pytest.raises(LevelError, match=r"differ in 1 row, first in row 8"):
        release(true, 3, 0.7, (*known, again))


def test_adopted_codes_must_fit_the_table_and_the_domain():
    true, known = plain_ladder(10, 3, (0.5,))
    for codes in (known[0].codes[:9], known[0].codes.astype(np.uint16), known[0].codes + 3):
        with pytest.raises(ValueError, match="adopted"):
            release(true, 3, 0.7, [KnownRung(0.5, codes.astype(codes.dtype))])


def test_fitting_stops_when_it_is_told_to():
    true, known = plain_ladder(1_000, 3, (0.5,))
    told = Callback(lambda *_: None, lambda: True)
    ids = record_ids_by_position(1_000)
    with pytest.raises(Cancelled):
        release_between(true, 3, 0.7, ids, key_of, known, told)


def test_the_same_key_gives_the_same_bytes_on_every_machine():
    """A change here would make new releases of old projects fall off their ladders."""
    rows = np.arange(20_000)
    true, upper = (rows * 7 % 50).astype(np.uint8), (rows // 3 % 50).astype(np.uint8)
    lower = np.where(rows % 2 == 0, upper, rows * 11 % 50).astype(np.uint8)
    known = [KnownRung(0.6, upper), KnownRung(0.2, lower)]
    sums = {
        level: int((release(true, 50, level, known).astype(np.int64) * rows).sum())
        for level in (0.8, 0.4, 0.1)
    }
    assert sums == {0.8: 4_852_657_871, 0.4: 4_918_460_683, 0.1: 4_930_312_432}
