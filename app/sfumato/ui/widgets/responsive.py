"""Widgets side by side where there is room, below one another or scrolled where there is not."""

from __future__ import annotations

from typing import Any, Final

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QBoxLayout,
    QFrame,
    QGridLayout,
    QLayout,
    QLayoutItem,
    QScrollArea,
    QScrollBar,
    QStackedWidget,
    QWidget,
)

from sfumato.ui.look.theme import Space, scaled

BAND: Final = 16
"""How much narrower than where it becomes a row a row has to be to become a column again; pixels
at scale 1. Without it, what a size changes could change the size back, and so on."""


class ResponsiveRow(QWidget):
    """A row that becomes a column when it is narrow.

    Parameters
    ----------
    wide
        From this width on, the widgets stand side by side; pixels at scale 1.
    *parts
        The widgets, each by itself or with its stretch, which is 1 else.
    """

    def __init__(
        self, wide: int, *parts: QWidget | tuple[QWidget, int], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._wide = scaled(wide)
        self._box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(Space.BETWEEN)
        for part in parts:
            self.add(*(part if isinstance(part, tuple) else (part, 1)))

    def add(self, widget: QWidget, stretch: int = 1) -> None:
        """Put a widget at the end."""
        self._box.addWidget(widget, stretch)

    @property
    def side_by_side(self) -> bool:
        """Whether the widgets stand side by side."""
        return self._box.direction() == QBoxLayout.Direction.LeftToRight

    def minimumSizeHint(self) -> QSize:
        """Ask for no more width than a column needs: then it can become one."""
        return QSize(max(self._least_widths(), default=0), super().minimumSizeHint().height())

    def _least_widths(self) -> list[int]:
        """Return the least width of each widget in sight; a translation may need more."""
        parts = (self._box.itemAt(place) for place in range(self._box.count()))
        return [part.minimumSize().width() for part in parts if part and not part.isEmpty()]

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Turn the row into a column, or back."""
        super().resizeEvent(event)
        directions = QBoxLayout.Direction
        least = self._least_widths()
        together = sum(least) + self._box.spacing() * (len(least) - 1)
        band = scaled(BAND) if event.oldSize().isValid() else 0  # at first it was neither
        if self.side_by_side:
            wide = self.width() >= max(self._wide - band, together)
        else:
            wide = self.width() >= max(self._wide, together + band)
        wanted = directions.LeftToRight if wide else directions.TopToBottom
        if self._box.direction() != wanted:
            self._box.setDirection(wanted)


class ResponsiveGrid(QWidget):
    """Equal widgets in one line, or in lines of `few` where it is narrow.

    Parameters
    ----------
    wide
        From this width on, all stand in one line; pixels at scale 1.
    few
        How many stand in a line where it is narrower.
    """

    def __init__(self, wide: int, few: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._wide, self._few = scaled(wide), few
        self._widgets: list[QWidget] = []
        self.in_one_line = False
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
        edge = self._wide - (scaled(BAND) if self.in_one_line else 0)
        if (self.width() >= edge) != self.in_one_line:
            self.in_one_line = not self.in_one_line
            self._arrange()

    def minimumSizeHint(self) -> QSize:
        """Ask for no more width than short lines need: then there can be several."""
        widths = [widget.minimumSizeHint().width() for widget in self._widgets]
        width = max(widths, default=0) * self._few + Space.INSIDE * (self._few - 1)
        return QSize(width, super().minimumSizeHint().height())

    def _arrange(self) -> None:
        columns = len(self._widgets) if self.in_one_line else self._few
        for position, widget in enumerate(self._widgets):
            self._grid.addWidget(widget, *divmod(position, columns))
        for column in range(len(self._widgets)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)


class Pages(QStackedWidget):
    """Pages of which one is shown; it asks for the room of that one, not of the largest."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.currentChanged.connect(lambda _place: self.updateGeometry())

    def add(self, *pages: QWidget) -> None:
        """Put pages behind those that there are."""
        for page in pages:
            self.addWidget(page)

    def sizeHint(self) -> QSize:
        """Return what the page in sight would like."""
        page = self.currentWidget()
        return page.sizeHint() if page is not None else super().sizeHint()

    def minimumSizeHint(self) -> QSize:
        """Return what the page in sight needs."""
        page = self.currentWidget()
        if page is None:
            return super().minimumSizeHint()
        return page.minimumSizeHint().expandedTo(page.minimumSize())


class FlowLayout(QLayout):
    """Widgets side by side, and on further lines where one line has too little room.

    Parameters
    ----------
    widgets
        What stands there.
    right
        Whether lines end at the right.
    apart
        How many stand at the left, such as a title; the others at the right of it, or below.
    elided
        Whether each does with less than it asks for, down to a few pixels.
    """

    def __init__(
        self,
        *widgets: QWidget,
        spacing: int = Space.INSIDE,
        right: bool = False,
        apart: int = 0,
        elided: bool = False,
    ) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self._heights: dict[int, int] = {}
        """By width; asked for many times while a page is laid out."""
        self._right, self._apart, self._elided = right, apart, elided
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)
        for widget in widgets:
            self.addWidget(widget)

    def insert(self, place: int, widget: QWidget) -> None:
        """Put a widget before the one at a place."""
        self.addWidget(widget)
        self._items.insert(place, self._items.pop())
        self.invalidate()

    def addItem(self, item: QLayoutItem) -> None:
        """Put an item at the end; called by Qt."""
        self._items.append(item)
        self.invalidate()

    def count(self) -> int:
        """Return how many there are."""
        return len(self._items)

    def itemAt(self, place: int) -> QLayoutItem | None:
        """Return the item at a place; None beyond the last."""
        return self._items[place] if 0 <= place < len(self._items) else None

    def takeAt(self, place: int) -> QLayoutItem | None:
        """Take the item at a place out."""
        self._heights.clear()
        return self._items.pop(place) if 0 <= place < len(self._items) else None

    def invalidate(self) -> None:
        """Forget what was worked out: an item has another size, or is shown or hidden."""
        self._heights.clear()
        super().invalidate()

    def expandingDirections(self) -> Qt.Orientation:
        """Take no more than is needed."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Tell that fewer fit on a line where it is narrow."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines."""
        if width not in self._heights:
            self._heights[width] = self._arrange(QRect(0, 0, width, 0), move=False)
        return self._heights[width]

    def setGeometry(self, rect: QRect) -> None:
        """Put everything in its place."""
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        """Return the room of a single line."""
        sizes = [item.sizeHint() for item in self._shown()]
        width = sum(size.width() for size in sizes) + self.spacing() * max(len(sizes) - 1, 0)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        """Return the room of the widest."""
        least = QSize()
        for item in self._shown():
            least = least.expandedTo(item.minimumSize())
        return QSize(24, self.sizeHint().height()) if self._elided else least

    def _shown(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        lines: list[list[QLayoutItem]] = [[]]
        used = 0
        left_ones = self._items[: self._apart]
        # What does not fit beside a title stands below it, all of it.
        parted = bool(left_ones) and self.sizeHint().width() > rect.width()
        for item in self._shown():
            width = min(item.sizeHint().width(), rect.width())
            below = parted and lines[-1] and lines[-1][-1] in left_ones and item not in left_ones
            if lines[-1] and (below or used + width > rect.width()):
                lines.append([])
                used = 0
            lines[-1].append(item)
            used += width + self.spacing()
        top = rect.top()
        for line in lines:
            high = max((item.sizeHint().height() for item in line), default=0)
            widths = [min(item.sizeHint().width(), rect.width()) for item in line]
            left = rect.left()
            over = rect.width() - sum(widths) - self.spacing() * (len(line) - 1)
            pushed = not self._right and (parted or not left_ones)
            for item, width in zip(line, widths, strict=True):
                if not pushed and item not in left_ones:
                    left += over
                    pushed = True
                if move:
                    down = (high - item.sizeHint().height()) // 2
                    item.setGeometry(QRect(left, top + down, width, item.sizeHint().height()))
                left += width + self.spacing()
            top += high + self.spacing()
        return max(top - self.spacing() - rect.top(), 0)


class QuietBar(QScrollBar):
    """A scroll bar that keeps its room, and draws nothing, while there is nothing to scroll."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bar where it is of use."""
        if self.maximum() > self.minimum():
            super().paintEvent(event)


def keep_bar(area: QAbstractScrollArea) -> int:
    """Reserve the room of an area's vertical scroll bar, and return how wide it is, in pixels.

    A bar that comes and goes changes the width of what is scrolled, which changes its height,
    which may take the bar away again.
    """
    bar = QuietBar(area)
    area.setVerticalScrollBar(bar)
    area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
    bar.ensurePolished()
    return bar.sizeHint().width()


class RoomyScrollArea(QScrollArea):
    """Gives a layout all the room there is, and scrolls where that is less than it needs.

    The scroll bar stands in what the layout leaves free at its right.
    """

    def __init__(self, content: QLayout, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._layout = content
        free = content.contentsMargins()
        free.setRight(max(free.right() - keep_bar(self), 0))
        content.setContentsMargins(free)
        self._page = _Content()
        self._page.setProperty("look", "scrolled")
        self._page.setLayout(content)
        self.setWidget(self._page)

    def sizeHint(self) -> QSize:
        """Return what the content would like."""
        return self._page.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """Ask for little: the rest scrolls."""
        return QSize(scaled(240), scaled(120))

    def lacking(self) -> QSize:
        """Return how much wider and higher it would have to be for nothing to scroll."""
        room = self.viewport().size()
        wide = self._layout.minimumSize().width()
        lacking = QSize(wide, self._page.heightForWidth(room.width())) - room
        return lacking.expandedTo(QSize(0, 0))


class _Content(QWidget):
    """What stands in a room: as high as it needs where texts wrap, and no page is out of sight."""

    def heightForWidth(self, width: int) -> int:
        """Return the height below which something would be cut off."""
        del width  # each part tells what it needs at the width that it has
        return _needed(self.layout())

    def showEvent(self, event: QShowEvent) -> None:
        """Lay out anew: Qt does not tell of a size that changes as it tells of another."""
        super().showEvent(event)
        layout = self.layout()
        if layout is not None:
            layout.setGeometry(self.rect())


def _needed(item: QLayoutItem | QLayout | None) -> int:
    """Return the least height of what a layout holds, at the widths that its parts have now."""
    if item is None or item.isEmpty():
        return 0
    widget = item.widget()
    if widget is not None:
        return _of_widget(widget)
    layout = item.layout()
    if layout is None:
        return item.minimumSize().height()
    margins = layout.contentsMargins()
    return margins.top() + margins.bottom() + _inside(layout)


def _inside(layout: QLayout) -> int:
    """Return the least height of a layout's parts and of the gaps between them."""
    items = (layout.itemAt(place) for place in range(layout.count()))
    parts = [item for item in items if item is not None]
    shown = [part for part in parts if not part.isEmpty()]
    spacers = sum(part.minimumSize().height() for part in parts if part.spacerItem() is not None)
    beside = (QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.RightToLeft)
    if isinstance(layout, QBoxLayout):
        heights = list(map(_needed, shown))
        if layout.direction() in beside:
            return max(heights, default=0)
        return spacers + sum(heights) + layout.spacing() * max(len(heights) - 1, 0)
    if isinstance(layout, QGridLayout):
        lines: dict[int, int] = {}
        for place, part in enumerate(parts):
            position: Any = layout.getItemPosition(place)
            lines[position[0]] = max(lines.get(position[0], 0), _needed(part))
        return sum(lines.values()) + layout.verticalSpacing() * max(len(lines) - 1, 0)
    width = layout.geometry().width()
    if layout.hasHeightForWidth() and width:
        return layout.heightForWidth(width)
    return layout.minimumSize().height()


def _of_widget(widget: QWidget) -> int:
    page = widget.currentWidget() if isinstance(widget, QStackedWidget) else None
    if page is not None:
        needed = _of_widget(page)
    elif isinstance(widget, QAbstractScrollArea) or widget.layout() is None:
        needed = widget.minimumSizeHint().height()
        if widget.hasHeightForWidth():
            needed = widget.heightForWidth(widget.width())
    else:
        frame = widget.contentsMargins()  # such as the line around a card
        needed = frame.top() + _needed(widget.layout()) + frame.bottom()
    return min(max(needed, widget.minimumHeight()), widget.maximumHeight())
