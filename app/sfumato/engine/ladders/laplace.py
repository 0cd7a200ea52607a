"""The Laplace ladder: noise of pure ε for numbers on a grid, at any level, from a key.

True numbers are steps 0 … K of a grid between stated bounds, and so is the noise: what is
released has no low bits that could tell which sum of floats it was (Mironov, CCS 2012). Noise at
level ε has the discrete Laplace law of `sfumato.engine.matrices.laplace_law`.

*The law.* Scatter points evenly over the quarter plane of times t ≥ 0 and marks y ≥ 0, one for each
unit of area. ⌊T(s)⌋ for the time T(s) of the first point with a mark below s is geometric with
rate s. Where the first point below s is not below a lower rate s' as well, a fresh wait for one
below s' begins after it: so lowering the rate adds something that knows nothing of what was
before. The noise of rate s is the difference of two such numbers, from two planes. It has
independent increments, and with the law at each level this fixes the law of all levels together:
a less trusted release is a more trusted one with a jump added, or none. Levels need not know of
one another, and whoever holds several has, of the true number, what the most trusted one tells.

*The draws* are pure functions of the key, the record's identifier and its true number. Time is cut
into the cells [0, 1), [1, 2), [2, 4), [4, 8) …. A cell of length d has its lowest mark below s if a
uniform number V is at least e^(−d·s); its n lowest marks are, if the product of n such numbers is.
The place of each point is uniform among the cell's whole times. One byte of V for each cell, 16 in
a block, tells which cells may have a point below s. Only the first that has is looked into; it
holds 1.44 such points on average, whatever the level.

*What is drawn* is the ideal law up to rounding. The first 52 digits of each V after its leading
zeros count, and the limits e^(−d·s) are correctly rounded. As d·s is at least `LOWEST`/`MOST_STEPS`
less a 512th, which is above 2⁻²¹, a cell's first point below s is at each of its places with a
probability that is off by a factor of at most 1 ± 2⁻²⁸, and all cells before it are empty with one
that is off by less. So the probability of any noise within the window of 32/s around the bounds is
off by at most 1 ± 2⁻²⁶. This is less than half of ε/512, by which every s is smaller than ε/K: so
e^ε bounds what is published, not only what was meant. Only operations that IEEE 754 defines to the
last bit are used, so that every machine releases the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.parallel import Worker, in_stretches
from sfumato.engine.core.progress import Context
from sfumato.engine.ladders.uniform_cells import Blocks
from sfumato.engine.matrices.laplace_law import LaplaceLaw, chance_of_none
from sfumato.engine.randomness.keys import AttributeKey, BlockCipher

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Streams = npt.NDArray[np.uint32]
Rows = npt.NDArray[np.intp]
Steps = npt.NDArray[np.int64]

LOWEST: Final = 0.02
HIGHEST: Final = 64.0
"""The levels ε that there are."""
MOST_STEPS: Final = 1 << 15
"""How many steps of the grid may lie between the bounds."""

STRETCH: Final = 1 << 13
"""How many records a thread takes at a time."""
THREADS: Final = 2

_GROUP: Final = 16
"""How many cells one block tells about; there are two such groups for each plane."""
_CELLS: Final = 2 * _GROUP
_ENOUGH: Final = 10.0
"""The second group is drawn only where it is needed if so many points below s are expected."""
_NEVER: Final = 1 << 31
"""The end of the last cell: with a probability of e^−1300 at most, no point comes before it."""


class _Draw(IntEnum):
    """What a block is drawn for; the bits above the plane's and the cell's number tell more."""

    GROUP = 0
    """The first byte of V for the lowest marks of some cells."""
    POINT = 1 << 28
    """The rest of a point's V, its place, and the first half of the next point's V."""
    ZEROS = 2 << 28
    """How many zeros follow where what was drawn of V is 0."""


def check_loss(level: float) -> float:
    """Return a level ε.

    Raises
    ------
    LevelError
        If it is not a number from `LOWEST` to `HIGHEST`.
    """
    if not LOWEST <= level <= HIGHEST:
        raise LevelError(
            "The privacy loss ε = {level:g} of Laplace noise is out of range.",
            "Give a number from {lowest:g} to {highest:g}.",
            level=level,
            lowest=LOWEST,
            highest=HIGHEST,
        )
    return level


def release_steps(
    numbers: Codes,
    steps: int,
    level: float,
    record_ids: Ids,
    key: AttributeKey,
    context: Context,
    threads: int = THREADS,
    stretch: int = STRETCH,
) -> Steps:
    """Return numbers of the grid as they are released at one level.

    Parameters
    ----------
    numbers
        The true numbers in steps above the lower bound, shape (n,), of an unsigned type.
    steps
        K, how many steps lie between the bounds.
    level
        ε.
    record_ids
        The records' identifiers, shape (n,).
    key
        The ladder's key.
    context
        Told of the progress; may stop the work.
    threads, stretch
        How the work is divided. The release does not depend on it.

    Returns
    -------
    numpy.ndarray
        Steps above the lower bound, some below 0 or above K, shape (n,).

    Raises
    ------
    LevelError
        If the level is out of range.
    ValueError
        If numbers, identifiers and the grid do not fit together.
    """
    check_loss(level)
    _check_numbers(numbers, steps, record_ids)
    rung, law = _rung_at(level, steps), LaplaceLaw(level, steps)
    out = np.empty(len(numbers), dtype=np.int64)
    stretch = max(1, min(stretch, len(numbers)))

    def worker() -> Worker:
        kernel = LaplaceKernel(key.cipher(), stretch)

        def work(part: slice) -> None:
            kernel.add_noise(numbers[part], record_ids[part], rung, out[part])
            np.clip(out[part], -law.beyond, steps + law.beyond, out=out[part])

        return work

    workers = [worker() for _ in range(max(1, min(threads, -(-len(numbers) // stretch))))]
    in_stretches(len(numbers), stretch, workers, context, "Adding the noise")
    return out


def _check_numbers(numbers: Codes, steps: int, record_ids: Ids) -> None:
    if not 1 <= steps <= MOST_STEPS:
        raise ValueError("the grid has no steps, or too many")
    if numbers.shape != record_ids.shape or numbers.ndim != 1 or numbers.dtype.kind != "u":
        raise ValueError("numbers and record ids do not fit together")
    if len(numbers) and int(numbers.max()) > steps:
        raise ValueError("a number lies outside the grid")


@dataclass(frozen=True)
class _Rung:
    """A level as the kernel needs it.

    Parameters
    ----------
    none
        The probability that a cell has no point below s, e^(−d·s), for each cell.
    first_bytes
        The first byte of these numbers.
    groups
        How many groups of cells are drawn for all records.
    """

    none: Floats
    first_bytes: Bytes
    groups: int


@lru_cache(maxsize=256)
def _rung_at(level: float, steps: int) -> _Rung:
    lengths = [1, *(1 << cell for cell in range(_CELLS - 1))]
    none = np.array([chance_of_none(level, steps, length) for length in lengths])
    expected = LaplaceLaw(level, steps).rate * lengths[_GROUP]
    first_bytes = np.floor(256.0 * none).astype(np.uint8)
    return _Rung(none, first_bytes, 1 if expected >= _ENOUGH else 2)


class LaplaceKernel:
    """The points of some records, for one thread.

    Parameters
    ----------
    cipher
        The ladder's pseudo-random function.
    capacity
        The largest number of records at once.
    """

    def __init__(self, cipher: BlockCipher, capacity: int) -> None:
        self._groups = Blocks(cipher, 4 * capacity)
        self._planes = Blocks(cipher, 2 * capacity)
        self._picked = Blocks(cipher, 2 * capacity)
        self._rare = Blocks(cipher, 2 * capacity)

    def add_noise(self, numbers: Codes, ids: Ids, rung: _Rung, out: Steps) -> None:
        """Write into `out` the numbers with the noise of a level added.

        Parameters
        ----------
        numbers, ids
            The true numbers in steps, and the records' identifiers, shape (k,).
        rung
            The level.
        out
            Room for the result, shape (k,).
        """
        waits = self._waits(numbers, ids, rung, rung.groups)
        late = np.flatnonzero((waits[0::2] == _NEVER) | (waits[1::2] == _NEVER))
        if len(late) and rung.groups == 1:
            further = self._waits(numbers[late], ids[late], rung, 2)
            waits[2 * late], waits[2 * late + 1] = further[0::2], further[1::2]
        np.subtract(waits[0::2], waits[1::2], out=out)
        out += numbers

    def _waits(self, numbers: Codes, ids: Ids, rung: _Rung, groups: int) -> Steps:
        """Return ⌊T(s)⌋ in both planes of each record, alternately; `_NEVER` where none came."""
        planes, width = 2 * len(numbers), groups * _GROUP
        self._groups.fill(np.repeat(numbers, 2 * groups), np.repeat(ids, 2 * groups))
        streams = np.tile(_Draw.GROUP + np.arange(2 * groups, dtype=np.uint32), len(numbers))
        if groups == 1:
            streams <<= np.uint32(1)
        first_bytes = self._groups.draw(groups * planes, streams)
        may = first_bytes >= np.tile(rung.first_bytes[:width], planes)
        left = np.packbits(may, bitorder="little").view(f"<u{2 * groups}")
        self._planes.fill(np.repeat(numbers, 2), np.repeat(ids, 2))
        waits = np.full(planes, _NEVER, dtype=np.int64)
        rows = np.arange(planes)
        while len(rows):
            some = np.flatnonzero(left)
            if len(some) < len(rows):
                rows, left = rows[some], left[some]
            rest = left & (left - left.dtype.type(1))
            cells = np.bitwise_count((left ^ rest) - left.dtype.type(1))
            drawn = first_bytes[rows * width + cells]
            found = self._look_inside(rows, cells, drawn, rung, waits)
            missed = np.flatnonzero(~found)
            rows, left = rows[missed], rest[missed]
        return waits

    def _look_inside(
        self, rows: Rows, cells: Bytes, first_bytes: Bytes, rung: _Rung, waits: Steps
    ) -> npt.NDArray[np.bool_]:
        """Find the first point below s in a cell of each row; return where there is one."""
        streams = cells * np.uint32(2) + (rows & 1).astype(np.uint32) + np.uint32(_Draw.POINT)
        none, starts, shifts = rung.none[cells], _STARTS[cells], _SHIFTS[cells]
        blocks = self._planes
        if len(rows) < len(waits):
            blocks = self._picked
            blocks.take(self._planes, rows)
        leads, product, scale = first_bytes, np.ones(len(rows)), 2.0**-8
        inside: npt.NDArray[np.bool_] | None = None
        while True:
            words = blocks.draw(len(rows), streams).view("<u8")
            product = product * (self._completed(leads, words[0::2], rows, streams) * scale)
            below = product >= none
            places = ((words[1::2] >> _PLACE_BITS) >> shifts).astype(np.int64)
            places += starts
            places[~below] = _NEVER
            waits[rows] = np.minimum(waits[rows], places)
            inside = below if inside is None else inside
            # Only where even the largest V that begins so is enough, there may be one more point.
            leads, scale = words[1::2] & _LOW_HALF, 2.0**-32
            more = np.flatnonzero(below & (product * ((leads + 1.0) * scale) >= none))
            if not len(more):
                return inside
            rows, leads, product = rows[more], leads[more], product[more]
            none, starts, shifts = none[more], starts[more], shifts[more]
            streams = streams[more] + _NEXT_POINT
            blocks = self._picked
            blocks.take(self._planes, rows)

    def _completed(
        self, leads: Bytes | Words, words: Words, rows: Rows, streams: Streams
    ) -> Floats:
        """Return numbers that begin with whole ones, with what follows their binary points."""
        follows = _mantissa(words)
        follows -= 1.0
        few = np.flatnonzero(leads == 0)
        if len(few):
            self._rare.take(self._planes, rows[few])
            drawn = self._rare.draw(len(few), streams[few] + _ZEROS).view("<u8")
            first, then = _leading_zeros(drawn[0::2]), _leading_zeros(drawn[1::2])
            zeros = first + np.where(first == _WORD_BITS, then, 0)
            follows[few] = np.ldexp(follows[few] + 1.0, -1 - zeros)
        follows += leads
        return follows


_WORD_BITS: Final = 64
_MANTISSA_BITS: Final = np.uint64(52)
_MANTISSA: Final = np.uint64((1 << 52) - 1)
_ONE: Final = np.uint64(0x3FF0_0000_0000_0000)
_LOW_HALF: Final = np.uint64(0xFFFF_FFFF)
_PLACE_BITS: Final = np.uint64(33)
"""A word without these bits is a place in the last cell."""
_STARTS: Final = np.array([0, *(1 << cell for cell in range(_CELLS - 1))], dtype=np.int64)
_SHIFTS: Final = np.arange(_CELLS, 0, -1).astype(np.uint64)
_NEXT_POINT: Final = np.uint32(1 << 6)
_ZEROS: Final = np.uint32(_Draw.ZEROS - _Draw.POINT)


def _mantissa(words: Words) -> Floats:
    """Return numbers from 1 to 2 made of the low bits of words."""
    return ((words & _MANTISSA) | _ONE).view(np.float64)


def _leading_zeros(words: Words) -> npt.NDArray[np.intp]:
    """Return how many leading bits of words are 0, all 64 of them at most."""
    found = np.full(len(words), _WORD_BITS, dtype=np.intp)
    high = words >> np.uint64(32)
    for part, base in ((words & np.uint64(0xFFFF_FFFF), 32), (high, 0)):
        # The exponent of a float of 32 bits' worth is the place of the highest bit, exactly.
        seen = np.flatnonzero(part)
        exponents = (part[seen].astype(np.float64).view(np.uint64) >> _MANTISSA_BITS).astype(
            np.intp
        )
        found[seen] = base + 31 - (exponents - 1023)
    return found
