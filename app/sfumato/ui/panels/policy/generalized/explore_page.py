"""The page on which the lattice is explored: list with filters, picture, pinned candidates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from PySide6.QtCore import QItemSelection, Qt, Signal
from PySide6.QtWidgets import QWidget

from sfumato.engine.generalization.lattice import Node
from sfumato.formats.language import grouped, localized
from sfumato.plots.generalization import LatticeData, build_lattice
from sfumato.project.publication.generalization_pipeline import Searched
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.panels.policy import edits
from sfumato.ui.panels.policy.generalized.finding import NodeFinding
from sfumato.ui.panels.policy.generalized.lattice_drawing import Legend, Symbol
from sfumato.ui.panels.policy.generalized.lattice_view import MOST_DRAWN, LatticeView, zoom_buttons
from sfumato.ui.panels.policy.generalized.node_list import (
    Condition,
    NodeList,
    SpecialNodes,
    comparison,
    node_text,
    numbers_of,
    titles,
)
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments
from sfumato.ui.widgets.layout import (
    Badge,
    Card,
    ScrollPage,
    boxed,
    button,
    column,
    label,
    refill,
    row,
)
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.responsive import FlowLayout, Pages, ResponsiveRow
from sfumato.ui.widgets.tables import FrameModel, TableView

ALL, SAFE, MINIMAL, PINNED = "all", "safe", "minimal", "pinned"


class FilterBar(QWidget):
    """Which nodes are listed."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.conditions: list[Condition] = []
        self.which = Segments(
            [
                (SAFE, tr("Safe")),
                (MINIMAL, tr("Minimal")),
                (PINNED, tr("Pinned")),
                (ALL, tr("All")),
            ],
            self,
        )
        self.which.setAccessibleName(tr("Which combinations are listed"))
        self.which.chosen.connect(lambda _which: self.changed.emit())
        self.column = ChoiceField(parent=self, name=tr("Column to filter by"), least=130)
        self.bound = ChoiceField([(True, tr("at most")), (False, tr("at least"))], self)
        self.bound.setAccessibleName(tr("Bound"))
        self.value = NumberField(0, 1_000_000_000, decimals=2, step=1.0, show_range=False)
        self.value.spin.setFixedWidth(scaled(96))
        self.value.spin.setAccessibleName(tr("Value"))
        self.add = button(tr("Filter"), self._add, icon="filter")
        line = FlowLayout(self.which, self.column, self.bound, self.value, self.add)
        self._chips = FlowLayout()
        self.setLayout(column(line, self._chips, spacing=Space.TIGHT))

    def offer(self, columns: list[str]) -> None:
        """Offer the columns of another list; conditions on others are dropped."""
        self.column.set_choices([(name, name) for name in columns])
        kept = [each for each in self.conditions if each.column in columns]
        if kept != self.conditions:
            self.conditions = kept
            self._show()

    def rows(self, nodes: NodeList, frame: pd.DataFrame) -> npt.NDArray[np.int64]:
        """Return the positions of the nodes that are listed."""
        which = self.which.value
        keep = np.ones(len(nodes.nodes), dtype=np.bool_)
        if which == SAFE:
            keep = nodes.safe.copy()
        elif which == MINIMAL:
            keep = nodes.minimal.copy()
        elif which == PINNED:
            keep = frame.iloc[:, 0].ne("").to_numpy()
        for condition in self.conditions:
            keep = keep & condition.keeps(frame).to_numpy()
        return np.flatnonzero(keep).astype(np.int64)

    def _add(self) -> None:
        condition = Condition(str(self.column.value), bool(self.bound.value), self.value.value)
        if self.column.value is not None and condition not in self.conditions:
            self.conditions.append(condition)
            self._show()
            self.changed.emit()

    def _remove(self, condition: Condition) -> None:
        self.conditions.remove(condition)
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        tip = tr("Remove this filter")
        removers = [(each.text, partial(self._remove, each)) for each in self.conditions]
        refill(self._chips, (button(*remover, "quiet", "close", tip) for remover in removers))


