"""Columns of a leaked file that were renamed, matched with released ones by their contents.

A column that keeps a released column's name is that column. Of the others each is compared with
every released column that the file lacks: whether its values are ones that the column can show,
and whether they occur about as often, where a perturbation of any strength is allowed for. A pair
is taken only where nothing else in the file or in the releases fits either of the two nearly as
well.

The match depends on the file, the table and the policies, and never on what was drawn from the key.
So a file that was not released is compared as if its columns had been named so from the start, and
an innocent recipient is named no more often than `FALSE_ALARM` says: a wrong match can hide a
source, but accuses nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.engine.core.values import Floats
from sfumato.engine.table.table import Table
from sfumato.formats.comparison import as_text, is_number
from sfumato.project.verification.leak_candidates import LeakCandidate, opened

_BINS: Final = 64
"""Values are counted in so many bins, in which the same values fall into the same ones."""
_MOST_NUMBERS: Final = 1 << 15
"""So many numbers of a part are looked at, at most."""
_CONTAINED: Final = 0.98
"""The least share of a column's rows whose values the released column has."""
_TOLERANCE: Final = 0.05
"""Two distributions may differ by so much, and by what sampling does to them."""
_RETAINED: Final = np.linspace(0.0, 1.0, 21)
"""Shares of values that a perturbation may have kept."""
_NOISE: Final = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Standard deviations of noise that may have been added, as parts of the column's own."""
_GOLDEN: Final = (5.0**0.5 - 1.0) / 2.0


class _LeakedColumn:
    """What a column of the file shows."""

    def __init__(self, column: pd.Series) -> None:
        present = column.dropna()
        texts = _texts(present)
        self.counts = texts.value_counts()
        self.rows = int(self.counts.sum())
        self.bins = _binned(self.counts)
        self.is_number = is_number(column)
        self.numbers = _numbers(present) if self.is_number else np.empty(0)


