"""How numbers are written, and whether texts that differ but mean one number are codes.

In ICD-9 250.0 is another diagnosis than 250.00, and section 1.1 is not 1.10. A column in which
every number is written in one way loses nothing as numbers; that is seen block by block at little
cost. Only where a column may hold a number in two ways are its distinct texts looked at.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Bytes
from sfumato.formats.columns.parsing import (
    Offsets,
    ParsingRules,
    cast_texts,
    filled,
    trimmed,
    with_point,
)

_POINT, _NOUGHT = b".0"
_TRAILING: Final = r"\.[0-9]*0$"
_FEW: Final = 10
_MANY: Final = 100
MOST_TEXTS: Final = 100_000
"""Columns with more distinct texts hold what was measured."""


class NumberForms:
    """In which ways all numbers of a column were written so far.

    A number is written in one way only where all have the same count of decimals, or none has a
    needless zero, or all have a point and none has another needless zero than that of 2.0.
    """

    def __init__(self) -> None:
        self._digits: int | None = None
        self._shortest = True
        self._pointed = True
        self._equal = True

    @property
    def may_merge(self) -> bool:
        """Whether two texts may mean one number."""
        return not (self._equal or self._shortest or self._pointed)

    def take_whole(self) -> None:
        """Note that there are numbers without a point."""
        self._take_equal(self._digits in (None, 0))
        self._digits = 0
        self._pointed = False

    def take_without_zeros(self) -> None:
        """Note that there are numbers without a needless zero, and nothing else of them."""
        self._equal = self._pointed = False

    def take(self, texts: pa.Array) -> None:
        """Note how numbers are written, trimmed and with a point as their decimal mark."""
        if self.may_merge:
            return
        starts, ends, data = filled(texts)
        if not len(starts):
            return
        first = self._digits is None
        if self._digits is None:
            text = bytes(data[starts[0] : ends[0]])
            self._digits = len(text) - text.index(b".") - 1 if b"." in text else 0
        if self._equal:
            equal = _all_have(self._digits, starts, ends, data)
            if first:
                self._equal = equal
            else:
                self._take_equal(equal)
                if equal:
                    return
        zeros = np.flatnonzero(data[ends - 1] == _NOUGHT)
        if self._pointed:
            count = int((data[starts[0] : ends[-1]] == _POINT).sum())
            before = data[np.maximum(ends[zeros] - 2, starts[zeros])]
            self._pointed = count == len(starts) and bool((before == _POINT).all())
        if self._shortest and len(zeros):
            self._shortest = not _any_has_point(starts[zeros], ends[zeros], data)

    def _take_equal(self, equal: bool) -> None:
        if self._equal and not equal:
            # The others were not looked at while this held.
            self._pointed &= self._digits == 1
            self._shortest &= not self._digits
        self._equal &= equal


def _all_have(digits: int, starts: Offsets, ends: Offsets, data: Bytes) -> bool:
    """Whether all numbers have so many decimals."""
    if not digits:
        return not bool((data[starts[0] : ends[-1]] == _POINT).any())
    at = ends - 1 - digits
    return bool((at >= starts).all() and (data[at] == _POINT).all())


def _any_has_point(starts: Offsets, ends: Offsets, data: Bytes) -> bool:
    """Whether a point stands in any of some numbers, looked for from their ends."""
    at = np.maximum(ends - 2, starts)
    while len(at):
        if bool((data[at] == _POINT).any()):
            return True
        at = at - 1
        inside = at >= starts
        starts, at = starts[inside], at[inside]
    return False


def trailing_zeros(texts: pa.Array) -> pa.Array:
    """Return which numbers, with a point as their mark, end in a zero after it."""
    return pc.match_substring_regex(texts, _TRAILING)


@dataclass(frozen=True)
class MixedNumerals:
    """Numbers of a column that are written in several ways.

    Parameters
    ----------
    count
        How many there are; None where there are too many to count.
    are_codes
        Whether their texts are codes that mean different things.
    """

    count: int | None
    are_codes: bool


def merged_numbers(texts: pa.Array, counts: pa.Array, rules: ParsingRules) -> MixedNumerals | None:
    """Return which of a column's numbers are written in several ways; None where none is.

    They are codes unless the column was measured: some numbers have a sign or an exponent; or
    hardly any number repeats; or nearly all that can be written in two ways are, so that somebody
    wrote as they liked, where codes have a meaning each.

    Parameters
    ----------
    texts, counts
        The distinct texts, and in how many rows each stands.
    rules
        How they are read as numbers.
    """
    plain, _ = with_point(trimmed(texts), rules)
    known = pc.and_(plain.is_valid(), pc.match_substring_regex(plain, r"[0-9]")).fill_null(False)
    plain, rows = plain.filter(known), np.asarray(counts.filter(known), dtype=np.int64)
    values = cast_texts(pc.replace_substring_regex(plain, r"^\+", ""), pa.float64())
    if values is None:
        keep = pc.match_substring_regex(plain, r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$")
        plain, rows = plain.filter(keep), rows[np.asarray(keep)]
        values = cast_texts(pc.replace_substring_regex(plain, r"^\+", ""), pa.float64())
    numbers, place = np.unique(np.asarray(values), return_inverse=True)
    ways = np.bincount(place, minlength=len(numbers))
    several = ways > 1
    if not several.any():
        return None
    signed = pc.any(pc.match_substring_regex(plain, r"^[+-]|[eE]")).as_py()
    seen = np.bincount(place, weights=rows, minlength=len(numbers))
    alone = len(numbers) >= _MANY and len(numbers) > seen.sum() / 2
    decimals = np.asarray(pc.binary_length(pc.replace_substring_regex(plain, r"^[^.]*\.?", "")))
    fewest = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(fewest, place, decimals)
    two_ways = (fewest < decimals.max()) & (seen > 1)
    written = int((several & two_ways).sum())
    at_will = written >= _FEW and written > two_ways.sum() / 2
    return MixedNumerals(int(several.sum()), not (signed or alone or at_will))


class TextCounts:
    """How often each text of a column occurs, block by block."""

    def __init__(self) -> None:
        self._counted = pa.table(
            {"text": pa.array([], pa.string()), "rows": pa.array([], pa.int64())}
        )

    @property
    def are_many(self) -> bool:
        """Whether there are more distinct texts than codes would have."""
        return len(self._counted) > MOST_TEXTS

    def add(self, texts: pa.Array) -> None:
        """Count the texts of a block."""
        found = pc.value_counts(texts.drop_null())
        block = pa.table({"text": found.field("values"), "rows": found.field("counts")})
        both = pa.concat_tables([self._counted, block]).combine_chunks()
        grouped = both.group_by("text", use_threads=False).aggregate([("rows", "sum")])
        self._counted = pa.table({"text": grouped["text"], "rows": grouped["rows_sum"]})

    def merged(self, rules: ParsingRules) -> MixedNumerals | None:
        """Return which numbers are written in several ways."""
        if self.are_many:
            return MixedNumerals(None, are_codes=False)
        texts, rows = (self._counted[name].combine_chunks() for name in ("text", "rows"))
        return merged_numbers(texts, rows, rules)
