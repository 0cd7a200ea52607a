"""The data file of a bundle, read back as its schema says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from app.engine.progress import Context
from app.engine.table import Table
from app.formats.column_types import typed_column
from app.formats.contents import BundleError
from app.formats.datapackage import DATAPACKAGE_NAME
from app.formats.descriptor import Descriptor
from app.formats.reading import detect_options, read_table

_BLOCK_BYTES: Final = 8 << 20
_ARROW_TYPES: Final = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.timestamp("us"),
    # Moments are read as text first: only then is it known how fine they are.
}
_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
_FRAME_TYPES: Final = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}


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
    if descriptor.format_name == "csv":
        frame = _read_csv(path, descriptor, context)
    else:
        table = read_table(path, detect_options(path), context)
        _check_names(tuple(table.columns), descriptor)
        frame = table.frame
    typed = {field.column: typed_column(frame[field.name], field) for field in descriptor.fields}
    return Table(
        pd.DataFrame(typed, copy=False),
        {field.column: field.labels for field in descriptor.fields if field.labels},
        {field.column: field.title for field in descriptor.fields if field.title},
    )


def _read_csv(path: Path, descriptor: Descriptor, context: Context) -> pd.DataFrame:
    """Read a CSV file with the types of the schema, block by block."""
    types = {field.name: _ARROW_TYPES.get(field.type, _TEXT) for field in descriptor.fields}
    try:
        batches = list(_batches(path, types, descriptor, context))
        if not sum(batch.num_rows for batch in batches):
            raise BundleError(
                "{file} has no rows.", "Ask for the bundle again.", file=descriptor.data_name
            )
        whole = pa.Table.from_batches(batches).unify_dictionaries()
    except pa.ArrowInvalid:
        raise _misfit(path, descriptor, context) from None
    frame: pd.DataFrame = whole.to_pandas(types_mapper=_FRAME_TYPES.get)
    return frame


def _batches(
    path: Path, types: dict[str, pa.DataType], descriptor: Descriptor, context: Context
) -> Iterator[pa.RecordBatch]:
    size = max(path.stat().st_size, 1)
    with pyarrow.csv.open_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            true_values=["true", "True", "TRUE", "1"],
            false_values=["false", "False", "FALSE", "0"],
        ),
    ) as reader:
        _check_names(tuple(reader.schema.names), descriptor)
        for number, batch in enumerate(reader, start=1):
            context.report(min(1.0, number * _BLOCK_BYTES / size), f"Reading {path.name}")
            yield batch


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
        "{file} has {found} columns, but {description} describes {stated}.",
        "Ask for the bundle again.",
        file=descriptor.data_name,
        found=len(names),
        description=DATAPACKAGE_NAME,
        stated=len(described),
    )


def _misfit(path: Path, descriptor: Descriptor, context: Context) -> BundleError:
    """Find out why a CSV file could not be read; never say which value it was."""
    texts = {field.name: _TEXT for field in descriptor.fields}
    try:
        frame = pa.Table.from_batches(list(_batches(path, texts, descriptor, context))).to_pandas()
        for field in descriptor.fields:
            typed_column(frame[field.name], field)
    except pa.ArrowInvalid:
        pass
    except BundleError as error:
        return error
    return BundleError(
        "{file} can't be read: a row has too many or too few values, or it is not UTF-8.",
        "Ask for the bundle again.",
        file=descriptor.data_name,
    )
