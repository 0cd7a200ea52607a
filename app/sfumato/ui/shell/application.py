"""Starting the window, catching what nobody expected, and drawing the window without a screen."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from PySide6.QtCore import (
    QBuffer,
    QCoreApplication,
    QElapsedTimer,
    QEvent,
    QEventLoop,
    QIODevice,
    QSettings,
    Qt,
    QTimer,
)
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QDialog

from sfumato import __version__
from sfumato.engine.table.table import Table
from sfumato.formats.files import write_whole
from sfumato.jobs import BugReport
from sfumato.project.project_file import ProjectFile
from sfumato.resources import resource_path
from sfumato.ui.look.theme import Appearance, themes
from sfumato.ui.panels import all_panels
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import MemoryStore, TextScale, chosen, speak
from sfumato.ui.widgets.paint_queue import turns
from sfumato.ui.widgets.painted import tell_roles
from sfumato.ui.widgets.plot_view import PlotView


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


class _BugCatcher:
    """Shows what failed on the main thread; a second failure while showing is printed."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._showing = False

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


def run_window(project_path: Path | None = None) -> int:
    """Show the window until it is closed.

    Parameters
    ----------
    project_path
        A project to open at once.

    Returns
    -------
    int
        The exit code.
    """
    application = make_application(sys.argv[:1])
    store = QSettings()
    speak(application, chosen(store))
    themes().set_scale(TextScale(store).percent / 100)
    window = MainWindow(Session(store=store))
    spare_what_is_loaded()
    window.panels.all_built.connect(spare_what_is_loaded)
    before, sys.excepthook = sys.excepthook, _BugCatcher(window)
    try:
        window.show()
        window.unsaved.offer()
        if project_path is not None:
            window.projects.open(project_path)
        return int(application.exec())
    finally:
        sys.excepthook = before
        window.session.close()
        window.unsaved.close()


LOOKS: Final = (Appearance.LIGHT, Appearance.DARK)
USUAL_SIZE: Final = (1366, 768)
PATIENCE_MILLISECONDS: Final = 60_000


def save_pictures(project: ProjectFile, table: Table, folder: Path) -> tuple[Path, ...]:
    """Draw every panel of an open project, light and dark.

    Parameters
    ----------
    project
        Stays open.
    table
        Its source table.
    folder
        Where the pictures go.

    Returns
    -------
    tuple of Path
        The pictures.
    """
    make_application(["sfumato"])
    folder.mkdir(parents=True, exist_ok=True)
    before = themes().appearance
    window = MainWindow(Session(store=MemoryStore()))
    window.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
    window.resize(*USUAL_SIZE)
    window.show()
    pictures: list[Path] = []
    try:
        window.session.set_project(project)
        window.session.attach_table(table)
        settle(window.session)
        for look in LOOKS:  # a switch looks at every widget anew, so there are only two
            for panel in all_panels():
                window.show_panel(panel.name)
                settle(window.session)
                pictures += draw(window, folder, f"{panel.order}-{panel.name}", (look,))
    finally:
        take_down(window)
        themes().set_appearance(before)
    return tuple(pictures)


def settle(session: Session) -> None:
    """Let every running job end and its result be shown."""
    clock = QElapsedTimer()
    clock.start()
    for _ in range(3):
        QCoreApplication.processEvents()
    wake = QTimer()  # else nothing might end the wait; a wait with a limit would not wait at all
    wake.start(20)
    while session.runner.jobs and clock.elapsed() < PATIENCE_MILLISECONDS:
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    wake.stop()
    for _ in range(3):
        QCoreApplication.processEvents()


def take_down(window: MainWindow) -> None:
    """Remove a window without the questions that a person who leaves is asked."""
    window.session.runner.shutdown()
    window.hide()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def draw(
    window: MainWindow, folder: Path, name: str, looks: Sequence[Appearance]
) -> Iterator[Path]:
    """Draw the window as it stands in each of the looks, as ``<look>-<name>.png``."""
    for look in looks:
        themes().set_appearance(look)
        for _ in range(12):  # layouts settle from the inside out
            QCoreApplication.processEvents()
        for _ in range(2):  # a plot that is drawn may take another height
            turns().finish()
            for view in window.findChildren(PlotView):
                view.draw_now()
            for _ in range(4):
                QCoreApplication.processEvents()
        path = folder / f"{look.value}-{name}.png"
        picture = window.grab()
        _draw_dialogs(window, picture)
        content = QBuffer()
        content.open(QIODevice.OpenModeFlag.WriteOnly)
        picture.save(content, "PNG")
        write_whole(path, bytes(content.data().data()))
        yield path


def _draw_dialogs(window: MainWindow, picture: QPixmap) -> None:
    """Draw the dialogs that are open in front of a window, which are windows of their own."""
    for dialog in window.findChildren(QDialog):
        if dialog.isVisible():
            painter = QPainter(picture)
            painter.fillRect(window.rect(), QColor(0, 0, 0, 90))
            left = (window.width() - dialog.width()) // 2
            painter.drawPixmap(left, (window.height() - dialog.height()) // 2, dialog.grab())
            painter.end()
