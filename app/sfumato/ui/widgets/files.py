"""Files that are chosen in the platform's dialogs, or dropped on the window."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QCoreApplication, QMimeData, Qt
from PySide6.QtGui import QColor, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QWidget

from sfumato.formats.bundles.packages import bundle_at
from sfumato.formats.reading import readable_extensions
from sfumato.ui.look.theme import Space, TextSize, current_theme, font
from sfumato.ui.widgets.painted import painter_on


class FileChooser(Protocol):
    """Asks for a file or a folder; None when the person thought better of it."""

    def open_file(self, title: str, filters: str, folder: Path | None = None) -> Path | None:
        """Ask for a file that is there."""

    def save_file(self, title: str, filters: str, proposal: Path) -> Path | None:
        """Ask for the name of a file to be written."""

    def folder(self, title: str, folder: Path | None = None) -> Path | None:
        """Ask for a folder."""


class PlatformChooser:
    """The platform's file dialogs, in front of the active window."""

    def open_file(self, title: str, filters: str, folder: Path | None = None) -> Path | None:
        """Ask for a file that is there."""
        chosen, _ = QFileDialog.getOpenFileName(
            QApplication.activeWindow(), title, str(folder or ""), filters
        )
        return Path(chosen) if chosen else None

    def save_file(self, title: str, filters: str, proposal: Path) -> Path | None:
        """Ask for the name of a file to be written."""
        chosen, _ = QFileDialog.getSaveFileName(
            QApplication.activeWindow(), title, str(proposal), filters
        )
        return Path(chosen) if chosen else None

    def folder(self, title: str, folder: Path | None = None) -> Path | None:
        """Ask for a folder."""
        chosen = QFileDialog.getExistingDirectory(
            QApplication.activeWindow(), title, str(folder or "")
        )
        return Path(chosen) if chosen else None


def name_folder(chooser: FileChooser, field: QLineEdit, title: str) -> None:
    """Let a field name a folder that is asked for, beginning at the one that it names."""
    before = field.text().strip()
    folder = chooser.folder(title, Path(before).expanduser() if before else None)
    if folder is not None:
        field.setText(str(folder))


def table_filters() -> str:
    """Return the file dialog's filters for all formats that can be read."""
    tr = QCoreApplication.translate
    found = readable_extensions()
    every = " ".join(f"*{ending}" for endings in found.values() for ending in endings)
    each = [
        f"{title} ({' '.join(f'*{ending}' for ending in endings)})"
        for title, endings in found.items()
    ]
    everything = tr("Files", "All files (*)")
    return ";;".join([tr("Files", "Tables ({endings})").format(endings=every), *each, everything])


def is_table(path: Path) -> bool:
    """Whether a file's name ends as those of tables do."""
    every = [ending for endings in readable_extensions().values() for ending in endings]
    return path.name.lower().endswith(tuple(every))


def dropped_file(mime: QMimeData) -> Path | None:
    """Return the one local file or bundle's folder that is being dropped; else None."""
    files = [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()]
    if len(files) != 1:
        return None
    return files[0] if files[0].is_file() or bundle_at(files[0]) else None


class DropHint(QWidget):
    """Covers the window while a file is held over it, and says what letting go will do."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.text = ""
        """What is said."""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_text(self, text: str) -> None:
        """Cover the window with a text."""
        self.text = text
        window = self.parentWidget()
        if window is not None:
            self.setGeometry(window.rect())
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the cover."""
        del event
        theme = current_theme()
        painter = painter_on(self)
        veil = QColor(theme.style.background)
        veil.setAlphaF(0.86)
        painter.fillRect(self.rect(), veil)
        painter.setPen(QPen(QColor(theme.style.accent), 2, Qt.PenStyle.DashLine))
        edge = self.rect().adjusted(Space.AROUND, Space.AROUND, -Space.AROUND, -Space.AROUND)
        painter.drawRoundedRect(edge, Space.RADIUS * 2, Space.RADIUS * 2)
        painter.setPen(QColor(theme.style.text))
        painter.setFont(font(TextSize.HEADING, strong=True))
        painter.drawText(edge, Qt.AlignmentFlag.AlignCenter, self.text)
