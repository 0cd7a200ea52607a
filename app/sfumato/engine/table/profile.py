"""What one column looks like: how many values, which, and how they are distributed.

A summary is made from one sort of a numeric column, or one hash lookup a row of any other. Beside
the sorted copy nothing is as long as the column: what follows from it is found block by block.

A profile says more of a column than its summary, and proposes bins with edges that a person would
choose.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from decimal import ROUND_FLOOR, Decimal
from enum import StrEnum
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Binning, Coding
from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import NAMES, Period
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.values import Floats, Indices, Integers, Value, factorize, plain
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.repeated_units import units_among
from sfumato.engine.table.table import Table

MOST_BARS = 24
"""How many bars a small picture of a distribution has at most."""

MOST_TOP = 12
"""How many of the most frequent values are kept."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

_STEPS = np.linspace(0.0, 1.0, MOST_BARS + 1)
"""Where a histogram's edges lie between the least and the largest value."""

_DAY = 86_400_000_000
"""Microseconds of a day."""

_MOMENTS = np.dtype("datetime64[us]")

_BLOCK = 1 << 16
"""So few rows are looked at together that they stay near the processor."""

_LENGTH_SAMPLE = 10_000
"""How many distinct texts the mean length is taken from."""


@dataclass(frozen=True)
class ValueCount:
    """One value and the number of records that have it."""

    value: Value
    count: int


@dataclass(frozen=True)
class NumberSummary:
    """The distribution of a numeric column.

    Parameters
    ----------
    minimum, maximum, mean
        Over the values that are not missing; infinite ones are left out of the mean.
    quantiles
        The value below which each of the shares `QUANTILES` lies.
    edges, counts
        A histogram of finite values with equal bins: edges (bins + 1,), counts (bins,).
    whole
        Whether all values are whole numbers.
    """

    minimum: float
    maximum: float
    mean: float
    quantiles: tuple[float, ...]
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    whole: bool


@dataclass(frozen=True)
class ColumnProfile:
    """What one column looks like. Its text form holds no values of the table.

    Parameters
    ----------
    name
        The column's name.
    type_name
        How its values are stored, in plain words.
    count
        The number of records, n.
    missing
        How many of them have no value.
    distinct
        The number of different values, missing not counted.
    top
        The most frequent values, at most `MOST_TOP`, most frequent first.
    numbers
        The distribution of a numeric column.
    earliest, latest
        The first and the last date of a column of dates, as ISO texts.
    mean_length
        The mean length of the distinct texts, in characters.
    distribution
        Shares for a small picture, at most `MOST_BARS`: a histogram of numbers and dates, the
        most frequent values of others.
    reasons
        Why values are missing, where the file tells it, most frequent first.
    """

    name: str
    type_name: str
    count: int
    missing: int
    distinct: int
    top: tuple[ValueCount, ...] = field(default=(), repr=False)
    numbers: NumberSummary | None = field(default=None, repr=False)
    earliest: str | None = field(default=None, repr=False)
    latest: str | None = field(default=None, repr=False)
    mean_length: float | None = None
    distribution: tuple[float, ...] = field(default=(), repr=False)
    reasons: tuple[ValueCount, ...] = field(default=(), repr=False)

    @property
    def present(self) -> int:
        """How many records have a value."""
        return self.count - self.missing

    @property
    def is_unique(self) -> bool:
        """Whether no two records share a value, and there are at least two."""
        return self.distinct == self.present > 1


def summarize(series: pd.Series) -> ColumnProfile:
    """Return the profile of one column."""
    dtype = series.dtype
    # A categorical type is told by all its categories, so it is not looked up.
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_categories(series)
    return _summary_for(dtype)(series)


@cache
def _summary_for(dtype: Any) -> Callable[[pd.Series], ColumnProfile]:
    """Return what summarizes columns of a type; asking pandas for each column takes longer."""
    if pd.api.types.is_bool_dtype(dtype):
        return _of_categories
    if pd.api.types.is_numeric_dtype(dtype):
        return _of_numbers
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return _of_dates
    return _of_categories


