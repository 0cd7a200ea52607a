"""What stands in the place of the controls while there is nothing to control."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.engine.mechanisms import mechanism_called
from app.ui.panels.policy.wording import tr
from app.ui.widgets.layout import EmptyState, button


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
    """A sensitive attribute has no mechanism yet."""

    protection_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("shield", "", "", parent)
        self.protect = self.add_button(
            button(tr("Protect it"), self.protection_asked.emit, "primary", "shield")
        )

    def show_attribute(self, attribute: str, mechanisms: Sequence[tuple[str, str]]) -> None:
        """Propose the first of the mechanisms that suit, given as (name, title)."""
        self.heading.setText(tr("{attribute} is not protected yet", attribute=attribute))
        self.protect.setEnabled(bool(mechanisms))
        if mechanisms:
            name, title = mechanisms[0]
            self.text.setText(f"{title}: {tr(mechanism_called(name).summary)}")
        else:
            self.text.setText(
                tr(
                    "This version has no mechanism for numbers. Sort them into bins under"
                    " Attributes; the bins' labels are then released."
                )
            )


class Misfit(EmptyState):
    """An entry does not fit the table or its column's role."""

    attributes_asked = Signal()
    removal_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("danger", "", "", parent)
        self.heading.setWordWrap(True)
        self.add_button(button(tr("Go to Attributes"), self.attributes_asked.emit))
        self.drop = self.add_button(button(tr("Take the protection away"), self.removal_asked.emit))

    def show_stale(self, entry: str) -> None:
        """Say that an entry covers a column that is not sensitive."""
        what = tr("{attribute} is not sensitive any more", attribute=entry)
        self._show(what, tr("Mark it as sensitive again, or take its protection away."))
        self.drop.show()

    def show_problem(self, what: str, remedy: str) -> None:
        """Say why a column does not fit its specification."""
        self._show(what, remedy)
        self.drop.hide()

    def _show(self, what: str, remedy: str) -> None:
        self.heading.setText(what)
        self.text.setText(remedy)
