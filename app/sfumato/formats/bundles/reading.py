"""Reading a bundle back: a folder or a zip file that may have been through many hands.

Nothing in it is trusted: only the files of a bundle are looked at, by their fixed names,
so a name that points elsewhere does nothing; a zip is unpacked no further than the sizes it
states, and a digest that does not fit is told. Columns are brought to the types that the schema
states: statistical formats store whole numbers and yes/no values as decimals, and some can't tell
an empty text from a missing value; in a bundle both are missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Floats
from sfumato.engine.table.table import Table
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.datapackage import Descriptor, SchemaField, descriptor_from
from sfumato.formats.columns.arrays import ArrowColumn
from sfumato.formats.columns.settling import ZONES_LEFT_OUT
from sfumato.formats.comparison import is_number
from sfumato.formats.errors import BadValue, FileError
from sfumato.formats.files import (
    LARGEST_PACKED_DATA,
    digest_of_files,
    is_file,
    is_folder,
    opened_zip,
    opening,
    printable,
    unpack_entry,
)
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.reading import detect_options, preview, read_file, read_table
from sfumato.formats.table_format import BATCH_ROWS
from sfumato.formats.tables import format_called

_TRUE: Final = frozenset({"true", "1"})
_FALSE: Final = frozenset({"false", "0"})


def typed_column(column: pd.Series, field: SchemaField) -> pd.Series:
    """Return a column with the type its field states.

    Parameters
    ----------
    column
        As a reader gave it, shape (n,).
    field
        The column's description.

    Returns
    -------
    pandas.Series
        Whole numbers, ``boolean`` for yes/no values, ``float64`` for numbers, ``datetime64``
        for dates and times of day on a date, text or categories otherwise.

    Raises
    ------
    BundleError
        If a value does not have that type; names the column and the first such row.
    """
    cleaned = _without_empty_texts(column)
    convert = _CONVERTERS.get(field.type)
    if convert is None:
        if is_number(_distinct(cleaned)) and not bool(cleaned.isna().all()):
            raise _wrong_type(field, int(cleaned.notna().to_numpy().argmax()))
        return cleaned
    converted = convert(_plain_text(cleaned))
    failed = converted.isna().to_numpy() & ~cleaned.isna().to_numpy()
    if failed.any():
        raise _wrong_type(field, int(failed.argmax()))
    return converted


def _without_empty_texts(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.CategoricalDtype):
        empty = [value for value in column.cat.categories if value == ""]
        return column.cat.remove_categories(empty) if empty else column
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column
    empty_rows = (column == "").fillna(False).to_numpy(dtype=bool)
    return column.mask(empty_rows) if empty_rows.any() else column


def _distinct(column: pd.Series) -> pd.Series:
    """Return a categorical column's categories, any other column as it is."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Series(column.cat.categories)
    return column


