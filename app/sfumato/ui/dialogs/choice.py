"""Asks for one of a few ways forward, where undo can't help."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QDialogButtonBox, QWidget

from sfumato.ui.dialogs.base import Dialog


class ChoiceDialog(Dialog):
    """Offers a few ways forward, the first of them the primary one.

    Parameters
    ----------
    title, text
        What is to be decided.
    ways
        Pairs of a name that `chosen` gives back and the button's text.
    """

    def __init__(
        self,
        title: str,
        text: str,
        ways: Sequence[tuple[str, str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(title, text, parent)
        self.chosen = ""
        (first, words), *others = ways
        self.add_cancel()
        for name, other_words in others:
            made = self.buttons.addButton(other_words, QDialogButtonBox.ButtonRole.DestructiveRole)
            made.setAutoDefault(False)
            made.clicked.connect(lambda _checked=False, name=name: self._choose(name))
        self._first = first
        self.add_primary(words)

    def accept(self) -> None:
        """Close with what was chosen; without a choice, with the first way."""
        self.chosen = self.chosen or self._first
        super().accept()

    def _choose(self, name: str) -> None:
        self.chosen = name
        self.accept()
