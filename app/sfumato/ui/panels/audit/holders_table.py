"""Who holds what, with a tick for each member of the coalition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView, QWidget

from sfumato.analysis.holdings import Holding
from sfumato.engine.matrices.privacy import epsilon_of_gamma
from sfumato.ui.look.theme import Space, font
from sfumato.ui.look.wording import local_day, number
from sfumato.ui.panels.audit.wording import level_text
from sfumato.ui.widgets.tables import TableView

Index = QModelIndex | QPersistentModelIndex
NAME, LEVEL, ODDS, EPSILON, SINCE = range(5)
MOST_ROWS_SHOWN: Final = 8
WIDE: Final = 480
"""From this width on, the dates are shown."""


class HoldersModel(QAbstractTableModel):
    """A line for each recipient, the most trusted first; new ones are ticked."""

    ticked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._holdings: tuple[Holding, ...] = ()
        self._left_out: set[str] = set()

    @property
    def coalition(self) -> tuple[Holding, ...]:
        """What the ticked recipients hold, the most trusted first."""
        return tuple(h for h in self._holdings if h.recipient not in self._left_out)

    @property
    def has_odds(self) -> bool:
        """Whether it is known how far any release multiplies odds: not so for numbers."""
        return any(holding.matrix is not None for holding in self._holdings)

    def show_holdings(self, holdings: Sequence[Holding]) -> None:
        """Show who holds what."""
        self.beginResetModel()
        self._holdings = tuple(holdings)
        self.endResetModel()

    def tick_all(self, ticked: bool) -> None:
        """Tick everybody, or nobody."""
        names = {holding.recipient for holding in self._holdings}
        self._left_out = self._left_out - names if ticked else self._left_out | names
        if self._holdings:
            end = self.index(len(self._holdings) - 1, NAME)
            self.dataChanged.emit(self.index(0, NAME), end)
        self.ticked.emit()

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of recipients."""
        return 0 if parent is not None and parent.isValid() else len(self._holdings)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else 5

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        holding, column = self._holdings[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(holding, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{holding.recipient}: {self._text(holding, SINCE)}"
        if role == Qt.ItemDataRole.CheckStateRole and column == NAME:
            left_out = holding.recipient in self._left_out
            return Qt.CheckState.Unchecked if left_out else Qt.CheckState.Checked
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.FontRole and column != NAME:
            return font(tabular=True)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tick or untick a recipient."""
        if role != Qt.ItemDataRole.CheckStateRole or index.column() != NAME:
            return False
        name = self._holdings[index.row()].recipient
        if Qt.CheckState(value) == Qt.CheckState.Checked:
            self._left_out.discard(name)
        else:
            self._left_out.add(name)
        self.dataChanged.emit(index, index)
        self.ticked.emit()
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return what can be done with a cell."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsUserCheckable if index.column() == NAME else flags

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Return a column's name."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        if role == Qt.ItemDataRole.ToolTipRole:
            return {
                ODDS: self.tr("How far the release multiplies anyone's odds at most (γ)"),
                EPSILON: self.tr("The logarithm of γ: local differential privacy"),
            }.get(section)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return (self.tr("Recipient"), self.tr("Level"), "γ", "ε", self.tr("Held"))[section]

    def _text(self, holding: Holding, column: int) -> str:
        odds = holding.odds
        since = self.tr("adopted") if holding.adopted else self.tr("planned")
        if holding.recorded_at is not None:
            since = self.tr("since {day}").format(day=local_day(holding.recorded_at))
        return (
            holding.recipient,
            level_text(holding),
            number(odds) if odds is not None else "–",
            number(epsilon_of_gamma(odds)) if odds is not None else "–",
            since,
        )[column]


def _alignment(column: int) -> Qt.AlignmentFlag:
    """Return where a column's texts stand: numbers right."""
    right = column in (ODDS, EPSILON)
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class HoldersTable(TableView):
    """The table of those who hold something."""

    def __init__(self, model: HoldersModel, parent: QWidget | None = None) -> None:
        super().__init__(parent, row_numbers=False)
        self.setModel(model)
        self._holders = model
        self.setProperty("framed", False)
        self.setAccessibleName(self.tr("Members of the coalition"))
        self.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(44)

    def fit_rows(self) -> None:
        """Take the height that the lines need, up to a few, and the columns that tell anything."""
        for column in (ODDS, EPSILON):
            self.setColumnHidden(column, not self._holders.has_odds)
        lines = min(max(self.model().rowCount(), 2), MOST_ROWS_SHOWN)
        self.setMinimumHeight((Space.FIELD + 4) + Space.FIELD * lines + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the dates to the tips where names would not have room beside them."""
        super().resizeEvent(event)
        self.setColumnHidden(SINCE, self.width() < WIDE)
