"""Files dropped on the window: a table, a project or a rules file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from sfumato.formats.bundles.found import bundle_at
from sfumato.ui.look.theme import Space, TextSize, current_theme, font


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
        self._text = ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    @property
    def text(self) -> str:
        """What is said."""
        return self._text

    def show_text(self, text: str) -> None:
        """Cover the window with a text."""
        self._text = text
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
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = QColor(theme.style.background)
        veil.setAlphaF(0.86)
        painter.fillRect(self.rect(), veil)
        painter.setPen(QPen(QColor(theme.style.accent), 2, Qt.PenStyle.DashLine))
        edge = self.rect().adjusted(Space.AROUND, Space.AROUND, -Space.AROUND, -Space.AROUND)
        painter.drawRoundedRect(edge, Space.RADIUS * 2, Space.RADIUS * 2)
        painter.setPen(QColor(theme.style.text))
        painter.setFont(font(TextSize.HEADING, strong=True))
        painter.drawText(edge, Qt.AlignmentFlag.AlignCenter, self._text)
