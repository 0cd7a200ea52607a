"""The panels: one package each, found by being here.

A package here that defines ``PANEL`` (a `sfumato.ui.panels.base.PanelKind`) is a panel of the
window. Nothing else lists them.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from sfumato.ui.panels.base import PanelKind


@cache
def all_panels() -> tuple[PanelKind, ...]:
    """Return what is known of the panels, in the order of the work; none is built by this."""
    found = [
        getattr(importlib.import_module(f"{__name__}.{info.name}"), "PANEL", None)
        for info in pkgutil.iter_modules(__path__)
    ]
    kinds = [panel for panel in found if isinstance(panel, PanelKind)]
    return tuple(sorted(kinds, key=lambda panel: panel.order))
