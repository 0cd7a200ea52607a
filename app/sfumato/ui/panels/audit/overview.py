"""The audit's questions, each with its answer in a sentence or two, and the way to all figures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QPushButton, QWidget

from sfumato.analysis.audit_answers import Answer, Asked, Question, answers, subjects_of
from sfumato.analysis.findings import Severity
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.audit.pages.base import Topic
from sfumato.ui.panels.audit.wording import tr
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.records import releases_of
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import Badge, Card, ScrollPage, button, label, say
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.responsive import FlowLayout

JOB: Final = "audit questions"
QUESTIONS: Final[Mapping[Question, Topic]] = {
    Question.TOGETHER: Topic.TOGETHER,
    Question.FOUND: Topic.FOUND,
    Question.GROUPS: Topic.GROUPS,
    Question.LEAK: Topic.LEAK,
}


class AnswerCard(Card):
    """One question, its verdict, its answer, and what can be done."""

    def __init__(self, topic: Topic, *actions: QPushButton, parent: QWidget | None = None) -> None:
        super().__init__(tr(topic.value), parent=parent)
        self.badge = Badge("clock", "muted", "", parent=self)
        self.answer = label("", wrap=True)
        self.figures = button(tr("All figures"), lambda: None, "quiet", "chevron-right")
        self.figures.setAccessibleName(tr("All figures: {question}", question=tr(topic.value)))
        self.body.addWidget(self.badge)
        self.body.addWidget(self.answer)
        self.body.addLayout(FlowLayout(*actions, self.figures))
        self.badge.hide()

    def show_answer(self, answer: Answer) -> None:
        """Show what was found, by an icon, a word and sentences."""
        self.answer.setText(" ".join(typeset(one) for one in answer.sentences if one))
        self.badge.setVisible(answer.verdict is not None)
        if answer.verdict is not None:
            self.badge.show_state(*verdict_of(answer.verdict))


def verdict_of(severity: Severity) -> tuple[str, str, str]:
    """Return a verdict's icon, colour and word."""
    return {
        Severity.GRAVE: ("danger", "danger", tr("Danger")),
        Severity.CAUTION: ("caution", "caution", tr("Look closer")),
        Severity.GOOD: ("good", "good", tr("Protected")),
    }[severity]


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
        self._answers: tuple[Answer, ...] = ()
        find = button(self.tr("Find a &person…"), self.person_asked.emit, icon="search")
        bring = button(self.tr("Choose the found &file…"), self.file_asked.emit, icon="open")
        self.trouble = label("", "muted", wrap=True)
        self.column.addWidget(self.trouble)
        self.trouble.hide()
        self.cards: dict[Question, AnswerCard] = {}
        actions = {Question.FOUND: (find,), Question.LEAK: (bring,)}
        for question, topic in QUESTIONS.items():
            card = AnswerCard(topic, *actions.get(question, ()), parent=self)
            card.figures.clicked.connect(partial(self._ask_topic, topic))
            self.cards[question] = card
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
        self.refresh()

    def state(self) -> PanelState:
        """Return whether the questions are answered, and how."""
        known = [one.verdict for one in self._answers if one.verdict is not None]
        if not known:
            return PanelState.EMPTY
        return PanelState.ATTENTION if Severity.GRAVE in known else PanelState.DONE

    def refresh(self, _changed: object = None) -> None:
        """Ask again where something has changed, while somebody looks."""
        session = self._session
        table, document = session.table, session.document
        names = [name for entry in document.policy for name in entry.attributes]
        if table is None or not names:
            session.runner.cancel(JOB)
            self._asked, self._answers = (), ()
            self._say_waiting()
            self.state_changed.emit()
            return
        if not self.isVisible():
            return
        encoded = {name: session.attribute(name) for name in names}
        known = {name: column for name, column in encoded.items() if column is not None}
        releases = releases_of(session)
        asked = (table, document, releases, tuple(sorted(known)))
        if len(known) < len(encoded) or asked == self._asked:
            return
        self._asked, columns = asked, session.columns_of(table)
        attributes = {name: column.attribute for name, column in known.items()}
        subjects = subjects_of(document, table, known, session.project_folders)

        def work(context: Context) -> tuple[Answer, ...]:
            leaving = columns.of(document)
            return answers(Asked(document, table, leaving, attributes, releases, subjects), context)

        say(self.trouble, "")
        for card in self.cards.values():
            if not card.answer.text() or not self._answers:
                card.answer.setText(self.tr("Being answered…"))
        session.runner.run(
            self.tr("Answering the audit's questions"),
            work,
            partial(self._show, asked),
            partial(self._refuse, asked),
            key=JOB,
        )

    def _show(self, asked: tuple[object, ...], found: tuple[Answer, ...]) -> None:
        if asked is not self._asked:
            return
        self._answers = found
        for answer in found:
            self.cards[answer.question].show_answer(answer)
        self.state_changed.emit()

    def _refuse(self, asked: tuple[object, ...], error: SfumatoError) -> None:
        if asked is self._asked:
            self._answers = ()
            self._say_waiting()
            say(self.trouble, " ".join(error_texts(error)))
            self.state_changed.emit()

    def _say_waiting(self) -> None:
        """Say when there will be an answer."""
        for card in self.cards.values():
            card.badge.hide()
            card.answer.setText(
                self.tr(
                    "Answered once a table is open, a sensitive attribute has a mechanism, and"
                    " somebody is to receive it."
                )
            )
