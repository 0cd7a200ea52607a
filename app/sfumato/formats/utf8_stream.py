"""A text file in any encoding, read as UTF-8 by whoever asks for bytes."""

from __future__ import annotations

import codecs
import hashlib
import re
import threading
import weakref
from collections.abc import Callable
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from sfumato.formats.errors import (
    DamagedFile,
    OpenQuote,
    WrongEncoding,
    grouped,
)

_PIECE: Final = 1 << 20
_LONGEST_CHARACTER: Final = 4
"""Bytes of a character in UTF-8."""
_LITTLE: Final = 16
"""More is read where this share of what was asked for is left, or less."""
_ENDS_TRIED: Final = 1000
_LONGEST_RECORD: Final = 64 << 20


class HandedOut:
    """A file as it is handed to Arrow, which tells when Arrow can't ask it for more.

    Arrow reads ahead in a thread of its own, which may not ask Python for more once the
    interpreter ends: the process would be aborted. The thread holds what it reads from, so nobody
    else may hold this.
    """

    def __init__(self, stream: Utf8Stream) -> None:
        self._stream = stream
        self.gone = threading.Event()
        """Is set once nobody holds this any more."""
        weakref.finalize(self, self.gone.set)

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._stream.closed

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
        """Return at most `size` bytes; none at the end."""
        return self._stream.read(size)


