"""Columns of a table as Arrow arrays, block by block."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.formats.errors import UnsupportedColumn

_TEXTS: Final = frozenset({"string", "empty"})


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

    def block(self, rows: slice) -> pa.Array:
        """Return some rows as an Arrow array of `type`; missing values are null."""
        if self.categories is None:
            return self._array(self.series.iloc[rows])
        codes: npt.NDArray[Any] = self.series.iloc[rows].cat.codes.to_numpy()
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
