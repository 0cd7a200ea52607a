"""Apache Parquet."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
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
    read_as,
    target_of,
)
from sfumato.formats.columns.exact import first_altered
from sfumato.formats.columns.parsing import may_be_outside
from sfumato.formats.columns.settling import (
    NAMED_ROWS,
    altered_note,
    outside_note,
    unordered_note,
    usable_names,
)
from sfumato.formats.columns.typed import blank_places, blank_rows_note, finished
from sfumato.formats.errors import BadOptions, DamagedFile, EmptyFile, Way, refused_at
from sfumato.formats.files import HashedFile, digest_of, is_folder, opening
from sfumato.formats.long_texts import LongTexts
from sfumato.formats.notes import Note
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.parquet_columns import (
    Outside,
    add_outside,
    duration_notes,
    labels_in,
    metadata_of,
    periods_in,
    zone_notes,
)
from sfumato.formats.table_format import (
    BATCH_ROWS,
    SHOWN_ROWS,
    Batches,
    KnownFile,
    ReadResult,
    Rows,
    TableFormat,
    TablePart,
    WrittenFile,
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
_SUSPICIOUS: Final = 16 << 30
_AT_ONCE: Final = 256 << 20
"""Bytes of a column's texts that are read at once, at most; where all rows of a row group could
share so few that they become `_SUSPICIOUS`, their length is looked up."""
_LARGEST: Final = (1 << 63) - 1

_Mark = tuple[int, int, int, str]


class _Parquet(TableFormat):
    name = "parquet"
    title = "Parquet"
    extensions = (".parquet", ".pq")
    order = 20
    reading_options = frozenset(
        {"missing", "keep_blank_rows", "column_types", "bad_values", "any_size"}
    )
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
        return finished(found, options, rows)

    def batches(
        self,
        path: Path,
        options: ReadOptions,
        context: Context,  # noqa: ARG002
        plain: bool = False,
        least: float = 0,
        known: KnownFile | None = None,
    ) -> Batches | None:
        """Return the rows by row groups, where each and all columns are read as they are stored.

        What is known from all rows only, the order of categories and whether whole numbers without
        a sign are large, is looked for first, unless values may be `plain`.
        """
        parts = parts_of(path)
        schema, rows = _measured(parts)
        if options.column_types or not rows or rows * len(schema) < least:
            return None
        names = usable_names(schema.names)
        types, notes = _types(parts, schema, names, options)
        if options.version > 1 and not (known and options.keep_blank_rows):
            blank = _blank_rows(parts)
            if blank and not options.keep_blank_rows:
                return None
            if blank:
                first = tuple(place + 1 for place in blank[:NAMED_ROWS])
                notes = (*notes, blank_rows_note(len(blank), first, options))
        marks, stored = _marks_of(path), dict(zip(names, schema.names, strict=True))
        orders: Mapping[str, tuple[str, ...]] = {}
        version = options.version
        if not plain:
            orders, large = _known_from_all(parts, schema, stored)
            types |= {name: pa.uint64() if large[name] else pa.int64() for name in large}
            lost = [name for name, t in zip(names, schema.types, strict=True) if _orders(name, t)]
            lost = [name for name in lost if name not in orders]
            notes = (*notes, unordered_note(lost)) if lost and version > 1 else notes

        def read(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
            _refuse_changed(path, marks)
            in_file = [stored[name] for name in wanted]
            for part in parts:
                yield from _batches_of(part, in_file, wanted, types, version, coded=True)
            _refuse_changed(path, marks)

        return Batches(
            types,
            rows,
            *labels_in(schema.metadata or {}),
            read,
            notes,
            near=partial(_near, parts, schema.names, types, version),
            orders=orders,
            parts=partial(_cut, parts, marks, stored, types, version),
            check=lambda: _refuse_changed(path, marks),
            periods=periods_in(schema, names, version),
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

    def write(self, table: Table, path: Path, context: Context, order: Rows = None) -> WrittenFile:
        """Write a table; the same table gives the same bytes.

        Days without a time of day are written as dates.

        Categories that are ordered keep their order, and those that no row has: whoever releases
        rows leaves out what rows that stay behind had. Others are written as the values that they
        are: whether a reader holds texts as categories depends on the order of its file. Parquet
        stores repeated ones once all the same.
        """
        columns = {str(name): _ParquetColumn(str(name), s) for name, s in table.frame.items()}
        schema = pa.schema([(name, column.type) for name, column in columns.items()])
        schema = schema.with_metadata(metadata_of(table, schema))
        with (
            HashedFile(path) as file,
            pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
        ):
            groups = arrays_of(table, columns, order, _GROUP, context, path.parent)
            for arrays in made_ahead(groups):
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        context.report(1.0, "Finishing the file")
        return WrittenFile(file.digest)


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
        if not self._codes:
            return values.cast(self.type)
        places = pc.index_in(values.dictionary, value_set=self._distinct)
        codes = places.take(values.indices)
        if codes.null_count > values.null_count:
            raise ValueError(f"a category of {self.name} is none of the table's")
        return pa.DictionaryArray.from_arrays(codes, self._distinct, ordered=self.type.ordered)

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
    ordered = {n: dict[tuple[str, ...], None]() for n, kind in kinds.items() if _orders(n, kind)}
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


def _orders(name: str, kind: pa.DataType) -> bool:
    """Whether a column holds texts in an order."""
    ordered = pa.types.is_dictionary(kind) and kind.ordered
    return bool(ordered and target_of(name, kind) == pa.string())


def _blank_rows(parts: Sequence[Path]) -> list[int]:
    """Return the places of rows without any value; few columns are read if one has all values."""
    found: list[int] = []
    first = 0
    for part in parts:
        with _understood(part), pa.parquet.ParquetFile(part, pre_buffer=False) as file:
            metadata = file.metadata
            for group in range(metadata.num_row_groups):
                stated = metadata.row_group(group)
                names = _by_missing(stated, file.schema_arrow.names)
                columns = (file.read_row_group(group, columns=[each])[each] for each in names)
                found += [first + place for place in blank_places(columns)]
                first += stated.num_rows
    return found


def _by_missing(group: Any, names: Sequence[str]) -> Sequence[str]:
    """Return the columns of a row group, those with few missing values first.

    None where there is one alone, or one has no missing value by the file's own account.
    """
    chunks = [group.column(place) for place in range(group.num_columns)]
    if len(chunks) < 2 or len(chunks) != len(names):  # nested ones have several
        return ()
    missing: dict[str, int] = {}
    for chunk in chunks:
        stated = chunk.statistics
        known = stated is not None and stated.has_null_count
        missing[chunk.path_in_schema] = stated.null_count if known else group.num_rows
        # Numbers that are none are not counted.
        if known and not stated.null_count and chunk.physical_type not in ("FLOAT", "DOUBLE"):
            return ()
    return sorted(missing, key=lambda name: missing[name])


def _cut(
    parts: Sequence[Path],
    marks: Mapping[Path, _Mark],
    stored: Mapping[str, str],
    types: Mapping[str, pa.DataType],
    version: int,
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
                read = tuple(held), dict(stored), dict(types), version
                found.append(_RowGroups(part, marks[part], *read))
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
    version: int

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        _refuse_changed(self.path, {self.path: self.mark})
        in_file = [self.stored[name] for name in names]
        read = names, self.types, self.version, self.groups, BATCH_ROWS
        yield from _batches_of(self.path, in_file, *read)


def _near(
    parts: Sequence[Path],
    stored: Sequence[str],
    types: Mapping[str, pa.DataType],
    version: int,
    place: int,
) -> tuple[int, pa.RecordBatch]:
    """Return some rows around one, of the row group that it is in; see `Batches.near`."""
    first = 0
    for part in parts:
        with _understood(part):
            metadata = pa.parquet.read_metadata(part)
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            if place < first + rows:
                read = tuple(types), types, version, [group], SHOWN_ROWS
                found = _batches_of(part, stored, *read)
                with closing(found) as batches:
                    return batch_at(batches, first, place, Silent())
            first += rows
    return batch_at(iter(()), first, place, Silent())


def _batches_of(
    part: Path,
    stored: Sequence[str],
    names: Sequence[str],
    types: Mapping[str, pa.DataType],
    version: int,
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
        most = min(size or BATCH_ROWS, _rows_that_fit(part))
        for batch in file.iter_batches(most, row_groups=groups, columns=list(stored)):
            arrays = []
            for name, in_file in zip(names, stored, strict=True):
                values, kind = batch.column(in_file), types[name]
                if pa.types.is_dictionary(values.type):
                    plain = kind == values.type.value_type == pa.string()
                    if coded and plain and not values.type.ordered:
                        check_texts(name, values.dictionary)
                        values.validate(full=True)
                        arrays.append(values)
                        continue
                    values = values.dictionary_decode()
                values = read_as(values, kind, version)
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


def _rows_that_fit(part: Path) -> int:
    """Return how many rows of a file can be read at once, however long its repeated texts are.

    A row group holds repeated texts once, so that a small one can become any size: where its bytes
    leave room for that, the longest of these texts is looked up.
    """
    metadata = pa.parquet.read_metadata(part)
    longest = 1
    for group in range(metadata.num_row_groups):
        stated = metadata.row_group(group)
        rows = min(stated.num_rows, BATCH_ROWS)
        chunks = (stated.column(place) for place in range(stated.num_columns))
        suspects = [
            chunk.path_in_schema
            for chunk in chunks
            if chunk.physical_type == "BYTE_ARRAY"
            and chunk.dictionary_page_offset is not None
            and chunk.total_uncompressed_size * rows > _SUSPICIOUS
        ]
        if suspects:
            with pa.parquet.ParquetFile(part, pre_buffer=False, read_dictionary=suspects) as file:
                first = next(file.iter_batches(1, row_groups=[group], columns=suspects), None)
            for values in () if first is None else first.columns:
                texts = values.dictionary if pa.types.is_dictionary(values.type) else values
                if pa.types.is_binary(texts.type) or pa.types.is_string(texts.type):
                    longest = max(longest, pc.max(pc.binary_length(texts)).as_py() or 0)
    return max(1, _AT_ONCE // longest)


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
    for each in found:
        with opening(each):  # which refuses what is no file
            pass
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
    targets, notes = _types(parts, schema, names, options, rows)
    columns = [
        NativeColumn(name, kind, total, options.version, targets[name])
        for name, kind in zip(names, schema.types, strict=True)
    ]
    long_texts = LongTexts(path.name, options)
    done = 0
    context.report(0.0, Sentence("Reading {path}", path=path.name))
    for part in parts:
        if done >= total:
            break
        with (
            _understood(part),
            pa.parquet.ParquetFile(part, read_dictionary=_repeating(part)) as file,
        ):
            wanted = min(total - done, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=min(_ROWS, total, _rows_that_fit(part))):
                piece = batch.slice(0, wanted)
                long_texts.see(piece.columns)
                for column, values in zip(columns, piece.columns, strict=True):
                    column.add(values)
                done += len(piece)
                wanted -= len(piece)
                context.report(done / total, Sentence("Reading {path}", path=path.name))
                if not wanted:
                    break
            if wanted:
                raise pa.ArrowInvalid
    if options.version > 1 and (lost := [each.name for each in columns if each.loses_order]):
        notes = (*notes, unordered_note(lost))
    frame = pd.DataFrame({column.name: column.finish() for column in columns}, copy=False)
    labels, periods = labels_in(schema.metadata or {}), periods_in(schema, names, options.version)
    return ReadResult(Table(frame, *labels, periods=periods), notes=notes)


def _types(
    parts: Sequence[Path],
    schema: pa.Schema,
    names: Sequence[str],
    options: ReadOptions,
    rows: int | None = None,
) -> tuple[dict[str, pa.DataType], tuple[Note, ...]]:
    """Return what each column is read as, by all rows or the first ones, and what is to be said.

    Decimal numbers that may have many digits are numbers where none of them has.
    """
    stored = dict(zip(names, schema.names, strict=True))
    types = {name: target_of(name, schema.field(at).type) for at, name in enumerate(names)}
    notes = [*duration_notes(schema, names), *zone_notes(schema, names, options)]
    for name, (count, first) in _outside(parts, stored, schema, rows).items():
        if options.column_types.get(name) == ColumnType.TEXT:
            types[name] = pa.string()
        else:
            ways = (Way("Read the column as text", options.with_type(name, ColumnType.TEXT)),)
            notes.append(outside_note(name, count, first, ways))
    if options.version == 1:
        return types, tuple(notes)
    wide = [n for at, n in enumerate(names) if _is_wide(schema.field(at).type, types[n])]
    altered = dict[str, int]()
    done = 0
    for part in parts if wide else ():
        with _understood(part), pa.parquet.ParquetFile(part, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=[stored[name] for name in wide]):
                for name in wide:
                    if name in altered:
                        continue
                    place = first_altered(batch.column(stored[name]).cast(pa.string()))
                    if place >= 0:
                        altered[name] = done + place + 1
                done += len(batch)
                if rows is not None and done >= rows:
                    break
    types |= {name: pa.float64() for name in wide if name not in altered}
    return types, (*notes, *(altered_note(name, row, options) for name, row in altered.items()))


def _outside(
    parts: Sequence[Path], stored: Mapping[str, str], schema: pa.Schema, rows: int | None
) -> Outside:
    """Return how many dates of each column no calendar has, and the first rows with them."""
    names = {n: f for n, f in stored.items() if may_be_outside(schema.field(f).type)}
    found: Outside = {}
    done = 0
    for part in parts if names else ():
        with _understood(part), pa.parquet.ParquetFile(part, pre_buffer=False) as file:
            done = add_outside(found, file, names, done, rows)
    return found


def _is_wide(source: pa.DataType, target: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(source)) and target == pa.string()


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


FORMAT: Final = _Parquet()
