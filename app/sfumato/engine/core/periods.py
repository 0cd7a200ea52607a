"""Periods: coarse dates, times of day and durations, as texts and numbers that are no finer.

A month is "1968-02", a quarter "1968 Q1", a half-year "1968 H1", a week "1968w05" where it counts
from 1 January and "1968-W05" where it is one of ISO 8601, a time of day "13:45". A year is a whole
number, and so is what has no year: the month or the quarter of a year, the day of a month, the day
of a week, the hour of a day. Durations are numbers of the unit that was shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.values import Integers, Value
from sfumato.engine.core.wording import Sentence

Moment = npt.NDArray[np.datetime64]
Texts = npt.NDArray[np.object_]


class Period(StrEnum):
    """What each value of a column stands for, where it is no exact date."""

    YEAR = "year"
    HALF_YEAR = "half-year"
    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"
    """Of seven days, the first from 1 January on."""
    ISO_WEEK = "ISO week"
    SUNDAY_WEEK = "week from Sunday"
    """Counted from the year's first Sunday; the days before it are of week 0."""
    MONDAY_WEEK = "week from Monday"
    DAY_OF_YEAR = "day without year"
    QUARTER_OF_YEAR = "quarter of the year"
    MONTH_OF_YEAR = "month of the year"
    WEEK_OF_YEAR = "week of the year"
    DAY_NUMBER = "day of the year"
    DAY_OF_MONTH = "day of the month"
    WEEKDAY = "weekday"
    TIME = "time of day"
    HOUR = "hour of the day"
    HOURS = "duration in hours"
    MINUTES = "duration in minutes"
    SECONDS = "duration in seconds"


NAMES: Final = MappingProxyType(
    {
        Period.YEAR: Sentence("year"),
        Period.HALF_YEAR: Sentence("half-year"),
        Period.QUARTER: Sentence("quarter"),
        Period.MONTH: Sentence("month"),
        Period.WEEK: Sentence("week"),
        Period.ISO_WEEK: Sentence("ISO week"),
        Period.SUNDAY_WEEK: Sentence("week from Sunday"),
        Period.MONDAY_WEEK: Sentence("week from Monday"),
        Period.DAY_OF_YEAR: Sentence("day without year"),
        Period.QUARTER_OF_YEAR: Sentence("quarter of the year"),
        Period.MONTH_OF_YEAR: Sentence("month of the year"),
        Period.WEEK_OF_YEAR: Sentence("week of the year"),
        Period.DAY_NUMBER: Sentence("day of the year"),
        Period.DAY_OF_MONTH: Sentence("day of the month"),
        Period.WEEKDAY: Sentence("weekday"),
        Period.TIME: Sentence("time of day"),
        Period.HOUR: Sentence("hour of the day"),
        Period.HOURS: Sentence("duration in hours"),
        Period.MINUTES: Sentence("duration in minutes"),
        Period.SECONDS: Sentence("duration in seconds"),
    }
)
"""What each is called in plain words."""

DURATIONS: Final = MappingProxyType({Period.HOURS: 3600, Period.MINUTES: 60, Period.SECONDS: 1})
"""How many seconds one unit of a duration lasts."""

