"""What a recipient estimates from noisy numbers, beside the true figures.

Means, spreads and correlations, quantiles, and regressions; all corrected for the noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats
from sfumato.engine.matrices.number_estimates import (
    Estimates,
    estimate_covariance,
    estimate_means,
    estimate_quantiles,
    estimate_regression,
    weighted_means,
)
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import Document

SHARES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)
CONFIDENCE_95: Final = 1.96


class Figure(StrEnum):
    """What is estimated."""

    MEAN = "mean"
    SPREAD = "standard deviation"
    CORRELATION = "correlation"
    QUANTILE = "quantile"
    INTERCEPT = "intercept"
    SLOPE = "slope"


POPULATION = (Figure.QUANTILE, Figure.INTERCEPT, Figure.SLOPE)
"""Figures whose standard errors take the records for a sample."""


@dataclass(frozen=True)
class FigureEstimate:
    """One figure, as it is and as a recipient estimates it.

    Parameters
    ----------
    figure
        What is estimated.
    about
        Of which attribute or attributes.
    true, estimated
        The figure.
    error
        The standard error that the recipient is told.
    scale
        What a deviation is measured in: the attribute's standard deviation, or 1; of a slope,
        standard deviations for one of the predictor.
    at
        Of a quantile, the share below it; of a slope, its predictor; of an intercept, all.
    shift
        Of a mean, how far it is moved since numbers are cut off at bounds, which no error tells.
    """

    figure: Figure
    about: str
    true: float
    estimated: float
    error: float
    scale: float
    at: str = ""
    shift: float = 0.0

    @property
    def within(self) -> float:
        """How far off the estimate is at most, 95 times in 100."""
        return abs(self.shift) + CONFIDENCE_95 * self.error

    @property
    def deviation(self) -> float:
        """How far the estimate is off, in its scale."""
        return (self.estimated - self.true) / self.scale

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval.

        Of a spread, the roots of its variance's: that is what is estimated with a normal error.
        """
        half = CONFIDENCE_95 * self.error
        if self.figure is not Figure.SPREAD:
            return self.estimated - half, self.estimated + half
        off = 2.0 * self.estimated * half
        low, high = (math.sqrt(max(self.estimated**2 + side, 0.0)) for side in (-off, off))
        return low, high

    @property
    def holds(self) -> bool:
        """Whether the 95 % interval holds the true figure."""
        low, high = self.interval
        return low <= self.true <= high


@dataclass(frozen=True)
class EstimatesData:
    """What a recipient can estimate.

    Parameters
    ----------
    recipient
        Who.
    records
        From how many records.
    estimates
        The figures.
    weight
        The column of sampling weights that they are estimated with; empty without any.
    """

    recipient: str
    records: int
    estimates: tuple[FigureEstimate, ...]
    weight: str = ""

    def by_cluster(self, rows: int) -> EstimatesData:
        """Return it with errors that hold where up to so many rows show one draw together.

        As recipients are told to: errors of independent rows times the root of it.
        """
        wider = (replace(each, error=each.error * math.sqrt(rows)) for each in self.estimates)
        return replace(self, estimates=tuple(wider))

    def moved(self, shifts: Mapping[str, float]) -> EstimatesData:
        """Return it with how far bounds move the means, by attribute."""
        told = (
            replace(each, shift=shifts.get(each.about, 0.0)) if each.figure is Figure.MEAN else each
            for each in self.estimates
        )
        return replace(self, estimates=tuple(told))


# ----- means, spreads and correlations


def estimates_of(
    recipient: str,
    attributes: Sequence[str],
    true: Floats,
    released: Floats,
    noise: Floats,
    excess: float = 0.0,
) -> EstimatesData:
    """Return every mean, spread and correlation with its error.

    Errors are those of the table's own figures: the records are no sample of anything.

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
    excess
        Its excess kurtosis: 0 where it is normal.

    Raises
    ------
    EstimationError
        If there are too few numbers to estimate anything.
    """
    count = int(np.isfinite(released).any(axis=1).sum())
    means = estimate_means(released.T, noise)
    corrected = estimate_covariance(released.T, noise, excess=excess)
    truth = estimate_covariance(true.T, np.zeros_like(noise)).values
    true_means = np.nanmean(true, axis=0)
    scales = np.sqrt(np.where(np.diag(truth) > 0, np.diag(truth), 1.0))
    found = [
        FigureEstimate(Figure.MEAN, name, float(mean), float(value), float(error), float(scale))
        for name, mean, value, error, scale in zip(
            attributes, true_means, means.values, means.errors, scales, strict=True
        )
    ]
    # A variance can be estimated below 0: then there is too little to tell of its attribute.
    usable = np.diag(corrected.values) > 0
    for i in np.flatnonzero(usable).tolist():
        spread = float(np.sqrt(corrected.values[i, i]))
        error = float(corrected.errors[i, i]) / (2 * spread)
        true_spread = float(np.sqrt(truth[i, i]))
        found.append(
            FigureEstimate(
                Figure.SPREAD, attributes[i], true_spread, spread, error, float(scales[i])
            )
        )
    found += [
        _correlation(attributes, truth, corrected.values, noise, count, i, j)
        for i, j in itertools.combinations(np.flatnonzero(usable).tolist(), 2)
    ]
    return EstimatesData(recipient, count, tuple(found))


