"""Columns of a text file, gathered block by block while their types are found out.

A table of few rows and thousands of columns has little in each column, and a call of the library
for each takes longer than what it does. So short columns are laid end to end, looked at once, and
those whose values are of one type beyond doubt are told. All others are looked at one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Integers
from sfumato.formats.columns.arrays import (
    Column,
    EncodedTexts,
    Mask,
    MaskedBuffer,
    TextBuffer,
    encoded_apart,
    unmasked,
)
from sfumato.formats.columns.exact import with_more_digits
from sfumato.formats.columns.numerals import MixedNumerals, NumberForms, TextCounts, trailing_zeros
from sfumato.formats.columns.parsing import (
    EXACT,
    NO_POSITIONS,
    ZONED,
    Parsed,
    ParsingRules,
    Positions,
    boolean_cells,
    cast_texts,
    moment_cells,
    number_cells,
    parse,
    text_cells,
    trimmed,
    with_point,
)
from sfumato.formats.options import ColumnType, DateOrder, ReadOptions

RARE: Final = 0.05
"""Below this share, values of another type are taken for mistakes rather than for a sign that
the column is text."""

_SAMPLE: Final = 5_000
_HOPELESS: Final = 1_000
_FEW: Final = 20
_DAY_OR_MONTH: Final = "^[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}"
_DAY, _MONTH = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])"
_NO_CENTURY: Final = (
    rf"^({_DAY}[./-]{_MONTH}[./-][0-9]{{2}}|{_MONTH}[/-]{_DAY}[/-][0-9]{{2}}"
    rf"|[0-9]{{2}}-{_MONTH}-{_DAY})([ T][0-9:.]+)?$"
)
_MONTH_IN_WORDS: Final = (
    rf"^({_DAY}[. /-]+\pL{{3,9}}[., /-]+|\pL{{3,9}}[. ]+{_DAY},? )([0-9]{{2}}|[0-9]{{4}})$"
)
_YEAR_LAST: Final = "[. ,/-](?:[0-9]{2}|[0-9]{4})$"
"""Found wherever `_MONTH_IN_WORDS` is, whose letters of all scripts take 12 ms to compile."""
_AGREE: Final = frozenset(
    {(kind, kind) for kind in ColumnType if kind != ColumnType.TEXT}
    | {(ColumnType.INTEGER, ColumnType.NUMBER)}
)
"""A column's type and that of its next values, where they can be taken as they are."""
_GUESSES: Final = (ColumnType.BOOLEAN, ColumnType.INTEGER, ColumnType.DATE)


class UnreadDates(StrEnum):
    """Why texts that seem to be dates are not read as dates."""

    ZONE = "zone"
    CENTURY = "century"
    MONTH = "month"


_UNREAD: Final = {
    UnreadDates.ZONE: (ZONED,),
    UnreadDates.CENTURY: (_NO_CENTURY,),
    UnreadDates.MONTH: (_YEAR_LAST, _MONTH_IN_WORDS),
}
"""What is found in every text of a column that seems to hold such dates, the quickest first."""


@dataclass(frozen=True)
class BlockEvidence:
    """What the values of a column's block are beyond doubt.

    Parameters
    ----------
    kind
        Their type.
    values, missing
        The values, of which none is bad, and which of them are missing; None for texts.
    texts
        Texts, where the column has none yet.
    zeros
        Whether some of the values, which are numbers, are written with a zero at their end.
    """

    kind: ColumnType
    values: npt.NDArray[Any] | None = None
    missing: Mask | None = None
    texts: EncodedTexts | None = None
    zeros: bool = False


