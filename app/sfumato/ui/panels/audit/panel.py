"""The Audit panel: a few questions with their answers, and behind each the pages of its figures."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QButtonGroup, QPushButton, QToolButton, QWidget

from sfumato.analysis.answers import Answer, Severity
from sfumato.analysis.audit_answers import Unanswered, answers, unanswered
from sfumato.analysis.questions import all_questions
from sfumato.analysis.questions.question import AuditQuestion, Topic
from sfumato.analysis.steps import Step
from sfumato.engine.core.errors import SfumatoError
from sfumato.ui.look.theme import Space, font
from sfumato.ui.look.wording import apart, spoken, typeset
from sfumato.ui.panels.audit import PANEL
from sfumato.ui.panels.audit.asking import inputs_from
from sfumato.ui.panels.audit.holders import tr
from sfumato.ui.panels.audit.pages import all_pages
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.audit.pages.person import PersonPage
from sfumato.ui.panels.base import Panel, PanelState, catch_up
from sfumato.ui.state.session import Session
from sfumato.ui.state.weighing import SEVERITY_LOOKS
from sfumato.ui.widgets.layout import (
    Badge,
    Card,
    ElidedButton,
    Hairline,
    ScrollPage,
    boxed,
    button,
    column,
    fill,
    label,
    row,
    say,
)
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.paint_queue import Steps
from sfumato.ui.widgets.responsive import FlowLayout, Pages

Kind = TypeVar("Kind", bound=AuditPage)


_STEPS = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Down: 1,
}
_TAB_MARGIN = 8


JOB: Final = "audit questions"


class AnswerCard(Card):
    """One question, its verdict, its answer, and what can be done."""

    def __init__(
        self, question: AuditQuestion, *actions: QPushButton, parent: QWidget | None = None
    ) -> None:
        title = spoken(question.title)
        super().__init__(title, parent=parent)
        self.badge = Badge("clock", "muted", "", parent=self)
        self.answer = label("", wrap=True)
        self.rest = label("", "muted", wrap=True)
        self.why = button("", self._turn, "quiet")
        self.figures = button(tr("All figures"), lambda: None, "quiet", "chevron-right")
        self.figures.setAccessibleName(tr("All figures: {question}", question=title))
        self.put(self.badge, self.answer, self.rest, FlowLayout(self.why, *actions, self.figures))
        self.badge.hide()
        self._is_open, self._paragraphs = False, tuple[str, ...]()
        self._show_rest()

    def show_answer(self, answer: Answer, columns: Container[str] = ()) -> None:
        """Show what was found, by an icon, a word and sentences that name columns."""
        told = tuple(apart(one, columns) for one in answer.sentences if one)
        self.answer.setText("".join(told[:1]))
        self._paragraphs = told[1:]
        self._show_rest()
        self.badge.setVisible(answer.verdict is not None)
        if answer.verdict is not None:
            self.badge.show_state(*verdict_of(answer.verdict))

    def say(self, words: str) -> None:
        """Say something in place of an answer."""
        self.badge.hide()
        self.answer.setText(words)
        self._paragraphs = ()
        self._show_rest()

    def _turn(self) -> None:
        self._is_open = not self._is_open
        self._show_rest()

    def _show_rest(self) -> None:
        """Show what follows the answer: one sentence at once, several where they are asked for."""
        several = len(self._paragraphs) > 1
        self.rest.setText("\n\n".join(self._paragraphs))
        self.rest.setVisible(bool(self._paragraphs) and (self._is_open or not several))
        words = tr("Less") if self._is_open else tr("Why?")
        self.why.setText(words)
        self.why.setAccessibleName(f"{words} {self.heading.text()}")
        self.why.setVisible(several)


def verdict_of(severity: Severity) -> tuple[str, str, str]:
    """Return a verdict's icon, colour and word."""
    look = SEVERITY_LOOKS[severity]
    return look, look, spoken(severity.word)


