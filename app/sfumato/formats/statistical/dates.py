"""Dates, times and periods of statistical packages: what their numbers mean as they are shown.

What a format does not show is cut off here, so that nothing finer can leave in any way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import (
    DURATIONS,
    MONTH_NAMES,
    NAMES,
    WEEKDAY_NAMES,
    Moment,
    Period,
    calendar,
    periods_of,
    times_of_day,
)
from sfumato.engine.core.values import Flags, Floats, Value, distinct
from sfumato.formats.columns.arrays import TextBuffer, column_of
from sfumato.formats.columns.parsing import ROWS_TOLD
from sfumato.formats.columns.settling import outside_note
from sfumato.formats.errors import Way, grouped
from sfumato.formats.notes import Note
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.statistical.displays import Display, Scale, is_business_calendar

_DAY: Final = 86_400
_FARTHEST: Final = 4e11
"""More seconds than lie between any origin and the years 1 to 9999."""
_FARTHEST_MONTH: Final = 2e5
_FIRST: Final = np.datetime64("0001-01-01", "us")
_LAST: Final = np.datetime64("9999-12-31T23:59:59.999999", "us")
_NAT: Final = np.datetime64("NaT")


@dataclass(frozen=True)
class MomentStorage:
    """How a package stores dates, and dates with a time of day.

    Parameters
    ----------
    origin
        The day its numbers count from.
    seconds_per_date
        The seconds that one unit of a date lasts.
    units_per_second
        The units of a date with a time that make a second.
    is_date, is_moment
        Whether a display format is one of a date, or of a date with a time.
    """

    origin: np.datetime64
    seconds_per_date: int
    units_per_second: int
    is_date: Callable[[str], bool]
    is_moment: Callable[[str], bool]

    def decode(self, numbers: Floats, shown: str) -> npt.NDArray[Any] | None:
        """Return a package's numbers as version 1 read them, or None for no format of dates.

        Fractions of a second are rounded to ten-thousandths: a number of seconds since 1582
        holds no more digits up to the year 9999.
        """
        if self.is_date(shown):
            seconds = np.floor(numbers * self.seconds_per_date / _DAY) * _DAY
            fractions = np.zeros(len(numbers))
        elif self.is_moment(shown):
            seconds = np.floor(numbers / self.units_per_second)
            fractions = numbers / self.units_per_second - seconds
            if self.units_per_second > 1:
                fractions = (numbers - seconds * self.units_per_second) / self.units_per_second
        else:
            return None
        return _moments(seconds, fractions, self.origin)

    def dated(
        self, name: str, numbers: Floats, shown: str, options: ReadOptions
    ) -> DatedColumn | None:
        """Return a column as version 1 read it, or None for no format of dates.

        What lies outside the years 1 to 9999 ended in a fault then.
        """
        moments = self.decode(numbers, shown)
        if moments is None:
            return None
        outside = np.isnat(moments) & ~np.isnan(numbers)
        notes = _odd_notes(name, shown, Scale.DAYS, outside, None, options)
        return DatedColumn(pd.Series(moments, name=name, copy=False), notes=tuple(notes))

    def encode(self, moments: npt.NDArray[np.datetime64], *, dates: bool) -> npt.NDArray[Any]:
        """Return moments as the package's numbers; NaN where missing.

        Parameters
        ----------
        moments
            With no more than milliseconds, shape (n,).
        dates
            Whether they are dates without a time of day.
        """
        milliseconds = (moments.astype("datetime64[ms]") - self.origin).astype(np.float64)
        if dates:
            numbers = milliseconds / (1000 * self.seconds_per_date)
        else:
            numbers = milliseconds / (1000 / self.units_per_second)
        numbers[np.isnat(moments)] = np.nan
        return numbers


def _moments(seconds: Floats, fractions: Floats, origin: np.datetime64) -> Moment:
    """Return whole seconds since an origin and their fractions as moments.

    They are missing where the seconds are, and outside the years 1 to 9999.
    """
    known = np.abs(seconds) < _FARTHEST  # Also false where the number is missing.
    whole = np.where(known, seconds, 0).astype(np.int64)
    parts = np.round(np.where(known, fractions, 0) * 1e4).astype(np.int64) * 100
    moments: Moment = origin.astype("datetime64[us]") + (whole * 1_000_000 + parts)
    moments[~known | (moments < _FIRST) | (moments > _LAST)] = _NAT
    return moments


_LEAP_DAYS: Final = (
    *("1972-06-30", "1972-12-31", "1973-12-31", "1974-12-31", "1975-12-31", "1976-12-31"),
    *("1977-12-31", "1978-12-31", "1979-12-31", "1981-06-30", "1982-06-30", "1983-06-30"),
    *("1985-06-30", "1987-12-31", "1989-12-31", "1990-12-31", "1992-06-30", "1993-06-30"),
    *("1994-06-30", "1995-12-31", "1997-06-30", "1998-12-31", "2005-12-31", "2008-12-31"),
    *("2012-06-30", "2015-06-30", "2016-12-31"),
)
"""The days that ended with a leap second."""


def _without_leaps(milliseconds: Floats, origin: np.datetime64) -> Floats:
    """Return milliseconds that count leap seconds as those that don't.

    What happened in a leap second gets the time of the second before.
    """
    ends = np.array(_LEAP_DAYS, dtype="datetime64[D]") + 1
    plain = (ends.astype("datetime64[ms]") - origin.astype("datetime64[ms]")).astype(np.float64)
    begins = plain + 1000.0 * np.arange(len(plain))
    begun = np.searchsorted(begins, milliseconds, side="right")
    return milliseconds - 1000.0 * np.where(np.isnan(milliseconds), 0, begun)


_MONTHS: Final = {Scale.MONTHS: 1, Scale.QUARTERS: 3, Scale.HALF_YEARS: 6, Scale.YEARS: 12}
_YEAR_0: Final = 1960
_WEEKS: Final = 52
"""How many weeks a year of Stata has; the last one is longer."""
_PER_SECOND: Final = {Scale.SECONDS: 1, Scale.MILLISECONDS: 1000, Scale.LEAP_MILLISECONDS: 1000}


def moments_of(numbers: Floats, scale: Scale, origin: np.datetime64) -> Moment:
    """Return what numbers count to as moments: the first one of a month, a quarter and so on.

    Parameters
    ----------
    numbers
        Not a number where missing, shape (n,).
    scale
        What they count, from the origin on.
    origin
        The day they count from.

    Returns
    -------
    numpy.ndarray
        To the microsecond, missing outside the years 1 to 9999, shape (n,).
    """
    if scale in _PER_SECOND:
        if scale is Scale.LEAP_MILLISECONDS:
            numbers = _without_leaps(numbers, origin)
        units = _PER_SECOND[scale]
        seconds = np.floor(numbers / units)
        return _moments(seconds, (numbers - seconds * units) / units, origin)
    whole = np.floor(numbers)
    if scale is Scale.DAYS:
        return _moments(whole * _DAY, np.zeros(len(numbers)), origin)
    if scale is Scale.YEARS:
        whole = whole - _YEAR_0
    years, weeks = np.divmod(whole, _WEEKS) if scale is Scale.WEEKS else (whole, np.zeros(1))
    months = years * _MONTHS.get(scale, 12)
    known = np.abs(months) < _FARTHEST_MONTH
    begins = np.datetime64(_YEAR_0 - 1970, "Y").astype("datetime64[M]") + (
        np.where(known, months, 0).astype(np.int64)
    )
    days = begins.astype("datetime64[D]") + 7 * np.where(known, weeks, 0).astype(np.int64)
    moments: Moment = days.astype("datetime64[us]")
    moments[~known | (moments < _FIRST) | (moments > _LAST)] = _NAT
    return moments


def numbers_of(begins: Moment, display: Display, origin: np.datetime64) -> Floats:
    """Return what counts to the first moments of periods, see `moments_of`, shape (n,).

    Parameters
    ----------
    begins
        As `begins_of` gives them: those of times on 1 January 1970.
    display, origin
        What the format shows of the numbers, and the day they count from.

    Returns
    -------
    numpy.ndarray
        Not a number in weeks that the package doesn't know.
    """
    if display.is_clock:
        seconds = begins.astype(np.int64) / 1e6
        return seconds * _PER_SECOND.get(display.scale, 1)
    if display.scale is Scale.SECONDS:
        return (begins.astype("datetime64[s]") - origin).astype(np.float64)
    months = begins.astype("datetime64[M]").astype(np.int64) - 12 * (_YEAR_0 - 1970)
    if display.scale is Scale.WEEKS:
        parts = calendar(begins)
        weeks = _WEEKS * (parts["Y"] - _YEAR_0) + parts["W"] - 1.0
        return np.where(parts["W"] > _WEEKS, np.nan, weeks)
    counted = months // _MONTHS[display.scale]
    return (counted + _YEAR_0 * (display.scale is Scale.YEARS)).astype(np.float64)


@dataclass(frozen=True)
class DatedColumn:
    """A column of dates, times or periods, and what is odd about it.

    Parameters
    ----------
    series
        Moments; or texts or whole numbers where the column is one of periods.
    period
        What its values stand for; None for moments.
    labels
        The names of months and weekdays.
    hides
        Whether the file holds more of a date than is shown.
    notes
        What the custodian should know.
    """

    series: pd.Series
    period: Period | None = None
    labels: Mapping[Value, str] = field(default_factory=dict)
    hides: bool = False
    notes: tuple[Note, ...] = ()


def dated(
    name: str,
    numbers: Floats,
    shown: str,
    display: Display,
    origin: np.datetime64,
    options: ReadOptions,
) -> DatedColumn:
    """Return a package's numbers as what their format shows of them.

    Parameters
    ----------
    name, numbers
        The column; not a number where missing, shape (n,).
    shown, display
        Its format, and what that shows.
    origin
        The day the package counts from.
    options
        How the file is read. A column whose type is fixed as dates is read with all that the
        file holds of them, by the unit that its numbers seem to count.
    """
    if display.scale is Scale.CODES:
        return _of_codes(name, numbers, display, options)
    if display.scale is Scale.ELAPSED:
        return _of_seconds(name, numbers, display)
    moments = moments_of(numbers, display.scale, origin)
    other = _other_scale(numbers, moments, display.scale, origin)
    exact = options.column_types.get(name) == ColumnType.DATE
    if exact and other is not None:
        moments, other = moments_of(numbers, other, origin), None
    outside = np.isnat(moments) & ~np.isnan(numbers)
    notes = tuple(_odd_notes(name, shown, display.scale, outside, other, options))
    if exact or display.is_exact:
        if not exact:
            moments = moments.astype(f"datetime64[{_finest(display.parts)}]")
        return DatedColumn(_series(name, moments.astype("datetime64[us]")), notes=notes)
    if display.is_clock:
        seconds = np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6) % _DAY
        return replace(_of_seconds(name, seconds, display), hides=True, notes=notes)
    return replace(_of_calendar(name, moments, display), notes=notes)


def _finest(parts: str) -> str:
    """Return numpy's unit of the finest part that is shown; seconds keep their fractions."""
    return "us" if "s" in parts else "m" if "m" in parts else "h" if "h" in parts else "D"


