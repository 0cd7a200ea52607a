"""Single values of a table and of a domain: their types, their text, their codes."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.wording import formatted

Value = str | int | float | bool | None
"""One value of a domain. ``None`` is a missing value, where missing is a value of its own."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

Codes = npt.NDArray[np.unsignedinteger]
"""Positions in a domain, in the smallest unsigned type that holds them."""

_Number = TypeVar("_Number", np.int64, np.float64)

_BLOCK = 1 << 20
"""Rows that are counted at once."""


def smallest_unsigned(size: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned type that holds the codes ``0 .. size - 1``."""
    return np.min_scalar_type(max(size - 1, 0))


def count_codes(codes: Codes, size: int) -> npt.NDArray[np.int64]:
    """Return how often each code occurs, shape (size,), block by block to spare memory."""
    counts = np.zeros(size, dtype=np.int64)
    for start in range(0, len(codes), _BLOCK):
        counts += np.bincount(codes[start : start + _BLOCK], minlength=size)
    return counts


def check_types(values: Sequence[Value]) -> None:
    """Refuse a domain whose values can't stand in one column of a file."""
    first: dict[str, int] = {}
    for position, value in enumerate(values):
        if isinstance(value, float) and not math.isfinite(value):
            raise DomainError(
                "Entry {entry} of the domain is not a finite number.",
                "Remove it; a missing value is added as missing.",
                entry=position + 1,
            )
        if value is not None:
            first.setdefault(type_of(value), position)
    if len(first) > 1:
        (one, at), (other, other_at) = list(first.items())[:2]
        raise DomainError(
            "The domain mixes values of two types: entry {first} is a {one}, entry {second} a"
            " {other}.",
            "Make the column text, or give all its values one type in the source table.",
            first=at + 1,
            one=one,
            second=other_at + 1,
            other=other,
        )


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a plain value is a number; yes and no are none, though Python counts them."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def type_of(value: Value) -> str:
    """Return the name of a value's type; whole and decimal numbers share one."""
    if isinstance(value, bool):
        return "yes/no value"
    return "number" if isinstance(value, int | float) else "text"


def canonical(value: Value) -> list[object]:
    """Return a value with its type as JSON; a whole number the same however it is stored."""
    if value is None:
        return ["missing"]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return [type_of(value), value]


def factorize(
    column: pd.Series,
) -> tuple[npt.NDArray[np.integer], pd.Index]:
    """Return each row's position in a list of distinct values (-1 where missing), and the list.

    One hash lookup a row at most; none for a categorical column.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories
    # The array of a type of pandas' own knows how, without the checks before it.
    if isinstance(column.dtype, pd.api.extensions.ExtensionDtype):
        positions, uniques = column.array.factorize(use_na_sentinel=True)
    else:
        positions, uniques = pd.factorize(column, use_na_sentinel=True)
    return positions, pd.Index(uniques)


def distinct(
    numbers: npt.NDArray[np.integer],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Return the distinct numbers in order, and each one's place among them.

    As `numpy.unique` does, by hashing instead of sorting: quicker where there are many numbers and
    few of them distinct. No other thread of Python waits for it, the window's least of all;
    numpy's running sum over booleans holds them for 0.1 s with five million numbers.
    """
    places, found = pd.factorize(np.asarray(numbers, dtype=np.int64), sort=True)
    return found, places


def distinct_columns(numbers: npt.NDArray[_Number]) -> tuple[npt.NDArray[_Number], Integers]:
    """Return the distinct columns of numbers, shape (k, n), in order, and how often each occurs.

    As `numpy.unique`, which sorts them as records: for that, all other threads of Python wait.
    """
    frame = pd.DataFrame(numbers.T)
    counts = frame.groupby(list(frame.columns), sort=True).size()
    found: npt.NDArray[_Number] = counts.index.to_frame().to_numpy(numbers.dtype).T
    return found, counts.to_numpy().astype(np.int64)


def plain(value: object) -> Value:
    """Return a numpy scalar as the Python value it holds; a date as its ISO text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, dt.datetime) and value.time() == dt.time() and value.tzinfo is None:
        return value.date().isoformat()
    return str(value)


def sort_key(value: Value) -> tuple[float, str]:
    """Return what values of one type are ordered by: their size, or their text."""
    if isinstance(value, int | float):
        return (float(value), "")
    return (0.0, str(value))


def number_text(number: float) -> str:
    """Return a number with as many digits as tell it apart, and no rounding dust."""
    return f"{number:.15g}"


def rounded_down(number: float) -> str:
    """Return a number from 0 on, rounded down to three digits, so that "at least" stays true."""
    if number <= 0.0:
        return "0"
    digits = 2 - math.floor(math.log10(number))
    if digits <= 0:
        scale = 10.0**-digits
        return formatted(math.floor(number / scale + 1e-9) * scale, ",.0f")
    if digits > 12:
        return formatted(number, ".2e")
    return formatted(math.floor(number * 10.0**digits + 1e-9) / 10.0**digits, f",.{digits}f")
