"""The page on which the lattice is explored, as a list, as a picture and by pinned candidates."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
from PySide6.QtCore import QItemSelection, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from sfumato.engine.generalization.lattice import Node
from sfumato.plots.lattice import LatticeData, build_lattice
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.generalized.explore import (
    Marks,
    NodeList,
    comparison,
    numbers_of,
    titles,
)
from sfumato.ui.panels.policy.generalized.filters import FilterBar
from sfumato.ui.panels.policy.generalized.finding import Finding
from sfumato.ui.panels.policy.generalized.lattice_view import MOST_DRAWN, LatticeView
from sfumato.ui.panels.policy.generalized.node_symbols import Legend
from sfumato.ui.panels.policy.generalized.wording import node_text, tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import ScrollPage, button, label
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.tables import FrameModel, TableView

LIST, PICTURE, HEIGHTS, COMPARE = "list", "picture", "heights", "compare"
MEASURED_ON_DEMAND: Final = 5000


class ExplorePage(QWidget):
    """Every node with what it loses, in three views of the same selection.

    Parameters
    ----------
    session
        What is open.
    finding
        What was found.
    """

    selected = Signal(object)
    """The person looks at a node (`Node`)."""

    def __init__(self, session: Session, finding: Finding, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._finding = session, finding
        self._nodes: NodeList | None = None
        self._searched: object = None
        self._rows = np.zeros(0, dtype=np.int64)
        self.node: Node | None = None
        self._build_views()
        self.filters = FilterBar(self)
        self.filters.changed.connect(self._fill)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, Space.INSIDE, 0, 0)
        whole.setSpacing(Space.INSIDE)
        whole.addLayout(self._head())
        whole.addWidget(self.filters)
        whole.addWidget(self.views, 1)

    def _build_views(self) -> None:
        self.view = Segments(
            [
                (LIST, tr("List")),
                (PICTURE, tr("Picture")),
                (HEIGHTS, tr("By height")),
                (COMPARE, tr("Side by side")),
            ],
            self,
        )
        self.view.setAccessibleName(tr("How combinations are shown"))
        self.view.chosen.connect(self._show_view)
        self.table = TableView(self, row_numbers=False)
        self.table.setAccessibleName(tr("Combinations of levels"))
        self.table.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(TableView.SelectionMode.SingleSelection)
        self.table.setSortingEnabled(True)
        self.lattice = LatticeView(self.describe, self)
        self.lattice.setAccessibleName(tr("Lattice of combinations"))
        self.lattice.selected.connect(self.select)
        picture = QWidget(self)
        column = QVBoxLayout(picture)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.TIGHT)
        column.addWidget(Legend(self))
        column.addWidget(self.lattice, 1)
        self.plot = PlotView(self._session.chooser, self)
        heights = ScrollPage(self)
        heights.column.addWidget(self.plot)
        heights.column.addStretch(1)
        self.compared = TableView(self, row_numbers=False)
        self.compared.setAccessibleName(tr("Candidates side by side"))
        self._pages: dict[object, QWidget] = {
            LIST: self.table,
            PICTURE: picture,
            HEIGHTS: heights,
            COMPARE: self.compared,
        }
        self.views = QStackedWidget(self)
        for page in self._pages.values():
            self.views.addWidget(page)

    def _head(self) -> QHBoxLayout:
        line = QHBoxLayout()
        line.setSpacing(Space.INSIDE)
        line.addWidget(self.view)
        self.count = label("", "small")
        line.addWidget(self.count)
        line.addStretch(1)
        self._zoom: list[QPushButton] = []
        for text, tip, run in (
            ("+", tr("Zoom in (+)"), partial(self.lattice.zoom, 1.25)),
            ("−", tr("Zoom out (−)"), partial(self.lattice.zoom, 0.8)),
            (tr("Whole"), tr("Show the whole lattice (0)"), self.lattice.show_all),
        ):
            made = button(text, run, tip=tip)
            made.setAccessibleName(tip)
            made.hide()
            self._zoom.append(made)
            line.addWidget(made)
        self.measure = button(
            tr("Measure all"),
            lambda: self._finding.want_all(MEASURED_ON_DEMAND),
            tip=tr("Measure what the combinations lose that are not measured yet"),
        )
        line.addWidget(self.measure)
        return line

    # ----- what is shown

    @property
    def marks(self) -> Marks:
        """The nodes that are special now."""
        decided = self._session.document.generalization
        searched = self._finding.searched
        best = searched.best.node if searched is not None and searched.best is not None else None
        pinned = decided.pinned if decided is not None else ()
        return Marks(self._finding.node, best, pinned)

    def refresh(self) -> None:
        """Show what is found and decided now."""
        searched = self._finding.searched
        if searched is not self._searched:
            self._searched = searched
            self._nodes = NodeList(searched) if searched is not None else None
            if self._nodes is not None:
                if len(self._nodes.nodes) <= MOST_DRAWN:
                    self.lattice.show_lattice(self._nodes)
                heads = titles()
                levels = [f"{name}\u200b" for name in self._nodes.names]
                self.filters.offer([*levels, *(t for k, t in heads.items() if k not in _WORDS)])
            marks = self.marks
            self.node = marks.chosen or marks.best
        if self._nodes is None:
            return
        drawn = len(self._nodes.nodes) <= MOST_DRAWN
        self.view.button_for(PICTURE).setEnabled(drawn)
        self.view.button_for(PICTURE).setToolTip(
            "" if drawn else tr("There are too many combinations to draw each of them")
        )
        if not drawn and self.view.value == PICTURE:
            self.view.set_value(HEIGHTS)
        pins = [*self.marks.pinned, *filter(None, (self.marks.chosen, self.marks.best))]
        self._finding.want([node for node in pins if node in self._nodes.place])
        self._show_view()

    def show_measured(self) -> None:
        """Show what has been measured since."""
        if self.view.value in (LIST, COMPARE):
            self._fill()

    def _show_view(self, _view: object = None) -> None:
        value = self.view.value
        self.views.setCurrentWidget(self._pages[value])
        self.filters.setVisible(value == LIST)
        self.measure.setVisible(value == LIST)
        for made in self._zoom:
            made.setVisible(value == PICTURE)
        self._fill()

    def _fill(self) -> None:
        if self._nodes is None:
            return
        value, marks = self.view.value, self.marks
        self.count.setText("")
        if value == LIST:
            self._fill_list(self._nodes, marks)
        elif value == PICTURE:
            self.lattice.show_marks(marks, self.node)
        elif value == HEIGHTS:
            self.plot.show_plot(partial(build_lattice, self._heights(marks)))
        else:
            wanted = [*filter(None, (marks.chosen, marks.best)), *marks.pinned]
            if self.node is not None:
                wanted.append(self.node)
            nodes = [node for node in dict.fromkeys(wanted) if node in self._nodes.place]
            model = FrameModel(comparison(self._nodes.names, nodes, self._finding.nodes, marks))
            model.setParent(self.compared)
            self.compared.setModel(model)
            self.compared.fit_columns()
            if len(nodes) < 2:
                self.count.setText(tr("Pin candidates in the list or the picture to compare them."))

    def _fill_list(self, nodes: NodeList, marks: Marks) -> None:
        frame = nodes.frame(self._finding.nodes, marks)
        self._rows = self.filters.rows(nodes, frame)
        model = FrameModel(frame.iloc[self._rows].reset_index(drop=True))
        fresh = self.table.model() is None
        model.setParent(self.table)
        header = self.table.horizontalHeader()
        if fresh:
            header.setSortIndicator(2 + len(nodes.names), Qt.SortOrder.AscendingOrder)
        model.sort(header.sortIndicatorSection(), header.sortIndicatorOrder())
        self.table.setModel(model)
        if fresh:
            self.table.fit_columns()
        self.table.selectionModel().selectionChanged.connect(self._choose_row)
        words = tr("{shown} listed", shown=f"{len(self._rows):,}".replace(",", "\u202f"))
        if self._finding.waiting:
            words = tr("{listed}, {count} to measure", listed=words, count=self._finding.waiting)
        elif not nodes.complete:
            words = tr("{listed}; there are too many to list them all", listed=words)
        self.count.setText(words)
        self._mark_row()

    def _heights(self, marks: Marks) -> LatticeData:
        searched = self._finding.searched
        assert searched is not None
        result = searched.result
        heights = result.lattice.heights
        size = sum(result.lattice.top) + 1
        minimal = np.bincount([sum(node) for node in result.minimal] or [0], minlength=size)
        return LatticeData(
            np.bincount(heights.ravel(), minlength=size),
            np.bincount(heights[result.safe], minlength=size),
            minimal if result.minimal else np.zeros(size, dtype=np.int64),
            len(result.names),
            sum(marks.chosen) if marks.chosen is not None else None,
        )

    def describe(self, node: Node) -> str:
        """Return what is told of a node in a few words."""
        searched = self._finding.searched
        if searched is None or node not in searched.result.lattice:
            return ""
        result = searched.result
        safe = tr("safe") if result.is_safe(node) else tr("not safe")
        words = [f"{node_text(result.names, node)}: {safe}"]
        measured = self._finding.nodes.get(node)
        if measured is not None:
            numbers = numbers_of(measured)
            heads = titles()
            words += [f"{heads[name]} {value:g}" for name, value in numbers.items()]
        said = self.marks.words(node)
        return "\n".join([*words, *([said] if said else [])])

    # ----- what the person does

    def select(self, node: Node) -> None:
        """Look at a node."""
        self.node = node
        self._finding.want([node])
        if self.view.value == PICTURE:
            self.lattice.show_marks(self.marks, node)
        self._mark_row()
        self.selected.emit(node)

    def _mark_row(self) -> None:
        """Select the row of the node that is looked at, without telling anyone."""
        model = self.table.model()
        if self._nodes is None or self.node is None or not isinstance(model, FrameModel):
            return
        found = np.flatnonzero(self._rows == self._nodes.place.get(self.node, -1))
        chosen = self.table.selectionModel()
        blocked = chosen.blockSignals(True)
        if len(found):
            self.table.selectRow(model.row_of(int(found[0])))
        else:
            self.table.clearSelection()
        chosen.blockSignals(blocked)
        self.table.viewport().update()

    def _choose_row(self, _chosen: QItemSelection, _left: QItemSelection) -> None:
        rows = self.table.selectionModel().selectedRows()
        model = self.table.model()
        if rows and self._nodes is not None and isinstance(model, FrameModel):
            node = self._nodes.nodes[int(self._rows[model.source_row(rows[0].row())])]
            if node != self.node:
                self.select(node)


_WORDS: Final = ("mark", "safe")
