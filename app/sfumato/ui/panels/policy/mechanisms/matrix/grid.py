"""The matrix as a spreadsheet, with a line of sums that stays in sight below it."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QVBoxLayout,
    QWidget,
)

from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.mechanisms.cells import CellDelegate
from sfumato.ui.panels.policy.mechanisms.matrix.draft import MatrixDraft
from sfumato.ui.panels.policy.mechanisms.matrix.model import EntriesModel, SumsModel
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.layout import label
from sfumato.ui.widgets.tables import TableView

Index = QModelIndex | QPersistentModelIndex
CELL_WIDTH = 92
NAME_WIDTH = 140
ROWS_IN_SIGHT = 10
SCROLL_BAR = 14


class EntriesGrid(TableView):
    """Shows the chances; what is typed goes to every selected cell."""

    pasted = Signal(str)
    """The clipboard's text should be put in."""

    def __init__(self, model: EntriesModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries = model
        self.setModel(model)
        self.setAccessibleName(tr("Transition matrix"))
        self.setItemDelegate(CellDelegate(self, self.write))
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.AnyKeyPressed
        )
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setDefaultSectionSize(CELL_WIDTH)
        self.verticalHeader().setFixedWidth(NAME_WIDTH)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setTextElideMode(Qt.TextElideMode.ElideRight)

    def write(self, index: Index, text: str) -> None:
        """Write a text into every selected cell, or into one where that is not among them."""
        cells = [(at.row(), at.column()) for at in self.selectedIndexes()]
        here = (index.row(), index.column())
        self._entries.written.emit(dict.fromkeys(cells if here in cells else [here], text))

    def show_cell(self, released: int, original: int) -> None:
        """Bring a cell into sight and choose it."""
        self.setCurrentIndex(self._entries.index(released, original))
        self.scrollTo(self.currentIndex())
        self.setFocus()

    def paste(self) -> None:
        """Put the clipboard's text in."""
        self.pasted.emit(QGuiApplication.clipboard().text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Answer the keys of a spreadsheet."""
        if event.matches(QKeySequence.StandardKey.Paste):
            self.paste()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self._entries.written.emit(
                {(at.row(), at.column()): "0" for at in self.selectedIndexes()}
            )
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.state() == (
            QAbstractItemView.State.NoState
        ):
            self.edit(self.currentIndex())
        else:
            super().keyPressEvent(event)


class MatrixGrid(QWidget):
    """The entries and, always in sight below them, the sums of their columns."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries = EntriesModel(self)
        self.sums = SumsModel(self)
        self.grid = EntriesGrid(self.entries, self)
        self.footer = TableView(self)
        self.footer.setModel(self.sums)
        self.footer.setAccessibleName(tr("Sums of the columns"))
        self.footer.horizontalHeader().hide()
        self.footer.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.footer.horizontalHeader().setDefaultSectionSize(CELL_WIDTH)
        self.footer.verticalHeader().setFixedWidth(NAME_WIDTH)
        off = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.footer.setHorizontalScrollBarPolicy(off)
        self.footer.setVerticalScrollBarPolicy(off)
        self.footer.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.footer.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.footer.setFixedHeight(2 * Space.FIELD + 3)
        self.grid.horizontalScrollBar().valueChanged.connect(
            self.footer.horizontalScrollBar().setValue
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.TIGHT)
        column.addWidget(label(tr("Columns: original value. Rows: released value."), "small"))
        column.addWidget(self.grid)
        column.addWidget(self.footer)

    def show_draft(self, draft: MatrixDraft) -> None:
        """Show a matrix."""
        self.entries.show_draft(draft)
        self.sums.show_draft(draft)
        rows = min(max(self.entries.rowCount(), 3), ROWS_IN_SIGHT)
        self.grid.setFixedHeight((rows + 1) * Space.FIELD + SCROLL_BAR + 8)
        self.footer.horizontalScrollBar().setValue(self.grid.horizontalScrollBar().value())