class Utf8Stream:
    """A text file as UTF-8, without a byte-order mark, its last line ended.

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
        self.digest: hashlib._Hash | None = None
        self._file = file
        self.encoding = codecs.lookup(encoding or "utf-8").name.removesuffix("-sig")
        self._decoder = codecs.getincrementaldecoder(self.encoding)()
        self._name = name
        self._ready = b""
        self._begun_character = b""
        """The bytes of a UTF-8 file that begin a character whose end was not read yet."""
        self._begun = False
        self._ended = False
        self._lines = 1
        self.tail = b""
        """The last bytes handed out."""
        self.ends: dict[int, int] = {}
        """Where in the file the last record of some pieces ends, by their numbers from 1."""
        self._watched: tuple[bytes, int] | None = None
        self.rewrite: Callable[[bytes, bool], bytes] | None = None
        """Returns whole lines in place of a piece of the text, and of the last one."""
        self._pieces = self._quotes = 0
        self._end: int | None = None
        self._is_abandoned = False

    def watch(self, quote: str, every: int) -> None:
        """Note from now on where the last record of every so many pieces ends, see `ends`."""
        self._watched = quote.encode(), every

    def jump(self, offset: int, end: int | None = None) -> None:
        """Go on at a byte of the file, where a record begins, up to another one, or to its end."""
        self._file.seek(offset)
        self._decoder.reset()
        self._ready, self._begun, self._ended, self._end = b"", True, False, end
        self._begun_character = b""
        self._is_abandoned = False

    @property
    def position(self) -> int:
        """Which byte of the file the next one stands for, where each letter stands for itself."""
        return self._place_before(self._ready)

    def _place_before(self, text: bytes) -> int:
        """Return where in the file some text begins that was read last."""
        length = len(text) + len(self._begun_character)
        if self.encoding != "utf-8":
            length = len(text.decode().encode(self.encoding)) + len(self._decoder.getstate()[0])
        return self._file.tell() - length

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, of whole characters if it is 4 or more; none at the end.

        Where the text is abandoned, what was handed out is decoded once more as a last record, so
        that it may not end within a character.

        Raises
        ------
        WrongEncoding
            If the bytes are not text in this encoding.
        DamagedFile
            If there is a NUL character.
        """
        return b"" if self._is_abandoned else self._read(size)

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody wants what is still read."""
        return self._is_abandoned

    def abandon(self) -> None:
        """Answer every read with the end from now on; one that runs goes on."""
        self._is_abandoned = True

    def _read(self, size: int) -> bytes:
        # A return is handed out with what follows it: Arrow drops a newline that begins a block
        # where the one before ended in a return, even within a value.
        while not self._ended and self._is_less_than_a_line(size):
            waiting = len(self._ready) + len(self._begun_character)
            self._ready += self._next_piece(max(size - waiting, 1))
        end = min(size, len(self._ready))
        if size >= _LONGEST_CHARACTER:
            end = _whole_characters(self._ready[:end])
        if size > 1 and end > 1 and self._ready[:end].endswith(b"\r"):
            end -= 1
        piece, self._ready = self._ready[:end], self._ready[end:]
        if piece:
            self.tail = (self.tail + piece)[-8:] if len(piece) < 8 else piece[-8:]
            if self._watched is not None:
                self._note(piece, *self._watched)
        return piece

    def _is_less_than_a_line(self, size: int) -> bool:
        """Whether what is left is little and no line ends in it, which Arrow takes for no block."""
        little = len(self._ready) < size and len(self._ready) <= max(1, size // _LITTLE)
        return little and b"\n" not in self._ready and b"\r" not in self._ready[:-1]

    def _note(self, piece: bytes, quote: bytes, every: int) -> None:
        if len(quote) == 1:  # numpy counts what is frequent five times faster than Python does
            self._quotes += int((np.frombuffer(piece, np.uint8) == quote[0]).sum())
        else:
            self._quotes += piece.count(quote) if quote else 0
        self._pieces += 1
        if self._pieces % every or self._ended:
            return
        end, quotes = len(piece), 0
        for _ in range(_ENDS_TRIED):
            line = piece.rfind(b"\n", 0, end)
            if line < 0:
                return
            quotes += piece.count(quote, line, end) if quote else 0
            if (self._quotes - quotes) % 2 == 0:  # else a quotation mark is open there
                self.ends[self._pieces] = self._place_before(piece[line + 1 :] + self._ready)
                return
            end = line

    def take_line(self) -> bytes:
        """Return the next line with its end; empty at the end of the file."""
        line = bytearray()  # to which a piece is added without a copy of those before
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
        return bytes(line)

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

    def peek(self) -> bytes:
        """Return what the next read has at once, without handing it out."""
        return self._ready

    def rewrite_waiting(self) -> None:
        """Rewrite what was read already and not handed out."""
        if self.rewrite is not None:
            self._ready = self.rewrite(self._ready, self._ended)

    @property
    def waiting(self) -> int:
        """How many bytes the next read has at once."""
        return len(self._ready)

    def put_back(self, piece: bytes) -> None:
        """Let the next read begin with `piece`."""
        self._ready = piece + self._ready

    def _next_piece(self, size: int) -> bytes:
        if self._end is not None:
            size = min(size, self._end - self._file.tell())
        raw = self._file.read(size)
        self._ended = not raw
        if self.digest is not None:
            self.digest.update(raw)
        text = self._whole(raw) if self.encoding == "utf-8" else self._transcoded(raw)
        if not self._begun and text:
            text = text.removeprefix(codecs.BOM_UTF8)
            self._begun = True
        if b"\0" in text:
            raise DamagedFile(
                "Line {line} of {file} holds a NUL character, which no text has.",
                "Choose another encoding, or repair the file: it may be cut off or binary.",
                line=grouped(self._line_of(text.index(b"\0"), text, len(raw))),
                file=self._name,
            )
        if self.encoding == "utf-8" and not _is_utf8(text):
            line = self._line_of(_first_not_utf8(text), text, len(raw))
            raise not_in_encoding(self._name, self.encoding, line)
        if self.encoding != "utf-8":
            self._lines += text.count(b"\n")
        if self.rewrite is not None:
            # Some read as the end where there is nothing.
            return self.rewrite(text, self._ended)
        if self._ended and self._begun and not (self.tail + self._ready).endswith((b"\n", b"\r")):
            text += b"\n"
        return text

    def _whole(self, raw: bytes) -> bytes:
        """Return the whole characters read so far of a UTF-8 file; all that is left at its end."""
        text = self._begun_character + raw
        end = _whole_characters(text) if raw else len(text)
        self._begun_character, text = text[end:], text[:end]
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
        raise not_in_encoding(self._name, self.encoding, line)

    def _line_of(self, position: int, text: bytes, length: int) -> int:
        """Return the line of a position in the piece read last; UTF-8 is counted anew."""
        line = self._lines + text[:position].count(b"\n")
        if self.encoding == "utf-8":
            start = self._file.tell() - length
            self._file.seek(0)
            line += sum(
                self._file.read(min(_PIECE, start - done)).count(b"\n")
                for done in range(0, start, _PIECE)
            )
        return line


def is_open(record: bytes, delimiter: str, quote: str) -> bool:
    """Whether a quoted field of a record does not end in it."""
    if quote.encode() not in record:
        return False
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


def _whole_characters(text: bytes) -> int:
    """Return how much of a text in UTF-8 there is but for a character that its end cuts off."""
    end = text[-_LONGEST_CHARACTER:]
    return len(text) - len(end) + codecs.utf_8_decode(end, "ignore", False)[1]


def _is_utf8(text: bytes) -> bool:
    """Whether bytes are UTF-8, found several times faster than by making a text of them."""
    if text.isascii():
        return True
    ends = pa.py_buffer(np.array([0, len(text)], dtype=np.int32))
    try:
        pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(text)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _first_not_utf8(text: bytes) -> int:
    """Return where the first byte stands that is not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(text)
