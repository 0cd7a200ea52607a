"""How many leaked rows tell which of several releases they come from.

A release is named once all J others together are less than `DOUBT` as likely. Rows drawn at
random from release j leave another one, l, more than DOUBT/J times as likely with a probability
of at most ρ(s)^k·(J/DOUBT)^s for any s in (0, 1), where ρ(s) = Σ_t q_j(t)^(1-s)·q_l(t)^s of the
two releases' row shares and k is the number of rows (Chernoff, 1952). In the same way it is
bounded how often the rows look as if they came from no release but from the table: q_l are then the
shares of the mixture of the table's rows that comes nearest to the release. Summed over all others
this bounds how often the release is not named, whatever the table looks like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats, Integers, distinct, distinct_columns
from sfumato.engine.disclosure.tracing import (
    DOUBT,
    FALSE_ALARM,
    Counts,
    Likelihoods,
    Positions,
    likeliest_mixture,
)

CONFIDENCE: Final = 0.99
"""How surely the right recipient is to be named."""

_LEAST: Final = 1e-30
"""Where a row has no other explanation, it has at least this likelihood."""

_EXPONENTS: Final = np.linspace(0.02, 0.98, 25)


@dataclass(frozen=True)
class Traceability:
    """How well releases can be told apart by rows that leaked.

    Parameters
    ----------
    rows_needed
        For each release, from how many leaked rows on it is named rightly with at least
        `CONFIDENCE`, shape (releases,); infinite where another release has the same rows.
    hardest
        For each release, the one it is hardest to tell from, shape (releases,).
    differing
        For each release, the share of records that show something else in its `hardest`.
    """

    rows_needed: Floats
    hardest: Integers
    differing: Floats

    @property
    def most_rows(self) -> float:
        """From how many rows on any of the releases is named rightly."""
        return float(self.rows_needed.max())


def count_released(releases: Sequence[Positions]) -> Counts:
    """Return how often each distinct row occurs in each release, shape (releases, rows).

    Parameters
    ----------
    releases
        For each release, its rows as positions in a common list, shape (n,).
    """
    values, places = distinct(np.concatenate(releases))
    size, rows = len(values), len(releases[0])
    return np.stack(
        [
            np.bincount(places[start * rows : (start + 1) * rows], minlength=size)
            for start in range(len(releases))
        ]
    )


@dataclass(frozen=True)
class TableRows:
    """What the rows of releases have in common with the table, in some of their columns.

    Parameters
    ----------
    released
        For each release, its rows in these columns as positions in a common list, shape (n,).
    table
        The table's rows in the same columns, shape (n,).
    others
        How likely the values of all other columns are, if they are drawn evenly.
    """

    released: Sequence[Positions]
    table: Positions
    others: float

    def likelihoods(self, release: int) -> Likelihoods:
        """Return how likely each row of a release is to come about so, shape (n,)."""
        rows, often = np.unique(self.table, return_counts=True)
        at = np.minimum(np.searchsorted(rows, self.released[release]), len(rows) - 1)
        shares = often[at] * (self.others / len(self.table))
        return np.where(rows[at] == self.released[release], shares, 0.0)


def traceability(
    releases: Sequence[Positions], context: Context, ways: Sequence[TableRows] = ()
) -> Traceability:
    """Compute from how many rows on each release can be told from all others.

    Parameters
    ----------
    releases
        For each of at least two releases, its rows as positions in a common list, shape (n,).
    ways
        How such rows can come about from the table, without any release.
    context
        Progress and cancelling.
    """
    counts = count_released(releases)
    count, rows = len(releases), len(releases[0])
    sums = np.full((count, count, len(_EXPONENTS)), -np.inf)
    for one in range(count):
        context.report(one / count, "Comparing the releases")
        for other in range(one + 1, count):
            sums[one, other] = _log_sums(counts[one], counts[other], rows)
            # The exponents lie evenly around one half.
            sums[other, one] = sums[one, other, ::-1]
    # Releases without a row in common stand farther apart than any, yet none is its own other.
    nearness = np.maximum(sums.min(axis=2), np.finfo(np.float64).min)
    np.fill_diagonal(nearness, -np.inf)
    hardest = nearness.argmax(axis=1)
    differing = [float(np.mean(releases[j] != releases[h])) for j, h in enumerate(hardest)]
    doubts = np.full((count, len(_EXPONENTS)), math.log((count - 1) / DOUBT)) * _EXPONENTS
    needed = []
    for j in range(count):
        beside, allowed = np.delete(sums[j], j, axis=0), doubts[1:]
        if ways and (alone := _log_sums_of_table(releases[j], j, ways)) is not None:
            margin = _margin(count, len(ways)) * _EXPONENTS
            beside, allowed = np.vstack([beside, alone]), np.vstack([allowed, margin])
        needed.append(_rows_for(beside, allowed))
    return Traceability(np.array(needed), hardest, np.array(differing))


def _log_sums(one: Counts, other: Counts, rows: int) -> Floats:
    """Return ln ρ(s) of two releases for every exponent s, at most 0."""
    both = (one > 0) & (other > 0)
    pairs, weights = distinct_columns(np.stack([one[both], other[both]]))
    if pairs.shape[1] == 0:
        return np.full(len(_EXPONENTS), -np.inf)
    logs = np.log(pairs / rows)
    sums = np.exp(np.outer(1.0 - _EXPONENTS, logs[0]) + np.outer(_EXPONENTS, logs[1])) @ weights
    return np.asarray(np.minimum(np.log(sums), 0.0), dtype=np.float64)


def _log_sums_of_table(release: Positions, place: int, ways: Sequence[TableRows]) -> Floats | None:
    """Return ln ρ(s) of a release and the table's nearest mixture; None where they are one."""
    _, at = distinct(release)
    own = np.bincount(at)[at] / len(release)
    likelihoods = np.stack([way.likelihoods(place) for way in ways])
    seen, weights = distinct_columns(np.vstack([own, likelihoods]))
    shares = likeliest_mixture(np.maximum(seen[1:], _LEAST), weights.astype(np.float64))[1]
    ratios = np.maximum(shares @ seen[1:], _LEAST) / seen[0]
    if np.allclose(ratios, 1.0, atol=1e-6):
        return None
    sums = (ratios ** _EXPONENTS[:, None]) @ weights / len(release)
    return np.asarray(np.minimum(np.log(sums), 0.0), dtype=np.float64)


