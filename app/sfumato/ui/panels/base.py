"""What every panel has: a title, one sentence, its work, one primary button and messages."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget
from shiboken6 import isValid

from sfumato.analysis.steps import Step, StepState
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import column, fill, label
from sfumato.ui.widgets.messages import Action, Message, MessageBar, MessageKind
from sfumato.ui.widgets.paint_queue import Steps
from sfumato.ui.widgets.painted import put_icon
from sfumato.ui.widgets.responsive import BAND, FlowLayout, RoomyScrollArea

TITLE_ROOM: Final = 360
"""Where less is left beside the controls, these stand below the title; pixels at scale 1."""

PanelState = StepState
"""How far a step of the work is; the rail shows it as an icon and a word."""


@dataclass(frozen=True)
class PanelKind:
    """What the window knows of a panel before there is one: building it takes a while.

    Parameters
    ----------
    name
        Its identifier, unique among the panels, and its package's name.
    order
        Its place in the work, from 1.
    title
        Marked by ``QT_TRANSLATE_NOOP("Panel", …)``.
    purpose
        One sentence, marked likewise.
    icon
        The name of a drawing in ``resources/icons``.
    built_by
        The class in the package's module ``panel``: a subclass of `Panel`.
    """

    name: str
    order: int
    title: str
    purpose: str
    icon: str
    built_by: str

    def __call__(
        self, session: Session, parent: QWidget | None = None, *, at_once: bool = True
    ) -> Panel:
        """Build the panel, or begin to; only now is its code imported."""
        module = importlib.import_module(f"{__package__}.{self.name}.panel")
        made = getattr(module, self.built_by)(session, parent, at_once=at_once)
        assert isinstance(made, Panel)
        return made

    def translated_title(self) -> str:
        """Return the title in the person's language."""
        return QCoreApplication.translate("Panel", self.title)

    def translated_purpose(self) -> str:
        """Return the sentence in the person's language."""
        return QCoreApplication.translate("Panel", self.purpose)


def catch_up(refresh: Callable[[], object]) -> None:
    """Refresh what has come into sight; what fails is reported, and goes no further.

    Qt calls other handlers while it shows widgets. An exception that it carries from one of them
    into the next ends the process with a segmentation fault (PySide 6.11).
    """
    try:
        refresh()
    except Exception:
        sys.excepthook(*sys.exc_info())


class LazyWidget(QWidget):
    """Built in steps; shows what has changed only while somebody looks: else an edit is free.

    Subclasses build what they show in `assemble`.

    Parameters
    ----------
    parent
        The owner.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._waiting: list[Callable[[], object]] = []
        self.steps: Steps = self.assemble()

    def assemble(self) -> Steps:
        """Build what is shown; yield where the window may answer before it goes on.

        What is moved to another owner is styled anew with all that stands on it: put each part into
        its place while it is empty.
        """
        yield from ()

    def complete(self) -> None:
        """Take the steps that are left."""
        for _ in self.steps:
            pass

    def in_sight(self, refresh: Callable[[], object]) -> Callable[..., None]:
        """Return what refreshes at once where somebody looks, else once somebody does."""

        def soon(*_changed: object) -> None:
            if not isValid(self):
                return  # its window has given way to one in another language
            if self.isVisible():
                refresh()
            elif refresh not in self._waiting:
                self._waiting.append(refresh)

        return soon

    def follow_state(self, session: Session, refresh: Callable[[], object]) -> None:
        """Refresh as `in_sight` does when table or document change, once where both do at once."""
        soon = self.in_sight(refresh)

        def table_changed() -> None:
            if not session.document_follows:
                soon()

        session.table_changed.connect(table_changed)
        session.document_changed.connect(soon)

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what has changed while nobody looked."""
        super().showEvent(event)
        waiting, self._waiting = self._waiting, []
        for refresh in waiting:
            catch_up(refresh)


