"""The Brownian ladder: noise for numeric attributes at any level, from a key.

Each record has a Brownian motion W of its own in as many dimensions as there are attributes,
with the noise level σ² as its time. W is a pure function of the key, the record's identifier
and its true values: no release needs to know of any other, and releases at any levels, made in
any order, on any machine, have the noise of one ladder. The noise at a higher level is that at
a lower one plus something that knows nothing of the record, so a coalition learns what its most
trusted member knows (Li, Chen, Li and Zhang, TKDE 2012, Theorems 4 and 5).

Levels are σ², the variance of the noise relative to that of the data. A level is shown as it is
used, so it lies on a grid: 12 significant bits, neighbours 0.05 % apart at most. A stated level
becomes the next one of the grid with at least as much noise.

Brownian motion at any time is a sum of independent normals that other times share. W(1) is one
normal. The powers of two above it follow by increments, those below it by bridges to W(0) = 0.
Between two powers of two, W is found by bisection along the bits of the time. Each step draws one
normal, which belongs to the time that it reaches, so W(t) is a fixed linear combination of the
normals on its path, and two times share the normals up to where their paths part. That makes
Cov[W(s), W(t)] = min(s, t), the corner-wave matrix of Li, Chen, Li and Zhang, TKDE 2012, equation
(15), and makes W(t) cost as many normals as t has significant bits.

A draw is one block of AES. The record's identifier and the bits of all its true values are
encrypted to a state first (CBC-MAC over texts of one length, a pseudo-random function); the
state, with the time of the step and the attribute mixed in, is encrypted once more. A record
with a corrected value gets noise that has nothing to do with the old one: otherwise whoever
holds both editions would see by how much it was corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import Worker, in_stretches
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Flags, Floats, Indices, Integers, Words
from sfumato.engine.randomness.keys import BLOCK_BYTES, AttributeKey, BlockCipher
from sfumato.engine.randomness.normals import Ziggurat, below_density, layer_of, tail_places

GRID_BITS: Final = 12
"""Significant bits of a level of the grid."""

LOWEST: Final = 2.0**-20
HIGHEST: Final = 2.0**20
"""The first and the last level of the grid."""

_PER_OCTAVE: Final = 1 << (GRID_BITS - 1)
_GRID_SIZE: Final = 40 * _PER_OCTAVE + 1


def check_noise_level(level: float) -> float:
    """Return a noise level.

    Raises
    ------
    LevelError
        If it is not a number from `LOWEST` to `HIGHEST`.
    """
    if not LOWEST <= level <= HIGHEST:
        raise LevelError(
            "The noise level σ² = {level:g} is out of range.",
            "Give a number from 0.000001 to {highest:,.0f}. 0 would be the original, and endless"
            " noise would tell nothing.",
            level=level,
            highest=HIGHEST,
        )
    return level


def on_grid(level: float, bits: int = GRID_BITS) -> float:
    """Return the level of the grid with at least as much noise.

    Parameters
    ----------
    level
        σ², from `LOWEST` to `HIGHEST`.
    bits
        How many significant bits the grid has.

    Raises
    ------
    LevelError
        If the level is out of range.
    """
    mantissa, exponent = math.frexp(check_noise_level(level))
    return math.ldexp(math.ceil(math.ldexp(mantissa, bits)), exponent - bits)


def first_level(enough: Callable[[float], bool]) -> float | None:
    """Return the lowest level of the grid at which something holds; None where it never does.

    Parameters
    ----------
    enough
        Tells of a level whether it holds there. Where it holds, it holds for more noise too.
    """
    low, high = 0, _GRID_SIZE
    while low < high:
        middle = (low + high) // 2
        if enough(_level_at(middle)):
            high = middle
        else:
            low = middle + 1
    return _level_at(low) if low < _GRID_SIZE else None


def _level_at(place: int) -> float:
    """Return a level of the grid by its place, from 0."""
    octave, step = divmod(place, _PER_OCTAVE)
    return LOWEST * math.ldexp(1.0 + step / _PER_OCTAVE, octave)


@dataclass(frozen=True)
class BrownianStep:
    """One normal on the way to a time.

    Parameters
    ----------
    time
        The time that the step reaches; no other step reaches it.
    variance
        What the step adds to the variance there: a power of two.
    weight
        How much of it arrives at the path's end.
    """

    time: float
    variance: float
    weight: float

    @property
    def coefficient(self) -> float:
        """What a standard normal is multiplied by."""
        return self.weight * math.sqrt(self.variance)


@lru_cache(maxsize=4096)
def path(time: float) -> tuple[BrownianStep, ...]:
    """Return the steps of which W(time) is the sum, in the order in which they are taken.

    Parameters
    ----------
    time
        A positive number; any float has a path, of at most 53 steps inside its octave.

    Raises
    ------
    ValueError
        If the time is not positive and finite.
    """
    if not 0.0 < time < math.inf:
        raise ValueError("Brownian motion has no value at this time")
    _, exponent = math.frexp(time)
    start = math.ldexp(1.0, exponent - 1)
    low, high = start, 2.0 * start
    at_low, variances = _at_power(low), {}
    if time == low:
        return _steps(at_low, _variances_of_powers(low))
    at_high = _at_power(high)
    variances = _variances_of_powers(low) | _variances_of_powers(high)
    while True:
        # A bridge: the mean of both ends, and a variance of a quarter of the time between.
        middle = low + (high - low) / 2.0
        at_middle = _mean(at_low, at_high)
        at_middle[middle], variances[middle] = 1.0, (high - low) / 4.0
        if middle == time:
            return _steps(at_middle, variances)
        if time < middle:
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle


@dataclass(frozen=True)
class Share:
    """What one step contributes to one of several times: W(times[place]) gains coefficient·z."""

    place: int
    coefficient: float


@dataclass(frozen=True)
class BrownianPlan:
    """The steps on the way to several times, each once, with what they contribute.

    Parameters
    ----------
    times
        The times.
    steps
        For each time that a step reaches, in order, its shares.
    """

    times: tuple[float, ...]
    steps: tuple[tuple[float, tuple[Share, ...]], ...]


def plan_for(times: Sequence[float]) -> BrownianPlan:
    """Return how W is found at several times.

    Whatever the other times are, what arrives at one of them is added up in the order of its
    own path, so that it is the same to the last bit.
    """
    found: dict[float, list[Share]] = {}
    for place, time in enumerate(times):
        for step in path(time):
            found.setdefault(step.time, []).append(Share(place, step.coefficient))
    steps = tuple((time, tuple(found[time])) for time in sorted(found, key=_stage))
    return BrownianPlan(tuple(times), steps)


def _stage(time: float) -> tuple[int, float]:
    """Return when a time is reached on any path: powers of two outward from 1, then by depth."""
    mantissa, exponent = math.frexp(time)
    significant_bits = mantissa.as_integer_ratio()[0].bit_length()
    return (0, abs(exponent - 1)) if significant_bits == 1 else (significant_bits, time)


def _at_power(power: float) -> dict[float, float]:
    """Return the weights of the steps that lead to a power of two."""
    weights = {1.0: 1.0}
    reached = 1.0
    while reached < power:
        reached *= 2.0
        weights[reached] = 1.0
    while reached > power:
        reached /= 2.0
        weights = {time: weight / 2.0 for time, weight in weights.items()}
        weights[reached] = 1.0
    return weights


def _variances_of_powers(power: float) -> dict[float, float]:
    """Return the variances of the steps that lead to a power of two."""
    variances = {1.0: 1.0}
    reached = 1.0
    while reached < power:
        variances[2.0 * reached] = reached
        reached *= 2.0
    while reached > power:
        reached /= 2.0
        variances[reached] = reached / 2.0
    return variances


def _mean(one: dict[float, float], other: dict[float, float]) -> dict[float, float]:
    return {time: (one.get(time, 0.0) + other.get(time, 0.0)) / 2.0 for time in one | other}


def _steps(weights: dict[float, float], variances: dict[float, float]) -> tuple[BrownianStep, ...]:
    ordered = sorted(weights, key=_stage)
    return tuple(BrownianStep(time, variances[time], weights[time]) for time in ordered)


Ids = Words
Rows = Indices

_SLACK: Final = BLOCK_BYTES - 1
_ATTEMPT_SHIFT: Final = 32
_MISSING: Final = np.uint64(0x7FF8_0000_0000_0000)


class _Blocks:
    """Room for the blocks of some records, seen as pairs of words, and for their encryption."""

    def __init__(self, cipher: BlockCipher, capacity: int) -> None:
        self._cipher = cipher
        self._plain = np.zeros(BLOCK_BYTES * capacity, dtype=np.uint8)
        self._drawn = np.zeros(BLOCK_BYTES * capacity + _SLACK, dtype=np.uint8)
        self.plain: Words = self._plain.view("<u8").reshape(-1, 2)
        self.drawn: Words = self._drawn[: BLOCK_BYTES * capacity].view("<u8").reshape(-1, 2)

    def encrypt(self, count: int) -> Words:
        """Encrypt the first blocks; return them as words, shape (count, 2)."""
        size = BLOCK_BYTES * count
        self._cipher.encrypt(self._plain[:size], self._drawn[: size + _SLACK])
        return self.drawn[:count]


@dataclass(frozen=True)
class _Open:
    """The records of one step whose places in their layers still have to be accepted."""

    rows: Rows
    layer: Integers
    place: Floats
    number: np.uint64
    attribute: int


class BrownianKernel:
    """Brownian motion of some records, for one thread.

    Parameters
    ----------
    cipher
        The ladder's pseudo-random function.
    size
        The number of attributes, N.
    capacity
        The largest number of records at once.
    """

    def __init__(self, cipher: BlockCipher, size: int, capacity: int) -> None:
        self._cipher = cipher
        self._size = size
        self._blocks = _Blocks(cipher, capacity)
        self._state = np.empty((capacity, 2), dtype=np.uint64)
        self._ziggurat = Ziggurat(capacity)
        self._normals = np.empty(capacity)
        self._part = np.empty(capacity)
        self._open: list[_Open] = []

    def walk(self, values: Floats, record_ids: Ids, plan: BrownianPlan, out: Floats) -> None:
        """Find W at the plan's times.

        Parameters
        ----------
        values
            The true values, NaN where missing, shape (N, k).
        record_ids
            Shape (k,).
        plan
            The steps to take.
        out
            Room for W, shape (times, N, k).
        """
        self._load(values, record_ids)
        out[...] = 0.0
        for first in range(0, self._size, 2):
            self._blocks.plain[: len(record_ids), 1] = self._state[: len(record_ids), 1]
            self._blocks.plain[: len(record_ids), 1] ^= np.uint64(first)
            pair = range(first, min(first + 2, self._size))
            for time, shares in plan.steps:
                self._step(time, shares, pair, out)
            self._settle(plan, pair, out)

    def _load(self, values: Floats, record_ids: Ids) -> None:
        """Encrypt each record's identifier and true values to its state."""
        count = len(record_ids)
        plain = self._blocks.plain[:count]
        plain[:, 0] = record_ids
        plain[:, 1] = self._size
        state = self._blocks.encrypt(count)
        for first in range(0, self._size, 2):
            plain[...] = state
            for attribute in range(first, min(first + 2, self._size)):
                plain[:, attribute - first] ^= _bits_of(values[attribute])
            state = self._blocks.encrypt(count)
        self._state[:count] = state

    def _step(self, time: float, shares: tuple[Share, ...], pair: range, out: Floats) -> None:
        """Add what one step contributes, but for the records whose normals are not certain."""
        count = out.shape[2]
        number = np.float64(time).view(np.uint64)
        np.bitwise_xor(self._state[:count, 0], number, out=self._blocks.plain[:count, 0])
        words = self._blocks.encrypt(count)
        normals, part = self._normals[:count], self._part[:count]
        for attribute in pair:
            drawn = words[:, attribute - pair.start]
            rows = self._ziggurat.normals(drawn, normals)
            self._open.append(_Open(rows, layer_of(drawn[rows]), normals[rows], number, attribute))
            normals[rows] = 0.0
            for share in shares:
                np.multiply(normals, share.coefficient, out=part)
                target = out[share.place, attribute]
                np.add(target, part, out=target)

    def _settle(self, plan: BrownianPlan, pair: range, out: Floats) -> None:
        """Find the normals that were not certain, all at once, and add what they contribute."""
        opened, self._open = self._open, []
        ends = np.cumsum([len(one.rows) for one in opened])
        settled = np.split(self._settled(opened), ends[:-1])
        steps = ((shares, attribute) for _, shares in plan.steps for attribute in pair)
        for one, normals, (shares, attribute) in zip(opened, settled, steps, strict=True):
            for share in shares:
                out[share.place, attribute, one.rows] += normals * share.coefficient

    def _settled(self, opened: Sequence[_Open]) -> Floats:
        """Decide about places that may lie above the density, drawing others if they do."""
        place = np.concatenate([one.place for one in opened])
        layer = np.concatenate([one.layer for one in opened])
        state = self._state[np.concatenate([one.rows for one in opened])]
        sizes = [len(one.rows) for one in opened]
        state[:, 0] ^= np.repeat(np.array([one.number for one in opened]), sizes)
        state[:, 1] ^= np.repeat(np.array([one.attribute for one in opened], np.uint64), sizes)
        blocks = _Blocks(self._cipher, len(place))
        left = np.arange(len(place))
        attempt = 0
        while len(left):
            attempt += 1
            plain = blocks.plain[: len(left)]
            plain[...] = state[left]
            plain[:, 1] ^= np.uint64(attempt << _ATTEMPT_SHIFT)
            words = blocks.encrypt(len(left))
            place[left], layer[left], done = _another(place[left], layer[left], words)
            left = left[~done]
        return place


