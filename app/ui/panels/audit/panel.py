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
            "Panel", "See what recipients learn, alone and together; trace leaks; file a report."
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
        for signal in (session.document_changed, session.table_changed, session.attribute_changed):
            signal.connect(self._offer_pages)
        self._offer_pages()

    def show_page(self, kind: type[AuditPage]) -> AuditPage:
        """Bring a page into sight and return it."""
        page = next(page for page in self.pages if isinstance(page, kind))
        self.tabs.setCurrentWidget(page)
        return page

    def state(self) -> PanelState:
        """Return attention if any page needs it, else how far the furthest page is.

        Pages work only while somebody looks, so what the others have left to do is no work that
        the audit still needs, and what one has found stays found while another is looked at.
        """
        found = {page.state() for page in self.pages}
        order = (PanelState.ATTENTION, PanelState.DONE, PanelState.IN_PROGRESS)
        return next((state for state in order if state in found), PanelState.EMPTY)

    def _offer_pages(self, _changed: object = None) -> None:
        """Leave out the tabs of pages that have nothing to work on."""
        for place, page in enumerate(self.pages):
            self.tabs.setTabVisible(place, page.has_material())
