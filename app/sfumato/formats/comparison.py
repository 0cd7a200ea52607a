"""Columns compared value by value, whatever file they came from.

A released file may be CSV, Parquet, SPSS or Stata, so the same value can be a whole number
here and a decimal there, or a category here and text there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.values import Codes, Flags, Floats, Integers, canonical, factorize, plain

EXACT: Final = 2.0**53
"""Smaller whole numbers are exact as decimals."""
Rows = Flags
Positions = Integers

_MISSING: Final = -1
_UNKNOWN: Final = -2
_MISSING_KEY: Final = ("missing",)


def common_positions(expected: pd.Series, actual: pd.Series) -> tuple[Positions, Positions]:
    """Return both columns as positions in the list of `expected`'s distinct values.

    Missing is -1; a value that does not occur in `expected` is -2 or less, each its own.
    Equal positions mean equal values, also where the columns differ in length.
    """
    if is_number(expected) and is_number(actual):
        ours, theirs = _exact(expected), _exact(actual)
        if ours is not None and theirs is not None:
            return _positions_of_numbers(ours, theirs)
    left, left_values = factorize(expected)
    right, right_values = factorize(actual)
    known: dict[object, int] = {_MISSING_KEY: _MISSING}
    left_lookup = _lookup(left_values, known, grow=len)
    right_lookup = _lookup(right_values, known, grow=lambda found: _UNKNOWN - len(found))
    return left_lookup[left], right_lookup[right]


def _exact(column: pd.Series) -> Floats | None:
    """Return a column's numbers, NaN where missing; None where some may not be exact so."""
    if column.dtype.kind not in "iuf":
        return None
    numbers: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return None if (np.abs(numbers) >= EXACT).any() else numbers


def _positions_of_numbers(expected: Floats, actual: Floats) -> tuple[Positions, Positions]:
    codes, _ = pd.factorize(np.concatenate([expected, actual]))
    left, right = np.split(codes.astype(np.int64), [len(expected)])
    known = left.max(initial=_MISSING) + 1
    return left, np.where(right < known, right, _UNKNOWN - (right - known))


def codes_in(domain: Domain, column: pd.Series) -> Positions:
    """Return a column's codes in a domain; -2 or less where a value is not in it.

    Unlike `Domain.encode` it refuses nothing: a file that was altered is to be looked at.
    """
    known: dict[object, int] = {_key(value): code for code, value in enumerate(domain.values)}
    known.setdefault(_MISSING_KEY, _UNKNOWN)
    positions, values = factorize(column)
    codes: Positions = _lookup(values, known, grow=lambda found: _UNKNOWN - len(found))[positions]
    return codes


def decoded(domain: Domain, codes: Positions, name: str) -> pd.Series:
    """Return codes that are all in the domain as a column of its values."""
    exact: Codes = codes.astype(np.min_scalar_type(domain.size))
    return domain.decode(exact, name)


def is_number(column: pd.Series) -> bool:
    """Whether a column holds numbers, and neither categories nor yes/no values."""
    dtype = column.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def as_text(column: pd.Series) -> pd.Series:
    """Return a column as text, in which a whole number is the same as a decimal one."""
    values = column
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = pd.Series(column.cat.categories)
    texts = column.astype("string")
    # Whole numbers are decimals where some of them are missing.
    return texts.str.removesuffix(".0") if is_number(values) else texts.str.strip()


def _lookup(
    values: Iterable[object], known: dict[object, int], grow: Callable[[dict[object, int]], int]
) -> Positions:
    """Return each value's position, adding those not yet known; the last entry is missing."""
    found = [known.setdefault(_key(value), grow(known)) for value in values]
    return np.array([*found, known[_MISSING_KEY]], dtype=np.int64)


def _key(value: object) -> object:
    """Return what equal values share, whatever type a file gave them."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = value.isoformat()
    # No format but Parquet tells an empty text from a missing value.
    return _MISSING_KEY if value == "" else tuple(canonical(plain(value)))
