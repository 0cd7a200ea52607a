"""What a mechanism does to a value, drawn small: before at the left, released at the right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from sfumato.engine.core.frozen import dataclass
from sfumato.ui.look.theme import current_theme

WIDTH, HEIGHT = 64.0, 44.0
"""The size of a drawing, in its own coordinates and in pixels at scale 1."""
_LEFT, _RIGHT = 6.0, 58.0
_ROWS: Final = (6.0, 17.0, 28.0, 39.0)
"""Where four values stand, one below the other."""
_OFTEN: Final = 2.6
_RARELY: Final = 0.8
_DOT: Final = 3.4


@dataclass(frozen=True)
class Effect:
    """A small drawing of what a mechanism does.

    Parameters
    ----------
    draw
        Draws it, `WIDTH` by `HEIGHT`, in the theme's colours.
    """

    draw: Callable[[QPainter], None]


def draw_effect(painter: QPainter, effect: Effect, area: QRectF) -> None:
    """Draw an effect as large as fits into an area."""
    painter.save()
    painter.translate(area.topLeft())
    scale = min(area.width() / WIDTH, area.height() / HEIGHT)
    painter.scale(scale, scale)
    effect.draw(painter)
    painter.restore()


@Effect
def any_value(painter: QPainter) -> None:
    """A value is mostly kept, and else becomes any of them alike."""
    _replaced(painter, (_RARELY,) * 4)


@Effect
def frequent_values(painter: QPainter) -> None:
    """A value is mostly kept, and else becomes frequent ones more often."""
    _replaced(painter, (2.0, _RARELY, 1.4, 0.5))


@Effect
def values_alike(painter: QPainter) -> None:
    """A value is mostly kept, and else becomes one of its own group rather than another."""
    groups = (4.0, 14.0, 30.0, 40.0)
    _replaced(painter, (1.8, _RARELY, 0.5, 0.5), groups)
    painter.setPen(QPen(QColor(current_theme().style.muted), 1.0, Qt.PenStyle.DotLine))
    painter.drawLine(QPointF(_LEFT, 22.0), QPointF(_RIGHT, 22.0))


@Effect
def each_its_own(painter: QPainter) -> None:
    """Each value is kept as often as its own limit allows."""
    for row, width in zip(_ROWS, (0.6, 1.4, 2.4, 3.4), strict=True):
        _way(painter, row, row, width, kept=True)
    _dots(painter, _ROWS, _ROWS)


@Effect
def combinations(painter: QPainter) -> None:
    """Values of several columns are kept or replaced together."""
    rows = (8.0, 22.0, 36.0)
    for row in rows:
        kept = row == rows[1]
        _way(painter, rows[1], row, _OFTEN if kept else _RARELY, kept=kept, inset=9.0)
    for x in (_LEFT, _LEFT + 8.0):
        _dot(painter, x, rows[1], current_theme().style.original)
    for row in rows:
        for x in (_RIGHT - 8.0, _RIGHT):
            _dot(painter, x, row, current_theme().style.released)


@Effect
def every_chance(painter: QPainter) -> None:
    """Every probability is stated: a matrix."""
    shades = ((0.9, 0.2, 0.1), (0.3, 0.7, 0.2), (0.1, 0.3, 0.8))
    side, gap = 12.0, 2.0
    left = (WIDTH - 3 * side - 2 * gap) / 2
    for y, line in enumerate(shades):
        for x, shade in enumerate(line):
            ink = QColor(current_theme().style.released)
            ink.setAlphaF(shade)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ink)
            cell = QRectF(left + x * (side + gap), 2 + y * (side + gap), side, side)
            painter.drawRoundedRect(cell, 2, 2)


@Effect
def shared_symbols(painter: QPainter) -> None:
    """Many codes share few symbols."""
    symbols = (13.0, 32.0)
    for place, row in enumerate(_ROWS):
        _way(painter, row, symbols[place % 2], 1.2, kept=False)
    _dots(painter, _ROWS, ())
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(current_theme().style.released))
    for y in symbols:
        painter.drawRoundedRect(QRectF(_RIGHT - 6, y - 6, 12, 12), 2, 2)


@Effect
def few_of_a_group(painter: QPainter) -> None:
    """Of a small group few are perturbed, and then copied."""
    _way(painter, _ROWS[0], _ROWS[1], 1.4, kept=False)
    for row in _ROWS[1:]:
        _way(painter, _ROWS[0], row, _RARELY, kept=False)
    _dots(painter, _ROWS, _ROWS)
    painter.setPen(QPen(QColor(current_theme().style.muted), 1.0, Qt.PenStyle.DotLine))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(QRectF(_LEFT - 5.5, 0.5, 11, HEIGHT - 1), 5, 5)


@Effect
def bell(painter: QPainter) -> None:
    """A number becomes one near it: normally distributed noise."""
    _noise(painter, lambda x: math.exp(-((x / 11.0) ** 2)))


@Effect
def peak(painter: QPainter) -> None:
    """A number becomes one near it, and at times one far off: Laplace noise."""
    _noise(painter, lambda x: math.exp(-abs(x) / 9.0))


def _replaced(
    painter: QPainter, widths: Sequence[float], rows: Sequence[float] = _ROWS, true: int = 1
) -> None:
    """Draw how often one value becomes each; the width of a way shows how often."""
    for row, width in zip(rows, widths, strict=True):
        if row != rows[true]:
            _way(painter, rows[true], row, width, kept=False)
    _way(painter, rows[true], rows[true], _OFTEN, kept=True)
    _dots(painter, rows[true : true + 1], rows)


def _way(
    painter: QPainter, start: float, end: float, width: float, *, kept: bool, inset: float = 0.0
) -> None:
    style = current_theme().style
    pen = QPen(QColor(style.original if kept else style.released), width)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    painter.drawLine(QPointF(_LEFT + inset, start), QPointF(_RIGHT - inset, end))


def _dots(painter: QPainter, before: Sequence[float], released: Sequence[float]) -> None:
    for y in before:
        _dot(painter, _LEFT, y, current_theme().style.original)
    for y in released:
        _dot(painter, _RIGHT, y, current_theme().style.released)


def _dot(painter: QPainter, x: float, y: float, colour: str) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawEllipse(QPointF(x, y), _DOT, _DOT)


def _noise(painter: QPainter, density: Callable[[float], float]) -> None:
    """Draw a density around the true number, which stands on a line."""
    style = current_theme().style
    middle, ground = WIDTH / 2, HEIGHT - 4.0
    curve = QPainterPath(QPointF(2.0, ground))
    for x in range(2, int(WIDTH) - 1):
        curve.lineTo(x, ground - 34.0 * density(x - middle))
    curve.lineTo(WIDTH - 2.0, ground)
    shade = QColor(style.released)
    shade.setAlphaF(0.3)
    painter.fillPath(curve, shade)
    painter.setPen(QPen(QColor(style.released), 1.6))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPath(curve)
    painter.setPen(QPen(QColor(style.original), 2.0))
    painter.drawLine(QPointF(middle, 4.0), QPointF(middle, ground))
