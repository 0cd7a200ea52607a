"""The values of a domain: how each is shown, and how many records have it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate

from sfumato.engine.core.columns import Domain
from sfumato.ui.look.theme import TextSize, current_theme, font
from sfumato.ui.widgets.tables import show_value

Index = QModelIndex | QPersistentModelIndex

VALUE, SHOWN, RECORDS = range(3)
COUNT_ROLE = Qt.ItemDataRole.UserRole
SHARE_ROLE = Qt.ItemDataRole.UserRole + 1


class DomainModel(QAbstractTableModel):
    """A domain's values in order; new labels are told, not made."""

    label_given = Signal(int, str)

    def __init__(self) -> None:
        super().__init__()
        self._domain: Domain | None = None
        self._counts: tuple[int, ...] | None = None
        self._highest = 1

    def show_domain(self, domain: Domain | None, counts: tuple[int, ...] | None) -> None:
        """Show other values; `counts` are the records that have each, where known."""
        before = self._domain
        same = before is not None and domain is not None and before.values == domain.values
        if not same:
            self.beginResetModel()
        self._domain = domain
        fits = counts is not None and domain is not None and len(counts) == domain.size
        self._counts = counts if fits else None
        self._highest = max(self._counts or (1,)) or 1
        if same:  # only names or counts: whoever edits a name stays where they are
            last = self.index(self.rowCount() - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)
        else:
            self.endResetModel()

    @property
    def domain(self) -> Domain | None:
        """What is shown."""
        return self._domain

    def count(self, row: int) -> int | None:
        """Return how many records have a value; None while that is not known."""
        return self._counts[row] if self._counts is not None else None

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of values."""
        if self._domain is None or (parent is not None and parent.isValid()):
            return 0
        return self._domain.size

    def columnCount(self, parent: Index | None = None) -> int:
        """Return three: the value, how it is shown, and its records."""
        return 0 if parent is not None and parent.isValid() else 3

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the headings."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("Value"), self.tr("Shown as"), self.tr("Records"))[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == RECORDS:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return that labels can be edited."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == SHOWN else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a value."""
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return (self._value, self._label, self._records)[column](row)
        if role == Qt.ItemDataRole.EditRole and column == SHOWN:
            return self._label(row)
        if role == COUNT_ROLE:
            return self.count(row)
        if role == SHARE_ROLE:
            return (self.count(row) or 0) / self._highest
        if role == Qt.ItemDataRole.ToolTipRole:
            tip = self.tr("Double-click to give the value another name")
            return tip if column == SHOWN else self._value(row)
        return None

    def _value(self, row: int) -> str:
        value = self._domain.values[row] if self._domain is not None else None
        return self.tr("(missing)") if value is None else show_value(value)

    def _label(self, row: int) -> str:
        """Return how a value is shown where that is another text than its own."""
        if self._domain is None:
            return ""
        return self._domain.labels.get(self._domain.values[row], "")

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tell a new label."""
        if role != Qt.ItemDataRole.EditRole or index.column() != SHOWN:
            return False
        if str(value) != self._label(index.row()):
            self.label_given.emit(index.row(), str(value))
        return True

    def _records(self, row: int) -> str:
        count = self.count(row)
        if count is None:
            return "…"
        return f"{count:,}".replace(",", "\u202f") if count else self.tr("none")


class RecordsDelegate(QStyledItemDelegate):
    """Draws how many records have a value, with a bar behind the number."""

    def paint(self, painter: QPainter, option: Any, index: Index) -> None:
        """Draw a cell."""
        theme = current_theme()
        painter.save()
        area = QRectF(option.rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, QColor(theme.selected))
        painter.fillRect(
            QRectF(area.left(), area.bottom() - 1, area.width(), 1), QColor(theme.style.line)
        )
        share = float(index.data(SHARE_ROLE) or 0.0)
        width = (area.width() - 16) * share
        bar = QRectF(area.right() - 8 - width, area.bottom() - 7, width, 3)
        painter.fillRect(bar, QColor(theme.style.blend(theme.style.original, 0.75)))
        count = index.data(COUNT_ROLE)
        painter.setPen(QColor(theme.style.text if count else theme.quiet))
        painter.setFont(font(TextSize.BODY, tabular=True))
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(area.adjusted(8, -2, -11, -2), int(side), str(index.data()))
        painter.restore()
