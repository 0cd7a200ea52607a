"""The panels: one package or module each, found by being here.

A module of this package that defines ``PANEL`` (a subclass of `sfumato.ui.panels.base.Panel`) is a
panel of the window. Nothing else lists them.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from sfumato.ui.panels.base import Panel


@cache
def all_panels() -> tuple[type[Panel], ...]:
    """Return the panels in the order of the work."""
    found: list[type[Panel]] = []
    for info in pkgutil.iter_modules(__path__):
        panel = getattr(importlib.import_module(f"{__name__}.{info.name}"), "PANEL", None)
        if isinstance(panel, type) and issubclass(panel, Panel):
            found.append(panel)
    return tuple(sorted(found, key=lambda panel: panel.order))
