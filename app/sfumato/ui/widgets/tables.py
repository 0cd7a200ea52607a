"""Tables: a model over a data frame that never copies it, and a view that is calm and quick."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
)
from PySide6.QtGui import QFont, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from sfumato.engine.core.columns import Value
from sfumato.ui.look.theme import Space, font

Index = QModelIndex | QPersistentModelIndex

WIDTH_ROWS: Final = 60
"""So many rows decide how wide a column starts."""
NARROWEST: Final = 64
WIDEST: Final = 280
COPIED_CELLS: Final = 2_000_000
"""More is refused: the clipboard is no place for a table."""


MISSING_TEXT: Final = "–"
_VALUE_ROLES: Final = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.FontRole,
    Qt.ItemDataRole.ToolTipRole,
)


def _alignment(right: bool) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def show_value(value: object) -> str:
    """Return a cell's text: numbers without noise, dates without an empty time."""
    if isinstance(value, float | np.floating):
        return f"{value:.15g}"
    if isinstance(value, pd.Timestamp):
        plain_day = value == value.normalize()
        return value.strftime("%Y-%m-%d") if plain_day else value.strftime("%Y-%m-%d %H:%M:%S")
    return str(value)


class FrameModel(QAbstractTableModel):
    """A data frame's cells, read where they are.

    Parameters
    ----------
    frame
        The rows; never changed.
    labels
        For a column, texts for its values (from a statistical file).
    first_row
        What the first row is called in the header.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        labels: Mapping[str, Mapping[Value, str]] | None = None,
        first_row: int = 1,
    ) -> None:
        super().__init__()
        self._frame = frame
        self._labels = dict(labels or {})
        self._first_row = first_row
        self._series = [frame.iloc[:, i] for i in range(frame.shape[1])]
        self._numeric = [
            pd.api.types.is_numeric_dtype(series.dtype)
            and not pd.api.types.is_bool_dtype(series.dtype)
            for series in self._series
        ]
        self._order: npt.NDArray[np.int64] | None = None
        self._number_font = font(tabular=True)
        self._missing_font = QFont(font())
        self._missing_font.setItalic(True)

    @property
    def frame(self) -> pd.DataFrame:
        """The rows."""
        return self._frame

    def source_row(self, row: int) -> int:
        """Return the position in the frame of a row in the view."""
        return row if self._order is None else int(self._order[row])

    def row_of(self, position: int) -> int:
        """Return the row in the view that shows a position in the frame."""
        if self._order is None:
            return position
        return int(np.flatnonzero(self._order == position)[0])

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of rows."""
        return 0 if parent is not None and parent.isValid() else len(self._frame)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else len(self._series)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        column = index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(self._numeric[column])
        if role not in _VALUE_ROLES:
            return None
        value: Any = self._series[column].iat[self.source_row(index.row())]
        missing = bool(pd.isna(value))
        if role == Qt.ItemDataRole.FontRole:
            return self._font(column, missing)
        if missing:
            return self.tr("missing") if role == Qt.ItemDataRole.ToolTipRole else MISSING_TEXT
        labels = self._labels.get(str(self._frame.columns[column]))
        if labels and role == Qt.ItemDataRole.DisplayRole:
            return labels.get(value, show_value(value))
        return show_value(value)

    def _font(self, column: int, missing: bool) -> QFont | None:
        if missing:
            return self._missing_font
        return self._number_font if self._numeric[column] else None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Return a column's name, or a row's number."""
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return str(self._frame.columns[section])
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(self._numeric[section])
        elif role == Qt.ItemDataRole.DisplayRole:
            return f"{self.source_row(section) + self._first_row:,}".replace(",", "\u202f")
        elif role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(right=True)
        return None

    def set_order(self, order: npt.NDArray[np.int64] | None) -> None:
        """Show the rows in another order; None for the frame's own."""
        self.layoutAboutToBeChanged.emit()
        self._order = order
        self.layoutChanged.emit()

    def order_by(self, column: int, descending: bool) -> npt.NDArray[np.int64]:
        """Return the order that sorts by a column, missing values last (safe in a job)."""
        ordered = self._series[column].reset_index(drop=True)
        if isinstance(ordered.dtype, pd.CategoricalDtype) and not ordered.cat.ordered:
            rank = np.argsort(np.argsort(ordered.cat.categories.to_numpy()))
            codes = ordered.cat.codes.to_numpy()
            ordered = pd.Series(np.where(codes < 0, np.nan, np.append(rank, -1)[codes]))
        order = ordered.sort_values(ascending=not descending, kind="stable").index
        return np.asarray(order, dtype=np.int64)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; -1 restores the frame's own order."""
        if column < 0:
            self.set_order(None)
        else:
            self.set_order(self.order_by(column, order == Qt.SortOrder.DescendingOrder))


class TableView(QTableView):
    """A table with fixed row heights, no grid but the row rule, and copying."""

    def __init__(self, parent: QWidget | None = None, *, row_numbers: bool = True) -> None:
        super().__init__(parent)
        self.setProperty("framed", True)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setAlternatingRowColors(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        rows = self.verticalHeader()
        rows.setVisible(row_numbers)
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(Space.FIELD)
        rows.setMinimumSectionSize(Space.FIELD)
        rows.setHighlightSections(False)
        rows.setFont(font(12, tabular=True))
        columns = self.horizontalHeader()
        columns.setHighlightSections(False)
        columns.setFixedHeight(Space.FIELD + 4)
        columns.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        columns.setMinimumSectionSize(NARROWEST)

    def setModel(self, model: QAbstractItemModel | None) -> None:
        """Show another model; the one before is deleted if it belongs to this table.

        So are the selections that Qt makes anew for the table and its headers each time, and
        would keep.
        """
        before = self.model()
        super().setModel(model)
        if before is not None and before is not model and before.parent() is self:
            before.deleteLater()
        present, direct = self.selectionModel(), Qt.FindChildOption.FindDirectChildrenOnly
        for view in (self, self.horizontalHeader(), self.verticalHeader()):
            for chosen in view.findChildren(QItemSelectionModel, options=direct):
                if chosen is not present:
                    chosen.deleteLater()

    def fit_columns(self) -> None:
        """Give each column the width that its name and its first rows need."""
        model = self.model()
        if model is None:
            return
        metrics, heading = self.fontMetrics(), self.horizontalHeader().fontMetrics()
        for column in range(model.columnCount()):
            texts = (
                model.index(row, column).data() for row in range(min(model.rowCount(), WIDTH_ROWS))
            )
            widest = max((metrics.horizontalAdvance(str(text)) for text in texts), default=0)
            name = str(model.headerData(column, Qt.Orientation.Horizontal))
            needed = max(widest, heading.horizontalAdvance(name) + 16) + 28
            self.setColumnWidth(column, min(max(math.ceil(needed), NARROWEST), WIDEST))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy the selection on the platform's copy keys."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def copy(self) -> bool:
        """Copy the selected cells as tab-separated text; return whether there were any."""
        chosen = self.selectionModel()
        if chosen is None:
            return False
        parts = list(chosen.selection())  # type: ignore[call-overload]
        if not 0 < sum(part.width() * part.height() for part in parts) <= COPIED_CELLS:
            return False
        rows = sorted({row for part in parts for row in range(part.top(), part.bottom() + 1)})
        columns = sorted({at for part in parts for at in range(part.left(), part.right() + 1)})
        model = self.model()
        lines = ("\t".join(str(model.index(r, c).data() or "") for c in columns) for r in rows)
        QGuiApplication.clipboard().setText("\n".join(lines))
        return True
