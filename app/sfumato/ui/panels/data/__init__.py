"""Data: open a table, see how it is read, and look at what is in it."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.ui.panels.base import PanelKind

PANEL = PanelKind(
    "data",
    1,
    str(QT_TRANSLATE_NOOP("Panel", "Data")),
    str(QT_TRANSLATE_NOOP("Panel", "Open the table about individuals that you want to release.")),
    "data",
    built_by="DataPanel",
)
