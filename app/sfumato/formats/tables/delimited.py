"""Delimited texts: CSV, and its relatives with semicolons, tabs or bars."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.parallel import made_ahead, made_side_by_side, side_by_side
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import ArrowColumn, Chosen, Mask, precision
from sfumato.formats.columns.gathering import (
    MOST_ROWS,
    ColumnReader,
    GatheredColumn,
    kind_of,
    seen_together,
)
from sfumato.formats.columns.parsing import Rules
from sfumato.formats.columns.settling import check_fixed_types, settle
from sfumato.formats.errors import EmptyFile, FileError, OpenQuote
from sfumato.formats.files import digest_of, opening
from sfumato.formats.formulas import without_escaped_texts, without_escapes
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.records import (
    BLOCK_SIZES,
    Records,
    RecordTooLong,
    RowIndex,
    Utf8Stream,
    detect_encoding,
    first_row_of,
)
from sfumato.formats.sniffing import sniff
from sfumato.formats.table_format import (
    BATCH_ROWS,
    SHOWN_ROWS,
    Batches,
    KnownFile,
    ReadResult,
    Rows,
    TableFormat,
    TablePart,
    WriteResult,
    arrays_of,
    batch_at,
    in_blocks,
)

_T = TypeVar("_T")

_SAMPLE_BYTES: Final = 1 << 17
_PREVIEW_BLOCK: Final = 1 << 17
_STRETCH: Final = 8 << 20
"""Bytes that are read at once of a part: no record is as long that fits into the first of
`BLOCK_SIZES`, wherever the blocks begin."""
_HELD: Final = 32 << 20
"""Bytes of a file whose rows are looked at together, where they are few."""


def detect_delimited(path: Path) -> ReadOptions:
    """Propose how to read a delimited text, from its first lines."""
    with opening(path):
        encoding = detect_encoding(path)
        with path.open("rb") as file:
            stream = Utf8Stream(file, encoding, path.name)
            sample = stream.read(_SAMPLE_BYTES)
    if len(sample) >= _SAMPLE_BYTES:
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    manner = sniff(sample.decode(errors="replace"))
    return ReadOptions(
        format="csv",
        encoding=encoding,
        delimiter=manner.delimiter,
        decimal=manner.decimal,
        thousands=manner.thousands,
        date_order=manner.date_order,
        header=manner.header,
    )


def preview_delimited(path: Path, options: ReadOptions, rows: int) -> Table:
    """Read the first rows only; rows and values that don't fit are let pass.

    A column that holds values of another type than the one fixed for it, or than most of the
    values, is shown as text.
    """

    def read(block_size: int) -> Table:
        with Records(path, options.tolerant(), block_size) as records:
            blocks = []
            with closing(records.blocks()) as stream:
                for block in stream:
                    blocks.append(block)
                    if sum(len(block) for block in blocks) >= rows:
                        break
            if not blocks:
                raise _no_rows(path, options)
            return _preview_of(records, blocks, options.tolerant(), rows)

    return _with_blocks_that_fit(read, path, (_PREVIEW_BLOCK, *BLOCK_SIZES))


def _preview_of(
    records: Records, blocks: list[pa.RecordBatch], options: ReadOptions, rows: int
) -> Table:
    block = pa.concat_batches(blocks).slice(0, rows)
    columns = [GatheredColumn(name, options, rows) for name in records.names]
    _add(columns, block, options)
    settle(columns, len(block), options, records.row_number)
    finished = {}
    for column, texts in zip(columns, block.columns, strict=True):
        shown = column
        if column.given_up:
            as_text = options.with_type(column.name, ColumnType.TEXT)
            shown = GatheredColumn(column.name, as_text, rows)
            shown.add(texts)
        finished[column.name] = shown.finish(None)
    table = Table(pd.DataFrame(finished, copy=False))
    return without_escapes(table) if options.escaped_formulas else table


def read_delimited(path: Path, options: ReadOptions, context: Context) -> ReadResult:
    """Read a delimited text.

    The types of columns that the custodian has not fixed are found out from all rows: the file
    is read a second time for columns that turn out to be text after all.

    Raises
    ------
    FileError
        If the file can't be read; names the row and the column, and never a value.
    Cancelled
        If the context says so.
    """

    def read(block_size: int) -> ReadResult:
        return _read(path, options, context, block_size)

    return _with_blocks_that_fit(read, path, BLOCK_SIZES)


def _with_blocks_that_fit(
    read: Callable[[int], _T], path: Path, block_sizes: tuple[int, ...]
) -> _T:
    """Call `read` with larger blocks until every record fits into one."""
    for block_size in block_sizes:
        try:
            return read(block_size)
        except RecordTooLong:
            continue
    raise OpenQuote(
        "{file} has a field longer than {megabytes} MB: most likely a quotation mark does not"
        " close.",
        "Choose another quotation mark, or none.",
        file=path.name,
        megabytes=block_sizes[-1] >> 20,
    )


def _read(path: Path, options: ReadOptions, context: Context, block_size: int) -> ReadResult:
    columns, rows, records = _gather(path, options, Part(context, 0.0, 0.8), block_size)
    keep, notes = settle(columns, rows, options, records.row_number)
    given_up = {column.name for column in columns if column.given_up}
    if given_up:
        texts = options
        for name in given_up:
            texts = texts.with_type(name, ColumnType.TEXT)
        part = Part(context, 0.8, 0.95)
        again, _, _ = _gather(path, texts, part, block_size, given_up)
        by_name = {column.name: column for column in again}
        columns = [by_name.get(column.name, column) for column in columns]
    frame = _assemble(columns, keep, Part(context, 0.95, 1.0))
    if not len(frame):
        raise _no_rows(path, options)
    skipped = records.skipped + (int((~keep).sum()) if keep is not None else 0)
    table = without_escapes(Table(frame)) if options.escaped_formulas else Table(frame)
    return ReadResult(table, skipped, tuple(notes))


def batches_of_delimited(
    path: Path,
    options: ReadOptions,
    context: Context,
    least: float,
    known: KnownFile | None = None,
) -> Batches | None:
    """Return the rows of a delimited text as batches; None where its values are about too few.

    Where that is not known, the file is read once to find out, from all rows, what
    `read_delimited` would read each column as. Whoever reads rows after that is refused at the end
    if the file became another meanwhile.

    Raises
    ------
    FileError, Cancelled
        As `read_delimited`.
    """
    if known is not None:
        return _known_in_parts(path, options, known)

    def read(block_size: int) -> Batches | None:
        if least and _values_about(path, options, block_size) < least:
            return None
        return _in_parts(path, options, context, block_size)

    return _with_blocks_that_fit(read, path, BLOCK_SIZES)


def _values_about(path: Path, options: ReadOptions, block_size: int) -> int:
    """Return about how many values a file has, by its size and its first rows."""
    with Records(path, options, block_size) as records, closing(records.blocks()) as blocks:
        next(blocks, None)
        return records.expected_rows * len(records.names)


def _in_parts(path: Path, options: ReadOptions, context: Context, block_size: int) -> Batches:
    index = RowIndex()
    gathered, rows, records = _gather(path, options, context, block_size, kept=False, index=index)
    keep, notes = settle(gathered, rows, options, records.row_number)
    left = rows if keep is None else int(keep.sum())
    if not left:
        raise _no_rows(path, options)
    columns, digest = {column.name: column for column in gathered}, records.digest
    readers = {name: column.reader for name, column in columns.items()}

    def read(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        typed = _typed(path, options, block_size, digest, [readers[n] for n in wanted], wanted)
        return in_blocks(typed if keep is None else _kept(typed, keep), BATCH_ROWS)

    types = {name: column.type for name, column in columns.items()}
    suffice = keep is None and block_size == BLOCK_SIZES[0]
    suffice &= all(column.type_suffices for column in gathered)
    # Where rows are left out by their values, the index has others' numbers.
    near = partial(_near, path, options, index, readers) if keep is None else None
    return Batches(
        types,
        left,
        {},
        {},
        read,
        tuple(notes),
        digest,
        suffice,
        records.skipped + rows - left,
        near,
        parts=partial(_cut, path, options, max(block_size, _STRETCH), index, readers, keep),
        check=partial(_refuse_changed, path, digest),
    )


def _known_in_parts(path: Path, options: ReadOptions, known: KnownFile) -> Batches:
    """Return the rows of a delimited text whose types were found out before."""

    def reader(name: str) -> ColumnReader:
        kind = known.types[name]
        return ColumnReader(
            kind, kind_of(kind), Rules.of(options, fixed=name in options.column_types)
        )

    index = RowIndex()

    def names(block_size: int) -> Sequence[str]:
        with Records(path, options, block_size) as records, closing(records.blocks()) as blocks:
            next(blocks, None)
            return records.names

    # What was kept of the types does not keep the columns' order.
    in_file = _with_blocks_that_fit(names, path, BLOCK_SIZES)
    types = {name: known.types[name] for name in in_file if name in known.types}
    readers = {name: reader(name) for name in types}

    def read(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # The first time that all columns are read.
        noted = index if index.file is None and set(wanted) == set(types) else None
        chosen = [readers[name] for name in wanted]
        typed = _typed(path, options, BLOCK_SIZES[0], known.digest, chosen, wanted, noted)
        return in_blocks(typed, BATCH_ROWS)

    def parts(rows: int) -> Sequence[TablePart]:
        if index.file is None:
            for _ in read(tuple(types)):
                pass
        return _cut(path, options, _STRETCH, index, readers, None, rows)

    return Batches(
        types,
        known.rows,
        {},
        {},
        read,
        digest=known.digest,
        types_suffice=True,
        near=partial(_near, path, options, index, readers),
        parts=parts,
        check=partial(_refuse_changed, path, known.digest),
    )


def _refuse_changed(path: Path, digest: str) -> None:
    if digest_of(path, Silent()) != digest:
        raise TableError("The table changed while it was read.", "Start again.")


def _cut(
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
            batches = self._typed(blocks, names)
            if self.kept is not None:
                bits = np.unpackbits(np.frombuffer(self.kept, dtype=np.uint8)).astype(np.bool_)
                batches = _kept(batches, bits)
            yield from in_blocks(batches, BATCH_ROWS)

    def _typed(
        self, blocks: Iterable[pa.RecordBatch], names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        row = self.first
        for block in blocks:
            arrays = [self.readers[name](block[name], row) for name in names]
            batch = pa.record_batch(arrays, names=list(names))
            row += len(block)
            yield without_escaped_texts(batch) if self.options.escaped_formulas else batch


def _near(
    path: Path,
    options: ReadOptions,
    index: RowIndex,
    readers: Mapping[str, ColumnReader],
    place: int,
) -> tuple[int, pa.RecordBatch] | None:
    """Return some rows around one, read from the indexed row before it; see `Batches.near`."""
    at = index.before(place)
    if at is None:
        return None
    first = index.rows[at]
    with Records(path, options, BLOCK_SIZES[0]) as records:
        if records.file != index.file:
            raise TableError("The table changed while it was read.", "Start again.")

        def typed() -> Iterator[pa.RecordBatch]:
            start = first
            for block in records.blocks_from(index.offsets[at]):
                if start == first and first_row_of(block) != index.shown[at]:
                    return  # a quotation mark stands where none is meant
                arrays = [read(block[name], start) for name, read in readers.items()]
                batch = pa.record_batch(arrays, names=list(readers))
                start += len(block)
                yield without_escaped_texts(batch) if options.escaped_formulas else batch

        # What is raised of other rows than are meant quotes values.
        with suppress(FileError, pa.ArrowInvalid, RecordTooLong, KeyError, TableError):
            return batch_at(in_blocks(typed(), SHOWN_ROWS), first, place, Silent())
    return None


def _typed(
    path: Path,
    options: ReadOptions,
    block_size: int,
    digest: str,
    readers: Sequence[ColumnReader],
    names: Sequence[str],
    index: RowIndex | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some columns of a file that was read before; refuse another one."""
    start, same = 0, False
    with (
        Records(path, options, block_size, hashed=True, index=index) as again,
        closing(_blocks_of(again, names, block_size)) as blocks,
        # Of another file; what is raised quotes values.
        suppress(pa.ArrowInvalid, KeyError, RecordTooLong),
    ):
        for block in blocks:
            arrays = [read(block[name], start) for name, read in zip(names, readers, strict=True)]
            batch = pa.record_batch(arrays, names=list(names))
            start += len(block)
            yield without_escaped_texts(batch) if options.escaped_formulas else batch
        same = again.digest == digest
    if not same:
        raise TableError("The table changed while it was read.", "Start again.")


