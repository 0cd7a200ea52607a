"""Sample rows before and after: the true value, and what each recipient sees instead."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from sfumato.ui.look.theme import font, themes
from sfumato.ui.panels.preview.computing import Sample

Index = QModelIndex | QPersistentModelIndex
ROW, TRUE = 0, 1
REPLACED_SIGN = "→"
_TIP = Qt.ItemDataRole.ToolTipRole


def _alignment(column: int) -> Qt.AlignmentFlag:
    """Return where a column's texts stand: row numbers right, values left."""
    side = Qt.AlignmentFlag.AlignRight if column == ROW else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class SampleModel(QAbstractTableModel):
    """A line for each row of the sample, a column for each recipient."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sample: Sample | None = None
        themes().changed.connect(self._repaint)

    def show_sample(self, sample: Sample | None) -> None:
        """Show other rows."""
        self.beginResetModel()
        self._sample = sample
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of rows."""
        if self._sample is None or (parent is not None and parent.isValid()):
            return 0
        return len(self._sample.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        if self._sample is None or (parent is not None and parent.isValid()):
            return 0
        return 2 + len(self._sample.seen)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        sample = self._sample
        if sample is None:
            return None
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if column == ROW:
            return self._row_number(sample, row, role)
        if column == TRUE:
            return self._cell(sample.true[row], True, role) if role != _TIP else None
        seen = sample.seen[column - 2]
        return self._cell(seen.values[row], bool(seen.kept[row]), role)

    def _cell(self, value: str, kept: bool, role: int) -> Any:
        style = themes().current.style
        shown = {
            Qt.ItemDataRole.DisplayRole: value if kept else f"{REPLACED_SIGN} {value}",
            Qt.ItemDataRole.ForegroundRole: QColor(style.original if kept else style.released),
            _TIP: self.tr("The true value") if kept else self.tr("Replaced at random"),
        }
        return shown.get(Qt.ItemDataRole(role))

    def _row_number(self, sample: Sample, row: int, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{sample.rows[row]:,}".replace(",", "\u202f")
        if role == Qt.ItemDataRole.FontRole:
            return font(tabular=True)
        if role == Qt.ItemDataRole.ForegroundRole:
            return QColor(themes().current.style.muted)
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Return a column's name."""
        if orientation != Qt.Orientation.Horizontal or self._sample is None:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if section == ROW:
            return self.tr("Row")
        if section == TRUE:
            return self.tr("True {attribute}").format(attribute=self._sample.attribute)
        return self._sample.seen[section - 2].recipient

    def _repaint(self) -> None:
        if self.rowCount():
            self.dataChanged.emit(
                self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1)
            )
