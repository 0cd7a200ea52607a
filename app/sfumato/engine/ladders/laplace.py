"""The Laplace ladder: noise of pure ε for numbers on a grid, at any level, from a key.

True numbers are steps 0 … K of a grid between stated bounds, and so is the noise: what is
released has no low bits that could tell which sum of floats it was (Mironov, CCS 2012). Noise at
level ε has the discrete Laplace law of `sfumato.engine.matrices.laplace_law`.

A less trusted release is a more trusted one with a jump added, or none. So each record has a jump
process of its own in v = 1/(4·sinh²(s/2)), half the noise's variance: jumps arrive at rate 1 in
ln v, one at v has the law of level v, and the noise of a level is the sum of the jumps up to it.
It begins at ε = `HIGHEST` with one draw of that level. The k-th jump after it lies at
v_top/(U1·…·Uk), as on the uniform ladder. All of it is a pure function of the key, the record's
identifier and its true number. Levels need not know of one another, and whoever holds several has,
of the true number, what the most trusted one tells: the others are that one with jumps added which
know nothing of the record.

*What is drawn* is the ideal law up to rounding. A geometric number with rate s is ⌊E/s⌋ for an
exponential E = n·ln 2 − ln M, with n counted in bits and M from 52 further ones, so that E is as
exact far out as near 0: its error is below 2⁻⁴⁶. Where ⌊E/s⌋ steps from k to k + 1 moves by that
much, so each probability is the ideal one times 1 ± 2⁻⁴⁵/s. The jumps' sizes are a geometric
series (Σ 1/s is at most 4/s of the level for both signs together), and within the window of 32/s
around the bounds a probability of the sum is off by a factor of at most 1 ± 400·2⁻⁴⁶/s. For
K ≤ `MOST_STEPS` and ε ≥ `LOWEST` both directions are less than half of ε/512, by which every s is
smaller than ε/K: so e^ε bounds what is published, not only what was meant. Only operations that
IEEE 754 defines to the last bit are used, so that every machine releases the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context as Digits
from decimal import Decimal
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.parallel import Worker, in_stretches
from sfumato.engine.core.progress import Context
from sfumato.engine.ladders.uniform_cells import Blocks
from sfumato.engine.matrices.laplace_law import LaplaceLaw, rate_of, squared_sinh
from sfumato.engine.randomness.keys import AttributeKey, BlockCipher

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint64]
Steps = npt.NDArray[np.int64]

LOWEST: Final = 0.02
HIGHEST: Final = 64.0
"""The levels ε that there are."""
MOST_STEPS: Final = 1 << 15
"""How many steps of the grid may lie between the bounds."""

STRETCH: Final = 1 << 15
"""How many records a thread takes at a time."""
THREADS: Final = 2


class _Draw(IntEnum):
    """What a block of a jump is drawn for; jump 0 is the noise of the most trusted level."""

    PLACE = 0
    """Where two jumps lie."""
    SIZE = 1
    """Two geometric numbers, whose difference is a jump."""
    PLACE_ZEROS = 2
    """Further bits of n, once the twelve of a word are 0; for its first and its second number."""
    SIZE_ZEROS = 4


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
    rung, law = _Rung.at(level, steps), LaplaceLaw(level, steps)
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
    top
        s of the most trusted level.
    quarter
        sinh²(s/2) there.
    last
        v_top/v: a jump counts while its U1·…·Uk is larger.
    """

    top: float
    quarter: float
    last: float

    @classmethod
    def at(cls, level: float, steps: int) -> _Rung:
        most = squared_sinh(HIGHEST, steps)
        own = squared_sinh(level, steps)
        return cls(float(rate_of(HIGHEST, steps)), float(most), float(own / most))


