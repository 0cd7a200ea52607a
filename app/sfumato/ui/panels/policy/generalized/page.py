"""The page of the Policy panel on which a generalized table is decided about."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QTabWidget, QVBoxLayout, QWidget

from sfumato.engine.generalization.lattice import Node
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.policy.generalized import edits
from sfumato.ui.panels.policy.generalized.before_after import BeforeAfterPage
from sfumato.ui.panels.policy.generalized.explore_page import ExplorePage
from sfumato.ui.panels.policy.generalized.finding import Finding
from sfumato.ui.panels.policy.generalized.node_card import NodeCard
from sfumato.ui.panels.policy.generalized.other_tables import OtherTablesCard
from sfumato.ui.panels.policy.generalized.publishing import PublishPage
from sfumato.ui.panels.policy.generalized.requirements import RequirementsCard
from sfumato.ui.panels.policy.generalized.result import Result, result_of
from sfumato.ui.panels.policy.generalized.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import Card, EmptyState, ScrollPage, button, label
from sfumato.ui.widgets.responsive import ResponsiveRow

WIDE = 700
"""From this width on, what is asked and others' tables stand side by side."""


class GeneralizedPage(QWidget):
    """What is asked of a generalized table, what was found, and which one is published.

    Parameters
    ----------
    session
        What is open.
    """

    told = Signal(object)
    """A `Message` for the panel."""
    state_changed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.finding = Finding(session, self)
        self.pages = QStackedWidget(self)
        self.empty = QStackedWidget(self)
        self._build_empty()
        self.work = QWidget(self)
        self._build_work()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.work)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self.pages)
        for signal in (session.document_changed, session.table_changed, session.attribute_changed):
            signal.connect(self.refresh)
        self.finding.changed.connect(self._show_found)
        self.finding.measured.connect(self.explore.show_measured)
        self.finding.looked.connect(self._show_view)
        self.explore.selected.connect(self._show_node)
        self.refresh()

    def _build_empty(self) -> None:
        go = partial(self.session.panel_requested.emit, "attributes")
        self.nothing = EmptyState(
            "table",
            tr("No column can be generalized yet"),
            tr(
                "A generalized table shows true sensitive values, and coarser public ones: an age"
                " band in the place of an age. Mark a sensitive column, and give the columns that"
                " people could be recognized by the role quasi-identifier and a hierarchy."
            ),
        )
        self.nothing.add_button(button(tr("Go to Attributes"), go, "primary"))
        self.ready = EmptyState(
            "table",
            tr("A generalized table in the place of perturbed releases"),
            tr(
                "Sensitive values stay true; public ones are made coarser until nobody can be told"
                " from enough others, also beside tables that other holders published."
            ),
        )
        self.start = self.ready.add_button(
            button(tr("Generalize the table"), self._start, "primary")
        )
        self.empty.addWidget(self.nothing)
        self.empty.addWidget(self.ready)

    def _build_work(self) -> None:
        column = QVBoxLayout(self.work)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.INSIDE)
        column.addWidget(self._result_card())
        self.requirements = RequirementsCard(self.session, self)
        self.others = OtherTablesCard(self.session, self.finding, self)
        asked = ScrollPage(self)
        asked.column.setContentsMargins(0, Space.INSIDE, Space.INSIDE, 0)
        sides = ResponsiveRow(WIDE, parent=self)
        sides.add(self.requirements, 3)
        sides.add(self.others, 2)
        asked.column.addWidget(sides)
        asked.column.addStretch(1)
        self.explore = ExplorePage(self.session, self.finding, self)
        self.node_card = NodeCard(self.session, self)
        exploring = QWidget(self)
        lines = QVBoxLayout(exploring)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(Space.INSIDE)
        lines.addWidget(self.explore, 1)
        lines.addWidget(self.node_card)
        self.beside = BeforeAfterPage(self.session, self)
        self.publish = PublishPage(self.session, self.finding, self)
        self.publish.told.connect(self.told)
        for plot in (self.explore.plot, self.beside.risk, self.beside.sizes):
            plot.failed.connect(self.told)
        self.tabs = QTabWidget(self)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        for page, title in (
            (asked, tr("What is asked")),
            (exploring, tr("Explore")),
            (self.beside, tr("Before and after")),
            (self.publish, tr("Promise and publish")),
        ):
            self.tabs.addTab(page, title)
        column.addWidget(self.tabs, 1)

    def _result_card(self) -> QWidget:
        card = Card(parent=self)
        card.body.setContentsMargins(Space.BETWEEN, 12, Space.BETWEEN, 12)
        self.icon = IconLabel("clock", "muted", 20)
        self.sentence = label("", "strong", wrap=True)
        self.explanation = label("", "muted", wrap=True)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self.sentence)
        texts.addWidget(self.explanation)
        line = QHBoxLayout()
        line.setSpacing(Space.INSIDE)
        line.addWidget(self.icon)
        line.addLayout(texts, 1)
        self.search = button(tr("Search"), self.finding.search, "primary", "search")
        self.stop = button(tr("Stop"), self._stop)
        self.leave = button(
            tr("Give up"),
            self._leave,
            "quiet",
            tip=tr("Decide nothing about a generalized table; undo brings it back"),
        )
        for each in (self.search, self.stop, self.leave):
            line.addWidget(each)
        card.body.addLayout(line)
        return card

    # ----- what is shown

    def state(self) -> PanelState:
        """Return how far the generalized table is."""
        if self.session.document.generalization is None:
            return PanelState.EMPTY
        found = self.finding.found
        if self.finding.error is not None or (
            found is not None and (found.searched is None or found.searched.best is None)
        ):
            return PanelState.ATTENTION
        return PanelState.DONE if self.finding.node is not None else PanelState.IN_PROGRESS

    def showEvent(self, event: QShowEvent) -> None:
        """Search, now that somebody looks."""
        super().showEvent(event)
        self.finding.activate(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Start nothing while nobody looks."""
        super().hideEvent(event)
        self.finding.activate(False)

    def refresh(self, _changed: object = None) -> None:
        """Show what is decided now."""
        session = self.session
        document = session.document
        decided = document.generalization
        if decided is None or session.table is None:
            usable = bool(edits.usable(document) and document.sensitive and session.table)
            self.empty.setCurrentWidget(self.ready if usable else self.nothing)
            self.pages.setCurrentWidget(self.empty)
        else:
            self.pages.setCurrentWidget(self.work)
            encoded = session.attribute(decided.sensitive)
            domain = encoded.attribute.domain if encoded is not None else None
            size = len(domain.names) if domain is not None else 100
            self.requirements.show_document(document, (session.table.rows, size))
        self.finding.refresh()
        self._show_found()

    def _show_found(self) -> None:
        result = self._result()
        self.icon.show_icon(result.icon, result.token)
        self.sentence.setText(result.sentence)
        self.explanation.setText(result.explanation)
        self.explanation.setVisible(bool(result.explanation))
        working = self.finding.working
        known = self.finding.found is not None or self.finding.error is not None
        self.stop.setVisible(working)
        self.search.setVisible(not working and not known)
        searched = self.finding.searched
        for place in (1, 2, 3):
            self.tabs.setTabEnabled(place, searched is not None and searched.best is not None)
        self.others.refresh()
        self.explore.refresh()
        self.publish.refresh()
        if searched is not None and self.explore.node is not None:
            self._show_node(self.explore.node)
        self.state_changed.emit()

    def _result(self) -> Result:
        """Return what came of the search, as it is said."""
        decided = self.session.document.generalization
        chosen = decided is not None and decided.node is not None
        return result_of(self.finding, chosen=chosen)

    def _show_node(self, node: Node) -> None:
        searched = self.finding.searched
        if searched is not None and node in searched.result.lattice:
            self.node_card.show_node(searched, node, self.finding.node)

    def _show_view(self) -> None:
        self.beside.show_view(self.finding.view, self.finding.view_error)
        self.publish.refresh()

    # ----- what the person does

    def _start(self) -> None:
        self.session.edit(tr("Generalize the table"), edits.started(self.session.document))

    def _leave(self) -> None:
        self.session.edit(tr("Give the generalized table up"), edits.stopped(self.session.document))

    def _stop(self) -> None:
        self.finding.stop()
