"""Pictures of the window, drawn without a screen."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import (
    QBuffer,
    QCoreApplication,
    QElapsedTimer,
    QEvent,
    QEventLoop,
    QIODevice,
    Qt,
    QTimer,
)
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QDialog

from sfumato.formats.files import write_whole
from sfumato.jobs import Job
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.ui.look.theme import Appearance, themes
from sfumato.ui.panels import all_panels
from sfumato.ui.shell.application import make_application
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import MemoryStore
from sfumato.ui.widgets.paint_queue import turns
from sfumato.ui.widgets.plot_view import PlotView

LOOKS: Final = (Appearance.LIGHT, Appearance.DARK)
USUAL_SIZE: Final = (1366, 768)
PATIENCE_MILLISECONDS: Final = 300_000
"""A machine that is busy with other work takes several times as long as usual."""


def save_pictures(project: ProjectFile, table: BatchedTable, folder: Path) -> tuple[Path, ...]:
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
        window.session.attach_table(SurveyedTable.of(table))
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


def settle(session: Session, held: Collection[Job] = ()) -> None:
    """Let every running job end and its result be shown, but of those that are held.

    Raises
    ------
    TimeoutError
        If a job has not ended within `PATIENCE_MILLISECONDS`: what would be drawn is half done.
    """
    clock = QElapsedTimer()
    clock.start()
    for _ in range(3):
        QCoreApplication.processEvents()
    wake = QTimer()  # else nothing might end the wait; a wait with a limit would not wait at all
    wake.start(20)
    while running := set(session.runner.jobs).difference(held):
        if clock.elapsed() > PATIENCE_MILLISECONDS:
            raise TimeoutError(f"still running: {', '.join(job.title for job in running)}")
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
