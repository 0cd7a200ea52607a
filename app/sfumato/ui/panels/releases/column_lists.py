"""Columns that are dragged, or put by keys, into the rows and columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from PySide6.QtCore import QMimeData, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem, QWidget

from sfumato.ui.look.theme import scaled
from sfumato.ui.widgets.layout import button, captioned, column, row
from sfumato.ui.widgets.responsive import ResponsiveRow

KIND: Final = "application/x-sfumato-column"
_HIGH: Final = 112
_WIDE: Final = 520
"""From this width on, the lists stand side by side; pixels at scale 1."""


class ColumnList(QListWidget):
    """Names that can be dragged to another such list, and are taken from one.

    Parameters
    ----------
    name
        What the list is called.
    """

    taken = Signal(str, int)
    """A name was dropped, before the line of this number."""
    asked = Signal(str, str)
    """A key was pressed on a name: the name, and to where."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setProperty("framed", True)
        self.setUniformItemSizes(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.CopyAction)
        self.setFixedHeight(scaled(_HIGH))

    @property
    def names(self) -> tuple[str, ...]:
        """The names, from the top."""
        return tuple(self._name(self.item(place)) for place in range(self.count()))

    @property
    def chosen(self) -> str:
        """The name that is chosen; empty for none."""
        item = self.currentItem()
        return "" if item is None or not item.isSelected() else self._name(item)

    def show_names(self, names: Iterable[str], sizes: Mapping[str, str]) -> None:
        """Show names, with a word on each; the one that was chosen stays so where it is."""
        before = self.chosen
        self.clear()
        for name in names:
            item = QListWidgetItem(f"{name}  ·  {sizes[name]}", self)
            item.setData(Qt.ItemDataRole.UserRole, name)
            item.setSizeHint(QSize(0, scaled(24)))
            if name == before:
                self.setCurrentItem(item)

    def choose(self, name: str) -> None:
        """Choose a name."""
        if name in self.names:
            self.setCurrentRow(self.names.index(name))

    @staticmethod
    def _name(item: QListWidgetItem) -> str:
        return str(item.data(Qt.ItemDataRole.UserRole))

    def mimeTypes(self) -> list[str]:
        """Return what is taken."""
        return [KIND]

    def mimeData(self, items: Sequence[QListWidgetItem]) -> QMimeData:
        """Return what is dragged."""
        data = QMimeData()
        data.setData(KIND, self._name(items[0]).encode())
        return data

    def supportedDropActions(self) -> Qt.DropAction:
        """Return what a drop does: whoever listens moves the name."""
        return Qt.DropAction.CopyAction

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take names, and leave everything else to the window."""
        self.dragMoveEvent(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Take names wherever they are held."""
        if event.mimeData().hasFormat(KIND):
            event.acceptProposedAction()
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        """Tell which name was dropped, and where."""
        if not event.mimeData().hasFormat(KIND):
            event.ignore()
            return
        name = bytes(event.mimeData().data(KIND).data()).decode(errors="replace")
        event.acceptProposedAction()
        self.taken.emit(name, self._place(self.indexAt(event.position().toPoint())))

    def _place(self, index: QModelIndex | QPersistentModelIndex) -> int:
        return index.row() if index.isValid() else self.count()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let R, C and Delete put the chosen name where they say."""
        place = {Qt.Key.Key_R: "rows", Qt.Key.Key_C: "across", Qt.Key.Key_Delete: ""}
        if self.chosen and not event.modifiers() and event.key() in place:
            self.asked.emit(self.chosen, place[Qt.Key(event.key())])
            return
        super().keyPressEvent(event)


class ColumnLists(QWidget):
    """The columns that can be counted by, and those in the table's rows and columns."""

    changed = Signal()
    """The person put a column elsewhere."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._offered: dict[str, str] = {}
        self._down: list[str] = []
        self._across: list[str] = []
        self.free = ColumnList(self.tr("Columns that can be counted by"), self)
        self.rows = ColumnList(self.tr("Columns in the table's rows"), self)
        self.columns = ColumnList(self.tr("Columns in the table's columns"), self)
        self.to_rows = button(self.tr("To rows"), lambda: self._move("rows"))
        self.to_columns = button(self.tr("To columns"), lambda: self._move("across"))
        self.take_out = button(self.tr("Take out"), lambda: self._move(""))
        told = (self.tr("Columns"), self.tr("In the rows"), self.tr("In the columns"))
        self._lists = (self.free, self.rows, self.columns)
        parts = []
        for words, shown, place in zip(told, self._lists, ("", "rows", "across"), strict=True):
            parts.append(captioned(words, shown, "muted"))
            shown.taken.connect(lambda name, at, to=place: self.put(name, to, at))
            shown.asked.connect(self.put)
            shown.itemSelectionChanged.connect(lambda of=shown: self._chosen_in(of))
        buttons = row(self.to_rows, self.to_columns, self.take_out, None)
        self.setLayout(column(ResponsiveRow(_WIDE, *parts, parent=self), buttons))
        self._allow()

    @property
    def down(self) -> tuple[str, ...]:
        """The columns in the rows."""
        return tuple(self._down)

    @property
    def across(self) -> tuple[str, ...]:
        """The columns in the columns."""
        return tuple(self._across)

    def offer(self, offered: Mapping[str, str]) -> None:
        """Offer columns, with a word on each; what was put into the table stays where it can."""
        self._offered = dict(offered)
        self._down = [name for name in self._down if name in offered]
        self._across = [name for name in self._across if name in offered]
        self._show()

    def put(self, name: str, to: str, at: int | None = None) -> None:
        """Put a column into ``rows``, ``across``, or out of the table (empty)."""
        if name not in self._offered:
            return
        target = {"rows": self._down, "across": self._across}.get(to)
        before = target.index(name) if target is not None and name in target else None
        for some in (self._down, self._across):
            if name in some:
                some.remove(name)
        if target is not None:
            place = len(target) if at is None else at - (before is not None and before < at)
            target.insert(place, name)
        self._show()
        shown = {"rows": self.rows, "across": self.columns}.get(to, self.free)
        shown.choose(name)
        self.changed.emit()

    def _show(self) -> None:
        placed = {*self._down, *self._across}
        free = [name for name in self._offered if name not in placed]
        for shown, names in zip(self._lists, (free, self._down, self._across), strict=True):
            shown.show_names(names, self._offered)
        self._allow()

    def _chosen_in(self, shown: ColumnList) -> None:
        """Let one list alone have a chosen name."""
        if shown.chosen:
            for other in self._lists:
                if other is not shown:
                    other.clearSelection()
        self._allow()

    def _chosen(self) -> str:
        return next((shown.chosen for shown in self._lists if shown.chosen), "")

    def _move(self, to: str) -> None:
        name = self._chosen()
        if name:
            self.put(name, to)

    def _allow(self) -> None:
        name = self._chosen()
        self.to_rows.setEnabled(bool(name) and name not in self._down)
        self.to_columns.setEnabled(bool(name) and name not in self._across)
        self.take_out.setEnabled(name in (*self._down, *self._across))
