"""Dates of the years 1 to 9999, as ISO 8601, Python and most programs have them; durations."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_FIRST, _END = -719_162, 2_932_897
"""1 January of the year 1 and of the year 10000, in days since 1970."""
_PER_DAY: Final = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}
ROWS_TOLD: Final = 5
"""So many rows are named that have such dates."""


def may_be_outside(kind: pa.DataType) -> bool:
    """Whether a type is of dates that can lie outside the years 1 to 9999."""
    if pa.types.is_timestamp(kind):
        return kind.tz is None and kind.unit in _PER_DAY
    return bool(pa.types.is_date(kind))


def in_seconds(values: pa.Array) -> pa.Array:
    """Return durations as numbers of seconds, each the nearest to what was stored."""
    units = 1_000_000_000 if values.type.unit == "ns" else _PER_DAY[values.type.unit] // 86_400
    numbers = values.cast(pa.int64())
    # Whole seconds are exact by themselves, however many billionths they are.
    whole = pc.divide(numbers, units)
    rest = pc.subtract(numbers, pc.multiply(whole, units))
    rest = pc.divide(rest.cast(pa.float64()), float(units))
    return pc.add(whole.cast(pa.float64(), safe=False), rest)


def outside_years(values: pa.Array) -> pa.Array | None:
    """Return which dates lie outside the years 1 to 9999; None where none does."""
    kind = values.type
    if not may_be_outside(kind) or values.null_count == len(values):
        return None
    if pa.types.is_date32(kind):
        numbers, units = values.view(pa.int32()), 1
    else:
        unit = "ms" if pa.types.is_date64(kind) else kind.unit
        numbers, units = values.view(pa.int64()), _PER_DAY[unit]
    # Several times as fast as Arrow's own least and greatest.
    plain = (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy()
    if plain.min() >= _FIRST * units and plain.max() < _END * units:
        return None
    outside = pc.or_(pc.less(numbers, _FIRST * units), pc.greater_equal(numbers, _END * units))
    return pc.fill_null(outside, False)


def within_years(values: pa.Array) -> pa.Array:
    """Return dates, missing where they lie outside the years 1 to 9999; others as they are."""
    outside = outside_years(values)
    return values if outside is None else pc.if_else(outside, pa.scalar(None, values.type), values)