class GatheredColumn:
    """A column that grows block by block.

    The type the custodian fixed is used; else the first values suggest one, and every later
    value is held against it. Whole numbers become decimals when a decimal comes. When a text
    comes that a number would alter, or too many that are none, the column is given up
    (`given_up`): it must be read again as text.

    Parameters
    ----------
    name
        The column's name.
    options
        How texts are read as values.
    expected
        How many rows are likely to come.
    kept
        Whether values are kept; else only what they are is found out, see `type` and `reader`.
    """

    def __init__(
        self, name: str, options: ReadOptions, expected: int, *, kept: bool = True
    ) -> None:
        self.name = name
        self.fixed = name in options.column_types
        self.kind: ColumnType | None = options.column_types.get(name)
        self.given_up = False
        self.code_at = -1
        self.mixed: ColumnType | None = None
        """What most values of a column of texts are, where it is not given up."""
        self.orders: tuple[DateOrder, ...] = ()
        """How the dates may be written that a column of texts seems to hold."""
        self.unread: UnreadDates | None = None
        """Why a column of texts is none of dates, though it seems to hold some."""
        self.zones = 0
        """How many of its dates have a time zone, which is left out."""
        self.may_be_grouped = False
        """Whether what is taken for a decimal mark may stand between thousands."""
        self._may_group = options.version > 1 and options.delimiter != "," and not options.thousands
        self.merged: MixedNumerals | None = None
        self._new = options.version > 1
        self._forms = NumberForms() if self._new and not self.fixed else None
        self._rules = ParsingRules.of(options, fixed=self.fixed)
        self._expected = expected if kept else 0
        self._kept = kept
        self._rows = 0
        self._values = 0
        self._whole_rows = 0
        self._exact = True
        self._bad: list[Positions] = []
        self._shortened: list[Positions] = []
        self._texts: TextBuffer | None = None
        self._numbers: MaskedBuffer | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no row was added yet."""
        return self._rows == 0

    @property
    def is_open(self) -> bool:
        """Whether the type of the next values is still to be found out, or to be held against."""
        return not (self.fixed or self.given_up or self.kind == ColumnType.TEXT)

    def add(self, texts: pa.Array, seen: BlockEvidence | None = None) -> None:
        """Append an Arrow array of strings; nulls are missing values.

        Where it is known already what they are, `seen` says so.
        """
        start = self._rows
        self._rows += len(texts)
        filled = len(texts) - texts.null_count
        self._values += filled
        if self.given_up or (self.kind is None and not filled):
            return
        parsed = None
        if self.kind is None and seen is not None:
            self.kind = seen.kind
            self._note_grouped(texts)
        elif self.kind is None:
            self.kind, parsed = self._guess(texts, start)
        if self.kind == ColumnType.TEXT:
            self._add_texts(texts, start, seen)
        elif seen is not None and seen.values is not None and (self.kind, seen.kind) in _AGREE:
            self._take(seen.values, seen.missing, start)
            written = with_point(trimmed(texts), self._rules)[0] if seen.zeros else None
            self._note_forms(seen.kind, written)
        else:
            parsed = parsed or parse(texts, self.kind, self._rules)
            self._add_values(parsed, start, texts.null_count)
            self._note_forms(self.kind, parsed.texts)
        are_texts = pa.types.is_string(texts.type)  # those of a workbook may be numbers already
        if are_texts and self.kind == ColumnType.NUMBER and self._forms is not None:
            shortened = with_more_digits(texts)
            if len(shortened):
                self._shortened.append(shortened + start)

    def _note_forms(self, kind: ColumnType, texts: pa.Array | None) -> None:
        """Note in which ways numbers are written; texts that are not given have no needless zero.

        Whole numbers have no decimals, so it is enough to know that there are some.
        """
        if self._forms is None or kind not in (ColumnType.INTEGER, ColumnType.NUMBER):
            return
        if kind == ColumnType.INTEGER:
            self._forms.take_whole()
        elif texts is None:
            self._forms.take_without_zeros()
        else:
            self._forms.take(texts)

    @property
    def may_merge(self) -> bool:
        """Whether texts that differ may have become one number."""
        numbers = self.kind == ColumnType.NUMBER and not self.given_up
        return numbers and self._forms is not None and self._forms.may_merge

    def take_merged(self, counts: TextCounts) -> None:
        """Give the column up where texts that would become one number are codes."""
        self.merged = counts.merged(self._rules)
        if self.merged is not None and self.merged.are_codes:
            self.give_up()

    @property
    def shortened(self) -> Positions:
        """The positions of numbers that were written with more digits than they have now."""
        return np.concatenate(self._shortened) if self._shortened else NO_POSITIONS

    @property
    def bad(self) -> Positions:
        """The positions of values that don't have the column's type."""
        return np.concatenate(self._bad) if self._bad else np.empty(0, dtype=np.int64)

    @property
    def bad_is_rare(self) -> bool:
        """Whether so few values don't have the column's type that they look like mistakes."""
        return len(self.bad) < RARE * self._values

    def give_up(self) -> None:
        """Let go of what was gathered: the column will be read again as text."""
        self.given_up = True
        self._numbers = None
        self._texts = None

    def finish(self, keep: Mask | None) -> Column:
        """Return the column, of the rows in `keep` or of all rows; bad values are missing."""
        if self._numbers is not None:
            column = self._numbers.finish(keep)
        else:
            if self._texts is None:  # Nothing but missing values.
                self._texts = TextBuffer(self._rows)
                self._texts.add_missing(self._rows)
            column = self._texts.finish(keep)
        self._numbers = None
        self._texts = None
        return column

    @property
    def type(self) -> pa.DataType:
        """What Arrow calls the type that all rows gave the column."""
        if self._numbers is None:
            return pa.string()
        return pa.from_numpy_dtype(self._numbers.values.dtype)

    @property
    def type_suffices(self) -> bool:
        """Whether rows are read by the type alone; else -0 among whole numbers is 0."""
        return not self._whole_rows

    @property
    def reader(self) -> ColumnReader:
        """What reads rows that were added again."""
        return ColumnReader(self.type, self.kind, self._rules, self._whole_rows)

    def _guess(self, texts: pa.Array, start: int) -> tuple[ColumnType, Parsed | None]:
        """Return the type of most of the first values, or text; and all, where all were parsed."""
        whole = len(texts) <= _SAMPLE
        sample = texts if whole else texts.drop_null()[:_SAMPLE]
        shown, counts = _each_once(sample) if not whole else (sample, np.ones(len(sample), int))
        written = int(counts[np.asarray(trimmed(shown).is_valid())].sum())
        if not written:  # Nothing but blanks says nothing.
            return ColumnType.TEXT, None
        filled = written if self._new else len(sample) - sample.null_count
        most = written / 2
        for kind in _GUESSES:
            parsed = parse(shown, kind, self._rules)
            if parsed.code >= 0:
                self._note_code(texts, sample, written, start)
                return ColumnType.TEXT, None
            decimal = kind == ColumnType.INTEGER and pa.types.is_floating(parsed.values.type)
            bad = int(counts[parsed.bad].sum())
            if bad < RARE * filled:
                if decimal:
                    self._note_grouped(sample)
                    return ColumnType.NUMBER, None
                return kind, parsed if whole else None
            if bad < most:
                most, self.mixed = bad, ColumnType.NUMBER if decimal else kind
        self._note_orders(sample)
        return ColumnType.TEXT, None

    def _note_grouped(self, sample: pa.Array) -> None:
        """Note whether all numbers have three digits after the mark, and up to three before it."""
        if not self._may_group or self.kind not in (None, ColumnType.NUMBER):
            return
        mark = re.escape(self._rules.decimal)
        written = trimmed(sample).drop_null()
        grouped = pc.match_substring_regex(written, rf"^[+-]?[1-9][0-9]{{0,2}}{mark}[0-9]{{3}}$")
        self.may_be_grouped = len(written) > 1 and bool(pc.all(grouped).as_py())

    def _note_orders(self, sample: pa.Array) -> None:
        """Note how the dates may be written that texts seem to be, or why they are not read."""
        first = trimmed(sample).drop_null()[:_FEW]
        if not self._new:
            return
        for reason, patterns in _UNREAD.items():
            if all(pc.all(pc.match_substring_regex(first, one)).as_py() for one in patterns):
                self.unread = reason
                return
        if not pc.any(pc.match_substring_regex(first, _DAY_OR_MONTH)).as_py():
            return
        orders = (DateOrder.DAY_FIRST, DateOrder.MONTH_FIRST)
        self.orders = tuple(
            order
            for order in orders
            if order != self._rules.date_order
            and not len(parse(sample, ColumnType.DATE, replace(self._rules, date_order=order)).bad)
        )

    def _note_code(self, texts: pa.Array, sample: pa.Array, written: int, start: int) -> None:
        """Note the first text that a number would alter, where nearly all texts are numbers."""
        self.mixed = None
        numbers = parse(sample, ColumnType.NUMBER, replace(self._rules, fixed=True))
        if len(numbers.bad) < RARE * written:
            self.code_at = start + parse(texts, ColumnType.INTEGER, self._rules).code

    def _add_texts(self, texts: pa.Array, start: int, seen: BlockEvidence | None) -> None:
        if not self._kept:
            return
        if self._texts is None:
            self._texts = TextBuffer(self._expected)
            if start == 0 and seen is not None and seen.texts is not None:
                self._texts.begin(seen.texts)
                return
            self._texts.add_missing(start)
        self._texts.add(texts)

    def _add_values(self, parsed: Parsed, start: int, missing: int) -> None:
        if parsed.code >= 0:
            self.code_at = start + parsed.code
            self.give_up()
            return
        self.zones += parsed.zones
        if len(parsed.bad):
            self._bad.append(parsed.bad + start)
        if self._new:  # Blanks alone are missing.
            self._values -= parsed.values.null_count - len(parsed.bad) - missing
        self._take(*unmasked(parsed.values), start)
        if not self.fixed and len(parsed.bad) > max(_HOPELESS, len(parsed.values) / 2):
            self.give_up()

    def _take(self, values: npt.NDArray[Any], missing: Mask | None, start: int) -> None:
        """Append values; give the column up where a whole number would be altered."""
        if self._numbers is None:
            self._numbers = MaskedBuffer(values.dtype, self._expected)
            self._numbers.add_missing(start if self._kept else 0)
        held = self._numbers.values
        if self.kind == ColumnType.INTEGER and values.dtype.kind == "f":
            if not self._exact:
                self.code_at = start
                self.give_up()
                return
            self.kind, self._whole_rows = ColumnType.NUMBER, start
        elif self.kind == ColumnType.INTEGER and len(values):
            self._exact &= bool(values.max() <= EXACT and values.min() >= -EXACT)
        if values.dtype > held.dtype:
            held.convert(values.dtype)
        if self._kept:
            self._numbers.add(values, missing)


def _each_once(texts: pa.Array) -> tuple[pa.Array, Integers]:
    """Return each text once, and how many rows have it: what is told of a text is told once."""
    encoded = texts.dictionary_encode()
    return encoded.dictionary, np.bincount(encoded.indices.to_numpy())


@dataclass(frozen=True)
class ColumnReader:
    """Reads texts of a column whose type is known from all rows.

    Parameters
    ----------
    target
        The type of Arrow's that the column is read as.
    kind
        The type of its values.
    rules
        How texts are read as these.
    whole_rows
        So many rows, the first ones, hold whole numbers, though the column holds decimals.
    """

    target: pa.DataType
    kind: ColumnType | None
    rules: ParsingRules
    whole_rows: int = 0

    def __call__(self, texts: pa.Array, start: int) -> pa.Array:
        """Return the texts of rows from `start` on as values; bad ones are null.

        Raises
        ------
        ArrowInvalid
            If they are others than those that the type is known from.
        """
        if self.target == pa.string():
            return texts
        kind = ColumnType.INTEGER if start < self.whole_rows else self.kind
        if self.rules.are_plain and (kind, self.target) in _CAST:
            values = cast_texts(texts, self.target)
            if values is not None and pc.all(pc.is_finite(values)).as_py() is not False:
                return values
        assert kind is not None
        return parse(texts, kind, self.rules).values.cast(self.target)


def kind_of(target: pa.DataType) -> ColumnType:
    """Return the type of a column that is read as a type of Arrow's."""
    if pa.types.is_timestamp(target):
        return ColumnType.DATE
    return _KINDS[target]


