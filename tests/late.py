"""Libraries that a few tests use and that take long to import: each worker collects every test."""

from __future__ import annotations

from typing import Any

import pytest


class LateModule:
    """Stands for a module, which is imported once something of it is asked for.

    The test that asks is skipped where the module is missing.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, wanted: str) -> Any:
        if wanted.startswith("_"):  # pytest asks of all that is named whether it is a test
            raise AttributeError(wanted)
        return getattr(pytest.importorskip(self._name), wanted)
