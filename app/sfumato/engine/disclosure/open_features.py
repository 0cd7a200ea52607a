"""What is known of each record by its open columns: features for linear estimates and for trees.

Columns of many values are known by averages of the sensitive attribute within them, which never
hold the record's own value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import scipy

from sfumato.engine.core.values import Flags, Floats, Indices, Integers
from sfumato.engine.randomness.keys import uniforms

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
    counted
        By which rows its groups are known, shape (n,); None for all.
    """

    name: str
    numbers: Floats | None = field(default=None, repr=False)
    codes: Integers | None = field(default=None, repr=False)
    counted: Flags | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of the sample's rows in one part's estimate, shape (rows, F).

    `owners` says of which column each feature is, `levels` which features are codes.
    """

    values: Floats
    owners: Indices
    levels: Flags


def parts_of(count: int, units: Integers | None = None) -> Integers:
    """Return each row's part, at random but always the same, shape (n,).

    All rows of a unit are in one part: who has never seen a household learns nothing of it from
    its other members.
    """
    if units is not None:
        return parts_of(int(units.max(initial=-1)) + 1)[units]
    return (uniforms(count, _STREAM) * PARTS).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is averaged within groups: a number of some rows, or which rows have a value.

    Parameters
    ----------
    rows
        The rows it is known of, or that have the value.
    weights
        The numbers of these rows; None for a value, which counts 1.
    """

    rows: Indices | slice
    weights: Floats | None = None

    def of(self, counted: Flags | None) -> Outcome:
        """Return the outcome in those rows that are counted."""
        if counted is None:
            return self
        if isinstance(self.rows, slice):
            rows, inside = np.flatnonzero(counted), counted
        else:
            inside = counted[self.rows]
            rows = self.rows[inside]
        return Outcome(rows, None if self.weights is None else self.weights[inside])


@dataclass(frozen=True, eq=False)
class Sought:
    """The attribute that is estimated, as far as features are made of it.

    Parameters
    ----------
    sample
        The rows that are estimated, ascending, shape (s,).
    parts
        Each row's part, shape (n,).
    known
        The rows whose value is known: those that groups are counted by.
    outcomes
        What is averaged within groups.
    places
        For a categorical attribute, where each row's value stands among those that are guessed,
        shape (n,); None for numbers.
    width
        How many such places there are.
    """

    sample: Indices
    parts: Integers
    known: Indices | slice
    outcomes: tuple[Outcome, ...]
    places: Indices | None = None
    width: int = 0


@dataclass(frozen=True, eq=False)
class Known:
    """What a sample knows of one column, and of the attribute within the column's groups.

    Parameters
    ----------
    number, level
        The column's numbers, or its codes, shape (s,); None where it has none.
    averages
        What it knows of the attribute's averages within its groups; None where groups are few.
    shares
        How often each value occurs within its groups; None for numbers.
    """

    number: Floats | None
    level: Floats | None
    averages: GroupAverages | None
    shares: GroupShares | None


def known_of(column: OpenColumn, sought: Sought) -> Known:
    """Return what a sample knows of a column; the only thing that reads the whole column."""
    sample, codes = sought.sample, column.codes
    number = level = averages = shares = None
    if column.numbers is not None:
        number = np.where(np.isfinite(column.numbers), column.numbers, np.nan)[sample]
    if codes is not None:
        size = int(codes.max()) + 1
        if column.numbers is None and size <= ONE_BY_ONE:
            level = codes[sample].astype(np.float64)
        else:
            averages = GroupAverages.of(codes, size, sought, column.counted)
        if sought.places is not None:
            shares = GroupShares.of(codes, sought.places, sought, column.counted)
    return Known(number, level, averages, shares)


