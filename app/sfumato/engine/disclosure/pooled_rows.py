"""What pooling the rows of one unit restores, where its rows were perturbed one by one.

All rows of a unit (a person, a household) have the same true value, and each was perturbed by
itself with one matrix. Whoever knows which rows belong together and how often each value occurs
takes the value that is likeliest given all of them (Bayes).

For a matrix that keeps a value or replaces it evenly (`RetentionMatrix`), the score of a value
depends on nothing but how often it was released: log f_v + k_v·log(a_v/b_v) + s·log b_v, with a_v
the chance that v is released as itself and b_v that it is released as any given other one. So the
chance that the true value v wins is Σ_k C(s,k)·a_v^k·b_v^(s−k)·W, with W the number of ways in
which the other s − k rows fall on the other values without one of them beating v: (s − k)! times a
coefficient of a product of truncated exponential series. Other matrices are gone through outcome by
outcome where there are few, and drawn beyond, with the error told.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Integers
from sfumato.engine.disclosure.best_guess import best_guess
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.randomness.keys import draw_released, places_of, uniforms

Counts = Integers

MOST_STEPS: Final = 400_000
"""Products of series formed at most; beyond, outcomes are drawn."""
DRAWS: Final = 200_000
"""Released rows drawn for each size of a unit."""
_LARGEST_EXACT: Final = 60
_TIED: Final = 1e-9
_UNIT_STEPS: Final = 100_000_000
_FEWEST_UNITS: Final = 1_000
_CELLS: Final = 2_000_000


@dataclass(frozen=True)
class PooledRestoration:
    """How much of a table is restored by pooling the rows of each unit.

    Parameters
    ----------
    rows, units
        The expected share of rows, and of units, whose true value is the pooled best guess.
    one_row
        The expected share of rows whose true value is the best guess from that row alone.
    error
        The standard error of `rows` where outcomes were drawn; 0 where it is exact.
    """

    rows: float
    units: float
    one_row: float
    error: float = 0.0


def units_by_size(units: Counts, codes: npt.NDArray[np.integer], size: int) -> dict[int, Counts]:
    """Return how many units of each number of rows have each value.

    Parameters
    ----------
    units
        Each row's unit, shape (n,); all rows of a unit have one value.
    codes
        Each row's value, shape (n,).
    size
        The number of values, m.

    Returns
    -------
    dict
        By the number of rows, counts of shape (m,).
    """
    places = pd.factorize(units)[0]
    sizes = np.bincount(places)
    values = np.empty(len(sizes), dtype=codes.dtype)
    values[places[::-1]] = codes[::-1]  # each unit's first row, assigned last
    return {
        int(rows): np.bincount(values[sizes == rows], minlength=size).astype(np.int64)
        for rows in np.unique(sizes)
    }


def pooled_restoration(
    matrix: PerturbationMatrix, by_size: dict[int, Counts], context: Context
) -> PooledRestoration:
    """Return what pooling restores of a table whose units' values are known.

    Parameters
    ----------
    matrix
        What a release does to each row.
    by_size
        As `units_by_size` returns it.
    context
        Progress and cancelling.
    """
    total = np.sum(list(by_size.values()), axis=0)
    prior = total / total.sum()
    rows = sum(size * int(counts.sum()) for size, counts in by_size.items())
    restored_rows = restored_units = alone = variance = 0.0
    single, single_error = chances(matrix, prior, 1)
    for place, (size, counts) in enumerate(sorted(by_size.items())):
        context.report(place / len(by_size), "Pooling the rows that belong together")
        right, error = (single, single_error) if size == 1 else chances(matrix, prior, size)
        restored_units += float(counts @ right)
        restored_rows += size * float(counts @ right)
        alone += size * float(counts @ single)
        variance += (size * float(counts @ error)) ** 2
    units = float(total.sum())
    return PooledRestoration(
        restored_rows / rows, restored_units / units, alone / rows, math.sqrt(variance) / rows
    )


def chances(matrix: PerturbationMatrix, prior: Vector, rows: int) -> tuple[Vector, Vector]:
    """Return how likely each true value is the best guess from some released rows of it.

    Parameters
    ----------
    matrix
        What a release does to each row.
    prior
        The share of units with each value, shape (m,), summing to 1; the guesser knows it.
    rows
        How many rows the unit has, at least 1.

    Returns
    -------
    tuple of numpy.ndarray
        The chances and their standard errors, shape (m,) each; the errors are 0 where the chances
        are exact. Values that no unit has are never guessed: 0.
    """
    exact = np.zeros(matrix.size)
    if isinstance(matrix, RetentionMatrix):
        other = _other(matrix)
        if (matrix.retention == 1.0).all():
            return (prior > 0.0).astype(np.float64), exact
        steps = int((prior > 0.0).sum()) * rows * min(rows + 1, matrix.size)
        if (other[prior > 0.0] > 0.0).all() and rows <= _LARGEST_EXACT and steps <= MOST_STEPS:
            return _by_series(matrix, other, prior, rows), exact
    if matrix.shows_symbols:
        return _drawn_units(matrix, prior, rows)
    return _drawn(matrix, prior, rows)


def _other(matrix: RetentionMatrix) -> Vector:
    """Return how likely each value is released as any given other one, shape (m,)."""
    return (1.0 - matrix.retention) / matrix.size


def _by_series(matrix: RetentionMatrix, other: Vector, prior: Vector, rows: int) -> Vector:
    possible = np.flatnonzero(prior > 0.0)
    own = matrix.diagonal
    base = np.log(prior[possible]) + rows * np.log(other[possible])
    slope = np.log(own[possible] / other[possible])
    factorials = scipy.special.factorial(np.arange(rows + 1))
    series = 1.0 / factorials
    never = matrix.size - len(possible)
    free = _power(series, never, rows)  # values that nobody guesses may occur as often as they do
    right = np.zeros(matrix.size)
    known: dict[tuple[object, ...], float] = {}
    for place, value in enumerate(possible):
        a, b = float(own[value]), float(other[value])
        chance = 0.0
        for kept in range(rows + 1):
            limits = _limits(base, slope, place, kept, rows)
            if limits is None:
                continue
            left = rows - kept
            question = (left, tuple(sorted(limits.items())))
            if question not in known:
                product = free[: left + 1]
                for limit, times in limits.items():
                    part = series[: min(limit, left) + 1]
                    product = np.convolve(product, _power(part, times, left))[: left + 1]
                known[question] = float(product[left]) if len(product) > left else 0.0
            ways = known[question] * float(factorials[rows]) / float(factorials[kept])
            chance += ways * a**kept * b**left
        right[value] = min(chance, 1.0)
    return right


def _limits(base: Vector, slope: Vector, place: int, kept: int, rows: int) -> Counter[int] | None:
    """Return how often the other values may be released without beating one, and how many may so.

    Of two values that are equally likely, the first is guessed. None where another one wins in
    any case.
    """
    score = base[place] + kept * slope[place]
    gap = score - base
    # At slope 0 (nothing is kept on purpose) counts say nothing.
    flat = slope == 0.0
    ratio = np.divide(gap, slope, out=np.where(gap >= -_TIED, rows + 1.0, -1.0), where=~flat)
    nearest = np.rint(ratio)
    tied = ~flat & (np.abs(ratio - nearest) * slope < _TIED)
    most = np.where(tied, nearest, np.floor(ratio))
    first = np.arange(len(base)) < place
    most = np.where(tied & first, most - 1.0, most)
    most = np.where(flat & first & (np.abs(gap) <= _TIED), -1.0, most)
    most = np.delete(most, place)
    if (most < 0).any():
        return None
    return Counter(np.minimum(most, rows - kept).astype(int).tolist())


def _power(series: Vector, times: int, degree: int) -> Vector:
    """Return a power of a polynomial, cut off above a degree."""
    result, factor = np.ones(1), series[: degree + 1]
    while times:
        if times & 1:
            result = np.convolve(result, factor)[: degree + 1]
        factor = np.convolve(factor, factor)[: degree + 1]
        times >>= 1
    padded = np.zeros(degree + 1)
    padded[: len(result)] = result
    return padded


def _drawn_units(matrix: PerturbationMatrix, prior: Vector, rows: int) -> tuple[Vector, Vector]:
    """Return the chances from drawn units, whose values are spread over the prior.

    Of thousands of codes no one is drawn often enough to be told by itself: all that occur have the
    chance and the error of all together.
    """
    possible = np.flatnonzero(prior > 0.0)
    draws = int(np.clip(_UNIT_STEPS // (rows * len(possible)), _FEWEST_UNITS, DRAWS // rows))
    steps = np.cumsum(prior[possible])
    places = places_of(steps, (np.arange(draws) + 0.5) / draws)
    scores_before, wins = np.log(prior[possible]), 0
    at_once = max(_CELLS // len(possible), 1)
    for number, start in enumerate(range(0, draws, at_once)):
        true = places[start : start + at_once]
        scores = np.tile(scores_before, (len(true), 1))
        for row in range(rows):
            seen = uniforms(len(true), (number << 20) + (row << 8) + rows)
            released = draw_released(matrix, possible[true], seen)
            with np.errstate(divide="ignore"):
                scores += np.log(matrix.block(released, possible))
        wins += int((best_guess(scores) == true).sum())
    share = wins / draws
    occurs = (prior > 0.0).astype(np.float64)
    error = math.sqrt(max(share * (1.0 - share), 1.0 / draws) / draws)
    return share * occurs, error * occurs


def _drawn(matrix: PerturbationMatrix, prior: Vector, rows: int) -> tuple[Vector, Vector]:
    """Return the chances from drawn rows, for every value that a unit has, with their errors."""
    possible = np.flatnonzero(prior > 0.0)
    draws = max(DRAWS // (rows * len(possible)), 50)
    right, error = np.zeros(matrix.size), np.zeros(matrix.size)
    with np.errstate(divide="ignore"):
        logs = np.log(
            np.stack([matrix.column(int(value)) for value in possible])
        )  # values × released
        scores_before = np.log(prior[possible])
    for place, value in enumerate(possible):
        original = np.full(draws * rows, value, dtype=np.int64)
        released = draw_released(matrix, original, uniforms(draws * rows, int(value) * 131 + rows))
        scores = np.tile(scores_before, (draws, 1))
        for column in released.reshape(draws, rows).T:
            scores += logs[:, column].T
        wins = float((best_guess(scores) == place).mean())
        right[value] = wins
        error[value] = math.sqrt(max(wins * (1.0 - wins), 1.0 / draws) / draws)
    return right, error
