"""Runs jobs on worker threads and brings their endings back to the main thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QObject,
    Qt,
    QThread,
    QThreadPool,
    Signal,
    Slot,
)

from sfumato.engine.core.errors import Cancelled, SfumatoError
from sfumato.engine.core.progress import Callback
from sfumato.jobs.job import BugReport, Ending, Job, Work

REPORT_SECONDS: Final = 0.04
"""Progress is passed on at most this often: 25 times a second is as much as anyone sees."""

WORKERS: Final = 4
"""More than the cores of a small machine, so that a preview never waits for a release."""


@dataclass(frozen=True)
class _Outcome:
    """How the work of a job came out, as it travels to the main thread."""

    ending: Ending
    result: Any = None
    error: SfumatoError | None = None
    bug: BugReport | None = None


@dataclass
class _Handlers:
    on_done: Callable[[Any], None] | None
    on_error: Callable[[SfumatoError], None] | None
    discard: Callable[[Any], None] | None


class _Run:
    """Runs one job's work.

    Not a `QRunnable`: Qt's binding never lets go of one that a pool must not delete.
    """

    def __init__(self, runner: JobRunner, job: Job, work: Work) -> None:
        self._runner = runner
        self._job = job
        self._work = work

    def run(self) -> None:
        outcome = self._outcome()
        self._work = _nothing  # what the work closed over is not needed any more
        self._runner._arrived.emit(self._job, outcome)

    def _outcome(self) -> _Outcome:
        job = self._job
        if job.stop_requested():
            return _Outcome(Ending.CANCELLED)
        reporter = _Reporter(self._runner, job)
        try:
            result = self._work(Callback(reporter.report, job.stop_requested))
        except BaseException as error:  # a worker never dies without an ending
            return _failed(error, job.title)
        return _Outcome(Ending.DONE, result=result)


class _Reporter:
    """Thins progress reports out before they cross threads."""

    def __init__(self, runner: JobRunner, job: Job) -> None:
        self._runner = runner
        self._job = job
        self._next = 0.0

    def report(self, fraction: float, text: str) -> None:
        now = time.monotonic()
        if now >= self._next or fraction >= 1.0:
            self._next = now + REPORT_SECONDS
            self._runner._reported.emit(self._job, fraction, text)


def _failed(error: BaseException, title: str) -> _Outcome:
    """Tell which of the three endings beside "done" an exception means."""
    if isinstance(error, Cancelled):
        return _Outcome(Ending.CANCELLED)
    if isinstance(error, SfumatoError):
        # Frames hold the table; an expected error is told by its text alone.
        return _Outcome(Ending.ERROR, error=error.with_traceback(None))
    if isinstance(error, MemoryError):
        return _Outcome(Ending.ERROR, error=_out_of_memory(title))
    if isinstance(error, OSError):
        return _Outcome(Ending.ERROR, error=_refused_by_the_system(title, error))
    return _Outcome(Ending.BUG, bug=BugReport.of(error, title))


def _nothing(_context: object) -> None:
    return None


def _out_of_memory(title: str) -> SfumatoError:
    return SfumatoError(
        "There is not enough memory for this: {title}.",
        "Close other programs, or read fewer columns.",
        title=title,
    )


def _refused_by_the_system(title: str, error: OSError) -> SfumatoError:
    return SfumatoError(
        "The system refused a file: {reason} ({file}).",
        "Check that the file is there, that you may use it and that the disk has room;"
        " then try again: {title}.",
        reason=error.strerror or type(error).__name__,
        file=error.filename or "?",
        title=title,
    )


class JobRunner(QObject):
    """Starts jobs, and tells on the main thread how they went.

    A job started with a key supersedes the running job with the same key: the older one is
    cancelled, and its result is dropped even when it was on its way already.
    """

    job_started = Signal(object)
    job_finished = Signal(object)
    error_occurred = Signal(object)
    """An expected error (`SfumatoError`) of a job that has no handler of its own."""
    bug_occurred = Signal(object)
    """A `BugReport`."""

    # Owned by the runner, which outlives every run (see `shutdown`).
    _arrived = Signal(object, object)
    _reported = Signal(object, float, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(max(WORKERS, QThread.idealThreadCount()))
        self._running: dict[Job, _Handlers] = {}
        self._newest: dict[Hashable, Job] = {}
        self._closed = False
        queued = Qt.ConnectionType.QueuedConnection
        self._arrived.connect(self._finish, queued)
        self._reported.connect(self._pass_on, queued)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs that have not ended, oldest first."""
        return tuple(self._running)

    def run(
        self,
        title: str,
        work: Work,
        on_done: Callable[[Any], None] | None = None,
        on_error: Callable[[SfumatoError], None] | None = None,
        *,
        key: Hashable | None = None,
        discard: Callable[[Any], None] | None = None,
    ) -> Job:
        """Run `work(context)` on a worker thread.

        Parameters
        ----------
        title
            What is being done, for the person who waits.
        work
            The work. It reports through its context, works on snapshots and touches no widget.
        on_done
            Called on the main thread with the result.
        on_error
            Called on the main thread with an expected error; without it the error is announced
            by `error_occurred`.
        key
            Supersedes the running job with the same key.
        discard
            Called on the main thread with a result that is dropped because the job was
            cancelled, where a result must be closed.

        Returns
        -------
        Job
            The job, to be watched or cancelled.

        Raises
        ------
        RuntimeError
            After `shutdown`.
        """
        if self._closed:
            raise RuntimeError("the job runner is shut down")
        self.cancel(key)
        job = Job(title, key, self)
        self._running[job] = _Handlers(on_done, on_error, discard)
        if key is not None:
            self._newest[key] = job
        self.job_started.emit(job)
        self._pool.start(_Run(self, job, work).run)
        return job

    def cancel(self, key: Hashable | None) -> None:
        """Cancel the running job with this key, if there is one."""
        older = self._newest.pop(key, None) if key is not None else None
        if older is not None:
            older.cancel()

    def stop_all(self) -> None:
        """Cancel every job and wait until the workers have stopped.

        Whoever takes away what jobs work on, such as an open project, calls this first.
        """
        for job in self.jobs:
            job.cancel()
        self._pool.waitForDone(-1)
        # What the workers sent before they stopped is still on its way.
        QCoreApplication.sendPostedEvents(self, QEvent.Type.MetaCall)
        for job in self.jobs:
            self._finish(job, _Outcome(Ending.CANCELLED))

    def shutdown(self) -> None:
        """Stop every job for good; nothing runs afterwards."""
        self._closed = True
        self.stop_all()

    @Slot(object, float, str)
    def _pass_on(self, job: Job, fraction: float, text: str) -> None:
        if job in self._running and not job.stop_requested():
            job.set_progress(fraction, text)

    @Slot(object, object)
    def _finish(self, job: Job, outcome: _Outcome) -> None:
        if job not in self._running:
            return
        handlers = self._running.pop(job)
        if job.key is not None and self._newest.get(job.key) is job:
            del self._newest[job.key]
        if job.stop_requested():
            if outcome.ending is Ending.DONE and handlers.discard is not None:
                handlers.discard(outcome.result)
            outcome = _Outcome(Ending.CANCELLED)
        job.ending = outcome.ending
        job.result, job.error, job.bug = outcome.result, outcome.error, outcome.bug
        job.finished.emit()
        self.job_finished.emit(job)
        try:
            self._tell(outcome, handlers)
        finally:
            job.result = None
            job.deleteLater()

    def _tell(self, outcome: _Outcome, handlers: _Handlers) -> None:
        """Hand an outcome to whoever asked for it; a cancelled job stays silent."""
        if outcome.ending is Ending.DONE and handlers.on_done is not None:
            handlers.on_done(outcome.result)
        elif outcome.ending is Ending.ERROR:
            tell = handlers.on_error or self.error_occurred.emit
            tell(outcome.error)  # type: ignore[arg-type]
        elif outcome.ending is Ending.BUG:
            self.bug_occurred.emit(outcome.bug)
