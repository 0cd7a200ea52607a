"""How a lattice is drawn: its nodes, its lines, and the tokens that stand on nodes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QTransform,
)
from PySide6.QtWidgets import (
    QGraphicsItem,
    QStyleOptionGraphicsItem,
    QWidget,
)

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Indices
from sfumato.engine.generalization.lattice import Node
from sfumato.plots.style import PlotStyle
from sfumato.ui.look.theme import Space, TextSize, font, scaled, themes
from sfumato.ui.widgets.layout import boxed, label, row
from sfumato.ui.widgets.painted import painter_on
from sfumato.ui.widgets.responsive import FlowLayout

Places = npt.NDArray[np.float64]

RADIUS: Final = 9.0
MOST_WRITTEN: Final = 24
"""So many nodes bear their levels where all of them would be too small."""


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


class _LegendSymbol(QWidget):
    """One symbol of the legend."""

    def __init__(self, symbol: Symbol) -> None:
        super().__init__()
        self._symbol = symbol
        self.setFixedSize(self.sizeHint())
        themes().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        """Return the room of a node."""
        return QSize(scaled(28), scaled(28))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the symbol."""
        del event
        painter = painter_on(self)
        painter.scale(Space.scale, Space.scale)
        draw_symbol(painter, QPointF(14, 14), self._symbol, themes().current.style)
        painter.end()


class Legend(QWidget):
    """What the symbols mean.

    Parameters
    ----------
    entries
        Symbols with a word or two for each.
    """

    def __init__(
        self, entries: Sequence[tuple[Symbol, str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        pairs = (row(_LegendSymbol(symbol), label(word, "small")) for symbol, word in entries)
        self.setLayout(FlowLayout(*map(boxed, pairs), spacing=Space.BETWEEN))


@dataclass(frozen=True)
class Token:
    """Somebody's mark on a node, as large at any scale.

    Parameters
    ----------
    name
        Whose it is.
    text
        What it shows: a letter or two.
    node
        Where it stands.
    """

    name: str
    text: str
    node: Node


class Combinations(Protocol):
    """The nodes that are drawn, and what is known of them.

    `place` says where a node stands among `nodes`; `safe` and `minimal` have shape (n,).
    """

    nodes: list[Node]
    place: dict[Node, int]
    safe: Flags
    minimal: Flags


TOKEN: Final = 11.0
"""The radius of a token, in pixels however far the lattice is zoomed."""
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
        painter = painter_on(stamp)
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
        self.place: dict[Node, int] = {}
        self.texts: list[str] = []
        self.selected = -1
        self.tokens: tuple[Token, ...] = ()
        self.held = ""
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
        else:
            self._write_few(painter, style)
        self._draw_tokens(painter, style)

    def token_places(self, transform: QTransform) -> list[tuple[Token, QPointF]]:
        """Return where the tokens are in the window; those on one node stand side by side."""
        by_node: dict[Node, list[Token]] = {}
        for token in self.tokens:
            by_node.setdefault(token.node, []).append(token)
        found = []
        for node, tokens in by_node.items():
            if node not in self.place:
                continue
            middle = transform.map(QPointF(*self.places[self.place[node]]))
            for at, token in enumerate(tokens):
                shift = (at - (len(tokens) - 1) / 2) * 2 * TOKEN
                found.append((token, middle + QPointF(shift * Space.scale, 0.0)))
        return found

    def _draw_tokens(self, painter: QPainter, style: PlotStyle) -> None:
        """Draw the tokens on their nodes, joined in their order."""
        if not self.tokens:
            return
        placed = self.token_places(painter.worldTransform())
        where = {token.name: at for token, at in placed}
        painter.save()
        painter.resetTransform()
        accent, ground, text = (QColor(c) for c in (style.accent, style.background, style.text))
        painter.setPen(QPen(accent, 2.0, Qt.PenStyle.DotLine))
        ordered = [where[token.name] for token in self.tokens if token.name in where]
        painter.drawPolyline(QPolygonF(ordered))
        painter.setFont(font(12, strong=True, tabular=True))
        reach = TOKEN * Space.scale
        for token, at in placed:
            held = token.name == self.held
            painter.setPen(QPen(ground, 2.0))
            painter.setBrush(text if held else accent)
            painter.drawEllipse(at, reach, reach)
            painter.setPen(ground if held else QColor(style.ink_on(style.accent)))
            box = QRectF(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, token.text)
        painter.restore()

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
        face = font(tabular=True)
        face.setPixelSize(TextSize.SMALL)  # it grows with the drawing
        painter.setFont(face)
        for place in places:
            across, down = self.places[place]
            box = QRectF(across - ACROSS / 2, down + RADIUS + 2, ACROSS, 16)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self.texts[place])

    def labelled(self, moved: QTransform, letters: QFontMetricsF) -> list[tuple[int, QRectF]]:
        """Return which nodes bear their levels while most are too small to, and where.

        The one that is looked at comes first, then those that were chosen or pinned, then the
        minimal ones; what would cover another, or a token, stands without.
        """
        marked = np.flatnonzero(self.kinds & 7)
        order = sorted(marked.tolist(), key=lambda place: -int(self.kinds[place] & 3))
        if self.selected >= 0:
            order = [self.selected, *(place for place in order if place != self.selected)]
        reach = TOKEN * Space.scale
        taken = [
            QRectF(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach)
            for _, at in self.token_places(moved)
        ]
        found = []
        for place in order[:MOST_WRITTEN]:
            at = moved.map(QPointF(*self.places[place]))
            wide, high = letters.horizontalAdvance(self.texts[place]) + 4.0, letters.height()
            box = QRectF(at.x() - wide / 2, at.y() + scaled(8), wide, high)
            if not any(box.intersects(other) for other in taken):
                taken.append(box)
                found.append((place, box))
        return found

    def _write_few(self, painter: QPainter, style: PlotStyle) -> None:
        """Write the levels of the nodes that something is to be said of."""
        moved = painter.worldTransform()
        painter.save()
        painter.resetTransform()
        painter.setFont(font(TextSize.SMALL, tabular=True))
        ground = QColor(style.background)
        ground.setAlphaF(0.85)
        for place, box in self.labelled(moved, QFontMetricsF(painter.font())):
            painter.fillRect(box, ground)
            painter.setPen(QColor(style.text))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self.texts[place])
        painter.restore()
