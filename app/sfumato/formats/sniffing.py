"""How a delimited text is most likely meant: its delimiter, marks, dates and header."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from sfumato.engine.core.frozen import dataclass
from sfumato.formats.options import DELIMITERS, DateOrder, ReadOptions

Records = Sequence[Sequence[str]]

_MOST_RECORDS: Final = 500
_LOOKED_AT: Final = 50
_REPEATED: Final = 3
_MOSTLY: Final = 0.8
_NUMBER_LIKE: Final = re.compile(r"[-+]?[\d.,'\u2019 \u00a0\u202f]*\d([eE][-+]?\d+)?")
_DATE: Final = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2\d{4}([ T]\d{1,2}:\d{2}(:\d{2})?)?")
_ISO: Final = re.compile(r"\d{4}-\d{2}-\d{2}([ T].*)?")
_YEAR: Final = re.compile(r"(19|20)\d\d")
_ADDRESS: Final = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+|(?:https?://|www\.)\S+")
_MISSING: Final = frozenset({"na", "n/a", "nan", "null", "none", ".", "-", "?", "missing"})
"""What is written in place of numbers that are missing."""
_TRUTH: Final = frozenset({"true", "false"})


@dataclass(frozen=True)
class NumberMarks:
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


PLAIN: Final = NumberMarks(".", "")
_COMMA: Final = NumberMarks(",", "")
_ENGLISH: Final = NumberMarks(".", ",")
_OTHERS: Final = (
    NumberMarks(",", "."),
    NumberMarks(".", "'"),
    NumberMarks(".", "\u2019"),
    NumberMarks(",", "\u00a0"),
    NumberMarks(",", "\u202f"),
    NumberMarks(",", " "),
    NumberMarks(".", " "),
    NumberMarks(".", "\u00a0"),
)


@dataclass(frozen=True)
class CsvDialect:
    """How a delimited text is written; see `sfumato.formats.options.ReadOptions`."""

    delimiter: str
    decimal: str
    thousands: str
    date_order: DateOrder
    header: bool
    skip_lines: int = 0


def sniff(text: str, stated: Mapping[str, Any] = MappingProxyType({})) -> CsvDialect:
    """Find out how a delimited text is written.

    Parameters
    ----------
    text
        The beginning of the text, whole lines.
    stated
        What is known already, in the names of `ReadOptions`.

    Returns
    -------
    CsvDialect
        The delimiter that gives most records the same number of fields, or that Excel's
        ``sep=`` states; how many lines stand above the header; the marks that make the most
        columns numeric; day or month first where a date tells; and a header where the first
        record differs from those below.
    """
    separator = _SEPARATOR.match(text)
    skipped = stated.get("skip_lines", int(separator is not None))
    delimiter = stated.get("delimiter", separator[1] if separator else "")
    text = "".join(list(_lines(text))[skipped:])
    delimiter = delimiter or _delimiter(text)
    records = _records(text, delimiter)
    if "skip_lines" not in stated:
        above = _lines_above(text, records, delimiter)
        skipped += above
        records = _records("".join(list(_lines(text))[above:]), delimiter)
    width = max((len(record) for record in records), default=0)
    body = [record for record in records[1:] if len(record) == width] or records[1:]
    filled = _filled_cells(body, width)
    marks = _marks(filled, delimiter, stated)
    order = stated.get("date_order", _date_order(filled))
    first = records[0] if records else []
    header = _header(first, filled, marks)
    return CsvDialect(
        delimiter,
        marks.decimal,
        marks.thousands,
        order,
        stated.get("header", header is not False),
        skipped,
    )


def header_is_doubtful(text: str, options: ReadOptions) -> bool:
    """Whether a text's first record may be a record as well as the columns' names."""
    lines = list(_lines(text))[options.skip_lines :]
    records = _records("".join(lines), options.delimiter)
    return is_doubtful_header(records, NumberMarks(options.decimal, options.thousands))


def is_doubtful_header(records: Records, marks: NumberMarks) -> bool:
    """Whether the first of some records may be a record as well as the columns' names."""
    if len(records) < 2:
        return False
    first = records[0]
    filled = _filled_cells(records[1:_LOOKED_AT], len(first))
    # A column of numbers or dates under a name settles it, or one whose values repeat, but not its
    # name. A wide table has many columns, so the first that tells is enough.
    for name, column in zip(first, filled, strict=True):
        repeats = len(column) >= _REPEATED * max(len(set(column)), 2)
        if repeats and name.strip() and name.strip() not in column:
            return False
        named = name.strip() and _typed_share(column, marks) >= _MOSTLY
        if named and _can_be_name(name.strip(), column, marks):
            return False
    return _header(first, filled, marks) is not True


