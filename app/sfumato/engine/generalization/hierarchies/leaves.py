"""The values at the bottom of a hierarchy: their texts and their order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import pandas as pd

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.values import Value, number_text, plain, type_of

_NUMBER: Final = re.compile(r"(\d+)")


def value_text(value: Value) -> str:
    """Return a value as hierarchy tables write it; an empty text where it is missing.

    A whole number is written without a point however it is stored, because a column of whole
    numbers turns to decimals as soon as one of them is missing.
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return number_text(value)
    return str(value)


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return what texts are ordered by so that "9" comes before "10" and "5-9" before "10-14"."""
    return tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part.casefold())
        for part in _NUMBER.split(text)
        if part
    )


def in_order(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return values in their natural order: numbers by size, texts naturally, missing last."""
    listed = list(values)
    numbers = sorted(v for v in listed if isinstance(v, int | float))
    texts = sorted((v for v in listed if isinstance(v, str)), key=lambda v: (natural_key(v), v))
    return (*numbers, *texts, *((None,) if None in listed else ()))


def ground_series(spec: ColumnSpec, series: pd.Series) -> pd.Series:
    """Return a column as its hierarchy sees it: in bins, where the custodian has set bins.

    Raises
    ------
    DomainError
        If the bins don't fit the column.
    """
    return spec.binning.apply(series) if spec.binning is not None else series


def ground_values(spec: ColumnSpec, series: pd.Series) -> tuple[Value, ...]:
    """Return the distinct values that a hierarchy of a column has to cover, in order.

    Parameters
    ----------
    spec
        The column's specification: its bins, and the values of its domain, count too.
    series
        The column, shape (n,).

    Returns
    -------
    tuple
        The values, with None last where the column has missing values.

    Raises
    ------
    HierarchyError
        If the column mixes texts with numbers.
    DomainError
        If the bins don't fit the column.
    """
    if spec.binning is not None:
        found: dict[Value, None] = dict.fromkeys(spec.binning.names)
        if bool(series.isna().any()):
            found[None] = None
        return tuple(found)
    found = dict.fromkeys(plain(value) for value in pd.Series(series.unique()).dropna())
    if spec.domain is not None:
        found.update(dict.fromkeys(value for value in spec.domain.values if value is not None))
    refuse_mixed(spec.name, tuple(found))
    missing: tuple[Value, ...] = (None,) if bool(series.isna().any()) else ()
    return (*in_order(found), *missing)


def refuse_mixed(column: str, values: Sequence[Value]) -> None:
    """Refuse values of two types, which could share a text: the number 1 and the text "1"."""
    if len({type_of(value) for value in values if value is not None}) > 1:
        raise HierarchyError(
            "Column {column} mixes values of two types, so no hierarchy can order them.",
            "Read the column as text when the file is opened.",
            column=column,
        )
