"""From drawn words to values of a domain: never outside it, and exactly uniform."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engine.core.columns import smallest_unsigned
from sfumato.engine.core.progress import Silent
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.ladders.uniform_cells import GroupWords, count_thresholds
from sfumato.engine.randomness.keys import AttributeKey, BlockCipher
from sfumato.engine.randomness.record_ids import record_ids_by_position
from tests.engine.ladders.reference import release_one

KEY = AttributeKey(bytes(range(32)))


class TwistedKey(AttributeKey):
    """A key whose draws are changed, so that what is rare happens all the time."""

    __slots__ = ("_keep", "_set")

    def __init__(self, keep: int, add: int) -> None:
        super().__init__(bytes(32))
        self._keep = np.frombuffer(keep.to_bytes(16, "little"), dtype=np.uint8)
        self._set = np.frombuffer(add.to_bytes(16, "little"), dtype=np.uint8)

    def cipher(self) -> BlockCipher:
        return _Twisted(super().cipher(), self._keep, self._set)


class _Twisted(BlockCipher):
    def __init__(self, cipher: BlockCipher, keep: np.ndarray, add: np.ndarray) -> None:
        self._cipher, self._keep, self._set = cipher, keep, add

    def encrypt(self, blocks: np.ndarray, out: np.ndarray) -> None:
        self._cipher.encrypt(blocks, out)
        drawn = out[: len(blocks)].reshape(-1, 16)
        drawn &= self._keep
        drawn |= self._set


ALL = 2**128 - 1
LOW = 2**64 - 1
SIZES = [*range(1, 300), 511, 512, 513, 999, 4096, 20_000, 32_769, 65_535, 65_536, 65_537, 10**6]


@pytest.mark.slow
@pytest.mark.parametrize("word", [0, ALL], ids=["every bit 0", "every bit 1"])
@pytest.mark.parametrize("level", [0.0, 0.9, 0.5, 0.001, 1e-7])
def test_the_words_at_the_edges_give_values_inside_the_domain(word, level):
    """The highest word is the one that a division or a float would round up to m."""
    key = TwistedKey(0, word)
    for size in [*SIZES, 2**31]:
        codes = np.zeros(3, dtype=smallest_unsigned(size))
        shown = release_codes(codes, size, level, record_ids_by_position(3), key, Silent())
        if word == ALL and level in (0.0, 0.001):
            assert (shown == size - 1).all()
        assert (shown < size).all()


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_no_word_leads_outside_the_domain(bits):
    """The highest word is the worst, as the value grows with the word."""
    sizes = np.concatenate([np.arange(1, 100_000), 2 ** np.arange(17, 32)]).astype(object)
    assert (((2**bits - 1) * sizes >> bits) < sizes).all()


@pytest.mark.parametrize("sizes", [SIZES[:64], SIZES[64:]], ids=["small", "large"])
def test_every_value_has_the_same_number_of_words(sizes):
    for size in sizes:
        layout = GroupWords(size)
        words = np.arange(2 ** int(layout.bits), dtype=np.uint64)
        product = words * np.uint64(size)
        accepted = (product & np.uint64(layout.low_mask)) >= np.uint64(layout.refused_below)
        values = (product >> np.uint64(layout.bits))[accepted]
        counts = np.bincount(values.astype(np.int64), minlength=size)
        assert counts.tolist() == [(1 << int(layout.bits)) // size] * size


def test_words_of_a_block_do_not_overlap_with_its_bits():
    for size in (2, 64, 65, 10**6):
        layout = GroupWords(size)
        width = layout.word_type.itemsize
        first, last = layout.before_first + 1, layout.before_first + layout.count
        assert first * width == 8
        assert (last + 1) * width == 16


ONE, TWO = count_thresholds()[:2]
RARE = {
    "cells are all occupied": TwistedKey(ALL, LOW),
    "cells hold one event": TwistedKey(ALL ^ 1 << 63, 1 << 62),
    "cells hold several events": TwistedKey(ALL, 0xF0FFFFFFFFFFFFFF & LOW),
    "cells hold many events": TwistedKey(ALL ^ 0x1F << 56, 0xFFE0 << 48),
    "cells hold the most events": TwistedKey(ALL, LOW ^ 7),
    "cells are often empty": TwistedKey(ALL ^ 0x7F7F7F7F, 0),
    "words are mostly refused": TwistedKey(ALL ^ 0xFCFCFCFCFCFCFCFC << 64, LOW),
    "own words are mostly refused": TwistedKey(ALL ^ 0xFFFFFFF0, 0xFFFFFFFF << 32),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("case", RARE)
@pytest.mark.parametrize("size", [6, 200, 70_000, 3 * 2**29 - 5])
def test_rare_draws_show_what_the_slow_reference_says(case, size):
    key, ids = RARE[case], record_ids_by_position(60)
    codes = (np.arange(60) % size).astype(smallest_unsigned(size))
    for level in (0.9, 0.7, 0.3, 0.001, 1e-6):
        shown = release_codes(codes, size, level, ids, key, Silent(), 1, stretch=25, tile=10)
        expected = [release_one(key, row, int(code), size, level) for row, code in enumerate(codes)]
        assert shown.tolist() == expected


def test_events_come_in_every_number_among_the_rare_draws():
    """Else the test above would not have seen what it is for."""
    assert ONE <= 0xF0FFFFFFFFFFFFFF < TWO
    assert TWO <= 0xFFE0 << 48
    assert LOW ^ 7 < count_thresholds()[-1] <= LOW
