"""The lattice as a picture to move in: a node for each combination of levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsScene,
    QGraphicsView,
    QPushButton,
    QToolTip,
    QWidget,
)

from sfumato.engine.generalization.lattice import Node
from sfumato.plots.generalization import lattice_places
from sfumato.ui.look.theme import Space, scaled, themes
from sfumato.ui.panels.policy.generalized.lattice_drawing import (
    ACROSS,
    DOWN,
    RADIUS,
    TOKEN,
    Combinations,
    LatticeDrawing,
    Token,
)
from sfumato.ui.panels.policy.generalized.node_list import SpecialNodes
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.layout import button
from sfumato.ui.widgets.messages import announce
from sfumato.ui.widgets.painted import PartText, draw_focus, painter_on, show_parts

MOST_DRAWN: Final = 10_000
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

    accessible_role = QAccessible.Role.Graphic

    selected = Signal(object)
    """The person looks at a node (`Node`)."""
    token_chosen = Signal(str)
    """The person took hold of a token, by name."""
    asked = Signal(object)
    """The person wants the chosen token at a node (`Node`): dropped, double-clicked or Enter."""

    def __init__(self, describe: Callable[[Node], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._describe = describe
        self._nodes: list[Node] = []
        self._place: dict[Node, int] = {}
        self._list: Combinations | None = None
        self._dragged: Node | None = None
        self._fit(False)
        self._drawing = LatticeDrawing()
        scene = QGraphicsScene(self)
        scene.addItem(self._drawing)
        self.setScene(scene)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.FullViewportUpdate)
        self.setMinimumHeight(scaled(220))
        self.setStyleSheet("background: transparent;")
        self.viewport().setCursor(Qt.CursorShape.ArrowCursor)
        themes().changed.connect(self.viewport().update)

    # ----- what is shown

    def show_lattice(self, nodes: Combinations) -> None:
        """Show another lattice, as a whole."""
        self._list = nodes
        self._nodes, self._place = nodes.nodes, nodes.place
        drawing = self._drawing
        drawing.place = nodes.place
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

    def renew(self, nodes: Combinations) -> None:
        """Take over what is known now of the same nodes."""
        self._list = nodes

    def show_marks(self, marks: SpecialNodes, selected: Node | None) -> None:
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

    def show_tokens(self, tokens: Sequence[Token], held: str) -> None:
        """Show tokens in an order, and which of them is chosen."""
        self._drawing.tokens, self._drawing.held = tuple(tokens), held
        self.setAccessibleDescription(
            "; ".join(f"{token.name}: {','.join(map(str, token.node))}" for token in tokens)
        )
        self._tell_tokens()
        self.viewport().update()

    def _tell_tokens(self) -> None:
        """Tell who stands where, and what is known of the node."""
        placed = self._drawing.token_places(self.viewportTransform())
        told = []
        for token, at in placed:
            corner = (at - QPointF(TOKEN, TOKEN)).toPoint()
            area = QRect(corner, QSize(round(2 * TOKEN), round(2 * TOKEN)))
            told.append(PartText(f"{token.name}: {self._describe(token.node)}", area))
        show_parts(self.viewport(), told)

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

    def _fit(self, fitted: bool) -> None:
        """Let the lattice follow the view's size from now on, or stay as it is.

        What is fitted has no scroll bars: they would take room, so that it fits, and give it
        back, so that it does not, without end.
        """
        self._fitted = fitted
        policies = Qt.ScrollBarPolicy
        policy = policies.ScrollBarAlwaysOff if fitted else policies.ScrollBarAsNeeded
        self.setHorizontalScrollBarPolicy(policy)
        self.setVerticalScrollBarPolicy(policy)

    def show_all(self) -> None:
        """Fit the whole lattice into the view, but no larger than it is."""
        self._fit(True)
        self.resetTransform()
        room, needed = self.viewport().rect(), self._drawing.boundingRect()
        if needed.isEmpty():
            return
        share = min(room.width() / needed.width(), room.height() / needed.height())
        share = min(share, Space.scale)
        self.scale(share, share)
        self.centerOn(needed.center())

    def zoom(self, factor: float) -> None:
        """Come closer, or step back."""
        now = self.transform().m11()
        wanted = min(max(now * factor, FARTHEST), CLOSEST * Space.scale)
        self._fit(False)
        self.scale(wanted / now, wanted / now)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer."""
        self.zoom(ZOOM_STEP ** (event.angleDelta().y() / 120))
        event.accept()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a ring around the lattice where it has the keyboard."""
        super().paintEvent(event)
        if self.hasFocus():
            draw_focus(painter_on(self.viewport()), self.viewport())

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show that the keyboard is here."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show that it is not."""
        super().focusOutEvent(event)
        self.viewport().update()

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

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Look at the node under the pointer; elsewhere, move the picture."""
        token, node = self.token_at(event.position()), self.node_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and (token or node is not None):
            self.setFocus()
            if token is not None:
                self._dragged = token.node
                self.token_chosen.emit(token.name)
            self.selected.emit(node if token is None else token.node)
            return
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Look at the node under the token that is dragged."""
        if self._dragged is None:
            super().mouseMoveEvent(event)
            return
        node = self.node_at(event.position())
        if node is not None and self._place[node] != self._drawing.selected:
            self.selected.emit(node)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Drop a token that was dragged to another node; elsewhere it stays."""
        before, self._dragged = self._dragged, None
        if before is None:
            super().mouseReleaseEvent(event)
            return
        node = self.node_at(event.position())
        if node is not None and node != before:
            self.asked.emit(node)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Ask for a node that is double-clicked."""
        node = self.node_at(event.position())
        if node is not None and event.button() == Qt.MouseButton.LeftButton:
            self.asked.emit(node)

    def token_at(self, point: QPointF) -> Token | None:
        """Return the token at a point of the view."""
        placed = self._drawing.token_places(self.viewportTransform())
        near = [
            token
            for token, at in placed
            if (at - point).manhattanLength() <= 1.3 * TOKEN * Space.scale
        ]
        return near[-1] if near else None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to a neighbour, ask for the node that is looked at, or zoom."""
        factors = {Qt.Key.Key_Plus: ZOOM_STEP, Qt.Key.Key_Minus: 1 / ZOOM_STEP}
        key = Qt.Key(event.key())
        if key in factors:
            self.zoom(factors[key])
        elif key == Qt.Key.Key_0:
            self.show_all()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._drawing.selected >= 0:
            self.asked.emit(self._nodes[self._drawing.selected])
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
            announce(self, self._describe(self._nodes[found[0]]))
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


def zoom_buttons(lattice: LatticeView) -> list[QPushButton]:
    """Return the buttons that zoom a lattice."""
    buttons = []
    for text, tip, run in (
        ("+", tr("Zoom in (+)"), partial(lattice.zoom, ZOOM_STEP)),
        ("−", tr("Zoom out (−)"), partial(lattice.zoom, 1 / ZOOM_STEP)),
        (tr("Whole"), tr("Show the whole lattice (0)"), lattice.show_all),
    ):
        made = button(text, run, tip=tip)
        made.setAccessibleName(tip)
        buttons.append(made)
    return buttons
