"""Small tables to search, and the search by brute force: every node, from the definition."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.progress import Context
from sfumato.engine.generalization.chain import find_levels
from sfumato.engine.generalization.coded import (
    CodedTable,
    QuasiIdentifier,
    generalized_column,
    quasi_identifier,
)
from sfumato.engine.generalization.criteria import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    NonCentralizedDiversity,
    RecursiveDiversity,
    Suppressed,
)
from sfumato.engine.generalization.lattice import minimal
from sfumato.engine.generalization.others import OtherTable, holder_classes, minimal_sets
from sfumato.engine.generalization.publication import (
    EquivalenceClasses,
    published_classes,
)
from sfumato.engine.generalization.views import Demand, View, views_below
from sfumato.engine.table.table import encode_column

PARAMETERS = {
    "k": [KAnonymity(k) for k in (2, 3, 5)],
    "distinct": [DistinctDiversity(least) for least in (2, 3)],
    "entropy": [EntropyDiversity(least) for least in (1.5, 2.0, 2.5)],
    "recursive": [RecursiveDiversity(c, least) for c in (0.8, 2.0) for least in (2, 3)],
    "equal": [Closeness(t) for t in (0.2, 0.4)],
    "ordered": [Closeness(t, ordered=True) for t in (0.15, 0.3)],
}


def quasi(name, codes, *levels):
    """Return a quasi-identifier; level 0 is the codes themselves."""
    ground = len(levels[0]) if levels else int(max(codes)) + 1
    every = (np.arange(ground), *map(np.asarray, levels))
    labels = tuple(
        tuple(f"{name}{number}-{code}" for code in range(int(level.max()) + 1))
        for number, level in enumerate(every)
    )
    return QuasiIdentifier(name, np.asarray(codes), every, labels)


def find_chain(
    quasi_identifiers: Sequence[QuasiIdentifier],
    demands: Sequence[Demand],
    context: Context,
    *by: Any,
    importance: Sequence[float] | None = None,
) -> tuple[View, ...]:
    """Return the views of the levels that are found, of each row's unit and weight where given."""
    found = find_levels(quasi_identifiers, demands, context, *by, importance=importance)
    ks, costs = [demand.k for demand in demands], [demand.costs for demand in demands]
    return views_below(found.base, found.nodes, ks, costs)


def values_of(size):
    return tuple(f"s{value}" for value in range(size))


def source_frame(table):
    """Return the rows of a coded table as they would be released, not generalized yet."""
    columns = {q.name: q.codes for q in table.quasi_identifiers}
    sensitive = pd.Categorical.from_codes(table.sensitive, list(table.values))
    return pd.DataFrame({**columns, "sensitive": sensitive})


@dataclass(frozen=True)
class Published:
    """A published table, made in memory: its rows, which these are, and their classes."""

    frame: pd.DataFrame
    rows: np.ndarray
    classes: EquivalenceClasses
    suppressed: Suppressed


def publish(table, frame, node, criteria, suppression=0.0, suppressed=Suppressed.DROPPED):
    """Return a coded table's rows as they are published, each of which stands for itself."""
    classes = published_classes(table, node, criteria, suppression, suppressed)
    kept, shown = classes.kept_rows, frame.copy()
    for each, level in zip(table.quasi_identifiers, node, strict=True):
        shown[each.name] = generalized_column(each, level, kept, frame.index)
    rows = np.flatnonzero(kept | (suppressed is Suppressed.STARRED))
    return Published(shown.iloc[rows], rows, classes, suppressed)


def coded_table(table, hierarchies, sensitive):
    """Encode a table's quasi-identifiers by their hierarchies, and a sensitive attribute."""
    encoded = encode_column(table, ColumnSpec(sensitive, Role.SENSITIVE))
    quasi = tuple(quasi_identifier(each, table) for each in hierarchies)
    names = encoded.attribute.domain.names
    return CodedTable(quasi, encoded.values.astype(np.intp), names)


def counted(table):
    """Return a coded table in which rows that are alike are one."""
    rows = np.stack([*(q.codes for q in table.quasi_identifiers), table.sensitive], axis=1)
    found, places, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    quasi = tuple(
        replace(q, codes=found[:, at].copy()) for at, q in enumerate(table.quasi_identifiers)
    )
    units = None if table.units is None else _UnitsOf(places.ravel(), table.units)
    return replace(
        table, quasi_identifiers=quasi, sensitive=found[:, -1].copy(), units=units, weights=counts
    )


class _UnitsOf:
    """Whose the rows are that others stand for, some units at a time."""

    def __init__(self, places, units):
        self._places, self._units = places, units
        self.sizes = np.bincount(np.bincount(units))

    def parts(self):
        for rest in range(3):
            here = self._units % 3 == rest
            yield self._places[here], self._units[here]


