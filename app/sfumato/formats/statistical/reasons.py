"""Missing values with a reason: SPSS's user-missing codes, and .a to .z of Stata and SAS.

In a table they are missing. Where it is wanted, a column of its own says why, and where both leave
for a program that knows reasons, the values leave as they came.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Value
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.table.table import MissingReasons, Range, Table
from sfumato.formats.columns.arrays import TextBuffer
from sfumato.formats.errors import Way
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions, ReasonsKept

_NAMED: Final = 4
"""So many columns are named with their reasons, and so many reasons of each."""


def declared(stated: Sequence[Mapping[str, Any]]) -> tuple[Range, ...]:
    """Return the ranges of codes that a file declares missing."""
    return tuple((each["lo"], each["hi"]) for each in stated)


def within(code: Value, ranges: Sequence[Range]) -> bool:
    """Whether a code is declared missing."""
    for low, high in ranges:
        if isinstance(code, str) != isinstance(low, str):
            continue
        if low <= code <= high:  # type: ignore[operator]
            return True
    return False


def numbers_within(numbers: Any, ranges: Sequence[Range]) -> Flags:
    """Return which numbers are declared missing, shape (n,)."""
    found: Flags = np.zeros(len(numbers), dtype=np.bool_)
    for low, high in ranges:
        if not isinstance(low, str):
            found |= (numbers >= low) & (numbers <= high)
    return found


@dataclass
class Reasons:
    """The rows of a column that are missing with a reason, gathered piece by piece.

    Parameters
    ----------
    rows, codes
        Which rows, ascending, and the code of each: a number, a text, or ``.a`` for a letter.
    """

    rows: list[int] = field(default_factory=list, repr=False)
    codes: list[Value] = field(default_factory=list, repr=False)

    def add_letters(self, letters: pa.Array, first: int) -> None:
        """Add the letters of a piece that begins at a row; null where there is none."""
        at = np.flatnonzero(letters.is_valid().to_numpy(zero_copy_only=False))
        self.rows += (at + first).tolist()
        self.codes += [f".{letter}" for letter in letters.drop_null().to_pylist()]

    def named(self, stated: Mapping[Any, str], ranges: Sequence[Range]) -> MissingReasons:
        """Return what each code is called and how often it occurs.

        Parameters
        ----------
        stated
            The labels of the column's codes, those of values among them.
        ranges
            The codes that are declared missing.
        """
        labels: dict[Value, str] = {}
        for code, text in stated.items():
            if not ranges and isinstance(code, str):
                labels[f".{code.lstrip('.')}"] = str(text)
            elif within(code, ranges):
                labels[code] = str(text)
        single = (low for low, high in ranges if low == high)
        known = dict.fromkeys([*labels, *single, *self.codes])
        shared = Counter(labels.values())
        called = {code: _name(code, labels.get(code, ""), shared) for code in known}
        counts = Counter(called[code] for code in self.codes)
        return MissingReasons(
            {name: code for code, name in called.items()},
            labels,
            tuple(ranges),
            dict(counts.most_common()),
        )

    def column(self, known: MissingReasons, rows: int) -> Any:
        """Return the column that says why, of so many rows."""
        called = {code: name for name, code in known.codes.items()}
        texts = np.full(rows, None, dtype=object)
        texts[self.rows] = [called[code] for code in self.codes]
        buffer = TextBuffer(rows)
        buffer.add(pa.array(texts, type=pa.string()))
        return buffer.finish(None)


def _name(code: Value, label: str, shared: Mapping[str, int]) -> str:
    """Return what a reason is called: its label, unless several codes share it."""
    if label and shared[label] == 1:
        return label
    whole = isinstance(code, float) and code.is_integer()
    shown = str(int(code) if whole else code)  # type: ignore[arg-type]
    return f"{label} ({shown})" if label else shown


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return what the column is called that says why values of another one are missing."""
    wanted, number = f"{name}_missing", 1
    while wanted in taken:
        number += 1
        wanted = f"{name}_missing_{number}"
    return wanted


_WORDS: Final = {
    ReasonsKept.DROPPED: (
        "{count} {count:value is|values are} missing with a reason, which is left out: {reasons}."
    ),
    ReasonsKept.COLUMN: (
        "{count} {count:value is|values are} missing with a reason, which a column of its own"
        " tells ({companions}): {reasons}."
    ),
    ReasonsKept.VALUES: (
        "{count} {count:value|values} that the file declares missing {count:is|are} read as"
        " {count:a value|values} like any other, and {count:counts|count} in every figure:"
        " {reasons}."
    ),
}


def note_of(
    known: Mapping[str, MissingReasons],
    first: Sequence[int],
    options: ReadOptions,
    *,
    by_codes: bool,
) -> Note:
    """Return what is said of values that are missing with a reason, with the other choices.

    Parameters
    ----------
    known
        The reasons of each column that has some in its rows.
    first
        The first rows that have one, from 1.
    options
        How the file is read.
    by_codes
        Whether the reasons are codes that can be read as values.
    """
    count = sum(sum(each.counts.values()) for each in known.values())
    done = options.reasons
    if done is ReasonsKept.VALUES and not by_codes:
        done = ReasonsKept.DROPPED
    names = tuple(known)
    told = [_told(name, known[name]) for name in names[:_NAMED]]
    if len(names) > _NAMED:
        more = len(names) - _NAMED
        told.append(Sentence("{more} more {more:column|columns}", more=more))
    made = [each.companion for each in known.values() if each.companion]
    details: dict[str, object] = {"count": count, "reasons": listed(told)}
    if made:
        if len(made) > _NAMED:
            more = len(made) - _NAMED
            made = [*made[:_NAMED], Sentence("{more} more {more:column|columns}", more=more)]
        details["companions"] = listed(made)
    return Note(
        _WORDS[done],
        details,
        caution=done is not ReasonsKept.COLUMN,
        columns=names,
        count=count,
        rows=tuple(first),
        ways=_other_ways(options, done, by_codes),
    )


