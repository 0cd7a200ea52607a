"""The uniform ladder: releases of a categorical attribute at any trust level.

A release is a pure function of the attribute's key, each record's identifier and true value,
and the level. No release needs to know of any other, and releases at any levels, made in any
order, on any machine, are the rungs of one ladder: the less trusted is a garbling of the more
trusted, so that a coalition learns what its most trusted member knows and nothing more.

The law and the draws are in `sfumato.engine.ladders.uniform_cells`. A stretch of records is worked
on in tiles, in buffers that are used again for every tile and stay in the processor's caches. What
is rare is done for a whole stretch at once, because a call on a handful of records costs as
much as one on thousands. Most of the time goes to AES and to reading words out of blocks of 16
bytes, which no processor does several at a time; tiles of a quarter the size are slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import Worker, in_stretches
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Bytes, Indices, Words
from sfumato.engine.ladders.uniform_cells import (
    ATTEMPTS,
    GROUP_CELLS,
    LOWEST,
    Blocks,
    DrawPurpose,
    GroupWords,
    Ids,
    Rows,
    Streams,
    UniformRung,
    count_thresholds,
    rung_at,
    stream,
)
from sfumato.engine.randomness.keys import BLOCK_BYTES, AttributeKey, BlockCipher

STRETCH: Final = 1 << 18
"""How many records a thread takes at a time, between two looks at the progress."""

TILE: Final = 1 << 16
"""How many of them it works on at once: few enough for the processor's caches."""

# Everything that arrays are compared with is of their type: numpy's conversions cost more
# than the call itself.
_COUNT_THRESHOLDS: Final = np.array(count_thresholds(), dtype=np.uint64)
_SEVERAL: Final = _COUNT_THRESHOLDS[0]
_MANY: Final = _COUNT_THRESHOLDS[1]
_FIRST_OTHER: Final = np.uint32(LOWEST + 1)
_LOW_HALF: Final = np.uint64(0xFFFFFFFF)
_NOT_MOVED: Final = np.uint8(0)


