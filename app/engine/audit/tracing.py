"""Which releases a leaked file comes from: one, or a mixture of several.

A leaked row is taken as drawn from one of the candidate releases, or as altered. With
c_j(t) the number of times that row t occurs among the n rows of release j, and w the shares in
which the releases were mixed, its likelihood is Σ_j w_j·c_j(t)/n + w_0·b, where b is the
likelihood of a row put together at random. A single source is a mixture of one release and
altered rows. The likelihood is concave in w; expectation-maximization finds its maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from scipy.stats import chi2

from app.engine.audit.leak_counts import LeakCounts
from app.engine.progress import Context

Vector = npt.NDArray[np.float64]

FALSE_ALARM: Final = 0.001
"""At most this often any release is named that no row came from, if all of them are examined."""

_STEPS: Final = 2_000
_STILL: Final = 1e-3
"""The search ends when the log-likelihood can't be raised by more."""
DOUBT: Final = 0.01
"""A single source is named where the probability of all others is below this."""
_LEAST_SHARE: Final = 1e-6


@dataclass(frozen=True)
class Suspect:
    """One candidate release, and what speaks for it.

    Parameters
    ----------
    candidates
        The places of the candidates that this file can't tell apart: their compared values
        are the same in every leaked row.
    log_likelihood
        Of the file, if it comes from this release alone.
    posterior
        The probability that the file comes from this release alone, among all candidates and
        none of them, held equally probable beforehand.
    share
        The share of the file's rows that comes from it, if several were mixed.
    chance
        How probable so much evidence is if no row came from it (likelihood-ratio test).
    own_rows
        Leaked rows that occur in no other candidate.
    is_source
        Whether it is named as a source.
    """

    candidates: tuple[int, ...]
    log_likelihood: float
    posterior: float
    share: float
    chance: float
    own_rows: int
    is_source: bool


@dataclass(frozen=True)
class TracedLeak:
    """Where a leaked file comes from.

    Parameters
    ----------
    suspects
        Every candidate, the likeliest first.
    mixed
        Whether more than one release is needed to explain it.
    altered
        The share of rows that no candidate explains.
    rows
        How many rows were examined.
    """

    suspects: tuple[Suspect, ...]
    mixed: bool
    altered: float
    rows: int

    @property
    def sources(self) -> tuple[Suspect, ...]:
        """The releases that are named as sources, the largest share first."""
        return tuple(suspect for suspect in self.suspects if suspect.is_source)


def trace_leak(counts: LeakCounts, context: Context) -> TracedLeak:
    """Weigh every candidate release as the source of a leaked file, alone and with others.

    Parameters
    ----------
    counts
        How often each leaked row occurs in each candidate.
    context
        Progress and cancelling.

    Returns
    -------
    TracedLeak
        No candidate is a source where the evidence could be chance (`FALSE_ALARM`).
    """
    merged, leaked, released = _told_apart(counts)
    chances = released / counts.rows
    background = 1.0 / counts.possible
    alone = np.array([_fit(chances[[j]], background, leaked)[0] for j in range(len(chances))])
    nothing = float(leaked.sum() * np.log(background))
    posteriors = np.exp(np.append(alone, nothing) - logsumexp(np.append(alone, nothing)))
    together, shares = _fit(chances, background, leaked)
    tests = _tests(chances, background, leaked, together, shares, context)
    sources = _sources(alone, nothing, together, tests, shares)
    own = [int(leaked[(released[j] > 0) & _only(released, j)].sum()) for j in range(len(chances))]
    mixed = len(sources) > 1
    suspects = [
        Suspect(
            candidates=merged[j],
            log_likelihood=float(alone[j]),
            posterior=float(posteriors[j]),
            share=float(shares[j + 1]) if mixed else float(j in sources),
            chance=float(tests[j]),
            own_rows=own[j],
            is_source=j in sources,
        )
        for j in range(len(chances))
    ]
    suspects.sort(key=lambda s: (not s.is_source, -s.share, -s.log_likelihood))
    return TracedLeak(tuple(suspects), mixed, float(shares[0]), counts.total)


