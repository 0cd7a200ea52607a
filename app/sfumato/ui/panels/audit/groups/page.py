"""What the pages about small groups have in common: one question, one job, one answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from sfumato.analysis.small_groups import Subject
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.project.release.groups import public_names, usual_knowledge
from sfumato.ui.panels.audit.groups.question_bar import QuestionBar
from sfumato.ui.panels.audit.pages.base import AuditPage, Topic
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.session import Session


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
        self._stale = True
        super().__init__(session, parent)
        self._above.insertWidget(0, self.bar)
        self.bar.changed.connect(self.ask)

    # ----- what a page adds

    @abstractmethod
    def question(self, subject: Subject) -> Callable[[Context], Any]:
        """Return the work that answers the page's question about a subject."""

    @abstractmethod
    def show_answer(self, answer: Any) -> None:
        """Show what the work returned."""

    @abstractmethod
    def clear_answer(self) -> None:
        """Show that there is no answer."""

    def problem(self, subject: Subject) -> str:
        """Return why a subject can't be asked about yet; empty where it can."""
        del subject
        return ""

    # ----- what there is

    def state(self) -> PanelState:
        """Return whether the present question is answered."""
        if self.subject() is None:
            return PanelState.EMPTY
        return PanelState.DONE if self._answered else PanelState.IN_PROGRESS

    def subject(self) -> Subject | None:
        """Return what is asked about; None where there is nothing yet."""
        session = self.session
        name = self.bar.attribute.value
        if session.table is None or not isinstance(name, str):
            return None
        entry, column = session.document.entry_for(name), session.attribute(name)
        if entry is None or column is None:
            return None
        if self.needs_recipients and not session.document.recipients:
            return None
        knows = self.bar.knowledge.names
        folders = session.project_folders
        return Subject(session.document, session.table, entry, column, knows, folders)

    def _attributes(self) -> list[str]:
        """Return the attributes with a domain that are protected by themselves."""
        found = []
        for entry in self.session.document.policy:
            column = self.session.attribute(entry.attributes[0])
            single = len(entry.attributes) == 1
            if single and column is not None and column.attribute.domain is not None:
                found.append(entry.attributes[0])
        return found

    def showEvent(self, event: QShowEvent) -> None:
        """Answer the question, now that somebody looks."""
        super().showEvent(event)
        if self._stale:
            self.ask()

    def refresh(self, _changed: object = None) -> None:
        """Offer what can be asked about, and ask."""
        document = self.session.document
        self.bar.offer(
            self._attributes(),
            [recipient.name for recipient in document.recipients],
            public_names(document),
            usual_knowledge(document),
        )
        self.show_work(self.subject() is not None)
        self.ask()

    def ask(self) -> None:
        """Start the job that answers the present question; a hidden page waits."""
        self._answered = False
        self._stale = not self.isVisible()
        subject = self.subject()
        if subject is None or self._stale:
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
