"""What values of a file mean that the domain does not have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QWidget

from sfumato.engine.core.columns import Domain, Value
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.adoption.wording import tr
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import Card

_OPEN = -1


class Meanings(Card):
    """For each value that is not known, a choice of the domain's values."""

    changed = Signal()
    """Every value has a meaning now."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            tr("What do these values mean?"),
            tr("The file has values that the domain does not have."),
            parent,
        )
        self._form = QFormLayout()
        self._form.setHorizontalSpacing(Space.BETWEEN)
        self._form.setVerticalSpacing(Space.TIGHT)
        self.body.addLayout(self._form)
        self.fields: dict[tuple[str, str], ChoiceField] = {}
        self._domains: dict[str, Domain] = {}
        self.hide()

    @property
    def values(self) -> dict[str, tuple[tuple[str, Value], ...]]:
        """The meanings that were given, by attribute."""
        given: dict[str, list[tuple[str, Value]]] = {}
        for (attribute, text), field in self.fields.items():
            code = field.value
            if isinstance(code, int) and code != _OPEN:
                value = self._domains[attribute].values[code]
                given.setdefault(attribute, []).append((text, value))
        return {attribute: tuple(pairs) for attribute, pairs in given.items()}

    def forget(self) -> None:
        """Ask for nothing any more: another file or column was chosen."""
        while self._form.rowCount():
            self._form.removeRow(0)
        self.fields.clear()
        self.hide()

    def ask(self, unknown: Mapping[str, tuple[str, ...]], domains: Mapping[str, Domain]) -> None:
        """Ask what values mean, beside those asked before."""
        self._domains.update(domains)
        for attribute, texts in unknown.items():
            names = domains[attribute].names
            choices = [(_OPEN, tr("choose…")), *enumerate(names)]
            for text in texts:
                if (attribute, text) not in self.fields:
                    field = ChoiceField(choices, self)
                    field.setAccessibleName(tr("Meaning of {value}", value=text))
                    field.chosen.connect(partial(self._tell))
                    self.fields[attribute, text] = field
                    self._form.addRow(text, field)
        self.setVisible(bool(self.fields))

    def _tell(self, _value: object) -> None:
        if all(field.value != _OPEN for field in self.fields.values()):
            self.changed.emit()