def _another(place: Floats, layer: Integers, words: Words) -> tuple[Floats, Integers, Flags]:
    """Accept places in the rims of their layers, or choose others.

    In the lowest layer the rim is the density's tail, and only a place in the tail is chosen
    again; elsewhere the layer is as well.

    Returns
    -------
    tuple
        The places, their layers, and which of them are settled.
    """
    accepted = below_density(layer, place, words[:, 0])
    lowest = np.flatnonzero(layer == 0)
    beyond, accepted[lowest] = tail_places(words[lowest, 0], words[lowest, 1])
    place[lowest] = np.copysign(beyond, place[lowest])
    again = np.flatnonzero(~accepted & (layer != 0))
    fresh, fresh_words = np.empty(len(again)), words[again, 1]
    uncertain = Ziggurat(len(again)).normals(fresh_words, fresh)
    place[again] = fresh
    layer[again] = layer_of(fresh_words)
    accepted[again] = True
    accepted[again[uncertain]] = False
    return place, layer, accepted


def _bits_of(values: Floats) -> Words:
    """Return each number's bits; all zeros are one number, and so is everything missing."""
    # Adding 0 turns -0 into 0.
    bits: Words = (values + 0.0).view(np.uint64)
    return np.where(np.isnan(values), _MISSING, bits)


