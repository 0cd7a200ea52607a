"""Audit: what recipients could learn, alone and together."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.ui.panels.base import PanelKind

PANEL = PanelKind(
    "audit",
    6,
    str(QT_TRANSLATE_NOOP("Panel", "Audit")),
    str(
        QT_TRANSLATE_NOOP(
            "Panel", "See what recipients learn, alone and together; trace leaks; file a report."
        )
    ),
    "audit",
    built_by="AuditPanel",
)
