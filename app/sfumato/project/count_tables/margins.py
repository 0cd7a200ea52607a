"""The margins of a table of counts: sums over some of its columns, with intervals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from sfumato.engine.core.values import Floats
from sfumato.engine.ladders.counts import adjusted_counts, half_width_of_sum
from sfumato.project.count_tables.noise import NoisyCounts

SHARE: Final = 0.95
"""How often an interval holds the true count."""


@dataclass(frozen=True)
class Margin:
    """The counts of some of a table's columns, added over the others.

    Parameters
    ----------
    columns
        The columns that are kept; none for the total.
    labels
        Of each, its values.
    counts
        The noisy counts, in the order of their combinations.
    half_width
        By how much a count is off at most 95 times in 100.
    adjusted
        The adjusted counts.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: Floats
    half_width: int
    adjusted: Floats

    def rows(self) -> Iterator[tuple[tuple[str, ...], int, int, int, float]]:
        """Yield each combination with its count, interval and adjusted count."""
        figures = zip(self.counts.tolist(), self.adjusted.tolist(), strict=True)
        for labels, (count, adjusted) in zip(itertools.product(*self.labels), figures, strict=True):
            low, high = count - self.half_width, count + self.half_width
            yield labels, count, max(low, 0), max(high, 0), round(adjusted, 6)


def margins_of(found: NoisyCounts) -> tuple[Margin, ...]:
    """Return a table's cells, then its margins, those of most columns first, and its total."""
    table = found.table
    noisy = found.counts.reshape(table.shape)
    total = found.total if found.total is not None else max(int(found.counts.sum()), 0)
    adjusted = adjusted_counts(found.counts, total).reshape(table.shape)
    labels, places = table.labels(), range(len(table.columns))
    margins = []
    for size in range(len(places), -1, -1):
        for kept in itertools.combinations(places, size):
            away = tuple(place for place in places if place not in kept)
            summed = found.summed * int(np.prod([table.shape[place] for place in away], dtype=int))
            margins.append(
                Margin(
                    tuple(table.columns[place] for place in kept),
                    tuple(labels[place] for place in kept),
                    noisy.sum(axis=away).reshape(-1),
                    half_width_of_sum(found.law, summed, SHARE),
                    adjusted.sum(axis=away).reshape(-1),
                )
            )
    return tuple(margins)