def _kept(batches: Iterable[pa.RecordBatch], keep: Mask) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are kept."""
    start = 0
    for batch in batches:
        yield batch.filter(pa.array(keep[start : start + len(batch)]))
        start += len(batch)


def _gather(
    path: Path,
    options: ReadOptions,
    context: Context,
    block_size: int,
    wanted: set[str] | None = None,
    *,
    kept: bool = True,
    index: RowIndex | None = None,
) -> tuple[list[GatheredColumn], int, Records]:
    """Read all rows of the columns wanted, all where None; only their types if not `kept`."""
    rows = 0
    columns: list[GatheredColumn] = []
    context.report(0.0, Sentence("Reading {path}", path=path.name))
    with Records(path, options, block_size, hashed=not kept, index=index) as records:
        check_fixed_types(records.names, options)
        names = [name for name in records.names if wanted is None or name in wanted]
        with (
            closing(_blocks_of(records, names, block_size)) as blocks,
            side_by_side(pa.cpu_count()) as beside,
        ):
            for block in blocks:
                if not columns:
                    expected = records.expected_rows
                    columns = [GatheredColumn(n, options, expected, kept=kept) for n in names]
                _add(columns, block, options, beside)
                rows += len(block)
                context.report(records.fraction, Sentence("Reading {path}", path=path.name))
    if not rows:
        raise _no_rows(path, options)
    return columns, rows, records


def _add(
    columns: list[GatheredColumn],
    block: pa.RecordBatch,
    options: ReadOptions,
    beside: Callable[..., Iterator[None]] = map,
) -> None:
    """Add a block's texts to its columns, those of many rows on several threads."""
    together = seen_together(columns, block, options)
    for _ in (beside if len(block) > MOST_ROWS else map)(
        GatheredColumn.add, columns, block.columns, together
    ):
        pass


