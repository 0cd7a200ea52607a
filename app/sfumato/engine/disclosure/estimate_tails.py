"""How often an estimate of a group's share misses the truth by more than ε of it.

The attacker's estimate is F' = P⁻¹·O/|g| (Wang, Han and Fu 2012, theorem 1). Where every value
has the same retention probability, F'_x depends on O_x alone, a sum of two binomials, and both
tails are exact. For any other matrix F'_x is a sum over records of independent terms, one entry
of P⁻¹ each, and the tails come from its first four cumulants (Edgeworth's expansion), with the
error found against simulated releases of some of the groups.
"""

from __future__ import annotations

from dataclasses import field
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats, Indices, Integers
from sfumato.engine.disclosure.group_tails import Tails, release_tails
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

_SMALL: Final = 400
"""Groups of up to so many records are simulated: an expansion says little about few records."""

_MOST_SIMULATED: Final = 10_000_000
"""Values that are drawn for all small groups together at most."""

_FEWEST_DRAWS: Final = 1_000
"""With fewer simulated releases than these the expansion is as good."""

_SURE: Final = 3.0
"""Simulated tails are believed to be off by so many standard errors at most."""

_ROWS_AT_ONCE: Final = 256
"""Rows of an inverse matrix that are held at once."""


@dataclass(frozen=True)
class EstimateTails:
    """The tails of every group's estimate for its most frequent value.

    Parameters
    ----------
    told
        Pr[(F' − f)/f > ε] and Pr[(F' − f)/f < −ε], of each kind of group, shape (k,).
    kinds
        The kind of each group, shape (G,); all of them occur.
    exact
        Whether they are exact.
    error
        The largest difference from simulated releases of some of the groups; 0 where exact.
    """

    told: Tails = field(repr=False)
    kinds: Indices = field(repr=False)
    exact: bool
    error: float = 0.0

    @property
    def high(self) -> Floats:
        """Pr[(F' − f)/f > ε], shape (G,)."""
        return self.told.upper[self.kinds]

    @property
    def low(self) -> Floats:
        """Pr[(F' − f)/f < −ε], shape (G,)."""
        return self.told.lower[self.kinds]

    @property
    def within(self) -> Floats:
        """The attacker's confidence: Pr[|F' − f| <= ε·f], shape (G,)."""
        return self._within[self.kinds]

    @property
    def most_within(self) -> float:
        """The attacker's confidence where it is highest."""
        return float(self._within.max())

    @property
    def _within(self) -> Floats:
        return np.clip(1.0 - self.told.upper - self.told.lower, 0.0, 1.0)


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
        tops = Cells(np.arange(grouped.groups), grouped.commonest, grouped.largest)
        found = tails_of_cells(grouped, tops, matrix, epsilon, context, trials)
        error = 0.0
        if trials is None:
            error = largest_error(grouped, tops, matrix, epsilon, found, context)
        return EstimateTails(found, tops.groups, exact=False, error=error)
    if retention in (0.0, 1.0):
        # Nothing can be estimated, so any estimate misses; or nothing is hidden.
        missed = np.full(1, 1.0 - retention)
        alike = np.zeros(grouped.groups, dtype=np.intp)
        return EstimateTails(Tails(missed, missed), alike, exact=True)
    if trials is None:
        cells = grouped.cells
        sizes, counts = cells.sizes[cells.kinds], cells.counts[cells.kinds]
        told = release_tails(sizes, counts, sizes, retention, matrix.size, epsilon)
        return EstimateTails(told, cells.tops, exact=True)
    groups = np.arange(grouped.groups)
    if trials.law is not None:
        told = trials.law.tails(groups, grouped.commonest, grouped.largest, epsilon, context)
    else:
        asked = (grouped.sizes, grouped.largest, trials.counts)
        told = release_tails(*asked, retention, matrix.size, epsilon, trials.draw)
    return EstimateTails(told, groups, exact=True)


# ----- any other matrix


class Cells(NamedTuple):
    """Values of groups whose shares are estimated, shape (K,) each.

    Parameters
    ----------
    groups, values
        The group, and the value's code.
    counts
        How often the value occurs in the group.
    """

    groups: Integers
    values: Integers
    counts: Integers


