"""Looking at a table: a profile of each column, and bins with edges that a person would choose."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_FLOOR, Decimal
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Binning, Coding
from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.summary import ColumnProfile, NumberSummary, ValueCount, summarize
from sfumato.engine.table.table import Table

_SMALLEST, _LARGEST = 1e-280, 1e280
"""Ranges beyond these leave no room to compute round edges."""

_NICE = (1.0, 2.0, 2.5, 5.0)


SHARED_BY: Final = 5
"""Ends are proposed that at least so many records reach, and one in `_REACHED`."""
_REACHED: Final = 200


class BinWidths(StrEnum):
    """How bins divide a column."""

    EQUAL = "equal width"
    """Every bin spans the same range."""
    QUANTILE = "equal counts"
    """Every bin holds about as many records."""


def suggest_binning(
    column: pd.Series, count: int, widths: BinWidths = BinWidths.QUANTILE
) -> Binning:
    """Return about `count` bins that cover a numeric column, with round edges.

    Round edges are easier to read, and tell less than the lowest number, the highest and the
    quantiles of the table, which are somebody's. Among whole numbers a round one may be
    somebody's all the same.

    Parameters
    ----------
    column
        The numbers, shape (n,).
    count
        How many bins to aim at, at least 2; there are fewer where the numbers allow no more.
    widths
        Whether the bins span equal ranges or hold about equally many records.

    Raises
    ------
    DomainError
        If the column is not numeric, has no two different finite numbers, or only numbers
        between which there is no round one, or `count` is below 2.
    """
    if count < 2:
        raise DomainError("A binning needs at least two bins.", "Ask for two bins or more.")
    numbers = _finite(column)
    if widths is BinWidths.EQUAL:
        return Binning(_equal_width(numbers, count))
    return Binning(_equal_counts(numbers, count))


def _finite(column: pd.Series) -> npt.NDArray[np.float64]:
    dtype = column.dtype
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        raise DomainError(
            "Column {column} is not numeric, so it can't be binned.",
            "Choose the kind 'categorical' without bins.",
            column=column.name,
        )
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    finite: npt.NDArray[np.float64] = numbers[np.isfinite(numbers)]
    del numbers  # as long as the table
    finite.sort()
    # Halves, because the difference of the largest numbers is not a number.
    if len(finite) and not _SMALLEST < finite[-1] / 2.0 - finite[0] / 2.0 < _LARGEST:
        # Also where all numbers are the same: then there is no range at all.
        finite = finite[:0]
    if len(finite) == 0:
        raise DomainError(
            "Column {column} does not hold two different numbers that could be divided into bins.",
            "Choose the kind 'categorical' without bins.",
            column=column.name,
        )
    return finite


def _equal_width(numbers: npt.NDArray[np.float64], count: int) -> tuple[float, ...]:
    """Return edges at multiples of the round step that comes nearest to `count` bins."""
    low, high = float(numbers[0]), float(numbers[-1])
    candidates = [
        edges
        for step in _steps((high - low) / count, whole=_are_whole(numbers))
        if len(edges := _multiples(low, high, step)) >= 3
        and _increase(edges)
        and edges[0] <= low
        and high <= edges[-1]
    ]
    if not candidates:
        return _around(numbers, np.array([low + (high - low) / 2.0]))
    return min(candidates, key=lambda edges: abs(len(edges) - 1 - count))


def _steps(width: float, whole: bool, powers: int = 2) -> Iterator[float]:
    """Yield round steps from ten times a width down by powers of ten, coarse ones first.

    For whole numbers, steps are whole and at least 1.
    """
    magnitude = math.floor(math.log10(max(width, 1.0) if whole else width))
    for exponent in range(magnitude + 1, magnitude - powers - 1, -1):
        for factor in reversed(_NICE):
            step = float(f"{factor}e{exponent}")
            if not whole or step.is_integer():
                yield step


def _multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    """Return the multiples of a step that enclose a range; the last bin holds its upper edge."""
    first, last = math.floor(low / step), math.ceil(high / step)
    # Rounding may leave the ends a hair inside the range.
    first -= _multiple(first, step) > low
    last += _multiple(last, step) < high
    return tuple(_multiple(place, step) for place in range(first, last + 1))


def _multiple(place: int, step: float) -> float:
    """Return a multiple without the dust of binary fractions: 3·0.1 is 0.3."""
    return float(f"{place * step:.15g}")


def _equal_counts(numbers: npt.NDArray[np.float64], count: int) -> tuple[float, ...]:
    """Return the roundest edges whose bins hold about equally many records.

    Where single numbers are so frequent that quantiles coincide, there are fewer bins. A lowest
    number that most records have gets a bin of its own, and the others share the rest.
    """
    inner = np.unique(_quantiles(numbers, count))
    inner = inner[inner > numbers[0]]
    if len(inner) == 0:
        others = numbers[np.searchsorted(numbers, numbers[0], side="right") :]
        inner = np.unique(np.append(others[0], _quantiles(others, count - 1)))
    exact, whole = _shares(numbers, inner), _are_whole(numbers)
    # An edge at the highest number makes a bin for it alone, which needs an end beyond it.
    beyond = bool(inner[-1] == numbers[-1])
    low, high = _outer(float(numbers[0]), float(numbers[-1]), whole, beyond)
    for step in _steps(high - low, whole, powers=6):
        rounded = np.array([_multiple(round(edge / step), step) for edge in inner])
        edges = (low, *rounded.tolist(), high)
        if _increase(edges) and _alike(_shares(numbers, rounded), exact):
            return edges
    return _around(numbers, inner)


def _quantiles(numbers: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.float64]:
    """Return the numbers that divide sorted ones into `count` equal parts, shape (count − 1,)."""
    return numbers[(np.arange(1, count) * len(numbers)) // count]


def _outer(low: float, high: float, whole: bool, beyond: bool) -> tuple[float, float]:
    """Return round numbers that enclose a range with little to spare."""
    width = (high - low) / 20.0
    step = [step for step in _steps(width, whole) if step >= width][-1]
    first, last = math.floor(low / step), math.ceil(high / step)
    first -= _multiple(first, step) > low
    last += _multiple(last, step) < high
    if beyond and _multiple(last, step) <= high:
        last += 1
    return _multiple(first, step), _multiple(last, step)


def _around(numbers: npt.NDArray[np.float64], inner: npt.NDArray[np.float64]) -> tuple[float, ...]:
    """Return round edges beside given ones, each between two numbers and none of them.

    Raises
    ------
    DomainError
        If there is no round number between any of them.
    """
    distinct = np.unique(numbers)
    places = np.unique(np.clip(np.searchsorted(distinct, inner), 1, len(distinct) - 1))
    between = (_roundest(float(distinct[place - 1]), float(distinct[place])) for place in places)
    edges = sorted({edge for edge in between if edge is not None})
    low, high = float(distinct[0]), float(distinct[-1])
    reach = high / 2.0 - low / 2.0
    below, above = _roundest(low - reach, low), _roundest(high, high + reach)
    if not edges or below is None or above is None:
        raise DomainError(
            "The numbers of the column lie too close together for round edges.",
            "State the edges of the bins, or choose the kind 'categorical' without bins.",
        )
    return (below, *edges, above)


def _roundest(low: float, high: float) -> float | None:
    """Return the roundest number above one number and below another; None where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)) or not low < high:
        return None
    if low < 0.0 < high:
        return 0.0
    largest = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for exponent in range(largest, max(largest - 19, -320), -1):
        step = Decimal(1).scaleb(exponent)
        place = (Decimal(low) / step).to_integral_value(ROUND_FLOOR) + 1
        found = float(place * step)
        if low < found < high:
            return found
    return None