def untold_note(table: Table, title: str, richer: str) -> Note | None:
    """Return what is said where a file may say why numbers are missing, and it can't be read."""
    gaps = {
        str(name): int(series.isna().sum())
        for name, series in table.frame.items()
        if pd.api.types.is_numeric_dtype(series.dtype)
    }
    names = tuple(name for name, count in gaps.items() if count)
    if not names:
        return None
    return Note(
        "{count} {count:number is|numbers are} missing. A {title} file can declare values missing"
        " for a reason, which is not read from it: to keep reasons, save the table as {richer}.",
        {"count": sum(gaps.values()), "title": title, "richer": richer},
        columns=names,
        count=sum(gaps.values()),
    )


def _other_ways(options: ReadOptions, done: ReasonsKept, by_codes: bool) -> tuple[Way, ...]:
    others = [
        ("Keep reasons in a column of their own", ReasonsKept.COLUMN),
        ("Leave reasons out", ReasonsKept.DROPPED),
    ]
    if by_codes:
        others.append(("Read the codes as values", ReasonsKept.VALUES))
    return tuple(
        Way(title, replace(options, keep_user_missing=False, missing_reasons=kept))
        for title, kept in others
        if kept is not done
    )


def _told(name: str, known: MissingReasons) -> Sentence:
    """Say how often each reason stands in a column: only what the file's dictionary declares."""
    single = {low for low, high in known.ranges if low == high}
    shown: dict[str, int] = {}
    unnamed = 0
    for reason, count in known.counts.items():
        code = known.codes[reason]
        if code in known.labels or code in single or known.by_letters:
            shown[reason] = count
        else:
            unnamed += count
    parts = [
        Sentence("{reason}: {count}", reason=reason, count=count)
        for reason, count in list(shown.items())[:_NAMED]
    ]
    if rest := sum(list(shown.values())[_NAMED:]):
        parts.append(Sentence("others: {count}", count=rest))
    if unnamed:
        parts.append(Sentence("without a label: {count}", count=unnamed))
    return Sentence("{column} ({reasons})", column=name, reasons=listed(parts))


_LETTERS: Final = tuple(string.ascii_lowercase)


@dataclass(frozen=True)
class Rejoined:
    """A column whose missing values have their codes again.

    Parameters
    ----------
    series
        Its values.
    labels
        The labels of codes that mean missing.
    declared
        What the library is told to be missing: ranges, or letters.
    """

    series: pd.Series
    labels: dict[Any, str]
    declared: list[Any]


def rejoined(table: Table, name: str, series: pd.Series, by_letters: bool) -> Rejoined | None:
    """Return a column of numbers with the codes of its missing values, as its file had them.

    A value is given its code where it is missing in the table that leaves, so the file tells by it
    nothing that the two columns don't. None where the table does not say why, where the program has
    other codes, or where a number that is no code would be taken for one.

    Parameters
    ----------
    table
        What is written.
    name
        The column.
    series
        Its values, as they are written.
    by_letters
        Whether the program's codes are letters.
    """
    known = table.missing_reasons.get(name)
    if known is None or known.companion not in table.columns:
        return None
    reasons = table.frame[known.companion].tolist()
    codes: Mapping[str, Any] = known.codes
    if by_letters:
        # Which codes only rows have that don't leave is not to be told by the letters of others.
        here = {r for r, code in codes.items() if code in known.labels} | {*reasons}
        many = len(here & codes.keys()) > len(_LETTERS)
        if many or not pd.api.types.is_numeric_dtype(series.dtype):
            return None
        codes = _in_letters(known, here)
    elif known.by_letters or not _same_kind(series, codes):
        return None
    missing = series.isna().to_numpy()
    values = series.tolist()
    present = {value for value, gone in zip(values, missing, strict=True) if not gone}
    if not by_letters and any(within(value, known.ranges) for value in present):
        return None
    joined = [
        codes.get(reason) if gone else value
        for value, reason, gone in zip(values, reasons, missing, strict=True)
    ]
    labels = {codes[r]: known.labels[c] for r, c in known.codes.items() if c in known.labels}
    if by_letters:
        occurring = set(joined)
        used = sorted(letter for letter in codes.values() if letter in occurring)
        return Rejoined(pd.Series(joined, dtype=object), labels, used) if used else None
    texts = isinstance(next(iter(codes.values())), str)
    found = pd.Series(joined, dtype=object if texts else np.float64)
    ranges = [{"lo": low, "hi": high} for low, high in known.ranges]
    return Rejoined(found, labels, ranges)


def _same_kind(series: pd.Series, codes: Mapping[str, Any]) -> bool:
    texts = not pd.api.types.is_numeric_dtype(series.dtype)
    return bool(codes) and all(isinstance(code, str) == texts for code in codes.values())


def _in_letters(known: MissingReasons, among: Collection[str]) -> dict[str, str]:
    """Return a letter for each of some reasons: its own, or a free one in the order of codes."""
    codes = {reason: code for reason, code in known.codes.items() if reason in among}
    own = {
        reason: code[1:].lower()
        for reason, code in codes.items()
        if known.by_letters and isinstance(code, str) and code[1:].lower() in _LETTERS
    }
    free = iter([letter for letter in _LETTERS if letter not in own.values()])
    rest = sorted((r for r in codes if r not in own), key=lambda r: str(codes[r]))
    return {**own, **{reason: next(free) for reason in rest}}
