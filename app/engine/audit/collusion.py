"""How many records a coalition restores: on a ladder, and if every release had its own noise.

Everyone in a coalition makes the best guess: the value that is likeliest given all releases
(Bayes). On a ladder the releases form a Markov chain, so a coalition knows what its most
trusted member knows (Xiao, Tao and Chen, VLDB 2009, Lemma 1). With independent noise the
likelihoods multiply (same paper, Appendix 2). The paper's own measure, the average posterior
of the true value, is reported beside the share of right guesses.

Averages over many draws take them from AES under a key that everyone knows: nothing here is
released, and the same question has the same answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.engine.audit.known_draws import draw_released, places_of, uniforms
from app.engine.matrix import PerturbationMatrix, Vector
from app.engine.progress import Context

MOST_OUTCOMES = 400_000
"""Up to this many joint outcomes are enumerated; beyond, outcomes are drawn."""

MOST_DRAWS = 40_000
FEWEST_DRAWS = 2_000
WORK = 100_000_000
"""Likelihoods computed at most when outcomes are drawn."""

BLOCK = 2_000_000
"""Likelihoods held in memory at once."""


@dataclass(frozen=True)
class Restoration:
    """How well true values can be restored from releases.

    Parameters
    ----------
    guessed
        The expected share of records whose true value is the likeliest one.
    posterior
        The average probability given to the true value, "reconstruction probability" in the
        paper; never more than `guessed`.
    half_width
        Half the width of the 95 % interval of `guessed`; 0 where it is exact.
    """

    guessed: float
    posterior: float
    half_width: float = 0.0


def restored_without(frequencies: Vector) -> Restoration:
    """Return what is restored without any release, knowing the frequencies alone.

    Parameters
    ----------
    frequencies
        The share of each value, shape (m,), summing to 1.
    """
    shares = np.asarray(frequencies, dtype=np.float64)
    return Restoration(float(shares.max()), float(shares @ shares))


def restored_alone(
    matrix: PerturbationMatrix, frequencies: Vector, context: Context
) -> Restoration:
    """Return what one recipient restores; exact.

    Parameters
    ----------
    matrix
        The recipient's release.
    frequencies
        The share of each value, shape (m,), summing to 1.
    context
        Progress and cancelling.
    """
    shares = np.asarray(frequencies, dtype=np.float64)
    size = matrix.size
    everything = np.arange(size)
    step = max(BLOCK // size, 1)
    guessed = posterior = 0.0
    for start in range(0, size, step):
        context.report(start / size, "Weighing released values")
        rows = everything[start : start + step]
        part = _sums(matrix.block(rows, everything) * shares)
        guessed, posterior = guessed + part[0], posterior + part[1]
    return Restoration(guessed, posterior)


def restored_together(
    matrices: Sequence[PerturbationMatrix], frequencies: Vector, context: Context
) -> Restoration:
    """Return what a coalition restores if each release had noise of its own.

    Exact where the joint outcomes are few enough to be enumerated; otherwise an average over
    outcomes drawn with a fixed start, so that the same question has the same answer.

    Parameters
    ----------
    matrices
        The members' releases, at least one, all over the same domain.
    frequencies
        The share of each value, shape (m,), summing to 1.
    context
        Progress and cancelling.
    """
    if len(matrices) == 1:
        return restored_alone(matrices[0], frequencies, context)
    shares = np.asarray(frequencies, dtype=np.float64)
    if matrices[0].size ** len(matrices) * matrices[0].size <= MOST_OUTCOMES * 8:
        return _enumerated(matrices, shares, context)
    return _drawn(matrices, shares, context)


def _enumerated(
    matrices: Sequence[PerturbationMatrix], shares: Vector, context: Context
) -> Restoration:
    """Go through every joint outcome of all members but the last, which is done at once."""
    dense = [matrix.dense() for matrix in matrices]
    size, total = shares.size, shares.size ** (len(matrices) - 1)
    guessed = posterior = 0.0
    outcomes = itertools.product(range(size), repeat=len(matrices) - 1)
    for done, seen in enumerate(outcomes):
        if done % 256 == 0:
            context.report(done / total, "Going through joint outcomes")
        joint = shares.copy()
        for table, value in zip(dense[:-1], seen, strict=True):
            joint *= table[value]
        part = _sums(dense[-1] * joint)
        guessed, posterior = guessed + part[0], posterior + part[1]
    return Restoration(guessed, posterior)


def _drawn(matrices: Sequence[PerturbationMatrix], shares: Vector, context: Context) -> Restoration:
    """Average over drawn outcomes the chance that the best guess is right, given the outcome."""
    size = shares.size
    draws = min(max(WORK // (size * len(matrices)), FEWEST_DRAWS), MOST_DRAWS)
    true = np.sort(places_of(np.cumsum(shares), uniforms(draws, 0)))
    seen = [
        draw_released(matrix, true, uniforms(draws, place + 1))
        for place, matrix in enumerate(matrices)
    ]
    best, hit = np.empty(draws), np.empty(draws)
    step = max(BLOCK // size, 1)
    for start in range(0, draws, step):
        context.report(start / draws, "Drawing joint outcomes")
        part = slice(start, start + step)
        joint = np.broadcast_to(shares, (len(true[part]), size)).copy()
        for matrix, values in zip(matrices, seen, strict=True):
            joint *= _rows(matrix, values[part])
            joint /= joint.max(axis=1, keepdims=True)
        joint /= joint.sum(axis=1, keepdims=True)
        best[part] = joint.max(axis=1)
        hit[part] = (joint * joint).sum(axis=1)
    error = float(best.std(ddof=1)) / draws**0.5
    return Restoration(float(best.mean()), float(hit.mean()), 1.96 * error)


def _sums(joint: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Add up, over outcomes, the joint weight of the best guess and of Bayes' own draws.

    `joint` has a row for each outcome: Pr[outcome and original = i], shape (outcomes, m).
    """
    weight = joint.sum(axis=1)
    squares = np.divide(
        (joint * joint).sum(axis=1), weight, out=np.zeros_like(weight), where=weight > 0.0
    )
    return float(joint.max(axis=1).sum()), float(squares.sum())


def _rows(matrix: PerturbationMatrix, values: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return Pr[released = value | original] for each of some values, shape (values, m)."""
    kinds, which = np.unique(values, return_inverse=True)
    return matrix.block(kinds, np.arange(matrix.size))[which]
