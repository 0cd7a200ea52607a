"""Tables in batches of Arrow's: as a plan reads them, whatever types their reader chose."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.errors import TableError
from sfumato.engine.table.table import Table
from sfumato.formats.columns.alike import are_texts
from sfumato.formats.columns.arrays import (
    ArrowColumn,
    Categories,
    Column,
    column_of,
    is_ordered,
    precision,
    text_array,
    unmasked,
)
from sfumato.formats.columns.exact import is_inexact, with_one_zero, with_same_digits
from sfumato.formats.options import READING_VERSION
from sfumato.formats.table_format import BATCH_ROWS, Batches

ColumnType = str | tuple[str, ...]
"""The name of a column's Arrow type, or the texts of which it has one, in their order."""

Schema = Mapping[str, ColumnType]
"""How each column of a table is read, by its name."""

_REPEATED: Final = 8
"""So many rows share a text on average where each is held but once."""

HELD_BYTES: Final = 3 << 26
"""What is held at most of a table that is read several times."""
_SMALLER: Final = (pa.uint8(), pa.int8(), pa.uint16(), pa.int16(), pa.uint32(), pa.int32())

_TYPES: Final[Mapping[str, pa.DataType]] = {
    str(each): each
    for each in (
        *(pa.bool_(), pa.int64(), pa.uint64(), pa.float64(), pa.string(), pa.date32()),
        *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    )
}


def schema_of(table: Table, names: Collection[str | None]) -> dict[str, ColumnType]:
    """Return how some of a table's columns are read, in the table's order.

    Parameters
    ----------
    table
        The table, as it was read.
    names
        The columns; what is none of the table's counts for nothing.

    Raises
    ------
    UnsupportedColumn
        If one holds something that is neither number, text, date nor yes/no.
    """
    found: dict[str, ColumnType] = {}
    for name in table.columns:
        if name in names:
            series = table.column(name)
            column = ArrowColumn(name, series)
            if is_ordered(series) and column.type == pa.string():
                found[name] = tuple(map(str, series.cat.categories))
            elif pa.types.is_timestamp(column.type):
                unit = precision(column.values)
                found[name] = str(pa.timestamp(unit) if unit else pa.date32())
            else:
                found[name] = str(column.type)
    return found


def arrow_type(kind: ColumnType) -> pa.DataType:
    """Return the Arrow type of a column, as it leaves unperturbed.

    Raises
    ------
    KeyError
        If there is none of that name.
    """
    if isinstance(kind, tuple):
        return pa.dictionary(pa.int32(), pa.string(), ordered=True)
    return _TYPES[kind]


def table_of(batch: pa.RecordBatch, schema: Schema, reading: int = READING_VERSION) -> Table:
    """Return a batch's rows as the careful readers of files would have read them.

    Parameters
    ----------
    batch
        With all columns of the schema, in any order; others are left out. Which Arrow types the
        columns have is no matter as long as nothing is lost.
    schema
        How each column is read.
    reading
        The version of reading.

    Raises
    ------
    TableError
        If a column is missing, or its values don't fit; it is named, and never a value.
    """
    frame = {}
    for name, kind in schema.items():
        places = batch.schema.get_all_field_indices(name)
        if len(places) != 1:
            raise TableError(
                "The rows have no column {column}."
                if not places
                else "Two columns of the rows are called {column}.",
                "Give the rows all columns of the plan, each once and by its name.",
                column=name,
            )
        frame[name] = column_from(batch.column(places[0]), name, kind, reading)
    return Table(pd.DataFrame(frame, index=range(batch.num_rows), copy=False), is_part=True)


def batches_of(table: Table) -> Batches:
    """Return a table's rows as batches, which are not copied where Arrow allows it.

    Raises
    ------
    UnsupportedColumn
        If a column holds something that is neither number, text, date nor yes/no.
    """
    columns = {name: ArrowColumn(name, table.column(name)) for name in table.columns}
    known: dict[str, pa.Array] = {}
    types = {
        name: arrow_type(()) if is_ordered(each.series) and each.type == pa.string() else each.type
        for name, each in columns.items()
    }

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for name in names:
            if name not in known:
                known[name] = _array(columns[name])
        whole = pa.table([known[name] for name in names], names=list(names))
        return iter(whole.to_batches(max_chunksize=BATCH_ROWS))

    return Batches(
        types,
        table.rows,
        table.value_labels,
        table.column_labels,
        read,
        missing_reasons=table.missing_reasons,
        periods=table.periods,
    )


