"""Releases of a stretch of records at one level of the uniform ladder, on whole arrays.

The law and the draws are in `app.engine.ladder_cells`. Everything here works in buffers that
are used again for every stretch: a stretch and its draws stay in the processor's caches.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from app.engine.columns import Codes
from app.engine.ladder_cells import (
    ATTEMPTS,
    GROUP_CELLS,
    LOWEST,
    Draw,
    Rung,
    count_thresholds,
    stream,
)
from app.engine.randomness import BLOCK_BYTES, BlockCipher

Rows = npt.NDArray[np.intp]
Words = npt.NDArray[np.uint64]
Streams = npt.NDArray[np.uint32]
Ranks = npt.NDArray[np.uint8]

_SLACK: Final = BLOCK_BYTES - 1
_SMALL_DOMAIN: Final = 64
_COUNT_THRESHOLDS: Final = np.array(count_thresholds(), dtype=np.uint64)


class Blocks:
    """Buffers for the blocks of some records, and for what they are encrypted to.

    Parameters
    ----------
    cipher
        The pseudo-random function.
    capacity
        The largest number of blocks.
    """

    def __init__(self, cipher: BlockCipher, capacity: int) -> None:
        self._cipher = cipher
        self._plain = np.zeros(BLOCK_BYTES * capacity, dtype=np.uint8)
        self._drawn = np.zeros(BLOCK_BYTES * capacity + _SLACK, dtype=np.uint8)

    def fill(self, codes: Codes, ids: npt.NDArray[np.uint64]) -> None:
        """Write the records' identifiers and true codes into their blocks."""
        plain = self._plain[: BLOCK_BYTES * len(codes)]
        plain.view("<u8")[0::2] = ids
        plain.view("<u4")[2::4] = codes

    def take(self, other: Blocks, rows: Rows) -> None:
        """Copy some records' blocks from another buffer."""
        # A complex number is the plain type of 16 bytes that numpy copies fastest.
        target = self._plain[: BLOCK_BYTES * len(rows)].view(np.complex128)
        np.take(other._plain.view(np.complex128), rows, out=target, mode="clip")

    def draw(self, count: int, numbers: int | Streams) -> npt.NDArray[np.uint8]:
        """Encrypt the first `count` blocks with these streams; return the bytes drawn.

        The next draw overwrites them.
        """
        plain = self._plain[: BLOCK_BYTES * count]
        plain.view("<u4")[3::4] = numbers
        self._cipher.encrypt(plain, self._drawn[: BLOCK_BYTES * count + _SLACK])
        return self._drawn[: BLOCK_BYTES * count]


class GroupWords:
    """How the words beside a group's bits are laid out and turned into values.

    A word of b bits times the domain's size m, shifted right by b, is a value below m, since
    ``(2^b - 1)·m < m·2^b``. It is exactly uniform once the words are refused whose product
    leaves less than ``2^b mod m`` in its low b bits (Lemire, ACM TOMACS 29, 2019). Where a
    word is refused, or a block has no word left, the value is drawn by a block of its own.

    Parameters
    ----------
    size
        The number of values in the domain, m.
    """

    def __init__(self, size: int) -> None:
        small = size <= _SMALL_DOMAIN
        self.word_type: Final = np.dtype("<u1" if small else "<u2")
        self.product_type: Final = np.dtype(np.uint16 if small else np.uint32)
        self.bits: Final = 8 * self.word_type.itemsize
        self.low_mask: Final = (1 << self.bits) - 1
        self.refused_below: Final = (1 << self.bits) % size
        self.per_block: Final = BLOCK_BYTES // self.word_type.itemsize
        self.count: Final = self.per_block // 2
        self.before_first: Final = self.per_block - self.count - 1


