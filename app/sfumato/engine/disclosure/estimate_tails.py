"""How often an estimate of a group's share misses the truth by more than ε of it.

The attacker's estimate is F' = P⁻¹·O/|g| (Wang, Han and Fu 2012, theorem 1). Where every value
has the same retention probability, F'_x depends on O_x alone, a sum of two binomials, and both
tails are exact. For any other matrix F'_x is a sum over records of independent terms, one entry
of P⁻¹ each, and the tails come from its first four cumulants (Edgeworth's expansion), with the
error found against simulated releases of some of the groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import scipy

from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.disclosure.group_tails import Draw, release_tails
from sfumato.engine.disclosure.grouped_values import GroupedValues
from sfumato.engine.disclosure.resampled_law import Trials
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.randomness.keys import draw_released, uniforms

CHECKED_GROUPS: Final = 8
SIMULATED: Final = 4_000

_MOST_DRAWN: Final = 1 << 22
"""Released values that are drawn for one group at most."""

_BATCH: Final = 1 << 18
"""Released values that are drawn at once."""


@dataclass(frozen=True)
class EstimateTails:
    """The tails of every group's estimate for its most frequent value.

    Parameters
    ----------
    high, low
        Pr[(F' − f)/f > ε] and Pr[(F' − f)/f < −ε], shape (G,).
    exact
        Whether they are exact.
    error
        The largest difference from simulated releases of some of the groups; 0 where exact.
    """

    high: Floats
    low: Floats
    exact: bool
    error: float = 0.0

    @property
    def within(self) -> Floats:
        """The attacker's confidence: Pr[|F' − f| <= ε·f], shape (G,)."""
        return np.clip(1.0 - self.high - self.low, 0.0, 1.0)


def retention_of(matrix: PerturbationMatrix) -> float | None:
    """Return the retention probability that all values share, or None where they differ."""
    if not isinstance(matrix, RetentionMatrix):
        return None
    kept = matrix.retention
    return float(kept[0]) if kept.max() - kept.min() <= 1e-15 else None


def estimate_tails(
    grouped: GroupedValues,
    matrix: PerturbationMatrix,
    epsilon: float,
    context: Context,
    trials: Trials | None = None,
) -> EstimateTails:
    """Return the tails of every group's estimate for its most frequent value.

    Parameters
    ----------
    grouped
        The groups with their true values.
    matrix
        The release's perturbation matrix.
    epsilon
        The relative error in question.
    context
        Progress and cancelling.
    trials
        What estimates rest on where a release repeats records; None where every record is
        perturbed by itself.

    Raises
    ------
    EstimationError
        If the release can't tell values apart, unless it shows nothing at all.
    """
    retention = retention_of(matrix)
    if retention is None:
        return _by_cumulants(grouped, matrix, epsilon, context, trials)
    if retention in (0.0, 1.0):
        # Nothing can be estimated, so any estimate misses; or nothing is hidden.
        missed = np.full(grouped.groups, 1.0 - retention)
        return EstimateTails(missed, missed, exact=True)
    if trials is not None and trials.law is not None:
        groups = np.arange(grouped.groups)
        told = trials.law.tails(groups, grouped.commonest, grouped.largest, epsilon, context)
        return EstimateTails(told.upper, told.lower, exact=True)
    samples, draw = (grouped.sizes, Draw.BY_VALUE) if trials is None else trials[:2]
    found = release_tails(
        grouped.sizes, grouped.largest, samples, retention, matrix.size, epsilon, draw
    )
    return EstimateTails(found.upper, found.lower, exact=True)


# ----- any other matrix


def _by_cumulants(
    grouped: GroupedValues,
    matrix: PerturbationMatrix,
    epsilon: float,
    context: Context,
    trials: Trials | None,
) -> EstimateTails:
    inverse = inverse_rows(matrix, np.unique(grouped.commonest), context)
    cumulants: Floats = np.zeros((3, grouped.groups))
    for value, weights in inverse.items():
        groups = np.flatnonzero(grouped.commonest == value)
        per_value = _value_cumulants(matrix, weights, value)
        cumulants[:, groups] = (grouped.counts[groups] @ per_value.T).T
    limit: Floats = np.asarray(epsilon * grouped.largest, dtype=np.float64)
    if trials is not None:
        part: Floats = np.asarray(trials.counts / grouped.sizes, dtype=np.float64)
        cumulants, limit = cumulants * part, limit * part
    high, low = _edgeworth(limit, cumulants), _edgeworth(-limit, cumulants, lower=True)
    error = 0.0
    if trials is None:
        error = _checked_error(grouped, matrix, inverse, epsilon, (high, low), context)
    return EstimateTails(high, low, exact=False, error=error)


def inverse_rows(
    matrix: PerturbationMatrix, values: Integers, context: Context
) -> dict[int, Vector]:
    """Return some rows of P⁻¹ by value, each of shape (m,): what an estimate adds up.

    Raises
    ------
    EstimationError
        If the matrix is singular.
    """
    rows = np.empty((len(values), matrix.size))
    unit = np.zeros(matrix.size)
    for place in range(matrix.size):
        if place % 256 == 0:
            context.report(place / matrix.size, "Inverting the perturbation matrix")
        unit[place] = 1.0
        rows[:, place] = matrix.solve(unit)[values]
        unit[place] = 0.0
    return {int(value): row for value, row in zip(values, rows, strict=True)}


def _value_cumulants(matrix: PerturbationMatrix, weights: Vector, value: int) -> Floats:
    """Return the 2nd to 4th cumulants of one record's term, by its true value, shape (3, m)."""
    mean = np.zeros(matrix.size)
    mean[value] = 1.0  # the estimate is unbiased
    second, third, fourth = (matrix.apply_transposed(weights**power) for power in (2, 3, 4))
    variance = second - mean**2
    skew = third - 3.0 * mean * second + 2.0 * mean**3
    peak = fourth - 4.0 * mean * third + 6.0 * mean**2 * second - 3.0 * mean**4
    return np.stack([np.maximum(variance, 0.0), skew, peak - 3.0 * variance**2])