class Panel(LazyWidget):
    """One step of the work.

    A panel reads the session, starts jobs, and asks the session to edit. It never calls another
    panel. Subclasses fill `body` in `assemble`.

    Parameters
    ----------
    session
        What is open.
    parent
        The owner.
    at_once
        Whether it is built whole; else whoever builds it takes its `steps`.
    """

    kind: ClassVar[PanelKind]
    """What is known of it before it is built; its package's ``PANEL``."""

    state_changed = Signal()

    def __init__(
        self, session: Session, parent: QWidget | None = None, *, at_once: bool = True
    ) -> None:
        super().__init__(parent)
        self.session = session
        self.setObjectName(f"panel-{self.name}")
        self.setProperty("look", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.messages = MessageBar(self, gap=Space.BETWEEN)
        session.document_changed.connect(self.messages.forget_undo)
        self.primary: QPushButton | None = None
        self._head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head.setSpacing(Space.INSIDE)
        self._controls = FlowLayout(right=True)
        self.body = column(spacing=Space.BETWEEN)
        work = column(
            self._build_head(),
            (self.body, 1),
            spacing=Space.BETWEEN,
            margins=(Space.AROUND, Space.AROUND, Space.AROUND, 0),
        )
        page = column((RoomyScrollArea(work, self), 1), spacing=0, margins=(0, 0, 0, Space.BETWEEN))
        self.setLayout(page)
        # Below the work, beside the jobs that they mostly tell of: nothing above it is moved.
        below = QVBoxLayout()
        below.setContentsMargins(Space.AROUND, 0, Space.AROUND, 0)
        below.addWidget(self.messages)
        page.addLayout(below)
        if at_once:
            self.complete()

    @property
    def name(self) -> str:
        """Its identifier."""
        return self.kind.name

    def state(self) -> PanelState:
        """Return how far this step is."""
        return self.step().state

    def step(self) -> Step:
        """Return how far this step is, and why; emit `state_changed` where that may be another.

        The session's steps say so themselves.
        """
        return self.session.steps.of(self.name)

    def activate(self) -> None:
        """Take notice of having come into sight; expensive updates can wait until here."""

    def go_to(self, name: str, recipient: str) -> None:
        """Choose a column or attribute by its name, and a recipient, where the panel shows them."""

    def show_changed(self, name: str, recipient: str) -> None:
        """Choose what undo or redo changed, where the panel shows it; the focus stays."""

    def take_file(self, path: Path) -> None:
        """Work on a file that was dropped on the window; most panels are brought none."""

    def set_primary(self, text: str, icon: str = "") -> QPushButton:
        """Return the one primary button, at the right of the title."""
        if self.primary is None:
            self.primary = QPushButton(self)
            self.primary.setProperty("look", "primary")
            policy = self.primary.sizePolicy()
            policy.setRetainSizeWhenHidden(True)  # what stands beside it keeps its place
            self.primary.setSizePolicy(policy)
            self.add_to_head(self.primary)
        self.primary.setText(text)
        if icon:
            put_icon(self.primary, icon, "on_accent")
        return self.primary

    def add_to_head(self, widget: QWidget) -> None:
        """Put a secondary control at the right of the title."""
        place = self._controls.count()
        if self.primary is not None and widget is not self.primary:
            place = self._controls.indexOf(self.primary)
        self._controls.insert(place, widget)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the controls below the title where they would leave it too little room."""
        super().resizeEvent(event)
        self.place_controls()

    def place_controls(self) -> None:
        """Place the controls by the room they need; again where others of them are in sight."""
        left = self.width() - 2 * Space.AROUND - self._controls.sizeHint().width()
        directions = QBoxLayout.Direction
        apart = self._head.direction() == directions.TopToBottom
        beside = left >= scaled(TITLE_ROOM) + (scaled(BAND) if apart else 0)
        self._head.setDirection(directions.LeftToRight if beside else directions.TopToBottom)

    def show_error(self, error: SfumatoError, *actions: Action, topic: str = "") -> None:
        """Show an expected error, with what can be done about it."""
        self.messages.show_message(Message.of_error(error, *actions, topic=topic))

    def tell(
        self, kind: MessageKind, text: str, remedy: str = "", *actions: Action, topic: str = ""
    ) -> None:
        """Show a message in this panel."""
        self.messages.show_message(Message(kind, text, remedy, actions, topic))

    def _build_head(self) -> QBoxLayout:
        title = label(self.kind.translated_title(), "title")
        purpose = QLabel(self.kind.translated_purpose(), self)
        purpose.setProperty("look", "muted")
        purpose.setWordWrap(True)
        purpose.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        texts = column(title, purpose, spacing=Space.TIGHT)
        fill(self._head, (texts, 1), self._controls)
        return self._head
