"""Apache Parquet."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from sfumato.engine.core.columns import Value
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.parallel import made_ahead
from sfumato.engine.core.progress import Context, Silent, one_by_one
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import (
    ArrowColumn,
    Chosen,
    NativeColumn,
    check_texts,
    chosen,
    is_ordered,
    order_of,
    precision,
    target_of,
)
from sfumato.formats.columns.settling import usable_names, with_fixed_types
from sfumato.formats.errors import BadOptions, DamagedFile, EmptyFile, refused_at
from sfumato.formats.files import digest_of, is_folder, opening
from sfumato.formats.options import ReadOptions
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
    refuse_many_cells,
)

_ROWS: Final = 1 << 17
_GROUP: Final = 1 << 17
_BUFFER: Final = 1 << 20
"""Bytes of each column that are read at once where a file is too long for memory."""
_SMALL: Final = 1 << 16
"""Bytes of a dictionary of texts that repeat, packed: they are read as it, and never one by one."""
_LONG: Final = 1 << 16
"""The rows of row groups that are long."""
_TAIL: Final = 8
"""A file ends with its footer's length in 4 bytes, and 4 more."""
_LARGEST: Final = (1 << 63) - 1
_LABELS: Final = b"sfumato"
"""Where labels stand in the file's own metadata, which other tools pass over."""

_Mark = tuple[int, int, int, str]


class _Parquet(TableFormat):
    name = "parquet"
    title = "Parquet"
    extensions = (".parquet", ".pq")
    order = 20
    reading_options = frozenset({"column_types", "bad_values", "any_size"})
    can_write = True
    reads_folders = True

    def recognises_folder(self, path: Path) -> bool:
        """Whether a folder holds parts of a table, or folders named by a column and its value."""
        return any(
            each.suffix.lower() in self.extensions or "=" in each.name for each in path.iterdir()
        )

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith(b"PAR1")

    def read(
        self, path: Path, options: ReadOptions, context: Context, rows: int | None = None
    ) -> ReadResult:
        found = _read(path, parts_of(path), options, context, rows)
        return with_fixed_types(found, options if rows is None else options.tolerant())

    def batches(
        self,
        path: Path,
        options: ReadOptions,
        context: Context,  # noqa: ARG002
        plain: bool = False,
        least: float = 0,
        known: KnownFile | None = None,  # noqa: ARG002
    ) -> Batches | None:
        """Return the rows by row groups, where no column is read otherwise than as it is stored.

        What is known from all rows only, the order of categories and whether whole numbers without
        a sign are large, is looked for first, unless values may be `plain`.
        """
        parts = parts_of(path)
        schema, rows = _measured(parts)
        if options.column_types or not rows or rows * len(schema) < least:
            return None
        names = usable_names(schema.names)
        types = {name: target_of(name, t) for name, t in zip(names, schema.types, strict=True)}
        marks, stored = _marks_of(path), dict(zip(names, schema.names, strict=True))
        orders: Mapping[str, tuple[str, ...]] = {}
        if not plain:
            orders, large = _known_from_all(parts, schema, stored)
            types |= {name: pa.uint64() if large[name] else pa.int64() for name in large}

        def read(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
            _refuse_changed(path, marks)
            in_file = [stored[name] for name in wanted]
            for part in parts:
                yield from _batches_of(part, in_file, wanted, types, coded=True)
            _refuse_changed(path, marks)

        return Batches(
            types,
            rows,
            *_labels(schema.metadata or {}),
            read,
            near=partial(_near, parts, schema.names, types),
            orders=orders,
            parts=partial(_cut, parts, marks, stored, types),
            check=lambda: _refuse_changed(path, marks),
        )

    def digest(self, path: Path, context: Context) -> str:
        """Return a file's SHA-256; that of a folder is over its files' names and theirs."""
        parts = parts_of(path)
        if parts == [path]:
            return digest_of(path, context)
        whole = hashlib.sha256()
        for part, share in one_by_one(context, parts):
            name = part.name.encode(errors="surrogateescape")
            whole.update(name + b"\0" + bytes.fromhex(digest_of(part, share)))
        return whole.hexdigest()

    def write(self, table: Table, path: Path, context: Context, order: Rows = None) -> WriteResult:
        """Write a table; the same table gives the same bytes.

        Days without a time of day are written as dates.

        Categories that are ordered keep their order and those that no row has. Others are
        written as the values that they are: whether a reader holds texts as categories depends
        on the order of its file. Parquet stores repeated ones once all the same.
        """
        columns = {str(name): _ParquetColumn(str(name), s) for name, s in table.frame.items()}
        schema = pa.schema([(name, column.type) for name, column in columns.items()])
        schema = schema.with_metadata(_metadata(table))
        with pa.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            groups = arrays_of(table, columns, order, _GROUP, context, path.parent)
            for arrays in made_ahead(groups):
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        context.report(1.0, "Finishing the file")
        return WriteResult({name: name for name in columns})


class _ParquetColumn:
    """A column as Arrow's Parquet writer gets it: texts in ordered categories as a dictionary."""

    def __init__(self, name: str, series: pd.Series) -> None:
        self.name = name
        self._source = ArrowColumn(name, series)
        self._codes = is_ordered(series) and self._source.type == pa.string()
        self.type = self._source.type
        if pa.types.is_timestamp(self.type) and not precision(self._source.values):
            self.type = pa.date32()
        if self._codes:
            self._distinct = pa.array(series.cat.categories.to_list(), type=pa.string())
            self.type = pa.dictionary(pa.int32(), pa.string(), ordered=series.cat.ordered)

    def fitted(self, values: pa.Array) -> pa.Array:
        return values.cast(self.type)

    def block(self, rows: Chosen) -> pa.Array:
        if not self._codes:
            return self.fitted(self._source.block(rows))
        codes = chosen(self._source.series, rows).cat.codes.to_numpy().astype("int32")
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, mask=codes < 0), self._distinct, ordered=self.type.ordered
        )


