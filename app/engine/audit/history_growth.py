"""How large multi-pert's history grows, and what a release costs (the paper's figure 8).

Xiao, Tao and Chen, VLDB 2009, section 7: 10,000 retention probabilities from [0.001, 0.5], in
random, ascending and descending order. Nothing here is released, so the draws may come from a
key that everyone knows: the same question has the same answer, but for the times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from app.engine.columns import Codes
from app.engine.history import ReleaseHistory, multi_pert
from app.engine.progress import Context
from app.engine.randomness import SECRET_BYTES, AttributeKey, record_ids_by_position


class Order(StrEnum):
    """In which order the levels are asked for."""

    RANDOM = "random"
    """As they are given."""
    ASCENDING = "ascending"
    DESCENDING = "descending"


@dataclass(frozen=True)
class HistoryGrowth:
    """What was measured, release by release.

    Parameters
    ----------
    order
        The order of the levels.
    levels
        The levels, in that order, shape (k,).
    lengths
        The average length of a record's history after each release, shape (k,).
    bounds
        The paper's bound on it, 1 + ln(p_max/p_min) over the levels so far, shape (k,).
    seconds
        What each release took, shape (k,).
    """

    order: Order
    levels: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.float64]
    bounds: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]


def history_growth(
    codes: Codes,
    size: int,
    levels: Sequence[float],
    order: Order,
    clock: Callable[[], float],
    context: Context,
) -> HistoryGrowth:
    """Release a column at many levels by multi-pert, and measure its history.

    Parameters
    ----------
    codes
        The true codes, shape (n,).
    size
        The number of values in the domain.
    levels
        The retention probabilities, each once, above 0 and up to 1.
    order
        In which order they are asked for.
    clock
        Tells the time in seconds, e.g. `time.perf_counter`.
    context
        Progress and cancelling.

    Raises
    ------
    LevelError
        If a level is not between 0 and 1.
    """
    asked = np.asarray(levels, dtype=np.float64)
    if order is not Order.RANDOM:
        asked = np.sort(asked)
    if order is Order.DESCENDING:
        asked = asked[::-1]
    history = ReleaseHistory(codes, size)
    ids, key = record_ids_by_position(len(codes)), AttributeKey(bytes(SECRET_BYTES))
    lengths, seconds = np.empty(len(asked)), np.empty(len(asked))
    for place, level in enumerate(asked.tolist()):
        if place % 16 == 0:
            context.report(place / len(asked), "Releasing level after level")
        begun = clock()
        multi_pert(history, level, ids, key)
        seconds[place] = clock() - begun
        lengths[place] = history.elements / max(len(codes), 1)
    ratios = np.maximum.accumulate(asked) / np.minimum.accumulate(asked)
    return HistoryGrowth(order, asked, lengths, 1.0 + np.log(ratios), seconds)


def expected_length(levels: Sequence[float], size: int) -> float:
    """Return the exact expected length of a record's history after releases at these levels.

    1 + Σ (1 - p_{i+1}/p_i)·(s - 1)/s over the sorted levels (the proof of Lemma 2).
    """
    falling = sorted(set(levels), reverse=True)
    shares = (1.0 - low / high for high, low in pairwise(falling))
    return 1.0 + math.fsum(shares) * (size - 1) / size
