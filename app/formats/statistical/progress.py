"""Files that a library reads or writes by itself, with progress and a way to stop it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar, Final

import pandas as pd

from app.engine.progress import Context

_EVERY_BYTES: Final = 1 << 18
_CALL_BYTES: Final = 64
"""What a call weighs beside the bytes it reads, so that many short ones are reported too."""
_EVERY_ROWS: Final = 2_000


class WatchedFile:
    """A file to read from that reports how far the reading has come.

    The library that reads swallows the exceptions of a file, so what was raised is kept in
    `raised`; from then on nothing can be read.

    Parameters
    ----------
    file
        The open file.
    size
        Its size in bytes.
    context
        Progress and cancelling.
    text
        What is going on.
    """

    def __init__(self, file: BinaryIO, size: int, context: Context, text: str) -> None:
        self._file = file
        self._size = max(size, 1)
        self._context = context
        self._text = text
        self._farthest = 0
        self._unreported = _EVERY_BYTES
        self.raised: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes."""
        if self.raised is not None:
            return b""
        try:
            piece = self._file.read(size)
            self._farthest = max(self._farthest, self._file.tell())
            self._unreported += len(piece) + _CALL_BYTES
            if self._unreported >= _EVERY_BYTES:
                self._unreported = 0
                self._context.report(min(1.0, self._farthest / self._size), self._text)
        except Exception as error:
            self.raised = error
            return b""
        return piece

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a position."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self._file.tell()


class WatchedFrame(pd.DataFrame):
    """A frame that reports how far the going through its rows has come.

    The library that writes statistical files goes through the rows of a frame and knows no
    progress; what is raised here stops it.
    """

    _metadata: ClassVar[list[str]] = ["watch"]
    watch: tuple[Context, str]

    def itertuples(self, index: bool = True, name: str | None = "Pandas") -> Iterator[Any]:
        """Yield the rows as tuples."""
        context, text = self.watch
        rows = max(len(self), 1)
        for position, row in enumerate(super().itertuples(index=index, name=name)):
            if position % _EVERY_ROWS == 0:
                context.report(position / rows, text)
            yield row


def watched(frame: pd.DataFrame, context: Context, text: str) -> WatchedFrame:
    """Return a frame whose rows are reported as they are gone through."""
    watching = WatchedFrame(frame)
    watching.watch = (context, text)
    return watching
