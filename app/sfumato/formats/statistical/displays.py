"""What the display formats of statistical packages show of dates and times.

A format says what a column's numbers count and which parts of a moment are shown. Parts are
letters: Y year, H half-year, Q quarter, M month, W, V, U and X weeks (from 1 January, of ISO 8601,
from Sunday, from Monday), D day of the month, N day of the year, A weekday, h hour, m minute,
s second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import cache
from typing import Final

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import Period
from sfumato.formats.notes import Note


class Scale(StrEnum):
    """What a package's numbers count."""

    DAYS = "days"
    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    LEAP_MILLISECONDS = "milliseconds with leap seconds"
    WEEKS = "weeks"
    MONTHS = "months"
    QUARTERS = "quarters"
    HALF_YEARS = "half-years"
    YEARS = "years"
    ELAPSED = "seconds of a day or of a duration"
    CODES = "numbers of months or weekdays"


@dataclass(frozen=True)
class Display:
    """What a display format shows.

    Parameters
    ----------
    scale
        What the numbers count.
    parts
        The letters of the parts that are shown.
    digits
        How many digits of a second are shown.
    lasts
        Whether the numbers are durations, whatever their size.
    last_week
        The last week of a year, which takes its remaining days.
    """

    scale: Scale
    parts: str
    digits: int = 0
    lasts: bool = False
    last_week: int = 53

    @property
    def is_exact(self) -> bool:
        """Whether it shows dates, with or without a time of day."""
        return "Y" in self.parts and ("N" in self.parts or {"M", "D"} <= set(self.parts))

    @property
    def is_clock(self) -> bool:
        """Whether it shows a time, and no part of a date."""
        return not set(self.parts) - set("hms")

    @property
    def week(self) -> str:
        """The letter of the weeks that it shows."""
        return next((letter for letter in _WEEKS if letter in self.parts), "W")

    @property
    def period(self) -> Period:
        """The period of the calendar that it shows, where it is neither exact nor of a clock."""
        if "Y" in self.parts:
            known = (period for letter, period in _OF_A_YEAR if letter in self.parts)
            return next(known, Period.YEAR)
        if {"M", "D"} <= set(self.parts):
            return Period.DAY_OF_YEAR
        return next(period for letter, period in _OF_ANY_YEAR if letter in self.parts)


_WEEKS: Final = "WVUX"
_OF_A_YEAR: Final = (
    ("M", Period.MONTH),
    ("W", Period.WEEK),
    ("V", Period.ISO_WEEK),
    ("U", Period.SUNDAY_WEEK),
    ("X", Period.MONDAY_WEEK),
    ("Q", Period.QUARTER),
    ("H", Period.HALF_YEAR),
)
_OF_ANY_YEAR: Final = (
    ("N", Period.DAY_NUMBER),
    ("M", Period.MONTH_OF_YEAR),
    *((week, Period.WEEK_OF_YEAR) for week in _WEEKS),
    ("Q", Period.QUARTER_OF_YEAR),
    ("D", Period.DAY_OF_MONTH),
    ("A", Period.WEEKDAY),
)
_DATE: Final = "YMD"
_TIME: Final = "hms"

_SPSS: Final = re.compile(r"([A-Z]+)(\d*)(?:\.(\d+))?")
_SPSS_PARTS: Final = {
    **dict.fromkeys(("DATE", "ADATE", "EDATE", "SDATE", "JDATE"), _DATE),
    **{"MOYR": "YM", "QYR": "YQ", "WKYR": "YW"},
}
_SPSS_CODES: Final = {"MONTH": "M", "WKDAY": "A"}
_SPSS_CLOCKS: Final = {
    # From which width on seconds are shown.
    "DATETIME": (_DATE, 20),
    "YMDHMS": (_DATE, 19),
    "TIME": ("", 8),
    "DTIME": ("", 11),
}