def _series(name: str, values: Any) -> pd.Series:
    return pd.Series(values, name=name, copy=False)


def _of_texts(name: str, texts: npt.NDArray[Any], places: npt.NDArray[Any], known: Flags) -> Any:
    """Return a column of the texts at some places of a list, for the rows that are known."""
    distinct_texts, merged = np.unique(texts, return_inverse=True)
    indices = np.zeros(len(known), dtype=np.int32)
    indices[known] = merged[places]
    buffer = TextBuffer(len(known))
    rows = pa.array(indices, mask=~known)
    values = pa.array(distinct_texts.tolist(), type=pa.string())
    buffer.add(pa.DictionaryArray.from_arrays(rows, values))
    return _series(name, buffer.finish(None))


def _of_numbers(name: str, values: npt.NDArray[Any], known: Flags) -> pd.Series:
    """Return a column of whole numbers, of which those of the rows that are known are given."""
    whole = np.zeros(len(known), dtype=np.int64)
    whole[known] = values
    return _series(name, column_of(whole, ~known))


_LABELS: Final[Mapping[Period, Mapping[Value, str]]] = {
    Period.MONTH_OF_YEAR: dict(enumerate(MONTH_NAMES, start=1)),
    Period.WEEKDAY: dict(enumerate(WEEKDAY_NAMES, start=1)),
}
_FINER: Final = frozenset((*_PER_SECOND, Scale.DAYS))


