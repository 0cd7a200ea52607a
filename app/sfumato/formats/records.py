"""The records of a delimited text in any encoding, in blocks, each field still a text."""

from __future__ import annotations

import codecs
import csv
import hashlib
import os
import re
from bisect import bisect_right
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sfumato.formats.columns.settling import number_in_file, usable_names
from sfumato.formats.errors import (
    BadHeader,
    DamagedFile,
    EmptyFile,
    FileError,
    OpenQuote,
    RaggedRow,
    Way,
    WrongEncoding,
    grouped,
)
from sfumato.formats.files import opening
from sfumato.formats.options import RaggedRows, ReadOptions

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
    """Return the most likely encoding of a text file, from samples throughout the file.

    The library charset-normalizer (3.5) takes short German texts of Windows for Windows-1250,
    code page 864 or 1006, or HP's Roman 8, so it does not decide.
    """
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
        self.digest: hashlib._Hash | None = None
        self._file = file
        self.encoding = codecs.lookup(encoding or "utf-8").name.removesuffix("-sig")
        self._decoder = codecs.getincrementaldecoder(self.encoding)()
        self._name = name
        self._ready = b""
        self._begun = False
        self._ended = False
        self._lines = 1
        self.tail = b""
        """The last bytes handed out."""
        self.ends: dict[int, int] = {}
        """Where in the file the last record of some pieces ends, by their numbers from 1."""
        self._watched: tuple[bytes, int] | None = None
        self._pieces = self._quotes = 0
        self._end: int | None = None

    def watch(self, quote: str, every: int) -> None:
        """Note from now on where the last record of every so many pieces ends, see `ends`."""
        self._watched = quote.encode(), every

    def jump(self, offset: int, end: int | None = None) -> None:
        """Go on at a byte of the file, where a record begins, up to another one, or to its end."""
        self._file.seek(offset)
        self._decoder.reset()
        self._ready, self._begun, self._ended, self._end = b"", True, False, end

    @property
    def position(self) -> int:
        """Which byte of the file the next one stands for, where each letter stands for itself."""
        return self._place_before(self._ready)

    def _place_before(self, text: bytes) -> int:
        """Return where in the file some text begins that was read last."""
        length = len(text)
        if self.encoding != "utf-8":
            length = len(text.decode().encode(self.encoding)) + len(self._decoder.getstate()[0])
        return self._file.tell() - length

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
        # A return is handed out with what follows it: Arrow drops a newline that begins a block
        # where the one before ended in a return, even within a value.
        lone = b"\r" if size > 1 else b""
        while not self._ended and self._ready in (b"", lone):
            self._ready += self._next_piece(max(size - len(self._ready), 1))
        end = min(size, len(self._ready))
        if size > 1 and end > 1 and self._ready[:end].endswith(b"\r"):
            end -= 1
        piece, self._ready = self._ready[:end], self._ready[end:]
        if piece:
            self.tail = (self.tail + piece)[-8:] if len(piece) < 8 else piece[-8:]
            if self._watched is not None:
                self._note(piece, *self._watched)
        return piece

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
        text = raw if self.encoding == "utf-8" else self._transcoded(raw)
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
        if self.encoding != "utf-8":
            self._lines += text.count(b"\n")
        if self._ended and self._begun and not (self.tail + self._ready).endswith((b"\n", b"\r")):
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


BLOCK_SIZES: Final = (2 << 20, 32 << 20, 512 << 20)
"""Bytes read at once; the larger ones are for files with records that don't fit."""


_SIMPLE: Final = frozenset(
    codecs.lookup(name).name
    for name in (
        *("utf-8", "utf-16-le", "utf-16-be", "latin-1", "iso8859-2", "iso8859-15", "mac-roman"),
        *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254"),
    )
)
_PIECES_APART: Final = 4
"""After so many pieces of the file the index has a row, some 8 MB."""
_ENDS_TRIED: Final = 1000
_NOTHING: Final = "Empty CSV file"
"""What Arrow says where no record follows."""


@dataclass
class RowIndex:
    """Where some rows of a delimited text begin, found while all of them were read.

    Parameters
    ----------
    rows
        The numbers of these rows, from 0, ascending.
    offsets
        Which byte of the file each begins at.
    shown
        What tells each row's texts from another's.
    file
        Size and time of the file that was read; None before.
    """

    rows: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    file: tuple[int, int] | None = None

    def before(self, row: int) -> int | None:
        """Return the place of the last of the rows that stands at one or before it, if any."""
        place = bisect_right(self.rows, row) - 1
        return None if place < 0 else place


