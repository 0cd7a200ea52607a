"""Searches for cyclic garbage on the main thread only.

Python searches in whichever thread made the last object, and what it finds dies there. Qt's
objects must die on the thread they live on: a dialog that a worker's search destroys takes the
process with it.
"""

from __future__ import annotations

import gc
import time
from typing import Final

from PySide6.QtCore import QObject, QTimer

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
