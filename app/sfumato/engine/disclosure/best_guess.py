"""The attacker's best guess at a value: the one that is likeliest given what is seen.

By Bayes' rule that is the value x with the largest Pr[x]·Pr[seen | x]. Whoever counts right guesses
counts them here: over all outcomes, over outcomes that were drawn, or over the records themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats, Indices, distinct
from sfumato.engine.matrices.hadamard_matrix import HadamardMatrix
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector
from sfumato.engine.matrices.retention_matrix import (
    Places,
    RetentionMatrix,
    largest_of_others,
    sums_by_member,
)

ENTRIES_AT_ONCE = 2_000_000
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
    if isinstance(matrix, HadamardMatrix):
        return Restoration(*matrix.restored(shares))
    context.report(0.0, "Weighing released values")
    if isinstance(matrix, RetentionMatrix):
        return _restored_of_kept(matrix, shares)
    outcomes, everything = matrix.outcomes, np.arange(matrix.size)
    step = max(ENTRIES_AT_ONCE // matrix.size, 1)
    guessed = posterior = 0.0
    for start in range(0, outcomes, step):
        context.report(start / outcomes, "Weighing released values")
        rows = np.arange(start, min(start + step, outcomes))
        part = _sums(matrix.block(rows, everything) * shares)
        guessed, posterior = guessed + part[0], posterior + part[1]
    return Restoration(guessed, posterior)


def _restored_of_kept(matrix: RetentionMatrix, shares: Vector) -> Restoration:
    """Return what `restored_alone` does from sums over the values: none over pairs of them."""
    kept = shares * matrix.retention
    replaced = shares * matrix.replacement
    weight = kept + replaced.sum()
    squares = kept * (kept + replaced + replaced) + (replaced * replaced).sum()
    squares = np.divide(squares, weight, out=np.zeros_like(weight), where=weight > 0.0)
    return Restoration(float(_best_of_kept(kept, replaced).sum()), float(squares.sum()))


def _best_of_kept(kept: Vector, replaced: Vector, member: Places | slice = slice(None)) -> Vector:
    """Return how much the best guess weighs where each value is released, shape (m,).

    It is what was released itself, or else the value that others are replaced from most often.

    Parameters
    ----------
    kept
        Pr[value and kept], shape (m,).
    replaced
        Pr[value and replaced by a certain one], of each value that is guessed, shape (k,).
    member
        Which of these each released value is, shape (m,); without it, k = m and it is its own.
    """
    best: Vector = np.maximum(kept + replaced[member], largest_of_others(replaced)[member])
    return best


def weight_of_best(joint: Floats) -> Vector:
    """Return how much the likeliest value weighs in each outcome, shape (outcomes,).

    Parameters
    ----------
    joint
        Pr[outcome and original = x], or what is believed of x there, shape (outcomes, m).
    """
    weight: Vector = joint.max(axis=1)
    return weight


def best_guess(belief: Floats) -> Indices:
    """Return the likeliest value in each outcome, the first of those that are alike.

    Parameters
    ----------
    belief
        What is believed of each value, in any unit that rises with it, shape (outcomes, m); or of
        one outcome, shape (m,).
    """
    guess: Indices = belief.argmax(axis=-1)
    return guess


def guesses_at_released(belief: Floats, matrix: PerturbationMatrix, released: Indices) -> Indices:
    """Return the likeliest value once a value is released of each record, shape (k,).

    Parameters
    ----------
    belief
        What is believed of each record before, shape (k, m).
    matrix
        The recipient's release.
    released
        The value that is released of each, shape (k,).
    """
    return best_guess(belief * matrix.block(released, np.arange(matrix.size)))


def guesses_at_each(
    belief: Floats, matrix: PerturbationMatrix
) -> Callable[[int], npt.NDArray[np.integer]]:
    """Return what finds the likeliest values once one is released of all records, shape (k,).

    Parameters
    ----------
    belief, matrix
        As for `guesses_at_released`; the same value is released of each record, and all in turn.
    """
    if not isinstance(matrix, RetentionMatrix):
        return lambda released: best_guess(belief * matrix.row(released))
    # Only the value that is released weighs otherwise, so it is the guess, or else the best one
    # of the others.
    kept, records = (belief * matrix.diagonal).T.copy(), np.arange(len(belief))
    rest = belief * matrix.replacement
    first = best_guess(rest)
    highest = rest[records, first]
    rest[records, first] = -1.0
    second = best_guess(rest)
    next_highest = rest[records, second]

    def guesses(released: int) -> npt.NDArray[np.integer]:
        itself = first == released
        other, weight = np.where(itself, second, first), np.where(itself, next_highest, highest)
        own = kept[released]
        return np.where((own > weight) | ((own == weight) & (released < other)), released, other)

    return guesses


def guessed_of_member(matrix: RetentionMatrix, shares: Vector, member: Places) -> float:
    """Return the share of records whose value of the attribute the whole release restores; exact.

    The released combination is seen, so that what other attributes tell of this one counts.
    """
    kept = shares * matrix.retention
    replaced = sums_by_member(shares * (1.0 - matrix.retention) / matrix.size, member)
    return float(_best_of_kept(kept, replaced, member).sum())


def restored_of_counts(true: Codes, columns: list[Codes], size: int) -> Restoration:
    """Return what the true values' counts for every combination of released values tell."""
    place = np.zeros(len(true), dtype=np.int64)
    for codes in columns:
        _, place = distinct(place * size + codes)
    pairs, counts = np.unique(place * size + true, return_counts=True)
    starts = np.flatnonzero(np.diff(pairs // size, prepend=-1))
    records = np.add.reduceat(counts, starts)
    guessed = np.maximum.reduceat(counts, starts).sum() / len(true)
    squares = np.add.reduceat(counts.astype(np.float64) ** 2, starts)
    return Restoration(float(guessed), float((squares / records).sum() / len(true)))


def _sums(joint: Floats) -> tuple[float, float]:
    """Add up, over outcomes, the joint weight of the best guess and of Bayes' own draws.

    `joint` has a row for each outcome: Pr[outcome and original = i], shape (outcomes, m).
    """
    weight = joint.sum(axis=1)
    squares = np.divide(
        (joint * joint).sum(axis=1), weight, out=np.zeros_like(weight), where=weight > 0.0
    )
    return float(weight_of_best(joint).sum()), float(squares.sum())
