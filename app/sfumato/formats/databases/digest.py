"""The digest by which the rows of a database are known again, however they came in blocks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


class ContentDigest:
    """A SHA-256 of columns that come block by block: of names, types, values and their order.

    Where the blocks begin and end is of no account, nor is how the database keeps the rows.

    Parameters
    ----------
    names, types
        The columns, and the Arrow types that they are read as.
    """

    def __init__(self, names: Sequence[str], types: Sequence[pa.DataType]) -> None:
        self._names = [[name, str(kind)] for name, kind in zip(names, types, strict=True)]
        self._columns = [[hashlib.sha256() for _ in range(3)] for _ in names]
        self._rows = 0

    def add(self, columns: Sequence[pa.Array]) -> None:
        """Add the next rows, each column of its own type."""
        self._rows += len(columns[0])
        for hashes, values in zip(self._columns, columns, strict=True):
            missing, lengths, plain = hashes
            missing.update(np.asarray(values.is_null()).astype("u1").data)
            if pa.types.is_string(values.type):
                filled = pc.fill_null(values, "")
                lengths.update(np.asarray(pc.binary_length(filled)).astype("<i4").data)
                plain.update(_bytes_of(filled))
            else:
                plain.update(_numbers_of(values).data)

    def finish(self) -> str:
        """Return the digest in hexadecimal."""
        parts = [[each.hexdigest() for each in hashes] for hashes in self._columns]
        whole = json.dumps([self._rows, self._names, parts], ensure_ascii=True)
        return hashlib.sha256(whole.encode()).hexdigest()


def _bytes_of(texts: pa.Array) -> memoryview:
    """Return the bytes of texts one after the other; none is missing."""
    offsets = np.frombuffer(texts.buffers()[1], dtype="i4")
    first, last = offsets[texts.offset], offsets[texts.offset + len(texts)]
    return memoryview(texts.buffers()[2] or b"")[first:last]


def _numbers_of(values: pa.Array) -> npt.NDArray[Any]:
    """Return values that are no texts as numbers that are the same on every machine."""
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    numbers = np.asarray(pc.fill_null(values, False if pa.types.is_boolean(values.type) else 0))
    if numbers.dtype.kind == "f":
        # One zero and one way to be no number, whatever the database calls them.
        return np.where(np.isnan(numbers), np.nan, numbers + 0.0).astype("<f8")
    return numbers.astype("u1" if numbers.dtype.kind == "b" else numbers.dtype.newbyteorder("<"))
