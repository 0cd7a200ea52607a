"""Which releases a leaked file comes from: one, or a mixture of several.

A leaked row is taken as drawn from one of the candidate releases, or as altered, or as made
from the table without any release. With c_j(t) the number of times that row t occurs among the
n rows of release j, and w the shares in which all these were mixed, its likelihood is
Σ_j w_j·c_j(t)/n + Σ_i v_i·b_i(t), where b_i are the likelihoods of rows that come from no
release (`sfumato.engine.disclosure.leak_counts.Unreleased`). A single source is a mixture of one
release and altered rows. The likelihood is concave in the shares; expectation-maximization finds
its maximum.

Every release shows true values, and so does the table: without its rows among the
explanations, the table itself, or a perturbation of it that nobody here made, would be put down
to the most trusted recipients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, logsumexp

from sfumato.engine.core.progress import Context
from sfumato.engine.disclosure.leak_counts import LeakCounts, Likelihoods, Unreleased

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
        The share of rows that come from no candidate, in the likeliest mixture.
    rows
        How many rows were examined.
    of_table
        Where no candidate is named, the share of rows that are the table's own; 0 where that
        could be chance.
    """

    suspects: tuple[Suspect, ...]
    mixed: bool
    altered: float
    rows: int
    of_table: float = 0.0

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
    merged, leaked, ways = _told_apart(counts)
    released = ways.released
    alone = np.array([_fit(ways.altered, released[[j]], leaked)[0] for j in range(len(merged))])
    nothing, unreleased = _fit(ways.unreleased, released[:0], leaked)
    posteriors = np.exp(np.append(alone, nothing) - logsumexp(np.append(alone, nothing)))
    together, shares = _fit(ways.unreleased, released, leaked)
    of_releases = shares[len(ways.unreleased) :]
    tests = _tests(ways, leaked, together, of_releases, context)
    enough = _fit(ways.unreleased, released[[int(np.argmax(alone))]], leaked)[0]
    sources = _sources(alone, nothing, enough, together, tests, of_releases)
    own = [int(leaked[(released[j] > 0) & _only(released, j)].sum()) for j in range(len(merged))]
    mixed = len(sources) > 1
    suspects = [
        Suspect(
            candidates=merged[j],
            log_likelihood=float(alone[j]),
            posterior=float(posteriors[j]),
            share=float(of_releases[j]) if mixed else float(j in sources),
            chance=float(tests[j]),
            own_rows=own[j],
            is_source=j in sources,
        )
        for j in range(len(merged))
    ]
    suspects.sort(key=lambda s: (not s.is_source, -s.share, -s.log_likelihood))
    altered = max(0.0, 1.0 - float(of_releases.sum()))
    of_table = 0.0 if sources else _share_of_table(ways, leaked, nothing, unreleased)
    return TracedLeak(tuple(suspects), mixed, altered, counts.total, of_table)


@dataclass(frozen=True)
class _Ways:
    """How likely each distinct leaked row is in every way that it can have come about.

    Parameters
    ----------
    released
        From each candidate, shape (candidates, rows).
    altered
        From a release, but altered, shape (ways, rows).
    truthful
        From the table, without any release, shape (ways, rows); the last one is the table itself.
    has_table
        Whether it is, and no candidate shows the very same.
    """

    released: Likelihoods
    altered: Likelihoods
    truthful: Likelihoods
    has_table: bool

    @property
    def unreleased(self) -> Likelihoods:
        """All ways without a release."""
        return np.vstack([self.altered, self.truthful])


