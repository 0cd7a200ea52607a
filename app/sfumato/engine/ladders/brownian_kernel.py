"""The Brownian ladder for some records at a time: one thread's cipher and buffers.

A draw is one block of AES. The record's identifier and the bits of all its true values are
encrypted to a state first (CBC-MAC over texts of one length, a pseudo-random function); the
state, with the time of the step and the attribute mixed in, is encrypted once more. A record
with a corrected value gets noise that has nothing to do with the old one: otherwise whoever
holds both editions would see by how much it was corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.ladders.brownian_tree import Plan, Share
from sfumato.engine.randomness.keys import BLOCK_BYTES, BlockCipher
from sfumato.engine.randomness.normals import Ziggurat, below_density, layer_of, tail_places

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.intp]

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
    layer: npt.NDArray[np.int64]
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

    def walk(self, values: Floats, record_ids: Ids, plan: Plan, out: Floats) -> None:
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

    def _settle(self, plan: Plan, pair: range, out: Floats) -> None:
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


def _another(
    place: Floats, layer: npt.NDArray[np.int64], words: Words
) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
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
