"""One piece of work outside the main thread, and the four ways in which it can end."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from PySide6.QtCore import QObject, Signal

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context

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

    def set_progress(self, fraction: float, text: str) -> None:
        """Take a progress report over and tell who watches."""
        self.fraction = min(max(fraction, 0.0), 1.0)
        self.text = text
        self.progressed.emit()
