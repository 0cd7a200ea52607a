"""What a file that a person has is: a bundle, a file of one, or a file for itself.

Only names and descriptions are looked at; whether a bundle is as it was released is verified
elsewhere.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sfumato.engine.core.progress import Context
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.datapackage import DATAPACKAGE_NAME
from sfumato.formats.errors import FileError
from sfumato.formats.files import (
    LARGEST_PACKED_DATA,
    is_file,
    is_folder,
    opened_zip,
    opening,
    unpack_entry,
)
from sfumato.formats.reading import readable_extensions

_LARGEST_DESCRIPTION: Final = 64 << 20


def bundle_at(path: Path) -> Path | None:
    """Return the bundle that a path is or belongs to; None for anything else.

    Parameters
    ----------
    path
        A folder with a ``datapackage.json``; that file, or one that it describes; or a zip file
        with one.

    Returns
    -------
    Path or None
        The folder or the zip file.
    """
    if is_folder(path):
        return path if is_file(path / DATAPACKAGE_NAME) else None
    if not is_file(path):
        return None
    if path.name == DATAPACKAGE_NAME or path.name in _described_beside(path):
        return path.parent
    if path.suffix.lower() != ".zip":
        return None
    try:
        with opened_zip(path, BundleError) as archive:
            names = archive.namelist()
    except FileError:
        return path  # whoever reads it says what is wrong with it
    depth_of_one = (name for name in names if name.count("/") <= 1)
    return path if any(Path(name).name == DATAPACKAGE_NAME for name in depth_of_one) else None


def _described_beside(path: Path) -> frozenset[str]:
    """Return the names of the files that a bundle's description beside a file tells of."""
    beside = path.with_name(DATAPACKAGE_NAME)
    try:
        if not is_file(beside) or beside.stat().st_size > _LARGEST_DESCRIPTION:
            return frozenset()
        content = json.loads(beside.read_bytes())
    except (OSError, ValueError, RecursionError):
        return frozenset()
    if not isinstance(content, Mapping) or not isinstance(content.get("sfumato"), Mapping):
        return frozenset()
    listed = content.get("resources")
    named = [each.get("path") for each in listed or () if isinstance(each, Mapping)]
    return frozenset(name for name in named if isinstance(name, str))


@contextmanager
def lone_file(path: Path, context: Context) -> Iterator[Path]:
    """Give a file that comes without its bundle: itself, or the one table that somebody zipped.

    Raises
    ------
    FileError
        If a zip file is damaged, or has no table or several.
    """
    if path.suffix.lower() != ".zip":
        with opening(path):
            yield path
        return
    with tempfile.TemporaryDirectory(prefix="sfumato-") as unpacked:
        with opened_zip(path, BundleError) as archive:
            entry = _only_table(archive, path)
            target = Path(unpacked) / Path(entry.filename).name
            unpack_entry(archive, entry, target, LARGEST_PACKED_DATA, context, BundleError)
        yield target


def _only_table(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    endings = tuple(ending for each in readable_extensions().values() for ending in each)
    tables = [
        entry
        for entry in archive.infolist()
        if not entry.is_dir() and entry.filename.lower().endswith(endings)
    ]
    if len(tables) != 1:
        raise BundleError(
            "{path} is not a bundle: it has no {description}. It holds {count}"
            " {count:table|tables}.",
            "Choose the folder or the zip file that was released, or unpack the table that you"
            " mean and choose that.",
            path=path,
            description=DATAPACKAGE_NAME,
            count=len(tables),
        )
    return tables[0]
