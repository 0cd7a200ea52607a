"""How well a coarsened column is restored from others: what undoes the coarsening.

A region is shown as `*`, but a sampling weight that stands beside it is the same in all rows of a
stratum and gives the region back. Whoever knows how the columns hang together, from a similar
table, guesses the most frequent value among the records that look the same. Here the table
teaches, and each record is guessed from the *other* records that look like it (leave one out; by
units, no record of the own unit), so that nobody is credited with having learned a record's value
from the record itself. Nobody else looks the same: then what is shown without the other columns
is what there is to go by. Everything follows from counts.

Columns of many numbers are known by their values, and by bins of their order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Final

import numpy as np
import pandas as pd

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats, Indices, Integers

SCREENED: Final = 4_096
"""Columns are screened by so many records at least."""
BINS: Final = 64
_FEW: Final = 256
"""Columns of more values are screened by all records of some values."""
MOST_TOGETHER: Final = 3
"""So many columns are taken together at most."""
_TRIED: Final = 6


@dataclass(frozen=True)
class CoarsenedCodes:
    """A column as it is shown, and as it would be known.

    Parameters
    ----------
    name
        The column.
    shown
        A code of what each record shows, shape (n,).
    true
        A code of the finer value, shape (n,).
    affected
        The records that show less than that, shape (n,).
    hidden
        Those of them that show nothing at all, shape (n,).
    """

    name: str
    shown: Integers
    true: Integers
    affected: Flags
    hidden: Flags


@dataclass(frozen=True)
class OpenCodes:
    """A column beside it, as it leaves.

    Codes from 0, shape (n,); -1 where the column is suppressed itself, so that it tells nothing.
    `told` says what decides them, for whoever keeps what was found.
    """

    name: str
    codes: Integers
    told: Hashable = ""


Keep = Callable[[Hashable, Callable[[], float]], float]
"""Returns what was found before under a column's `told`, or finds it."""


@dataclass(frozen=True)
class Restored:
    """How well a coarsened column is restored, over the records that show less.

    Parameters
    ----------
    name
        The column.
    alone
        The share of these records guessed right from what is shown of the column itself.
    restored
        The share guessed right with the other columns.
    telling
        The columns that this rests on, the most telling first; empty where none helps.
    records
        How many records show less.
    """

    name: str
    alone: float
    restored: float
    telling: tuple[str, ...]
    records: int

    @property
    def returned(self) -> float:
        """Which part of what is hidden comes back, from 0 to 1."""
        left = 1.0 - self.alone
        return max(self.restored - self.alone, 0.0) / left if left > 0.0 else 0.0


def binned(codes: Integers, numbers: Floats) -> Integers:
    """Return bins of a column of numbers by their order, equally full; missing ones are one more.

    `codes` are its values' codes; a column of few values keeps them.
    """
    if int(codes.max(initial=0)) < BINS:
        return codes
    known = np.isfinite(numbers)
    edges = np.unique(np.quantile(numbers[known], np.linspace(0, 1, BINS + 1)[1:-1]))
    found: Integers = np.where(known, np.searchsorted(edges, numbers, side="right"), BINS)
    return found


def _found(_told: Hashable, find: Callable[[], float]) -> float:
    return find()


def restore(
    column: CoarsenedCodes,
    others: Sequence[OpenCodes],
    units: Integers | None = None,
    keep: Keep = _found,
) -> Restored:
    """Return how well a column is restored from others, screened by a part of the records first.

    Parameters
    ----------
    column
        What is coarsened; somebody shows less than the finer value.
    others
        The columns that leave beside it.
    units
        Each record's unit, shape (n,); None where records stand alone.
    keep
        Keeps what screening the other columns finds.
    """
    records = int(column.affected.sum())
    base = _base(column, units)
    alone = _share(column, base)
    best, chosen = alone, list[OpenCodes]()
    ranked = _screened(column, others, base, units, keep)
    while ranked and len(chosen) < MOST_TOGETHER:
        tried = [(_right(column, [*chosen, one], base, units), one) for one in ranked[:_TRIED]]
        right, one = max(tried, key=lambda each: each[0])
        if right - best <= _noise(best, records):
            break
        best = right
        chosen.append(one)
        ranked = [other for other in ranked if other.name != one.name]
        if best >= 1.0 - 1e-9:
            break
    return Restored(column.name, alone, best, tuple(one.name for one in chosen), records)


def _noise(share: float, records: int) -> float:
    """Return what chance moves a share by: three standard errors, and a hundredth at least."""
    return max(0.01, 3.0 * float(np.sqrt(max(share * (1.0 - share), 0.0) / max(records, 1))))


