"""The zip that a workbook is, of which no part unpacks without an end.

A workbook is a zip of XML texts, so a small file can hold a text without end. Parts are read as
streams, no further than their stated sizes, and refused where they unpack to more than a table
of their kind needs.
"""

from __future__ import annotations

import codecs
import errno
import re
import zipfile
import zlib
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final, Protocol

from sfumato.formats.errors import DamagedFile, TooLarge, Way, refused_at
from sfumato.formats.options import ReadOptions

USUAL: Final = 256 << 20
_LARGEST: Final = 2 << 30
_RATIO: Final = 50
"""Parts unpack to so many bytes at most, unless asked for: `USUAL`, or `_RATIO` times the
file's size up to `_LARGEST`. Sheets of real tables unpack to 5 to 20 times their packed size."""
_LARGEST_OTHER: Final = 64 << 20
"""More than a part that is no sheet and no list of texts can need, in bytes."""
_LONGEST_TEXT: Final = 4 << 20
"""More bytes than a cell's text can have: Excel's longest has 32 767 characters."""
COMPLAINTS: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, SyntaxError, RuntimeError),
    *(KeyError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError),
)
"""What is raised at files that are no workbooks, or damaged ones."""


class ArchiveSource(Protocol):
    """A part that is being read."""

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes."""

    def tell(self) -> int:
        """Return how many bytes were read."""


class Archive(zipfile.ZipFile):
    """A workbook's zip, whose parts unpack to no more than was allowed."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file)
        self._path = path
        self._allowed: dict[str, int] = {}

    def allow(self, parts: list[str], options: ReadOptions) -> None:
        """Let parts unpack as far as the options allow.

        Raises
        ------
        TooLarge
            If they unpack to more.
        """
        most = 1 << 62
        if not options.any_size:
            most = max(USUAL, min(_LARGEST, _RATIO * self._path.stat().st_size))
        for part in parts:
            self._allowed[part] = most
        unpacked = sum(self.size_of(part) for part in parts)
        if unpacked > most:
            raise _too_large(self._path, unpacked, options)

    def size_of(self, part: str) -> int:
        """Return how many bytes a part says it unpacks to; 0 where there is no such part."""
        with suppress(KeyError):
            return self.getinfo(part).file_size
        return 0

    def open(self, name: Any, mode: Any = "r", *rest: Any, **named: Any) -> IO[bytes]:
        """Open a part to be read as a stream."""
        called = name.filename if isinstance(name, zipfile.ZipInfo) else name
        if self.size_of(called) > self._allowed.get(called, _LARGEST_OTHER):
            raise _too_large(self._path, self.size_of(called), None)
        return _BoundedPart(super().open(name, mode, *rest, **named), self._path)  # type: ignore[return-value]


class _BoundedPart:
    """A part that is being read, refused where a text in it has no end."""

    def __init__(self, source: IO[bytes], path: Path) -> None:
        self._source = source
        self._path = path
        self._since_mark = 0

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes."""
        piece = self._source.read(size)
        last = piece.rfind(b"<")
        self._since_mark = self._since_mark + len(piece) if last < 0 else len(piece) - last
        if self._since_mark > _LONGEST_TEXT:
            raise DamagedFile(
                "{file} holds a cell whose text is longer than any cell's can be.",
                "Repair it in Excel, or ask for the table in another format.",
                file=self._path.name,
            )
        return piece

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._source.tell()

    def close(self) -> None:
        """Close it."""
        self._source.close()

    def __enter__(self) -> _BoundedPart:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Utf8:
    """A part's XML as UTF-8, whatever its encoding.

    Parameters
    ----------
    source
        The part.
    """

    def __init__(self, source: ArchiveSource) -> None:
        self._source = source
        self._first = source.read(1 << 16)
        name = _encoding(self._first)
        self._decoder = codecs.getincrementaldecoder(name)() if name else None
        if self._first.startswith(codecs.BOM_UTF8):
            self._first = self._first[3:]

    def read(self, size: int) -> bytes:
        """Return some bytes; none at the end alone."""
        while True:
            piece, self._first = self._first or self._source.read(size), b""
            if self._decoder is None or not piece:
                return piece
            if text := self._decoder.decode(piece).encode().removeprefix(codecs.BOM_UTF8):
                return text


def _encoding(first: bytes) -> str:
    """Return the encoding that a text of XML states; empty for UTF-8."""
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    stated = re.match(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*[\"']([\w.-]+)", first)
    if stated is None:
        return ""
    name = codecs.lookup(stated[1].decode()).name
    return "" if name in {"utf-8", "ascii"} else name


def understood(
    path: Path, kind: str, also: tuple[type[Exception], ...] = ()
) -> AbstractContextManager[None]:
    """Say in plain words where a file is found damaged; what a library says may hold cells.

    Parameters
    ----------
    path
        The file.
    kind
        What it is said to be: the refusal's sentence.
    also
        What else is raised at damaged files.
    """
    damaged = DamagedFile(
        kind,
        "Open it in the program that made it and save it again, or copy it again from its source.",
        file=path.name,
    )
    # An entry said to begin before the file does is an error of the system.
    return refused_at((*COMPLAINTS, *also), damaged, {None, errno.EINVAL})


def _too_large(path: Path, unpacked: int, options: ReadOptions | None) -> TooLarge:
    ways = (Way("Read it all the same", replace(options, any_size=True)),) if options else ()
    return TooLarge(
        "{file} would unpack to {bytes:,} {bytes:byte|bytes}, far more than a workbook of its size"
        " holds.",
        "If you know where it comes from, let any size be read.",
        ways=ways,
        file=path.name,
        bytes=unpacked,
    )
