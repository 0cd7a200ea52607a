"""What a coalition estimates from noisy copies, by the best linear estimate and by Bayes' rule.

Li, Chen, Li and Zhang, "Enabling Multilevel Trust in Privacy Preserving Data Mining", TKDE 2012,
equations (6) to (8). The attacker holds M copies Y_i = X + Z_i and knows, or has estimated, the
mean and the covariance of X, and how the noises of the copies hang together:

* as on a ladder, Cov[Z_i, Z_j] = min(σ²_i, σ²_j)·K: nothing is gained over the best copy;
* independently: errors average out (their Theorem 3);
* linearly dependent, Z_i = (σ_i/σ_j)·Z_j: two copies give X away (their section 4.2.2).

The paper allows linear estimates only. A stronger attacker knows how the numbers are distributed
and makes the Bayes estimate. Where X is not normal, the posterior mean given the
distribution does better: with few values, or groups that lie apart, much better. The ladder
holds for this attacker as well. Given a record's true numbers x, copies with noise of covariance
Σ ⊗ K have a likelihood that depends on them through

    τ = 1ᵀ·Σ⁻¹·1  and  y* = Σ_m w_m·Y_m / τ  with  w = Σ⁻¹·1

alone: it is that of a single copy y* at σ² = 1/τ. For the corner-wave matrix w is 1/σ² of the
best copy and 0 for all others, so the posterior given all copies *is* that given the best one,
whatever is known of X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

import numpy as np

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, one_by_one
from sfumato.engine.core.values import Floats, distinct_columns
from sfumato.engine.disclosure.noise_law import NoiseLaw
from sfumato.engine.ladders.brownian import check_noise_level
from sfumato.engine.table.covariance import RecordMoments

_SINGULAR: Final = 1e-13
"""Directions of a covariance with a smaller share of its size count as certain."""


class Dependence(StrEnum):
    """How the noises of several copies hang together."""

    LADDER = "ladder"
    INDEPENDENT = "independent"
    LINEAR = "linear"


@dataclass(frozen=True)
class Errors:
    """What is left open by an estimate.

    Parameters
    ----------
    covariance
        The covariance of X̂ - X, shape (N, N).
    normalized
        The share of each attribute's variance, shape (N,).
    overall
        The trace of the error's covariance over that of K_X: "normalized estimation error".
    """

    covariance: Floats
    normalized: Floats
    overall: float


def between_copies(levels: Sequence[float], dependence: Dependence) -> Floats:
    """Return Σ: the covariance between the noises of copies, K left out, shape (M, M).

    Raises
    ------
    LevelError
        If a level is not positive.
    """
    known = [check_noise_level(level) for level in levels]
    if dependence is Dependence.LADDER:
        return np.minimum.outer(known, known)  # the corner-wave matrix, equation (15)
    if dependence is Dependence.INDEPENDENT:
        return np.diag(known)
    spreads = np.sqrt(known)
    return np.outer(spreads, spreads)


def expected_errors(
    levels: Sequence[float], dependence: Dependence, covariance: Floats, noise: Floats
) -> Errors:
    """Return what the joint estimate from some copies leaves open, exactly: equation (7).

    Parameters
    ----------
    levels
        σ² of each copy that the coalition holds, at least one.
    dependence
        How their noises hang together.
    covariance
        K_X, shape (N, N).
    noise
        The covariance of a copy's noise at σ² = 1: K_X where it is proportional.
    """
    weights = joint_weights(levels, dependence, covariance, noise)
    size = len(covariance)
    told = sum(weights[copy] for copy in range(len(levels)))
    left = covariance - told @ covariance
    left = (left + left.T) / 2.0
    normalized = np.clip(np.diagonal(left) / np.diagonal(covariance), 0.0, 1.0)
    overall = float(np.clip(np.trace(left) / np.trace(covariance), 0.0, 1.0))
    return Errors(left.reshape(size, size), normalized, overall)


def errors_by_copies(
    levels: Sequence[float], covariance: Floats, noise: Floats
) -> dict[Dependence, Floats]:
    """Return what is left open of the best-told attribute as copies are pooled one by one.

    Parameters
    ----------
    levels
        The copies' σ², in the order in which they are pooled, shape (M,).
    covariance, noise
        As for `expected_errors`.

    Returns
    -------
    dict
        For each way in which noises hang together, the smallest normalized error among the
        attributes once so many copies are pooled, shape (M,).
    """
    return {
        dependence: np.array(
            [
                expected_errors(levels[: count + 1], dependence, covariance, noise).normalized.min()
                for count in range(len(levels))
            ]
        )
        for dependence in Dependence
    }


def joint_weights(
    levels: Sequence[float], dependence: Dependence, covariance: Floats, noise: Floats
) -> Floats:
    """Return what the joint estimate weighs each copy with: K_X·Hᵀ·K_Y⁻¹ of equation (6).

    Where the noise is proportional to K_X the weights are numbers times the identity, found
    from a matrix with a row for each copy (the paper's Kronecker structure).

    Parameters
    ----------
    levels, dependence, covariance, noise
        As for `expected_errors`.

    Returns
    -------
    numpy.ndarray
        One matrix for each copy, shape (M, N, N).
    """
    between = between_copies(levels, dependence)
    copies, size = len(levels), len(covariance)
    if not copies:
        raise EstimationError("There is no copy to estimate from.", "Choose at least one.")
    if np.array_equal(covariance, noise):
        shares = _inverse(np.ones((copies, copies)) + between) @ np.ones(copies)
        return shares[:, np.newaxis, np.newaxis] * np.eye(size)
    # On the scale of correlations, so that no column's unit outweighs another's.
    spreads = np.sqrt(np.diagonal(covariance))
    scale = np.outer(spreads, spreads)
    signal = covariance / scale
    shown = np.kron(np.ones((copies, copies)), signal) + np.kron(between, noise / scale)
    across = np.kron(np.ones((1, copies)), signal)
    weights = across @ _inverse(shown)
    scaled = weights.reshape(size, copies, size).transpose(1, 0, 2)
    return scaled * np.outer(spreads, 1.0 / spreads)


def estimate(copies: Floats, weights: Floats, mean: Floats) -> Floats:
    """Return the joint estimate of every record: equation (6).

    Parameters
    ----------
    copies
        The copies' numbers, shape (M, N, n). A record with something missing is estimated as
        missing.
    weights
        What `joint_weights` returned, shape (M, N, N).
    mean
        The attacker's μ_X, shape (N,).

    Returns
    -------
    numpy.ndarray
        Shape (N, n).
    """
    centred = copies - mean[:, np.newaxis]
    return mean[:, np.newaxis] + np.einsum("mij,mjr->ir", weights, centred)


def learned_moments(copy: Floats, level: float, samples: int, noise: Floats) -> RecordMoments:
    """Return what an attacker without knowledge of X learns of it from a sample of a copy.

    The mean of a copy is μ_X, and its covariance (1 + σ²)·K_X where the noise is proportional;
    where each attribute has noise of its own, only the variances are that much too large.

    Parameters
    ----------
    copy
        A copy's numbers, shape (N, n).
    level
        Its σ².
    samples
        How many records, evenly spaced, are looked at. The paper takes 100·N², 200·N², 300·N².
    noise
        The covariance of the noise at σ² = 1, shape (N, N): the attacker is told whether the
        attributes' noises go together, and not how large it is.

    Raises
    ------
    EstimationError
        If there are fewer complete records than attributes.
    """
    chosen = sampled(copy, samples)
    shown: Floats = np.array(np.cov(chosen), dtype=np.float64, ndmin=2)
    covariance: Floats = shown / (1.0 + check_noise_level(level))
    own = np.eye(len(shown), dtype=np.bool_)
    if not noise[~own].any():
        covariance = np.where(own, covariance, shown)
    return RecordMoments(chosen.mean(axis=1), covariance)


def learned_weights(copies: Floats, levels: Sequence[float], samples: int) -> tuple[Floats, Floats]:
    """Return the weights and the mean of an attacker who learns all covariances from a sample.

    The covariance of all copies is that of the sample, and that of X with a copy the copy's own
    divided by 1 + σ². Unlike somebody who puts `learned_moments` into equation (6), this
    attacker does not use what is known of the noise, and pays for every further copy with
    further entries to learn: the curves that flatten and rise in the paper's Fig. 2.

    Parameters
    ----------
    copies
        The copies' numbers, shape (M, N, n).
    levels
        Their σ².
    samples
        How many records, evenly spaced, are looked at.

    Returns
    -------
    tuple
        The weights, shape (M, N, N), and the mean, shape (N,).

    Raises
    ------
    EstimationError
        If there are not more complete records than numbers in a record.
    """
    count, size, _ = copies.shape
    sample = sampled(copies.reshape(count * size, -1), samples)
    shown: Floats = np.array(np.cov(sample), dtype=np.float64, ndmin=2)
    own = [
        shown[start : start + size, start : start + size] / (1.0 + check_noise_level(level))
        for start, level in zip(range(0, count * size, size), levels, strict=True)
    ]
    weights = np.hstack(own) @ _inverse(shown)
    best = int(np.argmin(levels))
    mean = sample.mean(axis=1).reshape(count, size)[best]
    return weights.reshape(size, count, size).transpose(1, 0, 2), mean


def sampled(numbers: Floats, samples: int) -> Floats:
    """Return complete records of a copy, evenly spaced.

    Parameters
    ----------
    numbers
        NaN where missing, shape (N, n).
    samples
        At most how many.

    Raises
    ------
    EstimationError
        If there are not more of them than numbers in a record.
    """
    complete = np.flatnonzero(~np.isnan(numbers).any(axis=0))
    places = np.linspace(0, len(complete) - 1, min(samples, len(complete))).astype(np.intp)
    if len(places) <= len(numbers):
        raise EstimationError(
            "{rows:,} complete {rows:record is|records are} too few to learn how {count:,}"
            " {count:number varies|numbers vary}.",
            "Take a larger sample.",
            rows=len(places),
            count=len(numbers),
        )
    return numbers[:, complete[places]]


def _inverse(matrix: Floats) -> Floats:
    """Return the inverse of a covariance; where it has none, that of what it covers."""
    return np.array(np.linalg.pinv(matrix, rcond=_SINGULAR, hermitian=True), dtype=np.float64)


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
    atoms, counts = distinct_columns(complete)
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

    def scores(block: slice) -> Floats:
        return shown[:, block].T @ atoms / level + prior_part

    return _means(scores, prior, numbers.shape[1], context)


def posterior_means_by(
    laws: Sequence[NoiseLaw], copies: Floats, prior: Prior, context: Context
) -> Floats:
    """Return the Bayes estimate from copies with noise of any law, each drawn by itself.

    Parameters
    ----------
    laws
        The law of each copy's noise.
    copies
        What they show, shape (M, N, n).
    prior, context
        As for `posterior_means`.
    """
    prior_part = np.log(prior.shares)

    def scores(block: slice) -> Floats:
        told = (
            law.scores(copy[:, block], prior.atoms) for law, copy in zip(laws, copies, strict=True)
        )
        return sum(told, prior_part)

    return _means(scores, prior, copies.shape[2], context)


def _means(
    scores_of: Callable[[slice], Floats], prior: Prior, rows: int, context: Context
) -> Floats:
    """Return posterior means of records, shape (N, rows), by the scores of blocks of them."""
    estimates = np.empty((len(prior.atoms), rows))
    step = max(1, _WORK // len(prior.shares))
    for start in range(0, rows, step):
        context.report(start / rows, "Estimating from the distribution")
        block = slice(start, start + step)
        scores = scores_of(block)
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores, out=scores)
        chances /= chances.sum(axis=1, keepdims=True)
        estimates[:, block] = prior.atoms @ chances.T
    context.report(1.0, "Estimating from the distribution")
    return estimates


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
    laws: Sequence[NoiseLaw] = (),
) -> BayesGrowth:
    """Return the error of the Bayes estimate as copies are pooled one by one.

    Parameters
    ----------
    true, copies, dependence, factor
        The true numbers, shape (N, n), none missing, whose distribution the attacker knows; the
        copies, shape (M, N, n), and how their noises hang together; L with L·Lᵀ the covariance
        of the noise at σ² = 1, shape (N, N).
    levels
        The copies' σ², increasing. Two copies of one level are the same copy on a ladder, so
        there the second one is passed over.
    context
        Told of the progress; may stop the work.
    laws
        The law of each copy's noise where it is not normal. On a ladder the copy with least
        noise is all that counts, whatever the law: the others are made from it.
    """
    prior = empirical_prior(true)
    variances = true.var(axis=1)
    held: list[int] = []
    errors: list[Floats] = []
    estimates: list[Floats] = []
    for place, (level, part) in enumerate(one_by_one(context, levels)):
        if held and dependence is Dependence.LADDER and levels[held[-1]] == level:
            errors.append(errors[-1])
            continue
        held.append(place)
        if laws:
            used = held[:1] if dependence is Dependence.LADDER else held
            own = [laws[at] for at in used]
            estimates.append(posterior_means_by(own, copies[used], prior, part))
        else:
            pooled = combine(copies[held], [levels[at] for at in held], dependence)
            estimates.append(posterior_means(pooled.numbers, pooled.level, prior, factor, part))
        errors.append(np.square(estimates[-1] - true).mean(axis=1) / variances)
    apart = np.abs(estimates[-1] - estimates[0]) / np.sqrt(variances)[:, np.newaxis]
    return BayesGrowth(np.array(errors), float(apart.max()))


def _white(numbers: Floats, factor: Floats) -> Floats:
    """Return L⁻¹·x: numbers on the scale on which the noise is standard normal."""
    return np.asarray(np.linalg.solve(factor, numbers), dtype=np.float64)
