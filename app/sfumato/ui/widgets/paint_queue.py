"""When the main thread does things: in turns, or after a pause.

Whatever takes a while there, such as drawing, leaves the window time to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from PySide6.QtCore import QCoreApplication, QObject, QTimer
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

Steps = Iterator[None]
"""Work that yields wherever the window may answer before it goes on."""

BREATH_MILLISECONDS: Final = 12
"""Between two turns the window answers whatever else has come up."""

_END: Final = object()


def delayed(owner: QObject, run: Callable[[], object], milliseconds: int = 0) -> QTimer:
    """Return a timer that calls a function once, so long after it was started last."""
    timer = QTimer(owner)
    timer.setSingleShot(True)
    timer.setInterval(milliseconds)
    timer.timeout.connect(run)
    return timer


class Turns(QObject):
    """Lets those who draw on the main thread take one step a turn, one after another.

    There is one for each application; `turns()` returns it. Who is in sight goes first, then who
    came first; each finishes before the next begins.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._waiting: dict[QWidget, Steps] = {}
        self._timer = delayed(self, self._take)

    def ask(self, who: QWidget, steps: Steps) -> None:
        """Take the steps, each in a turn of its own.

        Parameters
        ----------
        who
            Whose steps they are. Those it asked for before are dropped, its place is kept; once
            it is deleted, nothing more is done for it.
        steps
            The work. Where it raises, it ends.
        """
        self._waiting[who] = steps
        if not self._timer.isActive():
            self._timer.start(0)

    def leave(self, who: QWidget) -> None:
        """Drop the steps that are left."""
        self._waiting.pop(who, None)

    @property
    def busy(self) -> bool:
        """Whether anybody has steps left."""
        return bool(self._waiting)

    def waits(self, who: QWidget) -> bool:
        """Return whether there are steps left."""
        return who in self._waiting

    def finish(self) -> None:
        """Take every step that is left at once: for a picture of the window."""
        while self._waiting:
            self._take()

    def _take(self) -> None:
        for deleted in [who for who in self._waiting if not isValid(who)]:
            del self._waiting[deleted]
        if not self._waiting:
            return
        who = next((who for who in self._waiting if who.isVisible()), next(iter(self._waiting)))
        steps = self._waiting[who]
        more = False
        try:
            more = next(steps, _END) is not _END
        finally:
            if not more and self._waiting.get(who) is steps:
                del self._waiting[who]
            self._timer.start(BREATH_MILLISECONDS)


def turns() -> Turns:
    """Return the application's turns, made at the first call.

    Raises
    ------
    RuntimeError
        If there is no application yet.
    """
    application = QCoreApplication.instance()
    if application is None:
        raise RuntimeError("there is no QApplication")
    found = application.findChild(Turns)
    return found if found is not None else Turns(application)
