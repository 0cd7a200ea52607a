"""What a sheet holds: rows of cells, and what it hides or merges.

A number is read as ``int`` or ``float`` and a text as ``str``. All else is a kind of text: what a
CSV file would hold for the cell, whose type says what the cell is.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import DURATIONS, Period

MOST_ROWS: Final = 1_048_576
MOST_COLUMNS: Final = 16_384
"""What a sheet can have."""


class Moment(str):
    """A date, or a date with its time of day, in ISO 8601."""

    shown: int = 40
    """How many of its characters the sheet shows."""


class Day(Moment):
    """A moment of which the sheet shows the day."""

    shown = 10


class Month(Moment):
    """A moment of which the sheet shows year and month."""

    shown = 7


class Year(Moment):
    """A moment of which the sheet shows the year."""

    shown = 4


class Partial(Moment):
    """A moment of which the sheet shows the day or the month without the year, say."""


class Clock(str):
    """A time of day."""


class Span(str):
    """A duration, in hours, minutes and seconds."""

    unit: Period = Period.SECONDS
    """The finest unit that the sheet shows."""


class MinuteSpan(Span):
    """A duration of which the sheet shows no seconds."""

    unit = Period.MINUTES


class HourSpan(Span):
    """A duration of which the sheet shows hours alone."""

    unit = Period.HOURS


class Code(str):
    """A whole number as its format shows it, leading zeros included."""

    plain: str
    """The number itself."""


class Fault(str):
    """An error, such as ``#N/A``."""


class UnsupportedDate(str):
    """A date that no calendar has, or none that the program shows."""


class Veiled(str):
    """What a cell holds whose format shows nothing of it."""


class VeiledText(Veiled):
    """A text whose format shows nothing of it."""


Cell: TypeAlias = str | int | float | bool | None

_EXACT: Final = 2.0**53


def number_text(number: float) -> str:
    """Return a number as the text that a CSV file would hold."""
    if isinstance(number, float) and not (number.is_integer() and abs(number) <= _EXACT):
        return repr(number)
    return str(int(number))


def cell_text(cell: Cell) -> str:
    """Return a cell as the text that a CSV file would hold; empty where there is none."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return number_text(cell)


def coded(text: str, plain: str) -> Code:
    """Return a whole number as its format shows it."""
    code = Code(text)
    code.plain = plain
    return code


def moment_text(moment: dt.date) -> str:
    """Return a moment in ISO 8601; midnight is the day."""
    if isinstance(moment, dt.datetime) and moment.time() == dt.time():
        moment = moment.date()
    return moment.isoformat()


def span_text(span: dt.timedelta) -> str:
    """Return a duration in hours, minutes and seconds: ``48:00:00``."""
    sign = "-" if span < dt.timedelta() else ""
    seconds, rest = divmod(abs(span), dt.timedelta(seconds=1))
    fraction = f".{rest.microseconds:06}".rstrip("0") if rest else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def span_number(span: str, unit: Period) -> str:
    """Return how many of a unit a duration takes, given as text; what is finer is cut off."""
    hours, minutes, seconds = span.removeprefix("-").split(":")
    whole = int(hours) * 3600 + int(minutes) * 60 + int(seconds[:2])
    number = whole // DURATIONS[unit]
    fraction = seconds[2:] if unit is Period.SECONDS else ""
    return "-" * (span.startswith("-") and bool(number or fraction)) + f"{number}{fraction}"


class Sheet(NamedTuple):
    """A sheet of a workbook.

    Parameters
    ----------
    name, part
        What it is called, and where it stands in the file.
    visible
        Whether the workbook shows it.
    """

    name: str
    part: str
    visible: bool


class Row(NamedTuple):
    """A row of a sheet.

    Parameters
    ----------
    number
        Its number in the sheet, from 1.
    cells
        Its cells from the first column to the last that holds something.
    uncalculated
        The columns, from 0, in which stands a formula without the value it had.
    hidden
        Whether the sheet does not show it: left out by a filter, folded or hidden by hand.
    """

    number: int
    cells: list[Cell]
    uncalculated: tuple[int, ...] = ()
    hidden: bool = False

    @property
    def is_blank(self) -> bool:
        """Whether no cell has a value."""
        cells = self.cells
        return not cells or cells.count(None) + cells.count("") == len(cells)


class Merge(NamedTuple):
    """Cells that are merged: their first and last row and column, from 1."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True)
class Layout:
    """What a sheet hides and merges.

    Parameters
    ----------
    hidden_columns
        The columns, from 0, that the sheet does not show.
    merges
        The cells that are merged.
    hidden_rows
        How many rows the sheet does not show, blank ones included.
    totals
        The numbers of rows that hold totals of a table.
    """

    hidden_columns: frozenset[int] = frozenset()
    merges: tuple[Merge, ...] = ()
    hidden_rows: int = 0
    totals: frozenset[int] = frozenset()


Progress = Callable[[float], None]


# ----- moments and durations that a sheet holds as texts of ISO 8601


_MOMENT: Final = re.compile(
    r"(?P<date>(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2}))?T?"
    r"(?P<time>(?P<hour>\d{2}):(?P<minute>\d{2})(:(?P<second>\d{2})(?P<part>\.\d{1,3})?)?)?Z?"
)
_SPAN: Final = re.compile(
    r"-?P(?:(?P<days>\d+)D)?T?((?P<hours>\d+)H)?((?P<minutes>\d+)M)?((?P<seconds>\d+([.,]\d+)?)S)?"
)


def iso_cell(text: str, *, new: bool) -> Cell:
    """Return a moment, a time of day or a duration.

    Parameters
    ----------
    text
        It in ISO 8601.
    new
        Whether it is read as since version 2.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    found = _MOMENT.match(text)
    if found and (found["date"] or found["time"]):
        clock = dt.time(
            int(found["hour"] or 0),
            int(found["minute"] or 0),
            int(found["second"] or 0),
            int(float(found["part"] or 0) * 1_000_000),
        )
        if not found["date"]:
            return Clock(clock.isoformat())
        try:
            day = dt.date(int(found["year"]), int(found["month"]), int(found["day"]))
        except ValueError:
            if new:
                return UnsupportedDate(text)
            raise
        return Moment(moment_text(dt.datetime.combine(day, clock)))
    spans = _SPAN.match(text)
    if spans is None or not any(spans.group("days", "hours", "minutes", "seconds")):
        if new and re.match(r"[+-]?\d{4,}-\d\d-\d\d", text):
            return UnsupportedDate(text)
        raise ValueError("no moment")
    parts = {name: float((spans[name] or "0").replace(",", ".")) for name in _PARTS}
    span = dt.timedelta(**parts) * (-1 if text.startswith("-") else 1)
    return Span(span_text(span) if new else str(span))


_PARTS: Final = ("days", "hours", "minutes", "seconds")
