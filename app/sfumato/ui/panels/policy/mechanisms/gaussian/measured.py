"""Where the size of the noise comes from: measured in the table with noise, or stated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.gaussian.mechanism import MECHANISM
from sfumato.engine.mechanisms.gaussian.noisy_covariance import usual_epsilon
from sfumato.engine.mechanisms.gaussian.promise import measured_sentence
from sfumato.engine.mechanisms.gaussian.settings import Measured
from sfumato.engine.table.table import Attribute
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.fields import NumberField, Segments
from sfumato.ui.widgets.layout import ElidedLabel, boxed, button, label, row, set_look
from sfumato.ui.widgets.responsive import ResponsiveRow

_WIDE: Final = 640
"""From this width on, the choice and its field stand side by side; pixels."""
_RANGE: Final = (0.001, 20.0)
_FIELD: Final = 120


class MeasureChoice(QWidget):
    """Shows where the covariance of the noise comes from, and tells what is wanted instead."""

    measured = Signal(float)
    """Measure it in the table again, with this ε0."""
    spreads_stated = Signal(object)
    """The spreads that the person states, by attribute."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names: tuple[str, ...] = ()
        self.source = Segments(
            [(Measured.NOISY, tr("Measured with noise")), (Measured.STATED, tr("Stated"))], self
        )
        self.source.setAccessibleName(tr("Where the size of the noise comes from"))
        self.source.chosen.connect(self._choose)
        self.epsilon = NumberField(*_RANGE, decimals=3, show_range=False, parent=self)
        self.epsilon.spin.setAccessibleName(tr("ε0 of the size of the noise"))
        self.epsilon_name = label("ε0", "muted")
        self.epsilon_name.setToolTip(
            tr(
                "How much the size of the noise may disclose of one record. It multiplies anyone's"
                " odds by at most e^ε0; a smaller ε0 measures the size less exactly."
            )
        )
        self.again = button(tr("Measure again"), self._measure)
        self.words = label("", "muted", wrap=True)
        self._stated = QWidget(self)
        self._grid = QGridLayout(self._stated)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(Space.BETWEEN)
        self.fields: dict[str, NumberField] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.INSIDE)
        choice = ResponsiveRow(_WIDE, parent=self)
        choice.add(boxed(row(label(tr("Size of the noise"), "caption"), self.source, None)), 0)
        choice.add(boxed(row(self.epsilon_name, self.epsilon, self.again, None)))
        column.addWidget(choice)
        column.addWidget(self._stated)
        column.addWidget(self.words)

    def show_settings(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        """Show where an entry's covariance comes from."""
        names = tuple(attribute.name for attribute in attributes)
        if names != self._names:
            self._rebuild(names)
        try:
            read = MECHANISM.read(attributes, settings)
        except SfumatoError:
            self._arrange(Measured.NOISY)
            return
        noisy = read.measured is not Measured.STATED
        self.source.set_value(Measured.NOISY if noisy else Measured.STATED)
        known = noisy and math.isfinite(read.epsilon)
        numbers = attributes[0].numbers
        usual = usual_epsilon(0 if numbers is None else len(numbers), len(attributes))
        self.epsilon.set_value(read.epsilon if known else usual)
        for name, spread in zip(names, read.spreads.tolist(), strict=True):
            self.fields[name].set_value(float(f"{spread:.6g}"))
        words = typeset(measured_sentence(names, read))
        unasked = tr("The table is not used, so the size of the noise discloses nothing about it.")
        self.words.setText(words or unasked)
        set_look(self.words, "danger" if read.measured is Measured.EXACT else "muted")
        self._arrange(Measured.NOISY if noisy else Measured.STATED)

    def say_problem(self, words: str) -> None:
        """Say why it can't be measured or stated so."""
        self.words.setText(words)
        set_look(self.words, "danger")

    def _rebuild(self, names: tuple[str, ...]) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._names, self.fields = names, {}
        for line, name in enumerate(names):
            field = NumberField(1e-9, 1e15, decimals=6, show_range=False)
            field.spin.setFixedWidth(_FIELD)
            field.spin.setAccessibleName(tr("Spread of {name}", name=name))
            field.value_changed.connect(lambda _value: self._state())
            self._grid.addWidget(ElidedLabel(tr("Spread of {name}", name=name)), line, 0)
            self._grid.addWidget(field, line, 1)
            self.fields[name] = field
        self._grid.setColumnStretch(2, 1)

    def _arrange(self, source: Measured) -> None:
        noisy = source is Measured.NOISY
        for widget in (self.epsilon_name, self.epsilon, self.again):
            widget.setVisible(noisy)
        self._stated.setVisible(not noisy)

    def _choose(self, source: object) -> None:
        chosen = Measured(str(source))
        self._arrange(chosen)
        if chosen is Measured.NOISY:
            self._measure()
            return
        self.words.setText(
            tr(
                "Enter spreads that are known without this table, for instance from published"
                " statistics. Each column's noise is then drawn independently."
            )
        )

    def _measure(self) -> None:
        self.measured.emit(self.epsilon.value)

    def _state(self) -> None:
        stated: Mapping[str, float] = {name: field.value for name, field in self.fields.items()}
        self.spreads_stated.emit(stated)
