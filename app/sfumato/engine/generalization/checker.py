"""Check a published table from its own rows alone.

Nothing of the search is used here, neither its codes nor its bit masks nor its formulas' code: the
classes are grouped again from the published labels, and each criterion is computed anew from its
definition with plain sets and counters. What the search claims is so confirmed by another way.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import singledispatch

import numpy as np
import pandas as pd

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats, Integers, Value, plain
from sfumato.engine.generalization.counts_checker import LabelledCounts, LabelledTable, fewest_left
from sfumato.engine.generalization.criteria import (
    Closeness,
    Criterion,
    DistinctDiversity,
    EntropyDiversity,
    InformedDiversity,
    KAnonymity,
    NonCentralizedDiversity,
    RecursiveDiversity,
)
from sfumato.engine.generalization.joint_criteria import AlignedDiversity, LargestBelief
from sfumato.engine.generalization.others import OtherTable

_SLACK = 1e-9


@dataclass(frozen=True)
class CheckedCriterion:
    """What the published table really keeps of one criterion.

    Parameters
    ----------
    criterion
        What was promised.
    reached
        What the worst class reaches, in the criterion's own measure: its records or units, its
        values, the exponential of its entropy, the smallest c (any above it holds), its distance,
        or the values that remain beside the others' tables.
    holds
        Whether every class satisfies it.
    failing
        How many classes do not.
    """

    criterion: Criterion
    reached: float
    holds: bool
    failing: int


@dataclass(frozen=True)
class PublicationCheck:
    """What the check of a published table found.

    Parameters
    ----------
    rows, classes
        Of the published table.
    criteria
        Each criterion, checked.
    """

    rows: int
    classes: int
    criteria: tuple[CheckedCriterion, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether everything promised is kept."""
        return all(checked.holds for checked in self.criteria)


@dataclass(frozen=True)
class _PublishedTable:
    """The published table, read again."""

    classes: list[Counter[Value]]
    units: list[int]
    whole: Counter[Value]
    order: dict[Value, int]
    others: list[list[frozenset[Value]]]
    tables: list[LabelledTable]
    known: Sequence[LabelledCounts]
    covers: Covers


