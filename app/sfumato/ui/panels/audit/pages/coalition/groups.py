"""Whose records are in most danger: a line for each true value, sortable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
)
from PySide6.QtWidgets import QHeaderView, QWidget

from sfumato.engine.disclosure.coalition_risk import CoalitionRisk
from sfumato.engine.disclosure.record_risk import CERTAIN
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.ui.look.theme import Space, font
from sfumato.ui.widgets.layout import Card
from sfumato.ui.widgets.tables import MISSING_TEXT, TableView, show_value

Index = QModelIndex | QPersistentModelIndex
VALUE, RECORDS, LADDER, INDEPENDENT, CERTAIN_SHARE = range(5)
ROWS_SHOWN: Final = 9
ROOM_FOR_ARROW: Final = "\u2003"
"""Keeps the sign of sorting clear of a heading that stands at the right."""


class GroupsModel(QAbstractTableModel):
    """A line for each value that occurs; the most endangered first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names: tuple[str, ...] = ()
        self._numbers = np.zeros((0, 5))
        self._order: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._sorted = LADDER, Qt.SortOrder.DescendingOrder

    def show_risk(
        self, values: Sequence[object], counts: npt.NDArray[np.int64], risk: CoalitionRisk | None
    ) -> None:
        """Show what a coalition restores of each value's records; None shows nothing."""
        self.beginResetModel()
        if risk is None:
            self._names, self._numbers = (), np.zeros((0, 5))
        else:
            occurs = np.flatnonzero(counts)
            self._names = tuple(
                MISSING_TEXT if values[at] is None else show_value(values[at])
                for at in occurs.tolist()
            )
            columns = (
                np.argsort(np.argsort(np.array(self._names), kind="stable")),
                counts[occurs],
                risk.on_ladder.by_value[occurs],
                risk.independent.by_value[occurs],
                risk.independent.certain_by_value[occurs],
            )
            self._numbers = np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)
        self._arrange()
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of values."""
        return 0 if parent is not None and parent.isValid() else len(self._names)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else 5

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        at, column = int(self._order[index.row()]), index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            number = float(self._numbers[at, column])
            if column == VALUE:
                return self._names[at]
            return grouped(round(number)) if column == RECORDS else percent(number, 1)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        return font(tabular=True) if role == Qt.ItemDataRole.FontRole and column else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's name, and what it means."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        certain = percent(CERTAIN, 0)
        if role == Qt.ItemDataRole.ToolTipRole:
            return (
                self.tr("The record's true value"),
                self.tr("How many records have it"),
                self.tr("Average probability given to it by the coalition, as released"),
                self.tr("The same if every release had noise of its own"),
                self.tr(
                    "Share of its records that independent noise restores with at least {certain}"
                ).format(certain=certain),
            )[section]
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        title = (
            self.tr("True value"),
            self.tr("Records"),
            self.tr("On the ladder"),
            self.tr("Independent noise"),
            self.tr("Of these ≥ {certain}").format(certain=certain),
        )[section]
        return title if section == VALUE else title + ROOM_FOR_ARROW

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column."""
        if column < 0:
            return
        self.layoutAboutToBeChanged.emit()
        self._sorted = column, order
        self._arrange()
        self.layoutChanged.emit()

    def _arrange(self) -> None:
        column, order = self._sorted
        numbers = self._numbers[:, column]
        falling = order == Qt.SortOrder.DescendingOrder
        self._order = np.argsort(-numbers if falling else numbers, kind="stable")


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class GroupsCard(Card):
    """Which records a coalition restores best, by their true value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            QCoreApplication.translate("Audit", "Whose records are in most danger?"),
            QCoreApplication.translate(
                "Audit",
                "Average probability that the coalition gives to a record's true value. Click a"
                " heading to sort.",
            ),
            parent,
        )
        self.model = GroupsModel(self)
        self.table = TableView(self, row_numbers=False)
        self.table.setModel(self.model)
        self.table.setProperty("framed", False)
        self.table.setAccessibleName(self.heading.text())
        self.table.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        header.setSortIndicator(LADDER, Qt.SortOrder.DescendingOrder)
        self.table.setSortingEnabled(True)
        self.table.setMinimumHeight(Space.FIELD * 5)
        self.body.addWidget(self.table, 1)

    def show_risk(
        self, values: Sequence[object], counts: npt.NDArray[np.int64], risk: CoalitionRisk | None
    ) -> None:
        """Show a coalition's risk; None shows nothing."""
        self.model.show_risk(values, counts, risk)
        lines = min(max(self.model.rowCount(), 3), ROWS_SHOWN)
        self.table.setMinimumHeight((Space.FIELD + 4) + Space.FIELD * lines + 2)
