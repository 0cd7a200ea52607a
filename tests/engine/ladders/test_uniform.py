"""Releases of the uniform ladder: what they are a function of, and of what they are not."""

from __future__ import annotations

import hashlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import smallest_unsigned
from sfumato.engine.core.errors import Cancelled, LevelError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.randomness.keys import AttributeKey, KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from tests.engine.ladders.reference import release_one
from tests.thorough import tried

KEY = KeyRing(bytes(range(32))).for_attribute("disease", "d1", "uniform")
LEVELS = (
    st.sampled_from([0.0, 1.0, 0.75, 0.5625, 0.75**32, 0.75**33, 1e-9, 5e-324])
    | st.floats(0.0, 1.0)
    | st.floats(-30.0, 0.0).map(np.exp).map(float)
)
SIZES = st.sampled_from([1, 2, 3, 7, 50, 64, 65, 256, 1000, 40_000, 70_000]) | st.integers(1, 300)


def some_codes(records: int, size: int, seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, size, records).astype(smallest_unsigned(size))


def release(codes, size, level, ids=None, key=KEY, **how) -> np.ndarray:
    ids = record_ids_by_position(len(codes)) if ids is None else ids
    return release_codes(codes, size, level, ids, key, Silent(), **how)


@settings(max_examples=tried(120), deadline=None)
@given(st.data(), SIZES, LEVELS, st.binary(min_size=32, max_size=32))
def test_every_record_shows_what_the_slow_reference_says(data, size, level, secret):
    key = AttributeKey(secret)
    records = data.draw(
        st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, size - 1)), max_size=12)
    )
    ids = np.array([record for record, _ in records], dtype=np.uint64)
    codes = np.array([code for _, code in records], dtype=smallest_unsigned(size))
    shown = release(codes, size, level, ids, key)
    assert shown.dtype == codes.dtype
    assert shown.tolist() == [release_one(key, *record, size, level) for record in records]


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.9, 0.5, 0.01])
def test_many_records_at_a_level_show_what_the_slow_reference_says(level):
    """Enough records to meet every rare case, such as four events in a cell."""
    codes = some_codes(5_000, 6)
    expected = [release_one(KEY, row, int(code), 6, level) for row, code in enumerate(codes)]
    assert release(codes, 6, level).tolist() == expected


def test_the_same_key_gives_the_same_bytes_on_every_machine():
    """A change here would make new releases of old projects fall off their ladders."""
    digests = {}
    for size, level in [(2, 0.5), (50, 0.9), (50, 0.001), (50, 0.0), (300, 0.2), (70_000, 1e-7)]:
        shown = release(some_codes(20_000, size), size, level)
        digest = hashlib.sha256(shown.astype("<u4").tobytes()).hexdigest()
        digests[size, level] = digest[:16]
    assert digests == {
        (2, 0.5): "69ba87e265ba7fe2",
        (50, 0.9): "fff2bf08ccb68a6e",
        (50, 0.001): "2d5970939d43f619",
        (50, 0.0): "52b62124f32fdece",
        (300, 0.2): "fd02ad9e42570f0e",
        (70_000, 1e-07): "0a42379e7b8f65b8",
    }


def test_level_1_is_the_original_in_a_copy():
    codes = some_codes(1000, 9)
    shown = release(codes, 9, 1.0)
    assert (shown == codes).all()
    assert not np.shares_memory(shown, codes)


def test_level_0_is_independent_of_the_levels_above():
    codes = np.zeros(200_000, dtype=np.uint8)
    agree = (release(codes, 4, 0.0) == release(codes, 4, 1e-300)).mean()
    assert abs(agree - 0.25) < 5 * (0.25 * 0.75 / 200_000) ** 0.5


def test_the_true_codes_are_left_alone():
    codes = some_codes(10_000, 9)
    before = codes.copy()
    release(codes, 9, 0.3)
    assert (codes == before).all()


@pytest.mark.few(2)
@pytest.mark.parametrize("level", [0.9, 0.3, 0.75, 1e-5, 0.0])
def test_threads_and_the_sizes_of_parts_are_of_no_account(level):
    codes = some_codes(6_000, 50)
    expected = release(codes, 50, level, threads=1)
    for threads, stretch, tile in [(1, 1, 1), (2, 701, 64), (5, 999, 5_000), (3, 6_000, 17)]:
        count = 300 if stretch == 1 else len(codes)
        shown = release(codes[:count], 50, level, threads=threads, stretch=stretch, tile=tile)
        assert (shown == expected[:count]).all()


