"""The Audit panel: a few questions with their answers, and behind each the pages of its figures."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from PySide6.QtWidgets import QWidget

from sfumato.analysis.steps import Step
from sfumato.ui.panels.audit import PANEL
from sfumato.ui.panels.audit.overview import Overview
from sfumato.ui.panels.audit.pages import all_pages
from sfumato.ui.panels.audit.pages.base import AuditPage, Topic
from sfumato.ui.panels.audit.pages.person import PersonPage
from sfumato.ui.panels.audit.questions import Questions
from sfumato.ui.panels.base import Panel, PanelState
from sfumato.ui.widgets.layout import Rule, button, column
from sfumato.ui.widgets.paint_queue import Steps
from sfumato.ui.widgets.responsive import Pages

Kind = TypeVar("Kind", bound=AuditPage)


class AuditPanel(Panel):
    """Weighs what recipients could learn, alone and together."""

    kind = PANEL

    def assemble(self) -> Steps:
        """Build the panel."""
        session = self.session
        self.stack = Pages(self)
        self._head_line = QWidget(self)
        self.body.addWidget(self._head_line)
        self.body.addWidget(self.stack, 1)
        self.overview = Overview(session, self.stack)
        self.stack.addWidget(self.overview)
        yield
        self.pages: tuple[AuditPage, ...] = ()
        for kind in all_pages():
            page = kind(session, self.stack)
            page.told.connect(self.messages.show_message)
            page.state_changed.connect(self.state_changed)
            self.stack.addWidget(page)
            self.pages += (page,)
            yield
        self.overview.state_changed.connect(self.state_changed)
        self.questions = Questions(self.pages, self._head_line)
        self.questions.chosen.connect(self._show)
        self.questions.left.connect(self.show_questions)
        self._head_line.setLayout(column(self.questions, Rule()))
        self.report = button(self.tr("Report…"), self._show_report, icon="file")
        self.add_to_head(self.report)
        self.overview.topic_asked.connect(self._show_topic)
        self.overview.person_asked.connect(lambda: self.show_page(PersonPage))
        self.overview.file_asked.connect(self._choose_file)
        self.show_questions()
        for signal in (
            session.document_changed,
            session.table_changed,
            session.profiles_changed,
            session.attribute_changed,
        ):
            signal.connect(self.in_sight(self._offer_pages))
        self._offer_pages()

    def show_questions(self) -> None:
        """Show all questions with their answers."""
        self._head_line.hide()
        self.stack.setCurrentWidget(self.overview)

    def show_page(self, kind: type[Kind]) -> Kind:
        """Bring a page into sight and return it."""
        page = next(page for page in self.pages if isinstance(page, kind))
        self._show(page)
        return page

    def take_file(self, path: Path) -> None:
        """Show the page that a file which turned up is for, and let it work."""
        self._file_page().take_file(path)

    @property
    def current(self) -> AuditPage | None:
        """The page in sight; None where all questions are."""
        place = self.stack.currentIndex() - 1
        return self.pages[place] if place >= 0 else None

    def _file_page(self) -> AuditPage:
        page = next(page for page in self.pages if page.takes_files)
        self._show(page)
        return page

    def _choose_file(self) -> None:
        self._file_page().choose_file()

    def _show_report(self) -> None:
        self._show_topic(Topic.REPORT)

    def _show_topic(self, topic: Topic) -> None:
        page = self.questions.first_of(topic)
        if page is not None:
            self._show(page)

    def _show(self, page: AuditPage) -> None:
        self.questions.show_current(page)
        self._head_line.show()
        self.stack.setCurrentWidget(page)

    def step(self) -> Step:
        """Return attention if any page or answer needs it; looking never comes to an end."""
        found = {self.overview.state(), *(page.state() for page in self.pages)}
        if PanelState.ATTENTION in found:
            return Step(PanelState.ATTENTION, self.tr("What was found needs attention."))
        return super().step()

    def _offer_pages(self) -> None:
        """Leave out the tabs of pages that have nothing to work on."""
        for page in self.pages:
            self.questions.offer(page, page.has_material())
        if self.current is not None and not self.questions.offers(self.current):
            first = self.questions.first_of(self.current.topic)
            if first is None:
                self.show_questions()
            else:
                self._show(first)