class LaplaceKernel:
    """The jump processes of some records, for one thread.

    Parameters
    ----------
    cipher
        The ladder's pseudo-random function.
    capacity
        The largest number of records at once.
    """

    def __init__(self, cipher: BlockCipher, capacity: int) -> None:
        self._records = Blocks(cipher, capacity)
        self._picked = Blocks(cipher, capacity)
        self._rare = Blocks(cipher, capacity)

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
        self._records.fill(numbers, ids)
        rows = np.arange(len(numbers), dtype=np.intp)
        out[:] = numbers
        out += self._sizes(self._records, rows, 0, rung.top)
        reach, spare = np.ones(len(rows)), np.empty(0, dtype=np.uint64)
        jump = 0
        while rung.last < 1.0 and len(rows):
            jump += 1
            second = (jump + 1) % 2
            if not second:
                self._picked.take(self._records, rows)
                drawn = self._drawn(self._picked, len(rows), _Draw.PLACE, jump)
                words, spare = drawn[0::2], drawn[1::2].copy()
            else:
                words = spare
            zeros = self._zeros(words, rows, _Draw.PLACE_ZEROS + second, jump)
            reach = reach * np.ldexp(_mantissa(words), -zeros)
            kept = np.flatnonzero(reach > rung.last)
            rows, reach, spare = rows[kept], reach[kept], spare[kept]
            half = np.sqrt(reach * rung.quarter)
            rates = 2.0 * _log(half + np.sqrt(1.0 + half * half))
            self._picked.take(self._records, rows)
            out[rows] += self._sizes(self._picked, rows, jump, rates)

    def _sizes(
        self, blocks: Blocks, rows: npt.NDArray[np.intp], jump: int, rates: Floats | float
    ) -> Steps:
        """Return a jump of each record: the difference of two geometric numbers."""
        drawn = self._drawn(blocks, len(rows), _Draw.SIZE, jump)
        sizes = []
        # The rarely needed further bits are drawn in other buffers.
        for place, words in enumerate((drawn[0::2], drawn[1::2])):
            zeros = self._zeros(words, rows, _Draw.SIZE_ZEROS + place, jump)
            sizes.append(np.floor((_LOGS[zeros] - _log(_mantissa(words))) / rates))
        difference: Steps = (sizes[0] - sizes[1]).astype(np.int64)
        return difference

    def _drawn(self, blocks: Blocks, count: int, draw: int, jump: int) -> Words:
        return blocks.draw(count, jump << 3 | draw).view("<u8")

    def _zeros(
        self, words: Words, rows: npt.NDArray[np.intp], draw: int, jump: int
    ) -> npt.NDArray[np.intp]:
        """Return n for each word: 1, and how many of its endless leading bits are 0."""
        leading = (words >> _MANTISSA_BITS).astype(np.intp)
        zeros = _ZEROS[leading]
        few = np.flatnonzero(leading == 0)
        if len(few):
            self._rare.take(self._records, rows[few])
            further = self._drawn(self._rare, len(few), draw, jump)
            first, then = _leading_zeros(further[0::2]), _leading_zeros(further[1::2])
            zeros[few] += first + np.where(first == _WORD_BITS, then, 0)
        return zeros


_WORD_BITS: Final = 64
_MANTISSA_BITS: Final = np.uint64(52)
_MANTISSA: Final = np.uint64((1 << 52) - 1)
_ONE: Final = np.uint64(0x3FF0_0000_0000_0000)
_LEADING: Final = 12
_ZEROS: Final = np.array([1 + _LEADING - i.bit_length() for i in range(1 << _LEADING)])
"""1 and the leading zeros of twelve bits."""

_DIGITS: Final = Digits(prec=40)
_LN2: Final = _DIGITS.ln(Decimal(2))
_LOGS: Final = np.array([float(n * _LN2) for n in range(2 + _LEADING + 2 * _WORD_BITS)])
_TABLE: Final = 128
_MIDDLES: Final = 1.0 + (np.arange(_TABLE) + 0.5) / _TABLE
_LOG_MIDDLES: Final = np.array([float(_DIGITS.ln(Decimal(m))) for m in _MIDDLES.tolist()])
_INVERSES: Final = 1.0 / _MIDDLES
_SERIES: Final = (1 / 7, -1 / 6, 1 / 5, -1 / 4, 1 / 3, -1 / 2, 1.0)


def _mantissa(words: Words) -> Floats:
    """Return numbers from 1 to 2 made of the low bits of words."""
    return ((words & _MANTISSA) | _ONE).view(np.float64)


def _log(numbers: Floats) -> Floats:
    """Return logarithms of numbers from 1 up, the same to the last bit on every machine.

    Libraries' logarithms differ in their last bits. This one is off by 2⁻⁵¹ below 2.
    """
    bits = numbers.view(np.uint64)
    exponents = (bits >> _MANTISSA_BITS).astype(np.intp) - 1023
    places = ((bits & _MANTISSA) >> np.uint64(45)).astype(np.intp)
    offset = (_mantissa(bits) - _MIDDLES[places]) * _INVERSES[places]
    series = np.full_like(offset, _SERIES[0])
    for coefficient in _SERIES[1:]:
        series *= offset
        series += coefficient
    series *= offset
    series += _LOG_MIDDLES[places]
    series += _LOGS[exponents]
    return series


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
