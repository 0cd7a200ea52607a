"""What two editions tell, beside every way in which people can come and go."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.generalization.editions import two_editions
from sfumato.engine.generalization.others import HolderClasses
from tests.thorough import tried

VALUES = 3
COUNTS = st.lists(st.integers(0, 3), min_size=VALUES, max_size=VALUES)


def edition(**classes):
    labels = tuple((label,) for label in classes)
    return HolderClasses("e", ("q",), labels, np.array([*classes.values()]).reshape(-1, VALUES))


def ways(before, after):
    """Yield who left, came and stayed, value by value, in every way that shows both editions."""
    for left in itertools.product(*(range(c + 1) for c in before)):
        stayed = tuple(c - gone for c, gone in zip(before, left, strict=True))
        came = tuple(c - kept for c, kept in zip(after, stayed, strict=True))
        if min(came) >= 0:
            yield left, came, stayed


def fewest_by_counting(before, after):
    """Return the fewest values of who left, came or stayed, however many are known to have."""
    known = {}
    for way in ways(before, after):
        possible = known.setdefault(tuple(map(sum, way)), [set(), set(), set()])
        for values, people in zip(possible, way, strict=True):
            values |= {value for value, number in enumerate(people) if number}
    return min(
        len(values)
        for numbers, possible in known.items()
        for values, people in zip(possible, numbers, strict=True)
        if people
    )


@settings(max_examples=tried(150), deadline=None)
@given(COUNTS, COUNTS)
def test_what_remains_is_what_some_way_to_come_and_go_leaves(before, after):
    if not sum(before) or not sum(after):
        return
    found = two_editions(edition(a=before), edition(a=after)).weakest
    own = min(np.count_nonzero(before), np.count_nonzero(after))
    assert min(found, own) == fewest_by_counting(before, after)


def test_a_class_that_one_edition_alone_shows_counts_as_come_or_gone():
    found = two_editions(edition(a=[2, 2, 2], b=[1, 1, 0]), edition(a=[2, 2, 2], c=[1, 1, 1]))
    assert (found.came, found.left, found.stayed) == (3, 2, 3)
    assert (found.classes, found.changed, found.weakest) == (3, 2, 2)


@pytest.mark.parametrize(
    ("after", "weakest"), [([3, 2, 2], 1), ([3, 3, 2], 2), ([1, 1, 2], 2), ([2, 2, 1], 1)]
)
def test_one_who_comes_or_goes_alone_is_known(after, weakest):
    assert two_editions(edition(a=[2, 2, 2]), edition(a=after)).weakest == weakest
