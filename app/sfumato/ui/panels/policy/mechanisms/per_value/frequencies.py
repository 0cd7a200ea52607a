"""Where the frequencies come from that the limits are solved for, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.per_value.frequency_source import (
    Frequencies,
    FrequencySource,
    frequencies_in,
)
from sfumato.engine.randomness.noisy_statistics import SENSITIVITY_OF_COUNTS, standard_deviation
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.widgets.fields import NumberField, Segments
from sfumato.ui.widgets.layout import boxed, label, row, set_look
from sfumato.ui.widgets.responsive import ResponsiveRow

WIDE: Final = 560
"""From this width on, the choice and its field stand side by side; pixels."""
RANGE: Final = (0.001, 5.0)
SEPARATOR: Final = "; "


class FrequencyChoice(QWidget):
    """Shows where frequencies come from, and tells what the person wants instead."""

    stated = Signal(object)
    """`Frequencies`, without counts where they have to be drawn."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = Frequencies(FrequencySource.EQUAL)
        self._size = 0
        self.source = Segments(
            [
                (FrequencySource.NOISY, tr("Noisy counts")),
                (FrequencySource.EQUAL, tr("All values equal")),
                (FrequencySource.STATED, tr("Stated")),
            ],
            self,
        )
        self.source.setAccessibleName(tr("Where frequencies come from"))
        self.epsilon = NumberField(*RANGE, decimals=3, show_range=False, parent=self)
        self.epsilon.spin.setAccessibleName(tr("ε0 of the noisy counts"))
        self.epsilon_name = label("ε0", "muted")
        self.epsilon_name.setToolTip(
            tr(
                "How much the noisy counts may disclose of one record. It multiplies anyone's odds"
                " by at most e^ε0 and is included in every limit; a smaller ε0 means more noise."
            )
        )
        self.shares = QLineEdit(self)
        self.shares.setAccessibleName(tr("Shares in the order of the domain"))
        self.shares.setPlaceholderText(tr("Shares in the order of the domain, such as 50; 30; 20"))
        self.words = label("", "small", wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.TIGHT)
        choice = ResponsiveRow(WIDE, parent=self)
        choice.add(boxed(row(label(tr("Frequencies"), "muted"), self.source, None)), 0)
        choice.add(boxed(row(self.epsilon_name, self.epsilon, self.shares, None)))
        column.addWidget(choice)
        column.addWidget(self.words)
        self.source.chosen.connect(self._choose)
        self.epsilon.value_changed.connect(self._set_epsilon)
        self.shares.editingFinished.connect(self._state_shares)

    def show_frequencies(self, frequencies: Frequencies, size: int) -> None:
        """Show where the frequencies of so many values come from."""
        self._shown, self._size = frequencies, size
        exact = frequencies.source is FrequencySource.EXACT
        # Solving again would take noisy counts in the place of the exact ones.
        shown = FrequencySource.NOISY if exact else frequencies.source
        self.source.set_value(shown)
        self._arrange(shown)
        if shown is FrequencySource.NOISY:
            self.epsilon.set_value(frequencies.epsilon)
        if frequencies.source is FrequencySource.STATED:
            self.shares.setText(SEPARATOR.join(f"{share:g}" for share in frequencies.shares))
        self._say(_words(frequencies), "danger" if exact else "small")

    def _arrange(self, source: FrequencySource) -> None:
        noisy = source is FrequencySource.NOISY
        self.epsilon.setVisible(noisy)
        self.epsilon_name.setVisible(noisy)
        self.shares.setVisible(source is FrequencySource.STATED)

    def _say(self, words: str, look: str = "small") -> None:
        self.words.setText(words)
        set_look(self.words, look)

    def _choose(self, source: object) -> None:
        chosen = FrequencySource(str(source))
        if chosen is FrequencySource.STATED and not self._shown.shares:
            self._arrange(chosen)
            self._say(tr("Enter shares that are known without this table."))
            self.shares.setFocus()
            return
        self.stated.emit(replace(self._shown, source=chosen))

    def _set_epsilon(self, epsilon: float) -> None:
        if epsilon != self._shown.epsilon or self._shown.source is FrequencySource.EXACT:
            self.stated.emit(Frequencies(FrequencySource.NOISY, epsilon))

    def _state_shares(self) -> None:
        if not self.shares.text().strip():
            return
        texts = self.shares.text().replace("%", " ").replace(",", ".").split(";")
        try:
            shares = [float(text) for text in texts]
            stated = frequencies_in({"frequencies": "stated", "shares": shares})
        except ValueError:
            self._say(tr("The shares must be numbers separated by semicolons."), "danger")
            return
        except SfumatoError as error:
            self._say(" ".join(error_texts(error)), "danger")
            return
        if len(shares) != self._size:
            words = tr(
                "{given} shares for {size} values: one is needed for each.",
                given=len(shares),
                size=self._size,
            )
            self._say(words, "danger")
        elif stated.shares != self._shown.shares:
            self.stated.emit(stated)


def _words(frequencies: Frequencies) -> str:
    """Return what a source means, in plain words."""
    if frequencies.source is FrequencySource.NOISY:
        return tr(
            "Counts of the table with noise of about ± {spread} records, drawn once. The"
            " retention probabilities, which recipients see, disclose at most ε0; every limit"
            " includes it.",
            spread=number(standard_deviation(SENSITIVITY_OF_COUNTS, frequencies.epsilon)),
        )
    if frequencies.source is FrequencySource.EXACT:
        return tr(
            "These limits were solved for the exact counts of the table: anyone who knows all"
            " other records can tell a person's value from the retention probabilities. Solve"
            " them again, or treat all values as equal."
        )
    return tr(
        "The table is not used, so the retention probabilities disclose nothing about anyone."
    )
