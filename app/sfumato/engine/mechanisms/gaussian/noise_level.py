"""Levels of Gaussian noise: σ², the variance of the noise relative to that of the data.

A level is shown as it is used, so it lies on a grid: 12 significant bits, neighbours 0.05 %
apart at most. A stated level becomes the next one of the grid with at least as much noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from sfumato.engine.core.errors import LevelError

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