def suggest_ends(column: pd.Series) -> Coding:
    """Return round ends for a column whose largest or smallest numbers stand alone.

    Several records lie at each end or beyond it, so that what is shown there is nobody's in
    particular.

    Raises
    ------
    DomainError
        If the column is not numeric, has no two different finite numbers, or no numbers at its
        ends stand alone.
    """
    numbers = _finite(column)
    reached = max(SHARED_BY, math.ceil(len(numbers) / _REACHED))
    top = bottom = None
    if reached < len(numbers):
        whole, near = _are_whole(numbers), min(2 * reached, len(numbers))
        top, below = (
            _end(ends, reached, whole=whole) for ends in (numbers[-near:], -numbers[near - 1 :: -1])
        )
        bottom = None if below is None else -below
    if bottom is not None and top is not None and bottom >= top:
        bottom = None
    if bottom is None and top is None:
        raise DomainError(
            "Several records share the largest and the smallest numbers of the column.",
            "It needs no ends.",
        )
    return Coding(bottom, top)


def _end(largest: npt.NDArray[np.float64], reached: int, *, whole: bool) -> float | None:
    """Return the roundest number that enough of the largest reach; None where several share it."""
    if largest[-SHARED_BY] == largest[-1]:
        return None
    low, high = float(largest[0]), float(largest[-reached])
    found = _roundest(low, high)
    fits = found is not None and (found.is_integer() or not whole)
    return found if fits else high


def alone_at_ends(column: pd.Series) -> tuple[int, int]:
    """Return how many records have the smallest and the largest number where few share them.

    0 stands for an end that at least `SHARED_BY` records share, or that no number has.
    """
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return 0, 0
    counts = [int((numbers == end).sum()) for end in (numbers.min(), numbers.max())]
    low, high = (count if count < SHARED_BY else 0 for count in counts)
    return low, high


def _increase(edges: Sequence[float]) -> bool:
    return bool(np.all(np.diff(edges) > 0.0))


def _shares(
    numbers: npt.NDArray[np.float64], inner: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    below = np.searchsorted(numbers, inner, side="left")
    return np.diff(np.concatenate(([0], below, [len(numbers)]))) / len(numbers)


def _alike(found: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]) -> bool:
    """Return whether rounding the edges left each bin its share, by a factor of 1.4 or less."""
    return bool(np.all(found >= wanted / 1.4) and np.all(found <= wanted * 1.4))


def _are_whole(numbers: npt.NDArray[np.float64]) -> bool:
    return bool((numbers == np.floor(numbers)).all())


__all__ = [
    "BinWidths",
    "ColumnProfile",
    "NumberSummary",
    "ValueCount",
    "alone_at_ends",
    "profile_columns",
    "suggest_binning",
    "suggest_ends",
]


def profile_columns(table: Table, context: Context | None = None) -> tuple[ColumnProfile, ...]:
    """Return the profile of every column, in the table's order.

    Parameters
    ----------
    table
        The table, n records.
    context
        Progress, told before each column, and cancelling.
    """
    watched = context or Silent()
    profiles = []
    # Going through the columns in order is faster than looking each of them up.
    for place, (name, series) in enumerate(table.frame.items()):
        watched.report(place / len(table.columns), Sentence("Looking at {name}", name=name))
        profiles.append(summarize(series))
    watched.report(1.0, "Looked at every column")
    return tuple(profiles)
