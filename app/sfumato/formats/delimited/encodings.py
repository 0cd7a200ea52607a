"""Text in any encoding, as a stream of UTF-8."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import BinaryIO, Final

from sfumato.formats.errors import DamagedFile, EmptyFile, OpenQuote, WrongEncoding, grouped

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LOOK: Final = 1 << 16
"""Bytes looked at in each place of a file."""
_PLACES: Final = 16
_UNDEFINED: Final = frozenset(b"\x81\x8d\x8f\x90\x9d")
"""Bytes that mean nothing in Windows-1252."""
_PIECE: Final = 1 << 20
_LONGEST_RECORD: Final = 64 << 20


def detect_encoding(path: Path) -> str:
    """Return the most likely encoding of a text file, from samples throughout the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_LOOK)
        for mark, name in _MARKS:
            if head.startswith(mark):
                return name
        if b"\0" in head:
            return _wide_encoding(head)
        samples = [head]
        for place in range(1, _PLACES):
            file.seek(max(_LOOK, place * (size - _LOOK) // (_PLACES - 1)))
            samples.append(file.read(_LOOK))
    if all(map(_is_utf8, samples)):
        return "utf-8"
    found = frozenset().union(*samples)
    return "latin-1" if found & _UNDEFINED else "cp1252"


def _wide_encoding(head: bytes) -> str:
    """Return which half of two-byte characters is nearly always zero."""
    low, high = head[0::2].count(0), head[1::2].count(0)
    if max(low, high) < len(head) / 8:
        return "utf-8"
    return "utf-16-le" if high > low else "utf-16-be"


def _is_utf8(sample: bytes) -> bool:
    """Whether a sample is UTF-8, but for characters cut off at its ends."""
    start = next((i for i in range(min(4, len(sample))) if sample[i] & 0xC0 != 0x80), 0)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample[start:])
    except UnicodeDecodeError:
        return False
    return True


class Utf8Stream:
    """A text file as UTF-8, without a byte-order mark, its last line ended.

    It has the methods that Arrow asks of a file to read from.

    Parameters
    ----------
    file
        The open file.
    encoding
        Its encoding.
    name
        The file's name, for messages.
    """

    def __init__(self, file: BinaryIO, encoding: str, name: str) -> None:
        self._file = file
        self._encoding = codecs.lookup(encoding or "utf-8").name.removesuffix("-sig")
        self._decoder = codecs.getincrementaldecoder(self._encoding)()
        self._name = name
        self._ready = b""
        self._begun = False
        self._ended = False
        self._lines = 1
        self.tail = b""
        """The last bytes handed out."""

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    def close(self) -> None:
        """Leave the file to whoever opened it."""

    def readable(self) -> bool:
        """Say yes."""
        return True

    def writable(self) -> bool:
        """Say no."""
        return False

    def seekable(self) -> bool:
        """Say no."""
        return False

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes; none at the end.

        Raises
        ------
        WrongEncoding
            If the bytes are not text in this encoding. For UTF-8, whoever uses the text finds
            out, and asks `line_that_is_not_utf8`.
        DamagedFile
            If there is a NUL character.
        """
        while not self._ready and not self._ended:
            self._ready = self._next_piece(max(size, 1))
        piece, self._ready = self._ready[:size], self._ready[size:]
        if piece:
            self.tail = (self.tail + piece)[-8:] if len(piece) < 8 else piece[-8:]
        return piece

    def take_line(self) -> bytes:
        """Return the next line with its end; empty at the end of the file."""
        line = b""
        while len(line) < _LONGEST_RECORD and (piece := self.read(_PIECE)):
            end = _line_end(piece)
            line += piece[:end]
            self.put_back(piece[end:])
            if line.endswith(b"\r"):
                following = self.read(1)
                line += following if following == b"\n" else b""
                self.put_back(b"" if following == b"\n" else following)
            if line.endswith((b"\r", b"\n")):
                break
        return line

    def take_record(self, delimiter: str, quote: str) -> bytes:
        """Return the next record: a line, or several where a quotation mark is open."""
        record = self.take_line()
        while quote and is_open(record, delimiter, quote):
            line = self.take_line()
            if not line or len(record) > _LONGEST_RECORD:
                raise OpenQuote(
                    "A quotation mark in the first record of {file} does not close.",
                    "Choose another quotation mark, or none.",
                    file=self._name,
                )
            record += line
        return record

    def put_back(self, piece: bytes) -> None:
        """Let the next read begin with `piece`."""
        self._ready = piece + self._ready

    def _next_piece(self, size: int) -> bytes:
        raw = self._file.read(size)
        self._ended = not raw
        text = raw if self._encoding == "utf-8" else self._transcoded(raw)
        if not self._begun and text:
            text = text.removeprefix(codecs.BOM_UTF8)
            self._begun = True
        if b"\0" in text:
            raise DamagedFile(
                "Line {line} of {file} holds a NUL character, which no text has.",
                "Choose another encoding, or mend the file: it may be cut off or binary.",
                line=grouped(self._line_of(text.index(b"\0"), text, len(raw))),
                file=self._name,
            )
        if self._encoding != "utf-8":
            self._lines += text.count(b"\n")
        if self._ended and self._begun and not self.tail.endswith((b"\n", b"\r")):
            text += b"\n"
        return text

    def _transcoded(self, raw: bytes) -> bytes:
        at = 0
        # What Python raises holds the text, so it goes no further.
        try:
            return self._decoder.decode(raw, final=not raw).encode()
        except UnicodeError as error:
            if isinstance(error, UnicodeDecodeError):
                at = error.start
        line = self._lines + raw[:at].count(b"\n")
        raise not_in_encoding(self._name, self._encoding, line)

    def _line_of(self, position: int, text: bytes, length: int) -> int:
        """Return the line of a position in the piece read last; UTF-8 is counted anew."""
        line = self._lines + text[:position].count(b"\n")
        if self._encoding == "utf-8":
            start = self._file.tell() - length
            self._file.seek(0)
            line += sum(
                self._file.read(min(_PIECE, start - done)).count(b"\n")
                for done in range(0, start, _PIECE)
            )
        return line


def is_open(record: bytes, delimiter: str, quote: str) -> bool:
    """Whether a quoted field of a record does not end in it."""
    before, mark = re.escape(delimiter.encode()), re.escape(quote.encode())
    closed = rb"(^|%b)%b(?:[^%b]|%b%b)*%b" % (before, mark, mark, mark, mark, mark)
    rest = re.sub(closed, rb"\1", record)
    return re.search(rb"(^|%b)%b" % (before, mark), rest) is not None


def _line_end(piece: bytes) -> int:
    """Return where the first line of a piece ends, after its line break."""
    feed, carriage = piece.find(b"\n"), piece.find(b"\r")
    ends = [end + 1 for end in (feed, carriage) if end >= 0]
    return min(ends) if ends else len(piece)


def not_in_encoding(name: str, encoding: str, line: int) -> WrongEncoding:
    """Return the error for bytes that are not text in the encoding chosen."""
    return WrongEncoding(
        "Line {line} of {file} is not text in the encoding {encoding}.",
        "Choose another encoding; Windows-1252 is a frequent one.",
        line=grouped(line),
        file=name,
        encoding=encoding,
    )


def line_that_is_not_utf8(path: Path) -> int:
    """Return the first line of a file that is not UTF-8, counted from 1; the last if all are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(piece)
            except UnicodeDecodeError as error:
                return line + piece[: max(error.start - pending, 0)].count(b"\n")
            line += piece.count(b"\n")
    return line


def empty_file(name: str) -> EmptyFile:
    """Return the error for a file without any record."""
    return EmptyFile("{file} is empty.", "Choose a file with at least one record.", file=name)
