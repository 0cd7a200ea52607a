"""What rounding gives away, shown before it is in force."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.analysis.postprocessing_leakage import form_leak_sentences
from sfumato.engine.mechanisms.postprocessing_leakage import FormLeaks
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import button, label, row


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

    def show_leaks(self, leaks: FormLeaks) -> None:
        """Say what was measured: by linear estimates, and by the strongest attack there is."""
        told = "\n".join(typeset(sentence) for sentence in form_leak_sentences(leaks))
        self._show(told, accept=True)

    def _show(self, text: str, *, accept: bool) -> None:
        self.text.setText(text)
        self.accept.setEnabled(accept)
        self.show()
