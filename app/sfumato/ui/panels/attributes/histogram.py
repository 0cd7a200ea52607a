"""A column of numbers as a histogram, with the edges of its bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from sfumato.engine.table.profile import NumberSummary
from sfumato.ui.look.theme import TextSize, current_theme, font
from sfumato.ui.widgets.tables import show_value

Across = Callable[[float], float]
"""From a number to its place across the widget."""

HEIGHT = 132
BELOW = 20


class Histogram(QWidget):
    """Draws how numbers are distributed and where bins would divide them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._summary: NumberSummary | None = None
        self._edges: tuple[float, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return the room it needs."""
        return QSize(280, HEIGHT)

    def show_numbers(self, summary: NumberSummary | None, edges: Sequence[float]) -> None:
        """Show a distribution and edges.

        Parameters
        ----------
        summary
            The column's numbers.
        edges
            The bins' edges, increasing; none where it has no bins.
        """
        self._summary, self._edges = summary, tuple(edges)
        self.update()

    @property
    def edges(self) -> tuple[float, ...]:
        """The edges that are drawn."""
        return self._edges

    def _span(self, summary: NumberSummary) -> tuple[float, float]:
        low = min((summary.edges[0], *self._edges[:1]))
        high = max((summary.edges[-1], *self._edges[-1:]))
        return (low, high) if high > low else (low - 0.5, low + 0.5)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw bars, edges and the edges' numbers."""
        del event
        summary = self._summary
        if summary is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(1, 4, -1, -BELOW)
        low, high = self._span(summary)

        def across(number: float) -> float:
            return area.left() + area.width() * (number - low) / (high - low)

        self._draw_bars(painter, area, summary, across)
        self._draw_edges(painter, area, across)

    def _draw_bars(
        self, painter: QPainter, area: QRectF, summary: NumberSummary, across: Across
    ) -> None:
        style = current_theme().style
        painter.fillRect(QRectF(area.left(), area.bottom(), area.width(), 1), QColor(style.line))
        highest = max(summary.counts) or 1
        colour = QColor(style.blend(style.original, 0.75))
        if len(summary.edges) == 2 and summary.edges[0] == summary.edges[1]:
            painter.fillRect(QRectF(area.center().x() - 6, area.top(), 12, area.height()), colour)
            return
        for count, left, right in zip(
            summary.counts, summary.edges[:-1], summary.edges[1:], strict=True
        ):
            if count:
                height = max(1.5, area.height() * count / highest)
                start, end = across(left), across(right)
                painter.fillRect(
                    QRectF(start + 0.5, area.bottom() - height, max(end - start - 1, 1), height),
                    colour,
                )

    def _draw_edges(self, painter: QPainter, area: QRectF, across: Across) -> None:
        style = current_theme().style
        painter.setFont(font(TextSize.SMALL, tabular=True))
        metrics = painter.fontMetrics()
        taken = -1e9
        for edge in self._edges:
            x = across(edge)
            painter.setPen(QPen(QColor(style.released), 1.5))
            painter.drawLine(int(x), int(area.top()), int(x), int(area.bottom() + 3))
            text = show_value(edge)
            width = metrics.horizontalAdvance(text)
            left = min(max(x - width / 2, 0), self.width() - width)
            if left > taken + 4:
                painter.setPen(QColor(style.muted))
                room = QRectF(left, area.bottom() + 3, width + 2, BELOW - 3)
                painter.drawText(room, int(Qt.AlignmentFlag.AlignLeft), text)
                taken = left + width

    def changeEvent(self, event: QEvent) -> None:
        """Redraw in the new theme's colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
