"""The panels: one package each, found by being here.

A package here that defines ``PANEL`` (a `sfumato.ui.panels.base.PanelKind`) is a panel of the
window. Nothing else lists them.
"""

from __future__ import annotations

from functools import cache

from sfumato.engine.core.discovery import found_in
from sfumato.ui.panels.base import PanelKind


@cache
def all_panels() -> tuple[PanelKind, ...]:
    """Return what is known of the panels, in the order of the work; none is built by this."""
    kinds: list[PanelKind] = found_in(__name__, "PANEL")
    return tuple(sorted(kinds, key=lambda panel: panel.order))
