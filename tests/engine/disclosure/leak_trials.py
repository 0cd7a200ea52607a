"""Leaks put together from the rows of known releases, and how often these are named rightly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.traceability import count_released
from sfumato.engine.disclosure.tracing import LeakCounts, Positions, Unreleased, trace_leak


class LeakTrials:
    """Traces leaks whose sources are known.

    Parameters
    ----------
    releases
        For each release, its rows as positions in a common list, shape (n,).
    table
        The table's rows, shape (n,), as positions in the same list.
    public
        The rows' public columns alone, shape (n,), as positions in a list of their own.
    values
        How many values the perturbed columns can take together.
    """

    def __init__(
        self, releases: Sequence[Positions], table: Positions, public: Positions, values: int
    ) -> None:
        self._counts = count_released(releases)
        self._rows = len(table)
        self._releases = len(releases)
        distinct, first, self._places = np.unique(
            np.concatenate(releases), return_index=True, return_inverse=True
        )
        _, groups, sizes = np.unique(public, return_inverse=True, return_counts=True)
        self._possible = float(len(sizes) * values)
        self._altered = sizes[groups[first % self._rows]] / self._rows / values
        rows, often = np.unique(table, return_counts=True)
        at = np.minimum(np.searchsorted(rows, distinct), len(rows) - 1)
        self._table = np.where(rows[at] == distinct, often[at] / self._rows, 0.0)

    def named(self, leaked: Mapping[int, Positions]) -> list[tuple[int, ...]]:
        """Return the releases that a leak is traced to; for each source, the rows that leaked."""
        counts = np.zeros(self._counts.shape[1], dtype=np.int64)
        for source, chosen in leaked.items():
            rows = self._places[source * self._rows + chosen]
            counts += np.bincount(rows, minlength=len(counts))
        seen = counts > 0
        table = self._table[seen]
        ways = Unreleased(self._altered[None, seen], table[None], table)
        leak = LeakCounts(counts[seen], self._counts[:, seen], self._rows, self._possible, ways)
        return sorted(suspect.candidates for suspect in trace_leak(leak, Silent()).sources)

    def success(self, leaks: Sequence[Positions]) -> float:
        """Return how often the one source of a leak is named; releases take turns to leak."""
        truths = [trial % self._releases for trial in range(len(leaks))]
        named = [self.named({truth: leak}) for truth, leak in zip(truths, leaks, strict=True)]
        return float(np.mean([one == [(truth,)] for one, truth in zip(named, truths, strict=True)]))
