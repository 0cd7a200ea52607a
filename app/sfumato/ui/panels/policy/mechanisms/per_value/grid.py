"""The grid as a spreadsheet: several cells at once, copy and paste, fill down, clear."""

from __future__ import annotations

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.mechanisms.cells import CellDelegate
from sfumato.ui.panels.policy.mechanisms.per_value.model import (
    DOWN,
    EDITABLE,
    GAMMA,
    HIGH,
    KEPT,
    LOW,
    SHARE,
    UP,
    VALUE,
    LimitsModel,
)
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.tables import TableView

Index = QModelIndex | QPersistentModelIndex
ROWS_IN_SIGHT = 9
NARROWEST = 56
WIDTHS = {SHARE: 68, LOW: 82, HIGH: 82, GAMMA: 60, KEPT: 84, UP: 66, DOWN: 66}


class LimitsGrid(TableView):
    """Shows the limits; what is typed goes to every selected cell."""

    pasted = Signal(str)
    """The clipboard's text should be put in at the current cell."""

    def __init__(self, model: LimitsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent, row_numbers=False)
        self._limits = model
        self.setModel(model)
        self.setAccessibleName(tr("Limits of the values"))
        self.setItemDelegate(CellDelegate(self, self.write))
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.AnyKeyPressed
        )
        self.setSortingEnabled(True)
        header = self.horizontalHeader()
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.setSortIndicatorClearable(True)
        header.setMinimumSectionSize(NARROWEST)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        for column, width in WIDTHS.items():
            self.setColumnWidth(column, width)
        model.modelReset.connect(self.fit_height)
        self.fit_height()

    def fit_height(self) -> None:
        """Take the height of a few rows, however many there are."""
        rows = min(max(self._limits.rowCount(), 4), ROWS_IN_SIGHT)
        self.setFixedHeight(rows * Space.FIELD + Space.FIELD + 4 + 14)

    def selected_places(self) -> list[int]:
        """Return the positions of the values in which a cell is selected, from the top."""
        rows = {index.row() for index in self.selectedIndexes()}
        return [self._limits.place(row) for row in sorted(rows)]

    def show_place(self, place: int, column: int) -> None:
        """Bring a cell into sight and choose it."""
        row = self._limits.row_of(place)
        if row is not None:
            self.setCurrentIndex(self._limits.index(row, column))
            self.scrollTo(self.currentIndex())

    def write(self, index: Index, text: str) -> None:
        """Write a text into every selected cell, or into one where that is not among them."""
        chosen = [at for at in self.selectedIndexes() if at.column() in EDITABLE]
        here = (index.row(), index.column())
        cells = [(at.row(), at.column()) for at in chosen]
        if here not in cells:
            cells = [here]
        self._write(dict.fromkeys(cells, text))

    def fill_down(self) -> None:
        """Copy the top cell of the selection to the ones below, in each column of limits."""
        texts: dict[tuple[int, int], str] = {}
        for column in EDITABLE:
            rows = sorted(at.row() for at in self.selectedIndexes() if at.column() == column)
            if len(rows) > 1:
                top = str(self._limits.index(rows[0], column).data())
                texts.update({(row, column): top for row in rows[1:]})
        self._write(texts)

    def clear_cells(self) -> None:
        """Take the limits of the selected values away, so that they follow the rule."""
        rows = {at.row() for at in self.selectedIndexes()}
        self._write({(row, column): "" for row in rows for column in EDITABLE})

    def paste(self) -> None:
        """Put the clipboard's text in."""
        self.pasted.emit(QGuiApplication.clipboard().text())

    def _write(self, texts: dict[tuple[int, int], str]) -> None:
        if texts:
            self._limits.written.emit(
                {
                    (self._limits.place(row), EDITABLE[column]): text
                    for (row, column), text in texts.items()
                }
            )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Answer the keys of a spreadsheet."""
        fill = event.key() == Qt.Key.Key_D and event.modifiers() == (
            Qt.KeyboardModifier.ControlModifier
        )
        if event.matches(QKeySequence.StandardKey.Paste):
            self.paste()
        elif fill:
            self.fill_down()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.clear_cells()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.state() == (
            QAbstractItemView.State.NoState
        ):
            self.edit(self.currentIndex())
        else:
            super().keyPressEvent(event)
