"""How much two numeric attributes depend on each other, cheaply enough to be asked at each edit."""

from __future__ import annotations

from typing import Final

import numpy as np

from sfumato.engine.table.table import Attribute

SAMPLE: Final = 20_000
"""Records a correlation is taken from, evenly spaced: enough for two digits."""


def correlation(first: Attribute, second: Attribute) -> float:
    """Return the correlation of two numeric attributes where both are known; else 0.

    Parameters
    ----------
    first, second
        The attributes; from -1 to 1, and 0 where one of them has no numbers, is constant, or
        fewer than three records have both.
    """
    if first.numbers is None or second.numbers is None:
        return 0.0
    step = max(len(first.numbers) // SAMPLE, 1)
    pair = np.stack([first.numbers[::step], second.numbers[::step]])
    pair = pair[:, np.isfinite(pair).all(axis=0)]
    if pair.shape[1] < 3:
        return 0.0
    pair = pair - pair.mean(axis=1, keepdims=True)
    scale = np.abs(pair).max(axis=1, keepdims=True)
    if (scale == 0).any():
        return 0.0
    pair /= scale
    spread = np.sqrt((pair**2).sum(axis=1))
    return float(pair[0] @ pair[1] / (spread[0] * spread[1]))