class LeftOut(QWidget):
    """Names the recipients whom the answers leave out, each with the way to what is missing."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._lines = column(spacing=Space.TIGHT)
        self.setLayout(self._lines)
        self.hide()

    def show_recipients(self, found: Sequence[Unanswered]) -> None:
        """Show why each of some recipients is left out; nobody takes the list away."""
        while (item := self._lines.takeAt(0)) is not None:
            if (line := item.widget()) is not None:
                line.hide()
                line.deleteLater()
        for one in found:
            words = tr(
                "The answers leave {name} out: {reason}",
                name=one.recipient,
                reason=typeset(one.sentence),
            )
            go = partial(self._session.place_requested.emit, "policy", one.column, one.recipient)
            way = ElidedButton(tr("Go to {name}", name=one.recipient), go)
            said = Badge("caution", "caution", words, look="caution", wrap=True)
            said.word.setObjectName("left out")
            self._lines.addWidget(boxed(row((said, 3), (way, 1)), self))
        self.setVisible(bool(found))


class Overview(ScrollPage):
    """Asks the questions that matter, and answers them while somebody looks."""

    topic_asked = Signal(object)
    """The person wants the figures of a `Topic`."""
    person_asked = Signal()
    """The person wants to look for somebody."""
    file_asked = Signal()
    """The person wants to choose a file that turned up."""
    state_changed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._asked: tuple[object, ...] = ()
        self._answers: Mapping[str, Answer] = {}
        find = button(self.tr("Find a &person…"), self.person_asked.emit, icon="search")
        bring = button(self.tr("Choose the found &file…"), self.file_asked.emit, icon="open")
        self.trouble = label("", "danger", wrap=True)
        self.column.addWidget(self.trouble)
        self.trouble.hide()
        self.left_out = LeftOut(session, self)
        self.column.addWidget(self.left_out)
        self.cards: dict[str, AnswerCard] = {}
        actions = {"found": (find,), "leak": (bring,)}
        for question in all_questions():
            if question.in_short:
                card = AnswerCard(question, *actions.get(question.name, ()), parent=self)
                card.figures.clicked.connect(partial(self._ask_topic, question.topic))
                self.cards[question.name] = card
                self.column.addWidget(card)
        self.find_button, self.bring_button = find, bring
        self.column.addStretch(1)
        self._say_waiting()
        for signal in (
            session.document_changed,
            session.table_changed,
            session.attribute_changed,
            session.ledger_changed,
            session.project_changed,
        ):
            signal.connect(self.refresh)

    def _ask_topic(self, topic: Topic, _checked: bool = False) -> None:
        self.topic_asked.emit(topic)

    def showEvent(self, event: QShowEvent) -> None:
        """Answer what has changed while nobody looked."""
        super().showEvent(event)
        catch_up(self.refresh)

    def state(self) -> PanelState:
        """Return whether the questions are answered, and how."""
        told = (one.verdict for one in self._answers.values())
        known = [verdict for verdict in told if verdict is not None]
        if not known:
            return PanelState.EMPTY
        return PanelState.ATTENTION if Severity.GRAVE in known else PanelState.DONE

    def refresh(self, _changed: object = None) -> None:
        """Ask again where something has changed, while somebody looks."""
        session = self._session
        if session.source is None or not session.document.policy:
            session.runner.cancel(JOB)
            self._asked, self._answers = (), {}
            self.left_out.show_recipients(())
            self._say_waiting()
            self.state_changed.emit()
            return
        if not self.isVisible():
            return
        asked, inputs = inputs_from(session)
        if inputs is None or asked == self._asked:
            return
        self._asked = asked
        self.left_out.show_recipients(unanswered(inputs.document, inputs.attributes))
        say(self.trouble, "")
        for card in self.cards.values():
            if not card.answer.text() or not self._answers:
                card.say(self.tr("Being answered…"))
        session.runner.run(
            self.tr("Answering the audit's questions"),
            partial(answers, inputs),
            partial(self._show, asked),
            partial(self._refuse, asked),
            key=JOB,
        )

    def _show(self, asked: tuple[object, ...], found: Mapping[str, Answer]) -> None:
        if asked is not self._asked:
            return
        self._answers = found
        for name, answer in found.items():
            self.cards[name].show_answer(answer, self._session.document.column_names)
        self.state_changed.emit()

    def _refuse(self, asked: tuple[object, ...], error: SfumatoError) -> None:
        if asked is self._asked:
            self._answers = {}
            self._say(self.tr("Not answered: see above."))
            say(self.trouble, " ".join(error_texts(error)))
            self.state_changed.emit()

    def _say_waiting(self) -> None:
        """Say when there will be an answer."""
        words = self.tr(
            "Answered once a table is open, a sensitive attribute has a mechanism, and somebody is"
            " to receive it."
        )
        self._say(words)

    def _say(self, words: str) -> None:
        """Say the same in place of each answer."""
        for card in self.cards.values():
            card.say(words)


class _Tab(QToolButton):
    """A tab; the chosen one is bold, and the others keep the room for that: nothing moves."""

    def sizeHint(self) -> QSize:
        """Return the room of the bold text."""
        width = QFontMetrics(font(strong=True)).horizontalAdvance(self.text())
        return QSize(width + 2 * _TAB_MARGIN, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Ask for all of it: tabs that do not fit stand on a further line."""
        return self.sizeHint()