_CAST: Final = ((ColumnType.INTEGER, pa.int64()), (ColumnType.NUMBER, pa.float64()))
_KINDS: Final = {
    pa.string(): ColumnType.TEXT,
    pa.int64(): ColumnType.INTEGER,
    pa.float64(): ColumnType.NUMBER,
    pa.bool_(): ColumnType.BOOLEAN,
}


MOST_ROWS: Final = 2_000
"""Columns with more rows are worth a look of their own."""
_FEWEST_COLUMNS: Final = 16

Cells = Flags


def seen_together(
    columns: Sequence[GatheredColumn], block: pa.RecordBatch, options: ReadOptions
) -> list[BlockEvidence | None]:
    """Return what each column of a block holds, where that is beyond doubt.

    Parameters
    ----------
    columns
        The columns, as far as they are gathered, k.
    block
        Their next rows.
    options
        How texts are read as values.
    """
    seen: list[BlockEvidence | None] = [None] * len(columns)
    places = np.array([i for i, column in enumerate(columns) if column.is_open], dtype=np.int64)
    if not 0 < len(block) <= MOST_ROWS or len(columns) < _FEWEST_COLUMNS:
        return seen
    if len(places):
        stack = _Stack(block, places, seen)
        rules = ParsingRules.of(options, fixed=False)
        stack.take_booleans()
        stack.take_texts()
        stack.take_numbers(rules, np.array([one.kind == ColumnType.NUMBER for one in columns]))
        stack.take_dates(rules)
    _encode_texts(columns, block, seen)
    return seen


