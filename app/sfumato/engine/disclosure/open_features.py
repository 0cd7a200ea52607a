"""What is known of each record by its open columns: features for linear estimates and for trees.

Columns of many values are known by averages of the sensitive attribute within them, which never
hold the record's own value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

import numpy as np
import numpy.typing as npt
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Bytes, Flags, Floats, Indices, Integers
from sfumato.engine.disclosure.boosted_trees import Bins, Placed, bins_of
from sfumato.engine.randomness.keys import uniforms

PARTS: Final = 3
"""Each part of the rows is estimated by what the others tell."""
ONE_BY_ONE: Final = 30
"""Categories of so many values have a place of their own for each; others are averaged."""

_STREAM: Final = 0x0C11


@dataclass(frozen=True, eq=False)
class UnperturbedColumn:
    """A column as every recipient sees it, whole.

    Parameters
    ----------
    name
        Its name.
    numbers
        Its numbers, NaN where missing, shape (n,), whole ones as they are; None for categories.
    codes
        Its values' codes from 0, shape (n,), missing being a value too, in as few bytes as they
        need; of numbers where they repeat, otherwise None.
    counted
        By which rows its groups are known, shape (n,); None for all.
    """

    name: str
    numbers: Floats | Integers | None = field(default=None, repr=False)
    codes: npt.NDArray[np.integer] | None = field(default=None, repr=False)
    counted: Flags | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of the sample's rows in one part's estimate.

    Parameters
    ----------
    bins
        The features' bins, learned from the rows of the other parts.
    owners
        Of which column each feature is, shape (F,).
    levels
        Which features are codes, shape (F,).
    placed
        The features themselves.
    """

    bins: Bins = field(repr=False)
    owners: Indices
    levels: Flags
    placed: Sequence[Placed] = field(repr=False)

    def values(self, rows: Indices) -> Floats:
        """Return the features in some rows, shape (rows, F)."""
        found = np.empty((len(rows), len(self.placed)), order="F")
        for place, each in enumerate(self.placed):
            found[:, place] = each.values[each.places[rows]]
        return found

    def of(self, column: int) -> frozenset[int]:
        """Return the features of a column."""
        return frozenset(np.flatnonzero(self.owners == column).tolist())


def parts_of(count: int, units: Integers | None = None) -> Integers:
    """Return each row's part, at random but always the same, shape (n,).

    All rows of a unit are in one part: who has never seen a household learns nothing of it from
    its other members.
    """
    if units is not None:
        return parts_of(int(units.max(initial=-1)) + 1)[units]
    return (uniforms(count, _STREAM) * PARTS).astype(np.int64)


@dataclass(frozen=True, eq=False)
class GroupOutcome:
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

    def of(self, counted: Flags | None) -> GroupOutcome:
        """Return the outcome in those rows that are counted."""
        if counted is None:
            return self
        if isinstance(self.rows, slice):
            rows, inside = np.flatnonzero(counted), counted
        else:
            inside = counted[self.rows]
            rows = self.rows[inside]
        return GroupOutcome(rows, None if self.weights is None else self.weights[inside])


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
    outcomes: tuple[GroupOutcome, ...]
    places: Indices | None = None
    width: int = 0


@dataclass(frozen=True, eq=False)
class ColumnKnowledge:
    """What a sample knows of one column, and of the attribute within the column's groups.

    Parameters
    ----------
    number, level
        The column's numbers, or its codes; None where it has none.
    averages
        What it knows of the attribute's averages within its groups; None where groups are few.
    shares
        How often each value occurs within its groups; None for numbers.
    """

    number: Placed | None
    level: Placed | None
    averages: GroupAverages | None
    shares: GroupShares | None


def known_of(column: UnperturbedColumn, sought: Sought) -> ColumnKnowledge:
    """Return what a sample knows of a column; the only thing that reads the whole column."""
    sample, codes = sought.sample, None
    if column.codes is not None:
        codes = column.codes.astype(np.int64)
    number = level = averages = shares = None
    if column.numbers is not None:
        some = column.numbers[sample]
        number = Placed.of(np.where(np.isfinite(some), some, np.nan))
    if codes is not None:
        size = int(codes.max()) + 1
        if column.numbers is None and size <= ONE_BY_ONE:
            level = Placed.of(codes[sample].astype(np.float64))
        else:
            averages = GroupAverages.of(codes, size, sought, column.counted)
        if sought.places is not None:
            shares = GroupShares.of(codes, sought.places, sought, column.counted)
    return ColumnKnowledge(number, level, averages, shares)


