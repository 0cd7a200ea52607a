"""Preview: what each recipient would see, and how useful it would be to them."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.ui.panels.base import PanelKind

PANEL = PanelKind(
    "preview",
    4,
    str(QT_TRANSLATE_NOOP("Panel", "Preview")),
    str(
        QT_TRANSLATE_NOOP(
            "Panel", "See what each recipient would get, and what it tells, before releasing."
        )
    ),
    "preview",
    built_by="PreviewPanel",
)