def _plain_text(column: pd.Series) -> pd.Series:
    """Return a categorical column as its values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype)
    return column


def _number(column: pd.Series) -> pd.Series:
    numbers = _as_numbers(column)
    return pd.Series(
        numbers.to_numpy(dtype=np.float64, na_value=np.nan), name=column.name, index=column.index
    )


def _integer(column: pd.Series) -> pd.Series:
    numbers = _as_numbers(column)
    if pd.api.types.is_integer_dtype(numbers.dtype):
        return numbers
    exact: Floats = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    whole = np.isfinite(exact) & (np.floor(exact) == exact) & (np.abs(exact) < 2.0**63)
    values = np.where(whole, exact, 0).astype(np.int64)
    return pd.Series(pd.arrays.IntegerArray(values, ~whole), name=column.name, index=column.index)


def _as_numbers(column: pd.Series) -> pd.Series:
    """Return texts as numbers, missing where they are none; large whole numbers stay exact."""
    if is_number(column):
        return column
    known = pd.to_numeric(column.dropna(), errors="coerce")
    if len(known) < len(column) and pd.api.types.is_integer_dtype(known.dtype):
        known = known.astype(
            "UInt64" if pd.api.types.is_unsigned_integer_dtype(known.dtype) else "Int64"
        )
    return known.reindex(column.index)


def _boolean(column: pd.Series) -> pd.Series:
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype("boolean")
    texts = column.map(_boolean_of, na_action="ignore")
    return texts.astype("boolean")


def _boolean_of(value: object) -> bool | None:
    text = f"{value:g}" if isinstance(value, int | float) else str(value).lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _moment(column: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column
    try:
        return pd.to_datetime(column, errors="coerce", format="ISO8601")
    except ValueError:  # Moments with and without a time zone, or of several.
        return pd.Series(pd.NaT, index=column.index, name=column.name)


_CONVERTERS: Final[Mapping[str, Callable[[pd.Series], pd.Series]]] = {
    "integer": _integer,
    "year": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _moment,
    "datetime": _moment,
}


def _wrong_type(field: SchemaField, position: int) -> BundleError:
    return BundleError(
        "Column {column} should hold values of the type {type}, but row {row} does not.",
        "Ask for the bundle again.",
        column=field.name,
        type=field.type,
        row=position + 1,
    )


_COLUMN_TYPES: Final = {
    "integer": ColumnType.INTEGER,
    "year": ColumnType.INTEGER,
    "number": ColumnType.NUMBER,
    "boolean": ColumnType.BOOLEAN,
    "date": ColumnType.DATE,
    "datetime": ColumnType.DATE,
}


def read_data(path: Path, descriptor: Descriptor, context: Context) -> Table:
    """Read a bundle's data file.

    Parameters
    ----------
    path
        The file.
    descriptor
        What the bundle says of it.
    context
        Progress and cancelling.

    Raises
    ------
    BundleError
        If the file can't be read, its columns are not those described, or a value does not
        have its column's type. The message names rows and columns, never a value.
    """
    try:
        frame = _read(path, descriptor, context)
    except BundleError:
        raise
    except SfumatoError as error:
        raise BundleError(
            "{file} can't be read. {reason}",
            "Ask for the bundle again.",
            file=descriptor.data_name,
            reason=error.what,
        ) from None
    typed = {field.column: typed_column(frame[field.name], field) for field in descriptor.fields}
    return Table(
        pd.DataFrame(typed, copy=False),
        {field.column: field.labels for field in descriptor.fields if field.labels},
        {field.column: field.title for field in descriptor.fields if field.title},
    )


def _read(path: Path, descriptor: Descriptor, context: Context) -> pd.DataFrame:
    """Read the file with the types of the schema, where its format has none."""
    if descriptor.format_name != "csv":
        return _checked(read_table(path, detect_options(path), context), descriptor)
    texts = ReadOptions(
        encoding="utf-8",
        keep_blank_rows=True,
        escaped_formulas=descriptor.escaped,
        column_types={field.name: ColumnType.TEXT for field in descriptor.fields},
    )
    _checked(preview(path, texts, rows=1), descriptor)
    typed = ReadOptions(
        encoding="utf-8",
        keep_blank_rows=True,
        escaped_formulas=descriptor.escaped,
        column_types={
            field.name: _COLUMN_TYPES.get(field.type, ColumnType.TEXT)
            for field in descriptor.fields
        },
    )
    with suppress(BadValue):
        found = read_file(path, typed, context)
        if all(note.template != ZONES_LEFT_OUT for note in found.notes):
            return found.table.frame
    # As texts, every value can be looked at; the types are brought about afterwards.
    return read_table(path, texts, context).frame


def _checked(table: Table, descriptor: Descriptor) -> pd.DataFrame:
    _check_names(table.columns, descriptor)
    return table.frame


def _check_names(names: tuple[str, ...], descriptor: Descriptor) -> None:
    described = tuple(field.name for field in descriptor.fields)
    if names == described:
        return
    for position, (found, stated) in enumerate(zip(names, described, strict=False), start=1):
        if found != stated:
            raise BundleError(
                "Column {position} of {file} is not the one that {description} describes.",
                "Ask for the bundle again.",
                position=position,
                file=descriptor.data_name,
                description=DATAPACKAGE_NAME,
            )
    raise BundleError(
        "{file} has {found} {found:column|columns}, but {description} describes {stated}.",
        "Ask for the bundle again.",
        file=descriptor.data_name,
        found=len(names),
        description=DATAPACKAGE_NAME,
        stated=len(described),
    )


_ARROW_TYPES: Final[Mapping[str, pa.DataType]] = {
    "integer": pa.int64(),
    "year": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
}
_CSV_BLOCK: Final = 1 << 22
_CHUNK: Final = 1 << 20
_LARGEST_TEXT: Final = 64 << 20
"""More than a description or a README can need, in bytes."""


@dataclass(frozen=True)
class Bundle:
    """A bundle as it was read.

    Parameters
    ----------
    table
        The released table, typed by the bundle's schema.
    descriptor
        What ``datapackage.json`` says.
    files
        The actual SHA-256 of each file, by name.
    altered
        The files whose bytes are not those that ``datapackage.json`` vouches for.
    added
        What is beside its files that ``datapackage.json`` does not know, by its path in the bundle.
    """

    table: Table
    descriptor: Descriptor
    files: Mapping[str, str]
    altered: tuple[str, ...]
    added: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of the whole bundle, see `sfumato.formats.bundles.writing.digest_of_files`."""
        return digest_of_files(self.files)


