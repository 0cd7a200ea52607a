"""How often the tests of the window are run."""

from __future__ import annotations

from typing import TypeVar

import pytest

_Test = TypeVar("_Test")


def detail(test: _Test) -> _Test:
    """Leave a test to CI, and there to every second commit: a detail of a page.

    What a person depends on daily, and one way through each page, is tried each time. Details take
    turns, so that both halves of them are tried at any two commits (see tests/thorough.py).
    """
    marked: _Test = pytest.mark.slow(pytest.mark.turns(2)(test))
    return marked
