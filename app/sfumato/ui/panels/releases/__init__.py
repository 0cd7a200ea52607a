"""Releases: make them, keep the ledger in sight, verify a file."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.ui.panels.base import PanelKind

PANEL = PanelKind(
    "releases",
    5,
    str(QT_TRANSLATE_NOOP("Panel", "Releases")),
    str(
        QT_TRANSLATE_NOOP(
            "Panel", "Make the files for each recipient, and know later what left the house."
        )
    ),
    "releases",
    built_by="ReleasesPanel",
)