def _of_calendar(name: str, moments: Moment, display: Display) -> DatedColumn:
    """Return the periods of the calendar that moments lie in."""
    period = display.period
    known = ~np.isnat(moments)
    days = moments[known].astype("datetime64[D]").astype(np.int64)
    # Each day is written once, however many rows have it.
    occurring, places = distinct(days)
    values = periods_of(occurring.astype("datetime64[D]"), period, display.week, display.last_week)
    if values.dtype == object:
        series = _of_texts(name, values, places, known)
    else:
        series = _of_numbers(name, values[places], known)
    return DatedColumn(series, period, _LABELS.get(period, {}), hides=display.scale in _FINER)


def _of_codes(name: str, numbers: Floats, display: Display, options: ReadOptions) -> DatedColumn:
    """Return numbers that are months or weekdays themselves."""
    labels = _LABELS[display.period]
    whole = np.floor(numbers)
    known = (whole >= 1) & (whole <= len(labels))
    outside = ~np.isnan(numbers) & ~known
    notes: tuple[Note, ...] = ()
    if outside.any():
        notes = (
            _note_of(
                "Column {column} holds {count:number|numbers} that {count:is no {period}|are no"
                " {period}}: {count} {count:is|are} read as missing, first in row {row}.",
                name,
                outside,
                (Way("Read the bare numbers", options.with_type(name, ColumnType.NUMBER)),),
                period=NAMES[display.period],
            ),
        )
    series = _of_numbers(name, whole[known].astype(np.int64), known)
    return DatedColumn(series, display.period, labels, notes=notes)


