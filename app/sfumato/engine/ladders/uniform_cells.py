"""Where the events of the uniform ladder lie, and which draws say so.

The law. Along the level axis, from 1 down to 0, a record's value is replaced by a fresh
uniform value at the points of a Poisson process of rate 1 in ``-ln p``. A release at level p
shows the value after the last replacement at or above p. Between two levels ``p1 > p2`` a
value therefore survives with probability ``p2 / p1``: the law of *multi-pert* (Xiao, Tao and
Chen, VLDB 2009, section 5).

The draws. The axis is cut into cells ``[(3/4)^c, (3/4)^(c-1))``, c = 1, 2, …:

* a cell holds no event with probability exactly 3/4: two fair bits. One block of a record
  says for 32 cells at once which of them hold events;
* what the lowest event of each of these cells puts in is drawn in the same block, so that
  most records need one block at whatever depth;
* how many events a cell holds, and where, is asked only of the one cell that the level of a
  release lies in. The number is Poisson with mean ``ln(4/3)`` and not 0; the places are
  independent and uniform in ``ln p``. The word that tells the number also tells the place of
  a single event, and of one of two: within the words that mean one number it is uniform.

Places are compared as 64-bit integers with thresholds that depend on the level alone. These
are computed with `decimal`, whose logarithm is correctly rounded, so the bytes of a release
are the same on every machine. They are rounded so that more events count, never fewer: a
record is retained with a probability of at most p, and of at least ``p·(1 - 2^-60)``.

`Blocks` makes the blocks of records, as arrays; `RecordDraws` draws fair words of 64 bits with
them, and codes evenly from a domain.
"""

from __future__ import annotations

from decimal import Context, Decimal
from enum import IntEnum
from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Bytes, Indices, Words
from sfumato.engine.randomness.keys import BLOCK_BYTES, AttributeKey, BlockCipher

CELL_RATIO: Final = Fraction(3, 4)
"""The lower end of a cell over its upper end: the probability that it holds no event."""

GROUP_CELLS: Final = 32
"""How many cells one block of a record tells about."""

WORD: Final = 1 << 64
"""How many values a drawn word of 64 bits can take."""

LOWEST: Final = 0
"""The number of a cell's lowest event; any other event is known by 1 + the order of its draw."""

ATTEMPTS: Final = 256
"""How many words are tried for one value; a word fails with a probability below 1/2."""

_DIGITS: Final = Context(prec=80)


class DrawPurpose(IntEnum):
    """What a block is drawn for."""

    GROUP = 0
    """Which cells of a group hold events, and what their lowest events put in."""
    PLACES = 1
    """How many events a cell holds, and where."""
    VALUE = 2
    """What one event puts in."""
    BOTTOM = 3
    """What a release at level 0 shows."""


def stream(draw: DrawPurpose, cell: int = 0, item: int = 0, attempt: int = 0) -> int:
    """Return the number of a stream: each block of a record has one of its own.

    Parameters
    ----------
    draw
        What the block is for.
    cell
        The cell's or the group's number, below 4096. The smallest positive float lies in
        cell 2588. Cells are numbered from 1: a value's cell 0 is for
        `sfumato.engine.ladders.alias_sampling`.
    item
        The block's or the event's number within the cell, below 1024.
    attempt
        How often the draw was repeated, below 256.
    """
    return draw << 30 | cell << 18 | item << 8 | attempt


@cache
def cell_length() -> Decimal:
    """Return ln(4/3), the expected number of events in a cell."""
    return _DIGITS.subtract(_DIGITS.ln(Decimal(4)), _DIGITS.ln(Decimal(3)))


@cache
def count_thresholds() -> tuple[int, ...]:
    """Return the words at which an occupied cell's number of events grows.

    A cell whose first word is u holds one event, and one more for each threshold that is
    not above u. Element n - 1 is ``2^64 · Pr[at most n events | at least one]``, rounded down.
    """
    thresholds: list[int] = []
    term, total = Decimal(1), Decimal(0)
    while not thresholds or thresholds[-1] < WORD - 2:
        # Pr[k events | at least one] = 3 · ln(4/3)^k / k!, because e^-ln(4/3) = 3/4.
        term = _DIGITS.divide(_DIGITS.multiply(term, cell_length()), len(thresholds) + 1)
        total = _DIGITS.add(total, term)
        thresholds.append(_rounded_down(total, 3))
    return tuple(thresholds)


def _rounded_down(share: Decimal, times: int = 1) -> int:
    """Return a multiple of a share of all words, less one for the share's own rounding."""
    return max(int(_DIGITS.multiply(share, Decimal(times * WORD))) - 1, 0)


@dataclass(frozen=True)
class UniformRung:
    """What a level is compared by.

    Parameters
    ----------
    cell
        The number of the cell that the level lies in, from 1.
    place
        The level's place in the cell, from 0 (its lower end) to 2^64 (its upper end). Of
        several events, those at this place or above count.
    single
        A word below this means one event, below the level.
    """

    cell: int
    place: int = 0
    single: int = 0
    second: int = 0

    @property
    def inside(self) -> bool:
        """Whether some events of the cell may lie below the level."""
        return self.place > 0 or self.single > 0

    @property
    def group(self) -> int:
        """The number of the cell's group, from 0 at the top."""
        return (self.cell - 1) // GROUP_CELLS

    @property
    def bit(self) -> int:
        """The cell's bit among those of its group; the lowest bit is the highest cell's."""
        return 1 << (self.cell - 1) % GROUP_CELLS

    @property
    def mask(self) -> int:
        """The bits of the cells in the group that reach to the level or above."""
        return 2 * self.bit - 1

    @property
    def above(self) -> UniformRung | None:
        """The upper end of the group, or None where that is the original."""
        return UniformRung(self.group * GROUP_CELLS) if self.group else None


