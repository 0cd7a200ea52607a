"""The attacks of the paper on a table: what is left open as copies come in, and how errors spread.

Li, Chen, Li and Zhang, "Enabling Multilevel Trust in Privacy Preserving Data Mining", TKDE 2012,
section 6.2: Fig. 2 (normalized estimation error against the number of copies) and Fig. 3
(histograms and cumulative histograms of the error). Copies are made under a key that everyone
knows: nothing here is released, and the same question has the same answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.engine.audit.gaussian_attack import (
    Dependence,
    estimate,
    found_errors,
    joint_weights,
    learned_moments,
    learned_weights,
)
from app.engine.brownian import brownian_motion
from app.engine.covariance import Moments
from app.engine.gaussian_algorithms import correlated
from app.engine.noise_level import check_noise_level
from app.engine.progress import Context, Part
from app.engine.randomness import AttributeKey

Floats = npt.NDArray[np.float64]


def simulated_copies(
    true: Floats, levels: Sequence[float], dependence: Dependence, factor: Floats, context: Context
) -> Floats:
    """Return copies of a table with noise that hangs together as stated.

    Parameters
    ----------
    true
        The true numbers, shape (N, n).
    levels
        σ² of each copy.
    dependence
        How the noises of the copies hang together.
    factor
        L with L·Lᵀ the covariance of the noise at σ² = 1, shape (N, N).
    context
        Told of the progress; may stop the work.

    Returns
    -------
    numpy.ndarray
        Shape (M, N, n).
    """
    known = [check_noise_level(level) for level in levels]
    ids = np.arange(true.shape[1], dtype=np.uint64)
    if dependence is Dependence.LADDER:
        motion = brownian_motion(true, ids, _public_key("ladder"), known, context)
        return true + correlated(motion, factor)
    copies = np.empty((len(known), *true.shape))
    for place, level in enumerate(known):
        part = Part(context, place / len(known), (place + 1) / len(known))
        own = place if dependence is Dependence.INDEPENDENT else 0
        fresh = brownian_motion(true, ids, _public_key(f"copy {own}"), [1.0], part)
        copies[place] = true + np.sqrt(level) * correlated(fresh, factor)[0]
    return copies


@dataclass(frozen=True)
class Attacker:
    """What an attacker knows beside the copies and their levels.

    Parameters
    ----------
    samples
        From how many records μ_X and K_X are learned; None for perfect knowledge.
    structured
        Whether what is known of the noise is used (`learned_moments`) or not
        (`learned_weights`).
    """

    samples: int | None = None
    structured: bool = True


def errors_by_copies(
    true: Floats,
    copies: Floats,
    levels: Sequence[float],
    dependence: Dependence,
    moments: Moments,
    attacker: Attacker,
) -> Floats:
    """Return what the joint estimate from the first 1, 2, … copies leaves open (Fig. 2).

    Parameters
    ----------
    true
        The true numbers, shape (N, n).
    copies
        Shape (M, N, n), in the order in which they come in; their noise is proportional.
    levels
        σ² of each.
    dependence
        How their noises hang together; the attacker knows it.
    moments
        μ_X and K_X, used where the attacker knows them.
    attacker
        What else the attacker knows.

    Returns
    -------
    numpy.ndarray
        The normalized error of each attribute, shape (M, N).
    """
    errors = np.empty((len(levels), len(true)))
    for count in range(1, len(levels) + 1):
        held, rungs = copies[:count], list(levels[:count])
        weights, mean = _knowledge(held, rungs, dependence, moments, attacker)
        errors[count - 1] = found_errors(true, estimate(held, weights, mean))
    return errors


@dataclass(frozen=True)
class ErrorHistogram:
    """How far off an estimate is, over all records (Fig. 3).

    Parameters
    ----------
    edges
        The bins' edges in the attribute's unit, shape (B + 1,); the first is 0.
    shares
        The share of records in each bin, shape (B,); what lies beyond is left out.
    cumulated
        The share of records up to each bin's upper edge, shape (B,).
    """

    edges: Floats
    shares: Floats
    cumulated: Floats


def error_histogram(true: Floats, estimated: Floats, edges: Floats) -> ErrorHistogram:
    """Return the distribution of |X̂ - X| of one attribute.

    Parameters
    ----------
    true, estimated
        Shape (n,), NaN where missing.
    edges
        Increasing, shape (B + 1,).
    """
    off = np.abs(estimated - true)
    off = off[~np.isnan(off)]
    counts, _ = np.histogram(off, edges)
    below = float((off < edges[0]).sum())
    rows = max(len(off), 1)
    return ErrorHistogram(edges, counts / rows, (below + np.cumsum(counts)) / rows)


def _knowledge(
    copies: Floats,
    levels: Sequence[float],
    dependence: Dependence,
    moments: Moments,
    attacker: Attacker,
) -> tuple[Floats, Floats]:
    """Return the weights and the mean that an attacker estimates with."""
    if attacker.samples is not None and not attacker.structured:
        return learned_weights(copies, levels, attacker.samples)
    if attacker.samples is not None:
        best = int(np.argmin(levels))
        moments = learned_moments(copies[best], levels[best], attacker.samples)
    covariance = moments.covariance
    return joint_weights(levels, dependence, covariance, covariance), moments.mean


def _public_key(purpose: str) -> AttributeKey:
    return AttributeKey(hashlib.sha256(f"known to everyone: {purpose}".encode()).digest())
