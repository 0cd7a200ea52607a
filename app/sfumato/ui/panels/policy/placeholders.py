"""What stands in the place of the controls while there is nothing to control."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.engine.mechanisms import mechanism_called
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.policy.mechanisms.cards import ChoiceCard
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.layout import EmptyState, button, row

CARDS_WIDTH: Final = 420


class NothingSensitive(EmptyState):
    """No column is marked as sensitive."""

    attributes_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            "policy",
            tr("Nothing is marked as sensitive yet"),
            tr(
                "A policy protects what nobody may learn about a person: a diagnosis, an income,"
                " an occupation. Mark such a column as sensitive first."
            ),
            parent,
        )
        self.go = self.add_button(
            button(tr("Go to Attributes"), self.attributes_asked.emit, "primary")
        )


class Unprotected(EmptyState):
    """A sensitive attribute has no mechanism yet: those that suit are offered."""

    mechanism_chosen = Signal(str)
    """The person wants this mechanism, by its name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("shield", "", "", parent)
        self._mechanisms: tuple[tuple[str, str], ...] = ()
        self.protect = self.add_button(
            button(tr("Protect it"), self._choose_first, "primary", "shield")
        )
        self.cards: tuple[ChoiceCard, ...] = ()
        self._choices = QWidget(self)
        self._choices.setFixedWidth(CARDS_WIDTH)
        self._list = QVBoxLayout(self._choices)
        self._list.setContentsMargins(0, 0, 0, 0)
        self._list.setSpacing(Space.INSIDE)
        self._column.insertLayout(self._column.count() - 1, row(None, self._choices, None))

    def show_attribute(self, attribute: str, mechanisms: Sequence[tuple[str, str]]) -> None:
        """Offer the mechanisms that suit, given as (name, title)."""
        self.heading.setText(tr("{attribute} is not protected yet", attribute=attribute))
        several = len(mechanisms) > 1
        self.protect.setVisible(not several)
        self.protect.setEnabled(bool(mechanisms))
        self._choices.setVisible(several)
        self.text.setText(self._explanation(mechanisms))
        if several and tuple(mechanisms) != self._mechanisms:
            self._show_cards(mechanisms)
        self._mechanisms = tuple(mechanisms)

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
        for card in self.cards:
            self._list.removeWidget(card)
            card.deleteLater()
        self.cards = tuple(self._card(name, title) for name, title in mechanisms)
        for card in self.cards:
            self._list.addWidget(card)

    def _card(self, name: str, title: str) -> ChoiceCard:
        card = ChoiceCard(title, self._choices)
        card.setCheckable(False)
        card.show_sentence(spoken(mechanism_called(name).summary))
        card.clicked.connect(partial(self._choose, name))
        return card

    def _choose(self, name: str, _checked: bool = False) -> None:
        self.mechanism_chosen.emit(name)

    def _choose_first(self) -> None:
        self.mechanism_chosen.emit(self._mechanisms[0][0])


class Misfit(EmptyState):
    """An entry does not fit the table or its column's role."""

    attributes_asked = Signal()
    removal_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("danger", "", "", parent)
        self.add_button(button(tr("Go to Attributes"), self.attributes_asked.emit))
        self.drop = self.add_button(button(tr("Take the protection away"), self.removal_asked.emit))

    def show_stale(self, entry: str) -> None:
        """Say that an entry covers a column that is not sensitive."""
        what = tr("{attribute} is not sensitive any more", attribute=entry)
        self._show(what, tr("Mark it as sensitive again, or take its protection away."))
        self.drop.show()

    def show_problem(self, attribute: str, what: str, remedy: str) -> None:
        """Say why a column does not fit its specification."""
        self._show(
            tr("{attribute} does not fit its domain", attribute=attribute),
            f"{what}\n{remedy}".strip(),
        )
        self.drop.hide()

    def show_unfit(self, entry: str, what: str, remedy: str) -> None:
        """Say why an entry's mechanism does not suit its attributes."""
        self._show(
            tr("The protection of {attribute} does not suit it", attribute=entry),
            f"{what}\n{remedy}".strip(),
        )
        self.drop.show()

    def _show(self, what: str, remedy: str) -> None:
        self.heading.setText(what)
        self.text.setText(remedy)
