"""Check what several tables tell where they share columns, from labels alone.

Nothing of `shared_columns` is used here: labels meet where the original values do that they cover,
people who can meet are found by following what overlaps, and beliefs are computed class by class.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sfumato.engine.core.values import Floats, Value
from sfumato.engine.generalization.counts_checker import LabelledTable

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
