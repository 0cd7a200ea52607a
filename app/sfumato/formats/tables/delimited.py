"""Delimited texts: CSV, and its relatives with semicolons, tabs or bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import side_by_side
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import Mask
from sfumato.formats.columns.gathering import (
    MOST_ROWS,
    ColumnReader,
    GatheredColumn,
    kind_of,
    seen_together,
)
from sfumato.formats.columns.numerals import TextCounts
from sfumato.formats.columns.parsing import NO_POSITIONS, ParsingRules, Positions, blank_rows
from sfumato.formats.columns.settling import check_fixed_types, settle
from sfumato.formats.delimited_notes import beginning_of, notes_on_text
from sfumato.formats.delimited_parts import (
    STRETCH,
    blocks_of,
    cut,
    kept_rows,
    refuse_changed,
    rows_near,
    typed_rows,
)
from sfumato.formats.delimited_writing import write_delimited
from sfumato.formats.encodings import detect_encoding
from sfumato.formats.errors import EmptyFile, OpenQuote, Way
from sfumato.formats.files import opening
from sfumato.formats.formulas import without_escapes
from sfumato.formats.long_texts import LongTexts
from sfumato.formats.notes import Note
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.records import (
    BLOCK_SIZES,
    Records,
    RecordTooLong,
    RowIndex,
)
from sfumato.formats.sniffing import sniff
from sfumato.formats.table_format import (
    BATCH_ROWS,
    Batches,
    KnownFile,
    ReadResult,
    Rows,
    TableFormat,
    TablePart,
    WrittenFile,
    in_blocks,
)

_T = TypeVar("_T")

_PREVIEW_BLOCK: Final = 1 << 17
_LONGEST_UNASKED: Final = 32 << 20


def detect_delimited(path: Path, stated: Mapping[str, Any] = MappingProxyType({})) -> ReadOptions:
    """Propose how to read a delimited text, by its first lines and what is stated already."""
    encoding = stated.get("encoding")
    if encoding is None:
        with opening(path):
            encoding = detect_encoding(path)
    text = beginning_of(path, encoding)
    manner = sniff(text, stated)
    found = {
        "format": "csv",
        "encoding": encoding,
        "delimiter": manner.delimiter,
        "decimal": manner.decimal,
        "thousands": manner.thousands,
        "date_order": manner.date_order,
        "header": manner.header,
        "skip_lines": manner.skip_lines,
    }
    return ReadOptions(**{**found, **stated})


def leaves_out_blank(options: ReadOptions, names: Sequence[str]) -> bool:
    """Whether rows without any value are left out; a column alone may have missing values."""
    return options.version > 1 and not options.keep_blank_rows and len(names) > 1


def blank_in(block: pa.RecordBatch, options: ReadOptions) -> Positions:
    """Return which rows of a block hold nothing."""
    return blank_rows(block, options.quoted_empty_is_text)


def without_rows(block: pa.RecordBatch, rows: Positions) -> pa.RecordBatch:
    """Return a block without some of its rows."""
    if not len(rows):
        return block
    kept = np.ones(len(block), dtype=np.bool_)
    kept[rows] = False
    return block.filter(pa.array(kept))


def preview_delimited(path: Path, options: ReadOptions, rows: int) -> ReadResult:
    """Read the first rows only; rows and values that don't fit are let pass.

    A column that holds values of another type than the one fixed for it, or than most of the
    values, is shown as text.
    """
    tolerant = options.tolerant()

    def read(block_size: int) -> ReadResult:
        with Records(path, tolerant, block_size) as records:
            blocks, count, read = [], 0, 0
            leaves_out = leaves_out_blank(options, records.names)
            leaves_out &= not set(options.missing) - {""}
            with closing(records.blocks()) as stream:
                for block in stream:
                    out = blank_in(block, options) if leaves_out else NO_POSITIONS
                    blocks.append(without_rows(block, out))
                    count, read = count + len(blocks[-1]), read + len(block)
                    if count >= rows:
                        break
            if not count:
                raise _no_rows(path, options, blank=read > 0)
            table, notes = _preview_of(records, blocks, tolerant, rows)
            if read > count:  # Rows have other numbers in the file.
                notes = []
            said = notes_on_text(path, options, records, whole=False)
            return ReadResult(table, notes=(*said, *notes))

    return _with_blocks_that_fit(read, path, options, (_PREVIEW_BLOCK,))


def _preview_of(
    records: Records, blocks: list[pa.RecordBatch], options: ReadOptions, rows: int
) -> tuple[Table, list[Note]]:
    """Return the first rows, and the remarks on them that hold for all rows."""
    block = pa.concat_batches(blocks).slice(0, rows)
    columns = [GatheredColumn(name, options, rows) for name in records.names]
    _add(columns, block, options)
    for column, texts in zip(columns, block.columns, strict=True):
        if column.may_merge:
            counts = TextCounts()
            counts.add(texts)
            column.take_merged(counts)
    _, notes = settle(columns, len(block), options, records.row_number)
    notes = [note for note in notes if note.count is None and "count" not in note.details]
    finished = {}
    for column, texts in zip(columns, block.columns, strict=True):
        shown = column
        if column.given_up:
            as_text = options.with_type(column.name, ColumnType.TEXT)
            shown = GatheredColumn(column.name, as_text, rows)
            shown.add(texts)
        finished[column.name] = shown.finish(None)
    table = Table(pd.DataFrame(finished, copy=False))
    return without_escapes(table) if options.escaped_formulas else table, notes


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

    return _with_blocks_that_fit(read, path, options)


def _with_blocks_that_fit(
    read: Callable[[int], _T],
    path: Path,
    options: ReadOptions,
    shorter: tuple[int, ...] = (),
) -> _T:
    """Call `read` with larger blocks until every record fits into one.

    Records are no longer than `_LONGEST_UNASKED`, unless the options let any size be read: what is
    made of them takes several times their length.
    """
    asked = options.any_size or options.version < 2
    sizes = [size for size in (*shorter, *BLOCK_SIZES) if asked or size <= _LONGEST_UNASKED]
    for block_size in sizes:
        try:
            return read(block_size)
        except RecordTooLong:
            continue
    what, ways = "Choose another quotation mark, or none.", list[Way]()
    if options.quote:
        ways.append(Way("Read without quotation marks", replace(options, quote="")))
    if not asked:
        what = (
            "Choose another quotation mark, or none. If records are really so long, and there is"
            " memory for them, let any size be read."
        )
        ways.append(Way("Read it all the same", replace(options, any_size=True)))
    raise OpenQuote(
        "{file} has a record longer than {megabytes} MB: most likely a quotation mark does not"
        " close.",
        what,
        ways=ways,
        file=path.name,
        megabytes=sizes[-1] >> 20,
    )


def _read(path: Path, options: ReadOptions, context: Context, block_size: int) -> ReadResult:
    gathered = _gather(path, options, Part(context, 0.0, 0.8), block_size)
    _find_merged(path, options, gathered, block_size)
    keep, notes = gathered.settled(path, options)
    columns, records = gathered.columns, gathered.records
    given_up = {column.name for column in columns if column.given_up}
    if given_up:
        texts = options
        for name in given_up:
            texts = texts.with_type(name, ColumnType.TEXT)
        part = Part(context, 0.8, 0.95)
        again = _gather(path, texts, part, block_size, given_up)
        by_name = {column.name: column for column in again.columns}
        columns = [by_name.get(column.name, column) for column in columns]
    frame = _assemble(columns, keep, Part(context, 0.95, 1.0))
    if not len(frame):
        raise _no_rows(path, options)
    skipped = records.skipped + gathered.chosen_out(keep)
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
        # Whatever ends a value takes a byte, so a small file need not be looked into.
        small = path.stat().st_size < least
        if least and (small or _values_about(path, options, block_size) < least):
            return None
        return _in_parts(path, options, context, block_size)

    return _with_blocks_that_fit(read, path, options)


def _values_about(path: Path, options: ReadOptions, block_size: int) -> int:
    """Return about how many values a file has, by its size and its first rows."""
    with Records(path, options, block_size) as records, closing(records.blocks()) as blocks:
        next(blocks, None)
        return records.expected_rows * len(records.names)


def _in_parts(path: Path, options: ReadOptions, context: Context, block_size: int) -> Batches:
    index = RowIndex()
    gathered = _gather(path, options, context, block_size, kept=False, index=index)
    _find_merged(path, options, gathered, block_size)
    keep, notes = gathered.settled(path, options)
    rows, records = gathered.rows, gathered.records
    left = rows if keep is None else int(keep.sum())
    columns, digest = {column.name: column for column in gathered.columns}, records.digest
    readers = {name: column.reader for name, column in columns.items()}

    def read(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        chosen = {name: readers[name] for name in wanted}
        typed = typed_rows(path, options, block_size, digest, chosen)
        return in_blocks(typed if keep is None else kept_rows(typed, keep), BATCH_ROWS)

    types = {name: column.type for name, column in columns.items()}
    suffice = keep is None and block_size == BLOCK_SIZES[0]
    suffice &= all(column.type_suffices for column in gathered.columns)
    # Where rows are left out by their values, the index has others' numbers.
    near = partial(rows_near, path, options, index, readers) if keep is None else None
    return Batches(
        types,
        left,
        {},
        {},
        read,
        tuple(notes),
        digest,
        suffice,
        records.skipped + gathered.chosen_out(keep),
        near,
        parts=partial(cut, path, options, max(block_size, STRETCH), index, readers, keep),
        check=partial(refuse_changed, path, digest),
    )


def _known_in_parts(path: Path, options: ReadOptions, known: KnownFile) -> Batches:
    """Return the rows of a delimited text whose types were found out before."""

    def reader(name: str) -> ColumnReader:
        kind = known.types[name]
        return ColumnReader(
            kind, kind_of(kind), ParsingRules.of(options, fixed=name in options.column_types)
        )

    index = RowIndex()

    def names(block_size: int) -> Sequence[str]:
        with Records(path, options, block_size) as records, closing(records.blocks()) as blocks:
            next(blocks, None)
            return records.names

    # What was kept of the types does not keep the columns' order.
    in_file = _with_blocks_that_fit(names, path, options)
    types = {name: known.types[name] for name in in_file if name in known.types}
    readers = {name: reader(name) for name in types}

    def read(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # The first time that all columns are read.
        noted = index if index.file is None and set(wanted) == set(types) else None
        chosen = {name: readers[name] for name in wanted}
        typed = typed_rows(path, options, BLOCK_SIZES[0], known.digest, chosen, noted)
        return in_blocks(typed, BATCH_ROWS)

    def parts(rows: int) -> Sequence[TablePart]:
        if index.file is None:
            for _ in read(tuple(types)):
                pass
        return cut(path, options, STRETCH, index, readers, None, rows)

    return Batches(
        types,
        known.rows,
        {},
        {},
        read,
        digest=known.digest,
        types_suffice=True,
        near=partial(rows_near, path, options, index, readers),
        parts=parts,
        check=partial(refuse_changed, path, known.digest),
    )


@dataclass(frozen=True)
class Gathered:
    """The columns of a text, all rows read; how many these are, which are blank, and from where."""

    columns: list[GatheredColumn]
    rows: int
    records: Records
    blank: Positions

    def chosen_out(self, keep: Mask | None) -> int:
        """Return how many rows are left out for their values; blank ones are told apart."""
        return 0 if keep is None else int((~keep).sum()) - len(self.blank)

    def settled(self, path: Path, options: ReadOptions) -> tuple[Mask | None, list[Note]]:
        """Return which rows are kept, and what the custodian should know."""
        number = self.records.row_number
        keep, notes = settle(self.columns, self.rows, options, number, self.blank)
        if keep is not None and not keep.any():
            raise _no_rows(path, options, blank=len(self.blank) == self.rows)
        ends = keep is None or bool(keep[-1])
        return keep, [*notes_on_text(path, options, self.records, ends_with_last=ends), *notes]


def _gather(
    path: Path,
    options: ReadOptions,
    context: Context,
    block_size: int,
    wanted: set[str] | None = None,
    *,
    kept: bool = True,
    index: RowIndex | None = None,
) -> Gathered:
    """Read all rows of the columns wanted, all where None; only their types if not `kept`."""
    rows = 0
    columns: list[GatheredColumn] = []
    blank: list[Positions] = []
    long_texts = LongTexts(path.name, options)
    context.report(0.0, Sentence("Reading {path}", path=path.name))
    with Records(path, options, block_size, hashed=not kept, index=index) as records:
        check_fixed_types(records.names, options)
        names = [name for name in records.names if wanted is None or name in wanted]
        chosen = None if wanted is None else names
        with (
            closing(blocks_of(records, chosen, block_size)) as blocks,
            side_by_side(pa.cpu_count()) as beside,
        ):
            finds_blank = wanted is None and leaves_out_blank(options, names)
            for block in blocks:
                if finds_blank and len(found := blank_in(block, options)):
                    blank.append(found + rows)
                if kept:
                    long_texts.see(block.columns)
                if not columns:
                    expected = records.expected_rows
                    columns = [GatheredColumn(n, options, expected, kept=kept) for n in names]
                _add(columns, block, options, beside)
                rows += len(block)
                context.report(records.fraction, Sentence("Reading {path}", path=path.name))
    if not rows:
        raise _no_rows(path, options)
    found = np.concatenate(blank) if blank else NO_POSITIONS
    if len(found) and set(options.missing) - {""}:
        found = _without_texts(path, options, block_size, found)
    return Gathered(columns, rows, records, found)


def _find_merged(path: Path, options: ReadOptions, gathered: Gathered, block_size: int) -> None:
    """Find out whether numbers that are written in several ways are codes; those are given up."""
    counted = {column.name: TextCounts() for column in gathered.columns if column.may_merge}
    if not counted:
        return
    with (
        Records(path, options, block_size) as records,
        closing(blocks_of(records, list(counted), block_size)) as blocks,
    ):
        for block in blocks:
            for name, texts in counted.items():
                if not texts.are_many:
                    texts.add(block[name])
            if all(texts.are_many for texts in counted.values()):
                break
    for column in gathered.columns:
        if column.name in counted:
            column.take_merged(counted[column.name])


def _without_texts(path: Path, options: ReadOptions, block_size: int, rows: Positions) -> Positions:
    """Return which rows hold no text either that means a missing value."""
    found, start = [], 0
    with Records(path, replace(options, missing=("",)), block_size) as records:
        for block in records.blocks():
            first, last = np.searchsorted(rows, (start, start + len(block)))
            some = rows[first:last] - start
            found.append(rows[first:last][blank_in(block.take(pa.array(some)), options)])
            start += len(block)
    return np.concatenate(found)


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


def _assemble(columns: list[GatheredColumn], keep: Mask | None, context: Context) -> pd.DataFrame:
    """Return the columns as a frame; each is let go of as soon as it is in."""
    finished = {}
    for position, column in enumerate(columns):
        context.report(position / len(columns), "Putting the table together")
        finished[column.name] = column.finish(keep)
    context.report(1.0, "Putting the table together")
    return pd.DataFrame(finished, copy=False)


def _no_rows(path: Path, options: ReadOptions, *, blank: bool = False) -> EmptyFile:
    what = "{file} has a header and no rows." if options.header else "{file} has no rows."
    if blank:
        kept = replace(options, keep_blank_rows=True)
        return EmptyFile(
            "No row of {file} has a value.",
            "Choose a file with at least one record, or keep rows without any value.",
            ways=(Way("Keep rows without any value", kept),),
            file=path.name,
        )
    return EmptyFile(what, "Choose a file with at least one record.", file=path.name)


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
            *(
                "layout",
                "keep_blank_rows",
                "skip_lines",
                "missing",
                "column_types",
                "ragged_rows",
                "bad_values",
                "any_size",
            ),
        )
    )
    heeds_missing = True
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

    def detect_beside(self, path: Path, stated: Mapping[str, Any]) -> ReadOptions:
        return detect_delimited(path, stated)

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        if rows is not None:
            return preview_delimited(path, options, rows)
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

    def write(self, table: Table, path: Path, context: Context, order: Rows = None) -> WrittenFile:
        return write_delimited(table, path, context, order)


FORMAT: Final = _Delimited()