class _ReleasedColumn:
    """What a column can show in releases, of which some show it perturbed."""

    def __init__(self, is_perturbed: bool) -> None:
        self._is_perturbed = is_perturbed
        self._bins = np.zeros(_BINS)
        self._values: set[str] = set()
        self._numbers: list[Floats] = []
        self._is_number = True

    def add(self, column: pd.Series) -> None:
        """Look at the column in a part of the table."""
        present = column.dropna()
        if present.empty:
            return  # without a value it has no type either
        counts = _texts(present).value_counts()
        self._bins += _binned(counts) * counts.sum()
        self._values.update(counts.index)
        self._is_number &= is_number(column)
        if self._is_number:
            self._numbers.append(_numbers(present.iloc[:: -(-len(present) // _MOST_NUMBERS)]))

    def distance(self, leaked: _LeakedColumn) -> float:
        """Return how far a column of the file is from what this one shows; 1 where it is not it."""
        number = self._is_number and leaked.is_number
        if not leaked.rows or not self._bins.sum():
            return 1.0
        if number and self._is_perturbed:
            return _distance_of_numbers(np.concatenate(self._numbers), leaked.numbers)
        contained = leaked.counts[leaked.counts.index.isin(self._values)].sum() / leaked.rows
        if contained < _CONTAINED:
            return 1.0
        if number:
            return _ks(np.sort(np.concatenate(self._numbers)), leaked.numbers)
        usual = self._bins / self._bins.sum()
        if not self._is_perturbed:
            return _total_variation(usual, leaked.bins)
        even = _binned(pd.Series(1, index=sorted(self._values)))
        return min(_total_variation(p * usual + (1 - p) * even, leaked.bins) for p in _RETAINED)


def match_columns(
    leak: Table,
    perturbed: Collection[str],
    missing: Sequence[str],
    shown: Iterator[Sequence[LeakCandidate]],
) -> dict[str, str]:
    """Return which released columns a file's columns are, by their names in the file.

    Parameters
    ----------
    leak
        Those columns of the file that no release has a name for.
    perturbed
        The columns that releases perturb.
    missing
        The released columns that the file has no name for.
    shown
        Yields the candidates as they make columns of parts of the table.
    """
    leaked = {name: _LeakedColumn(leak.column(name)) for name in leak.columns}
    released: dict[tuple[str, object], _ReleasedColumn] = {}
    for candidates in shown:
        for (name, seen), column in _columns_of(candidates, perturbed, missing):
            known = released.setdefault((name, seen), _ReleasedColumn(name in perturbed))
            known.add(column)
    names = [name for name in missing if any(name == of for of, _ in released)]
    if not names or not leaked:
        return {}
    distances = np.array(
        [
            [
                min(each.distance(column) for (of, _), each in released.items() if of == name)
                for name in names
            ]
            for column in leaked.values()
        ]
    )
    rows = np.array([max(column.rows, 1) for column in leaked.values()])
    pairs = _clear_pairs(distances, 1.63 / np.sqrt(rows))
    columns = list(leaked)
    return {columns[row]: names[place] for row, place in pairs}


def _columns_of(
    candidates: Sequence[LeakCandidate], perturbed: Collection[str], missing: Sequence[str]
) -> Iterator[tuple[tuple[str, object], pd.Series]]:
    """Yield columns as candidates show them unperturbed, and true ones of those perturbed."""
    done = set()
    unperturbed = [name for name in missing if name not in perturbed]
    for place, each in enumerate(candidates):
        policy = next(n for n, other in enumerate(candidates) if other.maker is each.maker)
        seen = policy, each.seen[1]
        if seen not in done:
            done.add(seen)
            for name, column in opened(each.maker, unperturbed, each.view).items():
                yield (name, seen), column
        if place == policy:
            table = each.maker.table
            for name in missing:
                if name in perturbed and name in table.columns:
                    yield (name, policy), table.column(name)


def _clear_pairs(distances: Floats, sampling: Floats) -> list[tuple[int, int]]:
    """Return pairs that fit one another, and nothing else nearly as well.

    Parameters
    ----------
    distances
        Of each column of the file from each released one, shape (k, m).
    sampling
        What sampling may do to the distance of each column of the file, shape (k,).
    """
    pairs = []
    fits = distances <= _TOLERANCE + sampling[:, None]
    for row, place in zip(*np.nonzero(fits), strict=True):
        own = distances[row, place]
        beside = np.concatenate(
            [np.delete(distances[row], place), np.delete(distances[:, place], row)]
        )
        if beside.min(initial=1.0) > own + max(sampling[row], _TOLERANCE):
            pairs.append((int(row), int(place)))
    return pairs


def _binned(counts: pd.Series) -> Floats:
    """Return the share of rows in each bin, by a hash of their values, shape (bins,)."""
    places = pd.util.hash_array(counts.index.to_numpy(dtype=object)) % _BINS
    found = np.bincount(places.astype(np.int64), counts.to_numpy(dtype=np.float64), _BINS)
    shares: Floats = found / max(found.sum(), 1.0)
    return shares


def _texts(column: pd.Series) -> pd.Series:
    """Return values as texts that are the same whatever else stands in a part of the table."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        # As a whole column, moments show no time of day where all of them are at midnight.
        column = column.map(str).astype("string")
    return as_text(column).str.removesuffix(" 00:00:00")


def _numbers(column: pd.Series) -> Floats:
    numbers: npt.NDArray[np.float64] = np.sort(column.to_numpy(dtype=np.float64))
    return numbers


def _total_variation(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).sum() / 2)


def _ks(one: Floats, other: Floats) -> float:
    """Return the largest difference of two distributions' shares, by sorted samples of both."""
    both = np.concatenate([one, other])
    below = np.searchsorted(one, both, "right") / len(one)
    return float(np.abs(below - np.searchsorted(other, both, "right") / len(other)).max())


def _distance_of_numbers(true: Floats, leaked: Floats) -> float:
    """Return how far numbers are from true ones to which noise of any strength was added."""
    true = np.sort(true[np.isfinite(true)])
    if not len(true):
        return 1.0
    # No chance: a sequence that fills the unit interval evenly, whatever true values it falls on.
    even = (np.arange(len(true)) * _GOLDEN + 0.5 / len(true)) % 1.0
    even = np.clip(even, 1e-9, 1.0 - 1e-9)
    side = even - 0.5
    normal = scipy.special.ndtri(even)
    shapes = normal, -np.sign(side) * np.log1p(-2.0 * np.abs(side)) / np.sqrt(2.0)
    spread = np.std(true)
    noisy = (true + strength * spread * shape for strength in _NOISE for shape in shapes)
    return min(_ks(np.sort(each), leaked) for each in noisy)
