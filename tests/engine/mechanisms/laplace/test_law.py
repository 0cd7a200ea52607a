"""The law of the Laplace ladder, exactly, and the arithmetic of its draws at the edges of steps."""

import itertools
import math
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.progress import Silent
from sfumato.engine.ladders import laplace
from sfumato.engine.ladders.laplace import HIGHEST, LOWEST, MOST_STEPS, LaplaceLaw, release_steps
from sfumato.engine.randomness.keys import KeyRing

KEY = KeyRing(bytes(range(32))).for_attribute("age", "", "laplace")
LEVELS = (8.0, 3.0, 1.0, 0.3)
STEPS, FAR = 4, 400
"""So few steps that everything can be enumerated; noise beyond 400 is rarer than e^-29."""


def jump(upper, lower, reach=FAR):
    """The law of what a less trusted release adds to a more trusted one, from −reach to reach."""
    places = np.arange(-reach, reach + 1)
    stays = lower.unchanged_from(upper)
    law = (1 - stays) * lower.chances(places)
    law[reach] += stays
    return law


@given(st.floats(0.3, 30), st.floats(0.3, 30), st.integers(1, 10))
def test_a_level_is_another_one_with_a_jump_or_none_added(one, other, steps):
    upper, lower = LaplaceLaw(max(one, other), steps), LaplaceLaw(min(one, other), steps)
    far = 6 + math.ceil(40 / lower.rate)
    added = np.convolve(upper.chances(np.arange(-far, far + 1)), jump(upper, lower, far), "same")
    middle = np.arange(-5, 6)
    assert added[far - 5 : far + 6] == pytest.approx(lower.chances(middle), rel=1e-9)


@pytest.mark.parametrize("beyond", [0, 3, 12])
def test_a_coalition_learns_what_its_most_trusted_member_knows_also_of_numbers_pulled_in(beyond):
    laws = [LaplaceLaw(level, STEPS) for level in LEVELS[:3]]
    size = 2 * FAR + 1
    shown = np.clip(np.arange(size) - FAR, -beyond, STEPS + beyond) + beyond
    count = STEPS + 1 + 2 * beyond
    pull = np.zeros((size, count))
    pull[np.arange(size), shown] = 1.0
    steps = [
        np.array([np.roll(jump(*pair), place - FAR) for place in range(size)])
        for pair in itertools.pairwise(laws)
    ]
    for pair in (steps[0], steps[1]):  # what would leave on one side does not come back
        distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        pair[distance > FAR] = 0.0
    joint = np.empty((STEPS + 1, count, count, count))
    for true in range(STEPS + 1):
        first = laws[0].chances(np.arange(-FAR, FAR + 1) - true)
        after = np.einsum("i,ia,ij,jb->abj", first, pull, steps[0], pull, optimize=True)
        joint[true] = np.einsum("abj,jk,kc->abc", after, steps[1], pull, optimize=True)
    alone = joint.sum(axis=(2, 3), keepdims=True)
    likely = joint > 1e-14
    ratio = (joint / joint.sum(axis=0)) / (alone / alone.sum(axis=0))
    assert ratio[likely] == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("beyond", [0, 2, 50])
def test_the_odds_change_by_no_more_than_is_promised_computed_from_the_law(level, beyond):
    law = LaplaceLaw(level, STEPS)
    released = law.released(beyond)
    assert released.sum(axis=0) == pytest.approx(np.ones(STEPS + 1))
    for apart in range(1, STEPS + 1):
        ratio = released[:, apart:] / released[:, :-apart]
        worst = math.log(max(ratio.max(), 1 / ratio.min()))
        assert worst == pytest.approx(law.rate * apart)
        assert worst < law.loss_between(apart) <= level


@pytest.mark.parametrize("level", LEVELS)
def test_variance_width_and_kurtosis_are_those_of_the_law(level):
    law = LaplaceLaw(level, 30)
    noise = np.arange(-9000, 9001)
    chances = law.chances(noise)
    assert chances @ noise**2 == pytest.approx(law.variance)
    assert chances @ noise.astype(float) ** 4 / law.variance**2 - 3 == pytest.approx(
        3 + 1 / law.variance
    )
    assert np.cumsum(chances) == pytest.approx(law.up_to(noise), abs=1e-12)
    width = law.half_width(0.9)
    inside = [chances[np.abs(noise) <= each].sum() for each in (width, width - 1)]
    assert inside[0] >= 0.9 > inside[1] or width == 0


def test_cells_before_a_time_are_empty_as_often_as_a_wait_is_longer():
    """The limits that uniform numbers are compared with are the law's own, to the last bit."""
    digits = Context(prec=50)
    for level, steps in ((64.0, 1), (3.0, 50), (LOWEST, MOST_STEPS)):
        rate = Decimal(level) * 511 / 512 / steps
        none = laplace.kernel_level(level, steps).none
        assert none[0] == float(digits.exp(-rate))
        for cell in range(1, 32):
            length = 1 << cell - 1
            assert none[cell] == float(digits.exp(-min(rate * length, Decimal(2000))))
            if rate * length < 300:
                assert np.prod(none[: cell + 1]) == pytest.approx(math.exp(-rate * 2 * length))


