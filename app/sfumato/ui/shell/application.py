"""Starting the window, and catching what nobody expected."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QObject, QSettings, Qt
from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QApplication

from sfumato import __version__
from sfumato.formats.language import asked_for
from sfumato.jobs import BugReport
from sfumato.resources import resource_path
from sfumato.ui.look.theme import themes
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import TextScale, chosen, speak
from sfumato.ui.widgets.painted import tell_roles


def make_application(arguments: Sequence[str] = ()) -> QApplication:
    """Return the application, named, with its look and its icon; it speaks English."""
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(
        Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
    )
    existing = QApplication.instance()
    application = existing if isinstance(existing, QApplication) else QApplication(list(arguments))
    application.setApplicationName("Sfumato")
    application.setApplicationDisplayName("Sfumato")
    application.setApplicationVersion(__version__)
    application.setOrganizationName("Sfumato")
    application.setDesktopFileName("sfumato")
    application.setWindowIcon(QIcon(str(resource_path("icons", "app.svg"))))
    themes()
    tell_roles()
    return application


class ShownWindow(QObject):
    """The window that is shown; in another language, another one takes its place.

    Parameters
    ----------
    session
        What is open; it stays while windows change.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session, self._wanted = session, False
        self.window = self._made()
        # Queued: what runs, and the menu that asked, have ended by then.
        queued = Qt.ConnectionType.QueuedConnection
        session.runner.job_finished.connect(self._renew, queued)

    def _made(self) -> MainWindow:
        window = MainWindow(self._session)
        queued = Qt.ConnectionType.QueuedConnection
        window.language_chosen.connect(self._want, queued)
        return window

    def _want(self) -> None:
        self._wanted = True
        self._renew()

    def _renew(self, _job: object = None) -> None:
        """Show a window in the language that is chosen by now, once no work runs."""
        application = QApplication.instance()
        if not self._wanted or self._session.runner.jobs or application is None:
            return
        self._wanted = False
        speak(application, chosen(self._session.store))
        before, self.window = self.window, self._made()
        self.window.take_place_of(before)


class _BugCatcher:
    """Shows what failed on the main thread; a second failure while showing is printed."""

    def __init__(self, shown: ShownWindow) -> None:
        self._shown = shown
        self._showing = False

    @property
    def _window(self) -> MainWindow:
        return self._shown.window

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._window.close()
            return
        report = BugReport.of(error.with_traceback(trace), self._window.windowTitle())
        sys.stderr.write(report.text + "\n")
        if not self._showing:
            self._showing = True
            try:
                self._window.show_bug(report)
            finally:
                self._showing = False


def spare_what_is_loaded() -> None:
    """Leave what is loaded by now out of every later search for garbage.

    Each search stops the window. Most of what it would look at are the libraries' own objects,
    which stay to the end.
    """
    gc.collect()
    gc.freeze()


def run_window(path: Path | None = None) -> int:
    """Show the window until it is closed.

    Parameters
    ----------
    path
        A project or a table to open at once.

    Returns
    -------
    int
        The exit code.
    """
    application = make_application(sys.argv[:1])
    store = QSettings()
    speak(application, asked_for() or chosen(store))
    themes().set_scale(TextScale(store).percent / 100)
    session = Session(store=store)
    shown = ShownWindow(session)
    window = shown.window
    spare_what_is_loaded()
    window.panels.all_built.connect(spare_what_is_loaded)
    before, sys.excepthook = sys.excepthook, _BugCatcher(shown)
    try:
        window.show()
        window.unsaved.offer()
        if path is not None:
            window.open_file(path)
        return int(application.exec())
    finally:
        sys.excepthook = before
        session.close()
        shown.window.unsaved.close()
