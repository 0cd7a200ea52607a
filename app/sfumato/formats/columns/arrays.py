"""Columns as arrays: those that grow block by block without ever being held twice, and Arrow's.

Typed Arrow values become columns of a table, and columns of a table such values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Integers
from sfumato.formats.columns.exact import EXACT_DIGITS, is_inexact, with_same_digits
from sfumato.formats.columns.parsing import in_seconds, within_years
from sfumato.formats.errors import UnsupportedColumn, WrongEncoding, refused_at
from sfumato.formats.options import READING_VERSION

Mask = Flags
Column: TypeAlias = "npt.NDArray[Any] | pd.api.extensions.ExtensionArray"
"""A finished column: what a table's frame is made of."""

_GROWTH: Final = 1.5


class Buffer:
    """An array that grows at its end.

    Memory that is reserved and not yet filled is not taken from the system, so `expected` may
    be generous.

    Parameters
    ----------
    dtype
        The type of the values.
    expected
        How many values are likely to come.
    """

    def __init__(self, dtype: npt.DTypeLike, expected: int) -> None:
        self._values: npt.NDArray[Any] = np.empty(max(expected, 1), dtype=dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self._values.dtype

    @property
    def filled(self) -> npt.NDArray[Any]:
        """A view of the values so far."""
        return self._values[: self._length]

    def add(self, values: npt.NDArray[Any]) -> None:
        """Append values."""
        self._reserve(self._length + len(values))
        self._values[self._length : self._length + len(values)] = values
        self._length += len(values)

    def convert(self, dtype: npt.DTypeLike) -> None:
        """Change the type of the values, keeping the room reserved."""
        wider: npt.NDArray[Any] = np.empty(len(self._values), dtype=dtype)
        wider[: self._length] = self.filled
        self._values = wider

    def finish(self) -> npt.NDArray[Any]:
        """Return the values, giving back the room that was not needed."""
        values = self._values
        self._values = np.empty(0, dtype=values.dtype)
        values.resize(self._length, refcheck=False)
        return values

    def _reserve(self, needed: int) -> None:
        if needed > len(self._values):
            larger = np.empty(max(needed, int(len(self._values) * _GROWTH)), self._values.dtype)
            larger[: self._length] = self.filled
            self._values = larger


class MaskedBuffer:
    """A growing array, some of whose values are missing."""

    def __init__(self, dtype: npt.DTypeLike, expected: int) -> None:
        self.values = Buffer(dtype, expected)
        self._missing: Buffer | None = None
        self._expected = expected

    def __len__(self) -> int:
        return len(self.values)

    def add(self, values: npt.NDArray[Any], missing: Mask | None) -> None:
        """Append values; `missing` says which of them don't count, None that all do."""
        before = len(self.values)
        self.values.add(values)
        if missing is not None and self._missing is None:
            self._missing = Buffer(np.bool_, self._expected)
            self._missing.add(np.zeros(before, np.bool_))
        if self._missing is not None:
            self._missing.add(np.zeros(len(values), np.bool_) if missing is None else missing)

    def add_missing(self, count: int) -> None:
        """Append missing values."""
        zeros = np.zeros(count, dtype=self.values.dtype)
        if count:
            self.add(zeros, np.ones(count, dtype=np.bool_))

    def finish(self, keep: Mask | None) -> Column:
        """Return the column, of the rows in `keep` or of all rows.

        Whole numbers and yes/no values with missing ones become pandas' ``Int64`` and
        ``boolean``; decimals and dates have a missing value of their own.
        """
        missing = self._missing.finish() if self._missing is not None else None
        values = self.values.finish()
        if keep is not None:
            values = values[keep]
            missing = missing[keep] if missing is not None else None
        return column_of(values, missing)


def column_of(values: npt.NDArray[Any], missing: Mask | None) -> Column:
    """Return values as a column in which some are missing."""
    if missing is None or not missing.any():
        return values
    if values.dtype.kind == "f":
        values[missing] = np.nan
    elif values.dtype.kind == "M":
        values[missing] = np.datetime64("NaT")
    elif values.dtype.kind == "b":
        return pd.arrays.BooleanArray(values, missing)
    else:
        return pd.arrays.IntegerArray(values, missing)
    return values


def unmasked(values: pa.Array) -> tuple[npt.NDArray[Any], Mask | None]:
    """Return an Arrow array's values, and which of them are null; None where none is."""
    if not values.null_count:
        return values.to_numpy(zero_copy_only=False), None
    missing = values.is_null().to_numpy(zero_copy_only=False)
    filled = values.fill_null(pa.scalar(0).cast(values.type))
    return filled.to_numpy(zero_copy_only=False), missing


_FIRST_LOOK: Final = 100_000
"""Rows after which a column whose texts hardly repeat is no longer kept as categories."""
_MOST_CATEGORIES: Final = 2_000_000
_FEW_TEXTS: Final = 4_096
"""So few texts are hashed anew with each block that is looked up among them."""
_SHARED: Final = 8
"""A dictionary of texts is used as it is where each stands for so many rows."""
_PIECE: Final = 1 << 18

Codes = npt.NDArray[np.signedinteger[Any]]
"""Positions among the distinct texts, -1 where missing."""


class Categories:
    """Distinct texts, sorted by their characters; columns with the same ones share their type."""

    def __init__(self, texts: pa.Array) -> None:
        self.texts = texts

    @cached_property
    def dtype(self) -> pd.CategoricalDtype:
        """The type of a column that has all of these texts."""
        return pd.CategoricalDtype(pd.Index(text_array(pa.chunked_array([self.texts]))))


@dataclass(frozen=True)
class EncodedTexts:
    """A column's texts as positions among its categories, -1 where missing."""

    codes: Codes
    categories: Categories


def encoded_apart(texts: pa.Array, rows: int) -> Iterator[EncodedTexts]:
    """Yield columns of texts, which lie end to end, each encoded by itself.

    The library is called for all of them together: for short columns, its calls take longer
    than their work.
    """
    encoded = texts.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    distinct = encoded.dictionary.take(order)
    ranks = np.full(len(distinct) + 1, -1, dtype=np.int64)
    ranks[order.to_numpy()] = np.arange(len(distinct))
    codes = ranks[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    known: dict[bytes, Categories] = {}
    for column in codes.reshape(-1, rows):
        occurring, places = np.unique(column, return_inverse=True)
        missing = int(occurring[0] < 0)
        own = occurring[missing:]
        key = own.tobytes()
        if key not in known:
            known[key] = Categories(distinct.take(pa.array(own)))
        yield EncodedTexts(places - missing, known[key])


class Distinct:
    """Distinct values, each at the place at which it was met first.

    Parameters
    ----------
    kind
        Their type.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self.values: pa.Array = pa.array([], type=kind)

    def __len__(self) -> int:
        return len(self.values)

    def places_of(self, values: pa.Array) -> npt.NDArray[np.int32]:
        """Return where values stand, none missing or twice; those not met before are added."""
        known = pc.index_in(values, value_set=self.values).fill_null(-1)
        places: npt.NDArray[np.int32] = known.to_numpy(zero_copy_only=False).copy()
        new = places < 0
        if new.any():
            places[new] = np.arange(len(self.values), len(self.values) + int(new.sum()))
            self.values = pa.concat_arrays([self.values, values.filter(pa.array(new))])
        return places

    def codes_of_known(self, values: pa.Array) -> npt.NDArray[np.int32] | None:
        """Return what `codes_of` does where all values were met before; None otherwise.

        Each row is hashed once, and nothing else is made of it.
        """
        if values.type != self.values.type:
            return None
        found = pc.index_in(values, value_set=self.values)
        if found.null_count > values.null_count:
            return None
        codes: npt.NDArray[np.int32] = found.fill_null(-1).to_numpy(zero_copy_only=False)
        return codes

    def codes_of(self, values: pa.DictionaryArray) -> npt.NDArray[np.int32]:
        """Return where each row's value stands, -1 where it is missing."""
        places = np.append(self.places_of(values.dictionary), np.int32(-1))
        codes: npt.NDArray[np.int32] = places[
            values.indices.fill_null(len(places) - 1).to_numpy(zero_copy_only=False)
        ]
        return codes


class TextBuffer:
    """A column of text that grows block by block.

    Every distinct text is stored once, with a small code a row, until it turns out that the
    texts hardly repeat; then they are stored as they come.

    Parameters
    ----------
    expected
        How many rows are likely to come.
    """

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._distinct = Distinct(pa.string())
        self._categories: Categories | None = None
        self._codes = Buffer(np.int8, expected)
        self._plain: list[pa.Array] | None = None
        self._rows = 0
        self._settled = False
        """Whether its texts are few, and the last rows had none that was not met before."""

    def __len__(self) -> int:
        return self._rows

    def begin(self, encoded: EncodedTexts) -> None:
        """Take the first texts, encoded already."""
        self._rows = len(encoded.codes)
        self._categories = encoded.categories
        self._distinct.values = encoded.categories.texts
        self._widen()
        self._codes.add(encoded.codes)

    def add(self, texts: pa.Array) -> None:
        """Append an Arrow array of strings, or a dictionary of them; nulls are missing values."""
        self._rows += len(texts)
        if self._plain is not None:
            self._plain.append(texts.cast(pa.string()))
            return
        if self._settled and (known := self._distinct.codes_of_known(texts)) is not None:
            self._codes.add(known)
            return
        met = len(self._distinct)
        codes = self._distinct.codes_of(texts.dictionary_encode())
        self._settled = len(self._distinct) == met <= _FEW_TEXTS
        if len(self._distinct) > met:
            self._categories = None
        self._widen()
        self._codes.add(codes)
        many = len(self._distinct) > _MOST_CATEGORIES
        if many or (self._rows >= _FIRST_LOOK and len(self._distinct) * 2 > self._rows):
            self._plain = self._decoded(self._codes.finish())

    def add_missing(self, count: int) -> None:
        """Append missing values."""
        if count:
            self.add(pa.nulls(count, type=pa.string()))

    def finish(self, keep: Mask | None) -> Column:
        """Return the column, of the rows in `keep` or of all rows.

        Texts of which each stands in two rows or more on average become categories, sorted by
        their characters; others become pandas' text type.
        """
        if self._plain is not None:
            texts = pa.chunked_array(self._plain, type=pa.string())
            self._plain = None
            return text_array(texts if keep is None else texts.filter(pa.array(keep)))
        codes = self._codes.finish()
        if keep is not None:
            codes = codes[keep]
        occurring = np.flatnonzero(self._counts(codes))
        if not len(occurring) or len(occurring) * 2 > len(codes):
            return text_array(pa.chunked_array(self._decoded(codes), type=pa.string()))
        if self._categories is not None and len(occurring) == len(self._distinct):
            return pd.Categorical.from_codes(codes, dtype=self._categories.dtype)
        categories = self._distinct.values.take(pa.array(occurring))
        order = pc.sort_indices(categories).to_numpy()
        ranks = np.full(len(self._distinct) + 1, -1, dtype=codes.dtype)
        ranks[occurring[order]] = np.arange(len(order))
        dtype = Categories(categories.take(pa.array(order))).dtype
        for piece in _pieces(codes):
            piece[:] = np.take(ranks, piece)
        return pd.Categorical.from_codes(codes, dtype=dtype)

    def _counts(self, codes: Codes) -> Integers:
        """Return how often each distinct text occurs."""
        counts = np.zeros(len(self._distinct) + 1, dtype=np.int64)
        for piece in _pieces(codes):
            counts += np.bincount(piece.astype(np.int64) + 1, minlength=len(counts))
        return counts[1:]

    def _widen(self) -> None:
        """Give the codes a type that holds all of them."""
        for dtype in (np.int16, np.int32):
            limit = np.iinfo(self._codes.dtype).max
            if len(self._distinct) > limit:
                self._codes.convert(dtype)

    def _decoded(self, codes: Codes) -> list[pa.Array]:
        """Return the texts that codes stand for, in pieces small enough for one array each."""
        texts = self._distinct.values
        return [texts.take(pa.array(p, mask=p < 0)) for p in _pieces(codes)]


def _pieces(codes: Codes) -> Iterator[Codes]:
    """Yield views of codes: whatever is done to them takes little memory and time at once."""
    for start in range(0, len(codes), _PIECE):
        yield codes[start : start + _PIECE]


def text_array(texts: pa.ChunkedArray) -> pd.arrays.ArrowStringArray:
    """Return texts as a column of pandas' own text type, without a copy."""
    dtype = pd.StringDtype("pyarrow", na_value=np.nan)
    return pd.arrays.ArrowStringArray(texts, dtype=dtype)  # type: ignore[call-arg]


Chosen = slice | Integers
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


def _fits_decimal(source: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(source)) and source.precision <= EXACT_DIGITS


def _is_moment(source: pa.DataType) -> bool:
    """Whether a type is of moments without a time zone; with one, they are kept as texts."""
    return bool(pa.types.is_timestamp(source)) and source.tz is None


_TARGETS: Final[Sequence[tuple[Callable[[pa.DataType], bool], pa.DataType]]] = (
    (pa.types.is_boolean, pa.bool_()),
    (pa.types.is_uint64, pa.uint64()),
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_floating, pa.float64()),
    (_fits_decimal, pa.float64()),
    (pa.types.is_duration, pa.float64()),
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


def read_as(values: pa.Array, target: pa.DataType, version: int) -> pa.Array:
    """Return an array of a file or a database as the type that it is read as."""
    if version > 1 and target == pa.float64() and is_inexact(values.type):
        return with_same_digits(values)
    if pa.types.is_duration(values.type):
        return in_seconds(values)
    if target != pa.string():
        values = within_years(values)
    return values.cast(target)


class NativeColumn:
    """A column of Arrow values that grows block by block.

    Whole numbers become int64 (uint64 where they don't fit), decimals float64 that shows their
    digits, dates datetime64; texts and times of day become text. Decimal fractions with more
    digits than float64 holds become text too, so that nothing is altered. Categories keep their
    order, see `order_of`.

    Parameters
    ----------
    name
        The column's name.
    source
        The Arrow type in the file.
    expected
        How many rows will come.
    version
        The version of reading.
    target
        What the values are read as, where all rows tell; see `target_of`.

    Raises
    ------
    UnsupportedColumn
        If the values are lists, records, bytes or the like.
    """

    def __init__(
        self,
        name: str,
        source: pa.DataType,
        expected: int,
        version: int = READING_VERSION,
        target: pa.DataType | None = None,
    ) -> None:
        self.name = name
        self._version = version
        self._target = target or target_of(name, source)
        self._orders: dict[tuple[str, ...], None] = {}
        self._texts: TextBuffer | None = None
        self._numbers: MaskedBuffer | None = None
        if self._target == pa.string():
            self._texts = TextBuffer(expected)
        else:
            self._numbers = MaskedBuffer(self._target.to_pandas_dtype(), expected)
        self._keeps_order = pa.types.is_dictionary(source) and bool(source.ordered)

    def add(self, values: pa.Array) -> pa.Array:
        """Append an Arrow array of the type in the file; return it as the type it is read as.

        Texts may be a dictionary of them, which is returned as it is.
        """
        if pa.types.is_dictionary(values.type):
            if self._keeps_order:
                self._orders[tuple(values.dictionary.cast(pa.string()).to_pylist())] = None
            if self._texts is not None and _is_short(values):
                check_texts(self.name, values.dictionary)
                values.validate(full=True)  # no row points beyond it
                self._texts.add(values)
                return values
            values = values.dictionary_decode()
        plain = read_as(values, self._target, self._version)
        if self._texts is not None:
            check_texts(self.name, plain)
            self._texts.add(plain)
            return plain
        assert self._numbers is not None
        self._numbers.add(*unmasked(plain))
        return plain

    @property
    def loses_order(self) -> bool:
        """Whether its rows came as texts in an order, of which there is no common one."""
        return self._texts is not None and any(self._orders) and self._order is None

    @property
    def _order(self) -> tuple[str, ...] | None:
        return order_of(self._orders)

    def finish(self) -> Column:
        """Return the column."""
        if self._numbers is not None:
            return self._numbers.finish(None)
        assert self._texts is not None
        texts = self._texts.finish(None)
        order = self._order
        return texts if order is None else in_stated_order(pd.Series(texts), order)


def has_zone(kind: pa.DataType) -> bool:
    """Whether a type is of moments with a time zone."""
    return bool(pa.types.is_timestamp(kind)) and kind.tz is not None


def _is_short(values: pa.DictionaryArray) -> bool:
    """Whether rows share few texts, none of which stands twice, so that only these are hashed."""
    texts = values.dictionary
    if texts.type != pa.string() or texts.null_count or len(texts) * _SHARED > len(values):
        return False
    return len(texts.unique()) == len(texts)


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
    refusal = WrongEncoding(
        "Column {column} holds texts that are not in UTF-8, as the file says they are.",
        "Write the file again with its texts in UTF-8, or drop the column.",
        column=name,
    )
    with refused_at((pa.ArrowInvalid,), refusal):
        texts.validate(full=True)


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
