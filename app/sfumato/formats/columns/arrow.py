"""Columns that come as typed Arrow values, and columns of a table as such values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.formats.columns.buffers import Column, MaskedBuffer, TextBuffer, unmasked
from sfumato.formats.errors import UnsupportedColumn, WrongEncoding

Chosen = slice | npt.NDArray[np.int64]
"""Some rows of a column."""

_TEXTS: Final = frozenset({"string", "empty"})


def chosen(series: pd.Series, rows: Chosen) -> pd.Series:
    """Return some rows of a column."""
    return series.iloc[rows] if isinstance(rows, slice) else series.take(rows)


class ArrowColumn:
    """A column of a table, to be written.

    Parameters
    ----------
    name, series
        The column.

    Raises
    ------
    UnsupportedColumn
        If it holds something that is neither number, text, date nor yes/no.
    """

    def __init__(self, name: str, series: pd.Series) -> None:
        self.name = name
        self.series = series
        self.categories: pd.Index | None = None
        values: pd.Series | pd.Index = series
        if isinstance(series.dtype, pd.CategoricalDtype):
            self.categories = series.cat.categories
            values = self.categories
        self.type = _type_of(values, name)

    @property
    def values(self) -> pd.Series:
        """The column's values, or its distinct values where it is categorical."""
        return self.series if self.categories is None else pd.Series(self.categories)

    @property
    def has_missing(self) -> bool:
        """Whether a value is missing."""
        return bool(self.series.isna().any())

    def block(self, rows: Chosen) -> pa.Array:
        """Return some rows as an Arrow array of `type`; missing values are null."""
        if self.categories is None:
            return self._array(chosen(self.series, rows))
        codes: npt.NDArray[Any] = chosen(self.series, rows).cat.codes.to_numpy()
        distinct = self._array(pd.Series(self.categories))
        return distinct.take(pa.array(codes, mask=codes < 0))

    def _array(self, values: pd.Series) -> pa.Array:
        array = None
        # What the libraries raise may quote values, so it goes no further.
        with suppress(pa.ArrowException, UnicodeError, OverflowError, TypeError):
            found = pa.array(values, from_pandas=True)
            if isinstance(found, pa.ChunkedArray):
                found = found.combine_chunks()
            array = found.cast(self.type)
        if array is None:
            raise _unsupported(self.name)
        return array


def is_ordered(series: pd.Series) -> bool:
    """Whether a column holds categories in an order, which says more than that of their names."""
    return isinstance(series.dtype, pd.CategoricalDtype) and bool(series.cat.ordered)


def precision(values: pd.Series) -> str:
    """Return the unit that a column of moments needs; empty where none has a time of day."""
    known = values.dropna()
    if bool((known == known.dt.normalize()).all()):
        return ""
    for unit in ("s", "ms", "us"):
        if bool((known == known.dt.floor(unit)).all()):
            return unit
    return "ns"


def _type_of(values: pd.Series | pd.Index, name: str) -> pa.DataType:
    dtype = values.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return pa.bool_()
    if pd.api.types.is_unsigned_integer_dtype(dtype) and len(values):
        largest = values.max()
        return pa.uint64() if largest > np.iinfo(np.int64).max else pa.int64()
    if pd.api.types.is_integer_dtype(dtype):
        return pa.int64()
    if pd.api.types.is_float_dtype(dtype):
        return pa.float64()
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        return pa.timestamp("ns" if dtype == np.dtype("M8[ns]") else "us")
    if isinstance(dtype, pd.StringDtype) or pd.api.types.infer_dtype(values) in _TEXTS:
        return pa.string()
    raise _unsupported(name)


def _unsupported(name: str) -> UnsupportedColumn:
    return UnsupportedColumn(
        "Column {column} holds something that is neither number, text, date nor yes/no.",
        "Drop the column, or turn it into text in the source table.",
        column=name,
    )


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
    float64 holds become text too, so that nothing is altered. Categories keep their order, see
    `order_of`.

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
        self._target = target_of(name, source)
        self._expected = expected
        self._orders: dict[tuple[str, ...], None] = {}
        self._texts: TextBuffer | None = None
        self._numbers: MaskedBuffer | None = None
        if self._target == pa.string():
            self._texts = TextBuffer(expected)
        else:
            self._numbers = MaskedBuffer(self._target.to_pandas_dtype(), expected)
        self._keeps_order = pa.types.is_dictionary(source) and bool(source.ordered)

    def add(self, values: pa.Array) -> pa.Array:
        """Append an Arrow array of the type in the file; return it as the type it is read as."""
        if pa.types.is_dictionary(values.type):
            if self._keeps_order:
                self._orders[tuple(values.dictionary.cast(pa.string()).to_pylist())] = None
            values = values.dictionary_decode()
        plain = values.cast(self._target)
        if self._texts is not None:
            check_texts(self.name, plain)
            self._texts.add(plain)
            return plain
        assert self._numbers is not None
        self._numbers.add(*unmasked(plain))
        return plain

    def finish(self) -> Column:
        """Return the column."""
        if self._numbers is not None:
            return self._numbers.finish(None)
        assert self._texts is not None
        texts = self._texts.finish(None)
        order = order_of(self._orders)
        return texts if order is None else in_stated_order(pd.Series(texts), order)


def order_of(dictionaries: Collection[tuple[str, ...]]) -> tuple[str, ...] | None:
    """Return the order of a column's categories, whose rows came with several lists of these.

    It is the longest list, where all others are parts of it in its order; None where they don't
    agree, or a list names a category twice: then the categories are texts.
    """
    longest = max(dictionaries, key=len, default=())
    places = {text: place for place, text in enumerate(longest)}
    if not longest or len(places) < len(longest) or None in places:
        return None
    for each in dictionaries:
        at = [places.get(text, -1) for text in each]
        if -1 in at or at != sorted(at):
            return None
    return longest


def in_stated_order(texts: pd.Series, order: Sequence[str]) -> pd.Categorical:
    """Return texts as categories in an order that names all of them."""
    dtype = pd.CategoricalDtype(pd.Index(list(order), dtype="str"), ordered=True)
    return pd.Categorical(texts, dtype=dtype)


def check_texts(name: str, texts: pa.Array) -> None:
    """Refuse bytes that are no texts, which some programs write as such.

    Raises
    ------
    WrongEncoding
        Naming the column.
    """
    broken = False
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        broken = True
    if broken:
        raise WrongEncoding(
            "Column {column} holds texts that are not in UTF-8, as the file says they are.",
            "Write the file again with its texts in UTF-8, or drop the column.",
            column=name,
        )


def target_of(name: str, source: pa.DataType) -> pa.DataType:
    """Return the Arrow type that a column of a file or a database is read as.

    Raises
    ------
    UnsupportedColumn
        If it holds lists, records, bytes or the like.
    """
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
