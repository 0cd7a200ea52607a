"""Widgets side by side where there is room, below one another where there is not."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from app.ui.theme import Space


class ResponsiveRow(QWidget):
    """A row that becomes a column when it is narrow.

    Parameters
    ----------
    wide
        From this width on, the widgets stand side by side; pixels.
    narrowest
        The least width it asks for.
    """

    def __init__(self, wide: int, narrowest: int = 340, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._wide, self._narrowest = wide, narrowest
        self._box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(Space.BETWEEN)

    def add(self, widget: QWidget, stretch: int = 1) -> None:
        """Put a widget at the end."""
        self._box.addWidget(widget, stretch)

    @property
    def side_by_side(self) -> bool:
        """Whether the widgets stand side by side."""
        return self._box.direction() == QBoxLayout.Direction.LeftToRight

    def minimumSizeHint(self) -> QSize:
        """Ask for no more width than a column needs: then it can become one."""
        return QSize(self._narrowest, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Turn the row into a column, or back."""
        super().resizeEvent(event)
        directions = QBoxLayout.Direction
        wide = self.width() >= self._wide
        wanted = directions.LeftToRight if wide else directions.TopToBottom
        if self._box.direction() != wanted:
            self._box.setDirection(wanted)
