"""What can be believed of a person, beside every table that agrees with all published ones."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.generalization.beliefs import cell_bounds, imaginary_tables
from sfumato.engine.generalization.others import HolderClasses
from tests.thorough import tried


def holder(number, counts):
    labels = tuple((str(row),) for row in range(len(counts)))
    return HolderClasses(f"h{number}", (f"q{number}",), labels, np.array(counts))


@st.composite
def published_tables(draw, most=4):
    """Return tables of the same few people, each person in a class of every table."""
    number = draw(st.integers(2, 3))
    people = draw(st.lists(st.integers(0, 2), min_size=1, max_size=most))
    tables = []
    for table in range(number):
        classes = draw(st.lists(st.integers(0, 1), min_size=len(people), max_size=len(people)))
        counts = np.zeros((2, 3), dtype=np.int64)
        np.add.at(counts, (classes, people), 1)
        tables.append(holder(table, counts))
    return tables


def all_ways(tables, classes):
    """Return how many people with each value are in the classes, for every way people can be."""
    shape = tuple(table.classes for table in tables)
    found = []
    for value in range(tables[0].counts.shape[1]):
        people = int(tables[0].counts[:, value].sum())
        here = set()
        for placed in itertools.combinations_with_replacement(np.ndindex(shape), people):
            if all(
                sum(cell[axis] == number for cell in placed) == table.counts[number, value]
                for axis, table in enumerate(tables)
                for number in range(table.classes)
            ):
                here.add(sum(cell == classes for cell in placed))
        found.append(sorted(here))
    return list(itertools.product(*found))


@given(published_tables())
@settings(max_examples=tried(60), deadline=None)
def test_bounds_and_beliefs_are_those_of_all_tables_that_agree(tables):
    for classes in np.ndindex(*(table.classes for table in tables)):
        ways = all_ways(tables, classes)
        bounds = cell_bounds(tables, classes)
        for value in range(3):
            counted = {way[value] for way in ways}
            assert counted == set(range(bounds.least[value], bounds.most[value] + 1))
        low, high = bounds.beliefs()
        shares = [[Fraction(n, sum(way)) for n in way] for way in ways if sum(way)]
        if not shares:
            assert np.isnan(low).all()
            assert np.isnan(high).all()
            continue
        assert low == pytest.approx([float(min(each)) for each in zip(*shares, strict=True)])
        assert high == pytest.approx([float(max(each)) for each in zip(*shares, strict=True)])


@given(published_tables(), st.data())
@settings(max_examples=tried(60), deadline=None)
def test_the_ways_of_a_known_correlation_are_those_that_some_table_has(tables, data):
    classes = tuple(data.draw(st.integers(0, 1)) for _ in tables)
    size = int(tables[0].counts[classes[0]].sum())
    if not size:
        return
    records = data.draw(st.integers(1, size))
    ways = [way for way in all_ways(tables, classes) if sum(way) == records]
    if not ways:
        with pytest.raises(DiversityError, match=r"people|person"):
            imaginary_tables(tables, classes, records / size, of=0)
        return
    found = imaginary_tables(tables, classes, records / size, of=0)
    assert found.instances == len(ways)
    assert sorted(found.listed()) == sorted(ways)
    for value in range(3):
        mean = Fraction(sum(way[value] for way in ways), len(ways) * records)
        assert found.probabilities[value] == mean


def test_a_share_that_leaves_no_room_for_the_others_is_refused():
    tables = [holder(0, [[5, 1], [1, 3]]), holder(1, [[6, 1], [0, 3]])]
    with pytest.raises(DiversityError, match="at least 5 must") as raised:
        imaginary_tables(tables, (0, 0), 1 / 6, of=0)
    assert "larger" in raised.value.remedy


def test_people_that_one_table_leaves_out_are_in_none_of_its_classes():
    # Of six people with the first value, this table shows five, all in one class.
    tables = [holder(0, [[5, 1], [0, 3]]), holder(1, [[3, 1], [3, 3]])]
    assert cell_bounds(tables, (0, 0)).least.tolist() == [2, 0]