class Kernel:
    """The ladder of one attribute, in the buffers of one thread.

    Parameters
    ----------
    size
        The number of values in the domain, m.
    cipher
        The attribute's pseudo-random function.
    code_type
        The type of the codes.
    stretch
        The largest number of records that are released in one call.
    tile
        How many records are worked on at once. The release does not depend on it.
    """

    def __init__(
        self,
        size: int,
        cipher: BlockCipher,
        code_type: npt.DTypeLike,
        stretch: int = STRETCH,
        tile: int = TILE,
    ) -> None:
        self._size = size
        self._tile = tile
        self._layout = layout = GroupWords(size)
        # For a tile:
        self._records = Blocks(cipher, tile)
        self._picked = Blocks(cipher, tile)
        self._before_first = np.arange(tile) * layout.per_block + layout.before_first
        self._word_index = np.empty(tile, dtype=np.intp)
        self._word = np.empty(tile, dtype=layout.word_type)
        self._product = np.empty(tile, dtype=layout.product_type)
        self._low = np.empty(tile, dtype=layout.product_type)
        # For a stretch:
        self._occupied = np.empty(stretch, dtype=np.uint32)
        self._rank = np.empty(stretch, dtype=np.uint8)
        self._flag = np.empty(stretch, dtype=np.bool_)
        self._replaced = np.empty(stretch, dtype=np.bool_)
        self._value = np.empty(stretch, dtype=code_type)

    def release_bottom(self, codes: Codes, ids: Ids, out: Codes) -> None:
        """Write into `out` what the records show at level 0; arguments as for `release`."""
        streams = np.full(len(codes), stream(DrawPurpose.BOTTOM), dtype=np.uint32)
        out[:] = self._fresh_values(codes, ids, streams)

    def release(
        self,
        rung: UniformRung,
        codes: Codes,
        ids: Ids,
        top: Codes,
        out: Codes,
        thorough: bool = False,
    ) -> Rows:
        """Write into `out` what the records show at a rung.

        Parameters
        ----------
        rung
            The rung of a level between 0 and 1.
        codes, ids
            The records' true codes and identifiers, shape (k,), k up to the stretch.
        top
            What the records show where no event counts, shape (k,): the true codes, or what a
            ladder begins with instead.
        out
            Room for the released codes, shape (k,), not overlapping `top`.
        thorough
            Whether records with three events or more in the level's cell are treated at once.
            There are 3 in 1,000, and it is faster to do those of many calls together.

        Returns
        -------
        numpy.ndarray
            The rows that are left for a thorough call, where this one is not; they are not
            right yet.
        """
        count = len(codes)
        bounds = _Bounds.of(rung)
        inside = []
        for start in range(0, count, self._tile):
            part = slice(start, min(start + self._tile, count))
            self._records.fill(codes[part], ids[part])
            drawn = self._records.draw(part.stop - start, stream(DrawPurpose.GROUP, rung.group))
            self._find_occupied(drawn, part, bounds)
            if rung.inside:
                inside.append(self._look_inside(part, bounds, thorough))
            self._find_values(drawn, part, highest=rung.mask == 1)
        apart = _Apart.joined(inside)
        rank = self._rank[:count]
        unmoved = np.flatnonzero(rank == 0) if rung.above else apart.left
        # These rows show neither a group's word nor the original.
        rank[apart.rows] = 0
        self._replace(top, out)
        refused = self._refused(count, rung)
        streams = _value_streams(self._nearest_cells(refused, rung), np.uint32(LOWEST))
        rows = np.concatenate([refused, apart.rows])
        streams = np.concatenate([streams, _value_streams(np.uint32(rung.cell), apart.events)])
        out[rows] = self._fresh_values(codes[rows], ids[rows], streams)
        if rung.above and len(unmoved):
            # No event of this group counts: the release at its upper end shows the same.
            shown = np.empty(len(unmoved), dtype=out.dtype)
            self.release(rung.above, codes[unmoved], ids[unmoved], top[unmoved], shown)
            out[unmoved] = shown
        return apart.left

    def finish(
        self, rung: UniformRung, left: Indices, codes: Codes, ids: Ids, top: Codes, out: Codes
    ) -> None:
        """Write into `out` what the records show that other calls left; arguments as there."""
        for start in range(0, len(left), len(self._rank)):
            rows = left[start : start + len(self._rank)]
            shown = np.empty(len(rows), dtype=out.dtype)
            self.release(rung, codes[rows], ids[rows], top[rows], shown, thorough=True)
            out[rows] = shown

    def _find_occupied(self, drawn: Bytes, part: slice, bounds: _Bounds) -> None:
        """Find the cells with events from the level's cell upwards, and their number."""
        bits = drawn.view(bounds.mask.dtype)
        block, word = BLOCK_BYTES // bits.itemsize, 4 // bits.itemsize
        occupied = self._occupied.view(bits.dtype)[part]
        # Two fair bits are both 1 with probability 1/4.
        np.bitwise_and(bits[0::block], bits[word::block], out=occupied)
        np.bitwise_and(occupied, bounds.mask, out=occupied)
        np.bitwise_count(occupied, out=self._rank[part])

    def _look_inside(self, part: slice, bounds: _Bounds, thorough: bool) -> _Apart:
        """Take the level's cell back where all its events lie below the level."""
        flag = self._flag[part]
        # The level's cell has the highest bit of the mask.
        occupied = self._occupied.view(bounds.bit.dtype)[part]
        np.greater_equal(occupied, bounds.bit, out=flag)
        rows = flag.nonzero()[0]
        self._picked.take(self._records, rows)
        words = self._picked.draw(len(rows), stream(DrawPurpose.PLACES, bounds.cell)).view("<u8")
        number = words[0::2]
        gone = number < bounds.single
        several = (number >= _SEVERAL).nonzero()[0]
        number, place = number[several], words[1::2][several]
        # Of two events, one that counts alone is the higher one, and has a value of its own.
        first_counts = place >= bounds.place
        second_counts = number >= bounds.second
        gone[several] = ~(first_counts | second_counts)
        apart = first_counts != second_counts
        last = second_counts.astype(np.uint32)
        many = (number >= _MANY).nonzero()[0]
        if thorough:
            places = self._go_through(rows[several[many]], number[many], place[many], bounds)
            gone[several[many]] = places.last < 0
            apart[many] = (places.last >= 0) & (places.last != places.lowest)
            last[many] = places.last
            many = many[:0]
        # A scattered write costs as much as all the rows in a line.
        flag[rows] = gone
        rank = self._rank[part]
        np.subtract(rank, flag.view(np.uint8), out=rank)
        rows = rows[several] + part.start
        return _Apart(rows[apart], last[apart] + _FIRST_OTHER, rows[many])

    def _go_through(self, rows: Rows, number: Words, first: Words, bounds: _Bounds) -> _Places:
        """Go through the places of the events in the level's cell, of rows with many."""
        counts = 1 + np.searchsorted(_COUNT_THRESHOLDS, number, side="right")
        places = _Places(bounds.place, first)
        for event in range(1, int(counts.max(initial=0))):
            left = np.flatnonzero(counts > event)
            self._picked.take(self._records, rows[left])
            # The second word of block 0, then both words of each block that follows.
            block, word = divmod(event + 1, 2)
            drawn = self._picked.draw(len(left), stream(DrawPurpose.PLACES, bounds.cell, block))
            places.add(event, left, drawn.view("<u8")[word::2])
        return places

    def _find_values(self, drawn: Bytes, part: slice, highest: bool) -> None:
        """Find what the nearest cells' lowest events put in, and the words that are refused.

        Parameters
        ----------
        drawn
            The group's blocks.
        part
            The tile.
        highest
            Whether the level lies in the group's highest cell.
        """
        layout, rank = self._layout, self._rank[part]
        count = len(rank)
        words = drawn.view(layout.word_type)
        if highest:
            # Only the first word can be meant.
            word = words[layout.before_first + 1 :: layout.per_block]
        else:
            index, word = self._word_index[:count], self._word[:count]
            np.copyto(index, rank)
            np.add(index, self._before_first[:count], out=index)
            words.take(index, out=word, mode="clip")
        product, low = self._product[:count], self._low[:count]
        np.multiply(word, layout.size, out=product)
        np.bitwise_and(product, layout.low_mask, out=low)
        np.less(low, layout.refused_below, out=self._flag[part])
        np.right_shift(product, layout.bits, out=product)
        np.copyto(self._value[part], product, casting="unsafe")

    def _replace(self, top: Codes, out: Codes) -> None:
        """Write the values that were found where an event counts, and the top elsewhere."""
        count = len(top)
        value, replaced = self._value[:count], self._replaced[:count]
        # Masks by arithmetic are several times faster than masked copies.
        np.greater(self._rank[:count], _NOT_MOVED, out=replaced)
        np.bitwise_xor(value, top, out=value)
        np.multiply(value, replaced, out=value)
        np.bitwise_xor(value, top, out=out)

    def _refused(self, count: int, rung: UniformRung) -> Rows:
        """Return the rows whose group has no word, or a refused one, for what they show."""
        flag, rank = self._flag[:count], self._rank[:count]
        flag &= self._replaced[:count]
        if rung.bit >= 1 << self._layout.count:
            flag |= rank > self._layout.count
        return np.flatnonzero(flag)

    def _nearest_cells(self, rows: Rows, rung: UniformRung) -> Streams:
        """Return, for rows with one, the number of the nearest cell with an event that counts."""
        cells = _cells_type(rung)
        occupied = self._occupied.view(cells)[rows].astype(np.uint32)
        taken_back = np.bitwise_count(occupied) > self._rank[rows]
        occupied &= ~(taken_back * np.uint32(rung.bit))
        # The exponent of a float of 64 bits is the place of the highest bit, exactly.
        exponents = occupied.astype(np.float64).view(np.int64) >> 52
        return (exponents + (rung.group * GROUP_CELLS - 1022)).astype(np.uint32)

    def _fresh_values(self, codes: Codes, ids: Ids, streams: Streams) -> Codes:
        """Return a value drawn for each record by a block of its own, of the stream given."""
        values = np.empty_like(codes)
        for start in range(0, len(codes), self._tile):
            part = slice(start, start + self._tile)
            values[part] = self._fresh_tile(codes[part], ids[part], streams[part])
        return values

    def _fresh_tile(self, codes: Codes, ids: Ids, streams: Streams) -> Words:
        size, refused_below = np.uint64(self._size), np.uint64((1 << 32) % self._size)
        self._picked.fill(codes, ids)
        product = self._picked.draw(len(codes), streams).view("<u4")[0::4] * size
        values = product >> np.uint64(32)
        left = np.flatnonzero((product & _LOW_HALF) < refused_below)
        for attempt in range(1, ATTEMPTS):
            if not len(left):
                break
            self._picked.fill(codes[left], ids[left])
            drawn = self._picked.draw(len(left), streams[left] + np.uint32(attempt))
            product = drawn.view("<u4")[0::4] * size
            values[left] = product >> np.uint64(32)
            left = left[(product & _LOW_HALF) < refused_below]
        return values


