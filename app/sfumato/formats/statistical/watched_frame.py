"""Frames that report how far the library that writes statistical files has gone through them.

Imported where one is written: to be a frame of pandas, a class needs pandas at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

import pandas as pd

from sfumato.engine.core.progress import Context

_EVERY_ROWS: Final = 2_000


class WatchedFrame(pd.DataFrame):
    """A frame that reports how far the going through its rows has come.

    The library that writes statistical files goes through the rows of a frame and knows no
    progress; what is raised here stops it.
    """

    _metadata: ClassVar[list[str]] = ["watch"]
    watch: Context

    def itertuples(self, index: bool = True, name: str | None = "Pandas") -> Iterator[Any]:
        """Yield the rows as tuples."""
        rows = max(len(self), 1)
        for position, row in enumerate(super().itertuples(index=index, name=name)):
            if position % _EVERY_ROWS == 0:
                self.watch.report(position / rows, "Writing the file")
            yield row


def watched(frame: pd.DataFrame, context: Context) -> WatchedFrame:
    """Return a frame whose rows are reported as they are gone through."""
    watching = WatchedFrame(frame)
    watching.watch = context
    return watching
