"""Cells that are typed into as in a spreadsheet; lines, and names side by side, with a tick."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractItemModel, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QGridLayout,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from sfumato.ui.look.theme import Space
from sfumato.ui.widgets.fields import TickAll, WrappedCheckBox
from sfumato.ui.widgets.layout import clear_layout, column
from sfumato.ui.widgets.tables import CellsModel, Index, TableView


class SheetView(TableView):
    """Cells that are typed into as in a spreadsheet: several at once, pasted, filled down, cleared.

    Parameters
    ----------
    model
        What is shown; its `written` tells what is typed.
    name
        What it is called.
    blank
        What clearing writes.
    """

    pasted = Signal(str)
    """The clipboard's text should be put in at the current cell."""

    def __init__(
        self,
        model: CellsModel,
        *,
        name: str = "",
        blank: str = "",
        row_numbers: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent, row_numbers=row_numbers, model=model, name=name)
        self._cells, self._blank = model, blank
        self.setItemDelegate(_SheetDelegate(self))
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.AnyKeyPressed
        )

    def chosen_cells(self) -> list[tuple[int, int]]:
        """Return the selected cells that can be typed into, as (row, column) from the top."""
        editable = Qt.ItemFlag.ItemIsEditable
        return sorted((i.row(), i.column()) for i in self.selectedIndexes() if i.flags() & editable)

    def show_cell(self, row: int, column: int) -> None:
        """Bring a cell into sight and choose it."""
        self.setCurrentIndex(self._cells.index(row, column))
        self.scrollTo(self.currentIndex())
        self.setFocus()

    def write(self, index: Index, text: str) -> None:
        """Write a text into every selected cell, or into one where that is not among them."""
        cells, here = self.chosen_cells(), (index.row(), index.column())
        self._cells.written.emit(dict.fromkeys(cells if here in cells else [here], text))

    def fill_down(self) -> None:
        """Copy the top cell of the selection to those below, in each column."""
        top: dict[int, str] = {}
        texts: dict[tuple[int, int], str] = {}
        for row, across in self.chosen_cells():
            if across in top:
                texts[row, across] = top[across]
            else:
                index = self._cells.index(row, across)
                top[across] = str(index.data(Qt.ItemDataRole.EditRole))
        if texts:
            self._cells.written.emit(texts)

    def clear_cells(self) -> None:
        """Empty the selected cells."""
        cells = self.chosen_cells()
        if cells:
            self._cells.written.emit(dict.fromkeys(cells, self._blank))

    def paste(self) -> None:
        """Put the clipboard's text in."""
        self.pasted.emit(QGuiApplication.clipboard().text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Answer the keys of a spreadsheet."""
        key, idle = event.key(), self.state() == QAbstractItemView.State.NoState
        if event.matches(QKeySequence.StandardKey.Paste):
            self.paste()
        elif key == Qt.Key.Key_D and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self.fill_down()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.clear_cells()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and idle:
            self.edit(self.currentIndex())
        else:
            super().keyPressEvent(event)


class _SheetDelegate(QStyledItemDelegate):
    """Draws a cell on the ground its model gives it, and hands typed text to the sheet."""

    def __init__(self, sheet: SheetView) -> None:
        super().__init__(sheet)
        self._sheet = sheet

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
        if text != before or len(self._sheet.selectedIndexes()) > 1:
            self._sheet.write(index, text)


def sheet_rows(text: str) -> list[list[str]]:
    """Return the cells of what a spreadsheet copied: lines parted by tabs, or by semicolons."""
    lines = [line for line in text.splitlines() if line.strip()]
    separator = "\t" if any("\t" in line for line in lines) else ";"
    return [[cell.strip().strip('"') for cell in line.split(separator)] for line in lines]


def typed_number(text: str) -> float:
    """Return the number that a person typed, NaN for none; shares in per cent are understood."""
    plain = text.strip().replace(",", ".").replace("\u202f", "").replace(" ", "")
    share = plain.removesuffix("%")
    try:
        value = float(share)
    except ValueError:
        return math.nan
    return value / 100 if share != plain else value


class TickedModel(CellsModel):
    """Lines with a name each, and a tick at it; new ones are ticked."""

    ticked = Signal()
    """Another line was ticked, or one was unticked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((), parent)
        self._lines: tuple[str, ...] = ()
        self._left_out: set[str] = set()

    def show_lines(self, names: Sequence[str]) -> None:
        """Show lines of these names."""
        self._lines = tuple(names)
        self.lay_out(len(names))

    def is_ticked(self, name: str) -> bool:
        """Return whether a line is ticked."""
        return name not in self._left_out

    def choose(self, names: Iterable[str]) -> None:
        """Tick these of the lines, and no others."""
        self._left_out = (self._left_out | set(self._lines)) - set(names)
        self.repaint()
        self.ticked.emit()

    def tick_all(self, ticked: bool) -> None:
        """Tick every line, or none."""
        self.choose(self._lines if ticked else ())

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return what can be done with a cell."""
        flags = super().flags(index)
        return flags if index.column() else flags | Qt.ItemFlag.ItemIsUserCheckable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return one aspect of a cell."""
        if role == Qt.ItemDataRole.CheckStateRole and not index.column():
            ticked = self.is_ticked(self._lines[index.row()])
            return Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked
        return super().data(index, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tick or untick a line."""
        if role != Qt.ItemDataRole.CheckStateRole or index.column():
            return super().setData(index, value, role)
        change = set.discard if Qt.CheckState(value) == Qt.CheckState.Checked else set.add
        change(self._left_out, self._lines[index.row()])
        self.dataChanged.emit(index, index)
        self.ticked.emit()
        return True


class TickGrid(QWidget):
    """A box to tick for each of some names; of many, all can be ticked at once.

    Parameters
    ----------
    abreast
        How many stand side by side.
    spacing
        Pixels between their lines.
    none
        Whether none may be ticked at all, where all can be.
    all_at_once
        Whether all can be ticked at once.
    """

    chosen = Signal(object)
    """The person ticked or unticked some: a tuple of the names that are ticked now."""

    def __init__(
        self,
        abreast: int,
        spacing: int = Space.TIGHT,
        *,
        none: bool = True,
        all_at_once: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.boxes: dict[str, WrappedCheckBox] = {}
        self._abreast, self._all_at_once = abreast, all_at_once
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(Space.BETWEEN)
        self._grid.setVerticalSpacing(spacing)
        self._tick_all = TickAll(self._choose_all, self, none)
        self.setLayout(column(self._grid, self._tick_all))

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are ticked."""
        return tuple(name for name, box in self.boxes.items() if box.isChecked())

    def show_names(self, names: Iterable[str], ticked: Container[str]) -> None:
        """Offer names, and tick some of them without telling anyone."""
        offered = list(names)
        if list(self.boxes) != offered:
            clear_layout(self._grid)
            self.boxes.clear()
            for place, name in enumerate(offered):
                box = WrappedCheckBox(name.replace("&", "&&"), self, clicked=self._tell)
                self._grid.addWidget(box, *divmod(place, self._abreast))
                self.boxes[name] = box
            self._tick_all.offer(len(offered) if self._all_at_once else 0)
        for name, box in self.boxes.items():
            box.setChecked(name in ticked)

    def _choose_all(self, ticked: bool) -> None:
        for box in self.boxes.values():
            box.setChecked(ticked)
        self._tell()

    def _tell(self, _ticked: bool = False) -> None:
        self.chosen.emit(self.names)
