"""Cells of editable grids: what their models colour, and what is typed into several at once."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

Index = QModelIndex | QPersistentModelIndex


class CellDelegate(QStyledItemDelegate):
    """Draws a cell on the ground its model gives it, and hands typed text to the grid.

    Parameters
    ----------
    grid
        The view; what is typed belongs to all of its selected cells.
    write
        Called with the edited cell's index and the text.
    """

    def __init__(self, grid: QTableView, write: Callable[[Index, str], None]) -> None:
        super().__init__(grid)
        self._grid = grid
        self._write = write

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw; a style sheet leaves the model's ground out."""
        ground = index.data(Qt.ItemDataRole.BackgroundRole)
        if isinstance(ground, QColor) and not option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, ground)
        super().paint(painter, option, index)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        """Return a field that looks like a cell."""
        editor = super().createEditor(parent, option, index)
        editor.setProperty("look", "cell")
        return editor

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        """Write the text that was typed; leaving one cell as it was writes nothing."""
        text = str(editor.property("text"))
        before = str(model.data(index, Qt.ItemDataRole.EditRole))
        if text != before or len(self._grid.selectedIndexes()) > 1:
            self._write(index, text)
