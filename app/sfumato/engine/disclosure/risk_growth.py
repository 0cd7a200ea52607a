"""How the risk grows with every recipient that is added (Xiao, Tao and Chen 2009, Fig. 7).

The average reconstruction probability of all records, after the first release, the first two,
and so on: if every release has noise of its own, and on the ladder, where only a release more
trusted than all before adds anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.disclosure.coalition_risk import (
    can_enumerate,
    draws_for,
    most_whole_draws,
    risk_of_independent,
)
from sfumato.engine.disclosure.record_risk import NORMAL_95, beliefs_about, is_sparse
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.randomness.simulation_rng import draw_released

DRAWS = 40_000
EXACT_ENTRIES = 2_000_000
"""Outcomes times values gone through for an exact step."""


@dataclass(frozen=True)
class GrowthPoint:
    """The risk after one more recipient.

    Parameters
    ----------
    recipients
        How many there are now.
    trust
        The newest release's trust, from 0 to 1.
    independent
        The average reconstruction probability of all who hold something, pooling releases with
        noise of their own.
    independent_error
        Half the width of its 95 % interval; 0 where it is exact.
    on_ladder
        The same on the ladder: the most trusted one's alone.
    ladder_error
        Half the width of its 95 % interval; 0 where it is exact.
    """

    recipients: int
    trust: float
    independent: float
    independent_error: float
    on_ladder: float
    ladder_error: float = 0.0


def risk_growth(
    matrices: Sequence[PerturbationMatrix],
    trusts: Sequence[float],
    frequencies: Vector,
    context: Context,
) -> tuple[GrowthPoint, ...]:
    """Return the risk after each of several releases.

    Parameters
    ----------
    matrices
        The releases in the order in which they are made, all on one ladder.
    trusts
        The trust of each, from 0 to 1: the higher of two is the more telling.
    frequencies
        The share of each value, shape (m,), summing to 1.
    context
        Progress and cancelling.
    """
    shares = np.asarray(frequencies, dtype=np.float64)
    means, errors = _independent(matrices, shares, Part(context, 0.0, 0.8))
    points: list[GrowthPoint] = []
    best = -1.0
    ladder, ladder_error = 0.0, 0.0
    for place, (matrix, trust) in enumerate(zip(matrices, trusts, strict=True)):
        context.report(0.8 + 0.2 * place / len(matrices), "Weighing the most trusted")
        if trust > best:
            best = trust
            risk = risk_of_independent([matrix], shares, Silent())
            ladder, ladder_error = risk.average, risk.average_error
        points.append(
            GrowthPoint(place + 1, trust, means[place], errors[place], ladder, ladder_error)
        )
    return tuple(points)


def _independent(
    matrices: Sequence[PerturbationMatrix], frequencies: Vector, context: Context
) -> tuple[list[float], list[float]]:
    """Return the mean after each release and half the width of its 95 % interval.

    The first means are exact where their outcomes can be gone through; the others are averages
    over records drawn once, to which release after release is added.
    """
    total, squares = _drawn_sums(matrices, frequencies, Part(context, 0.0, 0.9))
    means = np.array(total)
    spreads = np.sqrt(np.maximum(np.array(squares), 0.0))
    errors = NORMAL_95 * spreads
    for place in range(len(matrices)):
        if not can_enumerate(len(frequencies), place + 1, EXACT_ENTRIES):
            break
        part = Part(context, 0.9, 1.0)
        means[place] = risk_of_independent(matrices[: place + 1], frequencies, part).average
        errors[place] = 0.0
    return means.tolist(), errors.tolist()


def _drawn_sums(
    matrices: Sequence[PerturbationMatrix], frequencies: Vector, context: Context
) -> tuple[list[float], list[float]]:
    """Return each step's mean and its variance, from draws stratified by the true value."""
    size, steps = len(frequencies), len(matrices)
    wanted = DRAWS if is_sparse(frequencies, matrices) else most_whole_draws(size, steps)
    counts = np.maximum(np.ceil(frequencies * wanted), 2).astype(np.int64)
    counts[frequencies == 0.0] = 0
    sums, squares = np.zeros((steps, size)), np.zeros((steps, size))
    for true, _each, numbers in draws_for(frequencies, counts, steps, context):
        beliefs = beliefs_about(true, frequencies, matrices)
        for step, (matrix, draws) in enumerate(zip(matrices, numbers, strict=True)):
            beliefs.see(matrix, draw_released(matrix, true, draws))
            found = beliefs.of_true()
            sums[step] += np.bincount(true, weights=found, minlength=size)
            squares[step] += np.bincount(true, weights=found * found, minlength=size)
    drawn = np.maximum(counts, 2)
    means = sums / drawn
    variances = np.maximum(squares / drawn - means**2, 0.0) / (drawn - 1)
    return (means @ frequencies).tolist(), (variances @ frequencies**2).tolist()
