"""Rows put aside on the disk by the first bits of a number, and read back bucket by bucket.

What fits into one bucket stays in memory. The files have no names: nobody else can open them, and
they are gone with the process, however it ends. (Windows gives them names, and removes them when
they are closed.)
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.formats.files import refusal_to_write

BUCKET_ROWS: Final = 1 << 19
"""Into so many rows a bucket the rows are spread, where that is no more than `_MOST` buckets."""
BUCKET_NUMBERS: Final = 1 << 24
"""The same where a row is a single number of 64 bits."""
_MOST: Final = 256
_BUFFER: Final = 1 << 16


class Buckets:
    """Rows in buckets that follow each other in the order of a number, which is as good as random.

    Parameters
    ----------
    folder
        Where there is room for all rows.
    rows
        About how many rows will come.
    again
        Whether they are read more than once; the files then stay as long as the object does.
    numbers
        Whether each row is a single number.
    """

    def __init__(self, folder: Path, rows: int, again: bool = False, numbers: bool = False) -> None:
        size = BUCKET_NUMBERS if numbers else BUCKET_ROWS
        self._bits = min(_MOST - 1, rows // size).bit_length()
        self._stack = ExitStack()
        self._files: list[IO[bytes]] = []
        self._writers: list[pa.ipc.RecordBatchStreamWriter] = []
        self._kept: list[pa.RecordBatch] = []
        self.folder, self._again = folder, again
        if again:
            weakref.finalize(self, self._stack.close)

    def __enter__(self) -> Buckets:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, batch: pa.RecordBatch, numbers: npt.NDArray[np.uint64]) -> None:
        """Put rows aside, by their numbers, shape (n,).

        Raises
        ------
        CannotWrite, DiskFull
            If the folder does not take them.
        """
        try:
            self._add(batch, numbers)
        except OSError as error:
            raise refusal_to_write(error, self.folder) from None

    def _add(self, batch: pa.RecordBatch, numbers: npt.NDArray[np.uint64]) -> None:
        if not self._bits:
            self._kept.append(batch)
            return
        if not self._writers:
            for _ in range(1 << self._bits):
                nameless = tempfile.TemporaryFile(dir=self.folder, buffering=_BUFFER)  # noqa: SIM115
                file = self._stack.enter_context(nameless)
                self._files.append(file)
                self._writers.append(pa.ipc.new_stream(file, batch.schema))
        places = (numbers >> np.uint64(64 - self._bits)).astype(np.uint8)
        order = np.argsort(places, kind="stable")
        sorted_apart = batch.take(pa.array(order))
        ends = np.cumsum(np.bincount(places, minlength=len(self._writers))).tolist()
        for writer, start, end in zip(self._writers, [0, *ends], ends, strict=False):
            if end > start:
                writer.write_batch(sorted_apart.slice(start, end - start))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each bucket, in the order in which they came; see `again`."""
        if self._kept:
            kept = pa.Table.from_batches(self._kept)
            self._kept = self._kept if self._again else []
            yield from kept.combine_chunks().to_batches()
        for writer, file in zip(self._writers, self._files, strict=True):
            writer.close()
            file.seek(0)
            found = pa.ipc.open_stream(file).read_all().combine_chunks().to_batches()
            if not self._again:
                file.close()
            yield from found
