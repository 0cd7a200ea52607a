"""The recipients as a table: chosen as rows, renamed in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from sfumato.ui.look.theme import font, themes
from sfumato.ui.widgets.tables import TableView

Index = QModelIndex | QPersistentModelIndex
NAME, LEVEL, FIGURE = range(3)
DOT: Final = 10


@dataclass(frozen=True)
class Row:
    """What the table shows of a recipient.

    Parameters
    ----------
    name, note
        As in the document.
    level
        The level for the attribute in sight, in its usual notation.
    figure
        What the level comes to, as text: the odds factor, or the share left open of numbers.
    trust
        From 0 to 1; None where the level is not sound.
    numbers
        Whether the figure is that of numbers.
    """

    name: str
    level: str
    figure: str
    trust: float | None
    note: str
    numbers: bool = False


class RecipientsModel(QAbstractTableModel):
    """Recipients with their levels; names can be edited."""

    renamed = Signal(str, str)
    """(recipient, the name wanted)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[Row, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """What is shown."""
        return self._rows

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show recipients; where only cells changed, selection and scrolling stay."""
        rows = tuple(rows)
        same = [row.name for row in rows] == [row.name for row in self._rows]
        if same:
            self._rows = rows
            if rows:
                end = self.index(len(rows) - 1, FIGURE)
                self.dataChanged.emit(self.index(0, 0), end)
        else:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, FIGURE, FIGURE)

    @property
    def _numbers(self) -> bool:
        return any(row.numbers for row in self._rows)

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of recipients."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else 3

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a cell."""
        row, column = self._rows[index.row()], index.column()
        text = (row.name, row.level, row.figure)[column]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return text
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{text}\n{row.note}".strip() if column == NAME else text
        if role == Qt.ItemDataRole.DecorationRole and column == NAME:
            return _dot(row.trust)
        if role == Qt.ItemDataRole.FontRole and column in (LEVEL, FIGURE):
            return font(tabular=True)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column == FIGURE else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

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
            side = Qt.AlignmentFlag.AlignRight if section == FIGURE else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole and section == FIGURE:
            if self._numbers:
                return self.tr(
                    "The share of the numbers' variance that the best linear estimate leaves open"
                )
            return self.tr("How far a release can multiply anyone's odds on a value, at most (γ)")
        if role == Qt.ItemDataRole.DisplayRole:
            return (
                self.tr("Recipient"),
                self.tr("Level"),
                self.tr("Left open") if self._numbers else self.tr("Odds ×"),
            )[section]
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return what can be done with a cell."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        if index.column() == NAME:
            flags |= Qt.ItemFlag.ItemIsEditable
        return flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Ask for another name; the document decides."""
        if role != Qt.ItemDataRole.EditRole or index.column() != NAME:
            return False
        row, text = self._rows[index.row()], str(value).strip()
        if text != row.name:
            self.renamed.emit(row.name, text)
        return True


def _dot(trust: float | None) -> QPixmap:
    """Return the spot of colour that a trust has everywhere."""
    ratio = 2.0
    pixmap = QPixmap(round(DOT * ratio), round(DOT * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    if trust is not None:
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(themes().current.style.trust_colour(trust)))
        painter.drawEllipse(QRectF(0.5, 0.5, DOT - 1, DOT - 1))
        painter.end()
    return pixmap


class RecipientsTable(TableView):
    """The table of recipients: whole rows are chosen, names edited in place."""

    chosen = Signal(str)
    """A recipient was chosen, by name."""
    removal_asked = Signal()
    """The delete key was pressed."""

    def __init__(self, model: RecipientsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent, row_numbers=False)
        self._quiet = False
        self.setModel(model)
        self.setAccessibleName(self.tr("Recipients"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        header = self.horizontalHeader()
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(LEVEL, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(FIGURE, QHeaderView.ResizeMode.ResizeToContents)
        self.selectionModel().currentRowChanged.connect(self._tell)
        themes().changed.connect(self.viewport().update)

    def recipients_model(self) -> RecipientsModel:
        """Return the model."""
        model = self.model()
        if not isinstance(model, RecipientsModel):
            raise TypeError("the table shows recipients")
        return model

    def select(self, name: str) -> None:
        """Choose a recipient without telling anyone."""
        names = [row.name for row in self.recipients_model().rows]
        if name not in names:
            return
        place = names.index(name)
        if self.currentIndex().row() == place and self.selectionModel().hasSelection():
            return
        self._quiet = True
        self.selectRow(place)
        self._quiet = False

    def edit_name(self, name: str) -> None:
        """Open a recipient's name for editing."""
        names = [row.name for row in self.recipients_model().rows]
        if name in names:
            index = self.recipients_model().index(names.index(name), NAME)
            self.setCurrentIndex(index)
            self.setFocus()
            self.edit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Remove on the delete key, edit on Enter."""
        if event.key() == Qt.Key.Key_Delete:
            self.removal_asked.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.state() == (
            QAbstractItemView.State.NoState
        ):
            self.edit(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _tell(self, now: QModelIndex, _before: QModelIndex) -> None:
        if now.isValid() and not self._quiet:
            self.chosen.emit(self.recipients_model().rows[now.row()].name)