def has_header(records: Records) -> bool:
    """Whether the first of a sheet's rows may hold names, as cells that a text would hold."""
    first = records[0]
    return _header(first, _filled_cells(records[1:], len(first)), PLAIN) is not False


def _filled_cells(records: Records, width: int) -> list[list[str]]:
    """Return the cells of each column that are not blank."""
    columns = [[row[i].strip() for row in records if len(row) > i] for i in range(width)]
    return [[cell for cell in column if cell] for column in columns]


_SEPARATOR: Final = re.compile(r'\ufeff?"?sep=([^\r\n])"?[ \t,;]*(?=[\r\n])', re.IGNORECASE)
"""The line by which Excel is told what stands between fields."""
_MOST_ABOVE: Final = 50
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text as the reader counts them."""
    return (found[0] for found in _LINE.finditer(text))


def _lines_above(text: str, records: Records, delimiter: str) -> int:
    """Return how many lines of a text stand above the header."""
    widths = Counter(len(record) for record in records)
    if not widths:
        return 0
    rows: list[list[str]] = []
    with suppress(csv.Error):  # A field longer than the library takes is no title.
        for line, _ in zip(_lines(text), range(_MOST_ABOVE + 1), strict=False):
            rows.append(next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), []))
    return rows_above(rows, widths.most_common(1)[0][0], [record for record in records if record])


def rows_above(rows: Records, width: int, records: Records) -> int:
    """Return how many rows stand above a table's header: a title, notes, comments.

    Parameters
    ----------
    rows
        The first rows, with blank ones. A row with fewer cells than others may be shorter.
    width
        How many columns the table has.
    records
        The rows without blank ones, as many as are looked at.

    Returns
    -------
    int
        The rows that hold little beside their first cell, or begin with ``#``, where what follows
        them is a header that differs from the records below it; a comment needs none.
    """
    last, comments = 0, True
    for place, row in enumerate(rows[:_MOST_ABOVE]):
        cells = [cell.strip() for cell in row if cell.strip()]
        if not cells:
            continue
        comment = cells[0].startswith("#") and (len(cells) < width or width == 1)
        title = bool(row[0].strip()) and len(cells) <= max(1, width // 2) and width > 1
        if not (comment or title):
            break
        last, comments = place + 1, comments and comment
    above = next((place for place in range(last, len(rows)) if any(rows[place])), 0)
    if not last or above >= min(len(rows), _MOST_ABOVE):
        return 0
    if comments:
        return last
    header = rows[above]
    begin = next((n for n, record in enumerate(records) if list(record) == list(header)), 0)
    filled = _filled_cells([row for row in records[begin + 1 :] if len(row) == width], width)
    marks = _marks(filled, "", {})
    found = _header(header, filled, marks) if len(header) == width else False
    short = all(len(row) < width for row in rows[:last])
    return last if found or (found is None and short) else 0


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
    if scores:
        return max(scores, key=lambda candidate: scores[candidate])
    return " " if _is_blank_separated(text) else ","


def _is_blank_separated(text: str) -> bool:
    """Whether all lines have as many words, and some of these hold numbers or dates."""
    words = [line.split() for line in text.splitlines()[:_MOST_RECORDS] if line.strip()]
    if len(words) < 3 or len({len(line) for line in words}) != 1 or len(words[0]) < 2:
        return False
    lines = text.splitlines()
    # Lines of one length that begin with a record are rather those of fixed width.
    if len({len(line) for line in lines[:-1]}) == 1 and any(map(str.isdigit, lines[0])):
        return False
    columns = [list(column) for column in zip(*words[1:], strict=True)]
    return any(_typed_share(column, PLAIN) >= _MOSTLY for column in columns)


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
    if delimiter == " ":  # a run of blanks is one
        text = "\n".join(" ".join(line.split()) for line in text.splitlines())
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


def _marks(columns: Records, delimiter: str, stated: Mapping[str, Any]) -> NumberMarks:
    """Return the marks that suit most columns of numbers, of those that are not stated."""
    numeric = []
    for column in columns:
        cells = [cell for cell in column if _NUMBER_LIKE.fullmatch(cell)]
        if cells and len(cells) >= _MOSTLY * len(column):
            numeric.append(cells)
    # 1,234 may be either; where commas delimit the fields, a number has none but for thousands.
    ambiguous = (_ENGLISH, _COMMA) if delimiter == "," else (_COMMA, _ENGLISH)
    decimal, thousands = stated.get("decimal"), stated.get("thousands")
    known = [
        marks
        for marks in (PLAIN, *ambiguous, *_OTHERS)
        if decimal in (None, marks.decimal) and thousands in (None, marks.thousands)
    ]
    if not known:
        other = "," if thousands == "." else "."
        return NumberMarks(decimal or other, thousands or "")
    most, best = -1, known[0]
    for marks in known:
        fitting = sum(all(map(marks.fits, cells)) for cells in numeric)
        if fitting > most:
            most, best = fitting, marks
        if most == len(numeric):  # no others suit more of them
            break
    return best


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


def _header(first: Sequence[str], columns: Records, marks: NumberMarks) -> bool | None:
    """Whether the first record holds names rather than values; None where it may be either."""
    names = [cell.strip() for cell in first]
    if any(_ADDRESS.fullmatch(name) for name in names):
        return False
    typed = [_typed_share(column, marks) >= _MOSTLY for column in columns]
    named = list(zip(names, columns, strict=False))
    named_typed = [
        (name, column)
        for (name, column), is_typed in zip(named, typed, strict=False)
        if name and is_typed
    ]
    telling = sum(_can_be_name(name, column, marks) for name, column in named_typed)
    repeated = [name for name, column in named if name and name in column]
    if telling:
        # What stands below again is no name, unless the whole header does.
        return not repeated or telling > 1 or len(repeated) == len(named)
    if named_typed or any(_is_typed(name, marks) for name in names):
        return False
    given = [name for name in names if name]
    return False if repeated or len(set(given)) < len(given) else None


def _can_be_name(name: str, column: Sequence[str], marks: NumberMarks) -> bool:
    """Whether the first field of a column of values is none: a text, or a year among others."""
    if name.lower() in _MISSING:
        return False
    if _YEAR.fullmatch(name):
        return sum(bool(_YEAR.fullmatch(cell)) for cell in column) < len(column) / 2
    return not _is_typed(name, marks)


def _typed_share(column: Sequence[str], marks: NumberMarks) -> float:
    return sum(_is_typed(cell, marks) for cell in column) / max(len(column), 1)


def _is_typed(cell: str, marks: NumberMarks) -> bool:
    """Whether a field is a number, a date or a truth value rather than a text."""
    return bool(
        (marks.fits(cell) and cell.strip("+-"))
        or _DATE.fullmatch(cell)
        or _ISO.fullmatch(cell)
        or cell.lower() in _TRUTH
    )
