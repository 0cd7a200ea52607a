"""What the window tells a person: one kind of message, one place to show it, and how it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from enum import StrEnum
from typing import Final

from PySide6.QtCore import (
    QCoreApplication,
    QEasingCurve,
    QEvent,
    QObject,
    QPoint,
    QPropertyAnimation,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QCursor,
    QGuiApplication,
    QShowEvent,
)
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QVBoxLayout, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.ui.look.theme import Space, themes
from sfumato.ui.look.wording import spoken
from sfumato.ui.widgets.layout import beside, button, column, tool
from sfumato.ui.widgets.paint_queue import delayed
from sfumato.ui.widgets.painted import IconLabel
from sfumato.ui.widgets.responsive import FlowLayout

_ANY_HEIGHT: Final = 16_777_215
"""Qt's largest height of a widget."""


LASTING: Final = 12_000
"""How long a message stays in sight before it goes, in milliseconds: time to read it twice."""
QUIET: Final = 1_000
"""How long the pointer has to rest before something folds, in milliseconds."""
FOLDING: Final = 250
"""How long the folding takes, in milliseconds."""


class Departure(QObject):
    """Lets a message go: at once when the person goes elsewhere, else after a while in sight.

    What stands around it takes its room slowly, and only while the pointer rests away from it and
    no button is pressed: nobody clicks beside what they were about to click.

    Parameters
    ----------
    view
        The message; the departure belongs to it.
    folding
        Returns what becomes lower and lower: the message, or all that goes with it.
    """

    gone = Signal()
    """It can be removed: nothing moves any more."""

    def __init__(self, view: QWidget, folding: Callable[[], QWidget]) -> None:
        super().__init__(view)
        self._view, self._folding = view, folding
        self._seen = False
        self._pointer: QPoint | None = None
        self.timer = delayed(self, self._try_to_go, LASTING)
        self._animation: QPropertyAnimation | None = None
        view.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Count the time in sight, and notice when the person goes elsewhere."""
        if watched is self._view and event.type() == QEvent.Type.Show:
            self._seen = True
            self.timer.start(LASTING)
        elif watched is self._view and event.type() == QEvent.Type.Hide:
            self.timer.stop()
            if self._seen and not event.spontaneous():
                # Not from inside the event: others are still being hidden.
                QTimer.singleShot(0, self, self.gone.emit)
        return super().eventFilter(watched, event)

    def _try_to_go(self) -> None:
        pointer, focus = QCursor.pos(), QApplication.focusWidget()
        resting = pointer == self._pointer
        self._pointer = pointer
        held = focus is not None and self._view.isAncestorOf(focus)
        pressed = QGuiApplication.mouseButtons() != QGuiApplication.mouseButtons().NoButton
        if not resting or held or pressed or self._view.underMouse():
            self.timer.start(QUIET)
            return
        self._fold()

    def _fold(self) -> None:
        if themes().still:
            self.gone.emit()
            return
        folding = self._folding()
        animation = QPropertyAnimation(folding, b"maximumHeight", self)
        animation.setDuration(FOLDING)
        animation.setEasingCurve(QEasingCurve.Type.InOutQuad)
        animation.setStartValue(folding.height())
        animation.setEndValue(0)
        animation.finished.connect(self.gone)
        self._animation = animation
        animation.start()


class MessageKind(StrEnum):
    """How a message is meant; each has an icon and a word beside its colour."""

    GOOD = "good"
    INFO = "info"
    CAUTION = "caution"
    DANGER = "danger"

    @property
    def token(self) -> str:
        """The colour of its icon, a token of the theme."""
        return "accent" if self is MessageKind.INFO else self.value


@dataclass(frozen=True)
class Action:
    """Something a message offers to do; `undoes` where it takes back what was edited last."""

    text: str
    run: Callable[[], object]
    undoes: bool = False


@dataclass(frozen=True)
class Message:
    """What happened, and what can be done about it.

    Parameters
    ----------
    kind
        How it is meant.
    text
        What happened, and where.
    remedy
        What to do; may be empty.
    actions
        What the window can do about it.
    topic
        A later message on the same topic takes this one's place.
    stays
        Whether good news stays until it is dismissed, since what it offers is at hand nowhere else.
    """

    kind: MessageKind
    text: str
    remedy: str = ""
    actions: tuple[Action, ...] = field(default=(), compare=False)
    topic: str = ""
    stays: bool = False

    @classmethod
    def of_error(cls, error: SfumatoError | OSError, *actions: Action, topic: str = "") -> Message:
        """Make a message of an expected error, translated before it is filled in."""
        if isinstance(error, OSError):
            text = QCoreApplication.translate("Errors", "The system refused a file: {reason}.")
            remedy = QCoreApplication.translate(
                "Errors", "Check that the disk has room and that you may write there."
            )
            return cls(
                MessageKind.DANGER, text.format(reason=error.strerror), remedy, actions, topic
            )
        return cls(MessageKind.DANGER, *error_texts(error), actions, topic)


def error_texts(error: SfumatoError) -> tuple[str, str]:
    """Return what happened and what to do, in the person's language."""
    what, remedy = error.what_template, error.remedy_template
    return spoken(what, **error.details), spoken(remedy, **error.details)


