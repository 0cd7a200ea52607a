"""The uniform ladder once more: slow, one record at a time, in integers and fractions.

It is written from the law and shares no code with the product but the key's cipher, so that
the two can be held against each other byte by byte.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np

from sfumato.engine.randomness.keys import AttributeKey

WORD = 2**64
Draws = Callable[[int], bytes]
"""A record's 16 bytes drawn from a stream."""


def draws_of(key: AttributeKey, record_id: int, code: int) -> Draws:
    cipher = key.cipher()

    def draw(stream: int) -> bytes:
        block = (
            record_id.to_bytes(8, "little")
            + code.to_bytes(4, "little")
            + stream.to_bytes(4, "little")
        )
        out = np.zeros(31, dtype=np.uint8)
        cipher.encrypt(np.frombuffer(block, dtype=np.uint8), out)
        return out[:16].tobytes()

    return draw


@cache
def log_four_thirds() -> Fraction:
    with localcontext() as context:
        context.prec = 100
        return Fraction((Decimal(4) / Decimal(1)).ln() - Decimal(3).ln())


def log_of(level: float) -> Fraction:
    with localcontext() as context:
        context.prec = 100
        return Fraction(Decimal(level).ln())


def floor_less_one(x: Fraction) -> int:
    return max(math.floor(x) - 1, 0)


@cache
def number_bounds() -> list[int]:
    """Bounds on the first word: at or above element n - 1, the cell holds over n events."""
    bounds: list[int] = []
    total = Fraction(0)
    while not bounds or bounds[-1] < WORD - 2:
        n = len(bounds) + 1
        total += log_four_thirds() ** n / math.factorial(n)
        bounds.append(floor_less_one(3 * total * WORD))
    return bounds


@dataclass(frozen=True)
class Event:
    """One event of a cell: when it counts, its order from the lowest, and how it is drawn."""

    counts: bool
    name: int


def cell_of(level: Fraction) -> int:
    cell = 1
    while level < Fraction(3, 4) ** cell:
        cell += 1
    return cell


def events_inside(draw: Draws, cell: int, level: float) -> list[Event]:
    """Return the events of an occupied cell, from the lowest up."""
    first = draw(1 << 30 | cell << 18)
    word = int.from_bytes(first[:8], "little")
    height = log_of(level) + cell * log_four_thirds()
    place_of_level = floor_less_one(height / log_four_thirds() * WORD)
    if Fraction(level) == Fraction(3, 4) ** cell:
        return [Event(counts=True, name=0)]
    number = 1 + sum(word >= bound for bound in number_bounds())
    if number == 1:
        return [Event(counts=word >= floor_less_one(3 * height * WORD), name=0)]
    places = [(int.from_bytes(first[8:], "little"), place_of_level)]
    if number == 2:
        low, high = number_bounds()[:2]
        places.append((word, low + (high - low) * place_of_level // WORD))
        # Both on one scale, for their order: it matters only where one counts alone.
        counting = [place >= bound for place, bound in places]
        if counting[0] == counting[1]:
            return [Event(counting[0], 0), Event(counting[0], -1)]
        return [Event(counts=False, name=0), Event(counts=True, name=1 + counting.index(True))]
    for index in range(1, number):
        block, half = divmod(index + 1, 2)
        drawn = draw(1 << 30 | cell << 18 | block << 8)
        word = int.from_bytes(drawn[8 * half : 8 * half + 8], "little")
        places.append((word, place_of_level))
    order = sorted(range(number), key=lambda index: places[index][0])
    return [
        Event(counts=places[index][0] >= place_of_level, name=1 + index if at else 0)
        for at, index in enumerate(order)
    ]


def occupied_cells(draw: Draws, group: int) -> list[int]:
    drawn = draw(group << 18)
    one = int.from_bytes(drawn[0:4], "little")
    other = int.from_bytes(drawn[4:8], "little")
    return [32 * group + bit + 1 for bit in range(32) if one >> bit & other >> bit & 1]


def lowest_value(draw: Draws, cell: int, size: int) -> int:
    """Return what the lowest event of an occupied cell puts in."""
    group = (cell - 1) // 32
    rank = occupied_cells(draw, group).index(cell)
    words = draw(group << 18)[8:]
    width = 1 if size <= 64 else 2
    word = words[width * rank : width * (rank + 1)]
    if len(word) == width:
        product = int.from_bytes(word, "little") * size
        if product % 256**width >= 256**width % size:
            return product // 256**width
    return own_value(draw, 2 << 30 | cell << 18, size)


def own_value(draw: Draws, stream: int, size: int) -> int:
    attempt = 0
    while True:
        product = int.from_bytes(draw(stream + attempt)[:4], "little") * size
        if product % 2**32 >= 2**32 % size:
            return product // 2**32
        attempt += 1


def release_one(key: AttributeKey, record_id: int, code: int, size: int, level: float) -> int:
    """Return what one record shows at a level."""
    draw = draws_of(key, record_id, code)
    if level == 0:
        return own_value(draw, 3 << 30, size)
    if level == 1:
        return code
    cell = cell_of(Fraction(level))
    if cell in occupied_cells(draw, (cell - 1) // 32):
        counting = [event for event in events_inside(draw, cell, level) if event.counts]
        if counting and counting[0].name == 0:
            return lowest_value(draw, cell, size)
        if counting:
            return own_value(draw, 2 << 30 | cell << 18 | counting[0].name << 8, size)
    for group in range((cell - 1) // 32, -1, -1):
        above = [other for other in occupied_cells(draw, group) if other < cell]
        if above:
            return lowest_value(draw, above[-1], size)
    return code
