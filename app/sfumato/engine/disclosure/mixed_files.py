"""Files that several recipients mixed cell by cell: by averaging, by votes, or by choosing.

Each way in which two or three releases can be mixed makes a file of its own, which is compared with
the leaked one as if it were a further release. Who took part is decided so that the innocent are
safe whatever the others did: a recipient is named where the file is far likelier mixed with its
release than in any way without it. If a file was made in one of these ways by others, the
likelihood ratio of a fixed way to the true one exceeds 1/α with a probability of at most α (its
expectation is at most 1); summed over all ways and the recipients in them, anybody innocent is
named with a probability of at most `FALSE_ALARM`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from enum import StrEnum
from itertools import combinations
from math import log
from typing import Final

import numpy as np
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.disclosure.tracing import (
    FALSE_ALARM,
    LeakCounts,
    Likelihoods,
    Positions,
    RowGroups,
    TracedLeak,
    Unreleased,
    likeliest_mixture,
)

Cells = Floats

MOST_MIXED: Final = 12
"""With more releases that differ, no mixtures are tried; with more than half of it, only pairs."""
_SHARES: Final = np.array([0.001, 0.01, 0.03, 0.1, 0.25, 0.5])
"""The shares of altered rows for which a way's likelihood is averaged."""
_REFINED: Final = 6
"""For so many of the likeliest ways, the share of altered rows is sought."""
_DIGITS: Final = 7
"""So many digits of a number are compared at most: sums differ in the last ones, and a spreadsheet
or Stata's floats don't keep them."""
_LEAST_SIZE: Final = 15
"""Smaller numbers than with so many zeros are like 0."""
_MANY_NUMBERS: Final = 30
"""From so many numbers on all of them end in 0 because they were rounded."""


class MixingRule(StrEnum):
    """How the cells of several files were mixed."""

    AVERAGE = "average"
    LOWER = "lower"
    HIGHER = "higher"
    VOTE = "vote"
    ANY = "any"


@dataclass(frozen=True)
class ColumnCells:
    """A perturbed column of a leaked file, and as each release shows it.

    Parameters
    ----------
    leaked
        The file's numbers, or places in an ordered list of values; NaN where missing, shape (k,).
    released
        The same for each release, shape (releases, n).
    is_number
        Whether they can be averaged.
    """

    leaked: Cells
    released: Cells = field(repr=False)
    is_number: bool


@dataclass(frozen=True)
class Mixing:
    """Some releases and how they were mixed: the places of the releases, and the rule."""

    members: tuple[int, ...]
    rule: MixingRule


def mixings(releases: int, numbers: bool) -> list[Mixing]:
    """Return the ways to mix releases that are tried; `numbers` says whether any is averaged."""
    if releases > MOST_MIXED:
        return []
    sizes = (2, 3) if releases <= MOST_MIXED // 2 else (2,)
    rules = [rule for rule in MixingRule if numbers or rule is not MixingRule.AVERAGE]
    return [
        Mixing(members, rule)
        for size in sizes
        for members in combinations(range(releases), size)
        for rule in rules
        if rule is not MixingRule.VOTE or size > 2
    ]


def mixed_likelihood(
    mixing: Mixing, columns: Sequence[ColumnCells], start: RowGroups, rows: int
) -> Likelihoods:
    """Return how likely each leaked row is if releases were mixed so, shape (k,).

    Parameters
    ----------
    mixing
        Which releases, and how.
    columns
        The perturbed columns; n rows are those of `start`.
    start
        The rows grouped by the other columns.
    rows
        How many rows the releases have.
    """
    found = np.zeros(len(start.leaked))
    choices = [list(_choices(mixing, column)) for column in columns]

    def follow(groups: RowGroups, weights: Cells, place: int) -> None:
        if place == len(columns):
            inside = groups.table >= 0
            counted = np.bincount(
                groups.table[inside], weights=weights[inside], minlength=groups.count
            )
            found[:] += counted[groups.leaked] / rows
            return
        column = columns[place]
        for values, chances in choices[place]:
            leaked, released = _positions(column, values)
            follow(groups.split_by(leaked, released), weights * chances, place + 1)

    follow(start, np.ones(len(start.table)), 0)
    return found


