"""What multi-pert costs over thousands of releases (the paper's Fig. 8).

Levels are drawn evenly from [0.001, 0.5] and requested as drawn, ascending, or descending. Told
are the mean length of history(t), which stays below 1 + ln(p_max/p_min) for every order, and the
time that a release takes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.values import smallest_unsigned
from sfumato.engine.matrices.matrix import Vector
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing, uniforms
from sfumato.engine.randomness.record_ids import record_ids_by_position
from tests.benchmarks.multi_level.multi_pert import ReleaseHistory, multi_pert

PAPER_RELEASES: Final = 10_000
PAPER_LEVELS = (0.001, 0.5)
"""The range from which the paper draws its retention probabilities, evenly."""

_POINTS: Final = 60
_CODES_STREAM: Final = 1 << 43
_LEVELS_STREAM: Final = 1 << 40


class Order(StrEnum):
    """The order in which the levels are requested."""

    RANDOM = "random"
    ASCENDING = "ascending"
    DESCENDING = "descending"


@dataclass(frozen=True, eq=False)
class HistoryCost:
    """What the releases cost in one order.

    Parameters
    ----------
    order
        The order of the requests.
    releases
        After how many releases it was measured, shape (points,).
    length
        The mean length of history(t) then, shape (points,).
    bound
        1 + ln(p_max/p_min) of the levels so far, shape (points,).
    seconds
        The mean time of a release since the point before, shape (points,).
    records
        How many records there were.
    """

    order: Order
    releases: Vector
    length: Vector
    bound: Vector
    seconds: Vector
    records: int


def drawn_codes(frequencies: Vector, records: int) -> Codes:
    """Return so many true values that have these shares, evenly spread; shape (records,)."""
    steps = np.cumsum(frequencies)
    places = np.searchsorted(steps, uniforms(records, _CODES_STREAM) * steps[-1], side="right")
    size = len(frequencies)
    codes: Codes = np.minimum(places, size - 1).astype(smallest_unsigned(size))
    return codes


def history_cost(codes: Codes, size: int, releases: int, order: Order) -> HistoryCost:
    """Answer requests by multi-pert, one after the other, and measure.

    Parameters
    ----------
    codes
        The records' true values, shape (n,).
    size
        The number of values in the domain.
    releases
        How many levels are requested, at least 1.
    order
        Their order.
    """
    levels = ordered_levels(releases, order)
    points = np.unique(np.geomspace(1, releases, _POINTS).round().astype(np.int64))
    history = ReleaseHistory(codes, size)
    ids = record_ids_by_position(len(codes))
    key = KeyRing(bytes(SECRET_BYTES)).for_attribute("history", str(size), order.value)
    length, seconds = np.zeros(len(points)), np.zeros(len(points))
    at, since, spent = 0, 0, 0.0
    for done, level in enumerate(levels.tolist(), start=1):
        started = time.thread_time()  # as the paper, the processor's time
        multi_pert(history, level, ids, key)
        spent += time.thread_time() - started
        if done == points[at]:
            length[at] = history.elements / max(len(codes), 1)
            seconds[at] = spent / (done - since)
            at, since, spent = at + 1, done, 0.0
    highest = np.maximum.accumulate(levels)[points - 1]
    lowest = np.minimum.accumulate(levels)[points - 1]
    bound = 1.0 + np.log(highest / lowest)
    return HistoryCost(order, points.astype(np.float64), length, bound, seconds, len(codes))


def ordered_levels(count: int, order: Order) -> Vector:
    """Return the levels in the order in which they are requested, shape (count,)."""
    drawn = random_levels(count)
    levels, first = np.unique(drawn, return_index=True)
    if order is Order.ASCENDING:
        return levels
    if order is Order.DESCENDING:
        return levels[::-1]
    return drawn[np.sort(first)]


def random_levels(count: int) -> Vector:
    """Return levels drawn evenly from the paper's range, the same each time; shape (count,)."""
    lowest, highest = PAPER_LEVELS
    drawn: Vector = lowest + (highest - lowest) * uniforms(count, _LEVELS_STREAM)
    return drawn