def _cells_type(rung: UniformRung) -> np.dtype[np.unsignedinteger]:
    """Return the type that holds the cells of a rung's group down to its own.

    Numpy counts the bits of bytes several times faster than those of longer words.
    """
    return np.dtype("<u1" if rung.mask < 1 << 8 else "<u4")


@dataclass(frozen=True)
class _Bounds:
    """A rung's numbers in the types of the arrays that they are compared with."""

    mask: np.uint8 | np.uint32
    bit: np.uint8 | np.uint32
    cell: int
    place: np.uint64
    single: np.uint64
    second: np.uint64

    @classmethod
    def of(cls, rung: UniformRung) -> _Bounds:
        """Return a rung's numbers."""
        cells = _cells_type(rung)
        return cls(
            cells.type(rung.mask),
            cells.type(rung.bit),
            rung.cell,
            np.uint64(rung.place),
            np.uint64(rung.single),
            np.uint64(rung.second),
        )


@dataclass(frozen=True)
class _Apart:
    """Rows with several events in the level's cell that can't be told like all others.

    Parameters
    ----------
    rows, events
        Rows for which the last event that counts is not the cell's lowest, and its number.
    left
        Rows left for a thorough call.
    """

    rows: Rows
    events: Streams
    left: Rows

    @classmethod
    def joined(cls, parts: list[_Apart]) -> _Apart:
        """Return all rows of several tiles."""
        none = np.empty(0, dtype=np.intp)
        return cls(
            np.concatenate([none, *(part.rows for part in parts)]),
            np.concatenate([none.astype(np.uint32), *(part.events for part in parts)]),
            np.concatenate([none, *(part.left for part in parts)]),
        )


