"""Rows of a delimited text, read again in parts, from its start or from where some begin."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import made_ahead
from sfumato.engine.core.progress import Silent
from sfumato.formats.columns.arrays import Mask
from sfumato.formats.columns.gathering import MOST_ROWS, ColumnReader
from sfumato.formats.errors import FileError
from sfumato.formats.files import digest_of
from sfumato.formats.formulas import without_escaped_texts
from sfumato.formats.options import ReadOptions
from sfumato.formats.records import BLOCK_SIZES, Records, RecordTooLong, RowIndex, first_row_of
from sfumato.formats.table_format import BATCH_ROWS, SHOWN_ROWS, TablePart, batch_at, in_blocks

STRETCH: Final = 8 << 20
"""Bytes that are read at once of a part: no record is as long that fits into the first of
`BLOCK_SIZES`, wherever the blocks begin."""
_HELD: Final = 32 << 20
"""Bytes of a file whose rows are looked at together, where they are few."""


def refuse_changed(path: Path, digest: str) -> None:
    """Refuse a file that is another one than it was."""
    if digest_of(path, Silent()) != digest:
        raise TableError("The table changed while it was read.", "Start again.")


def cut(
    path: Path,
    options: ReadOptions,
    block_size: int,
    index: RowIndex,
    readers: Mapping[str, ColumnReader],
    keep: Mask | None,
    rows: int,
) -> list[TablePart]:
    """Return stretches of a text of about so many rows or more; see `Batches.parts`.

    It is one stretch where records' first bytes are not known.
    """
    with Records(path, options, BLOCK_SIZES[0]) as records:
        file, begins = records.file, records.begins
    starts: list[tuple[int, int | None]] = [(0, begins)]
    for place, (first, offset) in enumerate(zip(index.rows, index.offsets, strict=True)):
        if begins is not None and first - starts[-1][0] >= rows:
            with Records(path, options, BLOCK_SIZES[0]) as records:
                blocks = records.blocks_from(offset)
                # Elsewhere a quotation mark stands where none is meant.
                with suppress(FileError, RecordTooLong), closing(blocks):
                    block = next(blocks, None)
                    if block is not None and first_row_of(block) == index.shown[place]:
                        starts.append((first, offset))
    found: list[TablePart] = []
    ends = [*starts[1:], (None, None)]
    for (row, start), (end_row, end) in zip(starts, ends, strict=True):
        kept = None if keep is None else np.packbits(keep[row:end_row]).tobytes()
        read = (path, options, block_size, file, dict(readers))
        found.append(_Stretch(*read, row, start, end, kept))
    return found


@dataclass(frozen=True)
class _Stretch:
    """Some records of a text; see `TablePart`.

    Parameters
    ----------
    path, options, block_size, file
        The text, how it is read, the bytes that are read at once, and its size and time.
    readers
        What reads each column.
    first, start, end
        The number of the first row, and which bytes the records begin and end at; all where
        `start` is not known.
    kept
        Which rows are not left out, a bit for each; None where none is.
    """

    path: Path
    options: ReadOptions
    block_size: int
    file: tuple[int, int]
    readers: Mapping[str, ColumnReader]
    first: int
    start: int | None
    end: int | None
    kept: bytes | None = field(repr=False)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with Records(self.path, self.options, self.block_size) as records:
            if records.file != self.file:
                raise TableError("The table changed while it was read.", "Start again.")
            if self.start is None:
                blocks = records.blocks(names)
            else:
                blocks = records.blocks_from(self.start, self.end, names)
            readers = {name: self.readers[name] for name in names}
            batches = _typed(blocks, readers, self.options, self.first)
            if self.kept is not None:
                bits = np.unpackbits(np.frombuffer(self.kept, dtype=np.uint8)).astype(np.bool_)
                batches = kept_rows(batches, bits)
            yield from in_blocks(batches, BATCH_ROWS)


def rows_near(
    path: Path,
    options: ReadOptions,
    index: RowIndex,
    readers: Mapping[str, ColumnReader],
    place: int,
) -> tuple[int, pa.RecordBatch] | None:
    """Return some rows around one, read from the indexed row before it; see `Batches.near`.

    Rows before the first of these are read from the start of the file, where that is near.
    """
    at = index.before(place)
    if index.file is None or (at is None and place >= BATCH_ROWS):
        return None
    first = 0 if at is None else index.rows[at]
    with Records(path, options, BLOCK_SIZES[0]) as records:
        if records.file != index.file:
            raise TableError("The table changed while it was read.", "Start again.")

        def meant() -> Iterator[pa.RecordBatch]:
            blocks = records.blocks() if at is None else records.blocks_from(index.offsets[at])
            for number, block in enumerate(blocks):
                if at is not None and number == 0 and first_row_of(block) != index.shown[at]:
                    return  # a quotation mark stands where none is meant
                yield block

        # What is raised of other rows than are meant quotes values.
        with suppress(FileError, pa.ArrowInvalid, RecordTooLong, KeyError, TableError):
            typed = _typed(meant(), readers, options, first)
            return batch_at(in_blocks(typed, SHOWN_ROWS), first, place, Silent())
    return None


def typed_rows(
    path: Path,
    options: ReadOptions,
    block_size: int,
    digest: str,
    readers: Mapping[str, ColumnReader],
    index: RowIndex | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some columns of a file that was read before; refuse another one."""
    same = False
    with (
        Records(path, options, block_size, hashed=True, index=index) as again,
        closing(blocks_of(again, list(readers), block_size)) as blocks,
        # Of another file; what is raised quotes values.
        suppress(pa.ArrowInvalid, KeyError, RecordTooLong),
    ):
        yield from _typed(blocks, readers, options)
        same = again.digest == digest
    if not same:
        raise TableError("The table changed while it was read.", "Start again.")


def _typed(
    blocks: Iterable[pa.RecordBatch],
    readers: Mapping[str, ColumnReader],
    options: ReadOptions,
    start: int = 0,
) -> Iterator[pa.RecordBatch]:
    """Yield blocks of texts as what their columns are; `start` is the first row of these."""
    for block in blocks:
        arrays = [read(block[name], start) for name, read in readers.items()]
        batch = pa.record_batch(arrays, names=list(readers))
        start += len(block)
        yield without_escaped_texts(batch) if options.escaped_formulas else batch


def kept_rows(batches: Iterable[pa.RecordBatch], keep: Mask) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are kept."""
    start = 0
    for batch in batches:
        yield batch.filter(pa.array(keep[start : start + len(batch)]))
        start += len(batch)


def blocks_of(
    records: Records, names: Sequence[str] | None, block_size: int
) -> Generator[pa.RecordBatch]:
    """Yield blocks of some columns, read on another thread."""
    most = max(1, _HELD // block_size)
    with (
        closing(records.blocks(names)) as blocks,
        closing(made_ahead(_joined(blocks, most))) as ahead,
    ):
        yield from ahead


def _joined(blocks: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """Yield blocks, at most so many of them as one where they have few rows.

    Whatever is done for each column of each block then counts little beside the values.
    """
    held: list[pa.RecordBatch] = []
    for block in blocks:
        held.append(block)
        if sum(map(len, held)) >= MOST_ROWS // 2 or len(held) == most:
            yield pa.concat_batches(held)
            held = []
    if held:
        yield pa.concat_batches(held)
