"""The Laplace ladder: noise of pure ε for numbers on a grid, at any level, from a key.

True numbers are steps 0 … K of a grid between stated bounds, and so is the noise: what is
released has no low bits that could tell which sum of floats it was (Mironov, CCS 2012). Noise at
level ε has the discrete Laplace law,
Pr[z] = tanh(s/2)·e^(−s·|z|) for whole z: two numbers k steps apart give any released number with
probabilities that differ by a factor of at most e^(s·k). Of numbers with K steps between the
bounds nobody's odds change by more than e^(s·K), whichever two numbers they are on.

With a < b for the rates of a less and of a more trusted release, the law of the first is that of
the second plus a step that is 0 with probability w = sinh²(a/2)/sinh²(b/2), and else drawn from the
first law itself. The characteristic functions tell: with c = cos θ, that of rate s is
sinh²(s/2)/(sinh²(s/2) + (1 − c)/2), and (A/(A+u))·((B+u)/B) = A/B + (1 − A/B)·A/(A+u). It is the
whole-number form of Koufogiannis, Han and Pappas, "Gradual Release of Sensitive Data under
Differential Privacy", 2015, where w = (b₁/b₂)².

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

import math
from dataclasses import fields, replace
from decimal import Context as Digits
from decimal import Decimal
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import Worker, in_stretches
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Bytes, Flags, Floats, Indices, Integers, Words
from sfumato.engine.ladders.uniform_cells import Blocks
from sfumato.engine.randomness.keys import AttributeKey, BlockCipher

SPARE: Final = Decimal(1) / 512
"""The share of ε that pays for what floating-point numbers do to the law, see the ladder."""

WINDOW: Final = 32
"""Released numbers lie at most so many times the noise's size beyond the bounds."""

_DIGITS: Final = Digits(prec=60)


@lru_cache(maxsize=4096)
def squared_sinh(epsilon: float, steps: int) -> Decimal:
    """Return sinh²(s/2) of a level to 60 digits, the same on every machine.

    Parameters
    ----------
    epsilon
        ε of the released numbers.
    steps
        K, how many steps lie between the bounds.
    """
    half = rate_of(epsilon, steps) / 2
    sinh = (_DIGITS.exp(half) - _DIGITS.exp(-half)) / 2
    return _DIGITS.multiply(sinh, sinh)


def rate_of(epsilon: float, steps: int) -> Decimal:
    """Return s: by how much each step can change the logarithm of the odds."""
    return _DIGITS.divide(_DIGITS.multiply(Decimal(epsilon), 1 - SPARE), Decimal(steps))


def chance_of_none(epsilon: float, steps: int, length: int) -> float:
    """Return e^(−s·length), the probability of no point, correctly rounded on every machine."""
    return float(_DIGITS.exp(-rate_of(epsilon, steps) * length))


@dataclass(frozen=True)
class LaplaceLaw:
    """What is added to a number of the grid at one level, in steps.

    Parameters
    ----------
    epsilon
        ε of the released numbers.
    steps
        K, how many steps lie between the bounds.
    """

    epsilon: float
    steps: int

    @cached_property
    def rate(self) -> float:
        """The rate s; the noise's size is 1/s steps."""
        return float(rate_of(self.epsilon, self.steps))

    def loss_between(self, apart: int) -> float:
        """Return by how much the odds of two numbers so many steps apart change, as a logarithm.

        What is drawn is counted, not only the ideal law.
        """
        return min(self.rate * apart + float(SPARE) * self.epsilon, self.epsilon)

    @property
    def variance(self) -> float:
        """The variance, in squared steps."""
        return 1.0 / (2.0 * float(squared_sinh(self.epsilon, self.steps)))

    @property
    def beyond(self) -> int:
        """How many steps beyond the bounds released numbers can lie.

        What would lie further off becomes the last number there. Given that, how much further
        it was is geometric whatever the true number is, so a coalition learns nothing from it.
        """
        return math.ceil(WINDOW / self.rate)

    def chances(self, noise: Steps) -> Floats:
        """Return how probable some noise is."""
        return math.tanh(self.rate / 2.0) * np.exp(-self.rate * np.abs(noise))

    def up_to(self, noise: Steps | Floats) -> Floats:
        """Return how probable noise of at most so many steps is."""
        step = math.exp(-self.rate)
        tail = np.exp(-self.rate * np.where(noise >= 0, noise + 1.0, -noise)) / (1.0 + step)
        return np.where(noise >= 0, 1.0 - tail, tail)

    def unchanged_from(self, upper: LaplaceLaw) -> float:
        """Return w: how often a release of this level shows what a more trusted one shows."""
        return float(
            squared_sinh(self.epsilon, self.steps) / squared_sinh(upper.epsilon, self.steps)
        )

    def half_width(self, share: float) -> int:
        """Return the least number of steps that the noise does not exceed so often."""
        beyond = (1.0 - share) * (1.0 + math.exp(-self.rate)) / 2.0
        return max(math.ceil(-math.log(beyond) / self.rate - 1.0 - 1e-9), 0)

    def released(self, beyond: int) -> Floats:
        """Return Pr[released | true] where numbers further off than `beyond` steps are pulled in.

        Returns
        -------
        numpy.ndarray
            One row for each number released, from −`beyond` to K + `beyond`, and one column for
            each true one, shape (K + 1 + 2·`beyond`, K + 1).
        """
        shown = np.arange(-beyond, self.steps + beyond + 1)[:, np.newaxis]
        noise = shown - np.arange(self.steps + 1)
        law = self.chances(noise)
        law[0] = self.up_to(noise[0])
        law[-1] = self.up_to(-noise[-1])
        return law


