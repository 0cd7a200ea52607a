"""One record's way down the uniform ladder, from its events one by one.

Independent of how the product looks for changes, which is by releasing at many levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context as Digits
from decimal import Decimal
from itertools import pairwise
from typing import Final

import numpy as np

from sfumato.engine.core.columns import smallest_unsigned
from sfumato.engine.core.progress import Silent
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.ladders.uniform_cells import (
    GROUP_CELLS,
    WORD,
    Blocks,
    DrawPurpose,
    cell_length,
    count_thresholds,
    rung_at,
    stream,
)
from sfumato.engine.randomness.keys import AttributeKey

_DIGITS: Final = Digits(prec=40)


@dataclass(frozen=True)
class Step:
    """From this level downwards, until the next step, a release shows this code."""

    level: float
    code: int


class _Record:
    """The draws of one record."""

    def __init__(self, code: int, record_id: int, key: AttributeKey) -> None:
        self._blocks = Blocks(key.cipher(), 1)
        self._blocks.fill(np.array([code], dtype=np.uint32), np.array([record_id], dtype=np.uint64))

    def words(self, number: int) -> list[int]:
        """Return the two words of 64 bits that a stream's block holds."""
        return [int(word) for word in self._blocks.draw(1, number).view("<u8")]

    def occupied_cells(self, deepest: int) -> list[int]:
        """Return the cells that hold events, down to the deepest one asked for."""
        cells = []
        for first in range(0, deepest, GROUP_CELLS):
            word = self.words(stream(DrawPurpose.GROUP, first // GROUP_CELLS))[0]
            held = word & word >> 32
            cells += [first + bit + 1 for bit in range(GROUP_CELLS) if held >> bit & 1]
        return [cell for cell in cells if cell <= deepest]

    def places(self, cell: int) -> list[float]:
        """Return where a cell's events lie, from 0 (its lower end) to 1."""
        one, two = count_thresholds()[:2]
        number, first = self.words(stream(DrawPurpose.PLACES, cell))
        if number < one:
            return [number / one]
        if number < two:
            return [first / WORD, (number - one) / (two - one)]
        count = 1 + sum(number >= threshold for threshold in count_thresholds())
        places = [first]
        for block in range(1, count // 2 + 1):
            places += self.words(stream(DrawPurpose.PLACES, cell, block))
        return [place / WORD for place in places[:count]]


def event_path(
    code: int, size: int, record_id: int, key: AttributeKey, lowest: float = 0.001
) -> tuple[Step, ...]:
    """Return the levels at which what a record shows changes, and what it then shows.

    Parameters
    ----------
    code
        The record's true value.
    size
        The number of values in the domain, m.
    record_id
        The record's identifier.
    key
        The attribute's key.
    lowest
        The level at which the path ends, above 0.

    Returns
    -------
    tuple of Step
        From level 1, where the original is shown, downwards. Levels are rounded down by less
        than a billionth of a millionth, so that a release at a step's level shows its code.
    """
    record = _Record(code, record_id, key)
    deepest = rung_at(lowest).cell if lowest < 1.0 else 0
    levels = sorted(
        (
            _level(cell, place)
            for cell in record.occupied_cells(deepest)
            for place in record.places(cell)
        ),
        reverse=True,
    )
    codes = np.array([code], dtype=smallest_unsigned(size))
    ids = np.array([record_id], dtype=np.uint64)
    steps = [Step(1.0, code)]
    for level in levels:
        if level >= lowest:
            shown = release_codes(codes, size, level, ids, key, Silent())
            steps.append(Step(level, int(shown[0])))
    return (steps[0], *(step for before, step in pairwise(steps) if step.code != before.code))


def _level(cell: int, place: float) -> float:
    """Return the level at a place of a cell, rounded down."""
    exponent = _DIGITS.multiply(_DIGITS.subtract(Decimal(place), Decimal(cell)), cell_length())
    level = float(_DIGITS.exp(exponent))
    return level - 4 * math.ulp(level)
