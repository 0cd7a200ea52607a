"""How a delimited text is most likely meant: its delimiter, marks, dates and header."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from sfumato.formats.options import DELIMITERS, DateOrder

Records = Sequence[Sequence[str]]

_MOST_RECORDS: Final = 500
_MOSTLY: Final = 0.8
_NUMBER_LIKE: Final = re.compile(r"[-+]?[\d.,'\u2019 \u00a0\u202f]*\d([eE][-+]?\d+)?")
_DATE: Final = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2\d{4}([ T]\d{1,2}:\d{2}(:\d{2})?)?")
_ISO: Final = re.compile(r"\d{4}-\d{2}-\d{2}([ T].*)?")
_YEAR: Final = re.compile(r"(19|20)\d\d")
_TRUTH: Final = frozenset({"true", "false"})


@dataclass(frozen=True)
class Marks:
    """A decimal mark and the mark between groups of three digits, which may be empty."""

    decimal: str
    thousands: str

    def fits(self, text: str) -> bool:
        """Whether a number can be written so."""
        return self._pattern.fullmatch(text) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        decimals = rf"(?:{re.escape(self.decimal)}\d+)"
        if not self.thousands:
            return re.compile(rf"[-+]?\d*{decimals}?(?:[eE][-+]?\d+)?")
        # Blanks between digits are as frequent in codes, so they count beside decimals only.
        optional = "" if self.thousands.isspace() else "?"
        groups = rf"\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+{decimals}{optional}"
        return re.compile(rf"[-+]?(?:{groups}|\d+{decimals}?)")


_PLAIN: Final = Marks(".", "")
_COMMA: Final = Marks(",", "")
_ENGLISH: Final = Marks(".", ",")
_OTHERS: Final = (
    Marks(",", "."),
    Marks(".", "'"),
    Marks(".", "\u2019"),
    Marks(",", "\u00a0"),
    Marks(",", "\u202f"),
    Marks(",", " "),
    Marks(".", " "),
    Marks(".", "\u00a0"),
)


@dataclass(frozen=True)
class Manner:
    """How a delimited text is written; see `sfumato.formats.options.ReadOptions`."""

    delimiter: str
    decimal: str
    thousands: str
    date_order: DateOrder
    header: bool


def sniff(text: str) -> Manner:
    """Find out how a delimited text is written.

    Parameters
    ----------
    text
        The beginning of the text, whole lines.

    Returns
    -------
    Manner
        The delimiter that gives most records the same number of fields; the marks that make
        the most columns numeric; day or month first where a date tells; and a header where the
        first record differs from those below.
    """
    delimiter = _delimiter(text)
    records = _records(text, delimiter)
    width = max((len(record) for record in records), default=0)
    body = [record for record in records[1:] if len(record) == width] or records[1:]
    columns = [[row[i].strip() for row in body if len(row) > i] for i in range(width)]
    filled = [[cell for cell in column if cell] for column in columns]
    marks = _marks(filled, delimiter)
    order = _date_order(filled)
    first = records[0] if records else []
    return Manner(
        delimiter, marks.decimal, marks.thousands, order, _has_header(first, filled, marks)
    )


def _delimiter(text: str) -> str:
    scores = {}
    for candidate, _ in DELIMITERS:
        records = _records(text, candidate)
        widths = Counter(len(record) for record in records)
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        if width > 1:
            scores[candidate] = (count / len(records), -_strange_share(records, candidate), width)
    return max(scores, key=lambda candidate: scores[candidate]) if scores else ","


def _strange_share(records: Records, delimiter: str) -> float:
    """Return the share of fields that hold another delimiter, but for decimal commas."""
    others = [candidate for candidate, _ in DELIMITERS if candidate != delimiter]
    cells = [cell for record in records for cell in record]
    strange = [
        cell
        for cell in cells
        if any(other in cell for other in others) and not _NUMBER_LIKE.fullmatch(cell.strip())
    ]
    return len(strange) / max(len(cells), 1)


def _records(text: str, delimiter: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    records = []
    try:
        for record in reader:
            if record:
                records.append(record)
            if len(records) == _MOST_RECORDS:
                break
    except csv.Error:  # A field longer than the library takes: what came before has to do.
        pass
    return records


def _marks(columns: Records, delimiter: str) -> Marks:
    """Return the marks that suit most columns of numbers."""
    numeric = []
    for column in columns:
        cells = [cell for cell in column if _NUMBER_LIKE.fullmatch(cell)]
        if cells and len(cells) >= _MOSTLY * len(column):
            numeric.append(cells)
    # 1,234 may be either; where commas delimit the fields, a number has none but for thousands.
    ambiguous = (_ENGLISH, _COMMA) if delimiter == "," else (_COMMA, _ENGLISH)
    return max(
        (_PLAIN, *ambiguous, *_OTHERS),
        key=lambda marks: sum(all(map(marks.fits, cells)) for cells in numeric),
    )


def _date_order(columns: Records) -> DateOrder:
    """Return day or month first where a column of dates tells which it is."""
    for column in columns:
        dates = [match for cell in column if (match := _DATE.fullmatch(cell))]
        if not dates or len(dates) < _MOSTLY * len(column):
            continue
        if max(int(date[3]) for date in dates) > 12:
            return DateOrder.MONTH_FIRST
        if max(int(date[1]) for date in dates) > 12 or all(date[2] == "." for date in dates):
            return DateOrder.DAY_FIRST
    return DateOrder.YEAR_FIRST


def _has_header(first: Sequence[str], columns: Records, marks: Marks) -> bool:
    """Whether the first record holds names rather than values."""
    names = [cell.strip() for cell in first]
    typed = [_typed_share(column, marks) >= _MOSTLY for column in columns]
    named_typed = [
        (name, column)
        for name, column, is_typed in zip(names, columns, typed, strict=False)
        if name and is_typed
    ]
    if any(_can_be_name(name, column, marks) for name, column in named_typed):
        return True
    if named_typed:
        return False
    if any(_is_typed(name, marks) for name in names):
        return False
    named = [name for name in names if name]
    below = any(name in column for name, column in zip(names, columns, strict=False) if name)
    return len(set(named)) == len(named) and not below


def _can_be_name(name: str, column: Sequence[str], marks: Marks) -> bool:
    """Whether the first field of a column of values is none: a text, or a year among others."""
    if _YEAR.fullmatch(name):
        return sum(bool(_YEAR.fullmatch(cell)) for cell in column) < len(column) / 2
    return not _is_typed(name, marks)


def _typed_share(column: Sequence[str], marks: Marks) -> float:
    return sum(_is_typed(cell, marks) for cell in column) / max(len(column), 1)


def _is_typed(cell: str, marks: Marks) -> bool:
    """Whether a field is a number, a date or a truth value rather than a text."""
    return bool(
        (cell and any(c.isdigit() for c in cell) and marks.fits(cell))
        or _DATE.fullmatch(cell)
        or _ISO.fullmatch(cell)
        or cell.lower() in _TRUTH
    )