class Questions(QWidget):
    """The pages of the question that is looked at; the arrow keys move through them.

    Parameters
    ----------
    pages
        The pages, in order.
    """

    chosen = Signal(object)
    """The person chose another `AuditPage`."""
    left = Signal()
    """The person wants to see all questions."""

    def __init__(self, pages: Sequence[AuditPage], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._group = QButtonGroup(self)
        self._tabs: dict[AuditPage, QToolButton] = {}
        self._offered = dict.fromkeys(pages, True)
        self._topic = pages[0].topic
        self.back = button(self.tr("All &questions"), self.left.emit, "quiet", "chevron-left")
        self.heading = label("", "heading", wrap=True)
        line = FlowLayout(*(self._tab(page) for page in pages), spacing=Space.TIGHT)
        above = row(self.back, self.heading, spacing=Space.BETWEEN, wide=1)
        self.setLayout(column(above, line, spacing=Space.TIGHT))
        self._show_tabs()

    def _tab(self, page: AuditPage) -> QToolButton:
        tab = _Tab(self)
        tab.setText(page.translated_title())
        tab.setCheckable(True)
        tab.setProperty("look", "tab")
        tab.clicked.connect(lambda _checked=False: self._choose(page))
        tab.installEventFilter(self)
        self._group.addButton(tab)
        self._tabs[page] = tab
        return tab

    @property
    def offered(self) -> tuple[AuditPage, ...]:
        """The pages that can be chosen for the question that is looked at."""
        return tuple(page for page in self._tabs if self._is_shown(page))

    def offers(self, page: AuditPage) -> bool:
        """Return whether a page has anything to work on."""
        return self._offered[page]

    @property
    def current(self) -> AuditPage | None:
        """The page that is chosen."""
        return next((page for page, tab in self._tabs.items() if tab.isChecked()), None)

    def first_of(self, topic: Topic) -> AuditPage | None:
        """Return a question's first page that has anything to work on."""
        return next((p for p, is_so in self._offered.items() if is_so and p.topic is topic), None)

    def show_current(self, page: AuditPage) -> None:
        """Show a page as chosen, among those of its question, without telling anyone."""
        self._topic = page.topic
        self.heading.setText(spoken(page.topic.value))
        for other, tab in self._tabs.items():
            tab.setChecked(other is page)
            policy = Qt.FocusPolicy.StrongFocus if other is page else Qt.FocusPolicy.ClickFocus
            tab.setFocusPolicy(policy)
        self.setFocusProxy(self._tabs[page])
        self._show_tabs()

    def offer(self, page: AuditPage, offered: bool) -> None:
        """Leave a page's tab out, or bring it back."""
        self._offered[page] = offered
        self._show_tabs()

    def _is_shown(self, page: AuditPage) -> bool:
        return self._offered[page] and page.topic is self._topic

    def _show_tabs(self) -> None:
        for page, tab in self._tabs.items():
            tab.setVisible(self._is_shown(page))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move the choice with the arrow keys, which a button would keep to itself."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        key, pages = Qt.Key(event.key()), self.offered
        if key in _STEPS and self.current in pages:
            place = pages.index(self.current) + _STEPS[key]
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            place = 0 if key == Qt.Key.Key_Home else len(pages) - 1
        else:
            return super().eventFilter(watched, event)
        if 0 <= place < len(pages):
            self._choose(pages[place])
            self._tabs[pages[place]].setFocus(Qt.FocusReason.TabFocusReason)
        return True

    def _choose(self, page: AuditPage) -> None:
        self.show_current(page)
        self.chosen.emit(page)


class AuditPanel(Panel):
    """Weighs what recipients could learn, alone and together."""

    kind = PANEL

    def assemble(self) -> Steps:
        """Build the panel."""
        session = self.session
        self.stack = Pages(self)
        self._head_line = QWidget(self)
        fill(self.body, self._head_line, (self.stack, 1))
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
        self._head_line.setLayout(column(self.questions, Hairline()))
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
            session.project_changed,
            session.ledger_changed,
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
