"""What is known of each record by its open columns: features for linear estimates and for trees.

Columns of many values are known by averages of the sensitive attribute within them, which never
hold the record's own value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.randomness.simulation_rng import uniforms

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

PARTS: Final = 3
"""Each part of the rows is estimated by what the others tell."""
ONE_BY_ONE: Final = 30
"""Categories of so many values have a place of their own for each; others are averaged."""

_STREAM: Final = 0x0C11


@dataclass(frozen=True, eq=False)
class OpenColumn:
    """A column as every recipient sees it, whole.

    Parameters
    ----------
    name
        Its name.
    numbers
        Its numbers, NaN where missing, shape (n,); None for categories.
    codes
        Its values' codes from 0, shape (n,), missing being a value too; of numbers where they
        repeat, otherwise None.
    """

    name: str
    numbers: Floats | None = field(default=None, repr=False)
    codes: Integers | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of the sample's rows in one part's estimate, shape (rows, F).

    `owners` says of which column each feature is, `levels` which features are codes.
    """

    values: Floats
    owners: Places
    levels: Flags


def parts_of(count: int, units: Integers | None = None) -> Integers:
    """Return each row's part, at random but always the same, shape (n,).

    All rows of a unit are in one part: who has never seen a household learns nothing of it from
    its other members.
    """
    if units is not None:
        drawn: Integers = parts_of(int(units.max(initial=-1)) + 1)[units]
        return drawn
    return (uniforms(count, _STREAM) * PARTS).astype(np.int64)


def features_of(
    columns: Sequence[OpenColumn],
    wanted: Floats,
    known: Flags,
    parts: Integers,
    part: int,
    sample: Places,
) -> Features:
    """Return the features of the sample, none of which knows a record's own outcome.

    Averages within the groups of a column come for the rows of `part` from all other parts, and
    for the others from those parts that are neither their own nor `part`.
    """
    values: list[Floats] = []
    owners: list[int] = []
    levels: list[bool] = []

    def add(feature: Floats, owner: int, level: bool = False) -> None:
        values.append(feature)
        owners.append(owner)
        levels.append(level)

    for place, column in enumerate(columns):
        if column.numbers is not None:
            add(np.where(np.isfinite(column.numbers), column.numbers, np.nan)[sample], place)
        if column.codes is None:
            continue
        size = int(column.codes.max()) + 1
        if column.numbers is None and size <= ONE_BY_ONE:
            add(column.codes[sample].astype(np.float64), place, level=True)
            continue
        for average in _averages(column.codes, size, wanted, known, parts, part, sample):
            add(average, place)
    return Features(np.stack(values, axis=1), np.array(owners), np.array(levels))


def _averages(
    codes: Integers,
    size: int,
    wanted: Floats,
    known: Flags,
    parts: Integers,
    part: int,
    sample: Places,
) -> list[Floats]:
    """Return each outcome's average within the groups of a column, and the groups' sizes."""
    joint = codes * PARTS + parts
    counts = np.bincount(joint[known], minlength=size * PARTS).reshape(size, PARTS)
    found = []
    own, group = parts[sample], codes[sample]
    used = np.ones((PARTS, PARTS), dtype=np.bool_)  # by the row's own part
    np.fill_diagonal(used, False)
    used[:, part] = False
    for outcome in wanted.T:
        sums = np.bincount(joint[known], weights=outcome[known], minlength=size * PARTS)
        sums = sums.reshape(size, PARTS)
        squares = np.bincount(joint[known], weights=outcome[known] ** 2, minlength=size * PARTS)
        learned = np.flatnonzero(np.arange(PARTS) != part)
        prior, strength = _shrinkage(
            counts[:, learned].sum(axis=1),
            sums[:, learned].sum(axis=1),
            squares.reshape(size, PARTS)[:, learned].sum(axis=1),
        )
        average = np.empty(len(sample))
        for each in range(PARTS):
            which = used[each]
            total, number = sums[:, which].sum(axis=1), counts[:, which].sum(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                means = (total + strength * prior) / (number + strength)
            here = own == each
            average[here] = np.where(np.isfinite(means), means, prior)[group[here]]
        found.append(average)
    return found


def _shrinkage(counts: Integers, sums: Floats, squares: Floats) -> tuple[float, float]:
    """Return the mean, and with how many rows' weight it enters a group's (empirical Bayes)."""
    total = float(counts.sum())
    if total == 0.0:
        return 0.0, 1.0
    prior = float(sums.sum()) / total
    several = counts > 1
    free = float((counts[several] - 1).sum())
    if free <= 0.0:
        return prior, 1.0
    inside = squares[several] - sums[several] ** 2 / counts[several]
    within = max(float(inside.sum()) / free, 0.0)
    overall = max(float(squares.sum()) / total - prior**2, 0.0)
    between = max(overall - within, 1e-3 * overall)
    return prior, (within / between if between > 0.0 else 1.0)


class Design:
    """Features as the terms of a linear estimate: 1, numbers, what is missing, categories."""

    def __init__(self, learn: Floats, levels: Flags) -> None:
        self._levels = levels
        known = np.where(np.isnan(learn), 0.0, learn)
        counts = np.maximum((~np.isnan(learn)).sum(axis=0), 1)
        self._centres = known.sum(axis=0) / counts
        filled = np.where(np.isnan(learn), self._centres, learn)
        self._scales = np.where(filled.std(axis=0) > 0.0, filled.std(axis=0), 1.0)
        self._missing = np.isnan(learn).any(axis=0) & ~levels
        self._positive = ~levels & (np.nan_to_num(learn, nan=1.0) > 0.0).all(axis=0)
        self._codes = [
            np.unique(learn[:, place]) if level else np.empty(0)
            for place, level in enumerate(levels)
        ]
        logs = np.log(np.where(self._positive, filled, 1.0))
        self._log_centres = logs.mean(axis=0)
        self._log_scales = np.where(logs.std(axis=0) > 0.0, logs.std(axis=0), 1.0)

    def apply(self, values: Floats, *, logarithms: bool = False) -> Floats:
        """Return the terms, shape (rows, T); positive numbers by their logarithms if asked."""
        filled = np.where(np.isnan(values), self._centres, values)
        terms = [np.ones((len(values), 1))]
        usual = (filled - self._centres) / self._scales
        if logarithms:
            least = np.maximum(filled, np.finfo(np.float64).tiny)
            logs = np.log(np.where(self._positive, least, 1.0))
            usual = np.where(self._positive, (logs - self._log_centres) / self._log_scales, usual)
        terms.append(usual[:, ~self._levels])
        terms.append(np.isnan(values[:, self._missing]).astype(np.float64))
        terms += [
            (values[:, [place]] == self._codes[place]).astype(np.float64)
            for place in np.flatnonzero(self._levels).tolist()
        ]
        return np.hstack(terms)
