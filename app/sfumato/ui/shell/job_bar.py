"""The bar at the bottom: what is running, how far it is, and a way to stop it; else silence."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QFrame, QProgressBar, QToolButton, QWidget

from sfumato.formats.language import localized
from sfumato.jobs.runner import Ending, Job, JobRunner
from sfumato.ui.look.theme import Space, TextSize, font, scaled
from sfumato.ui.look.wording import spoken, time_left
from sfumato.ui.widgets.icons import themed_icon
from sfumato.ui.widgets.layout import ElidedLabel, fill, label, row
from sfumato.ui.widgets.messages import announce
from sfumato.ui.widgets.paint_queue import delayed

PATIENCE_MILLISECONDS: Final = 350
"""A job that ends sooner is never shown: nobody could read it."""

SHOWN: Final = 2
HEIGHT: Final = 40
LEFT: Final = 116
"""Room for how long a job will still take."""


class JobEntry(QWidget):
    """One running job with its progress and a way to stop it."""

    def __init__(self, job: Job, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.job = job
        self.title = ElidedLabel(job.title)
        self.title.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.bar = QProgressBar(self)
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(scaled(140))
        self.bar.setAccessibleName(job.title)
        self.percent = label("", "small")
        self.percent.setFont(font(TextSize.SMALL, tabular=True))
        self.percent.setFixedWidth(scaled(38))
        self.left = label("", "small")
        self.left.setFont(font(TextSize.SMALL, tabular=True))
        self.left.setFixedWidth(scaled(LEFT))
        self.cancel = QToolButton(self)
        self.cancel.setIcon(themed_icon("close"))
        self.cancel.setToolTip(self.tr("Stop this"))
        self.cancel.setAccessibleName(self.tr("Stop: {job}").format(job=job.title))
        self.cancel.clicked.connect(self._stop)
        self.setLayout(row((self.title, 1), self.bar, self.percent, self.left, self.cancel))
        job.progressed.connect(self._show)
        self._show()

    def _show(self) -> None:
        if self.job.stop_requested():
            return
        self.bar.setValue(round(1000 * self.job.fraction))
        self.percent.setText(f"{localized(f'{100 * self.job.fraction:.0f}')} %")
        self.left.setText(time_left(self.job.seconds_left))
        step = spoken(self.job.text)
        self.title.setText(f"{self.job.title} · {step}" if step else self.job.title)

    def _stop(self) -> None:
        self.job.cancel()
        self.cancel.setEnabled(False)
        self.title.setText(self.tr("Stopping: {job}").format(job=self.job.title))


class JobBar(QFrame):
    """Shows the running jobs; its room is always there, so that nothing jumps.

    Parameters
    ----------
    runner
        Whose jobs are shown.
    """

    def __init__(self, runner: JobRunner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "bar")
        self.setFixedHeight(scaled(HEIGHT))
        self.setAccessibleName(self.tr("Running work"))
        self._entries: dict[QObject, JobEntry] = {}
        self._waiting: dict[QObject, QTimer] = {}
        self._layout = row(spacing=Space.AROUND, margins=(Space.BETWEEN, 0, Space.INSIDE, 0))
        self.setLayout(self._layout)
        self.more = label("", "small")
        self.quiet = label("", "small")
        fill(self._layout, self.quiet, None, self.more)
        runner.job_started.connect(self._wait)
        runner.job_finished.connect(self._remove)

    @property
    def entries(self) -> tuple[JobEntry, ...]:
        """What is shown now, oldest first."""
        return tuple(self._entries.values())

    def say(self, text: str) -> None:
        """Leave a quiet remark for when nothing runs."""
        self.quiet.setText(text)

    def _wait(self, job: Job) -> None:
        timer = delayed(self, lambda: self._add(job))
        timer.start(PATIENCE_MILLISECONDS)
        self._waiting[job] = timer

    def _add(self, job: Job) -> None:
        timer = self._waiting.pop(job, None)
        if timer is not None:
            timer.deleteLater()
        if job.running:
            entry = JobEntry(job, self)
            self._entries[job] = entry
            self._layout.insertWidget(self._layout.count() - 1, entry, 3)
        self._arrange()

    def _remove(self, job: Job) -> None:
        timer = self._waiting.pop(job, None)
        if timer is not None:
            timer.stop()
            timer.deleteLater()
        entry = self._entries.pop(job, None)
        if entry is not None:
            self._layout.removeWidget(entry)
            entry.hide()
            entry.deleteLater()
            announce(self, self._ending(job))
        self._arrange()

    def _ending(self, job: Job) -> str:
        """Return how a job ended that was in sight, for who can't see that it went."""
        words = {
            Ending.DONE: self.tr("Finished: {job}"),
            Ending.CANCELLED: self.tr("Stopped: {job}"),
        }.get(job.ending or Ending.ERROR, self.tr("Failed: {job}"))
        return words.format(job=job.title)

    def _arrange(self) -> None:
        for place, entry in enumerate(self._entries.values()):
            entry.setVisible(place < SHOWN)
        hidden = max(0, len(self._entries) - SHOWN)
        self.more.setText(self.tr("and {count} more").format(count=hidden) if hidden else "")
        self.quiet.setVisible(not self._entries)