@dataclass(frozen=True, eq=False)
class GroupAverages:
    """Sums of each outcome within the groups of the sample's rows, part by part.

    Parameters
    ----------
    places
        Each row's group and part among groups · parts, shape (s,).
    counts, sums
        Of each group in each part, shapes (groups, parts) and (outcomes, groups, parts).
    shrunk
        For each outcome and part, what is learned without this part: the mean, and with how many
        rows' weight it enters a group's.
    """

    places: Integers
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
        asked, group = _groups_of(codes, size, sought.sample)
        known = GroupOutcome(sought.known).of(counted).rows
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
            every.append(sums[asked])
            learned = [np.flatnonzero(np.arange(PARTS) != part) for part in range(PARTS)]
            shrunk.append(
                tuple(
                    _shrinkage(*(each[:, which].sum(axis=1) for each in (counts, sums, squares)))
                    for which in learned
                )
            )
        places = _with_parts(group, len(asked), sought)
        return cls(places, counts[asked].astype(np.float64), np.array(every), tuple(shrunk))

    def without(self, part: int) -> list[Placed]:
        """Return each outcome's average, from all parts but the row's own and this one."""
        used = np.ones((PARTS, PARTS))  # by the row's own part
        np.fill_diagonal(used, 0.0)
        used[:, part] = 0.0
        number = self.counts @ used.T
        found = []
        for sums, shrunk in zip(self.sums, self.shrunk, strict=True):
            prior, strength = shrunk[part]
            with np.errstate(invalid="ignore", divide="ignore"):
                means = (sums @ used.T + strength * prior) / (number + strength)
            means = np.where(np.isfinite(means), means, prior)
            found.append(Placed(means.ravel(), self.places))
        return found


def _groups_of(codes: Integers, size: int, sample: Indices) -> tuple[Indices, Indices]:
    """Return the groups that a sample asks for, ascending, and each of its rows' place there."""
    group = codes[sample]
    there = np.zeros(size, dtype=np.bool_)
    there[group] = True
    return np.flatnonzero(there), (there.cumsum() - 1)[group]


@dataclass(frozen=True, eq=False)
class GroupShares:
    """How often each value occurs in the groups of the sample's rows, part by part.

    Parameters
    ----------
    places
        Each row's group and part among groups · parts, shape (s,).
    counts
        By group and part, shape (groups · parts, width); sparse where they are many.
    """

    places: Integers
    counts: Integers | scipy.sparse.csr_array

    @classmethod
    def of(
        cls, codes: Integers, places: Indices, sought: Sought, counted: Flags | None = None
    ) -> GroupShares:
        """Count the values in the groups of a column, as far as a sample asks for them."""
        groups_of_all = int(codes.max()) + 1
        asked, group = _groups_of(codes, groups_of_all, sought.sample)
        if len(asked) < groups_of_all:
            number = np.full(groups_of_all, -1)
            number[asked] = np.arange(len(asked))
            codes = number[codes]
            counted = codes >= 0 if counted is None else counted & (codes >= 0)
        there: Indices | slice = slice(None) if counted is None else np.flatnonzero(counted)
        keys = (codes[there] * PARTS + sought.parts[there]) * sought.width + places[there]
        size = len(asked) * PARTS * sought.width
        counts = np.bincount(keys, minlength=size).reshape(-1, sought.width)
        # Of many values few occur in a group.
        kept = counts if size <= _DENSE else scipy.sparse.csr_array(counts)
        return cls(_with_parts(group, len(asked), sought), kept)

    def _elsewhere(self, part: int) -> Iterator[tuple[Indices, Integers]]:
        """Yield the rows that learn from each part but this one, and their group's place there."""
        own = self.places % PARTS
        for other in range(PARTS):
            if other != part:
                here = np.flatnonzero(own != other)
                yield here, self.places[here].astype(np.int64) - own[here] + other

    def of_values(self, part: int, places: Indices) -> tuple[Floats, Floats]:
        """Return what `without` has of one value of each row, and of all together, shape (s,)."""
        counts, width = self.counts, self.counts.shape[1]
        if not isinstance(counts, np.ndarray):
            cells = counts.tocoo()
            keys = cells.row.astype(np.int64) * width + cells.col  # ascending, as rows of a CSR are
        totals = np.asarray(counts.sum(axis=1)).ravel()
        found, total = np.zeros(len(self.places)), np.zeros(len(self.places))
        for here, rows in self._elsewhere(part):
            total[here] += totals[rows]
            wanted = rows * width + places[here]
            if isinstance(counts, np.ndarray):
                found[here] += counts.ravel()[wanted]
                continue
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found[here] += np.where(keys[at] == wanted, cells.data[at], 0)
        return found, total

    def without(self, part: int) -> Floats:
        """Return the counts from all parts but the row's own and this one, shape (s, width)."""
        found = np.zeros((len(self.places), self.counts.shape[1]))
        for here, rows in self._elsewhere(part):
            counts = self.counts[rows]
            found[here] += counts if isinstance(counts, np.ndarray) else counts.toarray()
        return found


