"""The three algorithms of the paper, as published: noise for several levels at once.

Li, Chen, Li and Zhang, "Enabling Multilevel Trust in Privacy Preserving Data Mining", TKDE 2012,
section 5. The covariance of all noise is Σ ⊗ K with Σ_ij = min(σ²_i, σ²_j), the corner-wave
matrix (15), and K that of one copy at σ² = 1. So all work on levels is done on matrices with a
row for each level, and the attributes are correlated afterwards (their Lemma 1).

Releases of the product come from the Brownian ladder (`sfumato.engine.ladders.brownian`), which has
the same law and needs no history. Algorithm 3 is for those who have the noise of some copies in
hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

NormalSource = Callable[[tuple[int, ...]], Floats]
"""Returns independent standard normals of a shape, others at every call."""


def corner_wave(levels: Sequence[float], others: Sequence[float] | None = None) -> Floats:
    """Return Σ_ij = min(σ²_i, σ²_j): the covariance of noise between levels (15).

    Parameters
    ----------
    levels
        σ² of each row.
    others
        σ² of each column; the same as of the rows where not given.
    """
    matrix: Floats = np.minimum.outer(
        np.asarray(levels, dtype=np.float64),
        np.asarray(levels if others is None else others, dtype=np.float64),
    )
    return matrix


def parallel_noise(
    levels: Sequence[float], factor: Floats, rows: int, normals: NormalSource
) -> Floats:
    """Generate the noise of all levels jointly (algorithm 1).

    Parameters
    ----------
    levels
        σ² of each copy, in any order.
    factor
        L with L·Lᵀ = K, shape (N, N).
    rows
        The number of records, n.
    normals
        Where randomness comes from.

    Returns
    -------
    numpy.ndarray
        The noise Z, shape (M, N, n).
    """
    between = _root(corner_wave(levels))
    fresh = normals((len(levels), len(factor), rows))
    return correlated(_combined(between, fresh), factor)


def sequential_noise(
    levels: Sequence[float], factor: Floats, rows: int, normals: NormalSource
) -> Iterator[tuple[float, Floats]]:
    """Generate one level's noise after the other, least noise first (algorithm 2).

    Only one copy's noise is in memory at a time.

    Parameters
    ----------
    levels, factor, rows, normals
        As for `parallel_noise`.

    Yields
    ------
    tuple
        σ² and the noise at it, shape (N, n).
    """
    noise: Floats = np.zeros((len(factor), rows))
    before = 0.0
    for level in sorted(levels):
        fresh = normals((1, len(factor), rows))
        noise = noise + np.sqrt(level - before) * correlated(fresh, factor)[0]
        before = level
        yield level, noise


def conditional_law(known: Sequence[float], wanted: Sequence[float]) -> tuple[Floats, Floats]:
    """Return the law of further noise, given that of known copies: (17) and (18) for Σ.

    Parameters
    ----------
    known
        σ² of the L copies whose noise is known, each once.
    wanted
        σ² of the others.

    Returns
    -------
    tuple
        The weights A of the known noise in the conditional mean, shape (M - L, L), and the
        conditional covariance between the wanted levels, shape (M - L, M - L).
    """
    across = corner_wave(wanted, known)
    weights: Floats = np.linalg.solve(corner_wave(known), across.T).T.astype(np.float64)
    return weights, corner_wave(wanted) - weights @ across.T


def noise_on_demand(
    known: Sequence[float],
    noise: Floats,
    wanted: Sequence[float],
    factor: Floats,
    normals: NormalSource,
) -> Floats:
    """Generate noise at further levels, given that of copies that exist (algorithm 3).

    Parameters
    ----------
    known
        σ² of the L existing copies, in any order.
    noise
        Their noise Z', shape (L, N, n).
    wanted
        σ² of the further copies, in any order.
    factor
        L with L·Lᵀ = K, shape (N, N).
    normals
        Where randomness comes from.

    Returns
    -------
    numpy.ndarray
        The noise Z'', shape (M - L, N, n).
    """
    weights, covariance = conditional_law(known, wanted)
    fresh = normals((len(wanted), *noise.shape[1:]))
    further = correlated(_combined(_root(covariance), fresh), factor)
    further += _combined(weights, noise)
    return further


def correlated(fresh: Floats, factor: Floats) -> Floats:
    """Return L·G for each copy's independent normals G; shape (M, N, n) in and out."""
    noise: Floats = fresh * factor[0, 0] if factor.shape == (1, 1) else np.matmul(factor, fresh)
    return noise


def _combined(weights: Floats, copies: Floats) -> Floats:
    """Return linear combinations of copies: weights of shape (A, B) of copies (B, N, n)."""
    flat = copies.reshape(len(copies), -1)
    combined: Floats = (weights @ flat).reshape(len(weights), *copies.shape[1:])
    return combined


def _root(covariance: Floats) -> Floats:
    """Return C with C·Cᵀ the covariance, which may be singular (a wanted level is known)."""
    values, vectors = np.linalg.eigh(covariance)
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return root
