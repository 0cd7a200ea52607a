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

import pandas as pd

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.values import Integers, Value, plain
from sfumato.engine.generalization.criteria import (
    Closeness,
    Criterion,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    NonCentralizedDiversity,
    RecursiveDiversity,
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
class _Released:
    """The published table, read again."""

    classes: list[Counter[Value]]
    units: list[int]
    whole: Counter[Value]
    order: dict[Value, int]
    others: list[list[frozenset[Value]]]


def verify_publication(
    frame: pd.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    criteria: Sequence[Criterion],
    others: Sequence[OtherTable] = (),
    order: Sequence[Value] = (),
    units: Sequence[int] | Integers | None = None,
) -> PublicationCheck:
    """Check that a published table keeps the criteria, from its own rows.

    Parameters
    ----------
    frame
        The published table, as it was written or read again.
    quasi_identifiers
        Its public columns.
    sensitive
        Its sensitive column.
    criteria
        What it promises.
    others
        The other holders' tables, as they published them.
    order
        The order of the sensitive values, for t-closeness with the ordered distance; the values'
        own order where it is empty.
    units
        Whose each row is, where several belong to one unit; None where each stands alone.

    Raises
    ------
    DiversityError
        If a column is not there, or there are no rows.
    """
    for name in (*quasi_identifiers, sensitive):
        if name not in frame.columns:
            raise DiversityError(
                "The published table has no column {column}.",
                "Check the file that was published.",
                column=name,
            )
    if len(frame) == 0:
        raise DiversityError("The published table has no rows.", "Check the file.")
    classes = _classes(frame, quasi_identifiers, sensitive, {})
    whole: Counter[Value] = Counter()
    for each in classes:
        whole.update(each)
    ranked = order or sorted(whole, key=lambda v: (isinstance(v, str), v is None, v or 0))
    sets = [
        [
            frozenset(each)
            for each in _classes(o.frame, o.quasi_identifiers, o.sensitive, o.spelling)
        ]
        for o in others
    ]
    counted = _units(frame, quasi_identifiers, range(len(frame)) if units is None else units)
    released = _Released(classes, counted, whole, {v: i for i, v in enumerate(ranked)}, sets)
    checked = tuple(_checked(criterion, released) for criterion in criteria)
    return PublicationCheck(len(frame), len(classes), checked)


def _classes(
    frame: pd.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    spelling: Mapping[Value, Value],
) -> list[Counter[Value]]:
    """Return how often each sensitive value occurs in each class."""
    keys = [
        frame[name].astype(object).where(frame[name].notna(), None) for name in quasi_identifiers
    ]
    values = frame[sensitive].astype(object).where(frame[sensitive].notna(), None)
    found: dict[tuple[object, ...], Counter[Value]] = {}
    for *public, value in zip(*keys, values, strict=True):
        own = plain(value)
        found.setdefault(tuple(public), Counter())[spelling.get(own, own)] += 1
    return list(found.values())


def _units(
    frame: pd.DataFrame, quasi_identifiers: Sequence[str], units: Sequence[int] | Integers
) -> list[int]:
    """Return how many different units each class has."""
    keys = [
        frame[name].astype(object).where(frame[name].notna(), None) for name in quasi_identifiers
    ]
    found: dict[tuple[object, ...], set[int]] = {}
    for *public, unit in zip(*keys, units, strict=True):
        found.setdefault(tuple(public), set()).add(int(unit))
    return [len(each) for each in found.values()]


@singledispatch
def _checked(criterion: Criterion, _released: _Released) -> CheckedCriterion:
    raise TypeError(f"no check is known for {type(criterion).__name__}")


@_checked.register
def _(criterion: KAnonymity, released: _Released) -> CheckedCriterion:
    failing = sum(size < criterion.k for size in released.units)
    return CheckedCriterion(criterion, min(released.units), failing == 0, failing)


@_checked.register
def _(criterion: DistinctDiversity, released: _Released) -> CheckedCriterion:
    sizes = [len(each) for each in released.classes]
    failing = sum(size < criterion.l for size in sizes)
    return CheckedCriterion(criterion, min(sizes), failing == 0, failing)


@_checked.register
def _(criterion: EntropyDiversity, released: _Released) -> CheckedCriterion:
    reached = []
    for each in released.classes:
        total = each.total()
        entropy = math.fsum(n / total * math.log(total / n) for n in each.values())
        reached.append(math.exp(entropy))
    failing = sum(value < criterion.l * (1 - _SLACK) for value in reached)
    return CheckedCriterion(criterion, min(reached), failing == 0, failing)


@_checked.register
def _(criterion: RecursiveDiversity, released: _Released) -> CheckedCriterion:
    # As a fraction c is the number that was stated, so that no rounding turns a tie.
    needed, failing, c = [], 0, Fraction(str(criterion.c))
    for each in released.classes:
        counts = sorted(each.values(), reverse=True)
        rest = sum(counts[criterion.l - 1 :])
        needed.append(counts[0] / rest if rest else math.inf)
        failing += not counts[0] < c * rest
    return CheckedCriterion(criterion, max(needed), failing == 0, failing)


@_checked.register
def _(criterion: Closeness, released: _Released) -> CheckedCriterion:
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
def _(criterion: NonCentralizedDiversity, released: _Released) -> CheckedCriterion:
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
