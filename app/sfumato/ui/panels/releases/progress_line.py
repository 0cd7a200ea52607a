"""What a job in a form is about to do, or how far it is, with the way to cancel it."""

from __future__ import annotations

from PySide6.QtWidgets import QProgressBar, QStackedWidget, QWidget

from sfumato.jobs import Job
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.widgets.layout import ElidedLabel, button, label, row


class ProgressLine(QStackedWidget):
    """A hint while nothing runs, and else the progress.

    Parameters
    ----------
    name
        What the progress is called.
    """

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hint = label("", "small", wrap=True)
        self.bar = QProgressBar(self)
        self.bar.setRange(0, 1000)
        self.bar.setAccessibleName(name)
        self._doing = ElidedLabel("", "small")
        self.cancel = button(self.tr("Cancel"), None, "quiet")
        running = QWidget(self)
        running.setLayout(row((self.bar, 1), (self._doing, 1), self.cancel, spacing=Space.BETWEEN))
        self.addWidget(self.hint)
        self.addWidget(running)
        self.setFixedHeight(Space.FIELD + 4)

    def show_job(self, job: Job | None) -> None:
        """Show how far the work is; None when it has ended."""
        self.setCurrentIndex(0 if job is None else 1)
        if job is not None:
            self.bar.setValue(round(1000 * job.fraction))
            self._doing.setText(spoken(job.text))