def _told_apart(
    counts: LeakCounts,
) -> tuple[list[tuple[int, ...]], Vector, npt.NDArray[np.int64]]:
    """Return the candidates that differ, and the leaked rows that differ in their counts."""
    _, first, which = np.unique(counts.released, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    merged = [tuple(np.flatnonzero(which.ravel() == place).tolist()) for place in order]
    columns, pattern = np.unique(counts.released[np.sort(first)], axis=1, return_inverse=True)
    leaked = np.zeros(columns.shape[1])
    np.add.at(leaked, pattern.ravel(), counts.leaked)
    return merged, leaked, columns


def _only(released: npt.NDArray[np.int64], candidate: int) -> npt.NDArray[np.bool_]:
    others = np.delete(released, candidate, axis=0)
    return np.asarray(~others.any(axis=0), dtype=np.bool_)


def _fit(
    chances: npt.NDArray[np.float64], background: float, leaked: Vector
) -> tuple[float, Vector]:
    """Return the highest log-likelihood, and the shares that reach it; altered rows first.

    Steps of expectation-maximization, drawn out as far as they lead upwards (Varadhan and
    Roland, "Simple and globally convergent methods for accelerating the convergence of any EM
    algorithm", 2008). The gradient bounds how much could still be gained, as the
    log-likelihood is concave.
    """
    rows = np.vstack([np.full(chances.shape[1], background), chances])
    total = leaked.sum()

    def step(shares: Vector) -> tuple[Vector, float, float]:
        likelihood = shares @ rows
        gradient = rows @ (leaked / likelihood) / total
        return (
            shares * gradient,
            float(leaked @ np.log(likelihood)),
            float(gradient.max() - 1.0) * total,
        )

    shares = np.full(len(rows), 1.0 / len(rows))
    for _ in range(_STEPS):
        once, reached, gain = step(shares)
        if gain < _STILL:
            break
        twice, _, _ = step(once)
        shares = _drawn_out(shares, once, twice)
        if float(leaked @ np.log(shares @ rows)) < reached:
            shares = twice
    return float(leaked @ np.log(shares @ rows)), shares


def _drawn_out(shares: Vector, once: Vector, twice: Vector) -> Vector:
    """Return where two steps lead if they are continued, inside the simplex."""
    first = once - shares
    bend = twice - once - first
    size = float(np.linalg.norm(bend))
    if size == 0.0:
        return twice
    length = min(-1.0, -float(np.linalg.norm(first)) / size)
    far = np.maximum(shares - 2.0 * length * first + length**2 * bend, twice * 1e-3)
    return np.asarray(far / far.sum(), dtype=np.float64)


def _tests(
    chances: npt.NDArray[np.float64],
    background: float,
    leaked: Vector,
    together: float,
    shares: Vector,
    context: Context,
) -> Vector:
    """Return for each candidate how probable its part in the mixture is by chance."""
    found = np.ones(len(chances))
    for j in range(len(chances)):
        context.report(j / len(chances), "Weighing the releases")
        if shares[j + 1] < _LEAST_SHARE:
            continue
        without, _ = _fit(np.delete(chances, j, axis=0), background, leaked)
        # A share of 0 lies on the edge of what is possible: half the usual probability.
        found[j] = 0.5 * chi2.sf(max(0.0, 2.0 * (together - without)), 1)
    return found


def _sources(
    alone: Vector, nothing: float, together: float, tests: Vector, shares: Vector
) -> set[int]:
    """Return the candidates that are named: several only where one does not explain it all."""
    level = FALSE_ALARM / len(alone)
    best = int(np.argmax(alone))
    gain = max(0.0, 2.0 * (together - float(alone[best])))
    if 0.5 * chi2.sf(gain, 1) >= level:
        beside = np.append(np.delete(alone, best), nothing)
        doubt = float(np.exp(logsumexp(beside) - np.logaddexp(logsumexp(beside), alone[best])))
        return {best} if doubt < DOUBT else set()
    return {j for j in range(len(alone)) if tests[j] < level and shares[j + 1] >= _LEAST_SHARE}
