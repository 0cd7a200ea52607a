"""Pseudonyms, units of protection, pooled rows and open columns, each beside a plain way."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.open_columns import estimate_numbers, estimate_values
from sfumato.engine.disclosure.open_features import UnperturbedColumn
from sfumato.engine.disclosure.pooled_rows import pooled_restoration
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import pseudonyms
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit
from tests.benchmarks.harness import Case
from tests.late import LateModule
from tests.project.whole_table import released_columns
from tests.samples.make_households import WATER, households

sklearn = LateModule("sklearn")

BASELINE = "as one writes it first"
KEYS = KeyRing(bytes(32))
SIMULATED = 100_000
"""Units of each size that the simulation draws: its standard error is 0.15 % at most."""


def cases(quick: bool) -> Iterator[Case]:
    """Return what is measured; with `quick`, fewer rows."""
    rows = 20_000 if quick else 1_000_000
    yield from _pseudonyms(rows)
    yield from _units(rows)
    yield from _pooled()
    yield from _open_columns(2_000 if quick else 30_000)


def _pseudonyms(rows: int) -> Iterator[Case]:
    key = KEYS.for_pseudonyms("person", "recipient Institute")
    for name, people in (("", rows), (", 10 rows each", rows // 10)):
        texts = [f"patient-{number:08d}" for number in range(people)] * (rows // people)
        column = pd.Series(texts, name="person", dtype="str")
        yield Case(
            f"pseudonyms, n={rows:,}{name}",
            partial(pseudonyms, column, key, Silent()),
            partial(_by_hmac, column),
            baseline_rounds=3,
            baseline_name="HMAC-SHA-256 in base32, value by value",
        )


def _by_hmac(column: pd.Series) -> pd.Series:
    key = bytes(32)
    return column.map(
        lambda text: base64.b32encode(hmac.digest(key, text.encode(), "sha256")[:16]).decode()
    )


def _units(rows: int) -> Iterator[Case]:
    """A release of households' members, drawn once for each household and by its K."""
    frame = households(round(rows / 4.2))
    table = Table(frame)
    by_rows = Document(
        columns=(
            ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec("household", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec("region", Role.QUASI_IDENTIFIER),
            ColumnSpec("sex", Role.QUASI_IDENTIFIER),
            ColumnSpec("water", Role.SENSITIVE, domain=Domain(WATER)),
            ColumnSpec("rent", Role.IDENTIFYING, Kind.NUMERIC),
            ColumnSpec("illness", Role.IDENTIFYING),
        ),
        record_key="person",
        policy=(PolicyEntry(("water",), "uniform"),),
        recipients=(Recipient("Institute", {"water": {"retention_probability": 0.3}}),),
    )
    for name, unit in (
        ("drawn once", Unit(("household",), 9, ("water",))),
        ("at most 4 rows", Unit(("household",), 4)),
    ):
        by_unit = replace(by_rows, unit=unit)
        (recipient,) = by_rows.recipients
        yield Case(
            f"release by unit, n={len(frame):,}, {name}",
            partial(released_columns, by_unit, table, recipient, KEYS, Silent()),
            partial(released_columns, by_rows, table, recipient, KEYS, Silent()),
            baseline_name="the same release row by row",
        )


def _pooled() -> Iterator[Case]:
    rng = np.random.default_rng(1)
    for size in (5, 50):
        matrix = uniform_matrix(0.3, size)
        by_size = {rows: rng.integers(1, 200, size).astype(np.int64) for rows in range(1, 10)}
        yield Case(
            f"pooled law, m={size}, 1 to 9 rows",
            partial(pooled_restoration, matrix, by_size, Silent()),
            partial(_simulated, matrix.size, by_size),
            baseline_name=f"numpy simulation of {SIMULATED:,} units of each size",
        )


def _simulated(size: int, by_size: dict[int, np.ndarray]) -> float:
    """Return the share of rows restored in simulated units: exact to about 0.1 %."""
    rng = np.random.default_rng(2)
    total = np.sum(list(by_size.values()), axis=0)
    prior = np.log(total / total.sum())
    gain = np.log((0.3 + 0.7 / size) / (0.7 / size))
    right = rows = 0.0
    for number, counts in by_size.items():
        true = rng.choice(size, SIMULATED, p=counts / counts.sum())
        shape = (SIMULATED, number)
        seen = np.where(rng.random(shape) < 0.3, true[:, None], rng.integers(0, size, shape))
        places = (np.arange(SIMULATED)[:, None] * size + seen).ravel()
        votes = np.bincount(places, minlength=SIMULATED * size).reshape(SIMULATED, size)
        guessed = (votes * gain + prior).argmax(axis=1)
        right += number * counts.sum() * (guessed == true).mean()
        rows += number * counts.sum()
    return right / rows


def _open_columns(rows: int) -> Iterator[Case]:
    rng = np.random.default_rng(3)
    numbers = {f"x{place}": rng.normal(size=rows) for place in range(4)}
    kind = rng.integers(0, 8, rows)
    columns = [UnperturbedColumn(name, values) for name, values in numbers.items()]
    columns.append(UnperturbedColumn("kind", None, kind))
    told = np.sin(numbers["x0"]) * kind + numbers["x1"] + rng.normal(0.0, 0.5, rows)
    codes = np.digitize(told, [-2.0, 0.0, 2.0])
    features = np.column_stack([*numbers.values(), kind])
    everything = np.arange(rows)
    beside = "scikit-learn's histogram boosting, three parts crossed"
    yield Case(
        f"open columns, a number, n={rows:,}",
        partial(estimate_numbers, "told", told, columns, everything, Silent()),
        partial(
            _boosted, sklearn.ensemble.HistGradientBoostingRegressor(), features, told, "predict"
        ),
        baseline_name=beside,
    )
    yield Case(
        f"open columns, 4 values, n={rows:,}",
        partial(estimate_values, "told", codes, 4, columns, everything, Silent()),
        partial(
            _boosted,
            sklearn.ensemble.HistGradientBoostingClassifier(),
            features,
            codes,
            "predict_proba",
        ),
        baseline_name=beside,
    )


def _boosted(model: object, features: np.ndarray, told: np.ndarray, method: str) -> np.ndarray:
    # On a busy machine its threads wait for each other, a hundred times as long as they work.
    with threadpool_limits(1):
        return sklearn.model_selection.cross_val_predict(model, features, told, cv=3, method=method)
