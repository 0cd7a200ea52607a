"""Attributes: what each column is for, how it is read, and which values it can take."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.ui.panels.base import PanelKind

PANEL = PanelKind(
    "attributes",
    2,
    str(QT_TRANSLATE_NOOP("Panel", "Attributes")),
    str(
        QT_TRANSLATE_NOOP(
            "Panel", "Say what each column is for: what names a person, and what nobody may learn."
        )
    ),
    "attributes",
    built_by="AttributesPanel",
)
