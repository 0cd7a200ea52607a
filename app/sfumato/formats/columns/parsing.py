"""Texts as numbers, dates and yes/no values, without altering anything silently.

Where the type of a column is still to be found out, a text that a number could not give back
(a leading zero, a telephone number, more digits than fit) is told, so that the column stays
text. Where the custodian fixed the type, such texts are read as what they say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Bytes, Integers
from sfumato.formats.options import ColumnType, DateOrder, ReadOptions

CODE: Final = (
    r"^([+-]?0[0-9]+([.,][0-9]*)?"  # 007: a leading zero
    r"|\+[0-9]{7,}"  # +4930123456: a telephone number
    r"|[+-]?[0-9]+[eE][0-9]+"  # 2E10: no program writes a number so
    r"|[+-]?0[xX][0-9a-fA-F]+)$"  # 0x1F
)
_MINUS, _PLUS, _NOUGHT, _NINE, _BLANK = b"-+09 "

Offsets = npt.NDArray[np.signedinteger]
Positions = Integers
NO_POSITIONS: Final = np.empty(0, dtype=np.int64)


def first_code(texts: pa.Array) -> int:
    """Return the first position of a text that looks like a number and is a code; -1 if none.

    A code is what a number would not give back: leading zeros, a telephone number with its
    plus, a letter E between digits without a sign or point, hexadecimal digits.
    """
    starts, ends, data = filled(texts)
    if not len(starts):
        return -1
    used = data[starts[0] : ends[-1]]
    lettered = used.max() > _NINE and holds_byte(texts, b"eE")
    if not (lettered or _any_suspicious(starts, ends, data, signed=used.min() <= _MINUS)):
        return -1
    found = np.flatnonzero(
        pc.fill_null(pc.match_substring_regex(texts, CODE), False).to_numpy(zero_copy_only=False)
    )
    return int(found[0]) if len(found) else -1


def _any_suspicious(starts: Offsets, ends: Offsets, data: Bytes, *, signed: bool) -> bool:
    """Whether a text begins with a plus, or with a zero that a digit or an X follows."""
    first = data.take(starts)
    if signed:
        if (first == _PLUS).any():
            return True
        starts = np.minimum(starts + (first == _MINUS), ends - 1)
        first = data.take(starts)
    noughts = np.flatnonzero(first == _NOUGHT)
    next_at = starts[noughts] + 1
    following = data[next_at[next_at < ends[noughts]]]
    digits = (following >= _NOUGHT) & (following <= _NINE)
    return bool((digits | ((following | 0x20) == ord("x"))).any())


def trimmed(texts: pa.Array) -> pa.Array:
    """Return texts without blanks at their ends; what is blank altogether becomes null."""
    if _holds_no_blank(texts):
        return texts
    starts, ends, data = filled(texts)
    if len(starts) == len(texts) - texts.null_count and not (
        (data[starts] <= _BLANK).any() or (data[ends - 1] <= _BLANK).any()
    ):
        return texts
    texts = pc.ascii_trim_whitespace(texts)
    return pc.if_else(pc.equal(pc.binary_length(texts), 0), None, texts)


def blank_rows(block: pa.RecordBatch, texts_count: bool = False) -> Positions:
    """Return which rows of a block hold nothing but missing values and blanks, ascending.

    Where empty `texts_count` as values, these are missing values alone. Mostly one column tells by
    its bytes alone that no row does.
    """
    columns = sorted(block.columns, key=lambda texts: texts.null_count > 0)
    found: Positions | None = None
    for texts in columns:
        if found is None and not texts.null_count and _holds_no_blank(texts):
            return NO_POSITIONS
        some = texts if found is None else texts.take(pa.array(found))
        blank = (some if texts_count else trimmed(some)).is_null().to_numpy(zero_copy_only=False)
        found = np.flatnonzero(blank) if found is None else found[blank]
        if not len(found):
            return NO_POSITIONS
    return NO_POSITIONS if found is None else found


def _holds_no_blank(texts: pa.Array) -> bool:
    """Whether no text is empty but those that are missing, and no blank stands in any."""
    if not len(texts):
        return True
    offsets = _offsets(texts)
    if np.count_nonzero(offsets[1:] > offsets[:-1]) != len(texts) - texts.null_count:
        return False
    used = _data(texts)[offsets[0] : offsets[-1]]
    return not len(used) or bool(used.min() > _BLANK)


def longest_of(texts: pa.Array) -> int:
    """Return how many bytes the longest of some texts has, 0 where there is none."""
    if not len(texts):
        return 0
    offsets = _offsets(texts)
    return int((offsets[1:] - offsets[:-1]).max())


def holds_byte(texts: pa.Array, wanted: bytes) -> bool:
    """Whether one of the bytes `wanted` stands in any of the texts."""
    if not len(texts):
        return False
    offsets = _offsets(texts)
    used = _data(texts)[offsets[0] : offsets[-1]]
    return any(bool((used == byte).any()) for byte in wanted)


def filled(texts: pa.Array) -> tuple[Offsets, Offsets, Bytes]:
    """Return where each text that is not empty starts and ends, and the bytes of all."""
    if not len(texts):
        empty = np.empty(0, dtype=np.int32)
        return empty, empty, np.empty(0, dtype=np.uint8)
    offsets = _offsets(texts)
    starts, ends = offsets[:-1], offsets[1:]
    full = ends > starts
    if not full.all():
        starts, ends = starts[full], ends[full]
    return starts, ends, _data(texts)


def _offsets(texts: pa.Array) -> Offsets:
    large = pa.types.is_large_string(texts.type)
    dtype: np.dtype[np.signedinteger[Any]] = np.dtype(np.int64 if large else np.int32)
    buffer = texts.buffers()[1]
    return np.frombuffer(buffer, dtype=dtype)[texts.offset : texts.offset + len(texts) + 1]


def _data(texts: pa.Array) -> Bytes:
    buffer = texts.buffers()[2]
    return np.frombuffer(buffer, dtype=np.uint8) if buffer else np.empty(0, dtype=np.uint8)


EXACT: Final = 2**53
"""Up to here every whole number is a decimal number of its own in 64 bits."""

_WHOLE: Final = r"^[+-]?[0-9]+$"
_NUMBER: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_MODEST: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE]-[0-9]+)?$"
_INFINITE: Final = r"(?i)^[+-]?inf(inity)?$"
_MOMENT: Final = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?)?$"
)
ZONED: Final = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?)"
    r" ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
)
_TRUE: Final = ("true", "True", "TRUE")
_FALSE: Final = ("false", "False", "FALSE")
_OF_TEXT: Final = r"[g-su-wyG-SU-WY]"
"""Letters that stand in no number, date or code."""
_EXACT_LENGTH: Final = 15
_FINITE_LENGTH: Final = 300
_MICROSECONDS: Final = 26
"""The length of an ISO text with six decimals of a second."""


@dataclass(frozen=True)
class Parsed:
    """A block of texts as values.

    Parameters
    ----------
    values
        An Arrow array; null where the value is missing or bad.
    bad
        The positions of texts that are not of the type.
    code
        The first position of a text that a number would alter, or -1; then nothing else counts.
    texts
        The texts of numbers, trimmed and with a decimal point.
    zones
        How many moments have a time zone, which is left out.
    """

    values: pa.Array
    bad: Positions
    code: int = -1
    texts: pa.Array | None = None
    zones: int = 0


@dataclass(frozen=True)
class ParsingRules:
    """How texts are read as values.

    Parameters
    ----------
    decimal, thousands, date_order
        See `ReadOptions`.
    fixed
        Whether the custodian fixed the type.
    zones
        Whether the time zones of moments are left out.
    """

    decimal: str = "."
    thousands: str = ""
    date_order: DateOrder = DateOrder.YEAR_FIRST
    fixed: bool = False
    zones: bool = False

    @classmethod
    def of(cls, options: ReadOptions, *, fixed: bool) -> ParsingRules:
        """Return the rules that the options state."""
        zones = fixed and options.version > 1
        return cls(options.decimal, options.thousands, options.date_order, fixed, zones)

    @property
    def are_plain(self) -> bool:
        """Whether a number of a column that is one of numbers is what Arrow takes it for."""
        return not self.fixed and self.decimal == "." and not self.thousands


def parse(texts: pa.Array, kind: ColumnType, rules: ParsingRules) -> Parsed:
    """Read a block of texts as values of one type.

    Parameters
    ----------
    texts
        An Arrow array of strings; null where the value is missing.
    kind
        The type; not text.
    rules
        How to read.

    Returns
    -------
    Parsed
        Whole numbers as int64 where all are whole and the type allows it, else float64; dates
        as timestamps in microseconds, or nanoseconds where the texts are that fine.
    """
    texts = trimmed(texts)
    if kind == ColumnType.BOOLEAN:
        return _booleans(texts, rules)
    if kind == ColumnType.DATE:
        return _dates(texts, rules)
    return _numbers(texts, kind, rules)


def _booleans(texts: pa.Array, rules: ParsingRules) -> Parsed:
    true = pc.is_in(texts, value_set=pa.array((*_TRUE, "1") if rules.fixed else _TRUE))
    false = pc.is_in(texts, value_set=pa.array((*_FALSE, "0") if rules.fixed else _FALSE))
    known = pc.or_(true, false)
    return Parsed(pc.if_else(known, true, None), _bad(texts, known))


def _dates(texts: pa.Array, rules: ParsingRules) -> Parsed:
    if rules.date_order != DateOrder.YEAR_FIRST:
        texts = _rearranged(texts, rules.date_order)
    unit = pa.timestamp("ns" if longest_of(texts) > _MICROSECONDS else "us")
    values = cast_texts(texts, unit)
    if values is not None and outside_years(values) is None:
        return Parsed(values, NO_POSITIONS)
    if rules.zones and (zones := pc.sum(pc.match_substring_regex(texts, ZONED)).as_py()):
        shown = pc.replace_substring_regex(texts, ZONED, r"\1")
        return replace(_dates(shown, replace(rules, zones=False)), zones=zones)
    known = pc.fill_null(pc.match_substring_regex(texts, _MOMENT), False)
    # Arrow knows a year 0, which no calendar has.
    known = pc.and_not(known, pc.fill_null(pc.starts_with(texts, "0000"), False))
    shaped = pc.if_else(known, texts, None)
    values = cast_texts(shaped, unit)
    if values is None:  # A day that no calendar has, or beyond the range of nanoseconds.
        kept = [
            text for text in pc.unique(shaped).drop_null() if cast_texts(pa.array([text]), unit)
        ]
        known = pc.is_in(texts, value_set=pa.array(kept, type=texts.type))
        values = cast_texts(pc.if_else(known, texts, None), unit)
    return Parsed(values, _bad(texts, known))


def holds_zones(texts: pa.Array) -> bool:
    """Whether one of some texts is a moment with a time zone."""
    return bool(pc.any(pc.match_substring_regex(texts, ZONED)).as_py())


def _rearranged(texts: pa.Array, order: DateOrder) -> pa.Array:
    """Return dates such as 1.2.2020 as ISO 8601 has them; other texts as they are."""
    first, second = ("d", "m") if order == DateOrder.DAY_FIRST else ("m", "d")
    pattern = (
        rf"^(?P<{first}>[0-9]{{1,2}})[./-](?P<{second}>[0-9]{{1,2}})[./-](?P<y>[0-9]{{4}})"
        r"(?P<time>[ T][0-9:.]+)?$"
    )
    parts = pc.extract_regex(texts, pattern)
    year, month, day, time = (pc.struct_field(parts, name) for name in ("y", "m", "d", "time"))
    month, day = pc.utf8_lpad(month, 2, padding="0"), pc.utf8_lpad(day, 2, padding="0")
    dates = pc.binary_join_element_wise(year, month, day, "-")
    return pc.coalesce(pc.binary_join_element_wise(dates, time, ""), texts)


def _numbers(texts: pa.Array, kind: ColumnType, rules: ParsingRules) -> Parsed:
    texts, misplaced = with_point(texts, rules)
    if not rules.fixed and (code := first_code(texts)) >= 0:
        return Parsed(texts, NO_POSITIONS, code)
    if holds_byte(texts, b"+"):
        texts = pc.replace_substring_regex(texts, r"^\+", "")
    if kind == ColumnType.INTEGER:
        parsed = _whole_numbers(texts, rules)
    else:
        parsed = _decimal_numbers(texts, rules)
    if misplaced is None or parsed.code >= 0:
        return replace(parsed, texts=texts)
    bad = np.union1d(parsed.bad, np.flatnonzero(misplaced.to_numpy(zero_copy_only=False)))
    return Parsed(parsed.values, bad, texts=texts)


def with_point(texts: pa.Array, rules: ParsingRules) -> tuple[pa.Array, pa.Array | None]:
    """Return numbers without thousands marks and with a decimal point.

    The second array, where it is not None, says which texts have the marks in wrong places;
    these are null in the first.
    """
    wrong = None
    mark = rules.thousands
    if mark and holds_byte(texts, mark.encode()[:1]):
        marked = pc.fill_null(pc.match_substring(texts, mark), False)
        point = r"\." if rules.decimal == "." else ","
        grouping = rf"^[+-]?[0-9]{{1,3}}(\x{{{ord(mark):x}}}[0-9]{{3}})+({point}[0-9]*)?$"
        well = pc.fill_null(pc.match_substring_regex(texts, grouping), False)
        wrong = pc.and_not(marked, well)
        texts = pc.if_else(wrong, None, texts)
        texts = pc.replace_substring(texts, mark, "")
    if rules.decimal == ",":
        if holds_byte(texts, b"."):
            pointed = pc.fill_null(pc.match_substring(texts, "."), False)
            wrong = pointed if wrong is None else pc.or_(wrong, pointed)
            texts = pc.if_else(pointed, None, texts)
        texts = pc.replace_substring(texts, ",", ".")
    return texts, wrong


def _whole_numbers(texts: pa.Array, rules: ParsingRules) -> Parsed:
    values = cast_texts(texts, pa.int64()) if not holds_byte(texts, b"xX") else None
    if values is not None:
        return Parsed(values, NO_POSITIONS)
    known = pc.fill_null(pc.match_substring_regex(texts, _WHOLE), False)
    if not rules.fixed:
        others = pc.filter(texts, pc.invert(known)).drop_null()
        if pc.any(pc.match_substring_regex(others, _NUMBER)).as_py():
            return _decimal_numbers(texts, rules)
    values = cast_texts(pc.if_else(known, texts, None), pa.int64())
    if values is None:  # Some don't fit into 64 bits.
        if not rules.fixed:
            return _decimal_numbers(texts, rules)
        fits = [known_one and _fits(text) for known_one, text in zip(known, texts, strict=True)]
        known = pa.array(fits, type=pa.bool_())
        values = cast_texts(pc.if_else(known, texts, None), pa.int64())
    return Parsed(values, _bad(texts, known))


def _fits(text: pa.Scalar) -> bool:
    return -(2**63) <= int(text.as_py() or 0) < 2**63


def _decimal_numbers(texts: pa.Array, rules: ParsingRules) -> Parsed:
    known = None
    values = cast_texts(texts, pa.float64())
    if values is not None and _all_exact(values):
        return Parsed(values, NO_POSITIONS)
    if values is None or not pc.all(pc.is_finite(values)).as_py():
        known = pc.match_substring_regex(texts, _NUMBER)
        if rules.fixed:
            known = pc.or_(known, pc.match_substring_regex(texts, _INFINITE))
        known = pc.fill_null(known, False)
        values = pc.cast(pc.if_else(known, texts, None), pa.float64())
        if not rules.fixed:  # More than a decimal number can hold, as in 1e999.
            known = pc.and_(known, pc.fill_null(pc.is_finite(values), False))
            values = pc.if_else(known, values, None)
    code = -1 if rules.fixed else _first_inexact(texts, values)
    return Parsed(values, NO_POSITIONS if known is None else _bad(texts, known), code)


def _all_exact(values: pa.Array) -> bool:
    """Whether no number is too large for each whole number around it to be told apart."""
    if values.null_count == len(values):
        return True
    numbers = (values.fill_null(0) if values.null_count else values).to_numpy()
    return bool(numbers.max() <= EXACT and numbers.min() >= -EXACT)


def _first_inexact(texts: pa.Array, values: pa.Array) -> int:
    """Return the first position of a whole number with more digits than a decimal can hold."""
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    large = np.flatnonzero(np.abs(numbers) > EXACT)
    if not len(large):
        return -1
    whole = pc.match_substring_regex(texts.take(pa.array(large)), _WHOLE)
    found = np.flatnonzero(whole.to_numpy(zero_copy_only=False))
    return int(large[found[0]]) if len(found) else -1


def _bad(texts: pa.Array, known: pa.Array) -> Positions:
    """Return where a text is neither missing nor known."""
    return np.flatnonzero(
        pc.and_not(texts.is_valid(), pc.fill_null(known, False)).to_numpy(zero_copy_only=False)
    )


def cast_texts(texts: pa.Array, target: pa.DataType) -> Any:
    """Return texts as values, or None where one of them is not of the type."""
    try:
        return pc.cast(texts, target)
    except pa.ArrowInvalid:
        return None


def boolean_cells(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return texts as yes/no values, and which of them are."""
    true, false = (pc.is_in(texts, value_set=pa.array(each)) for each in (_TRUE, _FALSE))
    known = pc.or_(true, false)
    return pc.if_else(known, true, None), known