def _margin(releases: int, ways: int) -> float:
    """Return by how much log-likelihood a release has to surpass all that the table explains.

    By what the doubt and the test for a false alarm ask, and by what the shares of the best
    mixture gain through being chosen for the rows (Wilks, 1938).
    """
    test = float(scipy.special.chdtri(1, 2.0 * FALSE_ALARM / releases)) / 2.0
    allowed = float(scipy.special.chdtri(ways, FALSE_ALARM)) / 2.0
    return max(math.log(releases / DOUBT), test) + allowed


def _rows_for(sums: Floats, doubts: Floats) -> float:
    """Return the fewest rows after which a release is named surely enough.

    Parameters
    ----------
    sums
        ln ρ(s) for each other source and exponent, shape (others, exponents).
    doubts
        How much of it is to be surpassed, times s, of the same shape.
    """
    allowed = 1.0 - CONFIDENCE - FALSE_ALARM
    if sums.min(axis=1).max() > -1e-12:
        return math.inf

    def unnamed(rows: int) -> float:
        with np.errstate(under="ignore"):
            return float(np.exp((rows * sums + doubts).min(axis=1)).sum())

    low, high = 0, 1
    while unnamed(high) > allowed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if unnamed(middle) > allowed:
            low = middle
        else:
            high = middle
    return float(high)
