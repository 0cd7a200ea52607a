"""How many records a coalition restores: on a ladder, and if every release had its own noise.

Everyone in a coalition makes the best guess: the value that is likeliest given all releases
(Bayes). On a ladder the releases form a Markov chain, so a coalition knows what its most
trusted member knows (Xiao, Tao and Chen, VLDB 2009, Lemma 1). With independent noise the
likelihoods multiply (same paper, Appendix 2). The paper's own measure, the average posterior
of the true value, is reported beside the share of right guesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.progress import Context
from sfumato.engine.disclosure.coalition_risk import risk_of_independent
from sfumato.engine.matrices.matrix import PerturbationMatrix, Vector

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

    The very figures that `sfumato.engine.disclosure.coalition_risk` finds record by record.

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
    risk = risk_of_independent(matrices, shares, context)
    return Restoration(risk.guessed, risk.average, risk.guessed_error)


def _sums(joint: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Add up, over outcomes, the joint weight of the best guess and of Bayes' own draws.

    `joint` has a row for each outcome: Pr[outcome and original = i], shape (outcomes, m).
    """
    weight = joint.sum(axis=1)
    squares = np.divide(
        (joint * joint).sum(axis=1), weight, out=np.zeros_like(weight), where=weight > 0.0
    )
    return float(joint.max(axis=1).sum()), float(squares.sum())