_DENSE: Final = 1 << 18
"""So few counts are looked up where they stand, with no search."""


def _with_parts(group: Indices, groups: int, sought: Sought) -> Integers:
    """Return each row's group and part as one number, shape (s,)."""
    found = group * PARTS + sought.parts[sought.sample]
    return found.astype(np.min_scalar_type(groups * PARTS))


def features_of(columns: Sequence[ColumnKnowledge], part: int, learned: Indices) -> Features:
    """Return the features of the sample, none of which knows a record's own outcome.

    Averages within the groups of a column come for the rows of `part` from all other parts, and
    for the others from those parts that are neither their own nor `part`.

    Parameters
    ----------
    columns
        What is known of each column.
    part
        The part that is estimated.
    learned
        The rows of the other parts.
    """
    placed: list[Placed] = []
    tables: list[Bytes] = []
    owners: list[int] = []
    levels: list[bool] = []
    for owner, column in enumerate(columns):
        own = [each for each in (column.number, column.level) if each is not None]
        averages = [] if column.averages is None else column.averages.without(part)
        counts: Integers = np.empty(0, dtype=np.int64)
        counted = None
        for each in (*own, *averages):
            if each.places is not counted:  # the averages of a column share their places
                counted = each.places
                counts = np.bincount(each.places[learned], minlength=len(each.values)).astype(
                    np.int64
                )
            levels.append(each is column.level)
            owners.append(owner)
            tables.append(bins_of(each.values, counts, level=levels[-1]))
            placed.append(each)
    bins = Bins(tables, [each.places for each in placed])
    return Features(bins, np.array(owners), np.array(levels), placed)


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
        self._scales = _spreads(filled)
        self._missing = np.isnan(learn).any(axis=0) & ~levels
        self._positive = ~levels & (np.nan_to_num(learn, nan=1.0) > 0.0).all(axis=0)
        self._codes = [
            np.unique(learn[:, place]) if level else np.empty(0)
            for place, level in enumerate(levels)
        ]
        logs = np.log(np.where(self._positive, filled, 1.0))
        self._log_centres = logs.mean(axis=0)
        self._log_scales = _spreads(logs)

    def apply(self, values: Floats, *, logarithms: bool = False) -> Floats:
        """Return the terms, shape (rows, T); positive numbers by their logarithms if asked."""
        numbers = np.flatnonzero(~self._levels)
        missing = np.flatnonzero(self._missing)
        wide = 1 + len(numbers) + len(missing) + sum(map(len, self._codes))
        terms, at = np.empty((len(values), wide), order="F"), 1  # one column after the other
        terms[:, 0] = 1.0
        for feature in numbers.tolist():
            terms[:, at] = self._number(feature, values[:, feature], logarithms=logarithms)
            at += 1
        for feature in missing.tolist():
            terms[:, at] = np.isnan(values[:, feature])
            at += 1
        for feature, codes in enumerate(self._codes):
            for code in codes.tolist():
                terms[:, at] = values[:, feature] == code
                at += 1
        return terms

    def _number(self, feature: int, column: Floats, *, logarithms: bool) -> Floats:
        filled = np.where(np.isnan(column), self._centres[feature], column)
        if logarithms and self._positive[feature]:
            logs = np.log(np.maximum(filled, np.finfo(np.float64).tiny))
            found: Floats = (logs - self._log_centres[feature]) / self._log_scales[feature]
            return found
        return (filled - self._centres[feature]) / self._scales[feature]

    def share_of(
        self, feature: int, values: Floats, weights: Floats, *, logarithms: bool = False
    ) -> Floats:
        """Return what a feature's terms add to `apply(values) @ weights`, shape (rows,)."""
        column = values[:, feature]
        numbers, missing = int((~self._levels).sum()), int(self._missing.sum())
        if self._levels[feature]:
            first = 1 + numbers + missing + sum(map(len, self._codes[:feature]))
            codes = self._codes[feature]
            return (column[:, np.newaxis] == codes) @ weights[first : first + len(codes)]
        term = self._number(feature, column, logarithms=logarithms)
        found: Floats = term * weights[1 + int((~self._levels[:feature]).sum())]
        if self._missing[feature]:
            place = 1 + numbers + int(self._missing[:feature].sum())
            found += np.isnan(column) * weights[place]
        return found


def _spreads(values: Floats) -> Floats:
    """Return the standard deviations of columns, 1 where they differ by rounding alone."""
    found: Floats = values.std(axis=0)
    return np.where(found > 1e-12 * np.abs(values).max(axis=0), found, 1.0)
