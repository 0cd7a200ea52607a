"""Runs jobs on worker threads and brings their endings back to the main thread.

It also searches for cyclic garbage, on the main thread only. Python searches in whichever thread
made the last object, and what it finds dies there. Qt's objects must die on the thread they live
on: a dialog that a worker's search destroys takes the process with it.
"""

from __future__ import annotations

import gc
import itertools
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterator
from enum import StrEnum
from typing import Any, Final

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QObject,
    Qt,
    QThread,
    QThreadPool,
    QTimer,
    Signal,
    Slot,
)

from sfumato.engine.core.errors import Cancelled, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Callback, Context
from sfumato.formats.memory import give_memory_back

LOOK_MILLISECONDS: Final = 500
SHARE: Final = 0.02
"""The part of the time that whole searches may take: each looks at all there is."""


class GarbageCollector(QObject):
    """Takes Python's automatic searches over, from its making until `close`.

    It searches as often as Python would (`gc.get_threshold`), but a whole search waits until it
    takes no more than a small share of the time.
    """

    _open = 0

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._next_whole = 0.0
        self._closed = False
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MILLISECONDS)
        self._timer.timeout.connect(self.look)
        self._timer.start()
        GarbageCollector._open += 1
        gc.disable()

    def look(self) -> None:
        """Search the oldest generation that is due, and with it the younger ones."""
        due = [
            age
            for age, (count, limit) in enumerate(
                zip(gc.get_count(), gc.get_threshold(), strict=True)
            )
            if 0 < limit < count and (age < 2 or time.monotonic() >= self._next_whole)
        ]
        if not due:
            return
        start = time.monotonic()
        gc.collect(due[-1])
        if due[-1] == 2:
            end = time.monotonic()
            self._next_whole = end + (end - start) / SHARE

    def close(self) -> None:
        """Let Python search by itself again, where no other collector is open."""
        if self._closed:
            return
        self._closed = True
        self._timer.stop()
        GarbageCollector._open -= 1
        if not GarbageCollector._open:
            gc.enable()


REPORT_SECONDS: Final = 0.04
"""Progress is passed on at most this often: 25 times a second is as much as anyone sees."""
LONG_SECONDS: Final = 0.25
"""After a job of so long, memory is given back."""

TOLD_AFTER_SECONDS: Final = 4.0
"""Before so much time nobody can tell how long work takes."""
AHEAD: Final = 10.0
"""No work is said to last so many times longer than it has run: its first pace tells too little."""

LATELY: Final = 0.7
"""From this part of the time that it has run on, the pace of work is that of lately."""
STANDS: Final = 0.2
"""Work stands that got no further in so large a part of the time that it has run."""
MARKS: Final = 64
"""So many moments are remembered of how far work was, at most."""

WORKERS: Final = 4
"""More than the cores of a small machine, so that a preview never waits for a release."""


Work = Callable[[Context], Any]
"""What a job does: takes a context, returns a result, and touches no widget."""


