"""Columns that come as typed values rather than as texts, gathered block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.formats.columns.buffers import MaskedBuffer
from sfumato.formats.columns.texts import TextBuffer
from sfumato.formats.errors import UnsupportedColumn, WrongEncoding

_EXACT_DIGITS: Final = 15
"""A decimal number of 64 bits gives back any number of so many digits."""


def _fits_decimal(source: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(source)) and source.precision <= _EXACT_DIGITS


def _is_moment(source: pa.DataType) -> bool:
    """Whether a type is of moments without a time zone; with one, they are kept as texts."""
    return bool(pa.types.is_timestamp(source)) and source.tz is None


_TARGETS: Final[Sequence[tuple[Callable[[pa.DataType], bool], pa.DataType]]] = (
    (pa.types.is_boolean, pa.bool_()),
    (pa.types.is_uint64, pa.uint64()),
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_floating, pa.float64()),
    (_fits_decimal, pa.float64()),
    (pa.types.is_date, pa.timestamp("us")),
    (lambda source: _is_moment(source) and source.unit == "ns", pa.timestamp("ns")),
    (_is_moment, pa.timestamp("us")),
    *(
        (kind, pa.string())
        for kind in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_null,
            pa.types.is_decimal,
            pa.types.is_time,
            pa.types.is_timestamp,
        )
    ),
)
"""What each Arrow type is read as, by the first that it belongs to."""


class NativeColumn:
    """A column of Arrow values that grows block by block.

    Whole numbers become int64 (uint64 where they don't fit), decimals float64, dates
    datetime64; texts and times of day become text. Decimal fractions with more digits than
    float64 holds become text too, so that nothing is altered.

    Parameters
    ----------
    name
        The column's name.
    source
        The Arrow type in the file.
    expected
        How many rows will come.

    Raises
    ------
    UnsupportedColumn
        If the values are lists, records, bytes or the like.
    """

    def __init__(self, name: str, source: pa.DataType, expected: int) -> None:
        self.name = name
        self._target = _target(name, source)
        self._expected = expected
        self._ordered: pa.DictionaryArray | None = None
        self._texts: TextBuffer | None = None
        self._numbers: MaskedBuffer | None = None
        if self._target == pa.string():
            self._texts = TextBuffer(expected)
        else:
            self._numbers = MaskedBuffer(self._target.to_pandas_dtype(), expected)
        self._keeps_order = pa.types.is_dictionary(source) and bool(source.ordered)

    def add(self, values: pa.Array) -> None:
        """Append an Arrow array of the type in the file."""
        if pa.types.is_dictionary(values.type):
            if self._keeps_order and self._ordered is None:
                self._ordered = values.dictionary
            values = values.dictionary_decode()
        plain = values.cast(self._target)
        if self._texts is not None:
            self._check_texts(plain)
            self._texts.add(plain)
            return
        assert self._numbers is not None
        missing = plain.is_null(nan_is_null=True)
        some = bool(pc.any(missing).as_py())
        numbers = plain.fill_null(pa.scalar(0).cast(self._target)) if plain.null_count else plain
        self._numbers.add(
            numbers.to_numpy(zero_copy_only=False),
            missing.to_numpy(zero_copy_only=False) if some else None,
        )

    def _check_texts(self, texts: pa.Array) -> None:
        """Refuse bytes that are no texts, which some programs write as such."""
        broken = False
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid:
            broken = True
        if broken:
            raise WrongEncoding(
                "Column {column} holds texts that are not in UTF-8, as the file says they are.",
                "Write the file again with its texts in UTF-8, or drop the column.",
                column=self.name,
            )

    def finish(self) -> pd.Series:
        """Return the column."""
        if self._numbers is not None:
            return self._numbers.finish(None).rename(self.name)
        assert self._texts is not None
        series = self._texts.finish(None).rename(self.name)
        if self._ordered is not None:
            categories = pd.Index(self._ordered.cast(pa.string()).to_pylist(), dtype="str")
            series = series.astype(pd.CategoricalDtype(categories, ordered=True))
        return series


def _target(name: str, source: pa.DataType) -> pa.DataType:
    """Return the Arrow type that a column of the file is read as."""
    if pa.types.is_dictionary(source):
        source = source.value_type
    for belongs, target in _TARGETS:
        if belongs(source):
            return target
    raise UnsupportedColumn(
        "Column {column} holds values of the type {type}, which a table can't be released with.",
        "Drop the column, or turn it into text or numbers in the source file.",
        column=name,
        type=str(source),
    )
