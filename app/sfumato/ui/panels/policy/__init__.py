"""Policy: how each sensitive attribute is protected, and how far whom is trusted."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.ui.panels.base import PanelKind

PANEL = PanelKind(
    "policy",
    3,
    str(QT_TRANSLATE_NOOP("Panel", "Policy")),
    str(
        QT_TRANSLATE_NOOP(
            "Panel", "Say how each sensitive attribute is protected, and how far you trust whom."
        )
    ),
    "policy",
    built_by="PolicyPanel",
)