def first_row_of(block: pa.RecordBatch) -> int:
    """Return a number by which the first row of a block is known again in this process."""
    return hash(tuple(column[0].as_py() for column in block.columns))


class RecordTooLong(Exception):
    """A record does not fit into a block."""


class Records:
    """A delimited text, opened: its columns' names, and its records block by block.

    Parameters
    ----------
    path, options
        The file and how to read it.
    block_size
        Bytes read at once.
    hashed
        Whether the file's digest is found meanwhile.
    index
        Is filled in while all columns of all rows are read, where the text allows that.

    Raises
    ------
    FileError
        If the header can't be read, see `names`.
    """

    def __init__(
        self,
        path: Path,
        options: ReadOptions,
        block_size: int,
        hashed: bool = False,
        index: RowIndex | None = None,
    ) -> None:
        self._path = path
        self._options = options
        self._block_size = block_size
        self._skips = options.ragged_rows == RaggedRows.SKIP
        self._ragged: list[int] = []
        self._refused: FileError | None = None
        self._kept = 0
        self._blocks = 0
        with opening(path):
            self._file: BinaryIO = path.open("rb")
            told = os.fstat(self._file.fileno())
            self._size = max(told.st_size, 1)
            self.file = told.st_size, told.st_mtime_ns
        try:
            self._stream = Utf8Stream(self._file, options.encoding, path.name)
            self._stream.digest = hashlib.sha256() if hashed else None
            self.names = self._read_names()
            # The first block is what was read with the header, and may be shorter than others.
            self._first = self._stream.waiting or block_size
            # Where a letter begins is known in encodings that keep nothing in mind.
            simple = self._stream.encoding in _SIMPLE and not options.escape
            self._index = index if simple and block_size == BLOCK_SIZES[0] else None
            self.begins = self._stream.position if simple else None
            if self._index is not None:
                self._stream.watch(options.quote, _PIECES_APART)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    @property
    def fraction(self) -> float:
        """How much of the file has been read."""
        return min(1.0, self._file.tell() / self._size)

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes that were read, where it was asked for."""
        return "" if self._stream.digest is None else self._stream.digest.hexdigest()

    @property
    def skipped(self) -> int:
        """How many rows were left out for their number of fields."""
        return len(self._ragged)

    @property
    def expected_rows(self) -> int:
        """How many rows there are likely to be in all, from those that came."""
        came = self._first + self._block_size * max(0, self._blocks - 1)
        return int(self._kept * max(1.0, 1.05 * self._size / came)) + 1

    def blocks_from(
        self, offset: int, end: int | None = None, columns: Sequence[str] | None = None
    ) -> Generator[pa.RecordBatch]:
        """Yield blocks of the records from a byte of the file on, see `blocks`.

        They end at another byte, where a record begins, or with the file.
        """
        self._stream.jump(offset, end)
        return self.blocks(self.names if columns is None else columns)

    def row_number(self, position: int) -> int:
        """Return the number in the file, from 1, of the row at a position among those kept."""
        return number_in_file(position, self._ragged)

    def blocks(self, columns: Sequence[str] | None = None) -> Generator[pa.RecordBatch]:
        """Yield the records in blocks of string columns, null where missing.

        Parameters
        ----------
        columns
            The columns wanted; None for all.

        Raises
        ------
        RaggedRow, OpenQuote, WrongEncoding, DamagedFile
            What is wrong with the text, and in which row or line.
        RecordTooLong
            If a record does not fit into a block.
        """
        last: pa.RecordBatch | None = None
        complaint, found = "", RowIndex(file=self.file)
        try:
            with opening(self._path), self._reader(columns) as reader:
                for number, block in enumerate(reader):
                    if block.num_rows:
                        last = block
                        if self._index is not None and number in self._stream.ends:
                            found.rows.append(self._kept)
                            found.offsets.append(self._stream.ends[number])
                            found.shown.append(first_row_of(block.select(self.names)))
                        self._kept += block.num_rows
                        self._blocks += 1
                        yield block if columns is None else block.select(columns)
        except pa.ArrowInvalid as error:
            complaint = str(error)  # Quotes values, so it is looked at and goes no further.
        if self._refused is not None:
            raise self._refused
        if self._index is not None and not complaint:
            vars(self._index).update(vars(found))
        if complaint:
            if _NOTHING in complaint:
                return
            raise self._meaning(complaint)
        self._check_end(last)

    def _reader(self, wanted: Sequence[str] | None) -> pa.csv.CSVStreamingReader:
        options, last = self._options, self.names[-1]
        # The last column tells whether the last record is whole.
        named = None if wanted is None else [*(n for n in wanted if n != last), last]
        texts = {name: pa.string() for name in self.names}
        return pa.csv.open_csv(
            pa.PythonFile(self._stream, mode="r"),
            # One thread: only then Arrow tells the numbers of rows, and it is no slower here.
            read_options=pa.csv.ReadOptions(
                use_threads=False, column_names=self.names, block_size=self._block_size
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=options.delimiter,
                quote_char=options.quote or False,
                double_quote=bool(options.quote),
                escape_char=options.escape or False,
                newlines_in_values=bool(options.quote or options.escape),
                ignore_empty_lines=len(self.names) > 1,
                invalid_row_handler=self._handle_ragged,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=texts,
                include_columns=named,
                null_values=list(options.missing),
                strings_can_be_null=True,
                quoted_strings_can_be_null=not options.quoted_empty_is_text,
            ),
        )

    def _read_names(self) -> list[str]:
        """Return the columns' names, and leave the stream at the first record."""
        options = self._options
        for _ in range(options.skip_lines):
            self._stream.take_line()
        record = self._first_record()
        names = self._fields(record)
        if options.header:
            return usable_names(names)
        self._stream.put_back(record)
        return usable_names([""] * len(names))

    def _first_record(self) -> bytes:
        while record := self._stream.take_record(self._options.delimiter, self._options.quote):
            if record.strip(b"\r\n"):
                return record
        raise empty_file(self._path.name)

    def _fields(self, record: bytes) -> list[str]:
        text = record.decode(errors="replace")
        if text.encode() != record:
            line = 1 + self._options.skip_lines
            raise not_in_encoding(self._path.name, "utf-8", line)
        quote = self._options.quote
        reader = csv.reader(
            [text.rstrip("\r\n")],
            delimiter=self._options.delimiter,
            quotechar=quote or None,
            escapechar=self._options.escape or None,
            quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        )
        try:
            return next(reader)
        except csv.Error:
            raise BadHeader(
                "The first record of {file} is too long to hold names of columns.",
                "Check the delimiter and the quotation mark.",
                file=self._path.name,
            ) from None

    def _handle_ragged(self, row: pa.csv.InvalidRow) -> str:
        """Note a row with another number of fields; Arrow calls this."""
        options = self._options
        quoted = bool(options.quote) and not options.escape
        if quoted and is_open(row.text.encode(), options.delimiter, options.quote):
            self._refused = self._open_quote(row.number)
            return "error"
        if self._skips:
            self._ragged.append(row.number)
            return "skip"
        self._refused = self._ragged_row(row)
        return "error"

    def _ragged_row(self, row: pa.csv.InvalidRow) -> RaggedRow:
        wanted, found = row.expected_columns, row.actual_columns
        what = "Row {row} has {found} " + ("field" if found == 1 else "fields") + " where the "
        what += "header has {wanted}" if self._options.header else "first row has {wanted}"
        if found < wanted:
            what += ": column {column} and those after it have none."
        else:
            what += ": field {extra} belongs to no column."
        skipping = replace(self._options, ragged_rows=RaggedRows.SKIP)
        return RaggedRow(
            what,
            "Mend the row in the source file, check delimiter and quotation mark, or skip such"
            " rows.",
            row=row.number,
            ways=(Way("Skip such rows", skipping),),
            found=found,
            wanted=wanted,
            column=self.names[min(found, wanted - 1)],
            extra=wanted + 1,
        )

    def _open_quote(self, row: int) -> OpenQuote:
        return OpenQuote(
            "A quotation mark that opens in row {row} does not close.",
            "Mend the row in the source file, or choose another quotation mark or none.",
            ways=(Way("Read without quotation marks", replace(self._options, quote="")),),
            row=grouped(row),
        )

    def _check_end(self, last: pa.RecordBatch | None) -> None:
        """Refuse a text whose last field is a quoted one that does not end."""
        quote = self._options.quote.encode()
        if last is None or not quote or self._stream.tail.rstrip(b"\r\n").endswith(quote):
            return
        text = last.column(last.num_columns - 1)[-1].as_py()
        if text is not None and text.endswith(("\n", "\r")):
            raise self._open_quote(self.row_number(self._kept - 1))

    def _meaning(self, message: str) -> Exception:
        """Return what Arrow's complaint means, without the values it may quote."""
        if "straddling" in message:
            return RecordTooLong()
        if "UTF8" in message or "utf8" in message:
            line = line_that_is_not_utf8(self._path)
            return not_in_encoding(self._path.name, "utf-8", line)
        return DamagedFile(
            "{file} can't be read as a table.",
            "Check the delimiter, the quotation mark and the encoding.",
            file=self._path.name,
        )