def _blocks_of(
    records: Records, names: Sequence[str], block_size: int
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


def _assemble(columns: list[GatheredColumn], keep: Mask | None, context: Context) -> pd.DataFrame:
    """Return the columns as a frame; each is let go of as soon as it is in."""
    finished = {}
    for position, column in enumerate(columns):
        context.report(position / len(columns), "Putting the table together")
        finished[column.name] = column.finish(keep)
    context.report(1.0, "Putting the table together")
    return pd.DataFrame(finished, copy=False)


def _no_rows(path: Path, options: ReadOptions) -> EmptyFile:
    what = "{file} has a header and no rows." if options.header else "{file} has no rows."
    return EmptyFile(what, "Choose a file with at least one record.", file=path.name)


_ROWS: Final = 1 << 17
_SECOND: Final = "%Y-%m-%dT%H:%M:%S"


def write_delimited(table: Table, path: Path, context: Context, order: Rows = None) -> WriteResult:
    """Write a table as RFC 4180 has it: UTF-8, commas, lines that end in CR LF.

    Texts stand in quotes, so that an empty text differs from a missing value, which is an
    empty field; numbers, dates and ``true`` or ``false`` stand without. A decimal has as many
    digits as give it back exactly; infinity is ``INF``. Dates follow ISO 8601, and the time of
    day is left out where a column has none. The same table gives the same bytes.

    Raises
    ------
    UnsupportedColumn
        If a column holds something that is neither number, text, date nor yes/no.
    """
    alone = len(table.columns) == 1
    columns = {str(name): _CsvColumn(str(name), s, alone) for name, s in table.frame.items()}
    schema = pa.schema([(name, column.type) for name, column in columns.items()])
    style = {"eol": "\r\n", "quoting_style": "needed"}
    rows_only = pa.csv.WriteOptions(include_header=False, **style)

    def lines(arrays: Sequence[pa.Array]) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        pa.csv.write_csv(pa.record_batch(arrays, schema=schema), sink, rows_only)
        return sink.getvalue()

    with pa.OSFile(str(path), "wb") as file:
        pa.csv.write_csv(schema.empty_table(), file, pa.csv.WriteOptions(**style))
        blocks = arrays_of(table, columns, order, _ROWS, context, path.parent)
        for part in made_side_by_side(lines, made_ahead(blocks), pa.cpu_count()):
            file.write(part)
    context.report(1.0, "Finishing the file")
    return WriteResult({name: name for name in columns})


class _CsvColumn:
    """A column as Arrow's CSV writer gets it."""

    def __init__(self, name: str, series: pd.Series, alone: bool) -> None:
        self.name = name
        self._source = ArrowColumn(name, series)
        self._moment = ""
        self._infinite = False
        # A missing value that is alone in its line must stand in quotes, or the line is lost.
        self._quoted = alone and self._source.has_missing
        self.type = self._source.type
        if pa.types.is_timestamp(self.type):
            self._moment = precision(self._source.values)
            self.type = pa.string() if self._moment else pa.date32()
        elif pa.types.is_floating(self.type):
            values = self._source.values.to_numpy(dtype=np.float64, na_value=np.nan)
            self._infinite = bool(np.isinf(values).any())
        if self._infinite or self._quoted:
            self.type = pa.string()

    def block(self, rows: Chosen) -> pa.Array:
        """Return some rows as Arrow writes them."""
        return self.fitted(self._source.block(rows))

    def fitted(self, array: pa.Array) -> pa.Array:
        """Return rows that were made elsewhere as Arrow writes them."""
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if self._moment:
            array = pc.strftime(array.cast(pa.timestamp(self._moment)), format=_SECOND)
        elif pa.types.is_timestamp(array.type):
            array = array.cast(pa.date32())
        if array.type != self.type:
            array = array.cast(self.type)
        if self._infinite:
            array = pc.replace_substring(array, "inf", "INF")
        return array.fill_null("") if self._quoted else array


_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
_CONTROLS: Final = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1a\x1b")


class _Delimited(TableFormat):
    name = "csv"
    title = "CSV (delimited text)"
    extensions = (".csv", ".tsv", ".tab", ".txt", ".dat", ".psv")
    order = 10
    reading_options = frozenset(
        (
            *("encoding", "delimiter", "quote", "decimal", "thousands", "date_order", "header"),
            "escaped_formulas",
            *("skip_lines", "missing", "column_types", "ragged_rows", "bad_values"),
        )
    )
    can_write = True
    last_resort = True

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        """Take anything for text that holds no control characters."""
        if head.startswith(_WIDE):
            return True
        if _CONTROLS.isdisjoint(head):
            return True
        zeros = sorted((head[0::2].count(0), head[1::2].count(0)))
        return zeros[0] == 0 and zeros[1] > len(head) / 4  # UTF-16 without a byte-order mark.

    def detect(self, path: Path) -> ReadOptions:
        return detect_delimited(path)

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        if rows is not None:
            return ReadResult(preview_delimited(path, options, rows))
        return read_delimited(path, options, context)

    def batches(
        self,
        path: Path,
        options: ReadOptions,
        context: Context,
        plain: bool = False,  # noqa: ARG002
        least: float = 0,
        known: KnownFile | None = None,
    ) -> Batches | None:
        return batches_of_delimited(path, options, context, least, known)

    def write(self, table: Table, path: Path, context: Context, order: Rows = None) -> WriteResult:
        return write_delimited(table, path, context, order)


FORMAT: Final = _Delimited()
