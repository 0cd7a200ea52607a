"""Counterfeits leave everybody a group's shares: all worlds and all random draws are enumerated."""

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.generalization.editions import entering_groups, group_sizes

VALUES = 3
EDITIONS = 3
ORDERS = tuple(permutations(range(VALUES)))
# In which editions people are there; all that come later, or leave, or come back.
PRESENCES = ("100", "110", "101", "111", "010", "011", "001")
FOUNDERS = ("111", "100")
"""The first edition's people: one class that shows l values by itself."""


def drawing(order):
    """Random numbers for each class, of which the engine asks for those that it needs."""
    return lambda classes: np.array(order, dtype=np.uint64)[classes]


@cache
def entered(counts, size, least):
    """What a class's waiting people add, by every random draw with its probability."""
    found = defaultdict(Fraction)
    for order in ORDERS:
        told = entering_groups(np.array([counts]), np.array([size]), least, drawing([order]))
        assert (told.made >= 0).all()
        found[tuple(map(int, told.added[0]))] += Fraction(1, len(ORDERS))
    return dict(found)


def groups_of(history, size):
    """Who enters together in which edition, by their presence alone: told apart from the engine."""
    groups = [[who for who, there in enumerate(history) if there[0] == "1"]]
    known = set(groups[0])
    for edition in range(1, EDITIONS):
        here = [w for w, there in enumerate(history) if there[edition] == "1" and w not in known]
        groups.append(here if len(here) >= size else [])
        known |= set(groups[-1])
    return groups


def histogram(world, people):
    return tuple(sum(world[who] == value for who in people) for value in range(VALUES))


def posteriors(history, size, least):
    """Each person's values by everything that can be published, and the groups' numbers."""
    groups = groups_of(history, size)
    found = defaultdict(lambda: defaultdict(Fraction))
    for world in product(range(VALUES), repeat=len(history)):
        first = histogram(world, groups[0])
        if sum(number > 0 for number in first) < least:
            continue  # the first edition is refused
        here = {(first,): Fraction(1)}
        for people in groups[1:]:
            steps = entered(histogram(world, people), size, least)
            here = {
                (*files, added): p * q for files, p in here.items() for added, q in steps.items()
            }
        for files, probability in here.items():
            found[files][world] += probability
    return groups, found


HISTORIES = sorted(
    {
        tuple(sorted((*FOUNDERS, *rest)))
        for number in (1, 2, 3)
        for rest in product(PRESENCES, repeat=number)
    }
)


@pytest.mark.few(1)
@pytest.mark.parametrize(("least", "size"), [(2, 1), (2, 2), (3, 2)])
def test_all_editions_together_leave_each_person_the_shares_of_one_group(least, size):
    if least == 3:
        histories = [("111", *history) for history in HISTORIES if len(history) < 5]
    else:
        histories = HISTORIES
    for history in histories[:: 3 if least == 2 and size == 2 else 9]:
        groups, found = posteriors(history, size, least)
        mine = {who: number for number, people in enumerate(groups) for who in people}
        for files, worlds in found.items():
            whole = sum(worlds.values())
            for who in range(len(history)):
                belief = [
                    sum((p for world, p in worlds.items() if world[who] == value), Fraction())
                    / whole
                    for value in range(VALUES)
                ]
                shown = files[mine[who]] if who in mine else (1,) * VALUES
                assert belief == [Fraction(number, sum(shown)) for number in shown]
                assert sum(number > 0 for number in shown) >= least


def test_a_group_with_enough_values_gets_no_counterfeits():
    told = entering_groups(np.array([[3, 1, 0]]), np.array([4]), 2, drawing([[0, 0, 0]]))
    assert told.enters.all()
    assert not told.made.any()


def test_a_group_with_too_few_values_shows_as_many_of_each_drawn_one():
    told = entering_groups(np.array([[0, 4, 0, 0]]), np.array([4]), 3, drawing([[5, 9, 7, 1]]))
    assert told.added.tolist() == [[4, 4, 0, 4]]
    assert told.made.tolist() == [[4, 0, 0, 4]]


def test_who_waits_adds_nothing():
    told = entering_groups(np.array([[1, 1, 1]]), np.array([4]), 2, drawing([[0, 0, 0]]))
    assert not told.enters.any()
    assert not told.added.any()


def test_more_people_wait_where_few_have_another_value():
    shown = np.array([[5, 5, 5], [95, 5, 0], [0, 0, 0]])
    sizes = group_sizes(shown, 5, 2)
    assert sizes.tolist()[0] == 5
    assert 0.95 ** sizes[1] <= 0.05 < 0.95 ** (sizes[1] - 1)
    # A class that was never shown: like all together, 100 of 115.
    assert (100 / 115) ** sizes[2] <= 0.05 < (100 / 115) ** (sizes[2] - 1)


def test_too_few_values_are_refused_by_name():
    with pytest.raises(DiversityError, match="show 4 values"):
        entering_groups(np.ones((1, 3), int), np.ones(1, int), 4, drawing([[0, 0, 0]]))
