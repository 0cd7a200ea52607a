"""Unpacking single files from zip files that may have been through many hands.

Nothing in a zip is trusted: its directory says how large an entry is, but only what comes out is
counted, and every kind of damage ends in one error.
"""

from __future__ import annotations

import errno
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import FileError
from sfumato.formats.files import opening, refusal_to_write

LARGEST_PACKED_DATA: Final = 4 << 30
"""The most bytes a data file may unpack to; who trusts a larger one unpacks it and reads that."""

_CHUNK: Final = 1 << 20
_PACKED: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_LONGEST_NAME: Final = 255
_DAMAGE: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, RuntimeError),
    *(struct.error, ValueError, OverflowError, IndexError),
)
"""What the library raises at a zip that was cut, altered or made to confuse."""


@contextmanager
def opened_zip(path: Path, refusal: type[FileError]) -> Iterator[zipfile.ZipFile]:
    """Open a zip file.

    Raises
    ------
    FileError
        Of the kind `refusal`, where it is damaged, also while its entries are read; or if it
        can't be read at all.
    """
    damaged = False
    with opening(path):
        try:
            with zipfile.ZipFile(path) as archive:
                yield archive
        except _DAMAGE:
            damaged = True
        except OSError as error:
            # An entry said to begin before the file does.
            if error.errno != errno.EINVAL:
                raise
            damaged = True
    if damaged:
        raise refusal(
            "The zip file {path} is damaged.",
            "Copy it again, or ask whoever made it to send it again.",
            path=path,
        )


def unpack_entry(
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    target: Path,
    largest: int,
    context: Context,
    refusal: type[FileError],
) -> None:
    """Unpack one entry to a path, but no more than it states and than can be right.

    Raises
    ------
    FileError
        Of the kind `refusal`, where the entry is no plain file or too large; or if the disk does
        not take it.
    zipfile.BadZipFile
        If it is not as long as stated, or damaged.
    """
    name = target.name
    linked = stat.S_ISLNK(entry.external_attr >> 16)
    if linked or entry.compress_type not in _PACKED or entry.flag_bits & 0x1:
        raise refusal(
            "{file} in the zip file is a link, encrypted or packed in a way that Sfumato does not"
            " unpack.",
            "Unpack it with the program that packed it, and choose the folder.",
            file=name[:_LONGEST_NAME],
        )
    if len(name.encode(errors="replace")) > _LONGEST_NAME:
        raise refusal(
            "A file in the zip file has a name of {length} characters, more than a system takes.",
            "Ask whoever made it to give it a shorter name.",
            length=len(name),
        )
    room = shutil.disk_usage(target.parent).free
    if entry.file_size > min(largest, room):
        raise refusal(
            "{file} in the zip file would unpack to {size} bytes; up to {most} are unpacked.",
            "If you know where it comes from, unpack it yourself where there is room, and choose"
            " the folder.",
            file=name,
            size=f"{entry.file_size:,}",
            most=f"{min(largest, room):,}",
        )
    with archive.open(entry) as source:
        _copy(source, target, entry.file_size, context)


def _copy(source: IO[bytes], target: Path, size: int, context: Context) -> None:
    try:
        file = target.open("wb")
    except OSError as error:
        raise refusal_to_write(error, target) from None
    with file:
        done = 0
        while chunk := source.read(_CHUNK):
            context.report(done / max(size, 1), Sentence("Unpacking {target}", target=target.name))
            done += len(chunk)
            if done > size:
                raise zipfile.BadZipFile
            try:
                file.write(chunk)
            except OSError as error:
                raise refusal_to_write(error, target) from None
    if done != size:
        raise zipfile.BadZipFile
