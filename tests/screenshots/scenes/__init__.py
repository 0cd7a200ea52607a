"""The states in which panels are drawn, found by being here.

A module called as a panel, or ``<panel>_<part>``, defines ``SCENES``. Each scene starts from a
fresh window.
"""

from __future__ import annotations

import importlib
import pkgutil

from tests.screenshots.stage import Scene


def scenes_of(panel: str) -> tuple[Scene, ...]:
    """Return a panel's scenes, by its name."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    own = [name for name in names if name == panel or name.startswith(f"{panel}_")]
    found = (importlib.import_module(f"{__name__}.{name}").SCENES for name in own)
    return tuple(scene for scenes in found for scene in scenes)
