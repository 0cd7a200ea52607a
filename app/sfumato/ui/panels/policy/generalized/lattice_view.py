"""The lattice as a picture to move in: a node for each combination of levels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsItem,
    QGraphicsScene,
    QGraphicsView,
    QHBoxLayout,
    QSizePolicy,
    QStyleOptionGraphicsItem,
    QToolTip,
    QWidget,
)

from sfumato.engine.generalization.lattice import Node
from sfumato.plots.generalization import lattice_places
from sfumato.plots.style import PlotStyle
from sfumato.ui.look.theme import Space, font, themes
from sfumato.ui.panels.policy.generalized.node_list import Marks, NodeList
from sfumato.ui.panels.policy.wording import tr
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


MOST_DRAWN: Final = 6000
"""A lattice with more nodes is shown by its heights only."""
MOST_LINED: Final = 300
"""Up to so many nodes every line is drawn; beyond, only those of the node that is selected."""

ZOOM_STEP: Final = 1.25
CLOSEST, FARTHEST = 2.5, 0.02


class LatticeView(QGraphicsView):
    """A lattice that can be zoomed and moved; arrow keys go from node to node.

    Parameters
    ----------
    describe
        Says what is told of a node under the pointer.
    """

    selected = Signal(object)
    """The person looks at a node (`Node`)."""

    def __init__(self, describe: Callable[[Node], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._describe = describe
        self._nodes: list[Node] = []
        self._place: dict[Node, int] = {}
        self._list: NodeList | None = None
        self._fitted = False
        self._drawing = LatticeDrawing()
        scene = QGraphicsScene(self)
        scene.addItem(self._drawing)
        self.setScene(scene)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setMinimumHeight(220)
        self.setStyleSheet("background: transparent;")
        self.viewport().setCursor(Qt.CursorShape.ArrowCursor)
        themes().changed.connect(self.viewport().update)

    # ----- what is shown

    def show_lattice(self, nodes: NodeList) -> None:
        """Show another lattice, as a whole."""
        self._list = nodes
        self._nodes, self._place = nodes.nodes, nodes.place
        drawing = self._drawing
        levels = np.array(nodes.nodes, dtype=np.int64).reshape(len(nodes.nodes), -1)
        drawing.places = lattice_places(levels) * (ACROSS, DOWN)
        drawing.texts = [",".join(map(str, node)) for node in nodes.nodes]
        few = len(nodes.nodes) <= MOST_LINED
        drawing.lines = _pairs(
            (place, other)
            for place, node in enumerate(nodes.nodes if few else [])
            for other in self._above(node)
        )
        drawing.near, drawing.selected = _pairs(()), -1
        drawing.kinds = np.zeros(len(nodes.nodes), dtype=np.intp)
        drawing.fit()
        self.scene().setSceneRect(drawing.boundingRect())
        self.show_all()

    def show_marks(self, marks: Marks, selected: Node | None) -> None:
        """Mark nodes, and the one that is looked at."""
        if self._list is None:
            return
        drawing = self._drawing
        chosen = self._places([marks.chosen] if marks.chosen is not None else [])
        drawing.mark(self._list.safe, self._list.minimal, chosen, self._places(marks.pinned))
        drawing.selected = self._place.get(selected, -1) if selected is not None else -1
        drawing.near = _pairs(())
        if drawing.selected >= 0 and selected is not None:
            around = [*self._above(selected), *self._below(selected)]
            drawing.near = _pairs((drawing.selected, other) for other in around)
        self.viewport().update()

    def _places(self, nodes: Iterable[Node]) -> npt.NDArray[np.intp]:
        """Return where the nodes are among those that are drawn."""
        return np.array([self._place[n] for n in nodes if n in self._place], dtype=np.intp)

    def _above(self, node: Node) -> list[int]:
        return self._beside(node, 1)

    def _below(self, node: Node) -> list[int]:
        return self._beside(node, -1)

    def _beside(self, node: Node, step: int) -> list[int]:
        found = []
        for axis, level in enumerate(node):
            other = self._place.get((*node[:axis], level + step, *node[axis + 1 :]))
            if other is not None:
                found.append(other)
        return found

    # ----- zooming

    def show_all(self) -> None:
        """Fit the whole lattice into the view, but no larger than it is."""
        self.resetTransform()
        room, needed = self.viewport().rect(), self._drawing.boundingRect()
        if needed.isEmpty():
            return
        share = min(room.width() / needed.width(), room.height() / needed.height(), 1.0)
        self.scale(share, share)
        self.centerOn(needed.center())
        self._fitted = True

    def zoom(self, factor: float) -> None:
        """Come closer, or step back."""
        now = self.transform().m11()
        wanted = min(max(now * factor, FARTHEST), CLOSEST)
        self._fitted = False
        self.scale(wanted / now, wanted / now)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer."""
        self.zoom(ZOOM_STEP ** (event.angleDelta().y() / 120))
        event.accept()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the whole in sight while nobody has zoomed."""
        super().resizeEvent(event)
        if self._fitted:
            self.show_all()

    # ----- nodes

    def node_at(self, point: QPointF) -> Node | None:
        """Return the node at a point of the view."""
        places = self._drawing.places
        if not len(places):
            return None
        at = self.mapToScene(point.toPoint())
        apart = np.hypot(places[:, 0] - at.x(), places[:, 1] - at.y())
        nearest = int(apart.argmin())
        reach = max(RADIUS + 4, 6 / max(self.transform().m11(), FARTHEST))
        return self._nodes[nearest] if apart[nearest] <= reach else None

    def point_of(self, node: Node) -> QPointF:
        """Return where a node is in the view."""
        return QPointF(self.mapFromScene(QPointF(*self._drawing.places[self._place[node]])))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Look at the node under the pointer; elsewhere, move the picture."""
        node = self.node_at(event.position())
        if node is not None and event.button() == Qt.MouseButton.LeftButton:
            self.setFocus()
            self.selected.emit(node)
            return
        self._fitted = False
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to a neighbour, or zoom."""
        factors = {Qt.Key.Key_Plus: ZOOM_STEP, Qt.Key.Key_Minus: 1 / ZOOM_STEP}
        key = Qt.Key(event.key())
        if key in factors:
            self.zoom(factors[key])
        elif key == Qt.Key.Key_0:
            self.show_all()
        elif not self._step(key):
            super().keyPressEvent(event)

    def _step(self, key: Qt.Key) -> bool:
        drawing = self._drawing
        if not self._nodes:
            return False
        now = max(drawing.selected, 0)
        if key == Qt.Key.Key_Up:
            found = self._above(self._nodes[now])
        elif key == Qt.Key.Key_Down:
            found = self._below(self._nodes[now])
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            found = self._sideways(now, -1 if key == Qt.Key.Key_Left else 1)
        else:
            return False
        if found:
            self.selected.emit(self._nodes[found[0]])
        return True

    def _sideways(self, now: int, step: int) -> list[int]:
        places = self._drawing.places
        wanted = places[now] + (step * ACROSS, 0.0)
        apart = np.abs(places - wanted).sum(axis=1)
        nearest = int(apart.argmin())
        return [nearest] if apart[nearest] < 1e-6 else []

    def viewportEvent(self, event: object) -> bool:
        """Tell about the node under the pointer."""
        if isinstance(event, QHelpEvent):
            node = self.node_at(QPointF(event.pos()))
            QToolTip.showText(
                event.globalPos(), self._describe(node) if node is not None else "", self
            )
            return True
        return super().viewportEvent(event)  # type: ignore[arg-type]


def _pairs(found: Iterable[tuple[int, int]]) -> npt.NDArray[np.intp]:
    """Return lines as the places of their two ends, shape (lines, 2)."""
    return np.array(list(found), dtype=np.intp).reshape(-1, 2)
