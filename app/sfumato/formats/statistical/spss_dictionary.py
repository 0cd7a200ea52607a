"""The dictionary of an SPSS file, looked over before the library reads it.

The library ends the whole program where a text lacks the room that it states, and where labels
belong to a variable that is not there.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO, Final

_HEADER_BYTES: Final = 176
_LAYOUT_AT: Final = 64
_LITTLE_LAYOUTS: Final = frozenset({b"\2\0\0\0", b"\3\0\0\0"})
_VARIABLE, _LABELS, _LABELLED, _DOCUMENT, _EXTENSION = 2, 3, 4, 6, 7
_WIDEST: Final = 255


def is_sound(path: Path) -> bool:
    """Whether each text has its room, and all labels belong to variables that are there.

    A text of more than 8 bytes takes further records of variables, marked by -1.
    """
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
        order = "<" if head[_LAYOUT_AT : _LAYOUT_AT + 4] in _LITTLE_LAYOUTS else ">"
        try:
            return _Dictionary(file, order).is_sound()
        except (struct.error, OSError, OverflowError):
            return False


class _Dictionary:
    def __init__(self, file: BinaryIO, order: str) -> None:
        self._file = file
        self._order = order
        self._widths: list[int] = []

    def is_sound(self) -> bool:
        """Go through the records up to the last."""
        further = 0
        while True:
            (kind,) = self._numbers(1)
            if kind == _VARIABLE:
                width = self._variable()
                if (width == -1) != (further > 0) or not -1 <= width <= _WIDEST:
                    return False
                further = further - 1 if width == -1 else max(0, (width + 7) // 8 - 1)
                self._widths.append(width)
            elif further or not self._widths:
                return False
            elif kind == _LABELLED:
                (count,) = self._numbers(1)
                if not all(self._is_variable(place) for place in self._numbers(count)):
                    return False
            elif not self._skipped(kind):
                return True

    def _variable(self) -> int:
        width, labelled, missing, *_ = self._numbers(5)
        self._skip(8)
        if labelled:
            (length,) = self._numbers(1)
            self._skip((length + 3) // 4 * 4)
        self._skip(8 * min(abs(missing), 3))
        return width

    def _is_variable(self, place: int) -> bool:
        return 1 <= place <= len(self._widths) and self._widths[place - 1] != -1

    def _skipped(self, kind: int) -> bool:
        """Skip a record that is not looked at; False where the dictionary ends."""
        if kind == _LABELS:
            (count,) = self._numbers(1)
            for _ in range(count):
                self._skip(8)
                (length,) = struct.unpack("B", self._file.read(1))
                self._skip((length + 8) // 8 * 8 - 1)
        elif kind == _DOCUMENT:
            (lines,) = self._numbers(1)
            self._skip(80 * lines)
        elif kind == _EXTENSION:
            _, size, count = self._numbers(3)
            self._skip(size * count)
        else:
            return False
        return True

    def _numbers(self, count: int) -> tuple[int, ...]:
        if not 0 <= count <= 1 << 20:
            raise struct.error
        return struct.unpack(f"{self._order}{count}i", self._file.read(4 * count))

    def _skip(self, size: int) -> None:
        if size < 0:
            raise struct.error
        self._file.seek(size, os.SEEK_CUR)
