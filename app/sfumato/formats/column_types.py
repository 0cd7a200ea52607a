"""Columns brought to the type that a schema states, whatever format they came from.

Statistical formats store whole numbers and yes/no values as decimals, and some can't tell an
empty text from a missing value; in a bundle both are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.descriptor import Field

_TRUE: Final = frozenset({"true", "1"})
_FALSE: Final = frozenset({"false", "0"})


def typed_column(column: pd.Series, field: Field) -> pd.Series:
    """Return a column with the type its field states.

    Parameters
    ----------
    column
        As a reader gave it, shape (n,).
    field
        The column's description.

    Returns
    -------
    pandas.Series
        Whole numbers, ``boolean`` for yes/no values, ``float64`` for numbers, ``datetime64``
        for dates and times of day on a date, text or categories otherwise.

    Raises
    ------
    BundleError
        If a value does not have that type; names the column and the first such row.
    """
    cleaned = _without_empty_texts(column)
    convert = _CONVERTERS.get(field.type)
    if convert is None:
        if _is_number(_distinct(cleaned)) and not bool(cleaned.isna().all()):
            raise _wrong_type(field, int(cleaned.notna().to_numpy().argmax()))
        return cleaned
    converted = convert(_plain_text(cleaned))
    failed = converted.isna().to_numpy() & ~cleaned.isna().to_numpy()
    if failed.any():
        raise _wrong_type(field, int(failed.argmax()))
    return converted


def _without_empty_texts(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.CategoricalDtype):
        empty = [value for value in column.cat.categories if value == ""]
        return column.cat.remove_categories(empty) if empty else column
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column
    empty_rows = (column == "").fillna(False).to_numpy(dtype=bool)
    return column.mask(empty_rows) if empty_rows.any() else column


def _distinct(column: pd.Series) -> pd.Series:
    """Return a categorical column's categories, any other column as it is."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Series(column.cat.categories)
    return column


def _plain_text(column: pd.Series) -> pd.Series:
    """Return a categorical column as its values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype)
    return column


def _number(column: pd.Series) -> pd.Series:
    numbers = _as_numbers(column)
    return pd.Series(
        numbers.to_numpy(dtype=np.float64, na_value=np.nan), name=column.name, index=column.index
    )


def _integer(column: pd.Series) -> pd.Series:
    numbers = _as_numbers(column)
    if pd.api.types.is_integer_dtype(numbers.dtype):
        return numbers
    exact: npt.NDArray[np.float64] = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    whole = np.isfinite(exact) & (np.floor(exact) == exact) & (np.abs(exact) < 2.0**63)
    values = np.where(whole, exact, 0).astype(np.int64)
    return pd.Series(pd.arrays.IntegerArray(values, ~whole), name=column.name, index=column.index)


def _as_numbers(column: pd.Series) -> pd.Series:
    """Return texts as numbers, missing where they are none; large whole numbers stay exact."""
    if _is_number(column):
        return column
    known = pd.to_numeric(column.dropna(), errors="coerce")
    if len(known) < len(column) and pd.api.types.is_integer_dtype(known.dtype):
        known = known.astype(
            "UInt64" if pd.api.types.is_unsigned_integer_dtype(known.dtype) else "Int64"
        )
    return known.reindex(column.index)


def _boolean(column: pd.Series) -> pd.Series:
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype("boolean")
    texts = column.map(_boolean_of, na_action="ignore")
    return texts.astype("boolean")


def _boolean_of(value: object) -> bool | None:
    text = f"{value:g}" if isinstance(value, int | float) else str(value).lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _moment(column: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column
    try:
        return pd.to_datetime(column, errors="coerce", format="ISO8601")
    except ValueError:  # Moments with and without a time zone, or of several.
        return pd.Series(pd.NaT, index=column.index, name=column.name)


def _is_number(column: pd.Series) -> bool:
    dtype = column.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


_CONVERTERS: Final[Mapping[str, Callable[[pd.Series], pd.Series]]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _moment,
    "datetime": _moment,
}


def _wrong_type(field: Field, position: int) -> BundleError:
    return BundleError(
        "Column {column} should hold values of the type {type}, but row {row} does not.",
        "Ask for the bundle again.",
        column=field.name,
        type=field.type,
        row=position + 1,
    )
