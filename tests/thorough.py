"""How much is tried each time, and how much more by CI.

Somebody waits for `installer/test`: there a property is tried on some of its examples, and a test
on some of its cases. Where ``CI=true``, all of them are tried.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

_ALL = os.environ.get("CI") == "true"
_T = TypeVar("_T")


def tried(examples: int, least: int = 8) -> int:
    """Return on how many examples a property is tried that CI tries on so many."""
    return examples if _ALL else min(max(examples // 4, least), examples)


def some(values: Sequence[_T], turn: int) -> Sequence[_T]:
    """Return every fourth value, others at the next turn, of those that CI tries all."""
    return values if _ALL else values[turn % 4 :: 4]


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
