"""The picture of a lattice: what is drawn of thousands of nodes, and how they look."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter

from sfumato.engine.generalization.lattice import Lattice
from sfumato.ui.look.theme import TextSize, font, themes
from sfumato.ui.panels.policy.generalized.lattice_drawing import (
    KINDS,
    MOST_WRITTEN,
    Stamps,
    Symbol,
    draw_symbol,
)
from sfumato.ui.panels.policy.generalized.lattice_view import LatticeView
from sfumato.ui.panels.policy.generalized.node_list import SpecialNodes
from tests.ui.hands import on_screen

SIDE = 64


class Nodes:
    """All nodes of a lattice; the upper half is safe."""

    def __init__(self, *top: int) -> None:
        self.nodes = [tuple(map(int, node)) for node in Lattice(top).nodes()]
        self.place = {node: place for place, node in enumerate(self.nodes)}
        self.safe = np.array([sum(node) > sum(top) / 2 for node in self.nodes])
        self.minimal = np.array([sum(node) == sum(top) // 2 + 1 for node in self.nodes])


@pytest.fixture
def drawn(monkeypatch):
    """How many nodes each painting stamps: those that are looked at apart from the rest."""
    counts: dict[bool, list[int]] = {False: [], True: []}
    draw = Stamps.draw

    def counted(self, painter, places, kinds, *, selected=False):
        counts[selected].append(len(places))
        draw(self, painter, places, kinds, selected=selected)

    monkeypatch.setattr(Stamps, "draw", counted)
    return counts


@pytest.fixture
def view(qtbot):
    return on_screen(qtbot, LatticeView(lambda node: ""), 800, 600)


def test_of_thousands_of_nodes_only_those_in_sight_are_drawn(view, drawn):
    nodes = Nodes(3, 3, 3, 3, 3, 3)
    view.show_lattice(nodes)
    view.show_marks(SpecialNodes(nodes.nodes[7], None, (nodes.nodes[9],)), nodes.nodes[2000])
    view.grab()
    assert (drawn[False][-1], drawn[True][-1]) == (4095, 1)
    view.zoom(100)
    view.grab()
    assert 0 < drawn[False][-1] < 200


def canvas():
    image = QImage(SIDE, SIDE, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    return image, painter


@pytest.mark.parametrize("selected", [False, True])
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_a_stamped_node_looks_as_if_it_were_drawn(qtbot, kind, selected):
    style = themes().current.style
    stamped, painter = canvas()
    at = np.array([[30.25, 33.5]])
    Stamps(style, 1.0, 1.0).draw(painter, at, np.array([kind]), selected=selected)
    painter.end()
    expected, painter = canvas()
    draw_symbol(painter, QPointF(30.25, 33.5), KINDS[kind], style, selected=selected)
    painter.end()
    one, other = (
        np.frombuffer(image.constBits(), np.uint8).astype(int) for image in (stamped, expected)
    )
    assert np.abs(one - other).max() <= 8


def test_a_node_looks_like_what_is_known_of_it(view):
    nodes = Nodes(2, 2)
    view.show_lattice(nodes)
    view.show_marks(SpecialNodes((2, 2), None, ((0, 0), (2, 2))), None)
    shown = {node: KINDS[kind] for node, kind in zip(nodes.nodes, view._drawing.kinds, strict=True)}
    assert shown[0, 0] == Symbol(pinned=True)
    assert shown[0, 1] == Symbol()
    assert shown[1, 2] == Symbol(safe=True, minimal=True)
    assert shown[2, 2] == Symbol(safe=True, chosen=True, pinned=True)


def test_marked_nodes_bear_their_levels_where_all_would_be_too_small_and_none_covers_another(view):
    nodes = Nodes(3, 3, 3, 3)
    view.show_lattice(nodes)
    view.resize(420, 240)
    pinned = nodes.nodes[40]
    view.show_marks(SpecialNodes(nodes.nodes[7], None, (pinned,)), nodes.nodes[100])
    drawing = view._drawing
    letters = QFontMetricsF(font(TextSize.SMALL, tabular=True))
    found = drawing.labelled(view.viewportTransform(), letters)
    written = [place for place, _ in found]
    assert written[0] == nodes.place[nodes.nodes[100]]  # the one that is looked at
    assert nodes.place[nodes.nodes[7]] in written
    assert 3 <= len(found) <= MOST_WRITTEN
    boxes = [box for _, box in found]
    assert not any(a.intersects(b) for at, a in enumerate(boxes) for b in boxes[:at])
