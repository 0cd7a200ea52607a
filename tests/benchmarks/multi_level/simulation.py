"""Simulates multi-pert for three recipients and counts the joint outcomes (paper's section 7).

The paper draws a true value, answers the requests of Alice (p = 0.3), Bob (0.1) and Charlie
(0.5) in this order, so that every case of multi-pert occurs, and counts F[X, Ya, Yb, Yc].

Simulations are exchangeable: how many have each true value is drawn at once (a multinomial),
and the simulations of one value are then run together, in blocks and on two threads. Each release
takes one word of 32 bits: it decides on the coin, and what is left of it, on the value. A value's
chance is off by at most 2⁻³² for that, far below the noise of any number of simulations that can
be run.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from sfumato.engine.matrices.matrix import Vector
from sfumato.engine.randomness.keys import uniforms, words
from tests.benchmarks.multi_level.multi_pert import coin

PAPER_SIZE = 50
"""The paper's domain: 50 values."""

_SPREAD = 6.0

Words = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int64]
_Values = npt.NDArray[np.int64]

PAPER_ARRIVALS: Final = (0.3, 0.1, 0.5)
"""Alice, Bob and Charlie, in the order in which they ask."""

FALLING: Final = (0.5, 0.3, 0.1)
"""The same levels from the top down: each release is made from the one before alone, so nobody
can learn anything by colluding. What is found here is sampling noise."""

_RECIPIENTS: Final = 3
_BLOCK: Final = 1 << 17
_TASK: Final = 1 << 22
_THREADS: Final = 2
_RANGE: Final = 2.0**32
_VALUES_STREAM: Final = 1 << 41
_RELEASES_STREAM: Final = 1 << 42


@dataclass(frozen=True)
class _Request:
    """One release: the neighbours it is made from, and the chances of its coin."""

    upper: int | None
    lower: int | None
    chances: tuple[tuple[float, float], tuple[float, float]]
    """Heads and tails where the neighbours differ, and where they are the same."""


@dataclass(frozen=True)
class _Task:
    """Some simulations with one true value."""

    value: int
    start: int
    count: int
    run: int


def joint_counts(
    prior: Vector,
    simulations: int,
    arrivals: Sequence[float] = PAPER_ARRIVALS,
    run: int = 0,
) -> Counts:
    """Simulate and count.

    Parameters
    ----------
    prior
        The distribution of true values, shape (s,), s from 2 to 64: the counts of three releases
        have s⁴ cells, 134 MB at 64 values.
    simulations
        How many, at least 1.
    arrivals
        The retention probabilities in the order in which the requests arrive; three different
        ones between 0 and 1.
    run
        The same run has the same draws; from 0 to 255.

    Returns
    -------
    numpy.ndarray
        F, shape (s, s, s, s): how often each true value went with each three releases, these
        in the order of their arrival.
    """
    size = len(prior)
    requests = _requests(arrivals, size)
    totals = draw_counts(prior, simulations, run)
    counts = np.zeros((size, size**_RECIPIENTS), dtype=np.int64)
    tasks = [
        _Task(value, start, min(_TASK, total - start), run)
        for value, total in enumerate(totals.tolist())
        for start in range(0, total, _TASK)
    ]
    with ThreadPoolExecutor(_THREADS, "simulation") as pool:
        found = pool.map(lambda task: _simulate(task, requests, size), tasks)
        for task, counted in zip(tasks, found, strict=True):
            counts[task.value] += counted
    return counts.reshape((size,) * (_RECIPIENTS + 1))


def draw_counts(prior: Vector, simulations: int, run: int = 0) -> Counts:
    """Draw how many simulations have each true value, a multinomial; shape (s,)."""
    draws = uniforms(len(prior), _VALUES_STREAM + run)
    counts = np.zeros(len(prior), dtype=np.int64)
    left, rest = simulations, 1.0
    for value, share in enumerate(prior.tolist()):
        chance = min(share / rest, 1.0) if rest > 0.0 else 0.0
        last = value == len(prior) - 1
        drawn = left if last or chance >= 1.0 else int(binom.ppf(draws[value], left, chance))
        counts[value] = drawn if share > 0.0 else 0
        left -= int(counts[value])
        rest -= share
    # Rounding can leave the last value without a share: its simulations go to the commonest.
    counts[int(np.argmax(prior))] += left
    return counts


def _requests(arrivals: Sequence[float], size: int) -> tuple[_Request, ...]:
    """Return what each release is made from, in the order of arrival."""
    requests = []
    for place, level in enumerate(arrivals):
        known = list(enumerate(arrivals[:place]))
        above = min(((one, at) for at, one in known if one > level), default=(1.0, None))
        below = max(((one, at) for at, one in known if one < level), default=None)
        if below is None:
            heads = level / above[0]
            requests.append(_Request(above[1], None, ((heads, 0.0), (heads, 0.0))))
            continue
        chances = [coin(level, above[0], below[0], same, size) for same in (False, True)]
        pairs = [(float(heads), float(tails)) for heads, tails in chances]
        requests.append(_Request(above[1], below[1], (pairs[0], pairs[1])))
    return tuple(requests)


def _simulate(task: _Task, requests: Sequence[_Request], size: int) -> Counts:
    """Run the simulations of a task; return the counts of their outcomes, shape (s³,)."""
    counts = np.zeros(size**_RECIPIENTS, dtype=np.int64)
    stream = _RELEASES_STREAM + task.run * (1 << 16) + task.value
    for start in range(0, task.count, _BLOCK):
        count = min(_BLOCK, task.count - start)
        first = (task.start + start) // 4 * _RECIPIENTS
        drawn = words(_RECIPIENTS * count, stream, first).reshape(_RECIPIENTS, count)
        releases: list[_Values] = []
        for request, word in zip(requests, drawn, strict=True):
            releases.append(_release(task.value, releases, request, word, size))
        cell = (releases[0] * size + releases[1]) * size + releases[2]
        counts += np.bincount(cell, minlength=len(counts))
    return counts


def _release(
    value: int, releases: Sequence[_Values], request: _Request, word: Words, size: int
) -> _Values:
    """Make one release of a block: the upper value, the lower one, or one drawn evenly."""
    upper = value if request.upper is None else releases[request.upper]
    if request.lower is None:
        heads = request.chances[0][0]
        fresh = _evenly(word, heads, size)
        return np.where(word < heads * _RANGE, upper, fresh)
    lower = releases[request.lower]
    made = []
    for heads, tails in request.chances:
        shown = np.where(word < (heads + tails) * _RANGE, lower, _evenly(word, heads + tails, size))
        made.append(np.where(word < heads * _RANGE, upper, shown))
    return np.where(lower == upper, made[1], made[0])


def _evenly(word: Words, taken: float, size: int) -> _Values:
    """Turn what the coin left of each word into a value; of no account below `taken`."""
    threshold = np.ceil(taken * _RANGE)
    values: _Values = ((word - threshold) * (size / (_RANGE - threshold))).astype(np.int64)
    return values


# ----- the distributions of true values that the simulations begin with (Fig. 4)


def uniform_prior(size: int = PAPER_SIZE) -> Vector:
    """Return equal shares, shape (size,) (Fig. 4a)."""
    return np.full(size, 1.0 / size)


def gaussian_prior(size: int = PAPER_SIZE) -> Vector:
    """Return a bell in the middle of the domain, shape (size,) (Fig. 4b).

    The paper doesn't tell its width; here the domain spans six standard deviations.
    """
    places = np.arange(size) - (size - 1) / 2.0
    heights = np.exp(-0.5 * (places / (size / _SPREAD)) ** 2)
    return np.asarray(heights / heights.sum())