@cache
def spss_display(shown: str) -> Display | None:
    """Return what a format of SPSS shows of dates and times; None for one of something else."""
    found = _SPSS.fullmatch(shown)
    if found is None:
        return None
    name, width, digits = found[1], int(found[2] or 0), int(found[3] or 0)
    if name in _SPSS_PARTS:
        return Display(Scale.SECONDS, _SPSS_PARTS[name])
    if name in _SPSS_CODES:
        return Display(Scale.CODES, _SPSS_CODES[name])
    if name == "MTIME":
        return Display(Scale.ELAPSED, "ms", digits, lasts=True)
    if name not in _SPSS_CLOCKS:
        return None
    date, from_width = _SPSS_CLOCKS[name]
    parts = date + (_TIME if width >= from_width else "hm")
    scale = Scale.SECONDS if date else Scale.ELAPSED
    return Display(scale, parts, digits, lasts=name == "DTIME")


_STATA: Final = re.compile(r"%-?t?([a-zA-Z])(.*)")
_STATA_SCALES: Final = {
    # What is counted, and what is shown where the format does not say.
    "d": (Scale.DAYS, "DDmonCCYY"),
    "c": (Scale.MILLISECONDS, "DDmonCCYY_HH:MM:SS"),
    "C": (Scale.LEAP_MILLISECONDS, "DDmonCCYY_HH:MM:SS"),
    "w": (Scale.WEEKS, "CCYY!www"),
    "m": (Scale.MONTHS, "CCYY!mnn"),
    "q": (Scale.QUARTERS, "CCYY!qq"),
    "h": (Scale.HALF_YEARS, "CCYY!hh"),
    "y": (Scale.YEARS, "CCYY"),
}
# Doubled letters and names stand before the single letters of old formats.
_STATA_CODE: Final = re.compile(
    r"!.|CC|cc|YY|yy|JJJ|jjj|[Mm]onth|[Mm]on|NN|nn|DD|dd|DAYNAME|[Dd]ayname|[Dd]ay|[Dd]a"
    r"|WW|ww|HH|[Hh]h|hH|MM|mm|SS|ss|\.s{1,3}|[ap]\.?m\.?|[AP]\.?M\.?|[hqYyMmLlNnDdJjWw]"
)
_STATA_LETTERS: Final = {
    **dict.fromkeys(("YY", "yy", "Y", "y"), "Y"),
    **dict.fromkeys(("JJJ", "jjj", "J", "j"), "N"),
    **dict.fromkeys(("Month", "month", "Mon", "mon", "NN", "nn", *"MmLlNn"), "M"),
    **dict.fromkeys(("DD", "dd", "D", "d"), "D"),
    **dict.fromkeys(("DAYNAME", "Dayname", "dayname", "Day", "day", "Da", "da"), "A"),
    **{"h": "H", "q": "Q", "WW": "W", "ww": "W", "W": "W", "w": "W"},
    **dict.fromkeys(("HH", "Hh", "hH", "hh"), "h"),
    **{"MM": "m", "mm": "m", "SS": "s", "ss": "s"},
}


def is_business_calendar(shown: str) -> bool:
    """Whether a format of Stata counts the business days of a calendar that is another file."""
    return shown.startswith(("%tb", "%-tb"))


@cache
def stata_display(shown: str) -> Display | None:
    """Return what a format of Stata shows of dates and times; None for one of something else."""
    found = _STATA.fullmatch(shown)
    old = shown.startswith(("%d", "%-d"))
    if found is None or found[1] not in _STATA_SCALES or not ("t" in shown[1:3] or old):
        return None
    scale, usual = _STATA_SCALES[found[1]]
    codes = _STATA_CODE.findall(found[2] or usual)
    parts = "".join(dict.fromkeys(_STATA_LETTERS.get(code, "") for code in codes))
    digits = max((len(code) - 1 for code in codes if code.startswith(".s")), default=0)
    if not set(parts) - {"H"}:
        return None  # It shows nothing that would say when something happened.
    return Display(scale, parts, digits, last_week=52)


