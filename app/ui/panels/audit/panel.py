"""The Audit panel: its pages, side by side as tabs once there are several."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtWidgets import QTabWidget, QWidget

from app.ui.panels.audit.pages import all_pages
from app.ui.panels.audit.pages.base import AuditPage
from app.ui.panels.base import Panel, PanelState
from app.ui.session import Session


class AuditPanel(Panel):
    """Weighs what recipients could learn, alone and together."""

    name: ClassVar[str] = "audit"
    order: ClassVar[int] = 6
    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Panel", "Audit"))
    purpose: ClassVar[str] = str(
        QT_TRANSLATE_NOOP(
            "Panel", "Tick any group of recipients and see what they learn by pooling releases."
        )
    )
    icon: ClassVar[str] = "audit"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.tabs = QTabWidget(self)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.setTabBarAutoHide(True)
        self.pages: tuple[AuditPage, ...] = tuple(page(session, self) for page in all_pages())
        for page in self.pages:
            page.told.connect(self.messages.show_message)
            page.state_changed.connect(self.state_changed)
            self.tabs.addTab(page, page.translated_title())
        self.body.addWidget(self.tabs, 1)

    def state(self) -> PanelState:
        """Return the most urgent state of the pages."""
        states = {page.state() for page in self.pages}
        for urgent in (PanelState.ATTENTION, PanelState.IN_PROGRESS, PanelState.DONE):
            if urgent in states:
                return urgent
        return PanelState.EMPTY