def _marks_of(path: Path) -> dict[Path, _Mark]:
    """Return by what each file of a table is known again without reading all of it.

    Its size, when it was changed, its number on the disk, and the digest of its footer, which says
    where its columns lie and what their ends are.
    """
    marks = {}
    for part in parts_of(path):
        with opening(part), part.open("rb") as file:
            found = os.fstat(file.fileno())
            file.seek(max(found.st_size - _TAIL, 0))
            length = int.from_bytes(file.read(4), "little")
            file.seek(max(found.st_size - _TAIL - length, 0))
            digest = hashlib.sha256(file.read(length)).hexdigest()
        marks[part] = found.st_size, found.st_mtime_ns, found.st_ino, digest
    return marks


def _refuse_changed(path: Path, marks: Mapping[Path, _Mark]) -> None:
    """Refuse a table whose files are not those that they were."""
    if _marks_of(path) != marks:
        raise TableError("The table changed while it was read.", "Start again.")


def _known_from_all(
    parts: Sequence[Path], schema: pa.Schema, stored: Mapping[str, str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, bool]]:
    """Return the orders of categories in texts, and which whole numbers without a sign are large.

    These are too large for plain whole numbers.
    """
    kinds = {name: schema.field(in_file).type for name, in_file in stored.items()}
    ordered = {
        name: dict[tuple[str, ...], None]()
        for name, kind in kinds.items()
        if pa.types.is_dictionary(kind) and kind.ordered and target_of(name, kind) == pa.string()
    }
    unsigned = dict.fromkeys((name for name, kind in kinds.items() if kind == pa.uint64()), 0)
    names = [*ordered, *unsigned]
    for part in parts if names else ():
        with _understood(part), pa.parquet.ParquetFile(part, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=[stored[name] for name in names]):
                for name, found in ordered.items():
                    values = batch.column(stored[name]).dictionary
                    found[tuple(values.cast(pa.string()).to_pylist())] = None
                for name, most in unsigned.items():
                    unsigned[name] = max(most, pc.max(batch.column(stored[name])).as_py() or 0)
    orders = {name: order_of(found) for name, found in ordered.items()}
    told = {name: order for name, order in orders.items() if order is not None}
    return told, {name: most > _LARGEST for name, most in unsigned.items()}


def _cut(
    parts: Sequence[Path],
    marks: Mapping[Path, _Mark],
    stored: Mapping[str, str],
    types: Mapping[str, pa.DataType],
    rows: int,
) -> list[TablePart]:
    """Return row groups that stand together, of about so many rows or more; see `Batches.parts`."""
    found: list[TablePart] = []
    for part in parts:
        with _understood(part):
            metadata = pa.parquet.read_metadata(part)
        held, count = list[int](), 0
        for group in range(metadata.num_row_groups):
            held.append(group)
            count += metadata.row_group(group).num_rows
            if count >= rows or group == metadata.num_row_groups - 1:
                found.append(_RowGroups(part, marks[part], tuple(held), dict(stored), dict(types)))
                held, count = [], 0
    return found