Ids = Words
Streams = npt.NDArray[np.uint32]
Rows = Indices
Steps = Integers

LOWEST: Final = 0.02
HIGHEST: Final = 64.0
"""The levels ε that there are."""
MOST_STEPS: Final = 1 << 15
"""How many steps of the grid may lie between the bounds."""

STRETCH: Final = 1 << 16
"""How many records a thread takes at a time."""
THREADS: Final = 2
TILE: Final = 1 << 14
"""How many of them it works on at once."""

_GROUP: Final = 16
"""How many cells one block tells about; there are two such groups for each plane."""
_CELLS: Final = 2 * _GROUP
_ENOUGH: Final = 10.0
"""The second group is drawn only where it is needed if so many points below s are expected."""
_NEVER: Final = 1 << 31
"""The end of the last cell: with a probability of e^−1300 at most, no point comes before it."""


class _DrawPurpose(IntEnum):
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
    rung, law = kernel_level(level, steps), LaplaceLaw(level, steps)
    out = np.empty(len(numbers), dtype=np.int64)
    stretch = max(1, min(stretch, len(numbers)))

    def worker() -> Worker:
        kernel = LaplaceKernel(key.cipher(), stretch)

        def work(part: slice) -> None:
            kernel.add_noise(numbers[part], record_ids[part], rung, out[part])
            np.clip(out[part], -law.beyond, steps + law.beyond, out=out[part])

        return work

    in_stretches(len(numbers), stretch, threads, worker, context, "Adding the noise")
    return out


def _check_numbers(numbers: Codes, steps: int, record_ids: Ids) -> None:
    if not 1 <= steps <= MOST_STEPS:
        raise ValueError("the grid has no steps, or too many")
    if numbers.shape != record_ids.shape or numbers.ndim != 1 or numbers.dtype.kind != "u":
        raise ValueError("numbers and record ids do not fit together")
    if len(numbers) and int(numbers.max()) > steps:
        raise ValueError("a number lies outside the grid")


@dataclass(frozen=True)
class KernelLevel:
    """A level as the kernel needs it.

    Parameters
    ----------
    none
        The probability that a cell has no point below s, e^(−d·s), for each cell.
    groups
        How many groups of cells are drawn for all records.
    """

    none: Floats
    groups: int


@lru_cache(maxsize=256)
def kernel_level(level: float, steps: int) -> KernelLevel:
    """Return a level ε of numbers with so many steps between the bounds as the kernel needs it."""
    lengths = [1, *(1 << cell for cell in range(_CELLS - 1))]
    none = np.array([chance_of_none(level, steps, length) for length in lengths])
    expected = LaplaceLaw(level, steps).rate * lengths[_GROUP]
    return KernelLevel(none, 1 if expected >= _ENOUGH else 2)


@dataclass(frozen=True)
class _Points:
    """Points below s after which there may be further ones in their cells, each in one plane.

    Parameters
    ----------
    rows
        Twice the record's place, and 1 more in its second plane.
    streams
        What the points were drawn with.
    product
        Of the numbers V so far.
    leads
        The first 32 digits of the next V.
    """

    rows: Rows
    streams: Streams
    product: Floats
    leads: Words


@dataclass(frozen=True)
class _Missed:
    """Planes in which the first cell that may have held a point below s holds none.

    Parameters
    ----------
    rows
        As for `_Points`.
    left
        The bits of the other cells that may.
    first_bytes
        Of all cells, one row for each plane.
    """

    rows: Rows
    left: Streams
    first_bytes: Bytes


