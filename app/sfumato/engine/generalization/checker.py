"""Check a published table from its own rows alone.

Nothing of the search is used here, neither its codes nor its bit masks nor its formulas' code: the
classes are grouped again from the published labels, and each criterion is computed anew from its
definition with plain sets and counters. What the search claims is so confirmed by another way.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import singledispatch

import numpy as np
import pandas as pd

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.values import Integers, Value, plain
from sfumato.engine.generalization.counts_checker import (
    LabelledCounts,
    LabelledTable,
    fewest_left,
)
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
from sfumato.engine.generalization.meeting_checker import (
    Covers,
    fewest_where_met,
    largest_belief,
)
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
