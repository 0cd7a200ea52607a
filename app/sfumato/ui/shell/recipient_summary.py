"""How one recipient stands, on the guarantee card: a verdict, one sentence, and three gauges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QCoreApplication, QRect, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from sfumato.analysis.verdicts import Standing
from sfumato.ui.look.theme import Space, TextSize, font
from sfumato.ui.look.wording import filled_in, parted, typeset, unmarked
from sfumato.ui.panels.policy.board.words import GaugeText
from sfumato.ui.state.weighing import LOOKS
from sfumato.ui.widgets.layout import ElidedLabel, button, column, label, row, set_look
from sfumato.ui.widgets.painted import IconLabel

_LINES: Final = 3
"""For a sentence of so many lines there is always room, so that nothing below it moves; for more
where the promise needs them, which another sentence may take the place of."""


def counted(standing: Standing, count: int) -> str:
    """Return how many recipients stand so, in words."""
    words = {
        Standing.DANGER: QCoreApplication.translate("GuaranteeCard", "{count} in danger"),
        Standing.WORTHLESS: QCoreApplication.translate("GuaranteeCard", "{count} worthless"),
        Standing.CAUTION: QCoreApplication.translate("GuaranteeCard", "{count} with cautions"),
        Standing.GOOD: QCoreApplication.translate("GuaranteeCard", "{count} in order"),
    }
    return filled_in(words[standing], count=count)


class RecipientSummary(QWidget):
    """A recipient's name and verdict, one sentence, three gauges, and the way to all lines."""

    asked = Signal(str)
    """All that is promised to this recipient is to be shown, or no more."""

    def __init__(self, recipient: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.recipient = recipient
        self.standing: Standing | None = None
        self._icon = IconLabel("step-empty", "muted", 16)
        self._name = ElidedLabel(recipient, "strong")
        self._word = label("", "muted")
        self.sentence = label("", wrap=True)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._longest = ""
        self._reserve()
        self._gauges = [_GaugeLine() for _ in range(3)]
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(Space.INSIDE)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        for at, gauge in enumerate(self._gauges):
            grid.addWidget(gauge.icon, at, 0)
            grid.addWidget(gauge.name, at, 1)
            grid.addWidget(gauge.value, at, 2)
        self.why = button(self.tr("Why?"), lambda: self.asked.emit(self.recipient), "quiet")
        head = row(self._icon, self._name, self._word, wide=1)
        self.setLayout(column(head, self.sentence, grid, row(None, self.why), spacing=Space.TIGHT))
        self.unfold(False)

    @property
    def looks(self) -> tuple[str, ...]:
        """The colours of the three gauges."""
        return tuple(each.look for each in self._gauges)

    def show_verdict(
        self, standing: Standing | None, word: str, sentence: str, longest: str = ""
    ) -> None:
        """Show how the recipient stands; None where that is not known.

        There is room for the `longest` sentence that may stand there next.
        """
        self.standing = standing
        look = "muted" if standing is None else LOOKS[standing]
        self._icon.show_icon("step-empty" if standing is None else look, look)
        self._word.setText(word)
        set_look(self._word, "danger" if look == "danger" else "muted")
        self.sentence.setText(typeset(sentence))
        self._longest = longest
        self._reserve()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep as much room as the sentences need at another width."""
        super().resizeEvent(event)
        self._reserve()

    def _reserve(self) -> None:
        metrics = QFontMetrics(font())
        least, width = _LINES * metrics.lineSpacing(), self.sentence.width()
        wrapped = Qt.TextFlag.TextWordWrap.value
        needed = max(
            metrics.boundingRect(QRect(0, 0, width, 0), wrapped, parted(unmarked(text))).height()
            for text in (self.sentence.text(), self._longest)
        )
        self.sentence.setMinimumHeight(max(least, needed))

    def show_gauges(self, gauges: Sequence[GaugeText], *, stale: bool) -> None:
        """Show the three figures; grey where they are of earlier settings."""
        for line, gauge in zip(self._gauges, gauges, strict=True):
            line.show_gauge(gauge, stale=stale)

    def unfold(self, unfolded: bool) -> None:
        """Say whether all lines are shown below."""
        words = self.tr("Less") if unfolded else self.tr("Why?")
        self.why.setText(words)
        self.why.setAccessibleName(f"{words} {self.recipient}")


class _GaugeLine:
    """The widgets of one gauge: its colour, its name and its value."""

    def __init__(self) -> None:
        self.look = "muted"
        self.icon = IconLabel("step-empty", "muted", 13)
        self.name = label("", "muted")
        self.value = QLabel()
        for widget in (self.name, self.value):
            widget.setFont(font(TextSize.SMALL, strong=widget is self.value, tabular=True))
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def show_gauge(self, gauge: GaugeText, *, stale: bool) -> None:
        """Show a gauge."""
        self.look = "muted" if stale else gauge.look
        self.icon.show_icon("step-empty" if self.look == "muted" else self.look, self.look)
        self.name.setText(gauge.name)
        self.value.setText(gauge.value)
        loud = self.look in ("danger", "caution")
        set_look(self.value, self.look if loud else "muted" if stale else "")
        for widget in (self.icon, self.name, self.value):
            widget.setToolTip(gauge.why)
        self.value.setAccessibleDescription(gauge.why)
