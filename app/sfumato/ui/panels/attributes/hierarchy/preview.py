"""A hierarchy in sight: its levels in short, and as a tree or a table."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStackedWidget,
    QTreeView,
    QWidget,
)

from sfumato.ui.look.theme import Space
from sfumato.ui.panels.attributes.hierarchy.draft import Outcome
from sfumato.ui.panels.attributes.hierarchy.tables import LevelsModel, RowsModel
from sfumato.ui.panels.attributes.hierarchy.tree_model import CLASS, LEVEL, RECORDS, TreeModel
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import EmptyState, column, label, row
from sfumato.ui.widgets.tables import TableView

_LEVELS_SHOWN = 5
_ROW = 32
_HEAD = 40
_OPENED = 40
"""A class with no more parts than these is opened at first."""


class Preview(QWidget):
    """Shows what comes of a draft; names and labels can be changed in it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tree_model, self.rows_model = TreeModel(), RowsModel()
        self.levels_model = LevelsModel()
        for model in (self.tree_model, self.rows_model, self.levels_model):
            model.setParent(self)
        self.levels = self._build_levels()
        self.tree = self._build_tree()
        self.table = self._build_table()
        self.nothing = EmptyState(
            "attributes",
            self.tr("No tree yet"),
            self.tr("The tree appears here once the settings or the table give one."),
        )
        self.way = Segments((("tree", self.tr("Tree")), ("table", self.tr("Table"))))
        self.way.chosen.connect(lambda _value: self._turn())
        self.pages = QStackedWidget()
        for page in (self.nothing, self.tree, self.table):
            self.pages.addWidget(page)
        self.hint = label(self.tr("Double-click a name to change it"), "small")
        whole = column(self.levels, spacing=Space.INSIDE)
        whole.addLayout(row(self.way, None, self.hint))
        whole.addWidget(self.pages, 1)
        self.setLayout(whole)
        self.show_outcome(Outcome())

    def _build_levels(self) -> TableView:
        view = TableView(row_numbers=False)
        view.setModel(self.levels_model)
        view.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        view.setAccessibleName(self.tr("The levels in short"))
        header = view.horizontalHeader()
        for section, width in ((0, 64), (1, 84), (2, 92)):
            header.setSectionResizeMode(section, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(section, width)
        header.setSectionResizeMode(3, QHeaderView.ResizeMode.Stretch)
        return view

    def _build_tree(self) -> QTreeView:
        view = QTreeView()
        view.setModel(self.tree_model)
        view.setProperty("framed", True)
        view.setUniformRowHeights(True)
        view.setAllColumnsShowFocus(True)
        triggers = QAbstractItemView.EditTrigger
        view.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        view.setExpandsOnDoubleClick(False)
        view.setAccessibleName(self.tr("The hierarchy as a tree"))
        header = view.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(CLASS, QHeaderView.ResizeMode.Stretch)
        for section, width in ((LEVEL, 64), (RECORDS, 96)):
            header.setSectionResizeMode(section, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(section, width)
        return view

    def _build_table(self) -> TableView:
        view = TableView()
        view.setModel(self.rows_model)
        triggers = QAbstractItemView.EditTrigger
        view.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        view.setAccessibleName(self.tr("The hierarchy as a table"))
        return view

    def show_outcome(self, outcome: Outcome) -> None:
        """Show what came of a draft."""
        self.levels_model.show_outcome(outcome)
        self.rows_model.show_rows(outcome.rows)
        self.tree_model.show_outcome(outcome)
        self.table.fit_columns()
        shown = min(max(self.levels_model.rows, 2), _LEVELS_SHOWN)
        self.levels.setFixedHeight(_HEAD + _ROW * shown + 2)
        self.levels.setVisible(outcome.hierarchy is not None)
        self._open()
        self._turn()

    def show_table(self) -> None:
        """Turn to the table."""
        self.way.set_value("table")
        self._turn()

    def _turn(self) -> None:
        if self.way.value == "table":
            page: QWidget = self.table if self.rows_model.rows else self.nothing
        else:
            page = self.tree if self.tree_model.height else self.nothing
        self.pages.setCurrentWidget(page)
        self.hint.setVisible(page is not self.nothing)

    def _open(self) -> None:
        """Open the tree from the top for as long as that stays short."""
        level = [self.tree_model.index(i, 0) for i in range(self.tree_model.rowCount())]
        while level and len(level) <= _OPENED:
            parts: list[QModelIndex] = []
            total = sum(self.tree_model.rowCount(index) for index in level)
            if total > _OPENED:
                break
            for index in level:
                self.tree.expand(index)
                count = self.tree_model.rowCount(index)
                parts += [self.tree_model.index(i, 0, index) for i in range(count)]
            level = parts
