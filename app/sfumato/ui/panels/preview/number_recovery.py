"""Quantiles and regressions as a recipient recovers them, beside the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.gaussian.utility import estimate_quantiles, estimate_regression
from sfumato.engine.table.table import Table, encode_column
from sfumato.plots.figure import percent
from sfumato.plots.number_estimates import Estimate, EstimatesData, Figure
from sfumato.project.document.model import Document

Floats = npt.NDArray[np.float64]

SHARES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)


def quantiles_of(
    recipient: str, attributes: Sequence[str], true: Floats, released: Floats, noise: Floats
) -> tuple[EstimatesData | None, ...]:
    """Return each attribute's quantiles; None where too much noise hides its spread.

    Parameters
    ----------
    recipient
        Who estimates.
    attributes
        Their names.
    true, released
        The numbers, shape (n, N); not a number where missing.
    noise
        The covariance of the noise, shape (N, N), which the recipient is told.
    """
    return tuple(
        _quantiles(recipient, name, true[:, place], released[:, place], noise[place, place])
        for place, name in enumerate(attributes)
    )


def _quantiles(
    recipient: str, attribute: str, true: Floats, released: Floats, noise: float
) -> EstimatesData | None:
    try:
        found = estimate_quantiles(released, float(noise), SHARES)
    except EstimationError:
        return None
    spread = float(np.nanstd(true)) or 1.0
    rows = zip(SHARES, np.nanquantile(true, SHARES), found.values, found.errors, strict=True)
    estimates = tuple(
        Estimate(
            Figure.QUANTILE, attribute, float(truth), float(value), float(error), spread,
            percent(share),
        )
        for share, truth, value, error in rows
    )  # fmt: skip
    return EstimatesData(recipient, int(np.isfinite(released).sum()), estimates)


@dataclass(frozen=True, eq=False)
class Recovery:
    """What regressions are estimated from, and from which further columns they can be.

    Parameters
    ----------
    recipient
        Who estimates.
    attributes
        The entry's N attributes.
    true, released
        Their numbers, shape (n, N); not a number where missing.
    noise
        The covariance of the noise, shape (N, N), which the recipient is told.
    table
        The table; columns beside the entry's are released as they are.
    beside
        The numeric ones among these that identify nobody by themselves.
    """

    recipient: str
    attributes: tuple[str, ...]
    true: Floats
    released: Floats
    noise: Floats
    table: Table
    beside: tuple[ColumnSpec, ...] = ()

    def regression(self, outcome: int, chosen: Sequence[str], context: Context) -> EstimatesData:
        """Return an attribute's regression on the entry's others and on columns beside them.

        Parameters
        ----------
        outcome
            The place of the attribute that is explained.
        chosen
            The names of the columns beside the entry's that explain it too.
        context
            Progress and cancelling.

        Raises
        ------
        EstimationError
            If there is nothing to depend on, or too little is known for so much noise.
        """
        context.report(0.1, "Estimating a regression")
        exact = [exact_numbers(self.table, spec) for spec in self.beside if spec.name in chosen]
        names = (*self.attributes, *(spec.name for spec in self.beside if spec.name in chosen))
        size = len(self.attributes)
        noise = np.zeros((len(names), len(names)))
        noise[:size, :size] = self.noise
        true, released = (
            np.column_stack([numbers, *exact]) for numbers in (self.true, self.released)
        )
        context.report(0.3, "Estimating a regression")
        return _regression(self.recipient, names, true, released, noise, outcome)


def columns_beside(document: Document, attributes: Sequence[str]) -> tuple[ColumnSpec, ...]:
    """Return the numeric columns that recipients get as they are, whoever they are.

    The column that records are known by is none of them: it is there to link, not to explain.
    """
    return tuple(
        spec
        for spec in document.columns
        if spec.kind is Kind.NUMERIC
        and spec.role in (Role.INSENSITIVE, Role.QUASI_IDENTIFIER)
        and spec.name not in attributes
        and spec.name != document.record_key
    )


def exact_numbers(table: Table, spec: ColumnSpec) -> Floats:
    """Return a column's numbers as recipients get them, NaN where missing, shape (n,)."""
    numbers = encode_column(table, replace(spec, binning=None)).attribute.numbers
    return np.full(table.rows, np.nan) if numbers is None else numbers


def regressions_of(
    recipient: str, attributes: Sequence[str], true: Floats, released: Floats, noise: Floats
) -> tuple[EstimatesData | None, ...]:
    """Return each attribute's regression on all others; None where it can't be estimated.

    Parameters
    ----------
    recipient, attributes, true, released, noise
        As for `quantiles_of`.
    """
    found: list[EstimatesData | None] = []
    for place in range(len(attributes)):
        try:
            found.append(_regression(recipient, attributes, true, released, noise, place))
        except EstimationError:
            found.append(None)
    return tuple(found)


def _regression(
    recipient: str,
    attributes: Sequence[str],
    true: Floats,
    released: Floats,
    noise: Floats,
    outcome: int,
) -> EstimatesData:
    predictors = [place for place in range(len(attributes)) if place != outcome]
    if not predictors:
        raise EstimationError("There is nothing to depend on.", "Choose a column.")
    found = estimate_regression(released.T, noise, outcome, predictors)
    truth = estimate_regression(true.T, np.zeros_like(noise), outcome, predictors)
    spreads = np.nanstd(true, axis=0)
    name = attributes[outcome]
    kinds = [(Figure.INTERCEPT, ", ".join(attributes[p] for p in predictors), spreads[outcome])]
    kinds += [(Figure.SLOPE, attributes[p], spreads[outcome] / spreads[p]) for p in predictors]
    estimates = tuple(
        Estimate(figure, name, float(true_value), float(value), float(error), float(scale), at)
        for (figure, at, scale), true_value, value, error in zip(
            kinds, truth.values, found.values, found.errors, strict=True
        )
    )
    count = int(np.isfinite(released).all(axis=1).sum())
    return EstimatesData(recipient, count, estimates)