@pytest.mark.parametrize("level", [0.8, 0.05, 1e-6])
def test_the_order_and_the_company_of_records_are_of_no_account(level):
    codes, ids = some_codes(5_000, 50), record_ids_by_position(5_000)
    expected = release(codes, 50, level)
    order = np.random.default_rng(3).permutation(5_000)
    assert (release(codes[order], 50, level, ids[order]) == expected[order]).all()
    assert (release(codes[::7], 50, level, ids[::7]) == expected[::7]).all()


def test_releases_made_before_are_of_no_account():
    codes = some_codes(3_000, 50)
    first = release(codes, 50, 0.2)
    for level in (0.9, 0.0, 0.2000001, 0.1999999):
        release(codes, 50, level)
    assert (release(codes, 50, 0.2) == first).all()


def test_a_value_never_comes_back_once_it_was_replaced():
    """Going down, a record's value changes at events only: between equal levels it can't."""
    codes = some_codes(4_000, 1_000_000)
    shown = [release(codes, 1_000_000, level) for level in (1.0, 0.7, 0.4, 0.39, 0.1, 0.01)]
    gone = np.zeros(len(codes), dtype=bool)
    for released in shown:
        gone |= released != codes
        assert not (gone & (released == codes)).any()


def test_levels_that_differ_by_a_hair_differ_in_few_records():
    codes = some_codes(50_000, 50)
    assert (release(codes, 50, 0.4) != release(codes, 50, 0.4 * (1 - 1e-6))).mean() < 1e-3


def test_a_corrected_value_gets_fresh_randomness():
    """Or both the old and the new value would be exposed wherever they are released."""
    records, size, level = 100_000, 10, 0.05
    codes = some_codes(records, size)
    corrected = codes.copy()
    corrected[::2] = (codes[::2] + 1) % size
    before, after = release(codes, size, level), release(corrected, size, level)
    assert (before[1::2] == after[1::2]).all()
    agree = (before[::2] == after[::2]).mean()
    # Independent draws: both show one value with a probability of (1 - p²)/m.
    expected = (1 - level**2) / size
    assert abs(agree - expected) < 5 * (expected * (1 - expected) / (records / 2)) ** 0.5


def test_progress_is_told_from_the_calling_thread_and_grows():
    seen: list[float] = []
    codes = some_codes(1_000, 5)
    told = Callback(lambda share, _: seen.append(share), lambda: False)
    release_codes(codes, 5, 0.5, record_ids_by_position(1_000), KEY, told, 2, stretch=100)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_release_stops_when_it_is_told_to(threads):
    told = Callback(lambda *_: None, lambda: True)
    codes, ids = some_codes(100_000, 5), record_ids_by_position(100_000)
    with pytest.raises(Cancelled):
        release_codes(codes, 5, 0.5, ids, KEY, told, threads, stretch=1_000)


@pytest.mark.parametrize("level", [-0.1, 1.0000001, float("nan"), float("inf"), -5e-324])
def test_what_is_no_probability_is_refused(level):
    with pytest.raises(LevelError, match="between 0 and 1"):
        release(some_codes(10, 5), 5, level)


@pytest.mark.parametrize("level", [0.0, 0.4, 1e-9, 1.0])
def test_a_table_without_rows_is_released_without_rows(level):
    assert release(some_codes(0, 5), 5, level).tolist() == []


def test_codes_ids_and_domain_must_fit_together():
    codes, ids = some_codes(4, 5), record_ids_by_position(4)
    for bad in [
        (codes, 0, ids),
        (codes, 2**32, ids),
        (codes, 5, ids[:3]),
        (codes.reshape(2, 2), 5, ids.reshape(2, 2)),
        (codes.astype(np.int64), 5, ids),
        (codes, 5, ids.astype(np.int64)),
        (np.array([0, 1, 2, 5], dtype=np.uint8), 5, ids),
    ]:
        with pytest.raises(ValueError, match=r"domain|codes"):
            release_codes(bad[0], bad[1], 0.5, bad[2], KEY, Silent())


def test_a_release_needs_little_memory_beyond_the_column():
    codes, ids = some_codes(3_000_000, 50), record_ids_by_position(3_000_000)
    tracemalloc.start()
    release_codes(codes, 50, 0.1, ids, KEY, Silent())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
