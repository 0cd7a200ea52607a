"""Moments and durations that a sheet holds as texts of ISO 8601."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from sfumato.formats.workbooks.cells import (
    Cell,
    Clock,
    Moment,
    Span,
    UnsupportedDate,
    moment_text,
    span_text,
)

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
