"""How much is tried each time, and how much more by CI.

Somebody waits for `installer/test`: there a property is tried on some of its examples, and a test
on some of its cases. Where ``CI=true``, all examples are tried, and slow cases take turns: a run
with a `SFUMATO_TEST_TURN` tries every fourth of them, and of a test that has many every fifth or
sixth; a run with the next one others. A test says ``@pytest.mark.turns(3)`` where all its cases
take turns of three, and ``@pytest.mark.turns(1)`` where all are tried each time. installer/test
takes the turn from the commit, so that a commit has the same cases whenever it is tried.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar
from zlib import crc32

import pytest

_ALL = os.environ.get("CI") == "true"
_TURN = os.environ.get("SFUMATO_TEST_TURN", "")
TURN = int(_TURN) if _TURN else None
"""Which cases a run tries of many that are alike; None where it tries all."""
LEAST, MOST = 4, 6
"""Of however few cases at most one of so many is tried, of however many at least one of so many."""
_FEW = 4
"""Tests of fewer cases begin at different turns."""
_T = TypeVar("_T")


def tried(examples: int, least: int = 8) -> int:
    """Return on how many examples a property is tried that CI tries on so many."""
    return examples if _ALL else min(max(examples // 4, least), examples)


def some(values: Sequence[_T], turn: int) -> Sequence[_T]:
    """Return every fourth value, others at the next turn, of those that CI tries all."""
    return values if _ALL else values[turn % 4 :: 4]


def in_turn(values: Sequence[_T], every: int, turn: int | None = TURN) -> Sequence[_T]:
    """Return every so many-th value, others at the next turn; all where there are no turns."""
    return values if turn is None else values[turn % every :: every]


def left_to_other_turns(items: Iterable[pytest.Item], turn: int | None = TURN) -> list[pytest.Item]:
    """Return the cases that this run leaves to others.

    Of a test with ``@pytest.mark.turns(3)`` one is tried of three cases that lie side by side, the
    next one at the next turn; of another test's slow cases one of `LEAST`, and the more it has
    the fewer, up to one of `MOST`. Tests of few cases begin at different turns, or all would come
    at the same one.
    """
    if turn is None:
        return []
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    left: list[pytest.Item] = []
    for name, cases in tests.items():
        begins = crc32(name.encode()) if len(cases) < _FEW else 0
        mark = cases[0].get_closest_marker("turns")
        if mark is not None:
            taking, every = cases, mark.args[0]
        else:
            taking = [case for case in cases if _takes_long(case)]
            every = min(max(len(taking) // 2, LEAST), MOST)
        left += [case for n, case in enumerate(taking, begins) if n % every != turn % every]
    return left


def _takes_long(case: pytest.Item) -> bool:
    return case.get_closest_marker("slow") is not None and not any(
        case.get_closest_marker(name) for name in ("alone", "queued")
    )


def leave_to_ci(items: Iterable[pytest.Item]) -> None:
    """Mark most cases as slow of tests that say how few do: ``@pytest.mark.few(2)``.

    Those that are kept lie evenly between the first and the last.
    """
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("slow"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        mark = cases[0].get_closest_marker("few")
        assert mark is not None
        gap = (len(cases) - 1) / max(mark.args[0] - 1, 1)
        kept = {round(place * gap) for place in range(mark.args[0])}
        for place, item in enumerate(cases):
            if place not in kept:
                item.add_marker(pytest.mark.slow)
