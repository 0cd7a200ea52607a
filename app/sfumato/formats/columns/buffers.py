"""Columns that grow block by block without ever being held twice."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

Mask = npt.NDArray[np.bool_]

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

    def add_same(self, value: object, count: int) -> None:
        """Append one value several times."""
        self._reserve(self._length + count)
        self._values[self._length : self._length + count] = value
        self._length += count

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
            self._missing.add_same(False, before)
        if self._missing is not None:
            self._missing.add(np.zeros(len(values), np.bool_) if missing is None else missing)

    def add_missing(self, count: int) -> None:
        """Append missing values."""
        zeros = np.zeros(count, dtype=self.values.dtype)
        if count:
            self.add(zeros, np.ones(count, dtype=np.bool_))

    def finish(self, keep: Mask | None) -> pd.Series:
        """Return the column, of the rows in `keep` or of all rows.

        Whole numbers and yes/no values with missing ones become pandas' ``Int64`` and
        ``boolean``; decimals and dates have a missing value of their own.
        """
        missing = self._missing.finish() if self._missing is not None else None
        values = self.values.finish()
        if keep is not None:
            values = values[keep]
            missing = missing[keep] if missing is not None else None
        return series_of(values, missing)


def series_of(values: npt.NDArray[Any], missing: Mask | None) -> pd.Series:
    """Return values as a column in which some are missing."""
    if missing is None or not missing.any():
        return pd.Series(values, copy=False)
    if values.dtype.kind == "f":
        values[missing] = np.nan
    elif values.dtype.kind == "M":
        values[missing] = np.datetime64("NaT")
    elif values.dtype.kind == "b":
        return pd.Series(pd.arrays.BooleanArray(values, missing), copy=False)
    else:
        return pd.Series(pd.arrays.IntegerArray(values, missing), copy=False)
    return pd.Series(values, copy=False)
