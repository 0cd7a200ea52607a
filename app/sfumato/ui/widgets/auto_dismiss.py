"""How a message that needs no answer goes by itself, without anything jumping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import (
    QEasingCurve,
    QEvent,
    QObject,
    QPoint,
    QPropertyAnimation,
    QTimer,
    Signal,
)
from PySide6.QtGui import QCursor, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from sfumato.ui.look.theme import themes

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
        self.timer = QTimer(self)
        self.timer.setSingleShot(True)
        self.timer.setInterval(LASTING)
        self.timer.timeout.connect(self._try_to_go)
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
