"""Numeric attributes to test with, and releases of them."""

from __future__ import annotations

import numpy as np

from sfumato.engine.core.columns import Kind
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Released, ReleaseRequest
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.covariance import estimate_moments
from sfumato.engine.table.table import Attribute, EncodedColumn

KEYS = KeyRing(bytes(range(32)))
GAUSSIAN = mechanism_called("gaussian")


def number_columns(**columns) -> tuple[EncodedColumn, ...]:
    """Columns of numbers, by name."""
    arrays = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    return tuple(
        EncodedColumn(Attribute(name, Kind.NUMERIC, numbers=values), values)
        for name, values in arrays.items()
    )


def attributes_of(columns) -> tuple[Attribute, ...]:
    return tuple(column.attribute for column in columns)


def people(rows=4000, seed=5) -> tuple[EncodedColumn, ...]:
    """Ages and incomes that go together; every 50th income is missing."""
    draw = np.random.default_rng(seed)
    age = np.clip(draw.normal(40, 13, rows).round(), 17, 90)
    income = np.exp(draw.normal(3, 0.4, rows)) + 0.3 * age
    income[::50] = np.nan
    return number_columns(age=age, income=income)


def request(columns, settings, level, ids=None, keys=KEYS, adopted=()) -> ReleaseRequest:
    rows = len(columns[0].values)
    ids = np.arange(rows, dtype=np.uint64) if ids is None else np.asarray(ids, dtype=np.uint64)
    return ReleaseRequest(tuple(columns), settings, level, ids, keys, tuple(adopted))


def released(columns, settings, level, **changes) -> Released:
    columns_out = GAUSSIAN.release(request(columns, settings, level, **changes), Silent())
    return Released(level, columns_out)


def stated_settings(attributes, **changes) -> dict:
    """Settings whose covariance the custodian states: here the table's own, to the last digit."""
    covariance = estimate_moments(attributes).covariance.tolist()
    return {"noise": "proportional", "measured": "stated", "covariance": covariance, **changes}
