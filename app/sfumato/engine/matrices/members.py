"""What a matrix over combinations of several attributes' values does to one of the attributes.

A combination is kept with a probability of its own and else replaced evenly
(`sfumato.engine.matrices.retention_matrix`), so everything follows from vectors over the
combinations: m numbers, never m × m. `member` is each combination's value of the attribute that is
asked about, shape (m,).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.engine.matrices.matrix import OddsRatios, Vector
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, largest_of_others

Places = npt.NDArray[np.integer]


def sums_by_member(numbers: Vector, member: Places) -> Vector:
    """Return the sum over the combinations of each value of the attribute, shape (k,)."""
    return np.bincount(member, numbers).astype(np.float64)


def odds_of_member(matrix: RetentionMatrix, member: Places) -> OddsRatios:
    """Return how far a release can move the odds on each value, for any belief about all of them.

    With S the combinations that have a value, its odds rise most when one of S is released that
    shows itself most often, against the combination outside S that is least often replaced; they
    fall most the other way round.

    Returns
    -------
    OddsRatios
        Shape (k,) for the k values of the attribute.
    """
    size = int(member.max()) + 1
    most, least = np.zeros(size), np.full(size, np.inf)
    np.maximum.at(most, member, matrix.diagonal)
    np.minimum.at(least, member, _replaced(matrix))
    with np.errstate(divide="ignore"):
        up = most / -largest_of_others(-least)
    return OddsRatios(up=up, down=least / largest_of_others(most))


def matrix_of_member(matrix: RetentionMatrix, shares: Vector, member: Places) -> RetentionMatrix:
    """Return the matrix of the attribute's values alone, for somebody who looks at no other.

    A value is kept as often as its combinations are on average; what replaces it is even over its
    domain, since every value is in as many combinations.

    Parameters
    ----------
    shares
        The share of each combination, shape (m,).
    """
    size = int(member.max()) + 1
    weight = np.bincount(member, shares, minlength=size)
    # A value that does not occur is taken with all its combinations alike.
    known = weight > 0.0
    kept = np.bincount(member, shares * matrix.retention, minlength=size)
    evenly = np.bincount(member, matrix.retention, minlength=size) * size / matrix.size
    return RetentionMatrix(
        np.clip(np.where(known, kept / np.where(known, weight, 1), evenly), 0, 1)
    )


def guessed_of_member(matrix: RetentionMatrix, shares: Vector, member: Places) -> float:
    """Return the share of records whose value of the attribute the whole release restores; exact.

    The released combination is seen, so that what other attributes tell of this one counts.
    """
    kept = shares * matrix.retention
    replaced = sums_by_member(shares * _replaced(matrix), member)
    best = np.maximum(kept + replaced[member], largest_of_others(replaced)[member])
    return float(best.sum())


def likelihood_of_member(
    matrix: RetentionMatrix, shares: Vector, member: Places
) -> tuple[Vector, Vector]:
    """Return Pr[released combination | value] as two vectors, by the law of the combinations.

    It is the first, shape (k,), for any value, plus the second, shape (m,), for the value that the
    released combination itself has.
    """
    weight = sums_by_member(shares, member)[member]
    within = np.where(weight > 0.0, shares / np.where(weight > 0.0, weight, 1.0), 0.0)
    return sums_by_member(within * _replaced(matrix), member), within * matrix.retention


def _replaced(matrix: RetentionMatrix) -> Vector:
    replaced: Vector = (1.0 - matrix.retention) / matrix.size
    return replaced