def _correlation(
    attributes: Sequence[str],
    truth: Floats,
    corrected: Floats,
    noise: Floats,
    count: int,
    i: int,
    j: int,
) -> FigureEstimate:
    """Return a correlation, its error by the delta method."""
    scale = np.sqrt(corrected[i, i] * corrected[j, j])
    value = corrected[i, j] / scale
    entries = ((i, j), (i, i), (j, j))
    slope = np.array([1 / scale, -value / (2 * corrected[i, i]), -value / (2 * corrected[j, j])])
    spread = np.array(
        [[_covariance_of_products(corrected, noise, a, b) for b in entries] for a in entries]
    )
    true_scale = np.sqrt(truth[i, i] * truth[j, j])
    return FigureEstimate(
        Figure.CORRELATION,
        f"{attributes[i]} and {attributes[j]}",
        float(truth[i, j] / true_scale) if true_scale > 0 else 0.0,
        float(np.clip(value, -1.0, 1.0)),
        float(np.sqrt(max(slope @ spread @ slope, 0.0) / count)),
        1.0,
    )


def _covariance_of_products(
    truth: Floats, noise: Floats, first: tuple[int, int], second: tuple[int, int]
) -> float:
    """Return n times the covariance of two entries of the released covariance matrix.

    The true numbers stand still; of Gaussian noise Z, products have covariance
    K_ik·K_jl + K_il·K_jk (Isserlis), and the true numbers weigh the noise once.
    """
    (i, j), (k, m) = first, second

    def crossed(left: Floats, right: Floats) -> float:
        return float(left[i, k] * right[j, m] + left[i, m] * right[j, k])

    return (
        crossed(noise, noise)
        + crossed(truth, noise)
        + float(truth[j, m] * noise[i, k] + truth[j, k] * noise[i, m])
    )


@dataclass(frozen=True)
class Weights:
    """Sampling weights: their column, and how many people each record stands for, shape (n,)."""

    column: str
    numbers: Floats = field(repr=False)


def weighted_estimates_of(
    recipient: str,
    attributes: Sequence[str],
    true: Floats,
    released: Floats,
    noise: Floats,
    weights: Weights,
) -> EstimatesData:
    """Return every mean, spread and correlation of the population, with its error.

    Parameters and what is raised are those of `estimates_of`, but for the weights. The errors are
    of sampling and noise together, by linearization.
    """
    nothing = np.zeros_like(noise)
    found, scales, usable = [], np.ones(len(attributes)), []
    for place, name in enumerate(attributes):
        means, products = _moments(released, (place,), noise, weights)
        truth, true_products = _moments(true, (place,), nothing, weights)
        variance, true_variance = products.values[0], max(float(true_products.values[0]), 0.0)
        scales[place] = math.sqrt(true_variance) or 1.0
        own = (float(truth.values[0]), float(means.values[0]), float(means.errors[0]))
        found.append(FigureEstimate(Figure.MEAN, name, *own, float(scales[place])))
        if variance > 0:
            usable.append((place, math.sqrt(true_variance), products))
    for place, true_spread, products in usable:
        spread = math.sqrt(float(products.values[0]))
        error = float(products.errors[0]) / (2 * spread)
        own_scale = float(scales[place])
        found.append(
            FigureEstimate(Figure.SPREAD, attributes[place], true_spread, spread, error, own_scale)
        )
    for (i, *_), (j, *_) in itertools.combinations(usable, 2):
        value, error = _weighted_correlation(released, (i, j), noise, weights)
        truth_of_it = _weighted_correlation(true, (i, j), nothing, weights)[0]
        about = f"{attributes[i]} and {attributes[j]}"
        found.append(FigureEstimate(Figure.CORRELATION, about, truth_of_it, value, error, 1.0))
    count = int(np.isfinite(released).any(axis=1).sum())
    return EstimatesData(recipient, count, tuple(found), weights.column)


