"""What classes of several tables tell that share columns, beside every table that agrees."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.generalization.checker import fewest_where_met, largest_belief
from sfumato.engine.generalization.coded import CodedTable
from sfumato.engine.generalization.counts_checker import LabelledTable
from sfumato.engine.generalization.others import HolderClasses
from sfumato.engine.generalization.shared_columns import (
    MeetingClasses,
    TooManyMeetingError,
    meeting_classes,
    shared_columns,
)
from tests.engine.generalization.paper import table_2
from tests.engine.generalization.tables import quasi, values_of
from tests.thorough import tried

AGES, VALUES = 4, 3
BANDS = np.array([0, 0, 1, 1])


def quasi_identifiers(people):
    """Age with bands above it and a place, ours."""
    age = quasi("age", [p[0] for p in people], BANDS, np.zeros(AGES, int))
    place = quasi("place", [p[1] for p in people], np.zeros(2, int))
    return age, place


def holders_of(people, tables, level):
    """Tables of others by age at a level, and a column of their own."""
    age = quasi_identifiers(people)[0]
    found = []
    for number in range(tables):
        rows = Counter()
        for person in people:
            rows[
                age.labels[level][age.levels[level][person[0]]], person[2 + number], person[-1]
            ] += 1
        labels = tuple(dict.fromkeys((label, str(own)) for label, own, _ in rows))
        counts = np.zeros((len(labels), VALUES), dtype=np.int64)
        for (label, own, value), n in rows.items():
            counts[labels.index((label, str(own))), value] += n
        found.append(HolderClasses(f"h{number}", ("age", f"q{number}"), labels, counts))
    return found


def ours_of(people, node):
    """Our classes at a node, and the ground codes of each."""
    quasi = quasi_identifiers(people)
    rows, ground = Counter(), {}
    for person in people:
        shown = tuple(
            q.labels[at][q.levels[at][code]]
            for q, at, code in zip(quasi, node, person, strict=False)
        )
        rows[shown, person[-1]] += 1
        ground.setdefault(shown, person[:2])
    labels = tuple(ground)
    counts = np.zeros((len(labels), VALUES), dtype=np.int64)
    for (shown, value), n in rows.items():
        counts[labels.index(shown), value] += n
    own = HolderClasses("", ("age", "place"), labels, counts)
    return own, np.array([ground[shown] for shown in labels])


def table_of(people):
    codes = np.array([p[-1] for p in people])
    return CodedTable(quasi_identifiers(people), codes, values_of(VALUES), "s")


def met(people, node, level, tables=1):
    table, holders = table_of(people), holders_of(people, tables, level)
    shared, left = shared_columns(table, holders)
    assert [each.name for each in shared] == [(h.holder, "age", "age") for h in holders]
    assert not left
    own, ground = ours_of(people, node)
    return meeting_classes(own, ground, node, table.quasi_identifiers, holders, shared)


def worlds_of(ours, theirs, can_meet):
    """Yield how many people of one value are in each pair of classes, in every way."""
    pairs = [p for p in itertools.product(range(len(ours)), range(len(theirs))) if can_meet(*p)]
    for placed in itertools.combinations_with_replacement(pairs, int(sum(ours))):
        world = Counter(placed)
        rows, columns = Counter(), Counter()
        for (row, column), n in world.items():
            rows[row] += n
            columns[column] += n
        if all(rows[i] == n for i, n in enumerate(ours)) and all(
            columns[i] == n for i, n in enumerate(theirs)
        ):
            yield world


def counted_out(meeting, bands_meet):
    """Return the fewest values and the largest belief over all pairs of classes, by counting."""
    ours, [theirs] = meeting.ours, meeting.holders
    each = [
        list(worlds_of(ours.counts[:, value], theirs.counts[:, value], bands_meet))
        for value in range(VALUES)
    ]
    fewest, largest = VALUES, 0.0
    for pair in itertools.product(range(ours.classes), range(theirs.classes)):
        ends = [
            (min(world[pair] for world in worlds), max(world[pair] for world in worlds))
            for worlds in each
        ]
        possible = [high for _, high in ends if high]
        if not bands_meet(*pair):
            continue
        fewest = min(fewest, len(possible))
        # Values are placed apart from each other, so that ends of several go together.
        for value, (_, high) in enumerate(ends):
            rest = sum(low for other, (low, _) in enumerate(ends) if other != value)
            if high:
                largest = max(largest, high / (high + rest))
    return fewest, largest


@st.composite
def peoples(draw, tables=1):
    number = draw(st.integers(3, 8))
    person = [st.integers(0, AGES - 1), st.integers(0, 1), *[st.integers(0, 1)] * tables]
    return [draw(st.tuples(*person, st.integers(0, VALUES - 1))) for _ in range(number)]


@settings(max_examples=tried(60), deadline=None)
@given(peoples(), st.tuples(st.integers(0, 2), st.integers(0, 1)), st.integers(0, 2))
def test_what_is_left_and_believed_is_what_all_ways_leave(people, node, level):
    meeting = met(people, node, level)
    ages = quasi_identifiers(people)[0]
    common = max(node[0], level)
    ground = {
        (at, text): ages.levels[common][code]
        for at in range(3)
        for code in range(AGES)
        for text in [ages.labels[at][ages.levels[at][code]]]
    }
    ours, [theirs] = meeting.ours, meeting.holders

    def can_meet(own, other):
        # At the higher of both levels labels are groups.
        mine = ground[node[0], ours.labels[own][0]]
        return mine == ground[level, theirs.labels[other][0]]

    fewest, largest = counted_out(meeting, can_meet)
    assert int(meeting.left().min()) == fewest
    assert meeting.largest_belief() == pytest.approx(largest)


def checked(meeting, node, people, shared=True):
    """Return what the checker finds in the same tables from their labels."""
    quasi = quasi_identifiers(people)
    covers = {
        q.name: {
            label: frozenset(str(c) for c in np.flatnonzero(q.levels[at] == number))
            for at in range(q.height + 1)
            for number, label in enumerate(q.labels[at])
        }
        for q in quasi
    }
    tables = [
        LabelledTable(
            each.holder,
            each.quasi_identifiers,
            {
                label: Counter({v: int(n) for v, n in enumerate(row) if n})
                for label, row in zip(each.labels, each.counts, strict=True)
            },
        )
        for each in (*meeting.holders, meeting.ours)
    ]
    shared = [(each.holder, "age", "age") for each in meeting.holders if shared]
    return (
        fewest_where_met(tables, shared, covers),
        largest_belief(tables, shared, covers, independent=False),
        largest_belief(tables, shared, covers, independent=True),
    )


@settings(max_examples=tried(60), deadline=None)
@given(st.data(), st.tuples(st.integers(0, 2), st.integers(0, 1)), st.integers(0, 2))
def test_a_checker_finds_the_same_from_labels(data, node, level):
    tables = data.draw(st.integers(1, 2))
    people = data.draw(peoples(tables))
    meeting = met(people, node, level, tables)
    left, worst, independent = checked(meeting, node, people)
    assert int(meeting.left().min()) == left
    assert meeting.largest_belief() == pytest.approx(worst)
    assert meeting.largest_belief(independent=True) == pytest.approx(independent)
    assert independent <= worst + 1e-12


@settings(max_examples=tried(40), deadline=None)
@given(peoples(2), st.tuples(st.integers(0, 2), st.integers(0, 1)), st.integers(0, 2))
def test_nobody_is_believed_more_of_than_what_is_promised_by_who_knows_everything(
    people, node, level
):
    meeting = met(people, node, level, tables=2)
    age, place = quasi_identifiers(people)
    real = Counter()
    for person in people:
        shown = age.levels[node[0]][person[0]], place.levels[node[1]][person[1]]
        theirs = age.levels[level][person[0]]
        real[(*shown, theirs, person[2], person[3]), person[-1]] += 1
    sums = Counter()
    for (classes, _), n in real.items():
        sums[classes] += n
    largest = max(n / sums[classes] for (classes, _), n in real.items())
    assert largest <= meeting.largest_belief() + 1e-12


def test_a_twin_table_leaves_what_ours_leaves_by_itself():
    people = [(age, age % 2, 0, value) for age in range(AGES) for value in (0, 1, 1, 2)]
    meeting = met(people, (0, 1), level=0)
    assert meeting.left().tolist() == [3] * AGES
    assert meeting.largest_belief() == 0.5
    apart = MeetingClasses(
        meeting.ours,
        meeting.holders,
        tuple((0 * own, 0 * theirs) for own, theirs in meeting.blocks),
    )
    # As if the young of one table could be the old of the other, nobody's value is safe.
    assert apart.largest_belief() == 1


def alone(first, second):
    """Return our first table beside the other's second, which shares nothing."""
    nothing = np.zeros(first.classes, dtype=np.intp), np.zeros(second.classes, dtype=np.intp)
    return MeetingClasses(first, (second,), (nothing,))


