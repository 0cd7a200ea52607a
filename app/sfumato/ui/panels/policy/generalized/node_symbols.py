"""How a node of a lattice is drawn: its fill and its form, never its colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from sfumato.plots.style import PlotStyle
from sfumato.ui.look.theme import Space, themes
from sfumato.ui.panels.policy.generalized.wording import tr
from sfumato.ui.widgets.layout import label

RADIUS: Final = 9.0


@dataclass(frozen=True)
class Symbol:
    """What is to be seen of a node."""

    safe: bool = False
    minimal: bool = False
    chosen: bool = False
    pinned: bool = False


def draw_symbol(
    painter: QPainter, at: QPointF, symbol: Symbol, style: PlotStyle, *, selected: bool = False
) -> None:
    """Draw a node.

    Hollow: not safe. Filled: safe. Filled with a ring: minimal. Diamond: chosen. A square at its
    corner: pinned.
    """
    accent, text = QColor(style.accent), QColor(style.text)
    if selected:
        painter.setPen(QPen(text, 2.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(at, RADIUS + 5, RADIUS + 5)
    if symbol.chosen:
        painter.setPen(QPen(QColor(style.background), 1.0))
        painter.setBrush(text)
        reach = RADIUS + 2
        corners = [(0, -reach), (reach, 0), (0, reach), (-reach, 0)]
        painter.drawPolygon(QPolygonF([at + QPointF(x, y) for x, y in corners]))
    elif symbol.safe:
        painter.setPen(QPen(accent, 1.4))
        painter.setBrush(accent if symbol.minimal else QColor(style.blend(style.accent, 0.45)))
        painter.drawEllipse(at, RADIUS - 2, RADIUS - 2)
        if symbol.minimal:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(at, RADIUS + 1, RADIUS + 1)
    else:
        painter.setPen(QPen(QColor(style.muted), 1.4))
        painter.setBrush(QColor(style.background))
        painter.drawEllipse(at, RADIUS - 3, RADIUS - 3)
    if symbol.pinned:
        painter.setPen(QPen(QColor(style.background), 1.0))
        painter.setBrush(QColor(style.caution))
        painter.drawRect(QRectF(at.x() + RADIUS - 3, at.y() - RADIUS - 3, 8, 8))


class _Sample(QWidget):
    """One symbol of the legend."""

    def __init__(self, symbol: Symbol) -> None:
        super().__init__()
        self._symbol = symbol
        self.setFixedSize(self.sizeHint())
        themes().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        """Return the room of a node."""
        return QSize(28, 28)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the symbol."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_symbol(painter, QPointF(14, 14), self._symbol, themes().current.style)
        painter.end()


class Legend(QWidget):
    """What the symbols mean."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Space.TIGHT)
        for symbol, word in (
            (Symbol(), tr("not safe")),
            (Symbol(safe=True), tr("safe")),
            (Symbol(safe=True, minimal=True), tr("minimal")),
            (Symbol(safe=True, chosen=True), tr("chosen")),
            (Symbol(safe=True, pinned=True), tr("pinned")),
        ):
            line.addWidget(_Sample(symbol))
            line.addWidget(label(word, "small"))
            line.addSpacing(Space.INSIDE)
        line.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