def _array(column: ArrowColumn) -> pa.Array:
    """Return a column as an array, texts of categories as a dictionary."""
    if column.categories is None or column.type != pa.string():
        return column.block(slice(None))
    # Batches of one table have one type, however many texts there are in each.
    codes = column.series.cat.codes.to_numpy().astype(np.int32)
    texts = ArrowColumn(column.name, column.values).block(slice(None)).cast(pa.string())
    places = pa.array(codes, mask=codes < 0)
    return pa.DictionaryArray.from_arrays(places, texts, ordered=is_ordered(column.series))


def with_codes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches whose texts, where those of the first rows repeat, are each held but once.

    A column of such texts is a dictionary of those that occur: whatever is done with it is done for
    each text once.
    """
    coded: set[str] | None = None
    for batch in batches:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        texts = [name for name, each in columns.items() if are_texts(each.type)]
        encoded = {n: _encoded(columns[n]) for n in texts if coded is None or n in coded}
        if coded is None:
            few = len(batch) // _REPEATED
            coded = {name for name, each in encoded.items() if len(each.dictionary) <= few}
        columns |= {n: encoded[n] if n in coded else columns[n].cast(pa.string()) for n in texts}
        yield pa.record_batch(columns)


class HeldRows:
    """The rows of a table once all columns were read to the end, in as few bytes as they need.

    Reading a text takes longer than most of what is done with its rows.
    """

    def __init__(self) -> None:
        self._held: list[pa.RecordBatch] = []
        self._types: dict[str, pa.DataType] = {}

    def read(
        self, batches: Batches, names: Sequence[str], most: int = HELD_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows of some columns, see `with_codes`.

        They are held where the whole table takes no more than `most` bytes, and read anew
        otherwise.
        """
        if self._held:
            schema = pa.schema([(name, self._types[name]) for name in names])
            return (part.select(list(names)).cast(schema) for part in self._held)
        rows = with_codes(batches.read(names))
        return self._holding(rows, batches.rows, most) if {*names} == {*batches.types} else rows

    def _holding(
        self, batches: Iterable[pa.RecordBatch], rows: int, most: int
    ) -> Iterator[pa.RecordBatch]:
        found, room, left, types = list[pa.RecordBatch](), most, rows, dict[str, pa.DataType]()
        for batch in batches:
            yield batch
            left -= len(batch)
            if room < 0:
                continue
            types = dict(zip(batch.schema.names, batch.schema.types, strict=True))
            part = pa.record_batch(list(map(_small, batch.columns)), names=batch.schema.names)
            room -= part.nbytes
            found.append(part)
            if room * len(part) < part.nbytes * left:  # all of them would need more, if like these
                room, found = -1, []
        if found and not left:
            self._types, self._held = types, found


def _small(values: pa.Array) -> pa.Array:
    """Return whole numbers, and those of texts that repeat, in as few bytes as all of them fit."""
    if pa.types.is_dictionary(values.type):
        small = _small(values.indices)
        return pa.DictionaryArray.from_arrays(small, values.dictionary, ordered=values.type.ordered)
    if pa.types.is_integer(values.type):
        ends = pc.min_max(values)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        for kind in _SMALLER if low is not None else ():
            held = np.iinfo(kind.to_pandas_dtype())
            if kind.bit_width < values.type.bit_width and held.min <= low and high <= held.max:
                values = values.cast(kind)
                break
    if pa.types.is_primitive(values.type) and not values.null_count:  # a bit a value less
        buffers = [None, *values.buffers()[1:]]
        values = pa.Array.from_buffers(values.type, len(values), buffers, 0, values.offset)
    return values


def _encoded(texts: pa.Array) -> pa.DictionaryArray:
    """Return texts as a dictionary in which each text stands once, and none that no row has."""
    if pa.types.is_dictionary(texts.type):
        known, places = texts.dictionary, texts.indices.drop_null().to_numpy()
        counts = np.bincount(places, minlength=len(known))
        if counts.all() and not known.null_count and len(known.unique()) == len(known):
            return texts
        texts = texts.cast(pa.string())
    return texts.dictionary_encode()