def _of_categories(series: pd.Series) -> ColumnProfile:
    positions, values = factorize(series)
    missing = int((positions < 0).sum())
    # Missing is position -1: shifted by one it is counted in front.
    counts = _count_positions(positions, len(values))
    occurring = np.flatnonzero(counts)
    order = occurring[np.argsort(-counts[occurring], kind="stable")]
    top = order[:MOST_TOP]
    # To take some of few values from an array of objects spares a call of pandas for each.
    known = values.to_numpy(dtype=object) if len(values) <= _LENGTH_SAMPLE else values
    texts = isinstance(values.dtype, pd.StringDtype)
    type_name, length = _type_of(known[occurring[:_LENGTH_SAMPLE]], texts)
    present = max(len(series) - missing, 1)
    return ColumnProfile(
        name=str(series.name),
        type_name=type_name,
        count=len(series),
        missing=missing,
        distinct=len(occurring),
        top=tuple(
            ValueCount(plain(value), count)
            for value, count in zip(known[top].tolist(), counts[top].tolist(), strict=True)
        ),
        mean_length=length,
        distribution=tuple((counts[order[:MOST_BARS]] / present).tolist()),
    )


def _count_positions(positions: npt.NDArray[np.integer], size: int) -> Integers:
    """Return how often each position 0 .. size − 1 occurs, shape (size,)."""
    counts = np.zeros(size + 1, dtype=np.int64)
    for start in range(0, len(positions), _BLOCK):
        shifted = positions[start : start + _BLOCK].astype(np.int64) + 1
        counts += np.bincount(shifted, minlength=size + 1)
    return counts[1:]


def _type_of(values: pd.Index | npt.NDArray[np.object_], texts: bool) -> tuple[str, float | None]:
    """Return the plain name of the type of some distinct values, and texts' mean length."""
    if values.dtype == np.bool_:
        return Sentence("yes/no"), None
    inferred = "string" if texts else pd.api.types.infer_dtype(values, skipna=True)
    if inferred == "boolean":
        return Sentence("yes/no"), None
    if inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        return Sentence("whole number") if inferred == "integer" else Sentence("number"), None
    if inferred in ("datetime64", "datetime", "date"):
        return Sentence("date"), None
    if inferred in ("string", "empty"):
        lengths = [len(str(value)) for value in values.tolist()]
        return Sentence("text"), float(np.mean(lengths)) if lengths else None
    return Sentence("mixed"), None