_SAS: Final = re.compile(r"([A-Z]\w*?)(\d*)(?:\.(\d*))?")


@dataclass(frozen=True)
class _SasFamily:
    """A family of formats of SAS: its names, what is counted, and the parts from a width on."""

    names: re.Pattern[str]
    scale: Scale
    usual: int
    shown: tuple[tuple[int, str], ...]
    lasts: bool = False

    def at(self, width: int, digits: int) -> Display:
        """Return what is shown at a width; 0 stands for the usual one."""
        fitting = [parts for least, parts in self.shown if (width or self.usual) >= least]
        return Display(self.scale, fitting[-1] if fitting else self.shown[0][1], digits, self.lasts)


def _sas(names: str, scale: Scale, *shown: tuple[int, str], usual: int = 99) -> _SasFamily:
    return _SasFamily(re.compile(names), scale, usual, shown)


_DAYS, _SECONDS, _ELAPSED = Scale.DAYS, Scale.SECONDS, Scale.ELAPSED
_SAS_FORMATS: Final = (
    # In each family, the parts that are shown from so many characters on.
    _sas("DATE", _DAYS, (1, "MD"), (7, _DATE)),
    _sas("(MMDDYY)[BCDNPS]?", _DAYS, (1, "M"), (4, "MD"), (6, _DATE)),
    _sas("(DDMMYY)[BCDNPS]?", _DAYS, (1, "D"), (4, "MD"), (6, _DATE)),
    _sas("(YYMMDD)[BCDNPS]?", _DAYS, (1, "Y"), (4, "YM"), (6, _DATE)),
    _sas("WORDDAT[EX]", _DAYS, (1, "M"), (12, _DATE)),
    _sas("WEEKDAT[EX]", _DAYS, (1, "A"), (15, _DATE)),
    _sas("(IS|[EB])8601DA|JULIAN|PDJULG|PDJULI|MINGUO|NENGO|HDATE|HEBDATE", _DAYS, (1, _DATE)),
    _sas("EURDFDD|EURDFDE|EURDFWDX|EURDFWKX|NLDATE[LMS]?|NLDATEW|NLDATEMDL", _DAYS, (1, _DATE)),
    _sas("MONYY|YYMON|(MMYY|YYMM)[CDNPS]?|NLDATEYM[LMS]?|NLDATEYMML|EURDFMY", _DAYS, (1, "YM")),
    _sas("YYQR?[CDNPSZ]?|NLDATEYQ[LMS]?|NLDATEYR?Q[LMS]?", _DAYS, (1, "YQ")),
    _sas("YEAR|NLDATEYR", _DAYS, (1, "Y")),
    _sas("QTRR?|NLDATEQ[LMS]?", _DAYS, (1, "Q")),
    _sas("MONTH|MONNAME|NLDATEMN|EURDFMN", _DAYS, (1, "M")),
    _sas("DAY", _DAYS, (1, "D")),
    _sas("JULDAY", _DAYS, (1, "N")),
    _sas("DOWNAME|WEEKDAY|NLDATEWN|EURDFDWN|EURDFDN", _DAYS, (1, "A")),
    _sas("NLDATEMD[LMS]?", _DAYS, (1, "MD")),
    _sas("WEEKU", _DAYS, (1, "U"), (5, "YU"), (9, _DATE)),
    _sas("WEEKV", _DAYS, (1, "V"), (5, "YV"), (9, _DATE)),
    _sas("WEEKW", _DAYS, (1, "X"), (5, "YX"), (9, _DATE)),
    _sas("YYWEEKU|NLDATEYW", _DAYS, (1, "YU")),
    _sas("YYWEEKV", _DAYS, (1, "YV")),
    _sas("YYWEEKW", _DAYS, (1, "YX")),
    _sas(
        "DATETIME",
        _SECONDS,
        *((1, _DATE), (10, _DATE + "h"), (13, _DATE + "hm"), (16, _DATE + _TIME)),
        usual=16,
    ),
    _sas(
        "DATEAMPM",
        _SECONDS,
        *((1, _DATE), (10, _DATE + "h"), (16, _DATE + "hm"), (19, _DATE + _TIME)),
        usual=19,
    ),
    _sas("MDYAMPM", _SECONDS, (1, _DATE), (11, _DATE + "h"), (14, _DATE + "hm"), usual=19),
    _sas("DTDATE", _SECONDS, (1, "MD"), (7, _DATE)),
    _sas("DTMONYY|NLDATMYM[LMS]?|NLDATMYMML", _SECONDS, (1, "YM")),
    _sas("DTYEAR|NLDATMYR", _SECONDS, (1, "Y")),
    _sas("DTYYQC|NLDATMYQ[LMS]?|NLDATMYR?Q[LMS]?", _SECONDS, (1, "YQ")),
    _sas("NLDATMYW", _SECONDS, (1, "YU")),
    _sas("DTWKDATX", _SECONDS, (1, "A"), (15, _DATE)),
    _sas("NLDATMMN", _SECONDS, (1, "M")),
    _sas("NLDATMWN", _SECONDS, (1, "A")),
    _sas("NLDATMMD[LMS]?", _SECONDS, (1, "MD")),
    _sas("NLDATMQ[LMS]?", _SECONDS, (1, "Q")),
    _sas("(IS|[EB])8601DN|NLDATMDT", _SECONDS, (1, _DATE)),
    _sas("(IS|[EB])8601(D[TZX]|LX)|EURDFDT|NLDATM(AP|W|TZ|L|M|S|MDL)?", _SECONDS, (1, "YMDhms")),
    _sas("TOD|NLDATMTM", _SECONDS, (1, "h"), (5, "hm"), (8, _TIME)),
    _sas("TIMEAMPM", _SECONDS, (1, "h"), (7, "hm"), (11, _TIME)),
    _sas("(IS|[EB])8601(TM|TZ|LZ|TX)|NLTIMA?P?|NLTIME", _ELAPSED, (1, _TIME)),
    _sas("TIME", _ELAPSED, (1, "h"), (5, "hm"), (8, _TIME), usual=8),
    _sas("HHMM", _ELAPSED, (1, "h"), (4, "hm"), usual=5),
    _sas("HOUR", _ELAPSED, (1, "h")),
    replace(_sas("MMSS", _ELAPSED, (1, "ms")), lasts=True),
)