@dataclass(frozen=True, eq=False)
class GroupAverages:
    """Sums of each outcome within the groups of the sample's rows, part by part.

    Parameters
    ----------
    own
        The part of each row, shape (s,).
    counts, sums
        Of the row's group in each part, shapes (s, parts) and (outcomes, s, parts).
    shrunk
        For each outcome and part, what is learned without this part: the mean, and with how many
        rows' weight it enters a group's.
    """

    own: Integers
    counts: Floats
    sums: Floats
    shrunk: tuple[tuple[tuple[float, float], ...], ...]

    @classmethod
    def of(
        cls, codes: Integers, size: int, sought: Sought, counted: Flags | None = None
    ) -> GroupAverages:
        """Return what the rows of a sample know of the groups of a column."""
        joint = codes * PARTS + sought.parts
        shape = (size, PARTS)
        group = codes[sought.sample]
        known = Outcome(sought.known).of(counted).rows
        counts = np.bincount(joint[known], minlength=size * PARTS).reshape(shape)
        every, shrunk = [], []
        for outcome in (each.of(counted) for each in sought.outcomes):
            keys, weights = joint[outcome.rows], outcome.weights
            sums = np.bincount(keys, weights, size * PARTS).reshape(shape).astype(np.float64)
            squares = (
                sums
                if weights is None
                else np.bincount(keys, weights**2, size * PARTS).reshape(shape)
            )
            every.append(sums[group])
            learned = [np.flatnonzero(np.arange(PARTS) != part) for part in range(PARTS)]
            shrunk.append(
                tuple(
                    _shrinkage(*(each[:, which].sum(axis=1) for each in (counts, sums, squares)))
                    for which in learned
                )
            )
        own = sought.parts[sought.sample]
        found = counts[group].astype(np.float64), np.array(every), tuple(shrunk)
        return cls(own, *found)

    def without(self, part: int) -> list[Floats]:
        """Return each outcome's average, from all parts but the row's own and this one."""
        used = np.ones((PARTS, PARTS))  # by the row's own part
        np.fill_diagonal(used, 0.0)
        used[:, part] = 0.0
        which = used[self.own]
        number = (self.counts * which).sum(axis=1)
        found = []
        for sums, shrunk in zip(self.sums, self.shrunk, strict=True):
            prior, strength = shrunk[part]
            with np.errstate(invalid="ignore", divide="ignore"):
                means = ((sums * which).sum(axis=1) + strength * prior) / (number + strength)
            found.append(np.where(np.isfinite(means), means, prior))
        return found


@dataclass(frozen=True, eq=False)
class GroupShares:
    """How often each value occurs in the groups of the sample's rows, part by part.

    Parameters
    ----------
    own, group
        Each row's part and group, shape (s,).
    counts
        By group and part, shape (groups · parts, width).
    """

    own: Integers
    group: Indices
    counts: scipy.sparse.csr_array

    @classmethod
    def of(
        cls, codes: Integers, places: Indices, sought: Sought, counted: Flags | None = None
    ) -> GroupShares:
        """Count the values in the groups of a column, as far as a sample asks for them."""
        asked, group = np.unique(codes[sought.sample], return_inverse=True)
        number = np.full(int(codes.max()) + 1, -1)
        number[asked] = np.arange(len(asked))
        groups = number[codes]
        asked_for = groups >= 0 if counted is None else counted & (groups >= 0)
        there: Indices | slice = slice(None) if asked_for.all() else np.flatnonzero(asked_for)
        rows = groups[there] * PARTS + sought.parts[there]
        keys = rows * sought.width + places[there]
        size = len(asked) * PARTS * sought.width
        counts = np.bincount(keys, minlength=size).reshape(-1, sought.width)
        # Of many values few occur in a group.
        return cls(sought.parts[sought.sample], group, scipy.sparse.csr_array(counts))

    def of_values(self, part: int, places: Indices) -> tuple[Floats, Floats]:
        """Return what `without` has of one value of each row, and of all together, shape (s,)."""
        width = self.counts.shape[1]
        cells = self.counts.tocoo()
        keys = cells.row.astype(np.int64) * width + cells.col  # ascending, as rows of a CSR are
        totals = np.asarray(self.counts.sum(axis=1)).ravel()
        found, total = np.zeros(len(self.group)), np.zeros(len(self.group))
        for other in range(PARTS):
            if other != part:
                here = np.flatnonzero(self.own != other)
                rows = self.group[here] * PARTS + other
                total[here] += totals[rows]
                wanted = rows * width + places[here]
                at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                found[here] += np.where(keys[at] == wanted, cells.data[at], 0)
        return found, total

    def without(self, part: int) -> Floats:
        """Return the counts from all parts but the row's own and this one, shape (s, width)."""
        found = np.zeros((len(self.group), self.counts.shape[1]))
        for other in range(PARTS):
            if other != part:
                here = np.flatnonzero(self.own != other)
                found[here] += self.counts[self.group[here] * PARTS + other].toarray()
        return found


def features_of(columns: Sequence[Known], part: int) -> Features:
    """Return the features of the sample, none of which knows a record's own outcome.

    Averages within the groups of a column come for the rows of `part` from all other parts, and
    for the others from those parts that are neither their own nor `part`.
    """
    values: list[Floats] = []
    owners: list[int] = []
    levels: list[bool] = []
    for place, column in enumerate(columns):
        own = [each for each in (column.number, column.level) if each is not None]
        averages = [] if column.averages is None else column.averages.without(part)
        values += [*own, *averages]
        owners += [place] * (len(own) + len(averages))
        levels += [each is column.level for each in own] + [False] * len(averages)
    return Features(np.stack(values, axis=1), np.array(owners), np.array(levels))


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
