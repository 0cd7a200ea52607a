"""Delimited texts as tables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

import pandas as pd
import pyarrow as pa

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.formats.base import ReadResult
from sfumato.formats.columns.buffers import Mask
from sfumato.formats.columns.gathering import GatheredColumn
from sfumato.formats.columns.names import check_fixed_types
from sfumato.formats.columns.settling import settle
from sfumato.formats.columns.stacks import seen_together
from sfumato.formats.delimited.encodings import Utf8Stream, detect_encoding
from sfumato.formats.delimited.records import BLOCK_SIZES, Records, RecordTooLong
from sfumato.formats.delimited.sniffing import sniff
from sfumato.formats.errors import EmptyFile, OpenQuote
from sfumato.formats.files import opening
from sfumato.formats.formulas import without_escapes
from sfumato.formats.options import ColumnType, ReadOptions

_T = TypeVar("_T")

_SAMPLE_BYTES: Final = 1 << 17
_PREVIEW_BLOCK: Final = 1 << 17


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
    series = []
    for position, name in enumerate(records.names):
        column = GatheredColumn(name, options, rows)
        texts = pa.concat_arrays([block.column(position) for block in blocks])[:rows]
        column.add(texts)
        settle([column], len(texts), options, records.row_number)
        if column.given_up:
            column = GatheredColumn(name, options.with_type(name, ColumnType.TEXT), rows)
            column.add(texts)
        series.append(column.finish(None))
    table = Table(pd.DataFrame({one.name: one for one in series}, copy=False))
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


def _gather(
    path: Path,
    options: ReadOptions,
    context: Context,
    block_size: int,
    wanted: set[str] | None = None,
) -> tuple[list[GatheredColumn], int, Records]:
    """Read all rows of the columns wanted, all where None."""
    rows = 0
    columns: list[GatheredColumn] = []
    context.report(0.0, Sentence("Reading {path}", path=path.name))
    with Records(path, options, block_size) as records:
        check_fixed_types(records.names, options)
        names = [name for name in records.names if wanted is None or name in wanted]
        with closing(records.blocks(names)) as blocks:
            for block in blocks:
                if not columns:
                    expected = records.expected_rows(len(block))
                    columns = [GatheredColumn(name, options, expected) for name in names]
                together = seen_together(columns, block, options)
                for column, texts, seen in zip(columns, block.columns, together, strict=True):
                    column.add(texts, seen)
                rows += len(block)
                context.report(records.fraction, Sentence("Reading {path}", path=path.name))
    if not rows:
        raise _no_rows(path, options)
    return columns, rows, records


def _assemble(columns: list[GatheredColumn], keep: Mask | None, context: Context) -> pd.DataFrame:
    """Return the columns as a frame; each is let go of as soon as it is in."""
    series = {}
    for position, column in enumerate(columns):
        context.report(position / len(columns), "Putting the table together")
        series[column.name] = column.finish(keep)
    context.report(1.0, "Putting the table together")
    rows = len(next(iter(series.values())))
    return pd.DataFrame(series, index=pd.RangeIndex(rows), copy=False)


def _no_rows(path: Path, options: ReadOptions) -> EmptyFile:
    what = "{file} has a header and no rows." if options.header else "{file} has no rows."
    return EmptyFile(what, "Choose a file with at least one record.", file=path.name)
