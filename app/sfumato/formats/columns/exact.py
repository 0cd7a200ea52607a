"""Numbers of 64 bits that show what a file shows: the same digits, and one zero."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.values import Floats, Integers
from sfumato.formats.columns.parsing import NO_POSITIONS, longest_of
from sfumato.formats.notes import Note

EXACT_DIGITS: Final = 15
"""A number of 64 bits gives back any decimal number of so many digits."""
_SINGLE_DIGITS: Final = 6
"""A number of 32 bits gives back any decimal number of so many digits."""
_POWERS: Final = (1e2, 1e4)
_WHOLE: Final = 2.0**53
"""Up to here, a whole number is shown with all its digits."""
_SMALLEST: Final = 1e-200
"""No measure is smaller; 18 digits of a whole number are, taken for a decimal."""


def is_inexact(source: pa.DataType) -> bool:
    """Whether Arrow's own cast to 64 bits would show other digits than values of a type do."""
    return bool(
        pa.types.is_decimal(source) or pa.types.is_float32(source) or pa.types.is_float16(source)
    )


def with_same_digits(values: pa.Array) -> pa.Array:
    """Return decimal numbers as float64, each the one that is nearest to the digits shown.

    The digits of a number of 32 or 16 bits are the fewest that tell it from its neighbours: 0.8
    is 0.8, and not 0.800000011920929. Arrow's own cast of decimal numbers rounds twice.

    Parameters
    ----------
    values
        Of a type for which `is_inexact` is true, shape (n,).
    """
    kind = values.type
    if pa.types.is_float16(kind):
        texts = np.asarray(values.fill_null(np.float16(0))).astype(np.str_)
        return pa.array(texts, mask=np.asarray(values.is_null())).cast(pa.float64())
    if pa.types.is_float32(kind):
        return _of_singles(values)
    if pa.types.is_decimal128(kind) and kind.precision <= EXACT_DIGITS and 0 <= kind.scale <= 22:
        # Whole numbers and powers of ten up to here are exact, so their quotient is the nearest.
        whole = values.view(pa.decimal128(kind.precision, 0)).cast(pa.int64())
        return pc.divide(whole.cast(pa.float64()), 10.0**kind.scale)
    return values.cast(pa.string()).cast(pa.float64())


def _of_singles(values: pa.Array) -> pa.Array:
    """Return numbers of 32 bits; those of few digits are found without making texts of them."""
    singles = values.fill_null(np.float32(0)).to_numpy(zero_copy_only=False)
    numbers = singles.astype(np.float64)
    shortened = (numbers != np.floor(numbers)) | (np.abs(numbers) > _WHOLE)
    left = np.flatnonzero(shortened & np.isfinite(numbers))
    for power in _POWERS:
        whole = np.rint(numbers[left] * power)
        found = whole / power
        same = (found.astype(np.float32) == singles[left]) & (np.abs(whole) < 10**_SINGLE_DIGITS)
        numbers[left[same]] = found[same]
        left = left[~same]
    if len(left):
        texts = pa.array(singles[left]).cast(pa.string())
        numbers[left] = texts.cast(pa.float64()).to_numpy()
    return pa.array(numbers, mask=np.asarray(values.is_null()) if values.null_count else None)


def first_altered(texts: pa.Array) -> int:
    """Return the first position of a decimal number that 64 bits would not give back; -1 if none.

    Parameters
    ----------
    texts
        Decimal numbers as texts, shape (n,).
    """
    long = np.flatnonzero(pc.greater(pc.binary_length(texts), EXACT_DIGITS).fill_null(False))
    stated = texts.take(pa.array(long))
    shown = stated.cast(pa.float64()).cast(pa.string())
    shortened = pc.utf8_rtrim(pc.utf8_rtrim(stated, "0"), ".")
    for place in np.flatnonzero(pc.not_equal(shortened, shown)):
        if Decimal(stated[place].as_py()) != Decimal(shown[place].as_py()):
            return int(long[place])
    return -1


_MOST_DIGITS: Final = 17
"""No more digits are needed to tell a number of 64 bits from all others."""
_FRACTION: Final = r"^\s*[+-]?[0-9]*[.,][0-9]+([eE][+-]?[0-9]+)?\s*$"


def with_more_digits(texts: pa.Array) -> Integers:
    """Return the positions of decimal fractions with more digits than 64 bits hold.

    Parameters
    ----------
    texts
        Numbers as texts, shape (n,).
    """
    if longest_of(texts) <= _MOST_DIGITS + 1:
        return NO_POSITIONS
    long = pc.greater(pc.binary_length(texts), _MOST_DIGITS + 1).fill_null(False)
    places: Integers = np.flatnonzero(long)
    stated = texts.take(pa.array(places))
    digits = pc.replace_substring_regex(stated, r"[eE].*$|[^0-9]", "")
    digits = pc.utf8_trim(digits, "0")
    more = pc.and_(
        pc.match_substring_regex(stated, _FRACTION),
        pc.greater(pc.binary_length(digits), _MOST_DIGITS),
    )
    found: Integers = places[np.asarray(more)]
    return found


def with_one_zero(values: pa.Array) -> pa.Array:
    """Return decimal numbers in which 0 has no sign; other values as they are.

    What is counted as one value must be one value wherever it is written.
    """
    if values.type != pa.float64() or not len(values):
        return values
    end = values.offset + len(values)
    bits = np.frombuffer(values.buffers()[1], dtype=np.int64, count=end)[values.offset :]
    # As whole numbers of the same bits, 0 with a sign is the least of all.
    return pc.add(values, 0.0) if bits.min() == np.iinfo(np.int64).min else values


def batch_with_one_zero(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with one zero in each column; see `with_one_zero`."""
    if pa.float64() not in batch.schema.types:
        return batch
    return pa.record_batch(list(map(with_one_zero, batch.columns)), schema=batch.schema)


def frame_with_one_zero(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table's columns with one zero in each; see `with_one_zero`."""
    signed = {
        name: column + 0.0
        for name, column in frame.items()
        if column.dtype == np.float64 and _has_signed_zero(column.to_numpy())
    }
    if not signed:
        return frame
    return pd.DataFrame({name: signed.get(name, frame[name]) for name in frame}, copy=False)


def _has_signed_zero(numbers: Floats) -> bool:
    return bool(np.signbit(numbers[numbers == 0.0]).any())


def misread_note(column: str, numbers: Floats) -> Note | None:
    """Return a caution where all numbers of a column are whole ones, misread; else None.

    R's integer64 keeps whole numbers of 64 bits where decimal ones stand, and programs that don't
    know of it write them so: an identifier of 16 digits is about 1e-307 then.
    """
    largest = float(np.fmax.reduce(np.abs(numbers), initial=0.0))
    if not 0 < largest < _SMALLEST:
        return None
    return Note(
        "All numbers of {column} are far smaller than anything that is measured. They seem to be"
        " whole numbers of 64 bits that another program wrote as decimals, as happens to integer64"
        " in R. Write the column as text there, and open the file again.",
        {"column": column},
        caution=True,
        columns=(column,),
    )
