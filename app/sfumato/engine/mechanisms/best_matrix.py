"""The matrix that keeps most records within per-value limits, of all matrices there are.

Beyond matrices that keep a value or replace it evenly, the best one is a linear program in its m²
entries P_iy, the chance that value i is released as y: maximize Σ f_i·P_ii where every row is a
distribution and P_iy ≤ γ_i·P_jy for all i, j and y (strict: P_jy ≤ γ_i·P_iy as well). With u_y at
most and v_y at least every P_jy, 2m² sparse constraints say it (strict: 4m²): P_iy ≤ γ_i·u_y and
v_y ≤ γ_i·P_iy. The large factor stands on the right: divided by it, constraints vanish in the
solver's tolerance, which then takes the matrix that keeps everything for the best.

What a solver returns holds the limits to within its tolerance only. Each released value y gets a
chance c_y more from every row, the least one by which its limits hold, before rows are normalized
again: a step towards a matrix whose rows are all equal. The limits are then checked in arithmetic
that is rounded to the safe side.

The best matrix may be singular: what it is worth to whoever counts must stand beside it.
"""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import scipy

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.values import Floats
from sfumato.engine.mechanisms.retention_solver import BreachMode, check_limits, solve

MOST_VALUES: Final = 100
"""Of so many values a best matrix is found within seconds."""
_LEAST_SLACK: Final = 2.0**-50
_LEAST_GAIN: Final = 1e-9
"""What keeps hardly more than keeping or replacing evenly does, is not preferred to that."""

Square = Floats
Truths = npt.NDArray[np.bool_]


def best_matrix(frequencies: Floats, gammas: Floats, mode: BreachMode) -> Square:
    """Return the matrix that keeps most records within the limits.

    Parameters
    ----------
    frequencies
        The values' shares, shape (m,).
    gammas
        The limits, shape (m,), each above 1 or infinite.
    mode
        Which breaches are ruled out.

    Returns
    -------
    numpy.ndarray
        Pr[released | original], shape (m, m), rows = released. Every limit holds for these very
        numbers.

    Raises
    ------
    LevelError
        If the shapes differ, a limit is not above 1, or there are fewer than two values or more
        than `MOST_VALUES`.
    """
    check_limits(frequencies, gammas)
    size = len(gammas)
    if size > MOST_VALUES:
        raise LevelError(
            "The best matrix within limits is found for up to {most:,} {most:value|values};"
            " the domain has {size:,}.",
            "Keep the retention probabilities, or group the values.",
            most=MOST_VALUES,
            size=size,
        )
    kept = solve(frequencies, gammas, mode).retention
    even = np.tile((1.0 - kept)[:, None] / size, (1, size))
    even[np.diag_indices(size)] += kept
    tried = [_lowered(even, gammas, mode)]
    if (found := _solved(frequencies, gammas, mode)) is not None:
        tried.append(_lowered(found, gammas, mode))
    records = [float(frequencies @ np.diagonal(one)) for one in tried]
    return tried[-1 if records[-1] > records[0] + _LEAST_GAIN else 0].T.copy()


def _hold(matrix: Square, gammas: Floats, mode: BreachMode) -> Truths:
    """Return which entries meet the limit of their value, shape (m, m), rows = original."""
    # Every limit holds of a value beside itself, as it is above 1: others need no telling apart.
    holds = _is_at_most(matrix, gammas, matrix.min(axis=0)[None, :])
    if mode is BreachMode.STRICT:
        holds = holds & _is_at_most(matrix.max(axis=0)[None, :], gammas, matrix)
    whole: Truths = holds | np.isinf(gammas)[:, None]
    return whole


def _is_at_most(chances: Square, gammas: Floats, others: Square) -> Truths:
    """Return where a chance is at most γ times another, the product rounded down."""
    finite = np.where(np.isinf(gammas), 1.0, gammas)[:, None]
    holds: Truths = (chances <= others) | (chances <= np.nextafter(finite * others, -np.inf))
    return holds


def _lowered(matrix: Square, gammas: Floats, mode: BreachMode) -> Square:
    """Return a matrix as near to equal rows as the limits need, rows = original."""
    start = np.maximum(matrix, 0.0)
    start /= start.sum(axis=1, keepdims=True)
    slack = _LEAST_SLACK
    while slack < 1.0:
        more = _lacking(start, gammas, mode, slack)
        found: Square = (start + more) / (1.0 + more.sum())
        if _hold(found, gammas, mode).all():
            return found
        slack *= 4.0
    return np.full_like(matrix, 1.0 / len(matrix))


def _lacking(matrix: Square, gammas: Floats, mode: BreachMode, slack: float) -> Floats:
    """Return what each released value's chances lack for its limits to hold, shape (m,)."""
    limited = np.isfinite(gammas)
    bounds, rows = gammas[limited, None], matrix[limited]
    excess = rows * (1.0 + slack) - bounds * matrix.min(axis=0)
    if mode is BreachMode.STRICT:
        excess = np.maximum(excess, matrix.max(axis=0) * (1.0 + slack) - bounds * rows)
    lacking: Floats = (excess / (bounds - 1.0)).max(axis=0, initial=0.0)
    return lacking


def _solved(frequencies: Floats, gammas: Floats, mode: BreachMode) -> Square | None:
    """Return what the solver takes for the best, rows = original; None where it finds none."""
    size = len(gammas)
    original, released = np.divmod(np.arange(size * size), size)
    strict = mode is BreachMode.STRICT
    unknowns = size * size + (2 if strict else 1) * size
    limited = np.isfinite(gammas[original])
    entries, least = np.arange(size * size), size * size + released
    most, factors = least + size, gammas[original]

    def smaller(
        left: Any, right: Any, factors: Any, chosen: Any = slice(None)
    ) -> scipy.sparse.csr_array:
        """Return a constraint for each chosen entry: left − factor·right ≤ 0."""
        left, right = left[chosen], right[chosen]
        values = np.concatenate([np.ones(len(left)), -np.broadcast_to(factors, len(left))])
        rows = np.tile(np.arange(len(left)), 2)
        places = (rows, np.concatenate([left, right]))
        return scipy.sparse.csr_array((values, places), shape=(len(left), unknowns))

    limits = [smaller(least, entries, 1.0), smaller(entries, least, factors[limited], limited)]
    if strict:
        limits += [smaller(entries, most, 1.0), smaller(most, entries, factors[limited], limited)]
    constraints = scipy.sparse.vstack(limits, format="csr")
    sums = scipy.sparse.csr_array(
        (np.ones(size * size), (original, entries)), shape=(size, unknowns)
    )
    costs = np.zeros(unknowns)
    costs[np.arange(size) * (size + 1)] = -frequencies
    # HiGHS takes sparse equations; the type stubs only know dense ones.
    solution = scipy.optimize.linprog(
        costs,
        A_ub=cast(Any, constraints),
        b_ub=np.zeros(constraints.shape[0]),
        A_eq=cast(Any, sums),
        b_eq=np.ones(size),
        bounds=(0.0, None),
        method="highs-ipm",
    )
    if solution.x is None or not np.isfinite(solution.x).all():
        return None
    found = solution.x[: size * size].reshape(size, size)
    return found if (np.maximum(found, 0.0).sum(axis=1) > 0.0).all() else None
