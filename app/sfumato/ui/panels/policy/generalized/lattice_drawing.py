"""The nodes and lines of a lattice, drawn where they are in sight.

A lattice may have thousands of nodes, and moving it draws all of them again. So every kind of node
is drawn once for a scale, and stamped after that.
"""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from sfumato.plots.style import PlotStyle
from sfumato.ui.look.theme import font, themes
from sfumato.ui.panels.policy.generalized.node_symbols import RADIUS, Symbol, draw_symbol

ACROSS: Final = 52.0
DOWN: Final = 58.0
FAINT: Final = 0.3
"""From this scale down, nodes are drawn larger than they are, up to `LARGEST` times."""
LARGEST: Final = 2.0
READABLE: Final = 0.75
"""From this scale on, levels are written below the nodes."""
KINDS: Final = tuple(Symbol(*marks) for marks in itertools.product((False, True), repeat=4))
"""Everything that a node can look like, the plainest first."""
REACH: Final = RADIUS + 7
"""How far a node's symbol reaches from its middle."""
PHASES: Final = 4
"""Between two pixels a node takes one of so many places, across and down."""

Places = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]


class Stamps:
    """Pictures of nodes at one scale, each drawn when it is first needed.

    Parameters
    ----------
    style
        The look.
    scale
        How large a symbol is shown.
    ratio
        The screen's pixels for each of the window's.
    """

    def __init__(self, style: PlotStyle, scale: float, ratio: float) -> None:
        self.made_for = (style, scale, ratio)
        self._reach = int(np.ceil(REACH * scale)) + 1
        self._known: dict[tuple[int, bool], QPixmap] = {}

    def draw(
        self, painter: QPainter, places: Places, kinds: Indices, *, selected: bool = False
    ) -> None:
        """Stamp nodes.

        Parameters
        ----------
        painter
            Without a transformation.
        places
            Where each is in the window, shape (n, 2), in pixels.
        kinds
            What each looks like: its place in `KINDS`, shape (n,).
        selected
            Whether they are looked at.
        """
        fine = np.rint(places * PHASES).astype(np.intp)
        corners = fine // PHASES - self._reach
        keys = (kinds * PHASES + fine[:, 0] % PHASES) * PHASES + fine[:, 1] % PHASES
        for key in np.unique(keys).tolist():
            if (key, selected) not in self._known:
                self._known[key, selected] = self._made(key, selected)
        stamps = {key: stamp for (key, chosen), stamp in self._known.items() if chosen == selected}
        draw = painter.drawPixmap
        for (left, top), key in zip(corners.tolist(), keys.tolist(), strict=True):
            draw(left, top, stamps[key])

    def _made(self, key: int, selected: bool) -> QPixmap:
        rest, down = divmod(key, PHASES)
        kind, across = divmod(rest, PHASES)
        style, scale, ratio = self.made_for
        side = int(np.ceil((2 * self._reach + 2) * ratio))
        stamp = QPixmap(side, side)
        stamp.setDevicePixelRatio(ratio)
        stamp.fill(Qt.GlobalColor.transparent)
        painter = QPainter(stamp)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(self._reach + across / PHASES, self._reach + down / PHASES)
        painter.scale(scale, scale)
        draw_symbol(painter, QPointF(), KINDS[kind], style, selected=selected)
        painter.end()
        return stamp


class LatticeDrawing(QGraphicsItem):
    """All nodes and lines of a lattice."""

    def __init__(self) -> None:
        super().__init__()
        # Or the whole lattice is exposed whenever a part of it is.
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)
        self.places: Places = np.zeros((0, 2))
        self.lines: Indices = np.zeros((0, 2), dtype=np.intp)
        self.near: Indices = np.zeros((0, 2), dtype=np.intp)
        self.kinds: Indices = np.zeros(0, dtype=np.intp)
        self.texts: list[str] = []
        self.selected = -1
        self._bounds = QRectF()
        self._stamps: Stamps | None = None

    def fit(self) -> None:
        """Take the room that the nodes need."""
        self.prepareGeometryChange()
        if len(self.places):
            low, high = self.places.min(axis=0), self.places.max(axis=0)
            self._bounds = QRectF(QPointF(*low), QPointF(*high)).adjusted(-40, -30, 40, 40)

    def mark(self, safe: Flags, minimal: Flags, chosen: Indices, pinned: Indices) -> None:
        """Say what is to be seen of the nodes.

        Parameters
        ----------
        safe, minimal
            Of each node, shape (n,).
        chosen, pinned
            The places of nodes.
        """
        marks = np.zeros((len(self.places), 4), dtype=np.intp)
        marks[:, 0], marks[:, 1] = safe, minimal
        marks[chosen, 2] = marks[pinned, 3] = 1
        self.kinds = marks @ (8, 4, 2, 1)

    def boundingRect(self) -> QRectF:
        """Return the room that it needs."""
        return self._bounds

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Draw what is in sight."""
        del widget
        style = themes().current.style
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        seen = option.exposedRect.adjusted(-30, -30, 30, 30)
        self._draw_lines(painter, self.lines, seen, QPen(QColor(style.line), 1.0))
        self._draw_lines(painter, self.near, seen, QPen(QColor(style.accent), 1.8))
        inside = np.flatnonzero(
            (self.places[:, 0] >= seen.left())
            & (self.places[:, 0] <= seen.right())
            & (self.places[:, 1] >= seen.top())
            & (self.places[:, 1] <= seen.bottom())
        )
        self._stamp(painter, inside, style)
        if painter.worldTransform().m11() >= READABLE:
            self._write(painter, inside, style)

    def _draw_lines(self, painter: QPainter, lines: Indices, seen: QRectF, pen: QPen) -> None:
        """Draw the lines that may be in sight."""
        if not len(lines):
            return
        ends = self.places[lines]  # line, end, coordinate
        low, high = ends.min(axis=1), ends.max(axis=1)
        apart = (high < (seen.left(), seen.top())) | (low > (seen.right(), seen.bottom()))
        shown = ends[~apart.any(axis=1)].reshape(-1, 4).tolist()
        if shown:
            painter.setPen(pen)
            painter.drawLines([QLineF(*line) for line in shown])

    def _stamp(self, painter: QPainter, places: Indices, style: PlotStyle) -> None:
        """Draw nodes: those first that nothing is to be said of, the one looked at last."""
        moved = painter.worldTransform()
        scale = moved.m11()
        larger = min(max(FAINT / scale, 1.0), LARGEST)
        made_for = (style, scale * larger, painter.device().devicePixelRatioF())
        if self._stamps is None or self._stamps.made_for != made_for:
            self._stamps = Stamps(*made_for)
        plain = self.kinds[places] == 0
        order = np.concatenate([places[plain], places[~plain]])
        painter.save()
        painter.resetTransform()
        for chosen in (False, True):
            part = order[(order == self.selected) == chosen]
            at = self.places[part] * scale + (moved.dx(), moved.dy())
            self._stamps.draw(painter, at, self.kinds[part], selected=chosen)
        painter.restore()

    def _write(self, painter: QPainter, places: Indices, style: PlotStyle) -> None:
        """Write the nodes' levels below them."""
        painter.setPen(QColor(style.muted))
        painter.setFont(font(12, tabular=True))
        for place in places:
            across, down = self.places[place]
            box = QRectF(across - ACROSS / 2, down + RADIUS + 2, ACROSS, 16)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self.texts[place])
