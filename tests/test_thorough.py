"""What is left to CI is evenly chosen, and CI tries all of it."""

from __future__ import annotations

import pytest

from tests import thorough
from tests.thorough import MOST, in_turn, leave_to_ci, left_to_other_turns, some, tried


class Case:
    """Stands for a case of a test, with its markers."""

    def __init__(self, nodeid: str, *markers: pytest.MarkDecorator) -> None:
        self.nodeid = nodeid
        self.markers = {marker.name: marker.mark for marker in markers}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.markers.get(name)

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        self.markers[marker.name] = marker.mark

    @property
    def slow(self) -> bool:
        return "slow" in self.markers


@pytest.mark.parametrize(
    ("count", "kept"), [(1, [0]), (2, [0, 6]), (3, [0, 3, 6]), (7, [*range(7)]), (9, [*range(7)])]
)
def test_of_many_cases_few_are_kept_from_the_first_to_the_last(count, kept):
    cases = [Case(f"a.py::test_it[{place}]", pytest.mark.few(count)) for place in range(7)]
    other = Case("a.py::test_other")
    leave_to_ci([*cases, other])
    assert [place for place, case in enumerate(cases) if not case.slow] == kept
    assert not other.slow


def test_cases_that_are_slow_anyway_are_not_counted_among_the_few():
    few, slow = pytest.mark.few(2), pytest.mark.slow
    cases = [Case(f"a.py::test_it[{n}]", few, *[slow] * (n > 1)) for n in range(4)]
    leave_to_ci(cases)
    assert [case.slow for case in cases] == [False, False, True, True]


def test_ci_tries_everything_and_others_a_part_of_it(monkeypatch):
    monkeypatch.setattr(thorough, "_ALL", True)
    assert (tried(100), tried(3), tried(10, least=2)) == (100, 3, 10)
    assert some("abcdefgh", 1) == "abcdefgh"
    monkeypatch.setattr(thorough, "_ALL", False)
    assert (tried(100), tried(20), tried(3), tried(10, least=2)) == (25, 8, 3, 2)
    assert ["".join(some("abcdefgh", turn)) for turn in range(5)] == ["ae", "bf", "cg", "dh", "ae"]


def test_cases_that_take_turns_are_all_tried_once_in_so_many_turns():
    cases = [Case(f"a.py::test_it[{place}]", pytest.mark.turns(3)) for place in range(8)]
    others = [Case("a.py::test_other"), Case("a.py::test_one", pytest.mark.turns(1))]
    kept = []
    for turn in (1_764, 1_765, 1_766):
        left = left_to_other_turns([*others, *cases], turn)
        kept.append([place for place, case in enumerate(cases) if case not in left])
        assert not {*left} & {*others}
    assert kept == [[0, 3, 6], [1, 4, 7], [2, 5]]
    assert left_to_other_turns(cases, None) == []


def test_every_fourth_slow_case_is_tried_where_a_test_says_nothing():
    slow, turns = pytest.mark.slow, pytest.mark.turns(1)
    many = [Case(f"a.py::test_it[{place}]", slow) for place in range(5)]
    others = [
        *[Case(f"a.py::test_quick[{place}]") for place in range(5)],
        *[Case(f"a.py::test_all[{place}]", slow, turns) for place in range(5)],
        *[Case(f"a.py::test_alone[{place}]", slow, pytest.mark.alone) for place in range(5)],
    ]
    kept = [{*many} - {*left_to_other_turns([*many, *others], turn)} for turn in range(8, 12)]
    assert kept == [{*many[start::4]} for start in range(4)]
    assert not {*left_to_other_turns(others, 8)}


@pytest.mark.parametrize(("count", "every"), [(1, 4), (9, 4), (10, 5), (12, 6), (300, MOST)])
def test_the_more_slow_cases_a_test_has_the_smaller_the_share_that_is_tried(count, every):
    cases = [Case(f"a.py::test_it[{place}]", pytest.mark.slow) for place in range(count)]
    kept = [set(cases) - {*left_to_other_turns(cases, turn)} for turn in range(every)]
    assert max(map(len, kept)) == -(-count // every)
    assert set().union(*kept) == {*cases}


@pytest.mark.parametrize(("marker", "every"), [("turns", 3), ("slow", 4)])
def test_tests_of_one_case_are_not_all_tried_at_the_same_turn(marker, every):
    mark = pytest.mark.turns(every) if marker == "turns" else pytest.mark.slow
    cases = [Case(f"a.py::test_{place}", mark) for place in range(60)]
    kept = [60 - len(left_to_other_turns(cases, turn)) for turn in range(every)]
    assert sum(kept) == 60
    assert min(kept) > 10


def test_values_that_take_turns_are_all_tried_once_in_so_many_turns():
    assert [in_turn("abcde", 2, turn) for turn in (0, 1, 2)] == ["ace", "bd", "ace"]
    assert in_turn("abcde", 2, None) == "abcde"
