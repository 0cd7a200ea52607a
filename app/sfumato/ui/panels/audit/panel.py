"""The Audit panel: the questions that can be asked, and the page that answers one of them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QStackedWidget, QWidget

from sfumato.ui.panels.audit import PANEL
from sfumato.ui.panels.audit.pages import all_pages
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.audit.questions import Questions
from sfumato.ui.panels.base import Panel, PanelState
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import Rule, column


class AuditPanel(Panel):
    """Weighs what recipients could learn, alone and together."""

    kind = PANEL

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.stack = QStackedWidget(self)
        self.pages: tuple[AuditPage, ...] = tuple(page(session, self.stack) for page in all_pages())
        for page in self.pages:
            page.told.connect(self.messages.show_message)
            page.state_changed.connect(self.state_changed)
            self.stack.addWidget(page)
        self.questions = Questions(self.pages, self)
        self.questions.chosen.connect(self._show)
        head = column(self.questions, Rule(), spacing=0)
        self.body.addLayout(head)
        self.body.addWidget(self.stack, 1)
        self._show(self.pages[0])
        for signal in (
            session.document_changed,
            session.table_changed,
            session.profiles_changed,
            session.attribute_changed,
        ):
            signal.connect(self._offer_pages)
        self._offer_pages()

    def show_page(self, kind: type[AuditPage]) -> AuditPage:
        """Bring a page into sight and return it."""
        page = next(page for page in self.pages if isinstance(page, kind))
        self._show(page)
        return page

    def take_file(self, path: Path) -> None:
        """Show the page that a file which turned up is for, and let it work."""
        page = next(page for page in self.pages if page.takes_files)
        self._show(page)
        page.take_file(path)

    @property
    def current(self) -> AuditPage:
        """The page in sight."""
        return self.pages[self.stack.currentIndex()]

    def _show(self, page: AuditPage) -> None:
        self.questions.show_current(page)
        self.stack.setCurrentWidget(page)

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
        for page in self.pages:
            self.questions.offer(page, page.has_material())
        if not self.current.has_material():
            self._show(self.questions.offered[0])
