"""The records of a delimited text, in blocks, each field still a text."""

from __future__ import annotations

import csv
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

import pyarrow as pa
import pyarrow.csv

from sfumato.formats.columns.names import usable_names
from sfumato.formats.columns.rows import number_in_file
from sfumato.formats.delimited.encodings import (
    Utf8Stream,
    empty_file,
    is_open,
    line_that_is_not_utf8,
    not_in_encoding,
)
from sfumato.formats.errors import (
    BadHeader,
    DamagedFile,
    FileError,
    OpenQuote,
    RaggedRow,
    Way,
    grouped,
)
from sfumato.formats.files import opening
from sfumato.formats.options import RaggedRows, ReadOptions

BLOCK_SIZES: Final = (2 << 20, 32 << 20, 512 << 20)
"""Bytes read at once; the larger ones are for files with records that don't fit."""


_NOTHING: Final = "Empty CSV file"
"""What Arrow says where no record follows."""


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

    Raises
    ------
    FileError
        If the header can't be read, see `names`.
    """

    def __init__(self, path: Path, options: ReadOptions, block_size: int) -> None:
        self._path = path
        self._options = options
        self._block_size = block_size
        self._skips = options.ragged_rows == RaggedRows.SKIP
        self._ragged: list[int] = []
        self._refused: FileError | None = None
        self._kept = 0
        with opening(path):
            self._file: BinaryIO = path.open("rb")
            self._size = max(path.stat().st_size, 1)
        try:
            self._stream = Utf8Stream(self._file, options.encoding, path.name)
            self.names = self._read_names()
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
    def skipped(self) -> int:
        """How many rows were left out for their number of fields."""
        return len(self._ragged)

    def expected_rows(self, rows: int) -> int:
        """Return how many rows are likely to come in all, from the number in the first block."""
        return int(rows * max(1.0, 1.05 * self._size / self._block_size)) + 1

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
        complaint = ""
        try:
            with opening(self._path), self._reader() as reader:
                for block in reader:
                    if block.num_rows:
                        last = block
                        self._kept += block.num_rows
                        yield block if columns is None else block.select(columns)
        except pa.ArrowInvalid as error:
            complaint = str(error)  # Quotes values, so it is looked at and goes no further.
        if self._refused is not None:
            raise self._refused
        if complaint:
            if _NOTHING in complaint:
                return
            raise self._meaning(complaint)
        self._check_end(last)

    def _reader(self) -> pa.csv.CSVStreamingReader:
        options = self._options
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
