"""Keeps the keyboard somewhere sensible in the window, whatever is hidden, disabled or closed."""

from __future__ import annotations

from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from sfumato.jobs.runner import JobRunner


class FocusKeeper(QObject):
    """Gives the focus back where work took it away, and finds a place where it is nowhere.

    Qt moves the focus on from a button that is disabled while its work is done; once the work has
    ended, whoever pressed it and has not moved finds it where it was.

    Parameters
    ----------
    window
        Whose focus is kept.
    runner
        Whose jobs take it away for a while.
    begin
        Gives the focus to where the work in sight begins.
    """

    def __init__(self, window: QMainWindow, runner: JobRunner, begin: Callable[[], object]) -> None:
        super().__init__(window)
        self._window, self._begin = window, begin
        self._lent: tuple[QWidget, QWidget] | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._settle)
        runner.job_finished.connect(lambda _job: self._soon.start())
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._take_notice)

    def _take_notice(self, before: QWidget | None, now: QWidget | None) -> None:
        """Remember what lost the focus because it was disabled; look for one that is lost."""
        if not shiboken6.isValid(self._window):
            return  # the focus leaves the window with its last widget
        if now is None:
            if self._window.isActiveWindow():
                self._soon.start()
            return
        if before is not None and before.window() is self._window and not before.isEnabled():
            self._lent = (before, now)
        elif self._lent is not None and now is not self._lent[1] and self._window.isActiveWindow():
            self._lent = None

    def _settle(self) -> None:
        if self._lent is not None:
            before, now = self._lent
            if not shiboken6.isValid(before):
                self._lent = None
            elif before.isEnabled() and before.isVisible():
                self._lent = None
                at = self._window.focusWidget()
                if at is None or (shiboken6.isValid(now) and at is now):
                    before.setFocus(Qt.FocusReason.OtherFocusReason)
        focused = self._window.focusWidget()
        if self._window.isActiveWindow() and (focused is None or not focused.isVisible()):
            self._begin()