def test_in_table_7_somebody_is_known_by_independence_alone():
    ages, zips = table_2()
    together = alone(ages, zips)
    assert together.largest_belief(independent=True) == 1
    [part] = [p for p, _ in together.parts()]
    assert len(part) == 2


def test_two_values_may_remain_where_one_of_them_is_nearly_sure():
    # Both tables are 2-diverse, alone and together.
    ours = HolderClasses("", ("a",), (("x",), ("y",)), np.array([[25, 5], [5, 25]]))
    theirs = HolderClasses("h", ("b",), (("u",), ("v",)), np.array([[24, 8], [6, 22]]))
    found = alone(ours, theirs)
    assert found.left().min() == 2
    weights = [25 * 24 / 30, 5 * 8 / 30]
    beliefs = [weights[0] / sum(weights), (25 * 22) / (25 * 22 + 5 * 6)]
    assert found.largest_belief(independent=True) == pytest.approx(max(beliefs))
    assert max(beliefs) > 0.93


def test_a_table_that_shows_others_of_one_value_may_show_others_of_all():
    # 40 have the first value there and 8 here, so who has another one there may be nobody here.
    ours = HolderClasses("", ("a",), (("x",),), np.array([[8, 8, 8]]))
    theirs = HolderClasses("h", ("b",), (("u",),), np.array([[40, 8, 8]]))
    found = alone(ours, theirs)
    assert found.largest_belief() == 1
    assert checked(found, (0, 0), [(0, 0, 0, 0)], shared=False)[1] == 1


def test_a_column_with_other_labels_or_other_people_is_named_and_not_aligned():
    people = [(age, 0, 0, value) for age in range(AGES) for value in range(VALUES)]
    table, [theirs] = table_of(people), holders_of(people, 1, level=0)
    labels = tuple((f"{age} years", own) for age, own in theirs.labels)
    other = HolderClasses("other", theirs.quasi_identifiers, labels, theirs.counts)
    moved = HolderClasses(
        "moved", theirs.quasi_identifiers, theirs.labels, np.roll(theirs.counts * [1, 1, 0], 1, 0)
    )
    moved.counts[0] += moved.counts[1]
    moved.counts[1] = 0
    shared, left = shared_columns(table, [other, theirs, moved])
    assert [each.name[0] for each in shared] == ["h0"]
    assert [(each.holder, each.column) for each in left] == [("other", "age"), ("moved", "age")]
    assert "no single level" in left[0].sentence
    assert "more people with a value" in left[1].sentence


def test_too_many_classes_that_can_meet_are_refused():
    counts = np.ones((20_000, 3), dtype=np.int64)
    many = HolderClasses("h", ("a",), (("x",),) * 20_000, counts)
    with pytest.raises(TooManyMeetingError, match="can be"):
        alone(many, many).largest_belief()