def rung_at(level: float) -> UniformRung:
    """Return what a level above 0 and below 1 is compared by."""
    exact = Fraction(level)
    logarithm = _DIGITS.ln(Decimal(level))
    cell = max(-int(_DIGITS.divide(logarithm, cell_length())), 1)
    while exact < CELL_RATIO**cell:
        cell += 1
    if exact == CELL_RATIO**cell:
        return UniformRung(cell)
    # In units of expected events, from the cell's lower end up to the level.
    height = _DIGITS.add(logarithm, _DIGITS.multiply(cell_length(), Decimal(cell)))
    place = _rounded_down(_DIGITS.divide(height, cell_length()))
    # Shares of the words that mean one event and two: whatever rounding took from the words of
    # one number went to those of the next, so shares of the exact numbers could add up to more.
    one, two = count_thresholds()[:2]
    second = one + (two - one) * place // WORD
    return UniformRung(cell, place=place, single=one * place // WORD, second=second)


Rows = Indices
Ids = Words
Streams = npt.NDArray[np.uint32]

_SLACK: Final = BLOCK_BYTES - 1
_SMALL_DOMAIN: Final = 64


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
        self._written: tuple[int | None, int] = None, 0

    def fill(self, codes: Codes, ids: Ids, each: int = 1) -> None:
        """Write the records' identifiers and true codes into their blocks, so many for each."""
        plain = self._plain[: BLOCK_BYTES * each * len(codes)]
        for block in range(each):
            plain.view("<u8")[2 * block :: 2 * each] = ids
            plain.view("<u4")[4 * block + 2 :: 4 * each] = codes

    def take(self, other: Blocks, rows: Rows) -> None:
        """Copy some records' blocks from another buffer."""
        # A complex number is the plain type of 16 bytes that numpy copies fastest.
        target = self._plain[: BLOCK_BYTES * len(rows)].view(np.complex128)
        other._plain.view(np.complex128).take(rows, out=target, mode="clip")
        self._written = None, 0

    def draw(self, count: int, numbers: int | Streams) -> Bytes:
        """Encrypt the first `count` blocks with these streams; return the bytes drawn.

        The next draw overwrites them.
        """
        plain = self._plain[: BLOCK_BYTES * count]
        number = numbers if isinstance(numbers, int) else None
        # The same stream for stretch after stretch is written once.
        if number is None or number != self._written[0] or count > self._written[1]:
            plain.view("<u4")[3::4] = numbers
            self._written = number, count
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
        bits = 8 * self.word_type.itemsize
        self.size: Final = self.product_type.type(size)
        self.bits: Final = self.product_type.type(bits)
        self.low_mask: Final = self.product_type.type((1 << bits) - 1)
        self.refused_below: Final = self.product_type.type((1 << bits) % size)
        self.per_block: Final = BLOCK_BYTES // self.word_type.itemsize
        self.count: Final = self.per_block // 2
        self.before_first: Final = self.per_block - self.count - 1


_LOW_HALF: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)


class RecordDraws:
    """The draws of some records under one key: pure functions of record, true code and stream.

    Parameters
    ----------
    codes
        The records' true codes, shape (k,).
    record_ids
        Their identifiers, shape (k,).
    key
        The key. Whatever else is drawn with it has other streams.
    """

    def __init__(self, codes: Codes, record_ids: Ids, key: AttributeKey) -> None:
        self._count = len(codes)
        self._blocks = Blocks(key.cipher(), max(self._count, 1))
        self._blocks.fill(codes, record_ids)

    def words(self, stream: int) -> tuple[Words, Words]:
        """Return two independent fair words of 64 bits for each record, both of shape (k,)."""
        drawn = self._blocks.draw(self._count, stream * ATTEMPTS).view("<u8")
        return drawn[0::2].copy(), drawn[1::2].copy()

    def word_and_code(self, stream: int, size: int) -> tuple[Words, Codes]:
        """Return a fair word and, independently, a code drawn evenly from the domain.

        Parameters
        ----------
        stream
            Which draw, below `STREAMS`; one that `words` was not asked for.
        size
            The number of values in the domain, m, at most 2^31.
        """
        words = np.empty(0, dtype=np.uint64)
        values = np.zeros(self._count, dtype=np.uint64)
        left = np.arange(self._count)
        # A word of 32 bits times m leaves a remainder; the few that would favour some values
        # are refused (Lemire, ACM TOMACS 29, 2019) and drawn again.
        refused_below = np.uint64((1 << 32) % size)
        for attempt in range(ATTEMPTS):
            drawn = self._blocks.draw(self._count, stream * ATTEMPTS + attempt)
            if attempt == 0:
                words = drawn.view("<u8")[0::2].copy()
            product = drawn.view("<u4")[2::4][left].astype(np.uint64) * np.uint64(size)
            values[left] = product >> _HALF
            left = left[(product & _LOW_HALF) < refused_below]
            if not len(left):
                break
        return words, values
