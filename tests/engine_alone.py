"""Lets nothing be imported but what the engine needs, as where only this is installed.

A plugin of pytest: ``python -m pytest -p tests.engine_alone tests/engine``, with no plugins that
are found by being installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

LOCKED = Path(__file__).parents[1] / "installer" / "locked" / "engine.txt"
"""What the engine and its tests need, with all that this needs itself."""


def normal(name: str) -> str:
    """Return a distribution's name as all its spellings have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


wanted = {normal(name) for name in re.findall(r"^([\w.-]+)==", LOCKED.read_text("utf-8"), re.M)}
refused = {
    module
    for module, distributions in packages_distributions().items()
    if module not in {"sfumato", "tests"} and wanted.isdisjoint(map(normal, distributions))
}


class _Found(PathFinder):
    """Finds what is installed but for what the engine must do without."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in refused:
            return None
        return super().find_spec(fullname, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = _Found
