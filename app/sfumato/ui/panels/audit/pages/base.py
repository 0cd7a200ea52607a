"""What every page of the audit has."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, Signal
from PySide6.QtWidgets import QWidget

from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.messages import Message


class Theme(StrEnum):
    """What questions of the audit are about; the values are marked for translation."""

    RECIPIENTS = str(QT_TRANSLATE_NOOP("Audit", "Recipients"))
    """What those who hold releases learn, alone and together."""
    GROUPS = str(QT_TRANSLATE_NOOP("Audit", "Groups"))
    """What small groups of records give away, also beside other holders' tables."""
    EVIDENCE = str(QT_TRANSLATE_NOOP("Audit", "Evidence"))
    """What can be shown to somebody else: whose file leaked, and the report."""


class AuditPage(QWidget):
    """One question about what releases reveal.

    Parameters
    ----------
    session
        What is open.
    parent
        The owner.
    """

    title: ClassVar[str]
    """The page's name, marked by ``QT_TRANSLATE_NOOP("Audit", …)``."""
    theme: ClassVar[Theme] = Theme.RECIPIENTS
    """What its question is about."""
    order: ClassVar[int]
    """Its place among the pages."""
    takes_files: ClassVar[bool] = False
    """Whether it is about a file that turned up."""

    told = Signal(object)
    """A `Message` for the panel."""
    state_changed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session

    @classmethod
    def translated_title(cls) -> str:
        """Return the title in the person's language."""
        return QCoreApplication.translate("Audit", cls.title)

    def state(self) -> PanelState:
        """Return how far the page's question is answered."""
        return PanelState.EMPTY

    def has_material(self) -> bool:
        """Return whether the page has anything to ask about; without it, its tab is left out."""
        return True

    def take_file(self, path: Path) -> None:
        """Work on a file that turned up."""

    def tell(self, message: Message) -> None:
        """Show a message in the panel."""
        self.told.emit(message)
