"""How numeric attributes vary, alone and together: what the size of the noise is made from.

Everything is computed on standardized columns, so that an income in cents and a share between 0
and 1 do no harm to one another. Where values are missing, each correlation is taken from the
records that have both (pairwise complete); such a matrix need not be a covariance, so it is
moved to the nearest one with the same variances by cutting its negative eigenvalues off.

`correlation` says how much two attributes depend on each other, cheaply enough for each edit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.engine.table.table import Attribute, Attributes, refuse_infinite

_LARGEST_SPREAD: Final = 1e140
"""A variance is the square of a spread, and has to be a number."""

_DIGITS: Final = 13
"""To how many significant digits moments are rounded.

They are part of what a ladder is made from, and sums of floats end in other bits on another
processor, or with the rows in another order. Rounded, they are the same there as well.
"""

_LEAST_PIVOT: Final = 1e-13
"""The share of an attribute's variance that counts as its own where others explain it all.

A correlation matrix is rounded to about as much. Without it, what two nearly equal columns
differ by would get no noise at all.
"""


@dataclass(frozen=True)
class RecordMoments:
    """The mean and the covariance of a record that is taken from the table.

    Parameters
    ----------
    mean
        μ_X, in the attributes' units, shape (N,).
    covariance
        K_X, positive semidefinite, shape (N, N).
    """

    mean: Floats
    covariance: Floats

    @property
    def spreads(self) -> Floats:
        """The standard deviations, shape (N,)."""
        return np.sqrt(np.diagonal(self.covariance))


def estimate_moments(attributes: Attributes) -> RecordMoments:
    """Estimate the mean and the covariance of numeric attributes from their rows.

    Means, spreads and correlations are rounded to 13 significant digits.

    Parameters
    ----------
    attributes
        N attributes with their numbers, each of shape (n,).

    Raises
    ------
    PolicyError
        If a column holds no numbers, an infinity, the same number everywhere or numbers that
        are too large; if there are fewer records than attributes; or if two columns are never
        present together.
    """
    columns = [checked_numbers(attribute) for attribute in attributes]
    names = [attribute.name for attribute in attributes]
    if len(columns[0]) < len(columns):
        raise PolicyError(
            "There are {rows} {rows:record|records} for {count} {count:attribute|attributes}: too"
            " few to tell how {column} varies with the others.",
            "Protect fewer attributes together, or add records.",
            rows=len(columns[0]),
            count=len(columns),
            column=names[-1],
        )
    standard = [_standardized(column, name) for column, name in zip(columns, names, strict=True)]
    correlation = _correlations([column for column, _, _ in standard], names)
    spreads = _rounded(np.array([spread for _, _, spread in standard]))
    return RecordMoments(
        _rounded(np.array([mean for _, mean, _ in standard])),
        _rounded(nearest_correlation(correlation)) * np.outer(spreads, spreads),
    )


def factor_of(covariance: Floats) -> Floats:
    """Return a lower triangular L with L·Lᵀ = K, also where K has no inverse.

    Only elementary operations in a fixed order decide about it: it has the same bits on every
    machine.

    Parameters
    ----------
    covariance
        K, positive semidefinite with a positive diagonal, shape (N, N).

    Returns
    -------
    numpy.ndarray
        L, shape (N, N). No diagonal entry is 0: an attribute that others explain wholly keeps
        a noise of its own of 3e-7 of its spread.
    """
    size = len(covariance)
    spreads = [math.sqrt(covariance[place, place]) for place in range(size)]
    rows: list[list[float]] = [[0.0] * size for _ in range(size)]
    for row in range(size):
        for column in range(row + 1):
            # Dividing one after the other does not overflow where a product would.
            entry = float(covariance[row, column]) / spreads[row] / spreads[column]
            for known in range(column):
                entry -= rows[row][known] * rows[column][known]
            if column == row:
                rows[row][row] = math.sqrt(max(entry, _LEAST_PIVOT))
            else:
                rows[row][column] = entry / rows[column][column]
    return np.array([[entry * spreads[row] for entry in rows[row]] for row in range(size)])


def _rounded(numbers: Floats) -> Floats:
    digits = [float(f"{number:.{_DIGITS}g}") for number in numbers.ravel().tolist()]
    return np.array(digits).reshape(numbers.shape)


def checked_numbers(attribute: Attribute) -> Floats:
    """Return an attribute's numbers, or raise `PolicyError` with what is wrong with them."""
    numbers = attribute.numbers
    if numbers is None:
        raise PolicyError(
            "The numbers of column {column} are not at hand, so their spread can't be measured.",
            "Open the source table.",
            column=attribute.name,
        )
    refuse_infinite(numbers, attribute.name, PolicyError)
    if np.isnan(numbers).all():
        raise PolicyError(
            "Column {column} holds no numbers: all of its rows are missing.",
            "Give it another role, or correct the source table.",
            column=attribute.name,
        )
    return numbers