def batch_of(frame: pd.DataFrame, schema: pa.Schema, *, coded: bool = False) -> pa.RecordBatch:
    """Return a released frame's rows as a batch of a schema with its columns.

    Where texts may be `coded`, columns of categories are dictionaries in the place of texts.

    Raises
    ------
    TableError
        If a column's numbers are too large for its type.
    """
    arrays = []
    for field in schema:
        column = ArrowColumn(field.name, frame[field.name])
        held_once = pa.types.is_dictionary(field.type) or (coded and field.type == pa.string())
        array = _array(column) if held_once else column.block(slice(None))
        if not pa.types.is_dictionary(array.type):
            # Rounding and noise make zeros with a sign, which files would tell from others.
            array = with_one_zero(_cast(array, field.name, field.type))
        arrays.append(array)
    return pa.record_batch(arrays, names=schema.names)


def batch_of_frame(frame: pd.DataFrame, names: Collection[str]) -> pa.RecordBatch:
    """Return some columns of a frame of pandas, whatever types they have, as a batch.

    Raises
    ------
    TableError
        If a column mixes types; it is named, and never a value.
    """
    arrays = []
    for name in names:
        array = None
        # What the library raises may quote values, so it goes no further.
        with suppress(pa.ArrowException, UnicodeError, OverflowError, TypeError):
            array = pa.array(frame[name], from_pandas=True)
        if array is None:
            raise _unfit(name)
        arrays.append(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array)
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def column_from(
    values: pa.Array, name: str, kind: ColumnType, reading: int = READING_VERSION
) -> Column:
    """Return one column as it is read; see `table_of`."""
    if reading > 1 and kind == str(pa.float64()):
        values = with_one_zero(with_same_digits(values) if is_inexact(values.type) else values)
    if pa.types.is_dictionary(values.type):
        if kind == "string" and (found := _categorical(values)) is not None:
            return found
        values = values.dictionary_decode()
    if isinstance(kind, tuple):
        texts = _cast(values, name, pa.string())
        codes = pc.index_in(texts, value_set=pa.array(kind, type=pa.string()))
        if codes.null_count > texts.null_count:
            raise _unfit(name)
        found = codes.fill_null(-1).to_numpy(zero_copy_only=False)
        return pd.Categorical.from_codes(found, categories=pd.Index(kind), ordered=True)
    target = _TYPES[kind]
    array = _cast(values, name, target)
    if target == pa.string():
        return text_array(pa.chunked_array([array]))
    if pa.types.is_temporal(target):
        array = array.cast(pa.timestamp("ns" if target == pa.timestamp("ns") else "us"))
    plain, missing = unmasked(array)
    # What is read by others too is not written into.
    return column_of(plain if missing is None else plain.copy(), missing)


def _categorical(values: pa.DictionaryArray) -> Column | None:
    """Return texts of which each is held but once as categories; None where that is not so."""
    texts = values.dictionary
    if texts.type != pa.string() or texts.null_count or len(texts.unique()) < len(texts):
        return None
    codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return pd.Categorical.from_codes(codes, dtype=Categories(texts).dtype)


def _cast(values: pa.Array, name: str, target: pa.DataType) -> pa.Array:
    """Return values as another type that holds all of them.

    A number is no text: which of 012 and 12 it was nobody knows any more.
    """
    source = values.type
    if source == target:
        return values
    text = (
        pa.types.is_string(source)
        or pa.types.is_large_string(source)
        or pa.types.is_string_view(source)
        or pa.types.is_null(source)
    )
    to_text = pa.types.is_string(target) and not pa.types.is_decimal(source)
    yes_or_no = pa.types.is_boolean(source) != pa.types.is_boolean(target)
    if (to_text or yes_or_no) and not text:
        raise _unfit(name)
    array = None
    # What the library raises may quote values, so it goes no further.
    with suppress(pa.ArrowException, UnicodeError, OverflowError):
        if pa.types.is_timestamp(source) and source.tz is not None:
            values = pc.local_timestamp(values)
        array = values.cast(target)
        if pa.types.is_timestamp(values.type) and pa.types.is_date(target):
            # Arrow leaves a time of day out without a word.
            array = array if array.cast(values.type).equals(values) else None
    if array is None:
        raise _unfit(name)
    return array


def _unfit(name: str) -> TableError:
    return TableError(
        "The values of column {column} don't fit the type that the plan states for it.",
        "Read the column as that type, or make the plan again from the table as it is now.",
        column=name,
    )