def _encode_texts(
    columns: Sequence[GatheredColumn], block: pa.RecordBatch, seen: list[BlockEvidence | None]
) -> None:
    """Encode the first texts of the columns that are known to be of texts."""
    told = {
        place: found
        for place, column in enumerate(columns)
        if column.is_empty
        and (found := seen[place] or BlockEvidence(column.kind or ColumnType.NUMBER)).kind
        == ColumnType.TEXT
    }
    if told:
        texts = pa.concat_arrays([block.column(place) for place in told])
        for place, encoded in zip(told, encoded_apart(texts, len(block)), strict=True):
            seen[place] = replace(told[place], texts=encoded)


class _Stack:
    """Columns of a block laid end to end; those that are told, or can't be, are taken off.

    Each distinct text is looked at once.
    """

    def __init__(
        self, block: pa.RecordBatch, places: Integers, seen: list[BlockEvidence | None]
    ) -> None:
        whole = pa.concat_arrays([block.column(int(place)) for place in places])
        encoded = whole.dictionary_encode(null_encoding="encode")
        raw, self._codes = encoded.dictionary, encoded.indices.to_numpy().reshape(-1, len(block))
        self._places = places
        self._seen = seen
        self._texts = trimmed(raw)
        self._valid = self._cells(self._texts.is_valid())
        # What is blank altogether counts as filled where the share of mistakes is found, and
        # values that are few beside it would be taken for mistakes.
        filled = self._cells(raw.is_valid()).sum(axis=1)
        count = self._valid.sum(axis=1)
        self._keep((count > 0) & (count >= RARE * filled))

    def take_booleans(self) -> None:
        """Tell columns of yes/no values; those that hold some among others are taken off."""
        values, known = boolean_cells(self._texts)
        wanted = self._all(known)
        self._tell(wanted, values.filter(pa.array(self._used(wanted))), ColumnType.BOOLEAN)
        self._keep(~np.asarray((self._cells(known) & self._valid).any(axis=1)))

    def take_texts(self) -> None:
        """Tell columns of which no value could be a number, a date or a code."""
        wanted = self._all(text_cells(self._texts))
        for row in np.flatnonzero(wanted):
            self._seen[self._places[row]] = BlockEvidence(ColumnType.TEXT)
        self._keep(~wanted)

    def take_numbers(self, rules: ParsingRules, decimal: Cells) -> None:
        """Tell columns of numbers; those at places in `decimal` were of decimals before."""
        texts, numeric, whole = number_cells(self._texts, rules)
        numbers = self._all(numeric)
        integers = self._all(whole) & ~decimal[self._places]
        zeros = np.asarray(self._cells(trailing_zeros(texts)).any(axis=1))
        for wanted, kind, target in (
            (numbers & integers, ColumnType.INTEGER, pa.int64()),
            (numbers & ~integers, ColumnType.NUMBER, pa.float64()),
        ):
            self._tell(
                wanted, cast_texts(texts.filter(pa.array(self._used(wanted))), target), kind, zeros
            )
        self._keep(~numbers)

    def take_dates(self, rules: ParsingRules) -> None:
        """Tell columns of dates."""
        texts, known = moment_cells(self._texts, rules)
        wanted = self._all(known)
        moments = cast_texts(texts.filter(pa.array(self._used(wanted))), pa.timestamp("us"))
        self._tell(wanted, moments, ColumnType.DATE)

    def _tell(
        self, wanted: Cells, values: pa.Array | None, kind: ColumnType, zeros: Cells | None = None
    ) -> None:
        """Tell columns by the values of their texts (`_used`)."""
        if values is None:  # A day that no calendar has, say: each column is looked at by itself.
            return
        at = (np.cumsum(self._used(wanted)) - 1)[self._codes[wanted]]
        numbers, missing = unmasked(values)
        numbers = numbers[at]
        missing = np.zeros(numbers.shape, np.bool_) if missing is None else missing[at]
        some = np.asarray(missing.any(axis=1))
        ends = np.zeros(len(numbers), np.bool_) if zeros is None else zeros[wanted]
        for order, place in enumerate(self._places[wanted]):
            mask = missing[order] if some[order] else None
            self._seen[place] = BlockEvidence(kind, numbers[order], mask, zeros=bool(ends[order]))

    def _all(self, known: pa.Array) -> Cells:
        """Return of which columns all values are known to be of a type, shape (k,)."""
        return np.asarray((self._cells(known) | ~self._valid).all(axis=1))

    def _cells(self, known: pa.Array) -> Cells:
        """Return what is known of each value, shape (k, rows); missing is false."""
        texts: Cells = np.asarray(pc.fill_null(known, False).to_numpy(zero_copy_only=False))
        found: Cells = texts[self._codes]
        return found

    def _used(self, wanted: Cells) -> Cells:
        """Return which texts some columns have."""
        used = np.zeros(len(self._texts), np.bool_)
        used[self._codes[wanted]] = True
        return used

    def _keep(self, wanted: Cells) -> None:
        if wanted.all():
            return
        used = self._used(wanted)
        self._texts = self._texts.filter(pa.array(used))
        self._codes = (np.cumsum(used) - 1)[self._codes[wanted]]
        self._valid, self._places = self._valid[wanted], self._places[wanted]
