"""The page of the Policy panel on which a generalized table is decided about."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QTabWidget, QWidget

from sfumato.analysis.answers import Severity
from sfumato.analysis.tables.safe_levels import answer_of
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.lattice import Node
from sfumato.project.release.views import quasi_identifiers
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.base import LazyWidget, PanelState, catch_up
from sfumato.ui.panels.policy import edits
from sfumato.ui.panels.policy.generalized.before_after import BeforeAfterPage
from sfumato.ui.panels.policy.generalized.explore_page import ExplorePage, NodeCard
from sfumato.ui.panels.policy.generalized.finding import NodeFinding
from sfumato.ui.panels.policy.generalized.other_tables import OtherTablesCard
from sfumato.ui.panels.policy.generalized.publishing import PublishPage
from sfumato.ui.panels.policy.generalized.requirements import RequirementsCard
from sfumato.ui.panels.policy.views_card import propose_hierarchies
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.state.weighing import SEVERITY_LOOKS
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import (
    Card,
    EmptyState,
    ScrollPage,
    boxed,
    button,
    column,
    label,
    row,
    say,
)
from sfumato.ui.widgets.messages import Message, error_texts
from sfumato.ui.widgets.paint_queue import Steps
from sfumato.ui.widgets.painted import IconLabel
from sfumato.ui.widgets.responsive import Pages, ResponsiveRow

WIDE = 700
"""From this width on, what is asked and others' tables stand side by side."""

Result = tuple[str, str, str, str]
"""An icon, its colour, what was found, and what it means or what would help."""


def result_of(finding: NodeFinding, *, chosen: bool) -> Result:
    """Return what came of a search.

    Parameters
    ----------
    finding
        The search.
    chosen
        Whether the custodian has chosen levels.
    """
    found = finding.found
    if finding.working:
        return "clock", "muted", tr("Searching for safe generalizations…"), ""
    if finding.error is not None:
        return "danger", "danger", *error_texts(finding.error)
    if found is None:
        words = tr("This can take a while: set all the requirements first, then search.")
        return "search", "muted", tr("Not searched yet"), words
    answer = answer_of(found)
    sentence, *others = (*map(typeset, (*answer.sentences, *answer.remedies)), "")
    look = SEVERITY_LOOKS[Severity.CAUTION if answer.verdict is None else answer.verdict]
    if look == "good" and chosen and finding.node is None:
        look, others = "caution", [tr("The levels you chose are no longer safe: choose others.")]
    return look, look, sentence, " ".join(others).strip()