def _of_numbers(series: pd.Series) -> ColumnProfile:
    integer = series.dtype.kind in "iu"
    if isinstance(series.dtype, np.dtype) and (integer or series.dtype == np.float64):
        numbers = np.sort(series.to_numpy())
    elif integer:
        values = series.array
        numbers = np.sort(values[~values.isna()].to_numpy())
    else:
        numbers = np.sort(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if not integer:
        numbers = numbers[: np.searchsorted(numbers, np.nan)]  # what is missing comes last
    runs = _runs_of(numbers)
    summary = _summary_of_sorted(numbers)
    whole = summary is not None and summary.whole
    shares = () if summary is None else _shares_of(summary.counts)
    return ColumnProfile(
        name=str(series.name),
        type_name=Sentence("whole number") if integer or whole else Sentence("number"),
        count=len(series),
        missing=len(series) - len(numbers),
        distinct=runs.distinct,
        top=tuple(
            ValueCount(plain(value), count)
            for value, count in zip(runs.values.tolist(), runs.counts.tolist(), strict=True)
        ),
        numbers=summary,
        distribution=shares,
    )


@dataclass(frozen=True)
class _Runs:
    """The runs of equal values in a sorted array, t ≤ `MOST_TOP` of them by themselves.

    Parameters
    ----------
    distinct
        How many there are.
    values, counts
        The longest runs' values and lengths, shapes (t,), longest first; of equally long ones
        those of the smallest values.
    """

    distinct: int
    values: npt.NDArray[np.generic]
    counts: Integers


def _runs_of(numbers: npt.NDArray[np.generic]) -> _Runs:
    """Return what there is to say of a sorted array's runs; block by block, to spare memory."""
    size, distinct = len(numbers), 0
    starts = lengths = np.zeros(0, dtype=np.int64)
    open_run = np.zeros(min(size, 1), dtype=np.int64)  # the start of the run at a block's end
    for start in range(0, size, _BLOCK):
        end = min(start + _BLOCK, size)
        first = max(start, 1)
        begun = first + np.flatnonzero(numbers[first:end] != numbers[first - 1 : end - 1])
        bounds = np.concatenate((open_run, begun, [size] if end == size else begun[:0]))
        distinct += len(bounds) - 1
        starts = np.concatenate((starts, bounds[:-1]))
        lengths = np.concatenate((lengths, np.diff(bounds)))
        longest = _longest_first(lengths)
        starts, lengths, open_run = starts[longest], lengths[longest], bounds[-1:]
    return _Runs(distinct, numbers[starts], lengths)


def _longest_first(lengths: Integers) -> Indices:
    """Return where the `MOST_TOP` longest runs stand, of equally long ones the first."""
    if len(lengths) <= MOST_TOP:
        return np.argsort(-lengths, kind="stable")
    least = np.partition(lengths, -MOST_TOP)[-MOST_TOP]  # which takes less than to sort all
    longer = np.flatnonzero(lengths > least)
    some = np.append(longer, np.flatnonzero(lengths == least)[: MOST_TOP - len(longer)])
    return some[np.argsort(-lengths[some], kind="stable")]


def _summary_of_sorted(numbers: Integers | Floats) -> NumberSummary | None:
    if len(numbers) == 0:
        return None
    finite = numbers
    if numbers.dtype.kind == "f":
        low = np.searchsorted(numbers, -np.inf, side="right")
        finite = numbers[low : np.searchsorted(numbers, np.inf, side="left")]
    if len(finite) == 0:
        return None
    minimum, maximum = float(finite[0]), float(finite[-1])
    edges = _edges(minimum, maximum)
    below = np.searchsorted(finite, edges[1:-1], side="left")
    counts = np.diff(np.concatenate(([0], below, [len(finite)])))
    places = (np.array(QUANTILES) * (len(numbers) - 1)).round().astype(np.intp)
    return NumberSummary(
        minimum=float(numbers[0]),
        maximum=float(numbers[-1]),
        mean=_mean(finite),
        quantiles=tuple(float(numbers[place]) for place in places),
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        whole=len(finite) == len(numbers) and _are_whole(finite),
    )


def _are_whole(numbers: Integers | Floats) -> bool:
    blocks = (numbers[start : start + _BLOCK] for start in range(0, len(numbers), _BLOCK))
    return numbers.dtype.kind in "iu" or all(bool((b == np.floor(b)).all()) for b in blocks)


def _mean(numbers: Integers | Floats) -> float:
    with np.errstate(over="ignore"):
        mean = float(numbers.mean(dtype=np.float64))
    # The sum of the largest numbers is beyond all numbers; the mean of their shares is not.
    return mean if np.isfinite(mean) else float((numbers / len(numbers)).sum())


def _edges(minimum: float, maximum: float) -> Floats:
    """Return the edges of a histogram's equal bins; one bin for a single value."""
    if minimum == maximum:
        return np.array([minimum, maximum])
    # Halves keep the span of the largest floats finite.
    return minimum * (1.0 - _STEPS) + maximum * _STEPS


def _shares_of(counts: tuple[int, ...]) -> tuple[float, ...]:
    total = max(sum(counts), 1)
    return tuple(count / total for count in counts)


def _of_dates(series: pd.Series) -> ColumnProfile:
    exact = series.dtype == _MOMENTS
    dates = np.sort(series.to_numpy() if exact else series.to_numpy(dtype=_MOMENTS))
    # What is missing comes last.
    moments = dates[: np.searchsorted(dates, np.datetime64("NaT"))].view(np.int64)
    runs = _runs_of(moments)
    summary = _summary_of_sorted(moments)
    days = (moments[start : start + _BLOCK] for start in range(0, len(moments), _BLOCK))
    whole_days = all(bool((block % _DAY == 0).all()) for block in days)
    return ColumnProfile(
        name=str(series.name),
        type_name=Sentence("date") if whole_days else Sentence("date and time"),
        count=len(series),
        missing=len(series) - len(moments),
        distinct=runs.distinct,
        top=tuple(
            ValueCount(_date(value), int(count))
            for value, count in zip(runs.values, runs.counts, strict=True)
        ),
        earliest=_date(moments[0]) if len(moments) else None,
        latest=_date(moments[-1]) if len(moments) else None,
        distribution=() if summary is None else _shares_of(summary.counts),
    )


def _date(moment: np.generic) -> str:
    """Return microseconds since 1970 as an ISO text."""
    found = moment.astype("datetime64[us]").item()
    # Python knows no other years than 1 to 9999.
    return str(
        plain(found if isinstance(found, dt.datetime) else pd.Timestamp(int(moment), unit="us"))
    )


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


def _finite(column: pd.Series) -> Floats:
    dtype = column.dtype
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        raise DomainError(
            "Column {column} is not numeric, so it can't be binned.",
            "Choose the kind 'categorical' without bins.",
            column=column.name,
        )
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    finite: Floats = numbers[np.isfinite(numbers)]
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


def _equal_width(numbers: Floats, count: int) -> tuple[float, ...]:
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


def _equal_counts(numbers: Floats, count: int) -> tuple[float, ...]:
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


def _quantiles(numbers: Floats, count: int) -> Floats:
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


def _around(numbers: Floats, inner: Floats) -> tuple[float, ...]:
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


class EndsNotNeeded(DomainError):
    """No number of a column stands alone at its ends."""


def suggest_ends(column: pd.Series, units: npt.NDArray[np.int64] | None = None) -> Coding:
    """Return round ends for a column whose largest or smallest numbers stand alone.

    Several records lie at each end or beyond it, so that what is shown there is nobody's in
    particular; where rows belong to units, the rows of several units.

    Parameters
    ----------
    column
        The numbers, n rows.
    units
        Each row's unit, shape (n,); None where rows stand alone.

    Raises
    ------
    DomainError
        If the column is not numeric, or has no two different finite numbers.
    EndsNotNeeded
        If no numbers at its ends stand alone.
    """
    lowest = highest = numbers = _finite(column)
    if units is not None:  # each counts once, by its number that lies farthest out
        finite = pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan))
        by_unit = finite.where(np.isfinite(finite)).groupby(units)
        lowest, highest = (np.sort(one.dropna()) for one in (by_unit.min(), by_unit.max()))
    reached = max(SHARED_BY, math.ceil(len(highest) / _REACHED))
    top = bottom = None
    if reached < len(highest):
        whole, near = _are_whole(numbers), min(2 * reached, len(highest))
        top, below = (
            _end(ends, reached, whole=whole) for ends in (highest[-near:], -lowest[near - 1 :: -1])
        )
        bottom = None if below is None else -below
    if bottom is not None and top is not None and bottom >= top:
        bottom = None
    if bottom is None and top is None:
        raise EndsNotNeeded(
            "Several records share the largest and the smallest numbers of the column.",
            "It needs no ends.",
        )
    return Coding(bottom, top)