@dataclass(frozen=True)
class _RowGroups:
    """Some row groups of a file; see `TablePart`."""

    path: Path
    mark: _Mark
    groups: tuple[int, ...]
    stored: Mapping[str, str]
    types: Mapping[str, pa.DataType]

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        _refuse_changed(self.path, {self.path: self.mark})
        in_file = [self.stored[name] for name in names]
        yield from _batches_of(self.path, in_file, names, self.types, self.groups, BATCH_ROWS)


def _near(
    parts: Sequence[Path], stored: Sequence[str], types: Mapping[str, pa.DataType], place: int
) -> tuple[int, pa.RecordBatch]:
    """Return some rows around one, of the row group that it is in; see `Batches.near`."""
    first = 0
    for part in parts:
        with _understood(part):
            metadata = pa.parquet.read_metadata(part)
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            if place < first + rows:
                found = _batches_of(part, stored, tuple(types), types, [group], SHOWN_ROWS)
                with closing(found) as batches:
                    return batch_at(batches, first, place, Silent())
            first += rows
    return batch_at(iter(()), first, place, Silent())


def _batches_of(
    part: Path,
    stored: Sequence[str],
    names: Sequence[str],
    types: Mapping[str, pa.DataType],
    groups: Sequence[int] | None = None,
    size: int | None = None,
    *,
    coded: bool = False,
) -> Generator[pa.RecordBatch]:
    """Yield the rows of one file, with the columns' names and types as they are read.

    Where row groups are named, no others are read, so many rows at once. Where texts may be
    `coded`, those that the file holds once are dictionaries, which other files' rows don't share.
    """
    # What is read ahead is kept until the file is closed.
    with (
        _understood(part),
        pa.parquet.ParquetFile(
            part,
            pre_buffer=False,
            buffer_size=_BUFFER,
            read_dictionary=_repeating(part) if coded else None,
        ) as file,
    ):
        for batch in file.iter_batches(size or BATCH_ROWS, row_groups=groups, columns=list(stored)):
            arrays = []
            for name, in_file in zip(names, stored, strict=True):
                values, kind = batch.column(in_file), types[name]
                if pa.types.is_dictionary(values.type):
                    plain = kind == values.type.value_type == pa.string()
                    if coded and plain and not values.type.ordered:
                        check_texts(name, values.dictionary)
                        arrays.append(values)
                        continue
                    values = values.dictionary_decode()
                values = values.cast(kind)
                if pa.types.is_string(kind):
                    check_texts(name, values)
                arrays.append(values)
            yield pa.record_batch(arrays, names=list(names))


def _repeating(part: Path) -> list[str]:
    """Return the columns of a file whose first rows share few texts, by the file's own account.

    None where its row groups are short: each has dictionaries of its own, with which a batch ends.
    """
    metadata = pa.parquet.read_metadata(part)
    if metadata.num_rows < max(metadata.num_row_groups, 1) * _LONG:
        return []
    group = metadata.row_group(0)
    found = []
    for place in range(group.num_columns):
        column = group.column(place)
        begins = column.dictionary_page_offset
        are_texts = metadata.schema.column(place).logical_type.type == "STRING"
        if are_texts and begins is not None and column.data_page_offset - begins <= _SMALL:
            found.append(column.path_in_schema)
    return found