def _choices(mixing: Mixing, column: ColumnCells) -> Iterator[tuple[Cells, Cells | float]]:
    """Yield the values that a mixed cell can show, and how likely each is."""
    cells = column.released[list(mixing.members)]
    known = ~np.isnan(cells)
    match mixing.rule:
        case MixingRule.LOWER:
            yield np.fmin.reduce(cells), 1.0
        case MixingRule.HIGHER:
            yield np.fmax.reduce(cells), 1.0
        case MixingRule.AVERAGE if column.is_number:
            count = np.maximum(known.sum(axis=0), 1)
            mean = np.where(known, cells, 0.0).sum(axis=0) / count
            yield np.where(known.any(axis=0), mean, np.nan), 1.0
        case MixingRule.VOTE if column.is_number:
            yield np.sort(cells, axis=0)[len(cells) // 2], 1.0
        case _:
            same = (cells[:, None] == cells[None]) | ~(known[:, None] | known[None])
            votes = same.sum(axis=0)
            most = votes == votes.max(axis=0) if mixing.rule is MixingRule.VOTE else votes > 0
            chances = most / most.sum(axis=0)
            yield from zip(cells, chances, strict=True)


def _positions(column: ColumnCells, values: Cells) -> tuple[Positions, Positions]:
    """Return a leaked column and mixed values as positions in a common list."""
    leaked = column.leaked
    if column.is_number:
        leaked, values = rounded_as(leaked, values)
    both = np.concatenate([leaked, values])
    _, places = np.unique(both, return_inverse=True)
    return places[: len(leaked)].astype(np.int64), places[len(leaked) :].astype(np.int64)


def rounded_as(leaked: Cells, released: Cells) -> tuple[Cells, Cells]:
    """Return numbers as precisely as a leaked file shows those of their size.

    Whoever passes a file on may have rounded its numbers. Every explanation is compared at this
    precision: one that alone was would speak for all releases that it takes values from.

    Parameters
    ----------
    leaked, released
        The file's numbers and a release's, any shapes; NaN where missing.
    """
    known = leaked[np.isfinite(leaked) & (leaked != 0.0)]
    if not known.size:
        return leaked, released
    sizes, which = np.unique(_sizes(known), return_inverse=True)
    decimals = np.array(
        [_decimals(known[which == place], int(size)) for place, size in enumerate(sizes)]
    )
    return _rounded(leaked, sizes, decimals), _rounded(released, sizes, decimals)


def _sizes(numbers: Cells) -> Integers:
    """Return the power of ten that each number reaches; the least one for 0 and unknown numbers."""
    size = np.where(np.isfinite(numbers), np.abs(numbers), 0.0)
    exponents = np.floor(np.log10(np.clip(size, 10.0**-_LEAST_SIZE, None)))
    return exponents.astype(np.int64)


def _decimals(numbers: Cells, size: int) -> int:
    """Return to how many decimals numbers of one size are rounded, as far as can be seen."""
    most = max(_DIGITS - 1 - size, 0)
    # A few numbers end in 0 by chance.
    least = -size if size > 0 and len(numbers) >= _MANY_NUMBERS else 0
    for decimals in range(least, most):
        for some in (numbers[:_MANY_NUMBERS], numbers):
            if not np.allclose(some, np.round(some, decimals), rtol=1e-12, atol=0.0):
                break
        else:
            return decimals
    return most


def _rounded(numbers: Cells, sizes: Integers, decimals: Integers) -> Cells:
    """Return numbers rounded as those of the next size; sums differ in the last digits."""
    place = np.searchsorted(sizes, _sizes(numbers)).clip(max=len(sizes) - 1)
    moved, kept = numbers + 1e-12 * np.abs(numbers), decimals[place]
    found: Cells = numbers.copy()
    for each in np.unique(kept):
        found[kept == each] = np.round(moved[kept == each], int(each)) + 0.0
    return found


def with_mixing(
    traced: TracedLeak,
    counts: LeakCounts,
    tried: Sequence[Mixing],
    likelihoods: Likelihoods,
    context: Context,
) -> TracedLeak:
    """Return what a file tells if it may have been mixed cell by cell.

    Parameters
    ----------
    traced
        What it tells if rows were mixed only.
    counts
        What that was found from.
    tried
        The ways to mix releases.
    likelihoods
        How likely each distinct leaked row is in each way, shape (ways, distinct rows).
    context
        Progress and cancelling.
    """
    leaked = counts.evidence
    given = counts.unreleased or Unreleased.unknown(len(leaked))
    chance = np.full((1, len(leaked)), 1.0 / counts.possible)
    unreleased = np.vstack([chance, given.altered, given.truthful])
    released = counts.likelihoods
    other = unreleased.mean(axis=0)
    by_share = np.log((1 - _SHARES)[:, None, None] * likelihoods + _SHARES[:, None, None] * other)
    reached = by_share @ leaked
    weighed = scipy.special.logsumexp(reached, axis=0) - log(len(_SHARES))
    best = int(np.argmax(weighed))
    by_rows, _ = likeliest_mixture(np.vstack([unreleased, released]), leaked)
    if weighed[best] <= by_rows:
        return traced
    cost = log(sum(len(each.members) for each in tried) / FALSE_ALARM)
    gains: dict[int, float] = {}
    for member in tried[best].members:
        context.report(0.5, "Weighing the releases")
        without = [e for e, each in enumerate(tried) if member not in each.members]
        nearest = sorted(without, key=lambda e: -reached[:, e].max())[:_REFINED]
        rivals = [
            likeliest_mixture(np.vstack([unreleased, likelihoods[e]]), leaked)[0] for e in nearest
        ]
        alone = np.vstack([unreleased, np.delete(released, member, axis=0)])
        rivals.append(likeliest_mixture(alone, leaked)[0])
        gains[member] = float(weighed[best]) - max(rivals) - cost
    if min(gains.values()) <= 0.0:
        return traced
    _, shares = likeliest_mixture(np.vstack([unreleased, likelihoods[best]]), leaked)
    return _mixed(traced, tried[best], gains, altered=1.0 - float(shares[-1]))


def _mixed(
    traced: TracedLeak, mixing: Mixing, gains: dict[int, float], altered: float
) -> TracedLeak:
    """Name the releases that were mixed, and no other."""
    suspects = []
    for suspect in traced.suspects:
        # Releases that whole rows don't tell apart can be told apart by their cells.
        others = tuple(place for place in suspect.candidates if place not in gains)
        parts = [((place,), True) for place in suspect.candidates if place in gains]
        for candidates, took_part in [*parts, *([(others, False)] if others else [])]:
            share = 1.0 / len(gains) if took_part else 0.0
            chance = suspect.chance
            if took_part:
                chance = float(np.exp(-gains[candidates[0]])) * FALSE_ALARM
            suspects.append(
                replace(
                    suspect,
                    candidates=candidates,
                    is_source=took_part,
                    share=share,
                    chance=chance,
                )
            )
    suspects.sort(key=lambda each: (not each.is_source, -each.log_likelihood))
    named = replace(traced, suspects=tuple(suspects), mixed=True, rule=mixing.rule)
    return replace(named, altered=altered, of_table=0.0)