class GeneralizedPage(LazyWidget):
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
        self.finding = NodeFinding(session, self)

    def assemble(self) -> Steps:
        """Build the page, but for what a table has that is generalized: few are."""
        session, finding = self.session, self.finding
        self._begun = False
        self.pages = Pages(self)
        self.setLayout(column(self.pages))
        self.empty = Pages(self.pages)
        self.work = QWidget(self.pages)
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.work)
        self._build_empty()
        self.tabs = QTabWidget(self.work)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        self.work.setLayout(column(self._result_card(), (self.tabs, 1)))
        yield
        for signal in (session.document_changed, session.table_changed, session.attribute_changed):
            signal.connect(finding.refresh)
            signal.connect(self.in_sight(self.refresh))
        finding.changed.connect(self.in_sight(self._show_found))
        finding.changed.connect(self.state_changed)
        self.refresh()

    def _build_empty(self) -> None:
        go = partial(self.session.panel_requested.emit, "attributes")
        self.nothing = EmptyState(
            "table",
            tr("No column can be generalized yet"),
            tr(
                "A generalized table shows true sensitive values and coarser public ones: an age"
                " band instead of an age. Mark a sensitive column, and give the columns by which"
                " people could be recognized the role quasi-identifier and a hierarchy."
            ),
        )
        self.nothing.add_button(button(tr("Go to Attributes"), go, "primary"))
        self.propose = self.nothing.add_button(
            button(tr("Propose missing hierarchies"), self._propose)
        )
        self.ready = EmptyState(
            "table",
            tr("A generalized table instead of perturbed releases"),
            tr(
                "Sensitive values stay true. Public ones are made coarser until each person looks"
                " like enough others, alone or beside tables that other holders have published."
            ),
        )
        self.start = self.ready.add_button(
            button(tr("Generalize the table"), self._start, "primary")
        )
        self.empty.addWidget(self.nothing)
        self.empty.addWidget(self.ready)

    def _build_tabs(self) -> None:
        """Build what is decided about a table, and what is found, once there is any."""
        self._begun, session, finding = True, self.session, self.finding
        asked = ScrollPage(self)
        asked.column.setContentsMargins(0, Space.INSIDE, Space.INSIDE, 0)
        sides = ResponsiveRow(WIDE, parent=self)
        asked.put(sides, None)
        self.tabs.addTab(asked, tr("Requirements"))
        self.requirements = RequirementsCard(session, sides)
        sides.add(self.requirements, 3)
        self.others = OtherTablesCard(session, finding, sides)
        sides.add(self.others, 2)
        self.explore = ExplorePage(session, finding, self)
        self.node_card = NodeCard(session, self)
        exploring = boxed(column((self.explore, 1), self.node_card), self)
        self.tabs.addTab(exploring, tr("Explore"))
        self.beside = BeforeAfterPage(session, self)
        self.tabs.addTab(self.beside, tr("Before and after"))
        self.publish = PublishPage(session, finding, self)
        self.publish.told.connect(self.told)
        self.tabs.addTab(self.publish, tr("Promise and publish"))
        for plot in (self.explore.plot, self.beside.risk, self.beside.sizes):
            plot.failed.connect(self.told)
        finding.measured.connect(self.explore.show_measured)
        finding.looked.connect(self._show_view)
        self.explore.selected.connect(self._show_node)

    def _result_card(self) -> QWidget:
        card = Card(parent=self)
        card.body.setContentsMargins(Space.BETWEEN, 12, Space.BETWEEN, 12)
        self.icon = IconLabel("clock", "muted", 20)
        self.sentence = label("", "strong", wrap=True)
        self.explanation = label("", "muted", wrap=True)
        texts = column(self.sentence, self.explanation, spacing=2)
        self.search = button(tr("Search"), self.finding.search, "primary", "search")
        self.stop = button(tr("Stop"), self.finding.stop)
        self.leave = button(
            tr("Discard"),
            self._leave,
            "quiet",
            tip=tr("Discard the generalized table; undo restores it"),
        )
        card.body.addLayout(row(self.icon, (texts, 1), self.search, self.stop, self.leave))
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
        catch_up(partial(self.finding.activate, True))

    def hideEvent(self, event: QHideEvent) -> None:
        """Start nothing while nobody looks."""
        super().hideEvent(event)
        self.finding.activate(False)

    def refresh(self) -> None:
        """Show what is decided now."""
        session = self.session
        document = session.document
        decided = document.generalization
        if decided is None or session.source is None:
            usable = bool(edits.usable(document) and document.sensitive and session.source)
            self.empty.setCurrentWidget(self.ready if usable else self.nothing)
            proposable = bool(quasi_identifiers(document) and document.sensitive and session.source)
            self.propose.setVisible(proposable)
            self.pages.setCurrentWidget(self.empty)
        else:
            if not self._begun:
                self._build_tabs()
            self.pages.setCurrentWidget(self.work)
            encoded = session.attribute(decided.sensitive)
            domain = encoded.attribute.domain if encoded is not None else None
            size = len(domain.names) if domain is not None else 100
            self.requirements.show_document(document, (session.source.rows, size))
        self._show_found()

    def _show_found(self) -> None:
        decided = self.session.document.generalization
        chosen = decided is not None and decided.node is not None
        icon, token, sentence, explanation = result_of(self.finding, chosen=chosen)
        self.icon.show_icon(icon, token)
        self.sentence.setText(sentence)
        say(self.explanation, explanation)
        working = self.finding.working
        known = self.finding.found is not None or self.finding.error is not None
        self.stop.setVisible(working)
        self.search.setVisible(not working and not known)
        if self._begun:
            self._show_tabs()
        self.state_changed.emit()

    def _show_tabs(self) -> None:
        searched = self.finding.searched
        for place in (1, 2, 3):
            self.tabs.setTabEnabled(place, searched is not None and searched.best is not None)
        self.others.refresh()
        self.explore.refresh()
        self.publish.refresh()
        if searched is not None and self.explore.node is not None:
            self._show_node(self.explore.node)

    def _show_node(self, node: Node) -> None:
        searched = self.finding.searched
        if searched is not None and node in searched.result.lattice:
            self.node_card.show_node(searched, node, self.finding.node)

    def _show_view(self) -> None:
        self.beside.show_view(self.finding.view, self.finding.view_error)
        self.publish.refresh()

    # ----- what the person does

    def _propose(self) -> None:
        def refuse(error: SfumatoError) -> None:
            self.told.emit(Message.of_error(error, topic="hierarchies"))

        propose_hierarchies(self.session, self.start.setFocus, refuse)

    def _start(self) -> None:
        self.session.edit(tr("Generalize the table"), edits.started(self.session.document))

    def _leave(self) -> None:
        self.session.edit(tr("Discard the generalized table"), edits.stopped(self.session.document))


BOARD: Final = "board"
GENERALIZED: Final = "generalized"


class Ways(Pages):
    """The ways to decide how the table is released, one in sight.

    Parameters
    ----------
    session
        What is open.
    board
        Who gets what, with all settings of perturbed releases.
    """

    changed = Signal()
    """The other way came into sight, or the generalized table got further."""

    def __init__(
        self,
        session: Session,
        board: QWidget,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._session = session
        words = (tr("Who gets what"), tr("Generalized table"))
        ways = (BOARD, GENERALIZED)
        self.segments = Segments(list(zip(ways, words, strict=True)), self)
        self.segments.setAccessibleName(tr("How the table is released"))
        self.page = GeneralizedPage(session, self)
        self._pages = {BOARD: board, GENERALIZED: self.page}
        for page in self._pages.values():
            self.addWidget(page)
        self.segments.chosen.connect(self.show_way)
        self.page.state_changed.connect(self.changed)
        session.project_changed.connect(self._bring_what_is_decided)

    @property
    def perturbing(self) -> bool:
        """Whether releases to recipients are in sight, on the board."""
        return self.segments.value != GENERALIZED

    @property
    def instead(self) -> bool:
        """Whether a generalized table takes the place of perturbed releases."""
        document = self._session.document
        return document.generalization is not None and not document.policy

    def _bring_what_is_decided(self) -> None:
        """Begin a project that is about a generalized table at that."""
        if self.instead:
            self.show_way(GENERALIZED)

    def show_way(self, way: object) -> None:
        """Bring one of the ways into sight."""
        self.segments.set_value(str(way))
        self.setCurrentWidget(self._pages[str(way)])
        self.changed.emit()
