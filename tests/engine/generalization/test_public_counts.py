"""What remains for who knows how many people tables share, beside every table that agrees."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.generalization.counts_checker import (
    LabelledCounts,
    LabelledTable,
    fewest_left,
)
from sfumato.engine.generalization.others import HolderClasses, weakest_of
from sfumato.engine.generalization.public_counts import (
    CrossTabulation,
    informed_breaches,
    informed_standing,
    remaining,
)
from tests.thorough import tried


def holder(number, counts):
    labels = tuple((str(row),) for row in range(len(counts)))
    return HolderClasses(f"h{number}", (f"q{number}",), labels, np.array(counts))


def counted(people, shape, axes, name="census"):
    """Count people by the classes of some tables."""
    sizes = tuple(n if axis in axes else 1 for axis, n in enumerate(shape))
    counts = np.zeros(sizes, dtype=np.int64)
    for classes in people:
        counts[tuple(c if axis in axes else 0 for axis, c in enumerate(classes))] += 1
    regions = tuple(
        np.arange(n) if axis in axes else np.zeros(n, dtype=np.intp) for axis, n in enumerate(shape)
    )
    return CrossTabulation(name, regions, counts)


def tables_of(people, shape, values):
    """Return the tables that people with values are in, each in one class of every table."""
    tables = []
    for table, classes in enumerate(shape):
        counts = np.zeros((classes, max(values) + 1), dtype=np.int64)
        for person, value in zip(people, values, strict=True):
            counts[person[table], value] += 1
        tables.append(holder(table, counts))
    return tables


def possible_by_counting(tables, known):
    """Return which values somebody in each combination can have, by going through all tables."""
    shape = tuple(table.classes for table in tables)
    size = tables[0].counts.shape[1]
    cells = list(np.ndindex(shape))
    each = []
    for value in range(size):
        people = int(tables[0].counts[:, value].sum())
        each.append(
            [
                placed
                for placed in itertools.combinations_with_replacement(cells, people)
                if all(
                    sum(cell[axis] == number for cell in placed) == table.counts[number, value]
                    for axis, table in enumerate(tables)
                    for number in range(table.classes)
                )
            ]
        )
    found = np.zeros((*shape, size), dtype=bool)
    for world in itertools.product(*each):
        everybody = [cell for placed in world for cell in placed]
        if all(agrees(everybody, cross) for cross in known):
            for value, placed in enumerate(world):
                for cell in placed:
                    found[(*cell, value)] = True
    return found


def agrees(everybody, cross):
    seen = np.zeros(cross.counts.shape, dtype=np.int64)
    for cell in everybody:
        seen[tuple(region[c] for region, c in zip(cross.regions, cell, strict=True))] += 1
    return np.array_equal(seen, cross.counts)


@st.composite
def people_in_tables(draw):
    shape = draw(st.sampled_from([(2, 2), (2, 3), (3, 3), (2, 2, 2)]))
    number = draw(st.integers(1, 6))
    people = [tuple(draw(st.integers(0, n - 1)) for n in shape) for _ in range(number)]
    values = [draw(st.integers(0, 2)) for _ in range(number)]
    return people, shape, values


@given(people_in_tables(), st.data())
@settings(max_examples=tried(80), deadline=None)
def test_what_remains_is_what_some_table_has_that_agrees_with_everything(drawn, data):
    people, shape, values = drawn
    tables = tables_of(people, shape, values)
    pairs = list(itertools.combinations(range(len(shape)), 2))
    chosen = data.draw(st.lists(st.sampled_from([*pairs, tuple(range(len(shape)))]), max_size=2))
    known = [counted(people, shape, axes) for axes in dict.fromkeys(chosen)]
    found = remaining(tables, known)
    assert found.proven
    assert np.array_equal(found.possible, possible_by_counting(tables, known))


@given(people_in_tables(), st.booleans())
@settings(max_examples=tried(30), deadline=None)
def test_the_checker_of_labels_finds_the_same_by_another_way(drawn, all_tables):
    people, shape, values = drawn
    tables = tables_of(people, shape, values)
    axes = tuple(range(len(shape) if all_tables else 2))
    known = counted(people, shape, axes)
    labelled = [
        LabelledTable(
            table.holder,
            table.quasi_identifiers,
            {
                label: Counter({v: int(n) for v, n in enumerate(row) if n})
                for label, row in zip(table.labels, table.counts, strict=True)
                if row.any()
            },
        )
        for table in tables
    ]
    rows = [
        (tuple(str(cell[axis]) for axis in axes), int(known.counts[cell]))
        for cell in np.ndindex(known.counts.shape)
    ]
    places = tuple((f"h{axis}", f"q{axis}") for axis in axes)
    left = fewest_left(labelled, [LabelledCounts(places, rows, {})])
    assert left == remaining(tables, [known]).weakest


def example():
    """The tables that prove the paper wrong."""
    ours = holder(0, [[5, 1, 1], [1, 3, 3]])
    theirs = holder(1, [[6, 1, 1], [0, 3, 3]])
    return ours, theirs


def test_who_knows_the_cross_tabulation_knows_the_value_though_the_sets_share_three():
    ours, theirs = example()
    known = CrossTabulation("census", (np.arange(2),) * 2, np.array([[5, 2], [3, 4]]))
    found = remaining([ours, theirs], [known])
    assert found.possible[0, 0].tolist() == [True, False, False]
    assert remaining([ours, theirs], []).possible[0, 0].all()
    standing, found = informed_standing([ours, theirs], 2, [known])
    assert (standing.weakest, standing.holds) == (1, False)
    assert [each.without for each in standing.holders] == [2, 3]
    assert [b.classes for b in informed_breaches(found, 2, 10)][:1] == [(0, 0)]


def test_a_combination_that_nobody_is_in_narrows_nobody_s_value():
    # Two tables by the same column: the young of one are the young of the other.
    twin = [holder(n, [[1, 1, 0], [0, 1, 1]]) for n in range(2)]
    assert weakest_of(twin, 3) == 1
    known = CrossTabulation("same", (np.arange(2),) * 2, np.array([[2, 0], [0, 2]]))
    assert informed_standing(twin, 2, [known])[0].weakest == 2


def test_people_that_a_table_leaves_out_are_counted_nowhere_by_it():
    whole = holder(0, [[2, 2], [2, 2]])
    part = holder(1, [[1, 1], [2, 2]])
    known = CrossTabulation("census", (np.arange(2),) * 2, np.array([[1, 2], [1, 2]]))
    found = remaining([whole, part], [known])
    assert found.possible.all()


def test_counts_that_contradict_the_tables_are_refused():
    known = CrossTabulation("census", (np.arange(2),) * 2, np.array([[4, 3], [3, 4]]))
    with pytest.raises(DiversityError, match="census contradict the tables"):
        remaining(example(), [known])  # five of the first six can't but be in both


def test_tables_with_too_many_cells_are_refused():
    large = [holder(n, np.ones((150, 3), dtype=int)) for n in range(2)]
    with pytest.raises(DiversityError, match="at most 20,000"):
        remaining(large, [])
