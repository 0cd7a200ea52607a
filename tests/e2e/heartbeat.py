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
    beats
        How often it beat.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self.beats = 0
        self._last = 0.0
        self._timer = QTimer()
        self._timer.setInterval(BEAT_MILLISECONDS)
        self._timer.timeout.connect(self._beat)

    def _beat(self) -> None:
        now = time.monotonic()
        self.longest = max(self.longest, now - self._last)
        self._last = now
        self.beats += 1

    def __enter__(self) -> Heartbeat:
        self._last = time.monotonic()
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
