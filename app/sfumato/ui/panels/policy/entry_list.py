"""The sensitive attributes, each with the mechanism that protects it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import Document
from sfumato.ui.look.theme import TextSize, font, themes
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.policy.edits import stale_entries
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.icons import draw_icon

HEIGHT: Final = 50
WIDTH: Final = 160


@dataclass(frozen=True)
class Item:
    """One line of the list.

    Parameters
    ----------
    key
        The policy entry's key, or the attribute's name where nothing protects it.
    note
        The mechanism, or what is missing.
    icon, token
        The state's drawing and its colour.
    """

    key: str
    note: str
    icon: str
    token: str


def items_of(document: Document) -> list[Item]:
    """Return a line for each sensitive attribute or what protects it, then what is left over."""
    items: list[Item] = []
    for column in document.sensitive:
        entry = document.entry_for(column.name)
        if entry is None:
            items.append(Item(column.name, tr("Not protected yet"), "step-attention", "caution"))
        elif all(item.key != entry.key for item in items):
            title = spoken(mechanism_called(entry.mechanism).title)
            items.append(Item(entry.key, title, "step-done", "good"))
    items += [
        Item(entry.key, tr("Not sensitive now"), "step-attention", "caution")
        for entry in stale_entries(document)
    ]
    return items


class EntryList(QListWidget):
    """Shows items; one is always chosen."""

    entry_chosen = Signal(str)
    """The person chose an item, by its key."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: tuple[Item, ...] = ()
        self._quiet = False
        self.setFixedWidth(WIDTH)
        self.setProperty("look", "plain")
        self.setItemDelegate(_Delegate(self))
        self.setAccessibleName(self.tr("Sensitive attributes"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.currentRowChanged.connect(self._tell)

    def show_items(self, items: Sequence[Item], chosen: str) -> None:
        """Show items and choose one, without telling anyone."""
        self._quiet = True
        if tuple(items) != self._items:
            self._items = tuple(items)
            self.clear()
            for item in items:
                line = QListWidgetItem(item.key)
                line.setData(Qt.ItemDataRole.UserRole, item)
                line.setToolTip(f"{item.key}: {item.note}")
                line.setData(Qt.ItemDataRole.AccessibleTextRole, f"{item.key}, {item.note}")
                self.addItem(line)
        keys = [item.key for item in items]
        self.setCurrentRow(keys.index(chosen) if chosen in keys else 0)
        self._quiet = False

    def _tell(self, place: int) -> None:
        if not self._quiet and 0 <= place < len(self._items):
            self.entry_chosen.emit(self._items[place].key)


class _Delegate(QStyledItemDelegate):
    """Draws an item's state, name and note."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        del option, index
        return QSize(WIDTH, HEIGHT)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        item = index.data(Qt.ItemDataRole.UserRole)
        theme = themes().current
        area = QRectF(option.rect).adjusted(0, 2, 0, -2)
        state = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if state & QStyle.StateFlag.State_Selected:
            painter.setBrush(QColor(theme.selected))
            painter.drawRoundedRect(area, 6, 6)
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(area, 6, 6)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QColor(theme.style.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area.adjusted(1, 1, -1, -1), 6, 6)
        draw_icon(painter, item.icon, item.token, QRectF(area.left() + 10, area.top() + 7, 16, 16))
        texts = area.adjusted(32, 5, -6, -6)
        for text, face, colour, where in (
            (item.key, font(strong=True), theme.style.text, Qt.AlignmentFlag.AlignTop),
            (item.note, font(TextSize.SMALL), theme.style.muted, Qt.AlignmentFlag.AlignBottom),
        ):
            painter.setFont(face)
            painter.setPen(QColor(colour))
            shown = QFontMetricsF(face).elidedText(text, Qt.TextElideMode.ElideRight, texts.width())
            painter.drawText(texts, int(where | Qt.AlignmentFlag.AlignLeft), shown)
        painter.restore()
