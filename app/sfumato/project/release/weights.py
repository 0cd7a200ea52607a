"""Sampling weights: how many of the population each record stands for."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document

Floats = npt.NDArray[np.float64]

_REMEDY: Final = (
    "Mend these rows in the source table, or give the column another role than that of a weight."
)


def weight_column(document: Document) -> ColumnSpec | None:
    """Return the weight that risks are computed with: the first in the table's order, if any."""
    return next((column for column in document.columns if column.role is Role.WEIGHT), None)


def check_weights(document: Document, table: Table) -> None:
    """Refuse weights that say nothing, in any column of that role.

    Raises
    ------
    TableError
        If a weight is missing, no number, not above 0, or not finite. Rows are named, and never
        a value.
    """
    for column in document.columns:
        if column.role is Role.WEIGHT:
            released_weights(table, column)


def weights_of(document: Document, table: Table) -> Floats | None:
    """Return the weights that risks are computed with, as they are released; None without any.

    Weights that sum to fewer people than there are records, relative ones, make risks look as high
    as if the table were the whole population.

    Raises
    ------
    TableError
        See `check_weights`.
    """
    column = weight_column(document)
    if column is None:
        return None
    return released_weights(table, column)


def released_weights(table: Table, column: ColumnSpec) -> Floats:
    """Return one column of weights as it is released, shape (n,).

    Raises
    ------
    TableError
        See `check_weights`.
    DomainError
        If it is coded and not numeric.
    """
    series = table.column(column.name)
    try:
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or column.binning is not None:
        raise TableError(
            "The weights of column {column} are not numbers.",
            "Take its bins away or read it as numbers, or give it another role than that of a"
            " weight.",
            column=column.name,
        )
    _refuse(np.isnan(numbers), column.name, _MISSING)
    _refuse(~(numbers > 0.0), column.name, _NOT_POSITIVE)
    _refuse(np.isinf(numbers), column.name, _INFINITE)
    if column.coded is None:
        return numbers
    shown: Floats = column.coded.apply(series).to_numpy(dtype=np.float64)
    if not bool((shown > 0.0).all()):
        raise TableError(
            "Rounded to {step:g}, the weights of column {column} become 0 in {count}"
            " {count:row|rows}, first in row {row}.",
            "Round to less, or cut them off below at a number above 0.",
            step=column.coded.step or 0.0,
            column=column.name,
            count=int((shown <= 0.0).sum()),
            row=int((shown <= 0.0).argmax()) + 1,
        )
    return shown


_MISSING: Final = Sentence("missing")
_NOT_POSITIVE: Final = Sentence("zero or negative")
_INFINITE: Final = Sentence("infinite")


def _refuse(rows: npt.NDArray[np.bool_], name: str, fault: Sentence) -> None:
    """Name the first row with a weight that can't be one, where there is one."""
    if rows.any():
        raise TableError(
            "The weight in column {column} is {fault} in {count} {count:row|rows}, first in row"
            " {row}.",
            _REMEDY,
            column=name,
            fault=fault,
            count=int(rows.sum()),
            row=int(rows.argmax()) + 1,
        )


def population_uniques(alone: npt.NDArray[np.bool_], weights: Floats) -> float:
    """Return how many sample uniques are expected to be unique in the population.

    Nobody else is in a record's class with probability 1/w, where the class has the negative
    binomial distribution of Benedetti and Franconi (1998).

    Parameters
    ----------
    alone
        Whether each record is unique, shape (n,).
    weights
        Shape (n,).
    """
    # Rounded once, the sum does not depend on the order of the rows.
    return math.fsum(chances_in_population(weights[alone]).tolist())


def chances_in_population(weights: Floats) -> Floats:
    """Return how likely each of some sample uniques is unique in the population, shape (n,)."""
    return np.minimum(1.0 / weights, 1.0)