STRETCH: Final = 1 << 16
"""How many records a thread works on at once: as many as leave the interpreter little to do."""

THREADS: Final = 2
"""How many stretches are worked on at once. No release depends on it."""


def brownian_motion(
    values: Floats,
    record_ids: Ids,
    key: AttributeKey,
    times: Sequence[float],
    context: Context,
    threads: int = THREADS,
    stretch: int = STRETCH,
) -> Floats:
    """Return W of every record at some times.

    Parameters
    ----------
    values
        The records' true values, NaN where missing, shape (N, n).
    record_ids
        The records' identifiers, shape (n,).
    key
        The key of the ladder.
    times
        The times, each positive.
    context
        Told of the progress; may stop the work.
    threads, stretch
        How the work is divided. The result does not depend on it.

    Returns
    -------
    numpy.ndarray
        Standard Brownian motion in N dimensions, shape (times, N, n).

    Raises
    ------
    ValueError
        If a time is not positive, or values and identifiers do not fit together.
    """
    check_shapes(values, record_ids)
    size, rows = values.shape
    plan = plan_for(times)
    motion = np.empty((len(times), size, rows))
    stretch = stretch_for(rows, stretch, threads)

    def worker() -> Worker:
        kernel = BrownianKernel(key.cipher(), size, stretch)

        def work(part: slice) -> None:
            kernel.walk(values[:, part], record_ids[part], plan, motion[:, :, part])

        return work

    in_stretches(rows, stretch, threads, worker, context, "Drawing the noise")
    return motion


def stretch_for(rows: int, most: int, threads: int) -> int:
    """Return how many rows to work on at once, so that no thread has nothing to do."""
    return max(1, min(most, -(-rows // max(1, threads))))


def check_shapes(values: Floats, record_ids: Ids) -> None:
    """Raise `ValueError` where values and identifiers do not fit together."""
    if values.ndim != 2 or not values.shape[0] or record_ids.shape != values.shape[1:]:
        raise ValueError("values are not a list of columns, as long as the record ids")
    if values.dtype != np.float64 or record_ids.dtype != np.uint64:
        raise ValueError("values or record ids are of another type")