def tails_of_cells(
    grouped: GroupedValues,
    cells: Cells,
    matrix: PerturbationMatrix,
    epsilon: float,
    context: Context,
    trials: Trials | None = None,
) -> Tails:
    """Return the tails of the estimates for any values of groups, by their cumulants.

    Parameters
    ----------
    cells
        The groups and values in question, K of them.
    grouped, matrix, epsilon, context, trials
        As for `estimate_tails`.

    Returns
    -------
    Tails
        Of shape (K,).

    Raises
    ------
    EstimationError
        If the matrix is singular.
    """
    high, low = np.empty(len(cells.groups)), np.empty(len(cells.groups))
    asked = np.unique(cells.values)
    for start in range(0, len(asked), _ROWS_AT_ONCE):
        some = asked[start : start + _ROWS_AT_ONCE]
        inverse = inverse_rows(matrix, some, context)
        among = np.flatnonzero(np.isin(cells.values, some))
        part = Cells(*(each[among] for each in cells))
        found = _cumulant_tails(grouped, part, matrix, inverse, epsilon, trials)
        high[among], low[among] = found
    return Tails(high, low)


def _cumulant_tails(
    grouped: GroupedValues,
    cells: Cells,
    matrix: PerturbationMatrix,
    inverse: dict[int, Vector],
    epsilon: float,
    trials: Trials | None,
) -> tuple[Floats, Floats]:
    """Return the upper and the lower tails of estimates, whose rows of P⁻¹ are known."""
    cumulants: Floats = np.zeros((3, len(cells.groups)))
    order = np.argsort(cells.values, kind="stable")
    bounds = np.flatnonzero(np.diff(cells.values[order], prepend=-1, append=-1))
    for places in (order[a:b] for a, b in pairwise(bounds)):
        value = int(cells.values[places[0]])
        per_value = _value_cumulants(matrix, inverse[value], value)
        cumulants[:, places] = (grouped.counts[cells.groups[places]] @ per_value.T).T
    limit: Floats = np.asarray(epsilon * cells.counts, dtype=np.float64)
    if trials is not None:
        part: Floats = (trials.counts / grouped.sizes)[cells.groups]
        cumulants, limit = cumulants * part, limit * part
    return _edgeworth(limit, cumulants), _edgeworth(-limit, cumulants, lower=True)


def inverse_rows(
    matrix: PerturbationMatrix, values: Integers, context: Context
) -> dict[int, Vector]:
    """Return some rows of P⁻¹ by value, one entry a released value: what an estimate adds up.

    Raises
    ------
    EstimationError
        If the matrix is singular.
    """
    rows, unit = {}, np.zeros(matrix.size)
    for place, value in enumerate(map(int, values)):
        if place % 256 == 0:
            context.report(place / len(values), "Inverting the perturbation matrix")
        unit[value] = 1.0
        rows[value] = matrix.solve_transposed(unit)
        unit[value] = 0.0
    return rows


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


class SimulatedTails(NamedTuple):
    """Tails that were counted in simulated releases of small groups.

    Parameters
    ----------
    places
        Which of the cells they are of, shape (S,).
    tails
        Their tails, shape (S,).
    error
        Three standard errors of a tail of δ.
    """

    places: Integers
    tails: Tails
    error: float


