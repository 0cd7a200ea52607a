"""Pictures of a perturbation matrix: whole, a part of it, or coarse for a large domain."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.engine.matrices.matrix import DENSE_LIMIT, PerturbationMatrix
from sfumato.plots.matrix_heatmap import MOST_CELLS, MatrixData

PART = 24
"""Values shown one by one of a domain that is too large to be shown whole."""

GROUPS = 24


def fits(matrix: PerturbationMatrix) -> bool:
    """Return whether all values can be shown one by one."""
    return matrix.size <= MOST_CELLS


def part_of(
    matrix: PerturbationMatrix, names: Sequence[str], first: int, count: int, recipient: str
) -> MatrixData:
    """Return some neighbouring values of a matrix.

    Parameters
    ----------
    matrix
        The matrix.
    names
        The values' names, shape (m,).
    first
        The first value's position, from 0.
    count
        How many values.
    recipient
        Who gets the release.
    """
    end = min(first + count, matrix.size)
    shown = np.arange(first, end)
    keeps, moves = _ranges(matrix)
    return MatrixData(
        tuple(names[first:end]),
        matrix.block(shown, shown),
        matrix.size,
        len(shown),
        keeps,
        moves,
        recipient,
    )


def grouped(matrix: PerturbationMatrix, recipient: str) -> MatrixData:
    """Return a whole matrix in groups of neighbouring values, in O(groups · m)."""
    edges = [round(place * matrix.size / GROUPS) for place in range(GROUPS + 1)]
    shares = np.empty((GROUPS, GROUPS))
    for place, (start, end) in enumerate(itertools.pairwise(edges)):
        within = np.zeros(matrix.size)
        within[start:end] = 1.0 / (end - start)
        shares[:, place] = np.add.reduceat(matrix.apply(within), edges[:-1])
    keeps, moves = _ranges(matrix)
    names = tuple(f"{a + 1}–{b}" for a, b in itertools.pairwise(edges))
    return MatrixData(names, shares, matrix.size, matrix.size, keeps, moves, recipient)


def _ranges(
    matrix: PerturbationMatrix,
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least and greatest chance to be kept, and to become a certain other value.

    For domains too large for a whole matrix, the latter is each column's average.
    """
    diagonal = matrix.diagonal
    moves: npt.NDArray[np.float64] = (1.0 - diagonal) / (matrix.size - 1)
    if matrix.size <= min(DENSE_LIMIT, 512):
        dense = matrix.dense()
        moves = dense[~np.eye(matrix.size, dtype=bool)]
    return (
        (float(diagonal.min()), float(diagonal.max())),
        (float(moves.min()), float(moves.max())),
    )