class _Places:
    """Among the events of a cell, the lowest, and the lowest that counts (-1: none)."""

    def __init__(self, threshold: np.uint64, first: Words) -> None:
        self._threshold = threshold
        self._lowest_place = first.copy()
        self._last_place = np.zeros(len(first), dtype=np.uint64)
        self.lowest = np.zeros(len(first), dtype=np.int64)
        self.last = np.full(len(first), -1, dtype=np.int64)
        self._count(0, np.arange(len(first)), first)

    def add(self, event: int, rows: Rows, places: Words) -> None:
        """Take in the places of one more event, in some rows."""
        lower = places < self._lowest_place[rows]
        self._lowest_place[rows[lower]] = places[lower]
        self.lowest[rows[lower]] = event
        self._count(event, rows, places)

    def _count(self, event: int, rows: Rows, places: Words) -> None:
        first = self.last[rows] < 0
        counts = (places >= self._threshold) & (first | (places < self._last_place[rows]))
        self._last_place[rows[counts]] = places[counts]
        self.last[rows[counts]] = event


def _value_streams(cells: np.uint32 | Streams, events: np.uint32 | Streams) -> Streams:
    """Return the streams of the first attempts at the values that some events put in."""
    first = np.uint32(stream(DrawPurpose.VALUE))
    return np.atleast_1d(first | cells << np.uint32(18) | events << np.uint32(8))


