"""Whole counts on the Laplace ladder: noise for the cells of a table, and what follows from it.

Where one record is replaced by another, one cell loses 1 and another gains 1. With the discrete
Laplace law of rate s in each cell, any table of counts becomes likelier or less likely by a factor
of at most e^(2s), so ε = 2s; and for units with up to K rows ε = 2K·s. The noise is that of the
ladder of `laplace`, of a cell in the place of a record: of tables with the same noise at several
levels, whoever holds them knows what the most trusted one tells (Koufogiannis, Han and Pappas 2015;
Andersson, Retschmeier, Nelson and Pagh 2025).

Unlike the numbers of the ladder, counts have no stated bounds, so nothing is pulled in. Up to 64
times the noise's size the law is the ideal one up to rounding, which the ladder's spare share of ε
pays for; noise beyond comes with a probability of e^−64, below 10^−27, in a cell.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.values import Floats
from sfumato.engine.ladders.laplace import LaplaceKernel, LaplaceLaw, check_loss, kernel_level
from sfumato.engine.randomness.keys import AttributeKey

Counts = npt.NDArray[np.int64]

MOST_ROWS: Final = 1 << 9
"""How many rows of a unit there may be: 1,024 cells change then, each with a probability that is
off by 2⁻²⁶, for which the spare share of the lowest ε still pays."""

_STRETCH: Final = 1 << 14
_BEYOND: Final = 40.0
_LARGEST_SUM: Final = 1 << 22


def law_of_counts(epsilon: float, most_rows: int = 1) -> LaplaceLaw:
    """Return the law of one cell's noise.

    Parameters
    ----------
    epsilon
        ε of the table: where a record, or a unit, is replaced.
    most_rows
        K, the rows of a unit; 1 for a record.

    Raises
    ------
    LevelError
        If ε is out of range.
    """
    if not 1 <= most_rows <= MOST_ROWS:
        raise ValueError("a unit has no rows, or too many")
    return LaplaceLaw(check_loss(epsilon), 2 * most_rows)


def noise_of_cells(cells: int, epsilon: float, key: AttributeKey, most_rows: int = 1) -> Counts:
    """Return the whole-number noise of a table's cells at one level, shape (cells,).

    It is a function of key, cell and level alone.

    Parameters
    ----------
    cells
        How many cells there are, numbered from 0 in the table's canonical order.
    epsilon, most_rows
        See `law_of_counts`.
    key
        Of the table and its edition.
    """
    law = law_of_counts(epsilon, most_rows)
    rung = kernel_level(law.epsilon, law.steps)
    out = np.empty(cells, dtype=np.int64)
    kernel = LaplaceKernel(key.cipher(), min(_STRETCH, max(cells, 1)))
    for start in range(0, cells, _STRETCH):
        part = out[start : start + _STRETCH]
        ids = np.arange(start, start + len(part), dtype=np.uint64)
        kernel.add_noise(np.zeros(len(part), dtype=np.uint8), ids, rung, part)
    return out


def half_width_of_sum(law: LaplaceLaw, summed: int, share: float) -> int:
    """Return the least whole number that the noise of a sum of cells does not exceed so often.

    It is exact for a single cell. Of several, the law is that of independent terms, found by the
    fast Fourier transform; of so many that this would take long, the normal one with their
    variance, to which it comes close by then.

    Parameters
    ----------
    law
        Of one cell's noise.
    summed
        How many cells were added.
    share
        How often, such as 0.95.
    """
    if summed == 1:
        return law.half_width(share)
    deviation = math.sqrt(summed * law.variance)
    length = 1 << math.ceil(math.log2(2.0 * _BEYOND * (deviation + 1.0 / law.rate) + 64.0))
    if length > _LARGEST_SUM:
        # 1.96 for 95 %, from the error function's inverse by bisection on `math.erf`.
        return math.ceil(_normal_quantile(share) * deviation)
    angles = 2.0 * math.pi * np.arange(length // 2 + 1) / length
    step = math.exp(-law.rate)
    single = (1.0 - step) ** 2 / (1.0 - 2.0 * step * np.cos(angles) + step * step)
    chances = np.fft.irfft(single**summed, length)
    within = chances[0] + 2.0 * np.cumsum(chances[1 : length // 2])
    if chances[0] >= share:
        return 0
    return 1 + int(np.searchsorted(within, share - 1e-12))


def _normal_quantile(share: float) -> float:
    low, high = 0.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if math.erf(middle / math.sqrt(2.0)) < share else (low, middle)
    return high


def adjusted_counts(noisy: Counts, total: int) -> Floats:
    """Return the counts from 0 on that add up to a total and are closest by least squares.

    It is the projection onto the simplex: the same number is taken from every cell, and what would
    fall below 0 is 0 (Held, Wolfe and Crowder 1974). All margins follow by adding, so they are
    consistent and not negative either. It is a function of the noisy counts and the total.

    Parameters
    ----------
    noisy
        The noisy counts, shape (cells,).
    total
        What they add up to, 0 or more.
    """
    falling = np.sort(noisy)[::-1].astype(np.float64)
    over = np.cumsum(falling) - float(total)
    places = np.arange(1, len(noisy) + 1)
    last = int(np.flatnonzero(falling * places >= over)[-1]) if total > 0 else -1
    if last < 0:
        return np.zeros(len(noisy))
    return np.maximum(noisy - over[last] / (last + 1), 0.0)
