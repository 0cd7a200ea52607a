"""The data file of a bundle, read back as its schema says."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.datapackage import DATAPACKAGE_NAME
from sfumato.formats.bundles.descriptor import Descriptor
from sfumato.formats.column_types import typed_column
from sfumato.formats.errors import BadValue
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.reading import detect_options, preview, read_table

_COLUMN_TYPES: Final = {
    "integer": ColumnType.INTEGER,
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
        escaped_formulas=descriptor.escaped,
        column_types={field.name: ColumnType.TEXT for field in descriptor.fields},
    )
    _checked(preview(path, texts, rows=1), descriptor)
    typed = ReadOptions(
        encoding="utf-8",
        escaped_formulas=descriptor.escaped,
        column_types={
            field.name: _COLUMN_TYPES.get(field.type, ColumnType.TEXT)
            for field in descriptor.fields
        },
    )
    try:
        return read_table(path, typed, context).frame
    except BadValue:
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
        "{file} has {found} columns, but {description} describes {stated}.",
        "Ask for the bundle again.",
        file=descriptor.data_name,
        found=len(names),
        description=DATAPACKAGE_NAME,
        stated=len(described),
    )