def error_words(error: SfumatoError) -> str:
    """Return what happened and what to do, one after the other."""
    return " ".join(error_texts(error)).strip()


def announce(about: QWidget, text: str, *, urgent: bool = False) -> None:
    """Let a screen reader say a text: at the next pause or, where it is urgent, at once.

    Parameters
    ----------
    about
        The widget in sight that shows it.
    text
        What is said.
    urgent
        Whether it may interrupt what is being said.
    """
    event = QAccessibleAnnouncementEvent(about, text)
    ways = QAccessible.AnnouncementPoliteness
    event.setPoliteness(ways.Assertive if urgent else ways.Polite)
    QAccessible.updateAccessibility(event)


class MessageView(QFrame):
    """One message with its icon, its actions and a way to dismiss it.

    It is announced when it comes into sight.
    """

    dismissed = Signal()

    def __init__(self, message: Message, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.message = message
        self._announced = False
        self.setProperty("look", "message")
        self.setProperty("kind", message.kind.value)
        icon = IconLabel(message.kind.value, message.kind.token, 20)
        texts = self._texts(message)
        line = beside(icon, texts, spacing=12)
        line.setContentsMargins(12, 8, 4, 8)
        self.setLayout(line)
        made = [button(action.text, action.run) for action in message.actions]
        for each in made:
            each.clicked.connect(self.dismissed)
        if len(made) > 1:  # beside each other they would leave the text no room
            texts.addSpacing(Space.TIGHT)
            texts.addLayout(FlowLayout(*made))
        elif made:
            line.addWidget(made[0], 0, Qt.AlignmentFlag.AlignVCenter)
        close = tool("close", self.tr("Dismiss"), self.dismissed.emit)
        close.setAccessibleName(self.tr("Dismiss this message"))
        line.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)

    def showEvent(self, event: QShowEvent) -> None:
        """Announce the message, once."""
        super().showEvent(event)
        if not self._announced:
            self._announced = True
            urgent = self.message.kind is MessageKind.DANGER
            announce(self, self.accessibleName(), urgent=urgent)

    def _texts(self, message: Message) -> QVBoxLayout:
        texts = column(spacing=2)
        for text, look in ((message.text, "strong"), (message.remedy, "")):
            if text:
                label = QLabel(text, self)
                label.setTextFormat(Qt.TextFormat.PlainText)
                label.setWordWrap(True)
                label.setProperty("look", look)
                label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
                texts.addWidget(label)
        told = f"{self._word(message.kind)}: {message.text} {message.remedy}"
        self.setAccessibleName(told.strip())
        return texts

    def _word(self, kind: MessageKind) -> str:
        return {
            MessageKind.GOOD: self.tr("Done"),
            MessageKind.INFO: self.tr("Note"),
            MessageKind.CAUTION: self.tr("Caution"),
            MessageKind.DANGER: self.tr("Problem"),
        }[kind]


class MessageBar(QWidget):
    """Where a panel shows its messages, the newest first; takes no room when it is empty.

    In a panel it stands below the work, so that a message makes the work lower and moves none of
    it from under the pointer. Good news go by themselves once they were seen; everything else
    stays until it is dismissed or something later takes its place.

    Parameters
    ----------
    gap
        The room above the messages, which goes with them.
    """

    SHOWN = 3

    def __init__(self, parent: QWidget | None = None, gap: int = 0) -> None:
        super().__init__(parent)
        self._layout = column(margins=(0, gap, 0, 0))
        self.setLayout(self._layout)
        self._views: list[MessageView] = []
        self.hide()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages in sight, newest first."""
        return tuple(view.message for view in self._views)

    def show_message(self, message: Message) -> None:
        """Show a message in the place of an older one on the same topic."""
        for view in list(self._views):
            same_topic = message.topic and view.message.topic == message.topic
            if same_topic or view.message == message:
                self._remove(view)
        view = MessageView(message, self)
        view.dismissed.connect(lambda: self._remove(view))
        if message.kind is MessageKind.GOOD and not message.stays:
            # The last message takes the room above it along.
            departure = Departure(view, lambda: self if len(self._views) == 1 else view)
            departure.gone.connect(lambda: self._remove(view))
        self.setMaximumHeight(_ANY_HEIGHT)  # another one may be folding away
        self._views.insert(0, view)
        self._layout.insertWidget(0, view)
        for old in self._views[self.SHOWN :]:
            self._remove(old)
        self.show()

    def forget_undo(self) -> None:
        """Remove the messages that offer to undo an edit which is not the last one any more."""
        for view in list(self._views):
            if any(action.undoes for action in view.message.actions):
                self._remove(view)

    def clear(self, topic: str | None = None) -> None:
        """Remove every message, or those on one topic."""
        for view in list(self._views):
            if topic is None or view.message.topic == topic:
                self._remove(view)

    def _remove(self, view: MessageView) -> None:
        if view not in self._views:
            return
        self._views.remove(view)
        self._layout.removeWidget(view)
        view.hide()
        view.deleteLater()
        self.setVisible(bool(self._views))
        self.setMaximumHeight(_ANY_HEIGHT)
