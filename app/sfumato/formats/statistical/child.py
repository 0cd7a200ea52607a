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


HEADER: Final = struct.Struct("<cQ")
"""What a frame begins with: its letter and the length of what follows."""
PROGRESS, COLUMNS, DAMAGED, NO_MEMORY, SYSTEM = b"P", b"C", b"D", b"M", b"S"
"""The share that was read; what was read; why nothing was: the file, the memory, the system."""

_COMPLAINTS: Final = (ValueError, OverflowError, TypeError, pa.ArrowException)


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
        watched = WatchedFile(file, os.fstat(file.fileno()).st_size, report)
        read = getattr(pyreadstat, request["reader"])
        columns, found = read(watched, output_format="dict", **request["wanted"])
    if watched.raised is not None:
        raise watched.raised
    kinds = found.readstat_variable_types or {}
    arrays = {name: _array(values, kinds[name]) for name, values in columns.items()}
    batch = pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
    described = json.dumps(_described(found)).encode()
    out = io.BytesIO()
    schema = batch.schema.with_metadata({"described": described})
    with pa.ipc.new_stream(out, schema) as stream:
        stream.write_batch(batch.replace_schema_metadata(schema.metadata))
    return out.getvalue()


def _array(values: list[Any], kind: str) -> pa.Array:
    """Return a column of texts, where empty ones are missing, or of numbers, where NaN is."""
    if kind == "string":
        return pa.array([value or None for value in values], type=pa.string())
    return pa.array(np.array(values, dtype=np.float64))


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