def read_bundle(
    path: Path, context: Context | None = None, *, accept_altered: bool = False
) -> Bundle:
    """Read a bundle.

    Parameters
    ----------
    path
        The folder or the zip file.
    context
        Progress and cancelling.
    accept_altered
        Read a bundle whose files were altered as far as possible, and say so in
        `Bundle.altered`, instead of refusing it.

    Raises
    ------
    BundleError
        If it is not a bundle, a file is missing or altered, or the data can't be read.
    """
    watcher = context or Silent()
    with _opened(path, watcher) as (folder, packed):
        descriptor, files, altered = _looked_into(folder, path, Part(watcher, 0.3, 0.5))
        if altered and not accept_altered:
            raise BundleError(
                "{file} in {path} was altered: its digest is not the one that {description}"
                " states.",
                "Ask for the bundle again, or verify it against the project to see what differs.",
                file=altered[0],
                path=path,
                description=DATAPACKAGE_NAME,
            )
        table = read_data(folder / descriptor.data_name, descriptor, Part(watcher, 0.5, 1.0))
        added = _added(_names_in(folder) if packed is None else packed, files)
    return Bundle(table, descriptor, files, altered, added)


@contextmanager
def opened_bundle(path: Path, context: Context) -> Iterator[tuple[Bundle, Path]]:
    """Open a bundle, altered or not: its table has no rows, which `data_batches` reads.

    Parameters and errors are those of `read_bundle`.

    Yields
    ------
    Bundle, Path
        The bundle, and a folder that holds its files, unpacked where they were in a zip.
    """
    with _opened(path, context) as (folder, packed):
        descriptor, files, altered = _looked_into(folder, path, Part(context, 0.3, 1.0))
        none = Table(pd.DataFrame({each.column: [] for each in descriptor.fields}), is_part=True)
        added = _added(_names_in(folder) if packed is None else packed, files)
        yield Bundle(none, descriptor, files, altered, added), folder


def data_batches(path: Path, descriptor: Descriptor) -> Iterator[pa.RecordBatch]:
    """Yield a bundle's rows some at a time, its columns called as in the released table.

    Where the file can't be read so, it is read as a whole, which says what is wrong with it.

    Raises
    ------
    BundleError
        As `read_data`.
    """
    called, done = [field.column for field in descriptor.fields], 0
    with opening(path):
        with suppress(pa.ArrowException, FileError):
            if (batches := _batches_in(path, descriptor)) is not None:
                for batch in batches:
                    _check_names(tuple(batch.schema.names), descriptor)
                    yield batch.rename_columns(called)
                    done += len(batch)
                return
        table = read_data(path, descriptor, Silent())
        columns = [ArrowColumn(name, table.column(name)) for name in called]
        for start in range(done, table.rows, BATCH_ROWS):
            blocks = [column.block(slice(start, start + BATCH_ROWS)) for column in columns]
            yield pa.record_batch(blocks, names=called)