class NodeCard(Card):
    """The combination that is looked at.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._session = session
        self._node: Node | None = None
        self.body.setContentsMargins(Space.BETWEEN, Space.INSIDE, Space.BETWEEN, Space.INSIDE)
        self.title = label("", "strong", wrap=True)
        self.groups = label("", "small", wrap=True)
        self.badge = Badge("good", "good", "")
        texts = boxed(column(self.title, self.groups, spacing=2))
        self.pin = button(tr("Pin"), self._pin, tip=tr("Keep it for comparison"))
        self.choose = button(tr("Choose"), self._choose, tip=tr("Publish with these levels"))
        chosen = boxed(row(self.badge, None, self.pin, self.choose, spacing=Space.BETWEEN))
        self.body.addWidget(ResponsiveRow(NODE_WIDE, texts, (chosen, 0)))

    def show_node(self, searched: Searched, node: Node, chosen: Node | None) -> None:
        """Show a node, and whether it is the chosen one."""
        self._node = node
        result = searched.result
        names = result.names
        self.title.setText(tr("Levels: {levels}", levels=node_text(names, node)))
        quasi = searched.prepared.coded.quasi_identifiers
        self.groups.setText(
            "   ".join(
                f"{each.name}: {labels_text(tuple(dict.fromkeys(each.labels[level])))}"
                for each, level in zip(quasi, node, strict=True)
            )
        )
        safe = result.is_safe(node)
        decided = self._session.document.generalization
        pinned = decided is not None and node in decided.pinned
        if node == chosen:
            self.badge.show_state("good", "good", tr("chosen"))
        elif safe:
            self.badge.show_state("check", "good", tr("safe"))
        else:
            self.badge.show_state("caution", "caution", tr("not safe"))
        self.pin.setText(tr("Unpin") if pinned else tr("Pin"))
        own = decided is not None and decided.node == node
        self.choose.setText(tr("Choose the best") if own else tr("Choose"))
        self.choose.setEnabled(own or (safe and node != chosen))

    def _pin(self) -> None:
        decided = self._session.document.generalization
        if self._node is None or decided is None:
            return
        add = self._node not in decided.pinned
        words = tr("Pin a candidate") if add else tr("Unpin a candidate")
        self._session.edit(words, edits.with_pin(self._session.document, self._node, add))

    def _choose(self) -> None:
        decided = self._session.document.generalization
        if self._node is None or decided is None:
            return
        node = None if decided.node == self._node else self._node
        words = tr("Choose levels") if node is not None else tr("Choose the best levels")
        self._session.edit(words, edits.with_node(self._session.document, node))


NODE_WIDE: Final = 480
"""From this width on, a combination's buttons stand beside its words; pixels at scale 1."""
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

    def __init__(
        self, session: Session, finding: NodeFinding, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._finding = session, finding
        self._nodes: NodeList | None = None
        self._searched: object = None
        self._rows = np.zeros(0, dtype=np.int64)
        self.node: Node | None = None
        self._build_views()
        self.filters = FilterBar(self)
        self.filters.changed.connect(self._fill)
        whole = column(self._head(), self.count, self.filters, (self.views, 1))
        whole.setContentsMargins(0, Space.INSIDE, 0, 0)
        self.setLayout(whole)

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
        legend = Legend(
            (
                (Symbol(), tr("not safe")),
                (Symbol(safe=True), tr("safe")),
                (Symbol(safe=True, minimal=True), tr("minimal")),
                (Symbol(safe=True, chosen=True), tr("chosen")),
                (Symbol(safe=True, pinned=True), tr("pinned")),
            ),
            self,
        )
        picture = boxed(column(legend, (self.lattice, 1), spacing=Space.TIGHT), self)
        self.plot = PlotView(self._session.chooser, self)
        heights = ScrollPage(self)
        heights.put(self.plot, None)
        self.compared = TableView(self, row_numbers=False, name=tr("Candidates side by side"))
        self._pages: dict[object, QWidget] = {
            LIST: self.table,
            PICTURE: picture,
            HEIGHTS: heights,
            COMPARE: self.compared,
        }
        self.views = Pages(self)
        for page in self._pages.values():
            self.views.addWidget(page)

    def _head(self) -> FlowLayout:
        self.count = label("", "small", wrap=True)
        self._zoom = zoom_buttons(self.lattice)
        for made in self._zoom:
            made.hide()
        self.measure = button(
            tr("Measure all"),
            lambda: self._finding.want_all(MEASURED_ON_DEMAND),
            tip=tr("Measure the loss of the combinations not measured yet"),
        )
        return FlowLayout(self.view, *self._zoom, self.measure, apart=1)

    # ----- what is shown

    @property
    def marks(self) -> SpecialNodes:
        """The nodes that are special now."""
        decided = self._session.document.generalization
        searched = self._finding.searched
        best = searched.best.node if searched is not None and searched.best is not None else None
        pinned = decided.pinned if decided is not None else ()
        return SpecialNodes(self._finding.node, best, pinned)

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
                levels = self._nodes.level_heads
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
            frame = comparison(self._nodes.names, nodes, self._finding.nodes, marks)
            self.compared.show_frame(frame)
            if len(nodes) < 2:
                self.count.setText(tr("Pin candidates in the list or the picture to compare them."))

    def _fill_list(self, nodes: NodeList, marks: SpecialNodes) -> None:
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
        words = tr("{shown} listed", shown=grouped(len(self._rows)))
        if self._finding.waiting:
            words = tr(
                "{listed}, {count} left to measure", listed=words, count=self._finding.waiting
            )
        elif not nodes.complete:
            words = tr("{listed}; there are too many to list all", listed=words)
        self.count.setText(words)
        self._mark_row()

    def _heights(self, marks: SpecialNodes) -> LatticeData:
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
            words += [f"{heads[name]} {localized(f'{value:g}')}" for name, value in numbers.items()]
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


SHOWN_LABELS = 3
"""So many groups of a level are named."""


def labels_text(labels: Sequence[str]) -> str:
    """Return some of the groups of a level."""
    shown = [label if len(label) <= 24 else label[:23] + "…" for label in labels[:SHOWN_LABELS]]
    return ", ".join(shown) + (", …" if len(labels) > SHOWN_LABELS else "")