class PublishedRows:
    """Counts a published table's rows, as many at a time as they come.

    Parameters
    ----------
    quasi_identifiers
        Its public columns.
    sensitive
        Its sensitive column.
    spelling
        How values are spelled elsewhere, by how they are spelled here.
    """

    def __init__(
        self,
        quasi_identifiers: Sequence[str],
        sensitive: str,
        spelling: Mapping[Value, Value] | None = None,
    ) -> None:
        self._names, self._sensitive = tuple(quasi_identifiers), sensitive
        self._spelling = spelling or {}
        self._numbers: dict[tuple[Value, ...], int] = {}
        self._counts: list[Counter[Value]] = []

    def add(self, frame: pd.DataFrame) -> Integers:
        """Count some rows, and return the number of each one's class, shape (n,).

        Raises
        ------
        DiversityError
            If a column is not there.
        """
        for name in (*self._names, self._sensitive):
            if name not in frame.columns:
                raise DiversityError(
                    "The published table has no column {column}.",
                    "Check the file that was published.",
                    column=name,
                )
        public = [_told_apart(frame[name]) for name in self._names]
        key = np.zeros(len(frame), dtype=np.int64)
        for codes, shown in public:
            key = pd.factorize(key * len(shown) + codes)[0]
        firsts = np.flatnonzero(~pd.Series(key).duplicated()).tolist()
        numbers = [self._number(tuple(own[codes[at]] for codes, own in public)) for at in firsts]
        of_row = np.array(numbers, dtype=np.int64)[key]
        codes, values = _told_apart(frame[self._sensitive])
        pairs, counts = np.unique(of_row * len(values) + codes, return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            value = values[pair % len(values)]
            self._counts[pair // len(values)][self._spelling.get(value, value)] += count
        return of_row

    def _number(self, public: tuple[Value, ...]) -> int:
        if public not in self._numbers:
            self._numbers[public] = len(self._counts)
            self._counts.append(Counter())
        return self._numbers[public]

    @property
    def classes(self) -> list[Counter[Value]]:
        """How often each sensitive value occurs in each class."""
        return self._counts

    def labelled(self, holder: str) -> LabelledTable:
        """Return the classes by the texts that they show."""
        texts = [
            tuple("(missing)" if label is None else str(label) for label in shown)
            for shown in self._numbers
        ]
        return LabelledTable(holder, self._names, dict(zip(texts, self._counts, strict=True)))

    def checked(
        self,
        criteria: Sequence[Criterion],
        others: Sequence[OtherTable] = (),
        order: Sequence[Value] = (),
        units: Sequence[int] | Integers | None = None,
        known: Sequence[LabelledCounts] = (),
        covers: Covers | None = None,
    ) -> PublicationCheck:
        """Check that the rows keep criteria.

        Parameters
        ----------
        criteria
            What they promise.
        others
            The other holders' tables, as they published them.
        order
            The order of the sensitive values, for t-closeness with the ordered distance; the
            values' own order where it is empty.
        units
            How many units each class has; None where rows stand alone.
        known
            Public counts of how many people tables share.
        covers
            For our columns that other tables share, the original values that a label covers.

        Raises
        ------
        DiversityError
            If there are no rows.
        """
        if not self._counts:
            raise DiversityError("The published table has no rows.", "Check the file.")
        whole: Counter[Value] = Counter()
        for each in self._counts:
            whole.update(each)
        ranked = order or sorted(whole, key=lambda v: (isinstance(v, str), v is None, v or 0))
        counted = [each.total() for each in self._counts] if units is None else list(units)
        places = {value: place for place, value in enumerate(ranked)}
        theirs = [_read(other) for other in others]
        sets = [[frozenset(each) for each in rows.classes] for rows in theirs]
        holders = [other.holder for other in others]
        tables = [
            rows.labelled(name) for name, rows in zip([*holders, ""], [*theirs, self], strict=True)
        ]
        read = (self._counts, counted, whole, places, sets, tables, known, covers or {})
        released = _PublishedTable(*read)
        checked = tuple(_checked(criterion, released) for criterion in criteria)
        return PublicationCheck(whole.total(), len(self._counts), checked)


def verify_publication(
    frame: pd.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    criteria: Sequence[Criterion],
    others: Sequence[OtherTable] = (),
    order: Sequence[Value] = (),
    units: Sequence[int] | Integers | None = None,
    known: Sequence[LabelledCounts] = (),
) -> PublicationCheck:
    """Check that a published table keeps the criteria, from its own rows; see `PublishedRows`.

    Here `units` says whose each row is, where several belong to one unit.

    Raises
    ------
    DiversityError
        If a column is not there, or there are no rows.
    """
    rows = PublishedRows(quasi_identifiers, sensitive)
    of_row, counted = rows.add(frame), None
    if units is not None:
        pairs = pd.DataFrame({"class": of_row, "unit": np.asarray(units)}).drop_duplicates()
        counted = np.bincount(pairs["class"], minlength=len(rows.classes)).tolist()
    return rows.checked(criteria, others, order, counted, known)


def _read(other: OtherTable) -> PublishedRows:
    """Return another holder's table, its sensitive values spelled as ours."""
    rows = PublishedRows(other.quasi_identifiers, other.sensitive, other.spelling)
    rows.add(other.frame)
    return rows


def _told_apart(column: pd.Series) -> tuple[Integers, list[Value]]:
    """Return which distinct value each row has, shape (n,), and these; None for a missing one."""
    places, found = pd.factorize(column)
    values = [plain(value) for value in found]
    return np.where(places < 0, len(values), places).astype(np.int64), [*values, None]


@singledispatch
def _checked(criterion: Criterion, _released: _PublishedTable) -> CheckedCriterion:
    raise TypeError(f"no check is known for {type(criterion).__name__}")


@_checked.register
def _(criterion: KAnonymity, released: _PublishedTable) -> CheckedCriterion:
    failing = sum(size < criterion.k for size in released.units)
    return CheckedCriterion(criterion, min(released.units), failing == 0, failing)


@_checked.register
def _(criterion: DistinctDiversity, released: _PublishedTable) -> CheckedCriterion:
    sizes = [len(each) for each in released.classes]
    failing = sum(size < criterion.l for size in sizes)
    return CheckedCriterion(criterion, min(sizes), failing == 0, failing)


@_checked.register
def _(criterion: EntropyDiversity, released: _PublishedTable) -> CheckedCriterion:
    reached = []
    for each in released.classes:
        total = each.total()
        entropy = math.fsum(n / total * math.log(total / n) for n in each.values())
        reached.append(math.exp(entropy))
    failing = sum(value < criterion.l * (1 - _SLACK) for value in reached)
    return CheckedCriterion(criterion, min(reached), failing == 0, failing)


@_checked.register
def _(criterion: RecursiveDiversity, released: _PublishedTable) -> CheckedCriterion:
    # As a fraction c is the number that was stated, so that no rounding turns a tie.
    needed, failing, c = [], 0, Fraction(str(criterion.c))
    for each in released.classes:
        counts = sorted(each.values(), reverse=True)
        rest = sum(counts[criterion.l - 1 :])
        needed.append(counts[0] / rest if rest else math.inf)
        failing += not counts[0] < c * rest
    return CheckedCriterion(criterion, max(needed), failing == 0, failing)


@_checked.register
def _(criterion: Closeness, released: _PublishedTable) -> CheckedCriterion:
    rows = released.whole.total()
    values = sorted(released.whole, key=lambda value: released.order[value])
    distances = []
    for each in released.classes:
        total = each.total()
        apart = [each[v] / total - released.whole[v] / rows for v in values]
        if criterion.ordered:
            steps = max(len(values) - 1, 1)
            distances.append(math.fsum(map(abs, itertools.accumulate(apart))) / steps)
        else:
            distances.append(math.fsum(map(abs, apart)) / 2)
    failing = sum(distance > criterion.t + _SLACK for distance in distances)
    return CheckedCriterion(criterion, max(distances), failing == 0, failing)


@_checked.register
def _(criterion: NonCentralizedDiversity, released: _PublishedTable) -> CheckedCriterion:
    remaining = {frozenset(each) for each in released.classes}
    found = []
    for own in remaining:
        narrowed = {own}
        for table in released.others:
            narrowed = {a & b for a in narrowed for b in set(table)}
        found.append((own, min(map(len, narrowed))))
    weak = {own for own, size in found if size < criterion.l}
    failing = sum(frozenset(each) in weak for each in released.classes)
    return CheckedCriterion(criterion, min(size for _, size in found), failing == 0, failing)


@_checked.register
def _(criterion: InformedDiversity, released: _PublishedTable) -> CheckedCriterion:
    left = fewest_left(released.tables, released.known)
    failing = int(left < criterion.l)
    return CheckedCriterion(criterion, left, not failing, failing)


@_checked.register
def _(criterion: AlignedDiversity, released: _PublishedTable) -> CheckedCriterion:
    left = fewest_where_met(released.tables, criterion.shared, released.covers)
    failing = int(left < criterion.l)
    return CheckedCriterion(criterion, left, not failing, failing)


@_checked.register
def _(criterion: LargestBelief, released: _PublishedTable) -> CheckedCriterion:
    tables = released.tables if criterion.beside else released.tables[-1:]
    told = (criterion.shared, released.covers, criterion.independent)
    believed = largest_belief(tables, *told)
    holds = believed <= criterion.x / 100 * (1 + _SLACK)
    return CheckedCriterion(criterion, believed, holds, int(not holds))


# ----- check what several tables tell where they share columns, from labels alone
# Nothing of `shared_columns` is used here: labels meet where the original values do that they
# cover, people who can meet are found by following what overlaps, and beliefs are computed class by
# class.


Covers = Mapping[str, Mapping[str, frozenset[str]]]
"""For a column of ours, the original values that a label covers."""

_Shared = Sequence[tuple[str, str, str]]
_Counts = Mapping[Value, int]


def fewest_where_met(tables: Sequence[LabelledTable], shared: _Shared, covers: Covers) -> int:
    """Return the fewest values that classes share which can be one person's, ours last."""
    fewest = len({value for counts in tables[-1].classes.values() for value in counts})
    for own, meeting, _ in _met(tables, shared, covers):
        sets = {frozenset(own)}
        for classes in filter(None, meeting):
            sets = {a & frozenset(b) for a in sets for b in classes}
        fewest = min(fewest, *map(len, sets))
    return fewest


def largest_belief(
    tables: Sequence[LabelledTable], shared: _Shared, covers: Covers, independent: bool
) -> float:
    """Return the largest belief in anybody's value by who holds all tables, ours last; a share."""
    values = list(dict.fromkeys(v for table in tables for c in table.classes.values() for v in c))
    known: dict[object, float] = {}
    for own, meeting, people in _met(tables, shared, covers):
        key = (frozenset(own.items()), *map(id, meeting), *map(id, people))
        if key not in known:
            numbers = [_numbers(own, values)]
            tables_of = [np.array([_numbers(c, values) for c in m]) for m in meeting if m]
            all_of = [_numbers(p, values) for p, m in zip(people, meeting, strict=True) if m]
            known[key] = max(_beliefs(numbers[0], tables_of, all_of, independent))
    return max(known.values())


def _numbers(counts: _Counts, values: Sequence[Value]) -> Floats:
    return np.array([counts.get(value, 0) for value in values], dtype=np.float64)


def _beliefs(
    own: Floats, tables: Sequence[Floats], people: Sequence[Floats], independent: bool
) -> Iterator[float]:
    """Yield the largest beliefs in one class of ours with each of the others it can meet."""
    yield float(own.max() / own.sum())
    if not tables:
        return
    *outer, last = tables
    theirs = [table.sum(axis=0) for table in tables]
    for chosen in itertools.product(*outer):
        classes = [*(np.tile(row, (len(last), 1)) for row in chosen), last]
        if independent:
            weights = np.tile(own, (len(last), 1))
            for table, shown in zip(classes, theirs, strict=True):
                weights = weights * table / np.maximum(shown, 1)
            sums = weights.sum(axis=1)
            at = sums > 0
            if at.any():
                yield float((weights[at].max(axis=1) / sums[at]).max())
            continue
        low, high = np.tile(own, (len(last), 1)), np.tile(own, (len(last), 1))
        for table, everybody in zip(classes, people, strict=True):
            low, high = low - (everybody - table), np.minimum(high, table)
        low = np.maximum(low, 0)
        rest = low.sum(axis=1, keepdims=True) - low
        at = high > 0
        if at.any():
            yield float((high[at] / (high + rest)[at]).max())


def _met(
    tables: Sequence[LabelledTable], shared: _Shared, covers: Covers
) -> Iterator[tuple[_Counts, Sequence[list[_Counts]], Sequence[_Counts]]]:
    """Yield each class of ours, the others' classes it can meet, and our people who can.

    What can be met by the same classes is one list, whichever of ours it is.
    """
    *others, ours = tables
    groups = [_groups(other, ours, shared, covers) for other in others]
    for labels, own in ours.classes.items():
        met = [of_ours[labels] for of_ours, _, _ in groups]
        meeting = [theirs[key] for key, (_, theirs, _) in zip(met, groups, strict=True)]
        people = [whole[key] for key, (_, _, whole) in zip(met, groups, strict=True)]
        yield own, meeting, people


def _groups(
    other: LabelledTable, ours: LabelledTable, shared: _Shared, covers: Covers
) -> tuple[
    dict[tuple[str, ...], tuple[object, ...]],
    dict[tuple[object, ...], list[_Counts]],
    dict[tuple[object, ...], Counter[Value]],
]:
    """Return the group of each class of ours, and the other's classes and all people in each."""
    columns = [
        (ours.columns.index(own), other.columns.index(theirs), covers[own])
        for holder, theirs, own in shared
        if holder == other.holder
    ]
    parts = []
    for mine, theirs, covered in columns:
        labels = {shown[mine] for shown in ours.classes} | {
            shown[theirs] for shown in other.classes
        }
        parts.append(_overlapping(labels, covered))
    of_ours: dict[tuple[str, ...], tuple[object, ...]] = {}
    whole: dict[tuple[object, ...], Counter[Value]] = {}
    met: dict[tuple[object, ...], list[_Counts]] = {}
    for shown, counts in ours.classes.items():
        key = tuple(part[shown[mine]] for part, (mine, _, _) in zip(parts, columns, strict=True))
        of_ours[shown] = key
        whole.setdefault(key, Counter()).update(counts)
        met.setdefault(key, [])
    for shown, counts in other.classes.items():
        key = tuple(part[shown[at]] for part, (_, at, _) in zip(parts, columns, strict=True))
        met.setdefault(key, []).append(counts)
    shown_there = {key: sum(map(Counter, classes), Counter()) for key, classes in met.items()}
    if not all(shown <= whole.get(key, Counter()) for key, shown in shown_there.items()):
        # Who is shown there and not by us is somebody else, and so may be anybody there.
        whole = {key: counts + shown_there[key] for key, counts in whole.items()}
    return of_ours, met, whole


def _overlapping(
    labels: set[str], covers: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """Return for each label what it and all labels cover that overlap with it, one by another."""
    groups: list[frozenset[str]] = []
    for label in labels:
        covered = covers.get(label, frozenset({label}))
        touching = [group for group in groups if group & covered]
        groups = [group for group in groups if not group & covered]
        groups.append(covered.union(*touching))
    return {
        label: next(g for g in groups if g & covers.get(label, frozenset({label})))
        for label in labels
    }
