"""Finds windows whose layout never holds still: what changes a size in answer to a resize."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget

MOST = 2_500
"""So many events one new size may lead to: eight times as many as any state of the window needs."""
_TURNS = 60
_SEEN = frozenset((QEvent.Type.Resize, QEvent.Type.LayoutRequest))


class LayoutWatch(QObject):
    """Counts resizes and requests to lay out; beyond `MOST` it withholds them, which ends a loop.

    Parameters
    ----------
    app
        Whose events are counted while a window is resized.
    """

    def __init__(self, app: QApplication) -> None:
        super().__init__()
        self._app = app
        self._count, self._turning = 0, Counter[str]()
        self.worst = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Count an event of a layout."""
        if event.type() not in _SEEN:
            return False
        self._count += 1
        if self._count <= MOST:
            return False
        inside = watched.parent()  # a view's room is a plain widget
        within = f" in {type(inside).__name__}" if inside is not None else ""
        self._turning[f"{type(watched).__name__}{within}"] += 1
        return True

    def loops(self, window: QWidget, widths: Iterable[int], height: int) -> list[str]:
        """Return a line for each width at which a window does not hold still."""
        self._app.installEventFilter(self)
        try:
            found = [self._loop_at(window, width, height) for width in widths]
        finally:
            self._app.removeEventFilter(self)
        return [line for line in found if line]

    def _loop_at(self, window: QWidget, width: int, height: int) -> str:
        """Resize a window, and return what turns without end in it; empty where it holds still."""
        self._count, self._turning = 0, Counter()
        window.resize(width, height)
        for _ in range(_TURNS):
            before = self._count
            QCoreApplication.processEvents()
            if self._count == before or self._turning:
                break
        else:
            self._turning["what asks again in each turn of the events"] += 1
        self.worst = max(self.worst, self._count)
        named = ", ".join(name for name, _ in self._turning.most_common(4))
        return f"{width} × {height}: {named}" if named else ""
