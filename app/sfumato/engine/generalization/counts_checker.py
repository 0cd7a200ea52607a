"""Check what tables and public counts leave of everybody's value, from labels alone.

Nothing of `public_counts` is used here: tables are counters by label, regions are what overlaps,
and each value is looked for in each combination by a program of its own.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Value

Labels = tuple[str, ...]
Cell = tuple[tuple[Labels | None, ...], Value]
"""A class of each table, None for who is not in it, and a value."""


@dataclass(frozen=True)
class LabelledTable:
    """A published table: what its classes show, and their values.

    Parameters
    ----------
    holder
        Whose it is; empty for ours.
    columns
        Its public columns.
    classes
        The frequencies of the values in each class.
    """

    holder: str
    columns: tuple[str, ...]
    classes: Mapping[Labels, Counter[Value]] = field(repr=False)


@dataclass(frozen=True)
class LabelledCounts:
    """Public counts as they are written.

    Parameters
    ----------
    places
        For each column, whose it is (empty for ours) and what it is called there.
    rows
        The labels of each row, and how many people it counts.
    covers
        For our columns, the original values that a label covers.
    """

    places: tuple[tuple[str, str], ...]
    rows: Sequence[tuple[Labels, int]] = field(repr=False)
    covers: Mapping[str, Mapping[str, frozenset[str]]] = field(repr=False)


def fewest_left(tables: Sequence[LabelledTable], known: Sequence[LabelledCounts]) -> int:
    """Return the fewest values that remain for anybody; 0 where tables and counts don't agree."""
    cells, equations, sums = _agreement(tables, known)
    seen: set[int] = set()
    wanted = [n for n, (classes, _) in enumerate(cells) if None not in classes]
    while open_still := [n for n in wanted if n not in seen]:
        sought = np.zeros(len(cells))
        # All others a little as well, and less each time they were passed by.
        sought[open_still] = -1.0 / (np.arange(len(open_still)) + 1) / len(open_still) / sums.max()
        fewest = np.zeros(len(cells))
        fewest[open_still[0]] = 1.0
        solved = scipy.optimize.milp(
            sought,
            integrality=np.ones(len(cells), dtype=np.int64),
            bounds=scipy.optimize.Bounds(fewest, np.inf),
            constraints=scipy.optimize.LinearConstraint(equations, sums, sums),
            options={"mip_rel_gap": 1e6},  # any will do that has somebody there
        )
        if solved.x is not None:
            seen |= {int(n) for n in np.flatnonzero(np.rint(solved.x))}
        if open_still[0] not in seen:
            wanted.remove(open_still[0])
    left: dict[Hashable, int] = defaultdict(int)
    for n in seen:
        classes, _ = cells[n]
        if None not in classes:
            left[classes] += 1
    return min(left.values(), default=0)


def _agreement(
    tables: Sequence[LabelledTable], known: Sequence[LabelledCounts]
) -> tuple[list[Cell], scipy.sparse.csr_array, np.ndarray]:
    """Return who can be where, and what their numbers have to sum to."""
    whole: Counter[Value] = Counter()
    for table in tables:
        whole |= sum(table.classes.values(), Counter())
    shown: list[dict[Labels | None, Counter[Value]]] = []
    for table in tables:
        absent = whole - sum(table.classes.values(), Counter())
        shown.append(dict([*table.classes.items(), (None, absent)]))
    cells = [
        (classes, value)
        for value in whole
        for classes in itertools.product(*shown)
        if all(own[label][value] for own, label in zip(shown, classes, strict=True))
    ]
    asked: dict[Hashable, int] = {}
    for place, own in enumerate(shown):
        for label, people in own.items():
            asked |= {(place, label, value): number for value, number in people.items()}
    entries: list[tuple[Hashable, int]] = [
        ((place, label, value), n)
        for n, (classes, value) in enumerate(cells)
        for place, label in enumerate(classes)
    ]
    for which, counts in enumerate(known):
        total, of_cell = _regions(which, counts, tables, cells)
        asked |= total
        entries += of_cell
    numbers = {key: n for n, key in enumerate(dict.fromkeys([*asked, *(k for k, _ in entries)]))}
    at = [numbers[key] for key, _ in entries], [n for _, n in entries]
    matrix = scipy.sparse.csr_array((np.ones(len(entries)), at), shape=(len(numbers), len(cells)))
    return cells, matrix, np.array([asked.get(key, 0) for key in numbers], dtype=float)


def _regions(
    which: int, counts: LabelledCounts, tables: Sequence[LabelledTable], cells: Sequence[Cell]
) -> tuple[dict[Hashable, int], list[tuple[Hashable, int]]]:
    """Return how many people each region has, and the region of each cell that is counted."""
    places = [next(n for n, t in enumerate(tables) if t.holder == h) for h, _ in counts.places]
    columns = [
        tables[n].columns.index(name) for n, (_, name) in zip(places, counts.places, strict=True)
    ]
    parts = []
    for column, (place, at) in enumerate(zip(places, columns, strict=True)):
        own = {labels[at] for labels in tables[place].classes}
        written = {labels[column] for labels, number in counts.rows if number}
        covers = (
            counts.covers.get(counts.places[column][1]) if not counts.places[column][0] else None
        )
        parts.append(dict(_joined(own | written, covers or {})))
    total: dict[Hashable, int] = defaultdict(int)
    for labels, number in counts.rows:
        if number:
            region = tuple(part[label] for part, label in zip(parts, labels, strict=True))
            total[(which, "counted", region)] += number
    of_cell: list[tuple[Hashable, int]] = []
    for n, (classes, _) in enumerate(cells):
        labels_at = [classes[place] for place in places]
        if None in labels_at:
            continue
        region = tuple(
            part[labels[at]]
            for part, labels, at in zip(parts, labels_at, columns, strict=True)
            if labels is not None
        )
        of_cell.append(((which, "counted", region), n))
    return dict(total), of_cell


def _joined(
    labels: set[str], covers: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each label with what it and all that overlap with it cover together."""
    groups: list[frozenset[str]] = []
    for label in labels:
        joined = covers.get(label, frozenset({label}))
        apart = [group for group in groups if not group & joined]
        joined = joined.union(*(group for group in groups if group & joined))
        groups = [*apart, joined]
    for label in labels:
        own = covers.get(label, frozenset({label}))
        yield label, next(group for group in groups if group & own)
