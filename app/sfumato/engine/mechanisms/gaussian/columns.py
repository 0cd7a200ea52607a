"""Numeric columns as the mechanism is given them, and as it returns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import LadderError
from sfumato.engine.mechanisms.base import Adopted
from sfumato.engine.mechanisms.gaussian.release import Noisy
from sfumato.engine.table.table import EncodedColumn

Floats = npt.NDArray[np.float64]

_LARGEST_WHOLE: Final = 2.0**53


def values_of(columns: Sequence[EncodedColumn]) -> Floats:
    """Return the true values, shape (N, n)."""
    return np.array([column.values for column in columns], dtype=np.float64)


def noisy_of(adopted: Adopted, columns: Sequence[EncodedColumn]) -> Noisy:
    """Return an adopted release's numbers.

    Raises
    ------
    LadderError
        If it does not fit the table: other attributes, rows or missing numbers.
    """
    numbers = []
    for column in columns:
        name = column.attribute.name
        found = adopted.values.get(name)
        if found is None or np.shape(found) != np.shape(column.values):
            raise LadderError(
                "The adopted release at σ² = {level:g} has no column {column}, or not as many rows"
                " as the table.",
                "Adopt a release of this table with all attributes of the entry.",
                level=adopted.level,
                column=name,
            )
        shown = np.asarray(found, dtype=np.float64)
        differing = np.isfinite(shown) == np.isnan(column.values)
        if differing.any():
            raise LadderError(
                "The adopted release at σ² = {level:g} is missing numbers of {column} where the"
                " table has them, or the other way round, in {count} rows, first in row {row}.",
                "Adopt a release of this table as it is now.",
                level=adopted.level,
                column=name,
                count=int(differing.sum()),
                row=int(differing.argmax()) + 1,
            )
        numbers.append(shown)
    return Noisy(adopted.level, np.array(numbers))


def series_of(columns: Sequence[EncodedColumn], numbers: Floats) -> dict[str, pd.Series]:
    """Return released numbers, shape (N, n), as columns by name."""
    return {
        column.attribute.name: _as_series(column.attribute.name, released)
        for column, released in zip(columns, numbers, strict=True)
    }


def _as_series(name: str, numbers: Floats) -> pd.Series:
    """Return a released column, as whole numbers where all of them are."""
    present = numbers[~np.isnan(numbers)]
    whole = (present == np.rint(present)) & (np.abs(present) < _LARGEST_WHOLE)
    if not whole.all():
        return pd.Series(numbers, name=name)
    return pd.Series(numbers, name=name).astype(
        np.int64 if len(present) == len(numbers) else pd.Int64Dtype()
    )