def _batches_in(path: Path, descriptor: Descriptor) -> Iterator[pa.RecordBatch] | None:
    """Return the rows of a bundle's data file; None where it is read as a whole only."""
    known = format_called(descriptor.format_name)
    if known.name == "csv":
        return _typed_batches(path, descriptor)
    batches = known.batches(path, ReadOptions(format=known.name), Silent(), plain=True)
    return None if batches is None else batches.read(tuple(batches.types))


def _typed_batches(path: Path, descriptor: Descriptor) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a CSV file with the types of its schema."""
    types = {field.name: _ARROW_TYPES.get(field.type, pa.string()) for field in descriptor.fields}
    done = 0
    with suppress(pa.ArrowInvalid):
        for batch in _csv_batches(path, types):
            yield batch
            done += len(batch)
        return
    # Whole numbers may be too large for a sign, which is found out where they are.
    numbers = {name for name, kind in types.items() if kind == pa.int64()}
    texts = types | dict.fromkeys(numbers, pa.string())
    for batch in _csv_batches(path, texts):
        rows = batch.slice(min(done, len(batch)))
        done -= len(batch) - len(rows)
        columns = [
            _whole_numbers(column) if name in numbers else column
            for name, column in zip(rows.schema.names, rows.columns, strict=True)
        ]
        yield pa.record_batch(columns, names=rows.schema.names)


def _csv_batches(path: Path, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
    yield from pa.csv.open_csv(
        path,
        pa.csv.ReadOptions(block_size=_CSV_BLOCK),
        pa.csv.ParseOptions(newlines_in_values=True),
        pa.csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            timestamp_parsers=[pa.csv.ISO8601],
        ),
    )


def _whole_numbers(texts: pa.Array) -> pa.Array:
    with suppress(pa.ArrowInvalid):
        return texts.cast(pa.int64())
    return texts.cast(pa.uint64())


def _looked_into(
    folder: Path, path: Path, context: Context
) -> tuple[Descriptor, dict[str, str], tuple[str, ...]]:
    """Return what a bundle says of itself, its files' digests, and which are not as it says."""
    descriptor = _descriptor(folder, path)
    files, altered = _digests(folder, path, descriptor, context)
    return descriptor, files, altered


def _names_in(folder: Path) -> Iterator[str]:
    """Yield everything in a folder but folders, by its path in it; links are not followed."""
    for place, folders, names in os.walk(folder):
        linked = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in (*names, *linked):
            yield (Path(place) / name).relative_to(folder).as_posix()


def _added(names: Iterable[str], files: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if name not in files))


@contextmanager
def _opened(path: Path, context: Context) -> Iterator[tuple[Path, tuple[str, ...] | None]]:
    """Give a folder that holds the bundle's files, and what is in its zip, if it is one."""
    if is_folder(path):
        yield path, None
        return
    if not is_file(path):
        raise BundleError(
            "There is no file or folder {path}.",
            "Check the name of the bundle.",
            path=printable(path),
        )
    with opening(path), path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise _not_a_bundle(path)
    with tempfile.TemporaryDirectory(prefix="sfumato-") as unpacked:
        packed = _unpack(path, Path(unpacked), Part(context, 0.0, 0.3))
        yield Path(unpacked), packed


