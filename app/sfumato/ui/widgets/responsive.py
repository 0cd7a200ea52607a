"""Widgets side by side where there is room, below one another where there is not."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QWidget

from sfumato.ui.look.theme import Space


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


class ResponsiveGrid(QWidget):
    """Equal widgets in one line, or in lines of `few` where it is narrow.

    Parameters
    ----------
    wide
        From this width on, all stand in one line; pixels.
    few
        How many stand in a line where it is narrower.
    """

    def __init__(self, wide: int, few: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._wide, self._few = wide, few
        self._widgets: list[QWidget] = []
        self._in_one_line = False
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(Space.INSIDE)

    def add(self, widget: QWidget) -> None:
        """Put a widget at the end."""
        self._widgets.append(widget)
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put all in one line, or in several."""
        super().resizeEvent(event)
        if (self.width() >= self._wide) != self._in_one_line:
            self._in_one_line = not self._in_one_line
            self._arrange()

    def minimumSizeHint(self) -> QSize:
        """Ask for no more width than short lines need: then there can be several."""
        widths = [widget.minimumSizeHint().width() for widget in self._widgets]
        width = max(widths, default=0) * self._few + Space.INSIDE * (self._few - 1)
        return QSize(width, super().minimumSizeHint().height())

    def _arrange(self) -> None:
        columns = len(self._widgets) if self._in_one_line else self._few
        for position, widget in enumerate(self._widgets):
            self._grid.addWidget(widget, *divmod(position, columns))
        for column in range(len(self._widgets)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
