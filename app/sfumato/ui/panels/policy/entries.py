"""The list of sensitive attributes, and what is shown where an entry can't be edited."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from sfumato.analysis.steps import stale_entries
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import Document
from sfumato.ui.look.theme import TextSize, font, scaled, themes
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.policy.mechanisms.controls import ChoiceCard
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.icons import draw_icon
from sfumato.ui.widgets.layout import EmptyState, boxed, button, clear_layout, column, row
from sfumato.ui.widgets.painted import draw_text
from sfumato.ui.widgets.tables import Index

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


def items_of(
    document: Document, empty: Container[str] = (), refused: Container[str] = ()
) -> list[Item]:
    """Return a line for each sensitive attribute or what protects it, then what is left over.

    `empty` are the entries, by their keys, that promise a recipient nothing; of those `refused`
    nothing can be released.
    """
    items: list[Item] = []
    for name in (sensitive.name for sensitive in document.sensitive):
        entry = document.entry_for(name)
        if entry is None:
            items.append(Item(name, tr("Not protected yet"), "step-attention", "caution"))
        elif any(item.key == entry.key for item in items):
            continue
        elif entry.key in refused:
            items.append(Item(entry.key, tr("Can't be released"), "step-attention", "caution"))
        elif entry.key in empty:
            items.append(Item(entry.key, tr("Not hidden from all"), "danger", "danger"))
        else:
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
        self.setFixedWidth(scaled(WIDTH))
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

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        del option, index
        return QSize(scaled(WIDTH), scaled(HEIGHT))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
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
        side = scaled(16)
        sign = QRectF(area.left() + 10, area.top() + 7, side, side)
        draw_icon(painter, item.icon, item.token, sign)
        texts = area.adjusted(side + 16, 5, -6, -6)
        sides = Qt.AlignmentFlag
        for text, face, colour, side in (
            (item.key, font(strong=True), theme.style.text, sides.AlignTop),
            (item.note, font(TextSize.SMALL), theme.style.muted, sides.AlignBottom),
        ):
            draw_text(painter, texts, text, face, colour, side | sides.AlignLeft)
        painter.restore()


CARDS_WIDTH: Final = 420


def nothing_sensitive(go: Callable[[], object], parent: QWidget) -> EmptyState:
    """Return what is shown while no column is marked as sensitive."""
    return EmptyState(
        "policy",
        tr("Nothing is marked as sensitive yet"),
        tr(
            "A policy protects what nobody may learn about a person: a diagnosis, an income,"
            " an occupation. Mark such a column as sensitive first."
        ),
        parent,
        button(tr("Go to Attributes"), go, "primary"),
    )


class Unprotected(EmptyState):
    """A sensitive attribute has no mechanism yet: those that suit are offered."""

    mechanism_chosen = Signal(str)
    """The person wants this mechanism, by its name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("shield", "", "", parent)
        self._mechanisms: tuple[tuple[str, str], ...] = ()
        self._recommended = ("", "")
        self.protect = self.add_button(
            button(tr("Protect it"), self._choose_first, "primary", "shield")
        )
        self.cards: tuple[ChoiceCard, ...] = ()
        self._list = column()
        self._choices = boxed(self._list, self)
        self._choices.setMaximumWidth(scaled(CARDS_WIDTH))
        line = row(None, self._choices, None)
        line.setStretch(1, 1000)
        self._column.insertLayout(self._column.count() - 1, line)

    def show_attribute(
        self,
        attribute: str,
        mechanisms: Sequence[tuple[str, str]],
        recommended: tuple[str, str] = ("", ""),
    ) -> None:
        """Offer the mechanisms that suit, given as (name, title), and say which suits best, why."""
        self.heading.setText(tr("{attribute} is not protected yet", attribute=attribute))
        several = len(mechanisms) > 1
        self.protect.setVisible(not several)
        self.protect.setEnabled(bool(mechanisms))
        self._choices.setVisible(several)
        self.text.setText(self._explanation(mechanisms))
        if (tuple(mechanisms), recommended) != (self._mechanisms, self._recommended):
            self._mechanisms, self._recommended = tuple(mechanisms), recommended
            if several:
                self._show_cards(mechanisms)

    def _explanation(self, mechanisms: Sequence[tuple[str, str]]) -> str:
        if len(mechanisms) > 1:
            return tr("How should its values be hidden? You can change this later.")
        if mechanisms:
            name, title = mechanisms[0]
            return f"{title}: {spoken(mechanism_called(name).summary)}"
        return tr(
            "This version has no mechanism for a column of this kind. Read it as categories or as"
            " numbers under Attributes."
        )

    def _show_cards(self, mechanisms: Sequence[tuple[str, str]]) -> None:
        clear_layout(self._list)
        self.cards = tuple(self._card(name, title) for name, title in mechanisms)
        for card in self.cards:
            self._list.addWidget(card)

    def _card(self, name: str, title: str) -> ChoiceCard:
        best, why = self._recommended
        recommended = tr("{mechanism} (recommended)", mechanism=title)
        card = ChoiceCard(recommended if name == best else title, self._choices)
        card.setCheckable(False)
        summary = spoken(mechanism_called(name).summary)
        card.show_sentence(f"{typeset(why)}\n{summary}" if name == best else summary)
        card.clicked.connect(lambda _checked=False: self.mechanism_chosen.emit(name))
        return card

    def _choose_first(self) -> None:
        self.mechanism_chosen.emit(self._mechanisms[0][0])


class Misfit(EmptyState):
    """An entry does not fit the table or its column's role."""

    attributes_asked = Signal()
    removal_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("danger", "", "", parent)
        self.add_button(button(tr("Go to Attributes"), self.attributes_asked.emit))
        self.drop = self.add_button(button(tr("Remove the protection"), self.removal_asked.emit))

    def show_stale(self, entry: str) -> None:
        """Say that an entry covers a column that is not sensitive."""
        remedy = tr("Mark it as sensitive again, or remove its protection.")
        self._show(tr("{attribute} is no longer sensitive", attribute=entry), remedy)

    def show_problem(self, attribute: str, *why: str) -> None:
        """Say why a column does not fit its specification: what is wrong, and what to do."""
        self._show(tr("{attribute} does not fit its domain", attribute=attribute), *why)
        self.drop.hide()

    def show_unfit(self, entry: str, *why: str) -> None:
        """Say why an entry's mechanism does not suit its attributes, and what to do."""
        self._show(tr("The protection of {attribute} does not suit it", attribute=entry), *why)

    def _show(self, what: str, *why: str) -> None:
        self.heading.setText(what)
        self.text.setText("\n".join(filter(None, why)))
        self.drop.show()