def _of_seconds(name: str, numbers: Floats, display: Display) -> DatedColumn:
    """Return seconds as times of day; or as durations where any is not one of a day."""
    known = np.isfinite(numbers)
    seconds = numbers[known]
    parts = display.parts
    if display.lasts or bool(((seconds < 0) | (seconds >= _DAY)).any()):
        unit = Period.SECONDS if "s" in parts else Period.MINUTES if "m" in parts else Period.HOURS
        return _of_duration(name, numbers, unit, display.digits)
    if "m" not in parts:
        hours = (seconds // 3600).astype(np.int64)
        return DatedColumn(_of_numbers(name, hours, known), Period.HOUR)
    occurring, places = np.unique(seconds, return_inverse=True)
    texts = times_of_day(occurring, parts, display.digits)
    return DatedColumn(_of_texts(name, texts, places, known), Period.TIME)


def _of_duration(name: str, numbers: Floats, unit: Period, digits: int) -> DatedColumn:
    """Return seconds as a number of the unit that is shown, what is finer cut off."""
    if unit is Period.SECONDS and digits:
        scale = 10.0**digits
        # A binary fraction may lie a hair below the decimal one it was written as.
        cut = np.trunc(numbers * scale + np.copysign(1e-4, numbers)) / scale
        return DatedColumn(_series(name, cut), unit)
    known = np.isfinite(numbers)
    whole = np.trunc(numbers[known] / DURATIONS[unit]).astype(np.int64)
    return DatedColumn(_of_numbers(name, whole, known), unit)


_LIKELY: Final = (np.datetime64("1850-01-01", "us"), np.datetime64("2150-01-01", "us"))
_UNLIKELY: Final = (np.datetime64("1500-01-01", "us"), np.datetime64("2200-01-01", "us"))
_CLOSE: Final = 100_000
"""Fewer seconds than in two days."""


def _other_scale(
    numbers: Floats, moments: Moment, scale: Scale, origin: np.datetime64
) -> Scale | None:
    """Return what a column's numbers seem to count in place of what its format says, if anything.

    All of them are dates that hardly anybody has, and would be common ones otherwise.
    """
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return None
    small = scale in _PER_SECOND and bool((np.abs(known) < _CLOSE).all())
    with np.errstate(invalid="ignore"):
        common = (moments >= _UNLIKELY[0]) & (moments < _UNLIKELY[1])
    if common.any() and not (small and len(np.unique(known)) > 1):
        return None
    for other in (Scale.DAYS, Scale.SECONDS, Scale.MILLISECONDS):
        if other is not scale and other in _FINER:
            found = moments_of(known, other, origin)
            if bool(((found >= _LIKELY[0]) & (found < _LIKELY[1])).all()):
                return other
    return None


def _odd_notes(
    name: str,
    shown: str,
    scale: Scale,
    outside: Flags,
    other: Scale | None,
    options: ReadOptions,
) -> Sequence[Note]:
    """Return what is said of numbers that are no dates, or hardly the dates that were meant."""
    ways = [Way("Read the bare numbers", options.with_type(name, ColumnType.NUMBER))]
    count = int(outside.sum())
    if other is not None:
        ways.append(
            Way("Read as dates by the other unit", options.with_type(name, ColumnType.DATE))
        )
        told = {"format": shown, "scale": scale.value, "other": other.value}
        if count:
            return [
                _note_of(
                    "Column {column} has the format {format}, which counts {scale}, but its numbers"
                    " seem to count {other}: {count} {count:value is|values are} read as missing,"
                    " first in row {row}.",
                    name,
                    outside,
                    ways,
                    **told,
                )
            ]
        return [
            Note(
                "Column {column} has the format {format}, which counts {scale}, but its numbers"
                " seem to count {other}. Its dates are read as the format shows them.",
                {"column": name, **told},
                caution=True,
                columns=(name,),
                ways=tuple(ways),
            )
        ]
    if not count:
        return []
    rows = (np.flatnonzero(outside)[:ROWS_TOLD] + 1).tolist()
    return [outside_note(name, count, rows, ways)]


def _note_of(template: str, name: str, rows: Flags, ways: Sequence[Way], **details: object) -> Note:
    """Return a caution about some rows of a column."""
    count, places = int(rows.sum()), np.flatnonzero(rows)[:ROWS_TOLD] + 1
    return Note(
        template,
        {"column": name, "count": count, "row": grouped(int(places[0])), **details},
        caution=True,
        columns=(name,),
        count=count,
        rows=tuple(places.tolist()),
        ways=tuple(ways),
    )


def calendar_note(name: str, shown: str) -> Note | None:
    """Return what is said of a column that counts the business days of a calendar; else None."""
    if not is_business_calendar(shown):
        return None
    return Note(
        "Column {column} counts business days by a calendar that is not in the file, so it is read"
        " as numbers.",
        {"column": name},
        caution=True,
        columns=(name,),
    )


def period_notes(columns: Mapping[str, DatedColumn], options: ReadOptions) -> list[Note]:
    """Return what is said of the columns that are read as periods, a note for each kind."""
    kinds: dict[Period, list[str]] = {}
    for name, column in columns.items():
        if column.period is not None:
            kinds.setdefault(column.period, []).append(name)
    notes = []
    for period, names in kinds.items():
        ways: tuple[Way, ...] = ()
        hiding = [name for name in names if columns[name].hides]
        if hiding:
            types = {**options.column_types, **dict.fromkeys(hiding, ColumnType.DATE)}
            exact = replace(options, column_types=types)
            ways = (Way("Read the exact dates behind them", exact),)
        notes.append(
            Note(
                "{count} {count:column is|columns are} read as coarsely as the file shows"
                " {count:it|them} ({period}): {columns}.",
                {"count": len(names), "period": NAMES[period], "columns": ", ".join(names)},
                columns=tuple(names),
                count=len(names),
                ways=ways,
            )
        )
    return notes
