"""One column of a text file, gathered block by block while its type is found out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.formats.columns.buffers import Mask, MaskedBuffer
from sfumato.formats.columns.parsing import EXACT, Parsed, Positions, Rules, parse
from sfumato.formats.columns.shapes import trimmed
from sfumato.formats.columns.texts import TextBuffer
from sfumato.formats.options import ColumnType, ReadOptions

RARE: Final = 0.05
"""Below this share, values of another type are taken for mistakes rather than for a sign that
the column is text."""

_SAMPLE: Final = 5_000
_HOPELESS: Final = 1_000
_AGREE: Final = frozenset(
    {(kind, kind) for kind in ColumnType if kind != ColumnType.TEXT}
    | {(ColumnType.INTEGER, ColumnType.NUMBER)}
)
"""A column's type and that of its next values, where they can be taken as they are."""
_GUESSES: Final = (ColumnType.BOOLEAN, ColumnType.INTEGER, ColumnType.DATE)


@dataclass(frozen=True)
class Seen:
    """What the values of a column's block are beyond doubt.

    Parameters
    ----------
    kind
        Their type.
    parsed
        The values, of which none is bad; None for texts.
    mixed
        See `GatheredColumn`.
    """

    kind: ColumnType
    parsed: Parsed | None
    mixed: bool = False


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
    """

    def __init__(self, name: str, options: ReadOptions, expected: int) -> None:
        self.name = name
        self.fixed = name in options.column_types
        self.kind: ColumnType | None = options.column_types.get(name)
        self.given_up = False
        self.code_at = -1
        self.mixed = False
        self._rules = Rules.of(options, fixed=self.fixed)
        self._expected = expected
        self._rows = 0
        self._values = 0
        self._bad: list[Positions] = []
        self._texts: TextBuffer | None = None
        self._numbers: MaskedBuffer | None = None

    @property
    def is_open(self) -> bool:
        """Whether the type of the next values is still to be found out, or to be held against."""
        return not (self.fixed or self.given_up or self.kind == ColumnType.TEXT)

    def add(self, texts: pa.Array, seen: Seen | None = None) -> None:
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
            self.kind, parsed, self.mixed = seen.kind, seen.parsed, seen.mixed
        elif self.kind is None:
            self.kind, parsed = self._guess(texts)
        elif seen is not None and (self.kind, seen.kind) in _AGREE:
            parsed = seen.parsed
        if self.kind == ColumnType.TEXT:
            self._add_texts(texts, start)
        else:
            self._add_values(parsed or parse(texts, self.kind, self._rules), start)

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

    def finish(self, keep: Mask | None) -> pd.Series:
        """Return the column, of the rows in `keep` or of all rows; bad values are missing."""
        if self._numbers is not None:
            series = self._numbers.finish(keep)
        else:
            if self._texts is None:  # Nothing but missing values.
                self._texts = TextBuffer(self._rows)
                self._texts.add_missing(self._rows)
            series = self._texts.finish(keep)
        self._numbers = None
        self._texts = None
        series.name = self.name
        return series

    def _guess(self, texts: pa.Array) -> tuple[ColumnType, Parsed | None]:
        """Return the type of most of the first values, or text; and all, where all were parsed."""
        whole = len(texts) <= _SAMPLE
        sample = texts if whole else texts.drop_null()[:_SAMPLE]
        filled = len(sample) - sample.null_count
        if trimmed(sample).null_count == len(sample):  # Nothing but blanks says nothing.
            return ColumnType.TEXT, None
        most = filled
        for kind in _GUESSES:
            parsed = parse(sample, kind, self._rules)
            if parsed.code >= 0:
                return ColumnType.TEXT, None
            if len(parsed.bad) < RARE * filled:
                decimal = kind == ColumnType.INTEGER and pa.types.is_floating(parsed.values.type)
                if decimal:
                    return ColumnType.NUMBER, None
                return kind, parsed if whole else None
            most = min(most, len(parsed.bad))
        self.mixed = most < filled / 2
        return ColumnType.TEXT, None

    def _add_texts(self, texts: pa.Array, start: int) -> None:
        if self._texts is None:
            self._texts = TextBuffer(self._expected)
            self._texts.add_missing(start)
        self._texts.add(texts)

    def _add_values(self, parsed: Parsed, start: int) -> None:
        if parsed.code >= 0:
            self.code_at = start + parsed.code
            self.give_up()
            return
        if not self._widen(parsed):
            self.code_at = start
            self.give_up()
            return
        if len(parsed.bad):
            self._bad.append(parsed.bad + start)
        self._store(parsed, start)
        if not self.fixed and len(parsed.bad) > max(_HOPELESS, len(parsed.values) / 2):
            self.give_up()

    def _widen(self, parsed: Parsed) -> bool:
        """Make what was gathered fit the block; False where a whole number would be altered."""
        if self.kind == ColumnType.INTEGER and pa.types.is_floating(parsed.values.type):
            if self._numbers is not None:
                whole = self._numbers.values.filled
                if len(whole) and (whole.max() > EXACT or whole.min() < -EXACT):
                    return False
                self._numbers.values.convert(np.float64)
            self.kind = ColumnType.NUMBER
        return True

    def _store(self, parsed: Parsed, start: int) -> None:
        values = parsed.values
        missing = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
        if values.null_count:
            values = pc.fill_null(values, pa.scalar(0).cast(values.type))
        numbers = values.to_numpy(zero_copy_only=False)
        if self._numbers is None:
            self._numbers = MaskedBuffer(numbers.dtype, self._expected)
            self._numbers.add_missing(start)
        elif numbers.dtype.kind == "M" and numbers.dtype > self._numbers.values.dtype:
            self._numbers.values.convert(numbers.dtype)
        self._numbers.add(numbers, missing)