def _unpack(path: Path, folder: Path, context: Context) -> tuple[str, ...]:
    """Unpack the bundle's files, and nothing else, from a zip; return the names of all in it."""
    with opened_zip(path, BundleError) as archive:
        prefix, entries = _wanted(archive, path)
        if DATAPACKAGE_NAME not in entries:
            raise _not_a_bundle(path)

        def unpack(name: str) -> None:
            largest = LARGEST_PACKED_DATA if name.startswith("data.") else _LARGEST_TEXT
            unpack_entry(archive, entries[name], folder / name, largest, context, BundleError)

        unpack(DATAPACKAGE_NAME)
        descriptor = _descriptor(folder, path)
        for name in descriptor.hashes:
            if name in entries:
                unpack(name)
        names = (entry.filename for entry in archive.infolist() if not entry.is_dir())
        return tuple(name.removeprefix(prefix) for name in names)


def _wanted(archive: zipfile.ZipFile, path: Path) -> tuple[str, dict[str, zipfile.ZipInfo]]:
    """Return the folder in the zip, and the entries that can be a bundle's files, by name.

    They stand at the top of the zip, or in the one folder that somebody zipped.
    """
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    top = {entry.filename.split("/", 1)[0] for entry in entries if "/" in entry.filename}
    at_top = any(entry.filename == DATAPACKAGE_NAME for entry in entries)
    prefix = "" if at_top or len(top) != 1 else f"{top.pop()}/"
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        name = entry.filename.removeprefix(prefix)
        if not entry.filename.startswith(prefix) or "/" in name or "\\" in name:
            continue
        if name in found:
            raise BundleError(
                "The zip file {path} has two files of the same name.",
                "Ask for the bundle again.",
                path=path,
            )
        found[name] = entry
    return prefix, found


def _descriptor(folder: Path, path: Path) -> Descriptor:
    """Read ``datapackage.json``."""
    file = folder / DATAPACKAGE_NAME
    _refuse_link(file, path)
    if not is_file(file):
        raise _not_a_bundle(path)
    with opening(file):
        if file.stat().st_size > _LARGEST_TEXT:
            raise _not_a_bundle(path)
        raw = file.read_bytes()
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise BundleError(
            "{description} in {path} can't be read: it is not valid JSON.",
            "Ask for the bundle again.",
            description=DATAPACKAGE_NAME,
            path=path,
        ) from None
    descriptor = descriptor_from(content)
    if descriptor is None:
        raise BundleError(
            "{description} in {path} was not written by Sfumato, or was altered since.",
            "Ask for the bundle again.",
            description=DATAPACKAGE_NAME,
            path=path,
        )
    return descriptor


def _digests(
    folder: Path, path: Path, descriptor: Descriptor, context: Context
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return every file's actual digest, and the files that are not as described."""
    files: dict[str, str] = {}
    names = sorted((DATAPACKAGE_NAME, *descriptor.hashes))
    for name in names:
        _refuse_link(folder / name, path)
        if not is_file(folder / name):
            raise BundleError(
                "{file} is missing in {path}.",
                "Ask for the whole bundle: it has {count} {count:file|files}.",
                file=name,
                path=path,
                count=len(names),
            )
        with opening(folder / name), (folder / name).open("rb") as file:
            files[name] = _digest(file, f"Reading {name}", context)
    altered = tuple(
        name for name, stated in sorted(descriptor.hashes.items()) if files[name] != stated
    )
    return files, altered


def _digest(file: BinaryIO, text: str, context: Context) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        context.report(0.5, text)
        digest.update(chunk)
    return digest.hexdigest()


def _refuse_link(file: Path, path: Path) -> None:
    """Refuse a file of a bundle that stands somewhere else in truth."""
    if file.is_symlink():
        raise BundleError(
            "{file} in {path} is a link to another place, which no bundle holds.",
            "Put the file itself there, if you know that it belongs to the bundle.",
            file=file.name,
            path=path,
        )


def _not_a_bundle(path: Path) -> BundleError:
    return BundleError(
        "{path} is not a bundle: it has no {description}.",
        "Choose the folder or the zip file that was released.",
        path=path,
        description=DATAPACKAGE_NAME,
    )
