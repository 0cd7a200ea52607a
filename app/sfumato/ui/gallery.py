"""Pictures of the window: every panel in its states, drawn without a screen."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import QBuffer, QCoreApplication, QIODevice
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QDialog

from sfumato.engine.table.table import Table
from sfumato.formats.files import write_whole
from sfumato.project.project_file import ProjectFile
from sfumato.ui.look.theme import Appearance, themes
from sfumato.ui.panels import all_panels
from sfumato.ui.scenes import Stage, scenes_of, take_down
from sfumato.ui.shell.application import make_application
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.shell.paint_queue import turns
from sfumato.ui.widgets.plot_view import PlotView

LOOKS: Final = (Appearance.LIGHT, Appearance.DARK)
USUAL_SIZE: Final = (1366, 768)


def save_gallery(
    folder: Path,
    looks: Sequence[Appearance] = LOOKS,
    only: Sequence[str] = (),
    size: tuple[int, int] = USUAL_SIZE,
) -> Iterator[Path]:
    """Draw every panel in every of its states, and tell each picture as it is made.

    Parameters
    ----------
    folder
        Where the pictures go, as ``<look>-<place>-<panel>-<scene>.png``.
    looks
        The appearances to draw.
    only
        Names of panels, or ``panel-scene``; all when empty.
    size
        The window's width and height.
    """
    make_application(["sfumato"])
    folder.mkdir(parents=True, exist_ok=True)
    before = themes().appearance
    try:
        for panel in all_panels():
            for scene in scenes_of(panel.name):
                if only and not {panel.name, f"{panel.name}-{scene.name}"} & set(only):
                    continue
                with tempfile.TemporaryDirectory(prefix="sfumato-gallery-") as kept:
                    home = Path(kept) / "Clinic"
                    home.mkdir()
                    stage = Stage(home, size)
                    try:
                        stage.panel(panel.name)
                        scene.arrange(stage)
                        name = f"{panel.order}-{panel.name}-{scene.name}"
                        yield from _in_each_look(stage.window, folder, name, looks)
                    finally:
                        stage.close()
    finally:
        themes().set_appearance(before)


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
    stage = Stage(folder)
    pictures: list[Path] = []
    try:
        stage.session.set_project(project)
        stage.session.attach_table(table)
        stage.settle()
        for look in LOOKS:  # a switch looks at every widget anew, so there are only two
            for panel in all_panels():
                stage.panel(panel.name)
                stage.settle()
                name = f"{panel.order}-{panel.name}"
                pictures += _in_each_look(stage.window, folder, name, (look,))
    finally:
        take_down(stage.window)
        themes().set_appearance(before)
    return tuple(pictures)


def _in_each_look(
    window: MainWindow, folder: Path, name: str, looks: Sequence[Appearance]
) -> Iterator[Path]:
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
