"""A resampled group's release, listed outcome by outcome: draws, perturbation, copies, rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import comb

import numpy as np
import numpy.typing as npt

from sfumato.engine.disclosure.group_tails import SampleDraw


def listed_law(
    values: Sequence[int],
    sample: int,
    domain: int,
    top: float,
    share: float,
    value: int,
    rows: int,
    draw: SampleDraw,
) -> npt.NDArray[np.float64]:
    """Return how likely each number of some rows of a resampled group shows a value.

    Parameters
    ----------
    values
        The group's true values.
    sample
        How many of its records are drawn.
    domain
        The number of values m.
    top, share
        The top's retention probability, and the share of rows that keep what the top shows.
    value, rows
        The value, and how many of the group's rows are looked at.
    """
    law = np.zeros(rows + 1)
    for chance, drawn in _draws(values, sample, draw):
        for shown in product(range(domain), repeat=sample):
            weight = chance
            for record, seen in zip(drawn, shown, strict=True):
                weight *= top * (values[record] == seen) + (1 - top) / domain
            for start in range(sample):
                copies = _copied(sorted(shown), len(values), start).count(value)
                law += weight / sample * _dealt_and_kept(copies, len(values), rows, share, domain)
    return law


def _draws(
    values: Sequence[int], sample: int, draw: SampleDraw
) -> Iterator[tuple[float, tuple[int, ...]]]:
    size = len(values)
    if draw is SampleDraw.AT_RANDOM:
        for drawn in combinations(range(size), sample):
            yield 1 / comb(size, sample), drawn
        return
    line = sorted(range(size), key=lambda record: values[record])
    for start in range(size):
        hit = [
            ((r + 1) * sample + start) // size > (r * sample + start) // size for r in range(size)
        ]
        yield 1 / size, tuple(record for record, taken in zip(line, hit, strict=True) if taken)


def _copied(shown: Sequence[int], size: int, start: int) -> list[int]:
    sample = len(shown)
    released = []
    for rank, seen in enumerate(shown):
        times = ((rank + 1) * size + start) // sample - (rank * size + start) // sample
        released += [seen] * times
    return released


def _dealt_and_kept(
    copies: int, size: int, rows: int, share: float, domain: int
) -> npt.NDArray[np.float64]:
    """Return the law of rows that show the value: some hold a copy, each is kept by itself."""
    law = np.zeros(rows + 1)
    for own in range(max(0, rows - (size - copies)), min(copies, rows) + 1):
        chance = comb(copies, own) * comb(size - copies, rows - own) / comb(size, rows)
        law += chance * row_by_row(own, rows, share, domain)
    return law


def row_by_row(own: int, rows: int, share: float, domain: int) -> npt.NDArray[np.float64]:
    """Return how likely each number of rows shows a value that some of them have."""
    law = np.ones(1)
    for row in range(rows):
        shows = share * (row < own) + (1 - share) / domain
        law = np.convolve(law, [1 - shows, shows])
    return law
