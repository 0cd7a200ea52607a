"""Whether the window answers: a timer on the main thread, and the longest wait between beats."""

from __future__ import annotations

import time
from types import TracebackType

from PySide6.QtCore import QTimer

BEAT_MILLISECONDS = 5


class Heartbeat:
    """Beats on the main thread while a block runs.

    Attributes
    ----------
    longest
        The longest wait between two beats, seconds: for so long nobody was answered.
    busiest
        The most processor's time that the main thread took between two beats, seconds.
    beats
        How often it beat.
    """

    def __init__(self) -> None:
        self.longest = self.busiest = 0.0
        self.beats = 0
        self._last = self._last_busy = 0.0
        self._timer = QTimer()
        self._timer.setInterval(BEAT_MILLISECONDS)
        self._timer.timeout.connect(self._beat)

    def _beat(self) -> None:
        now, busy = time.monotonic(), time.thread_time()
        self.longest = max(self.longest, now - self._last)
        self.busiest = max(self.busiest, busy - self._last_busy)
        self._last, self._last_busy = now, busy
        self.beats += 1

    def __enter__(self) -> Heartbeat:
        self._last, self._last_busy = time.monotonic(), time.thread_time()
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.stop()
        self._beat()
