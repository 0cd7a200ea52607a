"""While a table is read: what is being done, how far it is, and a way to stop it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from sfumato.jobs.job import Job
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import button, label

WIDTH = 320


class WaitingPage(QWidget):
    """Shows one job in the middle of the page."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._job: Job | None = None
        self.title = label("", "heading")
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(WIDTH)
        self.step = label(" ", "muted")
        self.cancel = button(self.tr("Stop"), self._stop)
        layout = QVBoxLayout(self)
        layout.setSpacing(Space.BETWEEN)
        centre = Qt.AlignmentFlag.AlignHCenter
        layout.addStretch(2)
        layout.addWidget(IconLabel("table", "muted", 40), 0, centre)
        for widget in (self.title, self.bar, self.step, self.cancel):
            layout.addWidget(widget, 0, centre)
        layout.addStretch(3)

    def watch(self, job: Job) -> None:
        """Show another job."""
        self._job = job
        self.title.setText(job.title)
        self.cancel.setEnabled(True)
        job.progressed.connect(self._show)
        self._show()

    def _show(self) -> None:
        job = self._job
        if job is not None and not job.stop_requested():
            self.bar.setValue(round(1000 * job.fraction))
            text = spoken(job.text)
            self.step.setText(text or " ")

    def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self.cancel.setEnabled(False)
        self.step.setText(self.tr("Stopping…"))
