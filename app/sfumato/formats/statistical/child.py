"""Calls the library for statistical files, in a process that it may take down with itself.

It is written in C, and a damaged file can make it crash. `sfumato.formats.statistical.reading`
starts ``python -m`` with this module, which imports little, so that it starts fast. Requests come
as lines of JSON; each is answered by frames: a letter, a length, and so many bytes. Nothing goes to
a disk.
"""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa

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
        Its size in bytes; what follows is not there for the library.
    report
        Called with the share that was read, between 0 and 1.
    """

    def __init__(
        self, file: BinaryIO | OneTable, size: int, report: Callable[[float], object]
    ) -> None:
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
            left = max(self._size - self._file.tell(), 0)
            piece = self._file.read(left if size < 0 else min(size, left))
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
        if whence == os.SEEK_END:
            return self._file.seek(self._size + offset)
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self._file.tell()


_TABLE_MARKS: Final = (
    b"HEADER RECORD*******MEMBER  HEADER RECORD!!!!!!!",
    b"HEADER RECORD*******MEMBV8  HEADER RECORD!!!!!!!",
)
_RECORD: Final = 80
_BLOCK: Final = _RECORD << 14


def names_of_tables(file: BinaryIO) -> list[str]:
    """Return what the tables of a SAS transport file are called, no two of them the same."""
    found: list[str] = []
    for start in tables_in(file):
        file.seek(start)
        mark = file.read(_RECORD)
        file.seek(start + 2 * _RECORD + _NAME_AT)
        width = _NAME_WIDTHS[_TABLE_MARKS.index(mark[: len(_TABLE_MARKS[0])])]
        name = file.read(width).decode("ascii", "replace").strip(" \0")
        known = name or f"{len(found) + 1}"
        found.append(f"{known} ({len(found) + 1})" if known in found else known)
    file.seek(0)
    return found


_NAME_AT: Final = 8
_NAME_WIDTHS: Final = (8, 32)


def tables_in(file: BinaryIO) -> list[int]:
    """Return where the tables of a SAS transport file begin, whose records have 80 bytes."""
    found, start = [], 0
    file.seek(0)
    while block := file.read(_BLOCK):
        for mark in _TABLE_MARKS:
            at = block.find(mark)
            while at >= 0:
                if at % _RECORD == 0:
                    found.append(start + at)
                at = block.find(mark, at + 1)
        start += len(block)
    file.seek(0)
    return sorted(found)


class OneTable:
    """A SAS transport file with one of its tables alone.

    Parameters
    ----------
    file
        The open file.
    first, start, end
        Where the first table begins, after what is said of the whole file; where this one begins,
        and where it ends.
    """

    def __init__(self, file: BinaryIO, first: int, start: int, end: int) -> None:
        self._file, self._first, self._gap = file, first, start - first
        self._at = 0
        self.size = first + end - start

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes."""
        found = b""
        while len(found) < size and self._at < self.size:
            before = self._at < self._first
            most = (self._first if before else self.size) - self._at
            self._file.seek(self._at if before else self._at + self._gap)
            piece = self._file.read(min(size - len(found), most))
            if not piece:
                break
            found += piece
            self._at += len(piece)
        return found

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a position."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        """Return the position."""
        return self._at


HEADER: Final = struct.Struct("<cQ")
"""What a frame begins with: its letter and the length of what follows."""
PROGRESS, COLUMNS, DAMAGED, NO_MEMORY, SYSTEM = b"P", b"C", b"D", b"M", b"S"
"""The share that was read; what was read; why nothing was: the file, the memory, the system."""

_UNKNOWN: Final = {
    "read_por": frozenset(("encoding", "user_missing")),
    "read_xport": frozenset(("user_missing",)),
}
"""What the library can't be asked for of some files."""
_COMPLAINTS: Final = (ValueError, OverflowError, TypeError, LookupError, pa.ArrowException)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    import pyreadstat  # noqa: PLC0415

    complaints = (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, *_COMPLAINTS)

    def say(letter: bytes, content: bytes = b"") -> None:
        answers.write(HEADER.pack(letter, len(content)))
        answers.write(content)
        answers.flush()

    for line in requests:
        # What the library says may quote values, so it is not passed on.
        try:
            answer = _answer(
                json.loads(line), lambda share: say(PROGRESS, struct.pack("<d", share))
            )
        except (MemoryError, pa.ArrowMemoryError):
            say(NO_MEMORY)
        except OSError as error:
            say(SYSTEM, str(error.errno or 0).encode())
        except complaints:
            say(DAMAGED)
        else:
            say(COLUMNS, answer)


