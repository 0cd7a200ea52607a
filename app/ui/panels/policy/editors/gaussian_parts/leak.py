"""What rounding gives away, shown before it is in force."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.engine.audit.form_leak import FormLeak
from app.plots.figure import percent
from app.ui.panels.policy.wording import tr
from app.ui.theme import Space
from app.ui.widgets.icons import IconLabel
from app.ui.widgets.layout import button, label, row
from app.ui.wording import grouped

NOTICED = 0.0005
"""A smaller share of the variance drowns in what the measurement itself is off by."""


class LeakCard(QWidget):
    """Shows the leak that was measured, and asks whether the change is wanted."""

    accepted = Signal()
    discarded = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = label("", wrap=True)
        self.accept = button(tr("Use it"), self.accepted.emit)
        self.discard = button(tr("Discard"), self.discarded.emit, "quiet")
        self._icon = IconLabel("caution", "caution", 16)
        said = row(self._icon, self.text)
        said.setStretch(1, 1)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(Space.INSIDE)
        lines.addLayout(said)
        lines.addLayout(row(self.accept, self.discard, None))
        self.hide()

    def clear(self) -> None:
        """Show nothing: nothing is being weighed."""
        self.text.setText("")
        self.hide()

    def show_measuring(self) -> None:
        """Say that the leak is being measured; it can't be accepted yet."""
        self._show(tr("Measuring what this gives away…"), accept=False)

    def show_problem(self, text: str) -> None:
        """Say why the change can't be in force."""
        self._show(text, accept=False)

    def show_leaks(self, leaks: Sequence[FormLeak]) -> None:
        """Say what was measured."""
        self._show(leak_words(leaks), accept=True)

    def _show(self, text: str, *, accept: bool) -> None:
        self.text.setText(text)
        self.accept.setEnabled(accept)
        self.show()


def leak_words(leaks: Sequence[FormLeak]) -> str:
    """Return what was measured, for the attribute that loses most."""
    if not leaks:
        return tr(
            "There are too few records to measure what this gives away. Together, recipients can"
            " never learn more than the most trusted one would without rounding and bounds."
        )
    worst = max(leaks, key=lambda found: found.leak)
    details = {
        "name": worst.attribute,
        "alone": percent(worst.alone, 1),
        "together": percent(worst.together, 1),
        "plain": percent(worst.plain, 1),
        "leak": percent(worst.leak, 2),
        "rows": grouped(worst.rows),
    }
    measured = tr(
        "Measured on {rows} records: the best estimate from the most trusted release leaves"
        " {alone} of the variance of {name} open, from all releases together {together};"
        " without rounding and bounds it would be {plain}.",
        **details,
    )
    if worst.leak < NOTICED:
        return measured + " " + tr("What pooling gains can't be told from chance.")
    gains = tr(
        "Pooling gains {leak}. It never gains more than the most trusted release alone would"
        " tell without rounding and bounds.",
        **details,
    )
    return f"{measured} {gains}"
