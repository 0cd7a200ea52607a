"""What one column looks like: how many values, which, and how they are distributed.

A summary is made from one sort of a numeric column, or one hash lookup a row of any other, so
that ten million rows take about a second. Beside the sorted copy nothing is as long as the column:
what follows from it is found block by block.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.extensions import ExtensionDtype

from sfumato.engine.core.values import Value, factorize, plain
from sfumato.engine.core.wording import Sentence

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

_BLOCK = 1 << 20
"""How many rows are looked at together."""

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
def _summary_for(dtype: np.dtype | ExtensionDtype) -> Callable[[pd.Series], ColumnProfile]:
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


def _count_positions(positions: npt.NDArray[np.integer], size: int) -> npt.NDArray[np.int64]:
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
    counts: npt.NDArray[np.int64]


def _runs_of(numbers: npt.NDArray[np.generic]) -> _Runs:
    """Return what there is to say of a sorted array's runs; block by block, to spare memory."""
    size, distinct = len(numbers), 0
    starts = lengths = np.zeros(0, dtype=np.int64)
    open_run = np.zeros(min(size, 1), dtype=np.int64)  # the start of the run at a block's end
    for start in range(0, size, _BLOCK):
        end = min(start + _BLOCK, size)
        first = max(start, 1)
        begun = first + np.flatnonzero(numbers[first:end] != numbers[first - 1 : end - 1])
        bounds = np.concatenate((open_run, begun, [size] if end == size else []))
        bounds = bounds.astype(np.int64)
        distinct += len(bounds) - 1
        starts = np.concatenate((starts, bounds[:-1]))
        lengths = np.concatenate((lengths, np.diff(bounds)))
        longest = np.argsort(-lengths, kind="stable")[:MOST_TOP]
        starts, lengths, open_run = starts[longest], lengths[longest], bounds[-1:]
    return _Runs(distinct, numbers[starts], lengths)


def _summary_of_sorted(
    numbers: npt.NDArray[np.int64] | npt.NDArray[np.float64],
) -> NumberSummary | None:
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


def _are_whole(numbers: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> bool:
    blocks = (numbers[start : start + _BLOCK] for start in range(0, len(numbers), _BLOCK))
    return numbers.dtype.kind in "iu" or all(bool((b == np.floor(b)).all()) for b in blocks)


def _mean(numbers: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    with np.errstate(over="ignore"):
        mean = float(numbers.mean(dtype=np.float64))
    # The sum of the largest numbers is beyond all numbers; the mean of their shares is not.
    return mean if np.isfinite(mean) else float((numbers / len(numbers)).sum())


def _edges(minimum: float, maximum: float) -> npt.NDArray[np.float64]:
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