def points(cipher, record, number, plane, cells, largest):
    """All points of a plane with marks up to a rate, in the first cells, as the module tells."""

    def words(stream):
        drawn = np.empty(31, np.uint8)
        block = record | number << 64 | stream << 96
        cipher.encrypt(np.frombuffer(block.to_bytes(16, "little"), np.uint8), drawn)
        return [int.from_bytes(drawn[place : place + 8].tobytes(), "little") for place in (0, 8)]

    for cell in range(cells):
        start, length = (1 << cell - 1, 1 << cell - 1) if cell else (0, 1)
        first, then = words(2 * plane + cell // 16)
        lead, bits, logarithm, point = (first | then << 64) >> 8 * (cell % 16) & 255, 8, 0.0, 0
        while True:
            stream = point << 7 | cell << 1 | plane
            rest, place = words(1 << 28 | stream)
            number_drawn = lead + (rest % 2**52) / 2**52
            if lead == 0:
                first, then = words(2 << 28 | stream)
                zeros = 64 - first.bit_length() + (64 - then.bit_length() if first == 0 else 0)
                number_drawn = (1 + (rest % 2**52) / 2**52) / 2 ** (1 + zeros)
            logarithm += math.log(number_drawn / 2**bits)
            if -logarithm > largest * length:
                break
            yield -logarithm / length, start + (place >> 33) * length // 2**31
            lead, bits, point = place % 2**32, 32, point + 1


@pytest.mark.few(1)
@pytest.mark.parametrize(("steps", "levels"), [(40, (50.0, 8.0, 3.0)), (1, (3.0, 1.0, 0.3))])
def test_every_level_shows_the_first_point_with_a_mark_below_its_rate(steps, levels):
    records, cipher = 60, KEY.cipher()
    ids = np.arange(records, dtype=np.uint64) * 5 + 2**40
    true = (ids % (steps + 1)).astype(np.uint32)
    rates = [LaplaceLaw(level, steps).rate for level in levels]
    expected = np.empty((len(levels), records), dtype=int)
    for place, (record, number) in enumerate(zip(ids.tolist(), true.tolist(), strict=True)):
        planes = [list(points(cipher, record, number, p, 10, max(rates))) for p in (0, 1)]
        for row, rate in enumerate(rates):
            waits = [min(when for mark, when in each if mark <= rate) for each in planes]
            expected[row, place] = number + waits[0] - waits[1]
    for level, wanted in zip(levels, expected, strict=True):
        shown = release_steps(true, steps, level, ids, KEY, Silent())
        far = LaplaceLaw(level, steps).beyond
        assert shown.tolist() == np.clip(wanted, -far, steps + far).tolist()


def test_leading_zeros_are_counted_exactly():
    words = np.array([0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1], dtype=np.uint64)
    wanted = [64 - int(word).bit_length() for word in words]
    assert laplace._leading_zeros(words).tolist() == wanted


def test_the_joint_law_of_levels_is_that_of_the_chain():
    rows = 200_000
    ids = np.arange(rows, dtype=np.uint64)
    true = (ids % (STEPS + 1)).astype(np.uint32)
    shown = [release_steps(true, STEPS, level, ids, KEY, Silent()) for level in LEVELS]
    parts = [shown[0] - true, *(below - above for above, below in itertools.pairwise(shown))]
    laws = [LaplaceLaw(level, STEPS) for level in LEVELS]
    top = laws[0].chances(np.arange(-FAR, FAR + 1))
    expected = [top, *itertools.starmap(jump, itertools.pairwise(laws))]
    cells = true.astype(np.int64)
    law = np.full(STEPS + 1, 1 / (STEPS + 1))
    for part, own in zip(parts, expected, strict=True):
        pulled = np.array([own[: FAR - 1].sum(), *own[FAR - 1 : FAR + 2], own[FAR + 2 :].sum()])
        law = np.outer(law, pulled).ravel()
        cells = cells * 5 + np.clip(part, -2, 2) + 2
    seen, wanted = np.bincount(cells, minlength=len(law)), law * rows
    few = wanted < 10
    seen = np.append(seen[~few], seen[few].sum())
    wanted = np.append(wanted[~few], wanted[few].sum())
    statistic, freedom = ((seen - wanted) ** 2 / wanted).sum(), len(seen) - 1
    assert freedom > 300
    assert abs(statistic - freedom) < 5 * math.sqrt(2 * freedom)


def test_a_release_is_a_function_of_key_record_and_level_alone():
    ids = np.arange(5_000, dtype=np.uint64) * 977
    true = (ids % 101).astype(np.uint32)
    whole = release_steps(true, 100, 0.7, ids, KEY, Silent())
    order = np.random.default_rng(1).permutation(len(ids))
    for stretch, threads in ((64, 2), (777, 1)):
        parts = release_steps(true[order], 100, 0.7, ids[order], KEY, Silent(), threads, stretch)
        assert (parts == whole[order]).all()
    assert (release_steps(true + 1, 101, 0.7, ids, KEY, Silent()) != whole + 1).any()


def test_the_same_key_releases_the_same_on_every_machine():
    ids = np.arange(12, dtype=np.uint64)
    shown = release_steps(np.arange(12, dtype=np.uint32), 50, 2.0, ids, KEY, Silent())
    assert shown.tolist() == KNOWN


KNOWN = [-200, 60, 36, -33, -8, 2, 9, 15, 53, -4, -33, -12]


@pytest.mark.parametrize("level", [LOWEST / 2, HIGHEST * 2, math.nan])
def test_levels_out_of_range_are_refused(level):
    with pytest.raises(LevelError, match="out of range"):
        release_steps(np.zeros(1, np.uint32), 1, level, np.zeros(1, np.uint64), KEY, Silent())


def test_numbers_off_the_grid_are_refused():
    ids = np.zeros(1, np.uint64)
    for numbers, steps in ((np.array([5], np.uint32), 4), (np.zeros(1, np.uint32), MOST_STEPS + 1)):
        with pytest.raises(ValueError, match="grid"):
            release_steps(numbers, steps, 1.0, ids, KEY, Silent())