def _moments(
    numbers: Floats, places: Sequence[int], noise: Floats, weights: Weights
) -> tuple[Estimates, Estimates]:
    """Return some attributes' means and their variances, corrected for the noise."""
    told, share = _told(numbers, places, weights)
    means = weighted_means(told, share)
    squares = weighted_means((told - means.values[:, None]) ** 2, share)
    hidden = np.diagonal(noise)[list(places)]
    return means, Estimates(squares.values - hidden, squares.errors)


def _weighted_correlation(
    numbers: Floats, pair: tuple[int, int], noise: Floats, weights: Weights
) -> tuple[float, float]:
    """Return a correlation, corrected for the noise, and its error; 0 where there is none."""
    told, share = _told(numbers, pair, weights)
    first, second = told - weighted_means(told, share).values[:, None]
    products = np.stack([first * second, first**2, second**2])
    i, j = pair
    hidden = np.array([noise[i, j], noise[i, i], noise[j, j]])
    both, one, other = (weighted_means(products, share).values - hidden).tolist()
    if not (one > 0 and other > 0):
        return 0.0, 0.0
    scale = math.sqrt(one * other)
    value = both / scale
    slope = np.array([1 / scale, -value / (2 * one), -value / (2 * other)])
    error = weighted_means((slope @ products)[None], share).errors[0]
    return float(np.clip(value, -1.0, 1.0)), float(error)


def _told(numbers: Floats, places: Sequence[int], weights: Weights) -> tuple[Floats, Floats]:
    """Return some attributes of the records that have all of them, and these records' weights."""
    told = np.isfinite(numbers[:, list(places)]).all(axis=1)
    return numbers[told][:, list(places)].T, weights.numbers[told]


# ----- quantiles and regressions


def quantiles_of(
    recipient: str,
    attributes: Sequence[str],
    true: Floats,
    released: Floats,
    noise: Floats,
    weights: Weights | None = None,
    excess: float = 0.0,
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
    weights
        Where there are any, quantiles of the population.
    excess
        The noise's excess kurtosis: 0 where it is normal.
    """
    return tuple(
        _quantiles(
            recipient,
            name,
            true[:, place],
            released[:, place],
            noise[place, place],
            weights,
            excess,
        )
        for place, name in enumerate(attributes)
    )


def _quantiles(
    recipient: str,
    attribute: str,
    true: Floats,
    released: Floats,
    noise: float,
    weights: Weights | None,
    excess: float,
) -> EstimatesData | None:
    share = None if weights is None else weights.numbers
    try:
        found = estimate_quantiles(released, float(noise), SHARES, share, excess)
    except EstimationError:
        return None
    spread = float(np.nanstd(true)) or 1.0
    truths = np.nanquantile(true, SHARES)
    if share is not None:
        told = np.isfinite(true)
        truths = np.quantile(true[told], SHARES, weights=share[told], method="inverted_cdf")
    rows = zip(SHARES, truths, found.values, found.errors, strict=True)
    estimates = tuple(
        FigureEstimate(
            Figure.QUANTILE, attribute, float(truth), float(value), float(error), spread,
            f"{round(100 * share)}\u202f%",
        )
        for share, truth, value, error in rows
    )  # fmt: skip
    weight = "" if weights is None else weights.column
    return EstimatesData(recipient, int(np.isfinite(released).sum()), estimates, weight)


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
    together
        How many rows show one draw together, at most.
    """

    recipient: str
    attributes: tuple[str, ...]
    true: Floats
    released: Floats
    noise: Floats
    table: Table
    beside: tuple[ColumnSpec, ...] = ()
    together: int = 1

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
        found = _regression(self.recipient, names, true, released, noise, outcome)
        return found.by_cluster(self.together)


def columns_beside(document: Document, attributes: Sequence[str]) -> tuple[ColumnSpec, ...]:
    """Return the numeric columns that recipients get as they are, whoever they are.

    The column that records are known by is none of them: it is there to link, not to explain.
    """
    return tuple(
        spec
        for spec in document.columns
        if spec.kind is Kind.NUMERIC
        and spec.role not in (Role.SENSITIVE, Role.IDENTIFYING)
        and spec.name not in attributes
        and spec.name != document.record_key
    )


def exact_numbers(table: Table, spec: ColumnSpec) -> Floats:
    """Return a column's numbers as recipients get them, NaN where missing, shape (n,)."""
    numbers = encode_column(table, replace(spec, binning=None)).attribute.numbers
    if numbers is not None and spec.coding is not None:
        numbers = spec.coding.apply(pd.Series(numbers, name=spec.name)).to_numpy()
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
        FigureEstimate(
            figure, name, float(true_value), float(value), float(error), float(scale), at
        )
        for (figure, at, scale), true_value, value, error in zip(
            kinds, truth.values, found.values, found.errors, strict=True
        )
    )
    count = int(np.isfinite(released).all(axis=1).sum())
    return EstimatesData(recipient, count, estimates)