def refuse_constant(numbers: Floats, name: str) -> None:
    """Raise `PolicyError` if a column has the same number in every row."""
    present = numbers[~np.isnan(numbers)]
    if present.min() == present.max():
        raise PolicyError(
            "Column {column} has the same number in every row, so there is nothing to hide it"
            " among: noise is made as large as the numbers' spread.",
            "Take it out of the entry; give it another role, or drop it.",
            column=name,
        )


def _standardized(numbers: Floats, name: str) -> tuple[Floats, float, float]:
    """Return a column with mean 0 and variance 1, and the mean and spread that it had."""
    refuse_constant(numbers, name)
    present = numbers[~np.isnan(numbers)]
    scale = float(np.abs(present).max())
    if scale > _LARGEST_SPREAD or scale < 1.0 / _LARGEST_SPREAD:
        raise _out_of_scale(name)
    mean = float((present / scale).mean()) * scale
    reach = float(np.abs(present - mean).max())
    if reach < 1.0 / _LARGEST_SPREAD:
        raise _out_of_scale(name)
    spread = math.sqrt(float(np.square((present - mean) / reach).mean())) * reach
    return (numbers - mean) / spread, mean, spread


def _out_of_scale(name: str) -> PolicyError:
    return PolicyError(
        "The numbers of column {column} are too large or too close together to square them.",
        "Express the column in another unit in the source table.",
        column=name,
    )


def _correlations(columns: Sequence[Floats], names: Sequence[str]) -> Floats:
    """Return the correlations, each from the records that have both numbers."""
    table = np.array(columns)
    missing = np.isnan(table)
    if not missing.any():
        complete: Floats = table @ table.T / table.shape[1]
        np.fill_diagonal(complete, 1.0)
        return np.clip(complete, -1.0, 1.0)
    size = len(columns)
    correlation = np.eye(size)
    for row in range(size):
        for column in range(row):
            both = ~(missing[row] | missing[column])
            if both.sum() < 2:
                raise PolicyError(
                    "Fewer than two records have a number in both {one} and {other}, so nobody"
                    " can tell how the two vary together.",
                    "Protect them by entries of their own.",
                    one=names[column],
                    other=names[row],
                )
            together = _correlation(table[row, both], table[column, both])
            correlation[row, column] = correlation[column, row] = together
    return correlation


def _correlation(one: Floats, other: Floats) -> float:
    one, other = one - one.mean(), other - other.mean()
    length = math.sqrt(float(one @ one)) * math.sqrt(float(other @ other))
    # A column that does not vary where the other one is present varies with nothing.
    return min(max(float(one @ other) / length, -1.0), 1.0) if length > 0.0 else 0.0


def nearest_correlation(correlation: Floats) -> Floats:
    """Return the nearest correlation matrix: no negative eigenvalue, ones on the diagonal."""
    values, vectors = np.linalg.eigh(correlation)
    if values[0] >= -1e-12 * len(values):
        return correlation
    lifted = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diagonal(lifted))
    nearest: Floats = lifted / np.outer(scale, scale)
    np.fill_diagonal(nearest, 1.0)
    return (nearest + nearest.T) / 2.0


SAMPLE: Final = 20_000
"""Records a correlation is taken from, evenly spaced: enough for two digits."""


def correlation(first: Attribute, second: Attribute) -> float:
    """Return the correlation of two numeric attributes where both are known; else 0.

    Parameters
    ----------
    first, second
        The attributes; from -1 to 1, and 0 where one of them has no numbers, is constant, or
        fewer than three records have both.
    """
    if first.numbers is None or second.numbers is None:
        return 0.0
    step = max(len(first.numbers) // SAMPLE, 1)
    pair = np.stack([first.numbers[::step], second.numbers[::step]])
    pair = pair[:, np.isfinite(pair).all(axis=0)]
    if pair.shape[1] < 3:
        return 0.0
    pair = pair - pair.mean(axis=1, keepdims=True)
    scale = np.abs(pair).max(axis=1, keepdims=True)
    if (scale == 0).any():
        return 0.0
    pair /= scale
    spread = np.sqrt((pair**2).sum(axis=1))
    return float(pair[0] @ pair[1] / (spread[0] * spread[1]))