def _end(largest: Floats, reached: int, *, whole: bool) -> float | None:
    """Return the roundest number that enough of the largest reach; None where several share it."""
    if largest[-SHARED_BY] == largest[-1]:
        return None
    low, high = float(largest[0]), float(largest[-reached])
    found = _roundest(low, high)
    fits = found is not None and (found.is_integer() or not whole)
    return found if fits else high


def alone_at_ends(column: pd.Series, units: npt.NDArray[np.int64] | None = None) -> tuple[int, int]:
    """Return how many records, or units, have the smallest and the largest number, if few do.

    0 stands for an end that at least `SHARED_BY` records share, or that no number has.
    """
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    known = np.isfinite(numbers)
    if not known.any():
        return 0, 0
    ends = numbers[known].min(), numbers[known].max()
    counts = [units_among(units, numbers == end) for end in ends]
    low, high = (count if count < SHARED_BY else 0 for count in counts)
    return low, high


def _increase(edges: Sequence[float]) -> bool:
    return bool(np.all(np.diff(edges) > 0.0))


def _shares(numbers: Floats, inner: Floats) -> Floats:
    below = np.searchsorted(numbers, inner, side="left")
    return np.diff(np.concatenate(([0], below, [len(numbers)]))) / len(numbers)


def _alike(found: Floats, wanted: Floats) -> bool:
    """Return whether rounding the edges left each bin its share, by a factor of 1.4 or less."""
    return bool(np.all(found >= wanted / 1.4) and np.all(found <= wanted * 1.4))


def _of_period(profile: ColumnProfile, series: pd.Series, period: Period) -> ColumnProfile:
    """Return the profile of a column of coarse dates, times or durations."""
    ends: tuple[str | None, str | None] = (None, None)
    if profile.numbers is None and profile.distinct:
        texts = [str(text) for text in factorize(series)[1]]
        ends = min(texts), max(texts)
    return replace(profile, type_name=NAMES[period], earliest=ends[0], latest=ends[1])


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
        profile = summarize(series)
        period = table.periods.get(str(name))
        if period is not None:
            profile = _of_period(profile, series, period)
        if (known := table.missing_reasons.get(str(name))) is not None:
            told = tuple(itertools.starmap(ValueCount, known.counts.items()))
            profile = replace(profile, reasons=told)
        profiles.append(profile)
    watched.report(1.0, "Looked at every column")
    return tuple(profiles)
