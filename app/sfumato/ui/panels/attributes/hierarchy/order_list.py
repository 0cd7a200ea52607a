"""The values of a column in an order that the person can change."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QToolButton, QWidget

from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies import value_text
from sfumato.ui.look.theme import Space
from sfumato.ui.widgets.icons import themed_icon
from sfumato.ui.widgets.layout import button, column, label, row

MOST = 500
"""More values than these are not put in order by hand."""


class OrderList(QWidget):
    """A list whose rows are dragged, or moved by buttons; empty where the order is natural."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._natural: list[str] = []
        self._kept: tuple[str, ...] = ()
        self.list = QListWidget()
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.list.setProperty("framed", True)
        self.list.setUniformItemSizes(True)
        self.list.setMinimumHeight(140)
        self.list.setAccessibleName(self.tr("The values in their order"))
        self.list.model().rowsMoved.connect(lambda *_: self.changed.emit())
        self.list.currentRowChanged.connect(lambda _row: self._allow())
        self.up = self._tool("up", self.tr("Move up"), -1)
        self.down = self._tool("down", self.tr("Move down"), 1)
        self.natural = button(self.tr("Natural order"), self._restore, "quiet")
        self.natural.setAutoDefault(False)
        self.caption = label(self.tr("The values in their order"), "small")
        self.too_many = label("", "muted", wrap=True)
        self.too_many.hide()
        whole = column(spacing=Space.TIGHT)
        whole.addLayout(row(self.caption, None, self.natural, self.up, self.down, spacing=2))
        whole.addWidget(self.list, 1)
        whole.addWidget(self.too_many)
        self.setLayout(whole)
        self._allow()

    def _tool(self, icon: str, words: str, by: int) -> QToolButton:
        made = QToolButton(self)
        made.setIcon(themed_icon(icon))
        made.setToolTip(words)
        made.setAccessibleName(words)
        made.clicked.connect(lambda _checked=False: self._move(by))
        return made

    def show_order(self, order: Sequence[str], values: Sequence[Value]) -> None:
        """Show values, those of `order` first, the others as they come naturally."""
        self._natural = [value_text(value) for value in values if value is not None]
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
        self.too_many.setText(
            self.tr(
                "The values are too many to be put in order by hand. They stand in their natural"
                " order: numbers by size, texts by the alphabet."
            )
        )
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