def text_cells(texts: pa.Array) -> pa.Array:
    """Return which texts can't be a number, a date or a code; those that may be yes or no too."""
    digits = pc.match_substring_regex(texts, "[0-9]")
    return pc.or_(pc.match_substring_regex(texts, _OF_TEXT), pc.invert(digits))


def number_cells(texts: pa.Array, rules: ParsingRules) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return texts to be cast, which of them are numbers beyond doubt, and which are whole.

    Whole numbers with many digits, codes, and numbers that may be too large are not.
    """
    texts, _ = with_point(texts, rules)
    sound = pc.invert(pc.match_substring_regex(texts, CODE))
    if holds_byte(texts, b"+"):
        texts = pc.replace_substring_regex(texts, r"^\+", "")
    length = pc.binary_length(texts)
    whole = pc.match_substring_regex(texts, _WHOLE)
    short = pc.less_equal(length, pc.if_else(whole, _EXACT_LENGTH, _FINITE_LENGTH))
    numeric = pc.and_(pc.match_substring_regex(texts, _MODEST), pc.and_(sound, short))
    return texts, numeric, pc.and_(whole, numeric)


def moment_cells(texts: pa.Array, rules: ParsingRules) -> tuple[pa.Array, pa.Array]:
    """Return texts to be cast, and which of them look like moments in microseconds."""
    if rules.date_order != DateOrder.YEAR_FIRST:
        texts = _rearranged(texts, rules.date_order)
    short = pc.less_equal(pc.binary_length(texts), _MICROSECONDS)
    return texts, pc.and_(pc.match_substring_regex(texts, _MOMENT), short)


# ----- dates of the years 1 to 9999, as ISO 8601, Python and most programs have them; durations


_FIRST, _END = -719_162, 2_932_897
"""1 January of the year 1 and of the year 10000, in days since 1970."""
_PER_DAY: Final = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}
ROWS_TOLD: Final = 5
"""So many rows are named that have such dates."""


def may_be_outside(kind: pa.DataType) -> bool:
    """Whether a type is of dates that can lie outside the years 1 to 9999."""
    if pa.types.is_timestamp(kind):
        return kind.tz is None and kind.unit in _PER_DAY
    return bool(pa.types.is_date(kind))


def in_seconds(values: pa.Array) -> pa.Array:
    """Return durations as numbers of seconds, each the nearest to what was stored."""
    units = 1_000_000_000 if values.type.unit == "ns" else _PER_DAY[values.type.unit] // 86_400
    numbers = values.cast(pa.int64())
    # Whole seconds are exact by themselves, however many billionths they are.
    whole = pc.divide(numbers, units)
    rest = pc.subtract(numbers, pc.multiply(whole, units))
    rest = pc.divide(rest.cast(pa.float64()), float(units))
    return pc.add(whole.cast(pa.float64(), safe=False), rest)


def outside_years(values: pa.Array) -> pa.Array | None:
    """Return which dates lie outside the years 1 to 9999; None where none does."""
    kind = values.type
    if not may_be_outside(kind) or values.null_count == len(values):
        return None
    if pa.types.is_date32(kind):
        numbers, units = values.view(pa.int32()), 1
    else:
        unit = "ms" if pa.types.is_date64(kind) else kind.unit
        numbers, units = values.view(pa.int64()), _PER_DAY[unit]
    # Several times as fast as Arrow's own least and greatest.
    plain = (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy()
    if plain.min() >= _FIRST * units and plain.max() < _END * units:
        return None
    outside = pc.or_(pc.less(numbers, _FIRST * units), pc.greater_equal(numbers, _END * units))
    return pc.fill_null(outside, False)


def within_years(values: pa.Array) -> pa.Array:
    """Return dates, missing where they lie outside the years 1 to 9999; others as they are."""
    outside = outside_years(values)
    return values if outside is None else pc.if_else(outside, pa.scalar(None, values.type), values)
