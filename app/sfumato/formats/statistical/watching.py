"""A file whose reading by a library is watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Final

_EVERY_BYTES: Final = 1 << 18
_CALL_BYTES: Final = 64
"""What a call weighs beside the bytes it reads, so that many short ones are reported too."""


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
    report
        Called with the share that was read, between 0 and 1.
    """

    def __init__(self, file: BinaryIO, size: int, report: Callable[[float], object]) -> None:
        self._file = file
        self._size = max(size, 1)
        self._report = report
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
                self._report(min(1.0, self._farthest / self._size))
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