class LaplaceKernel:
    """The points of some records, for one thread.

    What most records need is done in tiles that stay in the processor's caches; what is rare, for
    all of them together, because a call on a handful costs as much as one on thousands.

    Parameters
    ----------
    cipher
        The ladder's pseudo-random function.
    capacity
        The largest number of records at once.
    """

    def __init__(self, cipher: BlockCipher, capacity: int) -> None:
        tile = min(capacity, TILE)
        self._groups = Blocks(cipher, 4 * tile)
        self._tile = Blocks(cipher, 2 * tile)
        self._picked = Blocks(cipher, 2 * capacity)
        self._rare = Blocks(cipher, 2 * capacity)

    def add_noise(self, numbers: Codes, ids: Ids, rung: KernelLevel, out: Steps) -> None:
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
        waits = self._waits(numbers, ids, rung.none, rung.groups)
        if rung.groups == 1:
            late = np.flatnonzero((waits[0::2] == _NEVER) | (waits[1::2] == _NEVER))
            further = self._waits(numbers[late], ids[late], rung.none, 2)
            waits[2 * late], waits[2 * late + 1] = further[0::2], further[1::2]
        np.subtract(waits[0::2], waits[1::2], out=out)
        out += numbers

    def _waits(self, numbers: Codes, ids: Ids, none: Floats, groups: int) -> Steps:
        """Return ⌊T(s)⌋ in both planes of each record, alternately; `_NEVER` where none came."""
        width = groups * _GROUP
        # Where no cell is left, the next is one that never holds a point.
        none = np.append(none[:width], np.full(_CELLS + 1 - width, 2.0))
        waits = np.empty(2 * len(numbers), dtype=np.int64)
        points, missed = [], []
        for start in range(0, len(numbers), TILE):
            part = slice(start, start + TILE)
            first_bytes, left = self._candidates(numbers[part], ids[part], none, width)
            rest, cells = _first_cells(left)
            leads = first_bytes.take(np.arange(0, len(first_bytes), width) + cells, mode="clip")
            rows = np.arange(2 * start, 2 * start + len(left))
            self._tile.fill(numbers[part], ids[part], 2)
            found, more = self._first_points(self._tile, rows, cells, leads, none, waits)
            points.append(more)
            lost = np.flatnonzero(~found)
            drawn = first_bytes.reshape(-1, width)[lost]
            missed.append(_Missed(rows[lost], rest[lost].astype(np.uint32), drawn))
        if missed:
            points += self._retry(_joined(missed), numbers, ids, none, waits)
            self._follow(_joined(points), numbers, ids, none, waits)
        return waits

    def _candidates(
        self, numbers: Codes, ids: Ids, none: Floats, width: int
    ) -> tuple[Bytes, Streams]:
        """Return the first byte of each cell's V, and the bits of cells that it lets have points.

        Returns
        -------
        first_bytes
            Those of each plane one after another, shape (2·n·`width`,).
        left
            The lowest bit is the first cell's, shape (2·n,).
        """
        each = 2 * width // _GROUP
        self._groups.fill(numbers, ids, each)
        streams = np.array([0, 2] if each == 2 else [0, 1, 2, 3], dtype=np.uint32)
        first_bytes = self._groups.draw(each * len(numbers), np.tile(streams, len(numbers)))
        least = np.floor(256.0 * none[:width]).astype(np.uint8)
        may = first_bytes >= np.tile(least, 2 * len(numbers))
        return first_bytes, np.packbits(may, bitorder="little").view(f"<u{width // 8}")

    def _first_points(
        self, blocks: Blocks, rows: Rows, cells: Bytes, leads: Bytes, none: Floats, waits: Steps
    ) -> tuple[Flags, _Points]:
        """Draw a cell's lowest mark in each row; tell where it is below s, and what may follow."""
        streams = (
            cells * np.uint32(2) + (rows & 1).astype(np.uint32) + np.uint32(_DrawPurpose.POINT)
        )
        start = _Points(rows, streams, np.full(len(rows), 2.0**-8), leads.astype(np.uint64))
        places, found, more = self._next_points(blocks, start, none)
        waits[rows] = places
        return found, more

    def _retry(
        self, missed: _Missed, numbers: Codes, ids: Ids, none: Floats, waits: Steps
    ) -> list[_Points]:
        """Look into the other cells of planes whose first one held no point below s."""
        points = []
        rows, left, first_bytes = missed.rows, missed.left, missed.first_bytes
        while len(some := np.flatnonzero(left)):
            rows, left, first_bytes = rows[some], left[some], first_bytes[some]
            left, cells = _first_cells(left)
            self._picked.fill(numbers[rows >> 1], ids[rows >> 1])
            leads = first_bytes[np.arange(len(rows)), cells]
            found, more = self._first_points(self._picked, rows, cells, leads, none, waits)
            points.append(more)
            left[found] = 0
        return points

    def _follow(
        self, points: _Points, numbers: Codes, ids: Ids, none: Floats, waits: Steps
    ) -> None:
        """Look for earlier points in the cells."""
        while len(points.rows):
            rows = points.rows
            self._picked.fill(numbers[rows >> 1], ids[rows >> 1])
            points = replace(
                points,
                streams=points.streams + _NEXT_POINT,
                product=points.product * 2.0**-32,
            )
            places, _, points = self._next_points(self._picked, points, none)
            waits[rows] = np.minimum(waits[rows], places)

    def _next_points(
        self, blocks: Blocks, points: _Points, none: Floats
    ) -> tuple[Steps, Flags, _Points]:
        """Draw points; return their places, which are below s, and after which more may be."""
        rows, streams = points.rows, points.streams
        words = blocks.draw(len(rows), streams).view("<u8")
        ends = words[1::2]
        cells = ((streams & _CELL_BITS) >> np.uint32(1)).astype(np.intp)
        least, starts = none.take(cells), _STARTS.take(cells)
        product = self._completed(points.leads, words[0::2], blocks, streams)
        product *= points.product
        below = product >= least
        places = ((ends >> _PLACE_BITS) >> _SHIFTS.take(cells)).view(np.int64)
        places += starts
        # A further point counts only if it is earlier, and there is none where even the largest V
        # that begins as the next one is too small.
        leads = ends & _LOW_HALF
        most = leads.astype(np.float64)
        most += 1.0
        most *= product
        most *= 2.0**-32
        may = most >= least
        may &= below
        may &= places > starts
        more = np.flatnonzero(may)
        places[~below] = _NEVER
        return places, below, _Points(rows[more], streams[more], product[more], leads[more])

    def _completed(self, leads: Words, words: Words, blocks: Blocks, streams: Streams) -> Floats:
        """Return numbers that begin with whole ones, with what follows their binary points."""
        follows = _mantissa(words)
        few = np.flatnonzero(leads == 0)
        rare = follows[few]
        follows -= 1.0
        follows += leads
        if len(few):
            self._rare.take(blocks, few)
            drawn = self._rare.draw(len(few), streams[few] + _ZEROS).view("<u8")
            first, then = _leading_zeros(drawn[0::2]), _leading_zeros(drawn[1::2])
            zeros = first + np.where(first == _WORD_BITS, then, 0)
            follows[few] = np.ldexp(rare, -1 - zeros)
        return follows