LARGEST_DOMAIN: Final = 1 << 31
"""The largest number of values that a domain can have on a ladder."""


def check_level(level: float) -> None:
    """Raise `LevelError` where `level` is not a retention probability."""
    if not 0.0 <= level <= 1.0:
        raise LevelError(
            "The retention probability {level} is not between 0 and 1.",
            "Choose a number from 0 (nothing is kept) to 1 (the original).",
            level=level,
        )


def release_codes(
    codes: Codes,
    size: int,
    level: float,
    record_ids: Words,
    key: AttributeKey,
    context: Context,
    threads: int = 2,
    stretch: int = STRETCH,
    tile: int = TILE,
    top: Codes | None = None,
) -> Codes:
    """Return an attribute's codes as they are released at one level.

    A true code is kept with probability `level`, otherwise replaced by a code drawn uniformly
    from the whole domain. At level 1 the release is the original; at level 0, the limit of
    the ladder, it is uniform and independent of all other releases.

    Parameters
    ----------
    codes, record_ids
        The true values and the records' identifiers, shape (n,).
    size
        The number of values in the domain, m.
    level
        The retention probability p, from 0 to 1.
    key
        The attribute's key.
    context
        Told of the progress from the calling thread; may stop the work.
    threads, stretch, tile
        How many threads work at once, how many records one takes at a time, and how many of
        them it works on at once. The release does not depend on them.
    top
        What the ladder begins with, where not the original (see `alias_sampling`).

    Returns
    -------
    numpy.ndarray
        The released codes, shape (n,), in the type of `codes`.

    Raises
    ------
    LevelError
        If the level is not between 0 and 1.
    ValueError
        If the codes, the identifiers and the size do not fit together.
    """
    check_level(level)
    _check_codes(codes, size, record_ids)
    top = codes if top is None else top
    if level == 1.0:
        context.report(1.0, "Releasing")
        return top.copy()
    stretch = max(1, min(stretch, len(codes)))  # buffers are no larger than the table

    def kernel() -> Kernel:
        return Kernel(size, key.cipher(), codes.dtype, stretch, min(tile, stretch))

    return _released(level, codes, record_ids, top, kernel, threads, stretch, context)


def _released(
    level: float,
    codes: Codes,
    ids: Ids,
    top: Codes,
    make_kernel: Callable[[], Kernel],
    threads: int,
    stretch: int,
    context: Context,
) -> Codes:
    """Return what records show at a level below 1."""
    out, rung = np.empty_like(codes), rung_at(level) if level > 0.0 else None
    kernels, left = list[Kernel](), list[Indices]()

    def worker() -> Worker:
        kernel = make_kernel()
        kernels.append(kernel)

        def work(part: slice) -> None:
            if rung is None:
                kernel.release_bottom(codes[part], ids[part], out[part])
            else:
                rows = kernel.release(rung, codes[part], ids[part], top[part], out[part])
                left.append(part.start + rows)

        return work

    in_stretches(len(codes), stretch, threads, worker, context, "Releasing")
    if rung is not None and left:
        kernels[0].finish(rung, np.concatenate(left), codes, ids, top, out)
    return out


def _check_codes(codes: Codes, size: int, record_ids: Words) -> None:
    if not 1 <= size <= LARGEST_DOMAIN:
        raise ValueError("the domain is empty or too large")
    if codes.shape != record_ids.shape or codes.ndim != 1:
        raise ValueError("codes and record ids are not two lists of one length")
    if codes.dtype.kind != "u" or record_ids.dtype != np.uint64:
        raise ValueError("codes or record ids are not of an unsigned type")
    if len(codes) and int(codes.max()) >= size:
        raise ValueError("a code lies outside the domain")
