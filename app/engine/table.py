"""The table about individuals, and what a mechanism is given of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.engine.columns import Codes, ColumnSpec, Domain, Kind, Value
from app.engine.errors import TableError
from app.engine.values import count_codes


@dataclass(frozen=True)
class Table:
    """A table about individuals, as it was read.

    Parameters
    ----------
    frame
        One row a record, with a plain positional index. Never changed once it is here.
    value_labels
        For a column, the texts that a statistical file gives its codes.
    column_labels
        For a column, the sentence that a statistical file describes it by.

    Raises
    ------
    TableError
        If the table has no rows or columns, or two columns share a name.
    """

    # The values are the secret: no report or log may show them by accident.
    frame: pd.DataFrame = field(repr=False)
    value_labels: Mapping[str, Mapping[Value, str]] = field(default_factory=dict, repr=False)
    column_labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.frame.shape[1] == 0:
            raise TableError("The table has no columns.", "Check the delimiter and the header.")
        if self.frame.shape[0] == 0:
            raise TableError("The table has no rows.", "Choose a file with at least one record.")
        duplicated = self.frame.columns[self.frame.columns.duplicated()]
        if len(duplicated):
            raise TableError(
                "Two columns are called {column}.",
                "Rename one of them in the source file.",
                column=str(duplicated[0]),
            )

    @property
    def rows(self) -> int:
        """The number of records, n."""
        return len(self.frame)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(str(name) for name in self.frame.columns)

    def column(self, name: str) -> pd.Series:
        """Return one column.

        Raises
        ------
        TableError
            If the table has no such column.
        """
        if name not in self.frame.columns:
            raise TableError(
                "The table has no column {column}.",
                "Choose a table with this column, or change the attributes.",
                column=name,
            )
        return self.frame[name]


@dataclass(frozen=True)
class Attribute:
    """What a mechanism knows about an attribute, beside the rows.

    Parameters
    ----------
    name, kind
        As in the column's specification.
    domain
        The values of a categorical attribute; None for a numeric one.
    counts
        How often each value of the domain occurs, shape (m,); None for a numeric attribute.
    """

    name: str
    kind: Kind
    domain: Domain | None = None
    counts: npt.NDArray[np.int64] | None = None

    @property
    def frequencies(self) -> npt.NDArray[np.float64]:
        """The share of each value, shape (m,), summing to 1."""
        if self.counts is None:
            raise TypeError(f"{self.name} is not categorical")
        shares: npt.NDArray[np.float64] = self.counts / self.counts.sum()
        return shares


@dataclass(frozen=True)
class EncodedColumn:
    """An attribute with its rows: codes for a categorical one, numbers for a numeric one."""

    attribute: Attribute
    values: Codes | npt.NDArray[np.float64]


def encode_column(table: Table, spec: ColumnSpec) -> EncodedColumn:
    """Encode one column by its specification.

    A numeric column without bins is returned as numbers; every other column as codes of its
    domain, which is proposed from the values that occur where the specification has none.

    Raises
    ------
    DomainError
        If a row does not fit the domain or the bins.
    """
    series = table.column(spec.name)
    if spec.kind is Kind.NUMERIC and spec.binning is None:
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return EncodedColumn(Attribute(spec.name, spec.kind), numbers)
    if spec.binning is not None:
        series = spec.binning.apply(series)
    domain = spec.domain or proposed_domain(table, spec)
    codes = domain.encode(series, spec.name)
    counts = count_codes(codes, domain.size)
    return EncodedColumn(Attribute(spec.name, Kind.CATEGORICAL, domain, counts), codes)


def proposed_domain(table: Table, spec: ColumnSpec) -> Domain:
    """Return the domain that the rows themselves suggest for a column."""
    series = table.column(spec.name)
    if spec.binning is not None:
        values: tuple[Value, ...] = spec.binning.names
        if bool(series.isna().any()) and spec.missing == "value":
            values = (*values, None)
        return Domain(values)
    return Domain.of_column(series, spec.missing, table.value_labels.get(spec.name))
