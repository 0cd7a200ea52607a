"""The records of a delimited text in any encoding, in blocks, each field still a text."""

from __future__ import annotations

import codecs
import csv
import hashlib
import os
from bisect import bisect_right
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

import pyarrow as pa
import pyarrow.csv

from sfumato.formats.columns.missing import without_texts
from sfumato.formats.columns.settling import number_in_file, usable_names
from sfumato.formats.errors import (
    BadHeader,
    DamagedFile,
    EmptyFile,
    FileError,
    OpenQuote,
    RaggedRow,
    TooLarge,
    Way,
    grouped,
)
from sfumato.formats.files import opening
from sfumato.formats.layouts import MARK, BlankSqueezer, LineCutter, fields_of, refuse_fixed_width
from sfumato.formats.options import RaggedRows, ReadOptions
from sfumato.formats.utf8_stream import (
    HandedOut,
    Utf8Stream,
    is_open,
    not_in_encoding,
)

_MOST_FIELDS: Final = 200_000
"""More columns than a table of records has."""


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
_LONGEST_READ: Final = 60.0
"""Seconds that Arrow's thread is waited for, which ends with what it reads just then."""
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
        self._fields = fields_of(options.layout)
        if self._fields:
            options = replace(options, delimiter=MARK, quote="", escape="", header=False)
        self._options = options
        self._block_size = block_size
        self._skips = options.ragged_rows == RaggedRows.SKIP
        self._ragged: list[int] = []
        self.unnamed: tuple[str, ...] = ()
        """What columns are called that the header does not name."""
        self.cutter: LineCutter | None = None
        """What cuts the lines of a text of fixed width."""
        self.last_begins = ""
        """The first field of the last row, once all columns of all rows were read."""
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
            for _ in range(options.skip_lines):
                self._stream.take_line()
            if self._fields:
                self._stream.rewrite = self.cutter = LineCutter(self._fields)
            elif options.delimiter == " " and options.version > 1:
                self._stream.rewrite = BlankSqueezer()
            if self._stream.rewrite is not None:
                self._stream.rewrite_waiting()
            self.names = self._read_names()
            # The first block is what was read with the header, and may be shorter than others.
            self._first = self._stream.waiting or block_size
            # Where a letter begins is known in encodings that keep nothing in mind.
            simple = self._stream.encoding in _SIMPLE and not options.escape
            simple &= self._stream.rewrite is None
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
    def ragged(self) -> tuple[int, ...]:
        """The numbers of these rows, from 1."""
        return tuple(self._ragged)

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
            with opening(self._path), closing(self._read_blocks(columns)) as read:
                for number, block in enumerate(read):
                    if block.num_rows:
                        last = block
                        if self._index is not None and number in self._stream.ends:
                            found.rows.append(self._kept)
                            found.offsets.append(self._stream.ends[number])
                            found.shown.append(first_row_of(block.select(self.names)))
                        self._kept += block.num_rows
                        self._blocks += 1
                        given = block if columns is None else block.select(columns)
                        yield without_texts(given, self._options.column_missing)
        except pa.ArrowInvalid as error:
            complaint = str(error)  # Quotes values, so it is looked at and goes no further.
        if self._refused is not None:
            raise self._refused
        if self._index is not None and not complaint:
            vars(self._index).update(vars(found))
        if last is not None and columns is None:
            self.last_begins = last.column(0)[-1].as_py() or ""
        if complaint:
            if _NOTHING in complaint:
                return
            raise self._meaning(complaint)
        self._check_end(last)

    def _read_blocks(self, wanted: Sequence[str] | None) -> Generator[pa.RecordBatch]:
        """Yield what Arrow reads, and leave no thread behind that reads on for it."""
        handed = HandedOut(self._stream)
        gone = handed.gone
        reader = self._reader(pa.PythonFile(handed, mode="r"), wanted)
        del handed
        try:
            yield from iter(reader)
        finally:
            self._stream.abandon()
            # Its last reference is this one: Arrow's thread leaves the text once it is gone.
            del reader
            gone.wait(_LONGEST_READ)

    def _reader(
        self, file: pa.PythonFile, wanted: Sequence[str] | None
    ) -> pa.csv.CSVStreamingReader:
        options, last = self._options, self.names[-1]
        # The last column tells whether the last record is whole.
        named = None if wanted is None else [*(n for n in wanted if n != last), last]
        texts = {name: pa.string() for name in self.names}
        return pa.csv.open_csv(
            file,
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
        if self._fields:
            return usable_names([field.name for field in self._fields])
        record = self._first_record()
        names = self._split(record)
        if len(names) == 1 and options.version > 1:
            refuse_fixed_width((record + self._stream.peek()).decode(errors="replace"), options)
        if options.header:
            named = usable_names(names)
            self.unnamed = tuple(
                name for name, given in zip(named, names, strict=True) if not given
            )
            return named
        self._stream.put_back(record)
        return usable_names([""] * len(names))

    def _first_record(self) -> bytes:
        while record := self._stream.take_record(self._options.delimiter, self._options.quote):
            if record.strip(b"\r\n"):
                return record
        raise empty_file(self._path.name)

    def _split(self, record: bytes) -> list[str]:
        fields = record.count(self._options.delimiter.encode()) + 1
        if fields > _MOST_FIELDS and not self._options.any_size and self._options.version >= 2:
            raise TooLarge(
                "The first record of {file} has {fields:,} {fields:field|fields}, more columns than"
                " are read unasked.",
                "Check the delimiter. If the table is really so wide, let any size be read.",
                ways=(Way("Read it all the same", replace(self._options, any_size=True)),),
                file=self._path.name,
                fields=fields,
            )
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
        if self._stream.is_abandoned:
            return "skip"
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
        if found == 1:
            what += " It may be a note above or below the table."
        skipping = replace(self._options, ragged_rows=RaggedRows.SKIP)
        return RaggedRow(
            what,
            "Correct the row in the source file, check delimiter and quotation mark, or skip such"
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
            "Correct the row in the source file, or choose another quotation mark or none.",
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
        return DamagedFile(
            "{file} can't be read as a table.",
            "Check the delimiter, the quotation mark and the encoding.",
            file=self._path.name,
        )
