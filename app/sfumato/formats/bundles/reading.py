"""Reading a bundle back: a folder or a zip file that may have been through many hands.

Nothing in it is trusted: only the files of a bundle are looked at, by their fixed names,
so a name that points elsewhere does nothing; a zip is unpacked no further than the sizes it
states, and a digest that does not fit is told.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.datapackage import DATAPACKAGE_NAME
from sfumato.formats.bundles.descriptor import Descriptor, descriptor_from
from sfumato.formats.bundles.table import read_data
from sfumato.formats.bundles.writing import digest_of_files
from sfumato.formats.files import is_file, is_folder, opening, printable
from sfumato.formats.zips import LARGEST_PACKED_DATA, opened_zip, unpack_entry

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
    """

    table: Table
    descriptor: Descriptor
    files: Mapping[str, str]
    altered: tuple[str, ...]

    @property
    def datapackage(self) -> Mapping[str, Any]:
        """The content of ``datapackage.json``."""
        return self.descriptor.content

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
    with _opened(path, watcher) as folder:
        descriptor = _descriptor(folder, path)
        files, altered = _digests(folder, path, descriptor, Part(watcher, 0.3, 0.5))
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
    return Bundle(table, descriptor, files, altered)


@contextmanager
def _opened(path: Path, context: Context) -> Iterator[Path]:
    """Give a folder that holds the bundle's files."""
    if is_folder(path):
        yield path
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
        _unpack(path, Path(unpacked), Part(context, 0.0, 0.3))
        yield Path(unpacked)


def _unpack(path: Path, folder: Path, context: Context) -> None:
    """Unpack the bundle's files, and nothing else, from a zip."""
    with opened_zip(path, BundleError) as archive:
        entries = _wanted(archive, path)
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


def _wanted(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the entries that can be a bundle's files, by name.

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
    return found


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
                "Ask for the whole bundle: it has {count} files.",
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
