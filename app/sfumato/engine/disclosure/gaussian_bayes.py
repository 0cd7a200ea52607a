"""A non-linear attacker: the Bayes estimate of somebody who knows how the numbers are distributed.

The paper allows linear estimates only. Where X is not normal, the posterior mean given the
distribution does better: with few values, or groups that lie apart, much better. The ladder
holds for this attacker as well. Given a record's true numbers x, copies with noise of covariance
Σ ⊗ K have a likelihood that depends on them through

    τ = 1ᵀ·Σ⁻¹·1  and  y* = Σ_m w_m·Y_m / τ  with  w = Σ⁻¹·1

alone: it is that of a single copy y* at σ² = 1/τ. For the corner-wave matrix w is 1/σ² of the
best copy and 0 for all others, so the posterior given all copies *is* that given the best one,
whatever is known of X.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.gaussian_attack import Dependence, between_copies

Floats = npt.NDArray[np.float64]

_WORK: Final = 4_000_000
"""Likelihoods held in memory at once."""


@dataclass(frozen=True)
class Prior:
    """What the attacker knows of the distribution: numbers that occur, and how often.

    Parameters
    ----------
    atoms
        The true numbers that records can have, shape (N, A).
    shares
        How probable each is, shape (A,), summing to 1.
    """

    atoms: Floats
    shares: Floats


def empirical_prior(true: Floats, most: int = 5_000) -> Prior:
    """Return the distribution of a table's own records.

    Parameters
    ----------
    true
        The true numbers, shape (N, n); incomplete records are left out.
    most
        At most so many different records, evenly spaced.

    Raises
    ------
    EstimationError
        If no record is complete.
    """
    complete = true[:, ~np.isnan(true).any(axis=0)]
    if not complete.shape[1]:
        raise EstimationError("No record has all of these numbers.", "Choose fewer attributes.")
    atoms, counts = np.unique(complete, axis=1, return_counts=True)
    if atoms.shape[1] > most:
        chosen = np.linspace(0, atoms.shape[1] - 1, most).astype(np.intp)
        atoms, counts = atoms[:, chosen], counts[chosen]
    return Prior(atoms, counts / counts.sum())


@dataclass(frozen=True)
class Combined:
    """The single copy that says all that several copies say.

    Parameters
    ----------
    numbers
        What it shows, shape (N, n).
    level
        Its σ².
    """

    numbers: Floats
    level: float


def combine(copies: Floats, levels: Sequence[float], dependence: Dependence) -> Combined:
    """Return the sufficient statistic of several copies for the true numbers.

    Parameters
    ----------
    copies
        The copies' numbers, shape (M, N, n).
    levels
        Their σ².
    dependence
        How their noises hang together. Linearly dependent noise has no likelihood: two copies
        give the true numbers away.

    Raises
    ------
    EstimationError
        If the noises determine one another: linearly dependent, or two copies of one level.
    """
    between = between_copies(levels, dependence)
    if np.linalg.matrix_rank(between) < len(levels):
        raise EstimationError(
            "The noises of these copies determine one another.",
            "Leave out a copy of the same level, or look at the linear estimate.",
        )
    weights = np.linalg.solve(between, np.ones(len(levels)))
    precision = float(weights.sum())
    numbers: Floats = np.einsum("m,mir->ir", weights / precision, copies)
    return Combined(numbers, 1.0 / precision)


def posterior_means(
    numbers: Floats, level: float, prior: Prior, factor: Floats, context: Context
) -> Floats:
    """Return the mean of each record's true numbers given one copy: the Bayes estimate.

    Parameters
    ----------
    numbers
        What the copy shows, shape (N, n).
    level
        Its σ².
    prior
        What is known of the true numbers.
    factor
        L with L·Lᵀ the covariance of the noise at σ² = 1, shape (N, N).
    context
        Told of the progress; may stop the work.

    Returns
    -------
    numpy.ndarray
        Shape (N, n).
    """
    # From the prior's middle: squares of years, or of seconds since 1970, would drown the noise.
    middle = prior.atoms.mean(axis=1, keepdims=True)
    atoms = _white(prior.atoms - middle, factor)
    prior_part = np.log(prior.shares) - 0.5 * np.square(atoms).sum(axis=0) / level
    shown = _white(numbers - middle, factor)
    estimates = np.empty_like(numbers)
    step = max(1, _WORK // atoms.shape[1])
    rows = numbers.shape[1]
    for start in range(0, rows, step):
        context.report(start / rows, "Estimating from the distribution")
        block = slice(start, start + step)
        scores = shown[:, block].T @ atoms / level + prior_part
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores, out=scores)
        chances /= chances.sum(axis=1, keepdims=True)
        estimates[:, block] = prior.atoms @ chances.T
    context.report(1.0, "Estimating from the distribution")
    return estimates


@dataclass(frozen=True)
class BayesErrors:
    """The normalized error of the Bayes estimate, by attribute, each of shape (N,).

    Parameters
    ----------
    together
        Given all copies.
    best
        Given the copy with the least noise alone.
    apart
        The largest difference between the two estimates of any record, in spreads.
    """

    together: Floats
    best: Floats
    apart: float


def bayes_errors(
    true: Floats,
    copies: Floats,
    levels: Sequence[float],
    dependence: Dependence,
    factor: Floats,
    context: Context,
) -> BayesErrors:
    """Compare the Bayes estimate from all copies with that from the best one.

    Parameters
    ----------
    true
        The true numbers, shape (N, n); the attacker knows their distribution. Incomplete
        records are left out.
    copies, levels, dependence
        As for `combine`.
    factor
        As for `posterior_means`.
    context
        Told of the progress; may stop the work.
    """
    known = ~np.isnan(true).any(axis=0)
    true, copies = true[:, known], copies[:, :, known]
    prior = empirical_prior(true)
    everything = combine(copies, levels, dependence)
    best = int(np.argmin(levels))
    together, alone = (
        posterior_means(numbers, level, prior, factor, context)
        for numbers, level in (
            (everything.numbers, everything.level),
            (copies[best], levels[best]),
        )
    )
    variances = true.var(axis=1)
    spreads = np.sqrt(variances)[:, np.newaxis]
    return BayesErrors(
        np.square(together - true).mean(axis=1) / variances,
        np.square(alone - true).mean(axis=1) / variances,
        float(np.abs((together - alone) / spreads).max()),
    )


@dataclass(frozen=True)
class BayesGrowth:
    """The Bayes estimate's normalized error as copies are pooled, the one with least noise first.

    Parameters
    ----------
    errors
        By the number of copies and the attribute, shape (M, N).
    apart
        The largest difference, in spreads, between the estimate of any record from all copies
        and that from the first one.
    """

    errors: Floats
    apart: float


def bayes_by_copies(
    true: Floats,
    copies: Floats,
    levels: Sequence[float],
    dependence: Dependence,
    factor: Floats,
    context: Context,
) -> BayesGrowth:
    """Return the error of the Bayes estimate as copies are pooled one by one.

    Parameters
    ----------
    true, copies, dependence, factor
        As for `bayes_errors`; no number is missing.
    levels
        The copies' σ², increasing. Two copies of one level are the same copy on a ladder, so
        there the second one is passed over.
    context
        Told of the progress; may stop the work.
    """
    prior = empirical_prior(true)
    variances = true.var(axis=1)
    held: list[int] = []
    errors: list[Floats] = []
    estimates: list[Floats] = []
    for place, level in enumerate(levels):
        part = Part(context, place / len(levels), (place + 1) / len(levels))
        if held and dependence is Dependence.LADDER and levels[held[-1]] == level:
            errors.append(errors[-1])
            continue
        held.append(place)
        pooled = combine(copies[held], [levels[at] for at in held], dependence)
        estimates.append(posterior_means(pooled.numbers, pooled.level, prior, factor, part))
        errors.append(np.square(estimates[-1] - true).mean(axis=1) / variances)
    apart = np.abs(estimates[-1] - estimates[0]) / np.sqrt(variances)[:, np.newaxis]
    return BayesGrowth(np.array(errors), float(apart.max()))


def _white(numbers: Floats, factor: Floats) -> Floats:
    """Return L⁻¹·x: numbers on the scale on which the noise is standard normal."""
    return np.asarray(np.linalg.solve(factor, numbers), dtype=np.float64)
