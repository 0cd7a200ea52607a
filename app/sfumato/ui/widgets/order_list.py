"""A list of texts that a person puts in order."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QWidget

from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.widgets.layout import boxed, button, column, fill, label, row, tool
from sfumato.ui.widgets.responsive import FlowLayout

MOST = 500
"""More values than these are not put in order by hand."""


class OrderList(QWidget):
    """A list whose rows are dragged, or moved by buttons; empty where the order is natural.

    Parameters
    ----------
    caption
        What is put in order; values where nothing is said.
    """

    changed = Signal()

    def __init__(self, caption: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._natural: list[str] = []
        self._kept: tuple[str, ...] = ()
        self.list = QListWidget()
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.list.setProperty("framed", True)
        self.list.setUniformItemSizes(True)
        self.list.setMinimumHeight(scaled(140))
        words = caption or self.tr("The values in their order")
        self.list.setAccessibleName(words)
        self.list.model().rowsMoved.connect(lambda *_: self.changed.emit())
        self.list.currentRowChanged.connect(lambda _row: self._allow())
        self.up = tool("up", self.tr("Move up"), lambda: self._move(-1))
        self.down = tool("down", self.tr("Move down"), lambda: self._move(1))
        self.natural = button(self.tr("Natural order"), self._restore, "quiet")
        self.natural.setAutoDefault(False)
        self.caption = label(words, "small")
        words = self.tr(
            "The values are too many to be put in order by hand. They stand in their natural"
            " order: numbers by size, texts by the alphabet."
        )
        self.too_many = label(words, "muted", wrap=True)
        self.too_many.hide()
        whole = column(spacing=Space.TIGHT)
        moving = boxed(row(self.natural, self.up, self.down, spacing=2))
        fill(whole, FlowLayout(self.caption, moving, apart=1), (self.list, 1), self.too_many)
        self.setLayout(whole)
        self._allow()

    def show_order(self, order: Sequence[str], texts: Sequence[str]) -> None:
        """Show texts, those of `order` first, the others as they come naturally."""
        self._natural = list(texts)
        known = set(self._natural)
        first = [text for text in order if text in known]
        listed = set(first)
        shown = [*first, *(text for text in self._natural if text not in listed)]
        many = len(shown) > MOST
        self._kept = tuple(order) if many else ()
        self.list.clear()
        if not many:
            self.list.addItems(shown)
        for widget in (self.list, self.up, self.down, self.natural):
            widget.setVisible(not many)
        self.too_many.setVisible(many)
        self._allow()

    @property
    def order(self) -> tuple[str, ...]:
        """The texts in their order; none where that is the natural one."""
        if self._kept:
            return self._kept
        shown = [self.list.item(place).text() for place in range(self.list.count())]
        return () if shown == self._natural else tuple(shown)

    def _allow(self) -> None:
        place = self.list.currentRow()
        self.up.setEnabled(place > 0)
        self.down.setEnabled(0 <= place < self.list.count() - 1)

    def _move(self, by: int) -> None:
        place = self.list.currentRow()
        item = self.list.takeItem(place)
        self.list.insertItem(place + by, item)
        self.list.setCurrentRow(place + by)
        self.changed.emit()

    def _restore(self) -> None:
        self.list.clear()
        self.list.addItems(self._natural)
        self.changed.emit()