@cache
def sas_display(shown: str) -> Display | None:
    """Return what a format of SAS shows of dates and times; None for one of something else."""
    found = _SAS.fullmatch(shown)
    if found is None:
        return None
    family = next((each for each in _SAS_FORMATS if each.names.fullmatch(found[1])), None)
    return None if family is None else family.at(int(found[2] or 0), int(found[3] or 0))


def name_of_format(shown: str) -> str:
    """Return a format's name without its width, which itself never ends in a digit."""
    return shown.rstrip("0123456789.")


def unlabelled_note(
    formats: Mapping[str, str],
    title: str,
    built_in: re.Pattern[str],
    display: Callable[[str], Display | None],
) -> Note | None:
    """Return what is said of columns that are shown by labels which are not there.

    Parameters
    ----------
    formats
        The formats of the columns without labels.
    title
        The package.
    built_in, display
        The names of its own formats, and what those of dates show.
    """
    names = {column: name_of_format(shown) for column, shown in formats.items()}
    found = {
        column: name
        for column, name in names.items()
        if name and not built_in.fullmatch(name) and display(formats[column]) is None
    }
    if not found:
        return None
    return Note(
        "{count} {count:column is|columns are} shown in {title} by formats of its owner"
        " ({formats}), whose labels are not with the file: {columns}. Codes are read without them."
        " A catalog of formats beside a .sas7bdat file, with the file's name, has the labels.",
        {
            "count": len(found),
            "title": title,
            "formats": ", ".join(dict.fromkeys(found.values())),
            "columns": ", ".join(found),
        },
        columns=tuple(found),
        count=len(found),
    )