def rows_in(folder: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a folder's files, by their names, as they are stored."""
    for part in parts_of(folder):
        with _understood(part), pa.parquet.ParquetFile(part, pre_buffer=False) as file:
            yield from file.iter_batches(BATCH_ROWS)


def parts_of(path: Path) -> list[Path]:
    """Return the Parquet files that are one table: a file, or those of a folder by their names.

    Raises
    ------
    EmptyFile
        If the folder has none.
    BadOptions
        If there are folders in it, whose names may be values.
    """
    if not is_folder(path):
        return [path]
    shown = sorted(each for each in path.iterdir() if not each.name.startswith((".", "_")))
    if any(is_folder(each) for each in shown):
        raise BadOptions(
            "The folder {folder} holds further folders, whose names may be values of the table.",
            "Choose one of these, or write the table again without partitions.",
            folder=path.name,
        )
    found = [each for each in shown if each.suffix.lower() in _Parquet.extensions]
    if not found:
        raise EmptyFile(
            "The folder {folder} has no Parquet files.",
            "Choose a file, or a folder of Parquet files that are parts of one table.",
            folder=path.name,
        )
    return found


def _read(
    path: Path, parts: Sequence[Path], options: ReadOptions, context: Context, rows: int | None
) -> ReadResult:
    schema, total = _measured(parts)
    total = total if rows is None else min(rows, total)
    refuse_many_cells(path.name, total, len(schema), options)
    if not total or not len(schema):
        raise EmptyFile(
            "{file} has no records.", "Choose a file with at least one.", file=path.name
        )
    names = usable_names(schema.names)
    types = zip(names, schema.types, strict=True)
    columns = [NativeColumn(name, kind, total) for name, kind in types]
    done = 0
    context.report(0.0, Sentence("Reading {path}", path=path.name))
    for part in parts:
        if done >= total:
            break
        with _understood(part), pa.parquet.ParquetFile(part, memory_map=False) as file:
            wanted = min(total - done, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=min(_ROWS, total)):
                piece = batch.slice(0, wanted)
                for column, values in zip(columns, piece.columns, strict=True):
                    column.add(values)
                done += len(piece)
                wanted -= len(piece)
                context.report(done / total, Sentence("Reading {path}", path=path.name))
                if not wanted:
                    break
            if wanted:
                raise pa.ArrowInvalid
    frame = pd.DataFrame({column.name: column.finish() for column in columns}, copy=False)
    return ReadResult(Table(frame, *_labels(schema.metadata or {})))


def _measured(parts: Sequence[Path]) -> tuple[pa.Schema, int]:
    """Return the schema that all parts share, and how many rows they have together.

    Raises
    ------
    BadOptions
        If a part has other columns than the first, or of other types.
    """
    first, total = None, 0
    for part in parts:
        with _understood(part), pa.parquet.ParquetFile(part, memory_map=False) as file:
            schema, total = file.schema_arrow, total + file.metadata.num_rows
        first = schema if first is None else first
        if not schema.equals(first):
            raise BadOptions(
                "{file} has other columns than {first}, or columns of other types.",
                "Choose a folder whose Parquet files are all parts of one table.",
                file=part.name,
                first=parts[0].name,
            )
    assert first is not None
    return first, total


def _understood(path: Path) -> AbstractContextManager[None]:
    """Say what Arrow's complaints mean, without the values they may quote."""
    damaged = DamagedFile(
        "{file} is not a whole Parquet file.",
        "Copy it again from where it comes from.",
        file=path.name,
    )
    return refused_at((pa.ArrowException, UnicodeError), damaged, {None})


def _metadata(table: Table) -> dict[bytes, bytes]:
    """Return the file's metadata: what pandas needs to give back the types, and the labels."""
    plain = {
        name: series.dtype.categories.dtype
        for name, series in table.frame.items()
        if isinstance(series.dtype, pd.CategoricalDtype) and not series.dtype.ordered
    }
    frame = table.frame.iloc[:0].astype(plain)
    known = pa.Schema.from_pandas(frame, preserve_index=False).metadata or {}
    metadata = {key: value for key, value in known.items() if key == b"pandas"}
    labels = {
        "column_labels": dict(table.column_labels),
        "value_labels": {
            name: [[value, text] for value, text in texts.items()]
            for name, texts in table.value_labels.items()
        },
    }
    if any(labels.values()):
        metadata[_LABELS] = json.dumps(labels, ensure_ascii=False).encode()
    return metadata


def _labels(
    metadata: Mapping[bytes, bytes],
) -> tuple[dict[str, dict[Value, str]], dict[str, str]]:
    """Return the labels of values and of columns that the file's metadata hold."""
    try:
        labels: dict[str, Any] = json.loads(metadata.get(_LABELS, b"{}"))
        values = {
            str(name): {value: str(text) for value, text in texts}
            for name, texts in labels.get("value_labels", {}).items()
        }
        columns = {str(n): str(text) for n, text in labels.get("column_labels", {}).items()}
    except (ValueError, TypeError, AttributeError):
        return {}, {}
    return values, columns


FORMAT: Final = _Parquet()