class Ending(StrEnum):
    """How a job ended; every job has exactly one ending."""

    DONE = "done"
    ERROR = "expected error"
    BUG = "bug"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class BugReport:
    """What is known about an unexpected failure, without a single value of the table.

    Parameters
    ----------
    title
        What was being done.
    kind
        The exception's type. Its message is left out: it can quote a cell.
    frames
        Where it happened, innermost last: file, line, function and the source line.
    """

    title: str
    kind: str
    frames: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole report, to be copied."""
        return "\n".join((f"{self.kind} in: {self.title}", *self.frames))

    @classmethod
    def of(cls, error: BaseException, title: str) -> BugReport:
        """Describe an exception and what led to it, leaving out messages and locals."""
        frames: list[str] = []
        for link in reversed(list(_chain(error))):
            frames.append(f"{type(link).__qualname__}:")
            for frame in traceback.extract_tb(link.__traceback__):
                place = "/".join(frame.filename.replace("\\", "/").split("/")[-3:])
                frames.append(f"  {place}:{frame.lineno} {frame.name}: {frame.line or ''}".rstrip())
        return cls(title, type(error).__qualname__, tuple(frames))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and the exceptions that led to it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


class Job(QObject):
    """A piece of work that was handed to a `JobRunner`.

    Lives on the main thread; the worker sees `stop` alone.

    Parameters
    ----------
    title
        What is being done, for the person who waits.
    key
        Jobs with the same key supersede one another; None for a job that stands alone.
    """

    progressed = Signal()
    finished = Signal()

    def __init__(self, title: str, key: Hashable | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.key = key
        self.fraction = 0.0
        self.text = ""
        self.ending: Ending | None = None
        self.result: Any = None
        self.error: SfumatoError | None = None
        self.bug: BugReport | None = None
        self.stop = threading.Event()
        self._started = time.monotonic()
        self._marks: list[tuple[float, float]] = [(0.0, 0.0)]
        """How far it was, by the seconds it had run: the first, the last and some in between."""

    def cancel(self) -> None:
        """Ask the work to stop; the job ends as cancelled, whatever the work still returns."""
        self.stop.set()

    def stop_requested(self) -> bool:
        """Return whether the work should stop."""
        return self.stop.is_set()

    @property
    def running(self) -> bool:
        """Whether the job has not ended yet."""
        return self.ending is None

    @property
    def seconds_left(self) -> float | None:
        """About how long it will still take; None while that can't be told.

        Work whose last part is slow seems to end soon at the pace of its first: the slower counts,
        of its pace from the beginning and of its pace lately. Of work that stands, nothing is told.
        """
        elapsed = self.seconds_run
        if elapsed < TOLD_AFTER_SECONDS:
            return None
        if elapsed - self._marks[-1][0] > STANDS * elapsed:
            return None
        then, fraction = next(one for one in reversed(self._marks) if one[0] <= LATELY * elapsed)
        lately = self.fraction - fraction
        if lately <= 0.0:
            return None
        left = (1.0 - self.fraction) * max(elapsed / self.fraction, (elapsed - then) / lately)
        return left if left <= AHEAD * elapsed else None

    @property
    def seconds_run(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self._started

    def set_progress(self, fraction: float, text: str) -> None:
        """Take a progress report over and tell who watches."""
        self.fraction = min(max(fraction, 0.0), 1.0)
        self.text = text
        self._mark()
        self.progressed.emit()

    def _mark(self) -> None:
        """Remember how far it is, if it has got further."""
        ran = self.seconds_run
        if self.fraction == self._marks[-1][1]:
            return
        if len(self._marks) >= MARKS:
            del self._marks[1::2]
        self._marks.append((ran, self.fraction))


@dataclass(frozen=True)
class _Outcome:
    """How the work of a job came out, as it travels to the main thread."""

    ending: Ending
    result: Any = None
    error: SfumatoError | None = None
    bug: BugReport | None = None


@dataclass
class _Running:
    """A job that has not ended, and what is kept for it on the main thread."""

    job: Job
    work: Work
    on_done: Callable[[Any], None] | None
    on_error: Callable[[SfumatoError], None] | None
    discard: Callable[[Any], None] | None


class _Run:
    """Runs one job's work.

    It knows the job by its number alone. Whatever dies with a worker's last reference dies on the
    worker, and so must not be a `Job`, nor what the work closed over: the runner keeps both until
    the main thread has heard of the end.

    Not a `QRunnable`: Qt's binding never lets go of one that a pool must not delete.
    """

    def __init__(
        self, runner: JobRunner, number: int, title: str, stop: threading.Event, work: Work
    ) -> None:
        self._runner = runner
        self._number = number
        self._title = title
        self._stop = stop
        self._work = work
        self._next_report = 0.0

    def run(self) -> None:
        began = time.monotonic()
        outcome = self._outcome()
        self._work = _nothing
        if time.monotonic() - began >= LONG_SECONDS:
            give_memory_back()
        self._runner._arrived.emit(self._number, outcome)

    def _outcome(self) -> _Outcome:
        if self._stop.is_set():
            return _Outcome(Ending.CANCELLED)
        try:
            result = self._work(Callback(self._report, self._stop.is_set))
        except BaseException as error:  # a worker never dies without an ending
            return _failed(error, self._title)
        return _Outcome(Ending.DONE, result=result)

    def _report(self, fraction: float, text: str) -> None:
        """Pass progress on, thinned out before it crosses threads."""
        now = time.monotonic()
        if now >= self._next_report or fraction >= 1.0:
            self._next_report = now + REPORT_SECONDS
            self._runner._reported.emit(self._number, fraction, text)


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
    cancelled, and its result is dropped even when it was on its way already. A job can stand back
    until no job with another key runs.
    """

    job_started = Signal(object)
    job_finished = Signal(object)
    error_occurred = Signal(object)
    """An expected error (`SfumatoError`) of a job that has no handler of its own."""
    bug_occurred = Signal(object)
    """A `BugReport`."""

    # Owned by the runner, which outlives every run (see `shutdown`).
    _arrived = Signal(int, object)
    _reported = Signal(int, float, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(max(WORKERS, QThread.idealThreadCount()))
        self._garbage = GarbageCollector(self)
        self._numbers = itertools.count()
        self._running: dict[int, _Running] = {}
        self._newest: dict[Hashable, Job] = {}
        self._standing_back: dict[int, tuple[Hashable, _Run]] = {}
        """By number, the jobs that have not begun, with the key of those that go first."""
        self._closed = False
        queued = Qt.ConnectionType.QueuedConnection
        self._arrived.connect(self._finish, queued)
        self._reported.connect(self._pass_on, queued)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs that have not ended, oldest first."""
        return tuple(running.job for running in self._running.values())

    @property
    def closed(self) -> bool:
        """Whether it is shut down."""
        return self._closed

    def run(
        self,
        title: str,
        work: Work,
        on_done: Callable[[Any], None] | None = None,
        on_error: Callable[[SfumatoError], None] | None = None,
        *,
        key: Hashable | None = None,
        after: Hashable | None = None,
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
        after
            Jobs with this key go first: the work begins once none of them runs.
        discard
            Called on the main thread with a result that is dropped because the job was
            cancelled, where a result must be closed.

        Returns
        -------
        Job
            The job, to be watched or cancelled. After `shutdown` it is cancelled from the start:
            timers and events of widgets still come between the closing of a window and its end.
        """
        self.cancel(key)
        job = Job(title, key, self)
        if self._closed:
            job.cancel()
            job.ending = Ending.CANCELLED
            return job
        number = next(self._numbers)
        self._running[number] = _Running(job, work, on_done, on_error, discard)
        if key is not None:
            self._newest[key] = job
        self.job_started.emit(job)
        self._standing_back[number] = (after, _Run(self, number, title, job.stop, work))
        self._begin()
        return job

    def _begin(self) -> None:
        """Hand over to the workers what nothing has to go before any more."""
        for number, (first, run) in tuple(self._standing_back.items()):
            if first not in self._newest or self._running[number].job.stop_requested():
                del self._standing_back[number]
                self._pool.start(run.run)

    def cancel(self, key: Hashable | None) -> None:
        """Cancel the running job with this key, if there is one."""
        older = self._newest.pop(key, None) if key is not None else None
        if older is not None:
            older.cancel()

    def stop_all(self) -> None:
        """Cancel every job and wait until the workers have stopped.

        Whoever takes away what jobs work on, such as an open project, calls this first. Jobs
        that begin since others end are stopped as well.
        """
        while self._running:
            self._standing_back.clear()  # what never began has nothing to stop
            for job in self.jobs:
                job.cancel()
            self._pool.waitForDone(-1)
            # What the workers sent before they stopped is still on its way.
            QCoreApplication.sendPostedEvents(self, QEvent.Type.MetaCall)
            for number in tuple(self._running):
                self._finish(number, _Outcome(Ending.CANCELLED))

    def shutdown(self) -> None:
        """Stop every job for good; nothing runs afterwards, and nobody is told of the ends."""
        self._closed = True
        self.stop_all()
        self._garbage.close()

    @Slot(int, float, object)
    def _pass_on(self, number: int, fraction: float, text: str) -> None:
        running = self._running.get(number)
        if running is not None and not running.job.stop_requested():
            running.job.set_progress(fraction, text)

    @Slot(int, object)
    def _finish(self, number: int, outcome: _Outcome) -> None:
        running = self._running.pop(number, None)
        if running is None:
            return
        self._standing_back.pop(number, None)
        job = running.job
        if job.key is not None and self._newest.get(job.key) is job:
            del self._newest[job.key]
        if job.stop_requested():
            if outcome.ending is Ending.DONE and running.discard is not None:
                running.discard(outcome.result)
            outcome = _Outcome(Ending.CANCELLED)
        job.ending = outcome.ending
        if self._closed:
            return  # whoever hears of an end may ask for more, and nothing runs any more
        job.result, job.error, job.bug = outcome.result, outcome.error, outcome.bug
        job.finished.emit()
        self.job_finished.emit(job)
        try:
            self._tell(outcome, running)
        finally:
            job.result = None
            # What is connected to a job may hold the runner, and be the last that does. If the job
            # were the runner's child still, its own end would delete it a second time.
            job.setParent(None)
            job.deleteLater()
            self._begin()

    def _tell(self, outcome: _Outcome, running: _Running) -> None:
        """Hand an outcome to whoever asked for it; a cancelled job stays silent."""
        if outcome.ending is Ending.DONE and running.on_done is not None:
            running.on_done(outcome.result)
        elif outcome.ending is Ending.ERROR:
            tell = running.on_error or self.error_occurred.emit
            tell(outcome.error)  # type: ignore[arg-type]
        elif outcome.ending is Ending.BUG:
            self.bug_occurred.emit(outcome.bug)