@st.composite
def coded_tables(draw, most_rows=40):
    """Small tables whose hierarchies are random trees, some without a single group on top."""
    rows = draw(st.integers(6, most_rows))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    attributes = []
    for number in range(draw(st.integers(1, 3))):
        ground = int(random.integers(2, 6))
        groups, levels = ground, []
        below = np.arange(ground)
        for _ in range(int(random.integers(0, 3))):
            fewer = int(random.integers(1, groups + 1))
            joined = np.concatenate([np.arange(fewer), random.integers(0, fewer, groups - fewer)])
            below = random.permutation(joined)[below]
            levels.append(below)
            groups = fewer
        codes = random.integers(0, ground, rows)
        attributes.append(quasi(f"q{number}", codes, *(levels or [np.zeros(ground, int)])))
    size = int(random.integers(3, 6))
    sensitive = np.concatenate([np.arange(size), random.integers(0, size, rows)])[:rows]
    return CodedTable(tuple(attributes), random.permutation(sensitive), values_of(size))


def others_for(table, random, tables=2):
    """Return tables of other holders whose classes each have most of the values."""
    found = []
    for number in range(tables):
        classes = int(random.integers(1, 4))
        shown = [
            (f"c{c}", value)
            for c in range(classes)
            for value in table.values
            if random.random() < 0.8 or value == table.values[0]
        ]
        frame = pd.DataFrame(shown, columns=["area", "income"])
        found.append(OtherTable(f"holder {number}", frame, ("area",), "income"))
    return found


def beside(table, others, least):
    """Return the criterion of keeping so many values beside others' tables."""
    holders = [holder_classes(other, table.values) for other in others]
    return NonCentralizedDiversity(least, minimal_sets(holders, table.size))


def brute_force(table, criteria, allowed=0, others=(), starred=False):
    """Return the safe nodes: every node's classes, each tested from the definition."""
    safe = np.zeros(table.lattice.shape, dtype=bool)
    narrowed = narrowed_by(others, range(table.size), table.values)
    for node in table.lattice.nodes():
        classes, units = defaultdict(Counter), defaultdict(set)
        columns = [
            quasi.levels[level][quasi.codes]
            for quasi, level in zip(table.quasi_identifiers, node, strict=True)
        ]
        whose = range(table.rows) if table.units is None else table.units.tolist()
        for *public, value, unit in zip(*columns, table.sensitive, whose, strict=True):
            classes[tuple(public)][int(value)] += 1
            units[tuple(public)].add(unit)
        for public, each in classes.items():
            each.whose, each.units = units[public], len(units[public])
        safe[node] = keeps(list(classes.values()), criteria, allowed, narrowed, starred)
    return safe


def narrowed_by(others, everything, values):
    """Return what each combination of the others' classes leaves of the values."""
    tables = []
    for other in others:
        groups = other.frame.groupby(list(other.quasi_identifiers))[other.sensitive]
        tables.append([{values.index(value) for value in shown} for _, shown in groups])
    return [set(everything).intersection(*choice) for choice in itertools.product(*tables)]


def keeps(classes, criteria, allowed, narrowed, starred=False):
    """Leave out the classes that violate until the rest satisfies the criteria by itself."""
    everything, all_classes = sum(classes, Counter()), classes
    while classes:
        whole = sum(classes, Counter())
        good = [c for c in classes if all(holds(each, c, whole, narrowed) for each in criteria)]
        if len(good) == len(classes):
            few = everything.total() - whole.total() <= allowed
            gone = [one for one in all_classes if not any(one is each for each in good)]
            if not (starred and few and gone):
                return few
            stars = sum(gone, Counter())
            stars.units = len(set().union(*(each.whose for each in gone)))
            return all(
                holds(each, c, everything, narrowed) for each in criteria for c in (*good, stars)
            )
        classes = good
    return False


def holds(criterion, one, whole, narrowed):
    """Test one class by the definition of a criterion."""
    counts = sorted(one.values(), reverse=True)
    total = sum(counts)
    match criterion:
        case KAnonymity():
            return one.units >= criterion.k
        case DistinctDiversity():
            return len(one) >= criterion.l
        case NonCentralizedDiversity():
            return min(len(set(one) & rest) for rest in narrowed) >= criterion.l
        case EntropyDiversity():
            entropy = -sum(n / total * math.log(n / total) for n in counts)
            return entropy >= math.log(criterion.l) - 1e-9
        case RecursiveDiversity():
            return counts[0] < criterion.c * sum(counts[criterion.l - 1 :])
        case Closeness():
            apart = [one[v] / total - whole[v] / whole.total() for v in sorted(whole)]
            if criterion.ordered:
                steps = max(len(apart) - 1, 1)
                return sum(map(abs, itertools.accumulate(apart))) / steps <= criterion.t + 1e-9
            return sum(map(abs, apart)) / 2 <= criterion.t + 1e-9
    raise AssertionError(criterion)


def minimal_nodes(safe):
    return {tuple(map(int, node)) for node in np.argwhere(minimal(safe))}