MONTH_NAMES: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAY_NAMES: Final = (
    *("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
)
"""Weekdays are counted from Sunday, which is 1."""

_BEFORE_1970: Final = 4
"""1 January 1970 was a Thursday, four days after a Sunday."""


def calendar(moments: Moment) -> dict[str, Integers]:
    """Return the parts of moments, none missing, by the letters they are asked for by.

    Y year, H half-year, Q quarter, M month, D day of the month, N day of the year, A weekday from
    Sunday (1), W, V, U and X weeks (from 1 January, of ISO 8601, from Sunday, from Monday), and I
    the year that an ISO week belongs to; shape (n,) each.
    """
    days = moments.astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    years = days.astype("datetime64[Y]")
    month = months.astype(np.int64) % 12
    day_number = (days - years.astype("datetime64[D]")).astype(np.int64)
    weekday = (days.astype(np.int64) + _BEFORE_1970) % 7
    from_monday = (weekday + 6) % 7
    thursday = days + (3 - from_monday)
    iso_year = thursday.astype("datetime64[Y]")
    return {
        "Y": years.astype(np.int64) + 1970,
        "H": month // 6 + 1,
        "Q": month // 3 + 1,
        "M": month + 1,
        "D": (days - months.astype("datetime64[D]")).astype(np.int64) + 1,
        "N": day_number + 1,
        "A": weekday + 1,
        "W": day_number // 7 + 1,
        "V": (thursday - iso_year.astype("datetime64[D]")).astype(np.int64) // 7 + 1,
        "U": (day_number + 7 - weekday) // 7,
        "X": (day_number + 7 - from_monday) // 7,
        "I": iso_year.astype(np.int64) + 1970,
    }


_WRITTEN: Final = MappingProxyType(
    {
        Period.HALF_YEAR: ("{:04d} H{}", "YH"),
        Period.QUARTER: ("{:04d} Q{}", "YQ"),
        Period.MONTH: ("{:04d}-{:02d}", "YM"),
        Period.WEEK: ("{:04d}w{:02d}", "YW"),
        Period.ISO_WEEK: ("{:04d}-W{:02d}", "IV"),
        Period.SUNDAY_WEEK: ("{:04d}-U{:02d}", "YU"),
        Period.MONDAY_WEEK: ("{:04d}-M{:02d}", "YX"),
        Period.DAY_OF_YEAR: ("{:02d}-{:02d}", "MD"),
    }
)
_NUMBERED: Final = MappingProxyType(
    {
        Period.YEAR: "Y",
        Period.QUARTER_OF_YEAR: "Q",
        Period.MONTH_OF_YEAR: "M",
        Period.DAY_NUMBER: "N",
        Period.DAY_OF_MONTH: "D",
        Period.WEEKDAY: "A",
    }
)


def periods_of(
    moments: Moment, period: Period, week: str = "W", last_week: int = 53
) -> Texts | Integers:
    """Return the periods that moments lie in, as texts or numbers, shape (n,).

    Parameters
    ----------
    moments
        None of them missing, shape (n,).
    period
        One of the calendar, no time and no duration.
    week
        The letter of the weeks that are counted where a week of the year is asked for.
    last_week
        The last week from 1 January, which takes the days that remain.
    """
    parts = calendar(moments)
    parts["W"] = np.minimum(parts["W"], last_week)
    if period is Period.WEEK_OF_YEAR:
        return parts[week]
    if period in _NUMBERED:
        return parts[_NUMBERED[period]]
    text, letters = _WRITTEN[period]
    columns = [parts[letter].tolist() for letter in letters]
    return np.array([text.format(*row) for row in zip(*columns, strict=True)], dtype=object)


def times_of_day(seconds: npt.NDArray[np.float64], shown: str, digits: int) -> Texts:
    """Return seconds of a day as times, "13:45" or "13:45:07", shape (n,).

    Parameters
    ----------
    seconds
        From 0 to less than 86,400, none missing.
    shown
        The letters of what is shown: h, m, s.
    digits
        How many digits of a second are shown.
    """
    # A binary fraction may lie a hair below the decimal one it was written as.
    units = np.floor(seconds * 10.0**digits + 1e-4).astype(np.int64)
    whole, fraction = np.divmod(units, 10**digits)
    texts = []
    for second, rest in zip(whole.tolist(), fraction.tolist(), strict=True):
        text = f"{second // 3600:02d}:{second // 60 % 60:02d}"
        if "s" in shown:
            text += f":{second % 60:02d}" + (f".{rest:0{digits}d}" if digits else "")
        texts.append(text)
    return np.array(texts, dtype=object)


_YEAR: Final = r"(?P<year>\d{4})"
_TEXTS: Final = MappingProxyType(
    {
        Period.YEAR: re.compile(_YEAR),
        Period.HALF_YEAR: re.compile(_YEAR + r" H(?P<half>[12])"),
        Period.QUARTER: re.compile(_YEAR + r" Q(?P<quarter>[1-4])"),
        Period.MONTH: re.compile(_YEAR + r"-(?P<month>0[1-9]|1[0-2])"),
        Period.WEEK: re.compile(_YEAR + r"w(?P<week>0[1-9]|[1-4]\d|5[0-3])"),
        Period.ISO_WEEK: re.compile(_YEAR + r"-W(0[1-9]|[1-4]\d|5[0-3])"),
        Period.SUNDAY_WEEK: re.compile(_YEAR + r"-U([0-4]\d|5[0-3])"),
        Period.MONDAY_WEEK: re.compile(_YEAR + r"-M([0-4]\d|5[0-3])"),
    }
)
_CLOCK: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d{1,6})?))?")


def begin_of(text: str) -> tuple[Period, np.datetime64] | None:
    """Return the period that a text stands for, and its first day; None where it stands for none.

    Weeks that need not lie within one year begin with the year that they are counted in.
    """
    for period, pattern in _TEXTS.items():
        found = pattern.fullmatch(text)
        if found is not None and int(found["year"]):
            parts = {name: int(number) for name, number in found.groupdict().items()}
            months = 6 * (parts.get("half", 1) - 1) + 3 * (parts.get("quarter", 1) - 1)
            months += parts.get("month", 1) - 1 + 12 * (parts["year"] - 1970)
            first = np.datetime64(months, "M").astype("datetime64[D]")
            return period, first + 7 * (parts.get("week", 1) - 1)
    return None


def begins_of(values: Sequence[Value], period: Period) -> Moment | None:
    """Return the first moment of each period, shape (n,); of a time, on 1 January 1970.

    None where a value does not stand for such a period.
    """
    moments = np.zeros(len(values), dtype="datetime64[us]")
    for place, value in enumerate(values):
        if period is Period.TIME:
            clock = _CLOCK.fullmatch(str(value))
            if clock is None:
                return None
            seconds = int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3] or 0)
            moments[place] = np.datetime64(round(seconds * 1e6), "us")
            continue
        found = begin_of(f"{value:04d}" if isinstance(value, int) else str(value))
        if found is None or found[0] is not period:
            return None
        moments[place] = found[1]
    return moments
