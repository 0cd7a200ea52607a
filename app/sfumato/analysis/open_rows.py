"""By which rows open columns are weighed: in a short table by all, in a long one by a part.

A part drawn evenly knows groups of many records as well as the whole table does, but hardly ever
two members of one household. So it is joined, column by column, by all records that share a rare
value with a record that is estimated: they are all that the whole table knows beyond the part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.shown_columns import Look, ShownColumns, look_of
from sfumato.engine.core.columns import ColumnSpec, Kind
from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.values import factorize
from sfumato.engine.disclosure.open_columns import sample_rows
from sfumato.engine.disclosure.open_features import ONE_BY_ONE, OpenColumn
from sfumato.engine.table.table import Table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

LEARNED: Final = 1 << 18
"""Of longer tables, so many records are learned from, and those that share rare values."""
_RARE: Final = 32
"""Values of fewer records in the part drawn are rare."""
_FEW: Final = 0.01
"""Rare values of a smaller share of the estimated records are of no account."""


@dataclass(frozen=True, eq=False)
class WeighedRows:
    """The rows that are learned from and estimated, with the columns as far as they go.

    Parameters
    ----------
    table
        The columns of these rows, n of them.
    rows
        Their places in the whole table, ascending, shape (n,); None where they are all of it.
    sample
        Which of these are estimated, ascending, shape (s,).
    counted
        For a column with rare values, by which rows its groups are known, shape (n,).
    repeating
        The columns whose numbers repeat often enough to be known one by one.
    """

    table: Table
    rows: Places | None
    sample: Places
    counted: Mapping[str, Flags]
    repeating: frozenset[str]

    @property
    def places(self) -> Places:
        """Where the estimated rows stand in the whole table, shape (s,)."""
        return self.sample if self.rows is None else self.rows[self.sample]

    def codes(self, columns: ShownColumns, look: Look) -> Integers:
        """Return each row's value as a code from 0, missing being one of them."""
        return whole_codes(columns, look) if self.rows is None else _codes(look, self.table)

    def numbers(self, spec: ColumnSpec, codes: Integers, numbers: Floats) -> OpenColumn:
        """Return a column of numbers, with their codes where they repeat."""
        repeats = 1 < int(codes.max()) + 1 <= len(codes) / 2
        if self.rows is not None:
            repeats = bool(codes.max()) and spec.name in self.repeating
        counted = self.counted.get(spec.name) if repeats else None
        return OpenColumn(spec.name, numbers, codes if repeats else None, counted)

    def open_column(self, columns: ShownColumns, spec: ColumnSpec) -> OpenColumn | None:
        """Return a column as recipients see it; None where it is constant or its bins misfit."""
        look = look_of(spec)
        try:
            series = look.shown(self.table)
            codes = self.codes(columns, look)
        except DomainError:
            return None  # no release can be made either
        numbers = _numbers(series)
        if numbers is not None and spec.kind is not Kind.CATEGORICAL:
            return self.numbers(spec, codes, numbers)
        if int(codes.max()) == int(codes.min()):
            return None
        # Codes that are numbers may be in an order that tells, too.
        ordered = numbers if codes.max() >= ONE_BY_ONE else None
        return OpenColumn(spec.name, ordered, codes, self.counted.get(spec.name))


def weighed_rows(columns: ShownColumns, specs: Sequence[ColumnSpec], most: int) -> WeighedRows:
    """Choose the rows that a table's columns are weighed by.

    Parameters
    ----------
    columns
        What is known of the table's columns.
    specs
        The columns that are learned from.
    most
        How many rows are estimated at most.
    """
    table = columns.table
    if table.rows <= LEARNED:
        everything = sample_rows(table.rows, most)
        return WeighedRows(table, None, everything, {}, frozenset())
    part = sample_rows(table.rows, LEARNED)
    estimated = part[sample_rows(len(part), most)]
    shared: dict[str, Places] = {}
    repeating = set()
    for spec in specs:
        look = look_of(spec)

        def find(look: Look = look) -> tuple[Places | None, float]:
            return _sharing(look.shown(table), part, estimated)

        try:
            # No edit of another column changes this.
            found, alone = columns.keep(("sharing", look, most), find)
        except (DomainError, TypeError):
            continue
        if alone <= 0.5:
            repeating.add(spec.name)
            if found is not None:
                shared[spec.name] = found
    rows = np.flatnonzero(_marked(table.rows, part, *shared.values()))
    frame = pd.DataFrame(
        {name: column.take(rows).reset_index(drop=True) for name, column in table.frame.items()},
        copy=False,
    )
    counted = {name: _marked(table.rows, part, also)[rows] for name, also in shared.items()}
    sample = np.searchsorted(rows, estimated)
    return WeighedRows(
        Table(frame, table.value_labels, table.column_labels),
        rows,
        sample,
        counted,
        frozenset(repeating),
    )


def _marked(rows: int, *parts: Places) -> Flags:
    """Return which of a table's rows are in any of several parts of it, shape (n,)."""
    marked = np.zeros(rows, dtype=np.bool_)
    for part in parts:
        marked[part] = True
    return marked


def _sharing(column: pd.Series, part: Places, estimated: Places) -> tuple[Places | None, float]:
    """Return which rows share a rare value with an estimated one, and how many do with none.

    None where too few of the estimated rows have a rare value; of too many rows that share one,
    as many as the part has, evenly.
    """
    drawn = factorize(column.take(part))[0].astype(np.int64)
    drawn[drawn < 0] = drawn.max() + 1
    own = drawn[np.searchsorted(part, estimated)]
    sizes = np.bincount(drawn)[own].astype(np.float64)
    rare = sizes < _RARE
    every = len(column) / len(part)
    if rare.mean() < _FEW:
        return None, float((1.0 / (sizes * every)).mean())
    values = column.take(estimated[rare])
    rows = np.flatnonzero(column.isin(values.unique()).to_numpy())
    codes, uniques = factorize(column.take(rows))
    of_value = np.bincount(codes[codes >= 0], minlength=len(uniques))
    mine = codes[np.searchsorted(rows, estimated[rare])]
    shares = 1.0 / np.concatenate([sizes[~rare] * every, np.maximum(of_value[mine], 1)])
    most = max(len(part), _RARE * len(estimated))
    return rows[sample_rows(len(rows), most)], float(shares.mean())


def whole_codes(columns: ShownColumns, look: Look) -> Integers:
    """Return a column's values in all rows as codes from 0, missing being one of them."""
    codes: Integers = columns.codes(look).astype(np.int64)
    codes[codes < 0] = codes.max() + 1
    return codes


def whole_numbers(columns: ShownColumns, look: Look) -> Floats:
    """Return a column's numbers in all rows, NaN where missing."""
    numbers = _numbers(look.shown(columns.table))
    assert numbers is not None
    return numbers


def _codes(look: Look, table: Table) -> Integers:
    codes: Integers = factorize(look.shown(table))[0].astype(np.int64)
    codes[codes < 0] = codes.max() + 1
    return codes


def _numbers(series: pd.Series) -> Floats | None:
    """Return a column's numbers, or its moments as numbers; None where it has neither."""
    kind = series.dtype
    if pd.api.types.is_datetime64_any_dtype(kind):
        moments = series.to_numpy(dtype="datetime64[us]").astype(np.int64).astype(np.float64)
        return np.where(series.isna().to_numpy(), np.nan, moments)
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
        numbers: Floats = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers
    return None