def _told_apart(counts: LeakCounts) -> tuple[list[tuple[int, ...]], Vector, _Ways]:
    """Return the candidates that differ, and the leaked rows that differ in their likelihoods."""
    _, first, which = np.unique(counts.released, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    merged = [tuple(np.flatnonzero(which.ravel() == place).tolist()) for place in order]
    released = counts.released[np.sort(first)] / counts.rows
    given = counts.unreleased or Unreleased.unknown(released.shape[1])
    truthful, table = given.truthful, given.table
    if table is not None and (released == table).all(axis=1).any():
        # Somebody was given the table itself: then that release is the explanation.
        truthful, table = truthful[:-1], None
    chance = np.full((1, released.shape[1]), 1.0 / counts.possible)
    sizes = np.cumsum([len(released), 1 + len(given.altered)])
    rows, pattern = np.unique(
        np.vstack([released, chance, given.altered, truthful]), axis=1, return_inverse=True
    )
    leaked = np.zeros(rows.shape[1])
    np.add.at(leaked, pattern.ravel(), counts.leaked)
    released, altered, truthful = np.split(rows, sizes)
    return merged, leaked, _Ways(released, altered, truthful, has_table=table is not None)


def _only(released: Likelihoods, candidate: int) -> npt.NDArray[np.bool_]:
    others = np.delete(released, candidate, axis=0)
    return np.asarray(~others.any(axis=0), dtype=np.bool_)


def _fit(unreleased: Likelihoods, released: Likelihoods, leaked: Vector) -> tuple[float, Vector]:
    """Return the highest log-likelihood, and the shares that reach it; without a release first."""
    return likeliest_mixture(np.vstack([unreleased, released]), leaked)


def likeliest_mixture(rows: Likelihoods, leaked: Vector) -> tuple[float, Vector]:
    """Return the highest log-likelihood that a mixture reaches, and its shares.

    Steps of expectation-maximization, drawn out as far as they lead upwards (Varadhan and
    Roland, "Simple and globally convergent methods for accelerating the convergence of any EM
    algorithm", 2008). The gradient bounds how much could still be gained, as the
    log-likelihood is concave.

    Parameters
    ----------
    rows
        How likely each row is in each of the ways that are mixed, shape (ways, rows).
    leaked
        How often each row was seen, shape (rows,).
    """
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
    ways: _Ways, leaked: Vector, together: float, shares: Vector, context: Context
) -> Vector:
    """Return for each candidate how probable its part in the mixture is by chance."""
    found = np.ones(len(ways.released))
    for j in range(len(found)):
        context.report(j / len(found), "Weighing the releases")
        if shares[j] < _LEAST_SHARE:
            continue
        without, _ = _fit(ways.unreleased, np.delete(ways.released, j, axis=0), leaked)
        found[j] = _chance(together - without)
    return found


def _chance(gain: float) -> float:
    """Return how probable it is that one more way gains so much log-likelihood by chance."""
    # A share of 0 lies on the edge of what is possible: half the usual probability.
    return float(0.5 * chdtrc(1, max(0.0, 2.0 * gain)))


def _sources(
    alone: Vector, nothing: float, enough: float, together: float, tests: Vector, shares: Vector
) -> set[int]:
    """Return the candidates that are named: several only where one does not explain it all.

    Parameters
    ----------
    alone
        The log-likelihood of each candidate with altered rows, shape (candidates,).
    nothing, enough, together
        The log-likelihoods of all ways without a release; of these and the likeliest candidate;
        and of these and all candidates.
    tests, shares
        For each candidate, shape (candidates,).
    """
    level = FALSE_ALARM / len(alone)
    best = int(np.argmax(alone))
    beside = np.append(np.delete(alone, best), nothing)
    doubt = float(np.exp(logsumexp(beside) - np.logaddexp(logsumexp(beside), alone[best])))
    suffices = _chance(together - enough) >= level
    if suffices and doubt < DOUBT and _chance(enough - nothing) < level:
        return {best}
    return {j for j in range(len(alone)) if tests[j] < level and shares[j] >= _LEAST_SHARE}


def _share_of_table(ways: _Ways, leaked: Vector, reached: float, shares: Vector) -> float:
    """Return the share of rows that are the table's own, 0 where that could be chance."""
    if not ways.has_table:
        return 0.0
    without, _ = _fit(ways.unreleased[:-1], ways.released[:0], leaked)
    return float(shares[-1]) if _chance(reached - without) < FALSE_ALARM else 0.0
