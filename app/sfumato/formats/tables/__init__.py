"""The file formats, found by being here.

A module of this package that defines ``FORMAT`` (a `TableFormat`) is a format of the product, one
that defines ``FORMATS`` several that are alike. Nothing else lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from sfumato.engine.core.discovery import modules_in
from sfumato.formats.errors import DamagedFile, FileError, UnknownFormat
from sfumato.formats.files import is_folder, opened_zip, opening
from sfumato.formats.table_format import TableFormat

_PACKED: Final = (
    (re.compile(rb"\x1f\x8b\x08"), "gzip"),
    (re.compile(rb"BZh[1-9]1AY&SY"), "bzip2"),
    (re.compile(rb"\xfd7zXZ\x00"), "xz"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "Zstandard"),
    (re.compile(rb"7z\xbc\xaf\x27\x1c"), "7-Zip"),
    (re.compile(rb"Rar!\x1a\x07"), "RAR"),
)
"""How files begin that hold others, and what packs them."""
_NO_TABLE: Final = (
    (re.compile(rb"(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*\"[^\"\n]*\"\s*:"), "JSON"),
    (re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype html|html|table)\b[^>]*>", re.IGNORECASE), "HTML"),
    (re.compile(rb"(\xef\xbb\xbf)?\s*<\?xml\s"), "XML"),
)
"""How texts begin that are no lines of fields, though they have lines and commas."""
_ZIP: Final = b"PK\x03\x04"
_WORKBOOKS: Final = frozenset({"[Content_Types].xml", "mimetype"})
"""What a zip file holds one of that is a workbook."""
_HEAD_BYTES: Final = 4096


@cache
def all_formats() -> dict[str, TableFormat]:
    """Return every format by its name, in the order in which they are offered."""
    return {item.name: item for item in sorted(_one_by_one(), key=lambda item: item.order)}


def _one_by_one() -> Iterator[TableFormat]:
    """Yield every format, importing no module before it is asked for."""
    for module in modules_in(__name__):
        yield from getattr(module, "FORMATS", ())
        if hasattr(module, "FORMAT"):
            yield module.FORMAT


@cache
def _called(name: str) -> TableFormat | None:
    """Return a format, so that the others need not be imported; None where there is none."""
    return next((item for item in _one_by_one() if item.name == name), None)


def format_called(name: str) -> TableFormat:
    """Return the format called `name`.

    Raises
    ------
    UnknownFormat
        If this version has no such format.
    """
    if (found := _called(name)) is not None:
        return found
    raise UnknownFormat(
        "This version of Sfumato has no file format called {name}.",
        "Known are: {known}.",
        name=name,
        known=", ".join(all_formats()),
    )


def _told_by_bytes() -> list[TableFormat]:
    return [each for each in all_formats().values() if not each.last_resort]


def _packing_of(path: Path, head: bytes) -> str:
    """Return what a file is packed with that is no table itself; empty where it is none."""
    if head.startswith(_ZIP):
        # What is called a workbook is refused as one.
        if any(path.suffix.lower() in each.extensions for each in _told_by_bytes()):
            return ""
        with suppress(FileError), opened_zip(path, DamagedFile) as archive:
            if _WORKBOOKS.isdisjoint(archive.namelist()):
                return "zip"
        return ""
    return next((name for begin, name in _PACKED if begin.match(head)), "")


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
    if name := _packing_of(path, head):
        raise UnknownFormat(
            "{file} is packed ({name}).",
            "Unpack it, and open the table inside.",
            file=path.name,
            name=name,
        )
    by_name = [item for item in readable if path.suffix.lower() in item.extensions]
    known_by_bytes = [item for item in (*by_name, *readable) if not item.last_resort]
    last_resorts = [item for item in (by_name or readable) if item.last_resort]
    if (found := _recognising(known_by_bytes, path, head)) is not None:
        return found
    known = ", ".join(item.title for item in readable)
    text = next((name for begin, name in _NO_TABLE if begin.match(head)), None)
    # A web page that is called a workbook has a message of its own.
    if text is not None and all(item.last_resort for item in by_name):
        raise UnknownFormat(
            "{file} is {text}, which can't be read as a table.",
            "Save it as one of: {known}.",
            file=path.name,
            text=text,
            known=known,
        )
    if (found := _recognising(last_resorts, path, head)) is not None:
        return found
    if by_name:
        return by_name[0]
    raise UnknownFormat(
        "{file} is in no format that Sfumato can read.",
        "Save it as one of: {known}.",
        file=path.name,
        known=known,
    )


def _recognising(formats: Sequence[TableFormat], path: Path, head: bytes) -> TableFormat | None:
    """Return the first format that recognises a file; None where none does."""
    return next((item for item in formats if item.recognises(path, head)), None)
