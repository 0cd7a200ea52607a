"""The file formats, found by being here.

A module of this package that defines ``FORMAT`` (a `TableFormat`) is a format of the product, one
that defines ``FORMATS`` several that are alike. Nothing else lists them.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

from sfumato.engine.core.discovery import found_in
from sfumato.formats.errors import UnknownFormat
from sfumato.formats.files import is_folder, opening
from sfumato.formats.table_format import TableFormat

_HEAD_BYTES: Final = 4096
_OLD_WORKBOOK: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@cache
def all_formats() -> dict[str, TableFormat]:
    """Return every format by its name, in the order in which they are offered."""
    alike: list[tuple[TableFormat, ...]] = found_in(__name__, "FORMATS")
    found: list[TableFormat] = [*found_in(__name__, "FORMAT"), *chain.from_iterable(alike)]
    return {item.name: item for item in sorted(found, key=lambda item: item.order)}


def format_called(name: str) -> TableFormat:
    """Return the format called `name`.

    Raises
    ------
    UnknownFormat
        If this version has no such format.
    """
    try:
        return all_formats()[name]
    except KeyError:
        raise UnknownFormat(
            "This version of Sfumato has no file format called {name}.",
            "Known are: {known}.",
            name=name,
            known=", ".join(all_formats()),
        ) from None


def format_of(path: Path) -> TableFormat:
    """Return the format of a file, by its first bytes and then by its name.

    Raises
    ------
    CannotOpen
        If the file can't be read.
    UnknownFormat
        If it is in no format that can be read.
    """
    readable = [item for item in all_formats().values() if item.can_read and item.extensions]
    if is_folder(path):
        with opening(path, folders=True):
            found = next((item for item in readable if item.recognises_folder(path)), None)
        if found is not None:
            return found
    with opening(path), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    by_name = [item for item in readable if path.suffix.lower() in item.extensions]
    known_by_bytes = [item for item in (*by_name, *readable) if not item.last_resort]
    last_resorts = [item for item in (by_name or readable) if item.last_resort]
    for item in (*known_by_bytes, *last_resorts):
        if item.recognises(path, head):
            return item
    if head.startswith(_OLD_WORKBOOK):
        raise UnknownFormat(
            "{file} is a workbook of an old version of Excel, or one with a password.",
            "Save it in Excel as a workbook (.xlsx) without a password.",
            file=path.name,
        )
    if by_name:
        return by_name[0]
    raise UnknownFormat(
        "{file} is in no format that Sfumato can read.",
        "Save it as one of: {known}.",
        file=path.name,
        known=", ".join(item.title for item in readable),
    )