def simulated_tails(
    grouped: GroupedValues,
    cells: Cells,
    matrix: PerturbationMatrix,
    epsilon: float,
    delta: float,
    context: Context,
) -> SimulatedTails:
    """Count the tails of the estimates for values of small groups in simulated releases.

    None are simulated where too few releases could be drawn of each group.

    Parameters
    ----------
    cells
        The groups and values in question, those of a group side by side.
    delta
        The tail that matters.
    grouped, matrix, epsilon, context
        As for `estimate_tails`.
    """
    small = np.flatnonzero(grouped.sizes[cells.groups] <= _SMALL)
    records = int(grouped.sizes[np.unique(cells.groups[small])].sum())
    draws = min(SIMULATED, _MOST_SIMULATED // max(records, 1))
    if draws < _FEWEST_DRAWS or not len(small):
        nothing: Floats = np.empty(0)
        return SimulatedTails(np.empty(0, dtype=np.int64), Tails(nothing, nothing), 0.0)
    inverse = inverse_rows(matrix, np.unique(cells.values[small]), context)
    high, low = np.empty(len(small)), np.empty(len(small))
    ends = np.flatnonzero(np.diff(cells.groups[small], prepend=-1, append=-1))
    for done, (start, end) in enumerate(pairwise(ends.tolist())):
        context.report(start / len(small), "Simulating releases of small groups")
        part = small[start:end]
        row = grouped.counts[[int(cells.groups[part[0]])]]
        weights = np.stack([inverse[int(value)] for value in cells.values[part]])
        error = simulated_errors(
            _whole(row.indices), _whole(row.data), matrix, weights, done, draws
        )
        limit = epsilon * cells.counts[part, np.newaxis] * (1.0 + 1e-9)
        high[start:end] = (error > limit).mean(axis=1)
        low[start:end] = (error < -limit).mean(axis=1)
    spread = float(np.sqrt(delta * (1.0 - delta) / draws))
    return SimulatedTails(small, Tails(high, low), _SURE * spread)


def largest_error(
    grouped: GroupedValues,
    cells: Cells,
    matrix: PerturbationMatrix,
    epsilon: float,
    tails: Tails,
    context: Context,
) -> float:
    """Return the largest difference of tails from simulated releases of groups of all sizes.

    Parameters
    ----------
    cells, tails
        Values of groups, and the tails of their estimates, shape (K,).
    grouped, matrix, epsilon, context
        As for `estimate_tails`.
    """
    order = np.lexsort((cells.counts, grouped.sizes[cells.groups]))
    places = np.linspace(0, len(order) - 1, min(CHECKED_GROUPS, len(order))).astype(np.int64)
    checked = order[places]
    inverse = inverse_rows(matrix, np.unique(cells.values[checked]), context)
    worst = 0.0
    for done, place in enumerate(checked.tolist()):
        context.report(done / len(places), "Comparing with simulated releases")
        row = grouped.counts[[int(cells.groups[place])]]
        weights = inverse[int(cells.values[place])][np.newaxis]
        error = simulated_errors(_whole(row.indices), _whole(row.data), matrix, weights, done)[0]
        limit = epsilon * float(cells.counts[place])
        found = ((error > limit).mean(), (error < -limit).mean())
        worst = max(worst, abs(found[0] - tails.upper[place]), abs(found[1] - tails.lower[place]))
    return float(worst)


def _whole(numbers: npt.NDArray[Any]) -> Integers:
    return numbers.astype(np.int64)


def simulated_errors(
    values: Integers,
    counts: Integers,
    matrix: PerturbationMatrix,
    weights: Floats,
    stream: int,
    draws: int = SIMULATED,
) -> Floats:
    """Draw |g|·(F' − f) for one group and the values whose rows of P⁻¹ are given.

    Parameters
    ----------
    values, counts
        The group's values and how often each occurs, shape (k,).
    matrix
        The release's perturbation matrix.
    weights
        The rows of P⁻¹, shape (k, m).
    stream
        Which sequence of draws; the same one gives the same errors.
    draws
        How many releases are drawn; fewer of a group with very many records.

    Returns
    -------
    numpy.ndarray
        Shape (k, draws), or fewer draws.
    """
    total = int(counts.sum())
    draws = int(np.clip(_MOST_DRAWN // total, 100, draws))
    original = np.repeat(values, counts)
    error = np.zeros((len(weights), draws))
    step = max(_BATCH // total, 1)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        seen = uniforms(size * total, (stream << 32) + start)
        shown = draw_released(matrix, np.tile(original, size), seen)
        for row, ours in zip(error, weights, strict=True):
            row[start : start + size] = ours[shown].reshape(size, total).sum(axis=1)
    # Unbiased: a record with the value adds 1 on average, any other 0.
    means = np.stack([weights @ matrix.column(int(value)) for value in values])
    return error - (counts @ means)[:, np.newaxis]
