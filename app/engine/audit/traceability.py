"""How many leaked rows tell which of several releases they come from.

A release is named once all J others together are less than `DOUBT` as likely. Rows drawn at
random from release j leave another one, l, more than DOUBT/J times as likely with a probability
of at most ρ(s)^k·(J/DOUBT)^s for any s in (0, 1), where ρ(s) = Σ_t q_j(t)^(1-s)·q_l(t)^s of the
two releases' row shares and k is the number of rows (Chernoff, 1952). Summed over all others
this bounds how often the release is not named, whatever the table looks like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from app.engine.audit.leak_counts import Counts, Positions
from app.engine.audit.tracing import DOUBT, FALSE_ALARM
from app.engine.progress import Context

CONFIDENCE: Final = 0.99
"""How surely the right recipient is to be named."""

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

    rows_needed: npt.NDArray[np.float64]
    hardest: npt.NDArray[np.int64]
    differing: npt.NDArray[np.float64]

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
    values, places = np.unique(np.concatenate(releases), return_inverse=True)
    size, rows = len(values), len(releases[0])
    return np.stack(
        [
            np.bincount(places[start * rows : (start + 1) * rows], minlength=size)
            for start in range(len(releases))
        ]
    )


def traceability(releases: Sequence[Positions], context: Context) -> Traceability:
    """Compute from how many rows on each release can be told from all others.

    Parameters
    ----------
    releases
        For each of at least two releases, its rows as positions in a common list, shape (n,).
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
    hardest = sums.min(axis=2).argmax(axis=1)
    differing = [float(np.mean(releases[j] != releases[h])) for j, h in enumerate(hardest)]
    needed = [_rows_for(np.delete(sums[j], j, axis=0)) for j in range(count)]
    return Traceability(np.array(needed), hardest, np.array(differing))


def _log_sums(one: Counts, other: Counts, rows: int) -> npt.NDArray[np.float64]:
    """Return ln ρ(s) of two releases for every exponent s, at most 0."""
    both = (one > 0) & (other > 0)
    pairs, weights = np.unique(np.stack([one[both], other[both]]), axis=1, return_counts=True)
    if pairs.shape[1] == 0:
        return np.full(len(_EXPONENTS), -np.inf)
    logs = np.log(pairs / rows)
    sums = np.exp(np.outer(1.0 - _EXPONENTS, logs[0]) + np.outer(_EXPONENTS, logs[1])) @ weights
    return np.asarray(np.minimum(np.log(sums), 0.0), dtype=np.float64)


def _rows_for(sums: npt.NDArray[np.float64]) -> float:
    """Return the fewest rows after which a release is named surely enough.

    Parameters
    ----------
    sums
        ln ρ(s) for each other release and exponent, shape (others, exponents).
    """
    allowed = 1.0 - CONFIDENCE - FALSE_ALARM
    if sums.min(axis=1).max() > -1e-12:
        return math.inf
    doubt = _EXPONENTS * math.log(len(sums) / DOUBT)

    def unnamed(rows: int) -> float:
        with np.errstate(under="ignore"):
            return float(np.exp((rows * sums + doubt).min(axis=1)).sum())

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
