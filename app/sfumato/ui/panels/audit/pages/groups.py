"""What the pages about small groups have in common: whom they ask about, one job, one answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from PySide6.QtCore import QT_TRANSLATE_NOOP, Qt, Signal
from PySide6.QtGui import QAction, QPaintEvent
from PySide6.QtWidgets import (
    QMenu,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStylePainter,
    QWidget,
)

from sfumato.analysis.disclosure.small_groups import RiskSubject, grouped_entries
from sfumato.analysis.questions.question import Topic
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.project.document.model import Document
from sfumato.project.release.groups import public_names, usual_knowledge
from sfumato.ui.look.theme import scaled
from sfumato.ui.panels.audit.pages.base import AuditPage, field_line
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField

MOST_NAMED = 2
LEAST_WIDTH = 110


class KnowledgeButton(QPushButton):
    """A button that names the columns an attacker knows; its list ticks others."""

    changed = Signal()
    """The person ticked or unticked a column."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("What the attacker knows"))
        # Columns can be called anything: a long name must not widen the window.
        self.setMinimumWidth(scaled(LEAST_WIDTH))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.columns = QMenu(self)
        self.setMenu(self.columns)
        self._actions: dict[str, QAction] = {}
        self._chosen: dict[str, bool] = {}
        self._say()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are ticked, in the table's order."""
        return tuple(name for name, action in self._actions.items() if action.isChecked())

    def set_columns(self, public: Sequence[str], usual: Sequence[str]) -> None:
        """Offer columns; those the person has not touched are ticked as is usual."""
        ticked = {name: self._chosen.get(name, name in usual) for name in public}
        if ticked == {name: action.isChecked() for name, action in self._actions.items()}:
            return
        self.columns.clear()
        self._actions = {}
        for name, known in ticked.items():
            action = self.columns.addAction(name)
            action.setCheckable(True)
            action.setChecked(known)
            action.toggled.connect(self._take)
            self._actions[name] = action
        self._say()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw as much of the names as there is room for; the tip has them all."""
        del event
        option = QStyleOptionButton()
        self.initStyleOption(option)
        style = self.style()
        place = style.subElementRect(QStyle.SubElement.SE_PushButtonContents, option, self)
        arrow = style.pixelMetric(QStyle.PixelMetric.PM_MenuButtonIndicator, option, self)
        option.text = option.fontMetrics.elidedText(
            self.text(), Qt.TextElideMode.ElideRight, place.width() - arrow
        )
        QStylePainter(self).drawControl(QStyle.ControlElement.CE_PushButton, option)

    def _take(self, _known: bool) -> None:
        self._chosen = {name: action.isChecked() for name, action in self._actions.items()}
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        names = self.names
        if not names:
            self.setText(self.tr("nothing about a person"))
        elif len(names) <= MOST_NAMED:
            self.setText(", ".join(names))
        else:
            shown = ", ".join(names[:MOST_NAMED])
            more = len(names) - MOST_NAMED
            self.setText(self.tr("{names} and {more} more").format(names=shown, more=more))
        self.setToolTip(
            self.tr("The columns by which the attacker looks a person up: {names}").format(
                names=", ".join(names) or "–"
            )
        )


class QuestionBar(QWidget):
    """A line of choices above a page.

    Parameters
    ----------
    with_recipient
        Whether one recipient is chosen.
    with_knowledge
        Whether the columns are chosen by which the attacker looks a person up.
    """

    changed = Signal()
    """The person chose something else."""

    def __init__(
        self, with_recipient: bool, with_knowledge: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.attribute = ChoiceField(parent=self, name=self.tr("Attribute"))
        self.recipient = ChoiceField(parent=self, name=self.tr("Recipient"))
        self.knowledge = KnowledgeButton(self)
        for field in (self.attribute, self.recipient):
            field.setMinimumWidth(scaled(140))
            field.chosen.connect(self._tell)
        self.knowledge.changed.connect(self.changed)
        fields: list[tuple[str, QWidget]] = [(self.tr("&Attribute"), self.attribute)]
        if with_recipient:
            fields.append((self.tr("&Recipient"), self.recipient))
        if with_knowledge:
            fields.append((self.tr("Attacker &knows"), self.knowledge))
        self.setLayout(field_line(*fields))
        self.recipient.setVisible(with_recipient)
        self.knowledge.setVisible(with_knowledge)

    def offer(self, document: Document, attributes: Iterable[str]) -> None:
        """Offer what there is to choose; what is chosen stays where it can."""
        self.attribute.set_choices([(name, name) for name in attributes])
        self.recipient.set_choices([(each.name, each.name) for each in document.recipients])
        self.knowledge.set_columns(public_names(document), usual_knowledge(document))

    def _tell(self, _chosen: object) -> None:
        self.changed.emit()


class GroupsPage(AuditPage):
    """A page that asks one question about an attribute's small groups.

    Parameters
    ----------
    session
        What is open.
    parent
        The owner.
    """

    topic: ClassVar[Topic] = Topic.GROUPS
    nothing: ClassVar[tuple[str, str, str]] = (
        "audit",
        str(QT_TRANSLATE_NOOP("Audit", "Nothing to examine yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Once a sensitive attribute with a list of values has a mechanism, and somebody"
                " is to receive it, this page shows what its small groups give away.",
            )
        ),
    )
    working: ClassVar[str]
    """What is being done, marked by ``QT_TRANSLATE_NOOP("Audit", …)``."""
    with_recipient: ClassVar[bool] = True
    needs_recipients: ClassVar[bool] = True
    """Whether there is nothing to ask before somebody is to receive the attribute."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        self.bar = QuestionBar(self.with_recipient)
        self._answered = False
        super().__init__(session, parent)
        self._above.insertWidget(0, self.bar)
        self.bar.changed.connect(self.ask)

    # ----- what a page adds

    @abstractmethod
    def question(self, subject: RiskSubject) -> Callable[[Context], Any]:
        """Return the work that answers the page's question about a subject."""

    @abstractmethod
    def show_answer(self, answer: Any) -> None:
        """Show what the work returned."""

    @abstractmethod
    def clear_answer(self) -> None:
        """Show that there is no answer."""

    def problem(self, subject: RiskSubject) -> str:
        """Return why a subject can't be asked about yet; empty where it can."""
        del subject
        return ""

    # ----- what there is

    def state(self) -> PanelState:
        """Return whether the present question is answered."""
        if self.subject() is None:
            return PanelState.EMPTY
        return PanelState.DONE if self._answered else PanelState.IN_PROGRESS

    def subject(self) -> RiskSubject | None:
        """Return what is asked about; None where there is nothing yet."""
        session, name = self.session, self.bar.attribute.value
        rows = session.all_rows()
        if rows is None or not isinstance(name, str):
            return None
        entry = session.document.entry_for(name)
        if entry is None or session.attribute(name) is None:
            return None
        if self.needs_recipients and not session.document.recipients:
            return None
        return RiskSubject(rows, entry, self.bar.knowledge.names)

    def refresh(self, _changed: object = None) -> None:
        """Offer what can be asked about, and ask."""
        document = self.session.document
        names = [name for entry in document.policy for name in entry.attributes]
        encoded = {name: self.session.attribute(name) for name in names}
        known = {name: one.attribute for name, one in encoded.items() if one is not None}
        self.bar.offer(document, grouped_entries(document, known))
        self.show_work(self.subject() is not None)
        self.ask()

    def ask(self) -> None:
        """Start the job that answers the present question; a hidden page waits."""
        self._answered = False
        subject = self.subject()
        if subject is None or not self.isVisible():
            self.session.runner.cancel(self.job)
            self.state_changed.emit()
            return
        problem = self.problem(subject)
        if problem:
            self.session.runner.cancel(self.job)
            self.clear_answer()
            self.say(problem)
        else:
            words = self.translated(self.working)
            self.say(words + "…")
            self.session.runner.run(
                words, self.question(subject), self._show, self._fail, key=self.job
            )
        self.state_changed.emit()

    def _show(self, answer: Any) -> None:
        self._answered = True
        self.show_answer(answer)
        self.state_changed.emit()

    def _fail(self, error: SfumatoError) -> None:
        self.clear_answer()
        self.refuse(error)
