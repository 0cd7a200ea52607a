"""Whether collusion is useless in practice, from simulated counts (the paper's Fig. 5 and 6).

Fig. 5: for each three releases, what the three recipients believe together, f(x | ya, yb, yc),
beside what the most trusted one believes alone, f(x | yc), both estimated from the counts; the
pair of distributions that differ most, by the L2 norm (its equation 15).

Fig. 6: for each recipient and true value, the distribution of the released value beside uniform
perturbation (equation 16); the one that is most in error.

Distributions estimated from counts differ even where the true ones are equal. How much is found
in two ways. For one pair, the expected square of the distance is (1 − Σf²)·(1/N − 1/N_c), with N
simulations behind the first and N_c behind the second. For the largest of all pairs, the same
number of simulations is run from the top level down, each release made from the one before alone,
where there is nothing to learn by colluding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sfumato.engine.disclosure.record_risk import NORMAL_95
from sfumato.engine.matrices.matrix import Vector
from tests.benchmarks.multi_level.simulation import (
    FALLING,
    PAPER_ARRIVALS,
    Counts,
    joint_counts,
)

USUAL_SIMULATIONS: Final = 100_000_000
RECIPIENTS: Final = ("Alice", "Bob", "Charlie")

_MANY: Final = 100
_FEW: Final = 200_000_000
"""Up to so many simulations, the noise is found from three runs instead of one."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two distributions and how far they are apart.

    Parameters
    ----------
    given
        What they are conditional on: three releases (ya, yb, yc), or a recipient and a true
        value.
    found
        The distribution in question, shape (s,).
    expected
        What it should be, shape (s,).
    distance
        The L2 norm of the difference.
    """

    given: tuple[int, ...]
    found: Vector
    expected: Vector
    distance: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """All pairs of one kind, and the worst of them.

    Parameters
    ----------
    worst
        The pair that differs most.
    largest_from_noise
        The largest distance that sampling noise alone gives, the mean over reference runs.
    reference_runs
        How many of them there were.
    pairs
        How many pairs were compared.
    ratio
        The squared distances over those that noise gives, averaged over all pairs: about 1.
    ratio_error
        Half the width of its 95 % interval.
    """

    worst: Pair
    largest_from_noise: float
    reference_runs: int
    pairs: int
    ratio: float
    ratio_error: float


@dataclass(frozen=True, eq=False)
class CollusionTest:
    """The outcome of the experiment for one prior.

    Parameters
    ----------
    simulations
        How many were run.
    usefulness
        Fig. 5: together against alone.
    equivalence
        Fig. 6: each release against uniform perturbation.
    """

    simulations: int
    usefulness: Comparison
    equivalence: Comparison


def collusion_test(prior: Vector, simulations: int) -> CollusionTest:
    """Run the experiments of Fig. 5 and 6 for one prior.

    Parameters
    ----------
    prior
        The distribution of true values, shape (s,), s from 2 to 64.
    simulations
        How many; the paper runs 10¹⁰.
    """
    references = 3 if simulations <= _FEW else 1
    counts = joint_counts(prior, simulations)
    noise = [joint_counts(prior, simulations, FALLING, run=1 + run) for run in range(references)]
    compared = []
    for compare in (usefulness, equivalence):
        worst, squares = compare(counts, PAPER_ARRIVALS)
        largest = np.mean([compare(drawn, FALLING)[0].distance for drawn in noise])
        compared.append(Comparison(worst, float(largest), references, *_ratio(squares)))
    return CollusionTest(simulations, *compared)


def usefulness(counts: Counts, levels: Sequence[float]) -> tuple[Pair, Vector]:
    """Return the pair of together and alone that differs most, and all relative squares.

    Parameters
    ----------
    counts
        F, shape (s, s, s, s): the true value, then the releases.
    levels
        The releases' levels, in the order of their axes.

    Returns
    -------
    Pair, numpy.ndarray
        The second holds the squared distance of each pair over its expectation from noise.
    """
    size = len(counts)
    best = 1 + int(np.argmax(levels))
    ordered = np.moveaxis(counts, best, 1)
    worst: Pair | None = None
    squares: list[Vector] = []
    for shown in range(size):
        cells = ordered[:, shown].reshape(size, -1)
        behind = cells.sum(axis=0)
        whole = int(behind.sum())
        if whole == 0:
            continue
        alone = cells.sum(axis=1) / whole
        seen = behind > 0
        together = cells[:, seen] / behind[seen]
        apart = ((together - alone[:, None]) ** 2).sum(axis=0)
        noise = (1.0 - float(alone @ alone)) * (1.0 / behind[seen] - 1.0 / whole)
        squares.append(apart[noise > 0.0] / noise[noise > 0.0])
        at = int(np.argmax(apart))
        distance = float(np.sqrt(apart[at]))
        if worst is None or distance > worst.distance:
            cell = int(np.flatnonzero(seen)[at])
            others = [int(place) for place in np.unravel_index(cell, (size, size))]
            others.insert(best - 1, shown)
            worst = Pair(tuple(others), together[:, at], alone, distance)
    assert worst is not None
    return worst, np.concatenate(squares)


def equivalence(counts: Counts, levels: Sequence[float]) -> tuple[Pair, Vector]:
    """Return the release that is furthest from uniform perturbation, and all relative squares.

    Parameters and results are as for `usefulness`; a pair is given by (recipient, true value).
    """
    size = len(counts)
    worst: Pair | None = None
    squares: list[float] = []
    for place, level in enumerate(levels):
        axes = tuple(1 + other for other in range(len(levels)) if other != place)
        table = counts.sum(axis=axes)
        for value in range(size):
            behind = int(table[value].sum())
            if behind == 0:
                continue
            expected = np.full(size, (1.0 - level) / size)
            expected[value] += level
            found = table[value] / behind
            square = float(((found - expected) ** 2).sum())
            noise = (1.0 - float(expected @ expected)) / behind
            squares.append(square / noise)
            if worst is None or square**0.5 > worst.distance:
                worst = Pair((place, value), found, expected, square**0.5)
    assert worst is not None
    return worst, np.array(squares)


def _ratio(squares: Vector) -> tuple[int, float, float]:
    """Return how many pairs there are, the mean of their relative squares, and its error.

    A few pairs say too little about their own spread: the largest that noise can have is taken
    then, that of the square of one normal.
    """
    count = len(squares)
    spread = float(squares.std(ddof=1)) if count > 1 else 0.0
    if count < _MANY:
        spread = max(spread, 2.0**0.5)
    return count, float(squares.mean()), NORMAL_95 * spread / count**0.5