class Kernel:
    """The ladder of one attribute, in the buffers of one thread.

    Parameters
    ----------
    size
        The number of values in the domain, m.
    cipher
        The attribute's pseudo-random function.
    capacity
        The largest number of records in a stretch.
    code_type
        The type of the codes.
    """

    def __init__(
        self, size: int, cipher: BlockCipher, capacity: int, code_type: npt.DTypeLike
    ) -> None:
        self._size = size
        self._layout = GroupWords(size)
        self._records = Blocks(cipher, capacity)
        self._picked = Blocks(cipher, capacity)
        self._occupied = np.empty(capacity, dtype=np.uint32)
        self._at_level = np.empty(capacity, dtype=np.uint32)
        self._rank = np.empty(capacity, dtype=np.uint8)
        self._flag = np.empty(capacity, dtype=np.bool_)
        self._before_first = np.arange(capacity) * self._layout.per_block
        self._before_first += self._layout.before_first
        self._word_index = np.empty(capacity, dtype=np.intp)
        self._word = np.empty(capacity, dtype=self._layout.word_type)
        self._product = np.empty(capacity, dtype=self._layout.product_type)
        self._low = np.empty(capacity, dtype=self._layout.product_type)
        self._value = np.empty(capacity, dtype=code_type)

    def release(
        self, rung: Rung | None, codes: Codes, ids: npt.NDArray[np.uint64], out: Codes
    ) -> None:
        """Write into `out` what the records show at a rung, or at level 0 where it is None.

        Parameters
        ----------
        rung
            The rung of a level between 0 and 1.
        codes, ids
            The records' true codes and identifiers, shape (k,), k up to the capacity.
        out
            Room for the released codes, shape (k,), not overlapping `codes`.
        """
        self._records.fill(codes, ids)
        if rung is None:
            rows = np.arange(len(codes))
            out[:] = self._fresh_values(rows, stream(Draw.BOTTOM))
            return
        count = len(codes)
        drawn = self._records.draw(count, stream(Draw.GROUP, rung.group))
        self._find_occupied(drawn, rung)
        others, events = self._look_inside(count, rung) if rung.inside else _nothing()
        refused = self._replace(drawn, codes, out, rung)
        if len(refused):
            cells = self._nearest_cells(refused, rung)
            numbers = _value_streams(cells, np.uint32(LOWEST))
            out[refused] = self._fresh_values(refused, numbers)
        if len(others):
            numbers = _value_streams(np.uint32(rung.cell), events)
            out[others] = self._fresh_values(others, numbers)
        if rung.above is not None:
            # No event of this group counts: the release at its upper end shows the same.
            rows = np.flatnonzero(self._rank[:count] == 0)
            part = np.empty(len(rows), dtype=out.dtype)
            self.release(rung.above, codes[rows], ids[rows], part)
            out[rows] = part

    def _find_occupied(self, drawn: npt.NDArray[np.uint8], rung: Rung) -> None:
        """Find the cells with events from the level's cell upwards, and their number."""
        bits = drawn.view("<u4")
        occupied = self._occupied[: len(bits) // 4]
        # Two fair bits are both 1 with probability 1/4.
        np.bitwise_and(bits[0::4], bits[1::4], out=occupied)
        np.bitwise_and(occupied, np.uint32(rung.mask), out=occupied)
        np.bitwise_count(occupied, out=self._rank[: len(occupied)])

    def _look_inside(self, count: int, rung: Rung) -> tuple[Rows, Streams]:
        """Take back the level's cell where all its events lie below the level.

        Returns
        -------
        tuple
            The rows for which the last event at or above the level is not the lowest of the
            cell, and the numbers of those events.
        """
        at_level, flag = self._at_level[:count], self._flag[:count]
        np.bitwise_and(self._occupied[:count], np.uint32(rung.bit), out=at_level)
        np.not_equal(at_level, 0, out=flag)
        rows = np.flatnonzero(flag)
        self._picked.take(self._records, rows)
        words = self._picked.draw(len(rows), stream(Draw.PLACES, rung.cell)).view("<u8")
        below = rows[words[0::2] < np.uint64(rung.single)]
        self._rank[below] -= 1
        several = np.flatnonzero(words[0::2] >= _COUNT_THRESHOLDS[0])
        counts = 1 + np.searchsorted(_COUNT_THRESHOLDS, words[0::2][several], side="right")
        places = _Places(rung, counts, words[1::2][several])
        rows = rows[several]
        for event in range(1, int(counts.max(initial=0))):
            left = np.flatnonzero(counts > event)
            self._picked.take(self._records, rows[left])
            number = stream(Draw.PLACES, rung.cell, item=(event + 1) // 2)
            words = self._picked.draw(len(left), number).view("<u8")
            places.add(event, left, words[(event + 1) % 2 :: 2])
        self._rank[rows[places.last < 0]] -= 1
        others = np.flatnonzero((places.last >= 0) & (places.last != places.lowest))
        return rows[others], (places.last[others] + (LOWEST + 1)).astype(np.uint32)

    def _replace(self, drawn: npt.NDArray[np.uint8], codes: Codes, out: Codes, rung: Rung) -> Rows:
        """Write what the nearest cells' lowest events put in; return the rows without a word."""
        count, layout = len(codes), self._layout
        rank, index, word = self._rank[:count], self._word_index[:count], self._word[:count]
        np.add(self._before_first[:count], rank, out=index)
        np.take(drawn.view(layout.word_type), index, out=word, mode="clip")
        product, low, flag = self._product[:count], self._low[:count], self._flag[:count]
        np.multiply(word, layout.product_type.type(self._size), out=product)
        np.bitwise_and(product, layout.product_type.type(layout.low_mask), out=low)
        np.less(low, layout.refused_below, out=flag)
        if rung.bit >= 1 << layout.count:
            flag |= rank > layout.count
        refused = np.flatnonzero(flag)
        refused = refused[rank[refused] > 0]
        np.right_shift(product, layout.bits, out=product)
        value = self._value[:count]
        np.copyto(value, product, casting="unsafe")
        # Masks by arithmetic are several times faster than masked copies.
        np.greater(rank, 0, out=flag)
        np.bitwise_xor(value, codes, out=value)
        np.multiply(value, flag, out=value)
        np.bitwise_xor(value, codes, out=out)
        return refused

    def _nearest_cells(self, rows: Rows, rung: Rung) -> Streams:
        """Return, for rows with one, the number of the nearest cell with an event that counts."""
        occupied = self._occupied[rows]
        taken_back = np.bitwise_count(occupied) > self._rank[rows]
        occupied &= ~(taken_back * np.uint32(rung.bit))
        lengths = np.frexp(occupied.astype(np.float64))[1]
        return (lengths + rung.group * GROUP_CELLS).astype(np.uint32)

    def _fresh_values(self, rows: Rows, numbers: int | Streams) -> Words:
        """Draw a value for each of some rows, by blocks of its own.

        Parameters
        ----------
        rows
            The rows, shape (k,).
        numbers
            The stream of the first attempt: of each row, shape (k,), or of all.
        """
        values = np.zeros(len(rows), dtype=np.uint64)
        refused_below = np.uint64((1 << 32) % self._size)
        left = np.arange(len(rows))
        for attempt in range(ATTEMPTS):
            self._picked.take(self._records, rows[left])
            first = numbers if isinstance(numbers, int) else numbers[left]
            words = self._picked.draw(len(left), first + attempt).view("<u4")[0::4]
            product = words * np.uint64(self._size)
            values[left] = product >> np.uint64(32)
            left = left[(product & np.uint64(0xFFFFFFFF)) < refused_below]
            if not len(left):
                break
        return values


class _Places:
    """Among several events of a cell, the lowest, and the lowest that counts."""

    def __init__(self, rung: Rung, counts: Rows, first: Words) -> None:
        self._threshold = np.uint64(rung.place)
        self._lowest_place = first.astype(np.uint64)
        self._last_place = np.full(len(counts), np.iinfo(np.uint64).max, dtype=np.uint64)
        self.lowest = np.zeros(len(counts), dtype=np.intp)
        self.last = np.full(len(counts), -1, dtype=np.intp)
        self._count(0, np.arange(len(counts)), self._lowest_place)

    def add(self, event: int, rows: Rows, places: Words) -> None:
        """Take in the places of one more event, in some rows."""
        lower = places < self._lowest_place[rows]
        self._lowest_place[rows[lower]] = places[lower]
        self.lowest[rows[lower]] = event
        self._count(event, rows, places)

    def _count(self, event: int, rows: Rows, places: Words) -> None:
        counts = (places >= self._threshold) & (
            (places < self._last_place[rows]) | (self.last[rows] < 0)
        )
        self._last_place[rows[counts]] = places[counts]
        self.last[rows[counts]] = event


def _nothing() -> tuple[Rows, Streams]:
    return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.uint32)


def _value_streams(cells: np.uint32 | Streams, events: np.uint32 | Streams) -> Streams:
    """Return the streams of the first attempts at some events' values."""
    first = np.uint32(stream(Draw.VALUE))
    return np.atleast_1d(first | cells << np.uint32(18) | events << np.uint32(8))