def _answer(request: dict[str, Any], report: Any) -> bytes:
    """Return what a call of the library gives: an Arrow stream with the rest as its metadata."""
    import pyreadstat  # noqa: PLC0415

    with open(request["path"], "rb") as file:  # noqa: PTH123 - spares an import
        size = os.fstat(file.fileno()).st_size
        watched = WatchedFile(file, size, report)
        if request["reader"] == "read_xport" and (tables := tables_in(file)):
            # The library takes what follows a table for more rows of it.
            start, end = (*tables, size)[request["table"] :][:2]
            one = OneTable(file, tables[0], start, end)
            watched = WatchedFile(one, one.size, report)
        read = getattr(pyreadstat, request["reader"])
        unknown = _UNKNOWN.get(request["reader"], frozenset())
        wanted = {name: each for name, each in request["wanted"].items() if name not in unknown}
        columns, found = read(watched, output_format="dict", **wanted)
    if watched.raised is not None:
        raise watched.raised
    if not all(found.column_names):  # the library calls a column without a name None
        raise ValueError
    kinds = found.readstat_variable_types or {}
    arrays = {name: _array(values, kinds[name]) for name, values in columns.items()}
    letters = {name: _letters(columns[name]) for name in found.missing_user_values or {}}
    names = [*arrays, *letters]
    batch = pa.RecordBatch.from_arrays([*arrays.values(), *letters.values()], names=names)
    described = json.dumps({**_described(found), "lettered": list(letters)}).encode()
    out = io.BytesIO()
    schema = batch.schema.with_metadata({"described": described})
    with pa.ipc.new_stream(out, schema) as stream:
        stream.write_batch(batch.replace_schema_metadata(schema.metadata))
    return out.getvalue()


def _array(values: list[Any], kind: str) -> pa.Array:
    """Return a column of texts, where empty ones are missing, or of numbers, where NaN is."""
    if kind == "string":
        return pa.array([value or None for value in values], type=pa.string())
    try:
        numbers = np.array(values, dtype=np.float64)
    except ValueError:  # Letters stand for missing values with a reason.
        plain = [None if isinstance(value, str) else value for value in values]
        numbers = np.array(plain, dtype=np.float64)
    return pa.array(numbers)


def _letters(values: list[Any]) -> pa.Array:
    """Return the letter of each value that is missing with a reason, and else nothing."""
    letters = [value if isinstance(value, str) else None for value in values]
    return pa.array(letters, type=pa.string())


def _described(found: Any) -> dict[str, Any]:
    return {
        "names": found.column_names,
        "rows": found.number_rows,
        "kinds": found.readstat_variable_types,
        "formats": found.original_variable_types,
        "labels": found.column_names_to_labels,
        "sets": found.variable_to_label,
        "value_labels": _pairs(found.variable_value_labels),
        "label_sets": _pairs(found.value_labels),
        "missing": found.missing_ranges,
    }


def _pairs(labels: dict[str, dict[Any, str]] | None) -> dict[str, list[Any]]:
    """Return labels as JSON can hold them, which has no numbers for keys."""
    return {name: list(texts.items()) for name, texts in (labels or {}).items()}


class _WithoutPandas:
    """Lets pandas not be found: PyArrow would import it, which takes longer than most files."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004
        if name == "pandas":
            raise ModuleNotFoundError(name)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.meta_path.insert(0, _WithoutPandas)
    with os.fdopen(os.dup(1), "wb") as unmixed:
        os.dup2(2, 1)  # whatever the library prints is no answer
        serve(sys.stdin.buffer, unmixed)