_Joined = TypeVar("_Joined", _Points, _Missed)


def _joined(parts: list[_Joined]) -> _Joined:
    names = [field.name for field in fields(parts[0])]
    return type(parts[0])(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


def _first_cells(left: Streams) -> tuple[Streams, Bytes]:
    """Return bits without the lowest ones, and its number: how many bits there are, if none is."""
    one = left.dtype.type(1)
    rest = left & (left - one)
    return rest, np.bitwise_count((left ^ rest) - one)


_WORD_BITS: Final = 64
_MANTISSA_BITS: Final = np.uint64(52)
_MANTISSA: Final = np.uint64((1 << 52) - 1)
_ONE: Final = np.uint64(0x3FF0_0000_0000_0000)
_LOW_HALF: Final = np.uint64(0xFFFF_FFFF)
_PLACE_BITS: Final = np.uint64(33)
"""A word without these bits is a place in the last cell."""
_STARTS: Final = np.array([0, *(1 << cell for cell in range(_CELLS))], dtype=np.int64)
_SHIFTS: Final = np.arange(_CELLS, -1, -1).astype(np.uint64)
_CELL_BITS: Final = np.uint32((1 << 7) - 2)
_NEXT_POINT: Final = np.uint32(1 << 7)
_ZEROS: Final = np.uint32(_DrawPurpose.ZEROS - _DrawPurpose.POINT)


def _mantissa(words: Words) -> Floats:
    """Return numbers from 1 to 2 made of the low bits of words."""
    return ((words & _MANTISSA) | _ONE).view(np.float64)


def _leading_zeros(words: Words) -> Indices:
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
