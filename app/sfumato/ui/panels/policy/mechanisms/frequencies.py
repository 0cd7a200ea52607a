"""Where the frequencies come from that settings follow from, and what each source discloses."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.frequency_source import Frequencies, FrequencySource, frequencies_in
from sfumato.engine.randomness.noisy_statistics import SENSITIVITY_OF_COUNTS, standard_deviation
from sfumato.formats.language import grouped, localized
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.mechanisms.base import error_words
from sfumato.ui.panels.policy.mechanisms.controls import SourceChoice
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.fields import prompt, text_field


@dataclass(frozen=True)
class FrequencyWords:
    """What a mechanism says of its frequencies, marked for translation and not translated yet.

    Parameters
    ----------
    cost
        What ε0 of noisy counts means.
    noisy
        What noisy counts are and disclose; ``{spread}`` stands for their standard deviation.
    unasked
        What it means that the table is not used.
    exact
        What is wrong with exact counts; empty where there can be none.
    """

    cost: object
    noisy: object
    unasked: object
    exact: object = ""


class FrequencyChoice(SourceChoice):
    """Where frequencies come from, and what that costs."""

    stated = Signal(object)
    """`Frequencies`, without counts where they have to be drawn."""

    def __init__(self, words: FrequencyWords, parent: QWidget | None = None) -> None:
        self._texts = words
        shares = text_field(name=tr("Shares in the order of the domain"), given=self._state_shares)
        super().__init__(
            tr("Frequencies"),
            tr("Where frequencies come from"),
            [
                (FrequencySource.NOISY, tr("Noisy counts")),
                (FrequencySource.EQUAL, tr("All values equal")),
                (FrequencySource.STATED, tr("Stated")),
            ],
            ((0.001, 5.0), tr("ε0 of the noisy counts"), tr(str(words.cost))),
            stated=shares,
            parent=parent,
        )
        self._shown = Frequencies(FrequencySource.EQUAL)
        self._size = 0
        self.shares = shares
        prompt(shares, tr("Shares in the order of the domain, such as 50; 30; 20"))
        self.source.chosen.connect(self._choose)
        self.measured.connect(self._set_epsilon)

    def show_frequencies(self, frequencies: Frequencies, size: int) -> None:
        """Show where the frequencies of so many values come from."""
        self._shown, self._size = frequencies, size
        exact = frequencies.source is FrequencySource.EXACT
        # Solving again would take noisy counts in the place of the exact ones.
        shown = FrequencySource.NOISY if exact else frequencies.source
        self.arrange(shown)
        if shown is FrequencySource.NOISY:
            self.epsilon.set_value(frequencies.epsilon)
        if frequencies.source is FrequencySource.STATED:
            self.shares.setText("; ".join(localized(f"{share:g}") for share in frequencies.shares))
        self.say(self._words(frequencies), "danger" if exact else "muted")

    def _choose(self, source: object) -> None:
        chosen = FrequencySource(str(source))
        if chosen is FrequencySource.STATED and not self._shown.shares:
            self.arrange(chosen)
            self.say(tr("Enter shares that are known without this table."))
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
            self.say(tr("The shares must be numbers separated by semicolons."), "danger")
            return
        except SfumatoError as error:
            self.say(error_words(error), "danger")
            return
        if len(shares) != self._size:
            words = tr(
                "{given} {given:share|shares} for {size} {size:value|values}: one is needed for"
                " each.",
                given=grouped(len(shares)),
                size=grouped(self._size),
            )
            self.say(words, "danger")
        elif stated.shares != self._shown.shares:
            self.stated.emit(stated)

    def _words(self, frequencies: Frequencies) -> str:
        """Return what a source means, in plain words."""
        if frequencies.source is FrequencySource.NOISY:
            spread = standard_deviation(SENSITIVITY_OF_COUNTS, frequencies.epsilon)
            return tr(str(self._texts.noisy), spread=number(spread))
        exact = frequencies.source is FrequencySource.EXACT
        return tr(str(self._texts.exact if exact else self._texts.unasked))