def _edgeworth(limit: Floats, cumulants: Floats, lower: bool = False) -> Floats:
    """Return Pr[S > limit] (or Pr[S < limit]) for centred sums with these cumulants."""
    variance = np.maximum(cumulants[0], 1e-300)
    z = limit / np.sqrt(variance)
    skew, peak = cumulants[1] / variance**1.5, cumulants[2] / variance**2
    density = np.exp(-0.5 * np.minimum(z * z, 1400.0)) / np.sqrt(2.0 * np.pi)
    # Where a group is so small that the correction runs wild, the density has died out or the
    # clipping below holds it.
    bend = skew / 6.0 * (z**2 - 1.0) + peak / 24.0 * (z**3 - 3.0 * z)
    bend = bend + skew**2 / 72.0 * (z**5 - 10.0 * z**3 + 15.0 * z)
    tail = scipy.special.ndtr(-z) + density * np.where(density > 0.0, bend, 0.0)
    answer = np.where(cumulants[0] > 0.0, tail, (limit < 0.0).astype(np.float64))
    return np.clip(1.0 - answer if lower else answer, 0.0, 1.0)


def _checked_error(
    grouped: GroupedValues,
    matrix: PerturbationMatrix,
    inverse: dict[int, Vector],
    epsilon: float,
    tails: tuple[Floats, Floats],
    context: Context,
) -> float:
    """Return the largest difference from simulated releases of groups of all sizes."""
    order = np.argsort(grouped.sizes, kind="stable")
    places = np.linspace(0, len(order) - 1, min(CHECKED_GROUPS, len(order))).astype(np.int64)
    worst = 0.0
    for done, group in enumerate(order[places]):
        context.report(done / len(places), "Comparing with simulated releases")
        row = grouped.counts[[int(group)]]
        value = int(grouped.commonest[group])
        error = simulated_errors(
            _whole(row.indices), _whole(row.data), matrix, inverse[value], stream=done
        )
        limit = epsilon * float(grouped.largest[group])
        found = ((error > limit).mean(), (error < -limit).mean())
        worst = max(worst, abs(found[0] - tails[0][group]), abs(found[1] - tails[1][group]))
    return float(worst)


def _whole(numbers: npt.NDArray[Any]) -> Integers:
    return numbers.astype(np.int64)


def simulated_errors(
    values: Integers,
    counts: Integers,
    matrix: PerturbationMatrix,
    weights: Vector,
    stream: int,
    draws: int = SIMULATED,
) -> Floats:
    """Draw |g|·(F' − f) for one group and the value whose row of P⁻¹ is given.

    Parameters
    ----------
    values, counts
        The group's values and how often each occurs, shape (k,).
    matrix
        The release's perturbation matrix.
    weights
        The row of P⁻¹, shape (m,).
    stream
        Which sequence of draws; the same one gives the same errors.
    draws
        How many releases are drawn; fewer of a group with very many records.

    Returns
    -------
    numpy.ndarray
        Shape (draws,), or shorter.
    """
    total = int(counts.sum())
    draws = int(np.clip(_MOST_DRAWN // total, 100, draws))
    original = np.repeat(values, counts)
    error = np.zeros(draws)
    step = max(_BATCH // total, 1)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        seen = uniforms(size * total, (stream << 32) + start)
        shown = draw_released(matrix, np.tile(original, size), seen)
        error[start : start + size] = weights[shown].reshape(size, total).sum(axis=1)
    # Unbiased: a record with the value adds 1 on average, any other 0.
    means = np.array([float(matrix.column(int(value)) @ weights) for value in values])
    return error - float(counts @ means)
