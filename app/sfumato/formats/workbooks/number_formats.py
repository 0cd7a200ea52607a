"""Number formats: what a cell is by them, and how much of it they show.

Excel's language of formats: up to four sections between semicolons, for numbers above zero, below
it, zero, and texts.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Final

from sfumato.formats.workbooks.cells import (
    Cell,
    Clock,
    Day,
    HourSpan,
    MinuteSpan,
    Moment,
    Month,
    Partial,
    Span,
    UnsupportedDate,
    Veiled,
    VeiledText,
    Year,
    cell_text,
    coded,
    moment_text,
    number_text,
    span_text,
)

FROM_1900: Final = dt.datetime(1899, 12, 30)
FROM_1904: Final = dt.datetime(1904, 1, 1)
"""The day whose serial number is 0."""

BUILT_IN: Final = {
    **{14: "mm-dd-yyyy", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM"},
    **{19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yyyy h:mm"},
    **{45: "mm:ss", 46: "[h]:mm:ss", 47: "mmss.0"},
}
"""The formats of moments that workbooks need not spell out, by their numbers."""

Reader = Callable[[float], Cell]
"""Returns what a number is by its format."""

_MILLISECONDS: Final = 86_400_000
_NO_PLACE: Final = re.compile(r'"[^"]*"|\\.|[_*].|\[(?!hh?\]|mm?\]|ss?\])[^\]]*\]', re.I | re.S)
"""Parts of a format that stand for nothing of the number."""
_ELAPSED: Final = re.compile(r"\[(hh?|mm?|ss?)\]", re.I)
_NOON: Final = re.compile(r"AM/PM|A/P|General|Standard", re.I)
_TOKEN: Final = re.compile(r'"[^"]*"|\\.|[_*].|\[[^\]]*\]|.', re.S)
_CONDITION: Final = re.compile(r"\[(<=|>=|<>|<|>|=)(-?\d+(?:\.\d+)?)\]")
_HOLDS: Final = {
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    **{"=": operator.eq, "<>": operator.ne},
}
_OF_MOMENTS: Final = frozenset("dmyhsebg")

# The formats that were taken for those of moments before version 2 of reading.
_OLD_STRIP: Final = re.compile(r'".*?"|\[(?!hh?\]|mm?\]|ss?\])[^\]]*\]')
_OLD_MOMENT: Final = re.compile(r"(?<![_\\])[dmhysDMHYS]")
_OLD_SPAN: Final = re.compile(
    r"\[hh?\](:mm(:ss(\.0*)?)?)?|\[mm?\](:ss(\.0*)?)?|\[ss?\](\.0*)?", re.I
)


def reader_of(code: str, start: dt.datetime, version: int) -> Reader | None:
    """Return what reads numbers of a format; None where they are plain numbers.

    Parameters
    ----------
    code
        The format.
    start
        The day whose serial number is 0.
    version
        See `sfumato.formats.options.READING_VERSION`.
    """
    if version < 2:
        return _old_reader(code, start)
    sections = _sections(code)
    if len(sections) > 1 and not sections[0].strip():
        return lambda number: Veiled(number_text(number))
    first = sections[0]
    bare = _NOON.sub(lambda found: "h" * ("/" in found[0]), _NO_PLACE.sub("", first))
    if _ELAPSED.search(bare):
        return partial(_span, kind=span_kind("s" in bare.lower(), "m" in bare.lower()))
    letters = {letter for letter in bare.lower() if letter.isalpha()}
    if letters and letters <= _OF_MOMENTS and not set(bare) & set("#?") and bare[0] != "0":
        return _moment_reader(letters, bare.lower(), start)
    return _code_reader(sections)


def hides_texts(code: str) -> bool:
    """Whether a format shows nothing of a text: its fourth section is there and empty."""
    sections = _sections(code)
    return len(sections) > 3 and not sections[3].strip()


def _sections(code: str) -> list[str]:
    found = [""]
    for token in _TOKEN.findall(code):
        if token == ";":
            found.append("")
        else:
            found[-1] += token
    return found


def span_kind(seconds: bool, minutes: bool) -> type[Span]:
    """Return the kind of durations of which seconds, or minutes, are shown."""
    return Span if seconds else MinuteSpan if minutes else HourSpan


def _span(number: float, kind: type[Span]) -> Cell:
    try:
        return kind(span_text(dt.timedelta(milliseconds=round(number * _MILLISECONDS))))
    except (OverflowError, ValueError):
        return UnsupportedDate(number_text(number))


def _moment_reader(letters: set[str], bare: str, start: dt.datetime) -> Reader:
    """Return what reads moments, of which the format shows what its letters say."""
    timed = bool(letters & set("hs"))
    if timed and not letters & set("dy"):
        return _clock
    kind = _kind(letters, bare, timed)

    def read(number: float) -> Cell:
        # Excel shows no day below 0, and at 60 the 29th of February 1900, which never was. What
        # is below 1 is a time without a day, unless the calendar begins later.
        old = start == FROM_1900
        if not (number >= 1 if old else number >= 0) or (old and 60 <= number < 61):
            return UnsupportedDate(number_text(number))
        try:
            return kind(moment_text(_moment(number, start)))
        except (OverflowError, ValueError):
            return UnsupportedDate(number_text(number))

    return read


def _kind(letters: set[str], bare: str, timed: bool) -> type[Moment]:
    if timed:
        return Moment if "y" in letters and "d" in letters else Partial
    if "y" not in letters:
        return Partial
    if "d" in letters:
        return Day if re.search(r"(?<!d)dd?(?!d)", bare) else Month
    return Month if "m" in letters else Year


def _moment(number: float, start: dt.datetime) -> dt.datetime:
    day, fraction = divmod(number, 1)
    past = dt.timedelta(milliseconds=round(fraction * 86400 * 1000))
    if 0 < number < 60 and start == FROM_1900:
        day += 1
    return start + dt.timedelta(days=day) + past


def _clock(number: float) -> Cell:
    if not 0 <= number < 1e8:
        return UnsupportedDate(number_text(number))
    past = round(number % 1 * _MILLISECONDS) % _MILLISECONDS
    return Clock((dt.datetime.min + dt.timedelta(milliseconds=past)).time().isoformat())


def _code_reader(sections: list[str]) -> Reader | None:
    """Return what reads codes: whole numbers that are shown with leading zeros."""
    shapes = [_code_shape(section) for section in sections[:3]]
    if not any(shapes):
        return None
    conditions = [_CONDITION.search(section) for section in sections[:3]]
    conditional = any(conditions)

    def shape_for(number: float) -> list[str]:
        if not conditional:
            return shapes[2 if number == 0 and len(shapes) > 2 else 0]
        for shape, condition in zip(shapes, conditions, strict=True):
            if condition is None or _HOLDS[condition[1]](number, float(condition[2])):
                return shape
        return []

    def read(number: float) -> Cell:
        if not 0 <= number <= 2.0**53 or number % 1:
            return number
        shape = shape_for(number)
        return _coded(number_text(number), shape) if shape else number

    return read


def _code_shape(section: str) -> list[str]:
    """Return the parts of a code, zeros for its digits; empty where a section shows none."""
    parts = [token for token in _TOKEN.findall(section) if token[0] not in "_*["]
    literal = all(token[0] in '0"\\' or token in " -" for token in parts)
    return parts if literal and parts.count("0") > 1 else []


def _coded(plain: str, shape: list[str]) -> Cell:
    places = shape.count("0")
    digits = plain.zfill(places)
    ahead, rest = digits[: len(digits) - places], iter(digits[len(digits) - places :])
    shown = ""
    for part in shape:
        if part == "0":
            shown += ahead + next(rest)
            ahead = ""
        else:
            shown += part[1:-1] if part[0] == '"' else part[-1]
    return coded(shown, plain)


def veiled(cell: Cell) -> Cell:
    """Return a text whose format shows nothing of it."""
    return VeiledText(cell_text(cell)) if cell else cell


def _old_reader(code: str, start: dt.datetime) -> Reader | None:
    """Return what read moments before version 2, byte for byte."""
    first = code.split(";", maxsplit=1)[0]
    if not _OLD_MOMENT.search(_OLD_STRIP.sub("", first)):
        return None
    spans = _OLD_SPAN.search(first) is not None

    def read(number: float) -> Cell:
        try:
            return _old_span(number) if spans else _old_moment(number, start)
        except (OverflowError, ValueError):
            return "#VALUE!"

    return read


def _old_span(number: float) -> Cell:
    span = dt.timedelta(days=number)
    if span.microseconds:
        span = dt.timedelta(
            seconds=span.total_seconds() // 1, microseconds=round(span.microseconds, -3)
        )
    return Span(str(span))


def _old_moment(number: float, start: dt.datetime) -> Cell:
    past = dt.timedelta(milliseconds=round(number % 1 * 86400 * 1000))
    if 0 <= number < 1 and past.days == 0:
        return Clock((dt.datetime.min + past).time().isoformat())
    return Moment(moment_text(_moment(number, start)))