def _screened(
    column: CoarsenedCodes,
    others: Sequence[OpenCodes],
    base: Floats,
    units: Integers | None,
    keep: Keep,
) -> list[OpenCodes]:
    """Return the columns that restore something by themselves, the best first."""
    rows, found = len(column.shown), []
    even = np.arange(0, rows, max(rows // SCREENED, 1))
    of_even = _part(column, even)

    def gain_of(one: OpenCodes) -> float:
        some, part = even, of_even
        if int(one.codes.max(initial=0)) >= _FEW:
            some = _of_some_values(one.codes)
            part = _part(column, some)
        if not part.affected.any():
            return 0.0
        own, known = None if units is None else units[some], base[some]
        right = _right(part, [OpenCodes(one.name, one.codes[some])], known, own)
        return right - _share(part, known)

    for one in others:
        gain = keep(one.told, partial(gain_of, one))
        if gain > 0.01:
            found.append((gain, one))
    return [one for _, one in sorted(found, key=lambda each: -each[0])]


def _of_some_values(codes: Integers) -> Indices:
    """Return all records of so many of a column's values that they are enough to screen by."""
    rows = len(codes)
    if rows <= SCREENED:
        return np.arange(rows)
    # Which values is as good as random: a multiplicative hash of the codes (Knuth).
    mixed = (codes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    share = SCREENED / rows
    chosen: Indices = np.flatnonzero(mixed < np.uint64(int(share * (1 << 24)) + 1))
    return chosen if len(chosen) >= SCREENED // 4 else np.arange(rows)


def _part(column: CoarsenedCodes, some: Indices) -> CoarsenedCodes:
    return CoarsenedCodes(
        column.name,
        column.shown[some],
        column.true[some],
        column.affected[some],
        column.hidden[some],
    )


def _base(column: CoarsenedCodes, units: Integers | None) -> Floats:
    """Return each record's chance of being guessed right without any other column, shape (n,)."""
    guessed = _guessed(column.shown.astype(np.int64), column.true, units)
    if column.hidden.any():
        # Records that hide the column are like those that show it, but for that.
        anybody = np.zeros(len(guessed), dtype=np.int64)
        guessed = np.where(column.hidden, _guessed(anybody, column.true, units), guessed)
    return np.nan_to_num(guessed)


def _right(
    column: CoarsenedCodes, beside: Sequence[OpenCodes], base: Floats, units: Integers | None
) -> float:
    """Return the share of the records that show less whose finer value is guessed right."""
    key = beside[0].codes.astype(np.int64)
    silent = key < 0
    for one in beside[1:]:
        silent = silent | (one.codes < 0)
        key = _joined(key, one.codes)
    guessed = np.full(len(key), np.nan)
    if not column.hidden.all():
        guessed = _guessed(_joined(key, column.shown), column.true, units)
    if column.hidden.any():
        known = _guessed(key, column.true, units)
        guessed = np.where(column.hidden, known, guessed)
    return _share(column, np.where(np.isnan(guessed) | silent, base, guessed))


def _share(column: CoarsenedCodes, chances: Floats) -> float:
    return float(chances[column.affected].mean())


def _joined(key: Integers, codes: Integers) -> Integers:
    found: Integers = pd.factorize(key * (int(codes.max(initial=0)) + 2) + codes + 1)[0]
    return found.astype(np.int64)


def _guessed(classes: Integers, true: Integers, units: Integers | None) -> Floats:
    """Return the chance that each record is guessed right from the others of its class.

    NaN where it has no others. Of several values that are equally frequent among the others, one
    is named at random.
    """
    width = int(true.max(initial=0)) + 1
    pair, pairs = pd.factorize(classes * width + true)
    cell = (pairs // width).astype(np.int64)
    counted = pair
    if units is not None:
        # A unit teaches a value once, and is left out with all its records.
        both = pd.factorize(pair * (int(units.max(initial=0)) + 1) + units)[1]
        counted = (both // (int(units.max(initial=0)) + 1)).astype(np.intp)
    counts = np.bincount(counted, minlength=len(pairs))
    places, cells = pd.factorize(cell)
    total = np.bincount(places, counts, len(cells))
    most = np.zeros(len(cells), dtype=np.int64)
    np.maximum.at(most, places, counts)
    is_most = counts == most[places]
    ties = np.bincount(places, is_most, len(cells))
    second = np.zeros(len(cells), dtype=np.int64)
    np.maximum.at(second, places[~is_most], counts[~is_most])
    level = np.bincount(places, counts == most[places] - 1, len(cells))
    alone = (most - 1 > second) & (ties == 1)
    tied = (most - 1 == second) & (ties == 1) & (second > 0)
    chance = np.where(alone, 1.0, np.where(tied, 1.0 / (1.0 + level), 0.0))
    right = np.where(is_most, chance[places], 0.0)
    right[total[places] <= 1] = np.nan
    return right[pair]
