"""One 64-bit number for each record, the same where records agree on some columns.

It is the sum, over the columns, of a number that stands for the record's value; leaving a column
out is a subtraction. Nothing as long as the table is needed but the sum itself. Two groups of a
table with n groups share a number by accident with a probability below n²/2⁶⁵.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.values import Words, factorize

Marks = Words

_TILE: Final = 1 << 15
_STRETCH: Final = 1 << 18
_MISSING: Final = np.uint64(0x7FF8000000000000)
"""The bits of one of the many floats that are not a number."""


def marks_of(columns: Iterable[pd.Series], rows: int) -> Marks:
    """Return each record's mark by columns, shape (rows,); a column's name tells it apart.

    A missing value is a value like any other.
    """
    total = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        add_marks(total, column)
    return total


def add_marks(total: Marks, column: pd.Series) -> None:
    """Add a column's part to each record's mark; `ValueError` where the column has no name."""
    if column.name is None:
        raise ValueError("two columns without a name would count as one")
    seed = _seed(column.name)
    numbers = column.to_numpy() if isinstance(column.dtype, np.dtype) else None
    table = None
    if numbers is None or numbers.dtype.kind not in "biufmM":
        numbers, _ = factorize(column)
        # Codes are from −1, so the last number is that of missing values.
        codes = np.arange(-1, int(numbers.max(initial=-1)) + 1, dtype=np.int64)
        table = np.roll(_mark(codes.view(np.uint64), seed), -1)
    for start in range(0, len(total), _TILE):
        part = slice(start, start + _TILE)
        if table is None:
            total[part] += _mark(_bits_of(numbers[part]), seed)
        else:
            total[part] += table[numbers[part]]


def value_marks(column: pd.Series) -> tuple[Marks, npt.NDArray[np.integer] | None]:
    """Return marks of a column's values that are the same wherever a table is cut.

    Those of `add_marks` are cheaper, and hold for one table as it is in memory.

    Returns
    -------
    tuple
        The mark of each distinct value and at the end that of a missing one, with each row's place
        among them, −1 where missing; or the mark of each row, and None.
    """
    seed = _seed(column.name)
    numbers = column.to_numpy() if isinstance(column.dtype, np.dtype) else None
    if numbers is not None and numbers.dtype.kind in "biufmM":
        found = np.empty(len(numbers), dtype=np.uint64)
        for start in range(0, len(numbers), _TILE):
            part = slice(start, start + _TILE)
            found[part] = _mark(_bits_of(numbers[part]), seed)
        return found, None
    positions, uniques = factorize(column)
    values = uniques.to_numpy()
    bits = _bits_of(values) if values.dtype.kind in "biuf" else _hashed(values)
    return _mark(np.append(bits, _MISSING), seed), positions


def _hashed(values: npt.NDArray[np.generic]) -> Words:
    return pd.util.hash_array(values.astype(object), categorize=False)


def marks_of_numbers(name: Hashable, count: int) -> Marks:
    """Return the part in a record's mark of each of the numbers 0, 1, … that a column may hold."""
    return _mark(np.arange(count, dtype=np.uint64), _seed(name))


def mixed(numbers: Words) -> Words:
    """Return numbers whose bits depend on all bits of these ones (splitmix64)."""
    with np.errstate(over="ignore"):
        found = numbers + np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(30)
        found *= np.uint64(0xBF58476D1CE4E5B9)
        found ^= found >> np.uint64(27)
        found *= np.uint64(0x94D049BB133111EB)
        found ^= found >> np.uint64(31)
    return found


def class_counts(ordered: npt.NDArray[np.integer]) -> npt.NDArray[np.signedinteger]:
    """Return how often each mark, or another whole number, stands in a sorted list, in its order.

    It may be as long as the table, so it is of the smallest type that holds the list's length.
    """
    places = np.int32 if len(ordered) < 1 << 31 else np.int64
    if not len(ordered):
        return np.empty(0, places)
    ends = ordered[1:] != ordered[:-1]
    counts: npt.NDArray[np.signedinteger] = np.empty(np.count_nonzero(ends) + 1, places)
    done, last = 0, -1
    for start in range(0, len(ends), _STRETCH):
        found = np.flatnonzero(ends[start : start + _STRETCH])
        if len(found):
            found += start
            counts[done : done + len(found)] = np.diff(found, prepend=last)
            done, last = done + len(found), int(found[-1])
    counts[done] = len(ordered) - 1 - last
    return counts


@lru_cache(maxsize=1024, typed=True)
def _seed(name: Hashable) -> Words:
    """Return the number that tells a column apart."""
    names = np.array([name], dtype=object)
    return np.frombuffer(pd.util.hash_array(names).tobytes(), "<u8")


def _mark(bits: Words, seed: Words) -> Marks:
    with np.errstate(over="ignore"):
        return mixed(mixed(bits) + seed)


def _bits_of(numbers: npt.NDArray[np.generic]) -> Words:
    """Return numbers, moments or yes/no values as 64 bits, the same for equal ones."""
    if numbers.dtype.kind == "f":
        decimals = numbers.astype(np.float64) + 0.0  # so that -0 is 0
        bits = decimals.view(np.uint64)
        bits[np.isnan(decimals)] = _MISSING
        return bits
    if numbers.dtype.kind in "mM":
        return numbers.view(np.uint64)
    return numbers.astype(np.int64).view(np.uint64)
