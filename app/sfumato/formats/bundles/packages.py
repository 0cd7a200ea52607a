"""Tables in a data package, and whether a file is one: Sfumato's bundles, or any Frictionless ones.

A package is a folder or a zip file with a ``datapackage.json`` that names its data file and tells
how that is read (https://datapackage.org, versions 1 and 2). Nothing in it is trusted: a data file
has to lie beside its description, and a zip is unpacked no further than the sizes it states.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Silent
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.datapackage import DATA_RESOURCE
from sfumato.formats.errors import CannotOpen, DamagedFile, FileError
from sfumato.formats.files import (
    LARGEST_PACKED_DATA,
    is_file,
    is_folder,
    opened_zip,
    opening,
    read_regular,
    unpack_entry,
)
from sfumato.formats.formulas import is_escaped
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.reading import detect_options, readable_extensions

_LARGEST_DESCRIPTION: Final = 64 << 20
_TYPES: Final = {
    "string": ColumnType.TEXT,
    "yearmonth": ColumnType.TEXT,
    "integer": ColumnType.INTEGER,
    "year": ColumnType.INTEGER,
    "number": ColumnType.NUMBER,
    "date": ColumnType.DATE,
    "datetime": ColumnType.DATE,
}
_TABLES: Final = (
    ".csv",
    ".tsv",
    ".txt",
    ".parquet",
    ".xlsx",
    ".xls",
    ".ods",
    ".sav",
    ".dta",
    ".sas7bdat",
    ".por",
    ".xpt",
)


@dataclass(frozen=True)
class PackagedTable:
    """A package's table.

    Parameters
    ----------
    path
        What is kept: the data file of a folder, or the zip file.
    options
        How the table is read, by the package's schema.
    sensitive
        The sensitive column of a generalized table that Sfumato published; else empty.
    public
        Its public columns; None where they are not known.
    """

    path: Path
    options: ReadOptions
    sensitive: str = ""
    public: tuple[str, ...] | None = None


def is_package(path: Path) -> bool:
    """Return whether a path is to be read as a package: a folder, a description or a zip file."""
    return is_folder(path) or path.name == DATAPACKAGE_NAME or _is_zip(path)


def package_at(path: Path) -> PackagedTable:
    """Return the table of a package.

    Parameters
    ----------
    path
        The folder, its ``datapackage.json``, or the zip file.

    Raises
    ------
    FileError
        If there is no package, its description or its data can't be read, or it has several
        tables.
    """
    folder = path.parent if path.name == DATAPACKAGE_NAME else path
    with _described(folder) as (inside, content):
        resource = _resource(content, path)
        file = inside / str(_path_of(resource))
        own = content.get("sfumato") if isinstance(content.get("sfumato"), Mapping) else {}
        facts = own.get("generalized", {}) if isinstance(own, Mapping) else {}
        found = PackagedTable(
            folder if _is_zip(folder) else file,
            _options(file, resource),
        )
        if not isinstance(facts, Mapping) or "sensitive" not in facts:
            return found
        levels = facts.get("levels", {})
        return replace(found, sensitive=str(facts["sensitive"]), public=tuple(map(str, levels)))


def description_at(path: Path) -> Mapping[str, Any]:
    """Return what a package's ``datapackage.json`` says, which nobody vouches for.

    Raises
    ------
    FileError
        As `package_at`.
    """
    folder = path.parent if path.name == DATAPACKAGE_NAME else path
    with _described(folder) as (_, content):
        return content


def row_order_beside(path: Path) -> str:
    """Return how the rows of a bundle's data file stand, as the description beside it states.

    Empty where nothing beside it describes it as a release.
    """
    beside = path.with_name(DATAPACKAGE_NAME)
    try:
        content = _description(beside, path)
        described = _path_of(_resource(content, path)) == Path(path.name)
    except (SfumatoError, OSError):
        return ""
    own = content.get("sfumato")
    return str(own.get("row_order", "")) if described and isinstance(own, Mapping) else ""


@contextmanager
def table_file(path: Path) -> Iterator[Path]:
    """Give the file that holds a table: the path itself, or what a zipped package has unpacked.

    Raises
    ------
    FileError
        As `package_at`.
    """
    if not _is_zip(path):
        yield path
        return
    with _described(path) as (inside, content):
        yield inside / str(_path_of(_resource(content, path)))


def _is_zip(path: Path) -> bool:
    if path.suffix.lower() != ".zip" or not is_file(path):
        return False
    with opening(path), path.open("rb") as file:
        return zipfile.is_zipfile(file)


@contextmanager
def _described(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Give the folder of a package's files, and its description."""
    if is_folder(path):
        content = _description(path / DATAPACKAGE_NAME, path)
        _refuse_links(path, _path_of(_resource(content, path)), path)
        yield path, content
        return
    if not _is_zip(path):
        raise _not_a_package(path)
    with tempfile.TemporaryDirectory(prefix="sfumato-") as unpacked:
        inside = Path(unpacked)
        with opened_zip(path, DamagedFile) as archive:
            top = _unpack(archive, DATAPACKAGE_NAME, inside, _LARGEST_DESCRIPTION, path)
            content = _description(inside / DATAPACKAGE_NAME, path)
            name = _path_of(_resource(content, path))
            _unpack(archive, str(name), inside, LARGEST_PACKED_DATA, path, top)
        yield inside, content


def _unpack(
    archive: zipfile.ZipFile,
    name: str,
    folder: Path,
    largest: int,
    path: Path,
    top: str | None = None,
) -> str:
    """Unpack one file, from the top or from the one folder that was zipped; return which."""
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        if entry.filename in entries:
            raise DamagedFile(
                "The zip file {path} has two files of the same name.",
                "Unpack it yourself, and choose the data file.",
                path=path,
            )
        if not entry.is_dir():
            entries[entry.filename] = entry
    folders = {entry.split("/", 1)[0] for entry in entries if "/" in entry}
    tops = [top] if top is not None else ["", *(f"{each}/" for each in folders)]
    found = next((each for each in tops if each + name in entries), None)
    if found is None:
        raise _not_a_package(path)
    target = folder / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError):
        raise DamagedFile(
            "{description} in {path} states a name that no file can have.",
            "Unpack the data file yourself, and choose it.",
            description=DATAPACKAGE_NAME,
            path=path,
        ) from None
    unpack_entry(archive, entries[found + name], target, largest, Silent(), DamagedFile)
    return found


def _description(file: Path, path: Path) -> dict[str, Any]:
    """Read a ``datapackage.json``."""
    _refuse_links(file.parent, Path(file.name), path)
    if not is_file(file):
        raise _not_a_package(path)
    with opening(file):
        if file.stat().st_size > _LARGEST_DESCRIPTION:
            raise _not_a_package(path)
        raw = file.read_bytes()
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("resources"), list):
        raise DamagedFile(
            "{description} in {path} is no description of a data package.",
            "Correct it, or choose the data file itself.",
            description=DATAPACKAGE_NAME,
            path=path,
        )
    return content


def _refuse_links(folder: Path, inside: Path | None, path: Path) -> None:
    """Refuse a file of a package that stands somewhere else in truth."""
    for part in () if inside is None else (inside, *inside.parents[:-1]):
        if os.path.islink(folder / part):  # noqa: PTH114 (pathlib raises at odd names)
            raise DamagedFile(
                "{file} in {path} is a link to another place.",
                "Choose the file that it leads to, if you know that it belongs to the package.",
                file=part,
                path=path,
            )


def _resource(content: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Return the description of the package's table."""
    listed = [each for each in content["resources"] if isinstance(each, Mapping)]
    tables = [
        each
        for each in listed
        if (file := _path_of(each)) is not None and file.suffix.lower() in _TABLES
    ]
    # A hierarchy beside a published table is a table too.
    named = [each for each in tables if each.get("name") == DATA_RESOURCE]
    found = named or tables
    if len(found) != 1:
        raise DamagedFile(
            "The data package {path} has {count} {count:table|tables} that can be read.",
            "Choose the data file itself.",
            path=path,
            count=len(found),
        )
    return found[0]


def _path_of(resource: Mapping[str, Any]) -> Path | None:
    """Return where a resource's file is; None where it is not beside its description."""
    stated = resource.get("path")
    if isinstance(stated, list) and len(stated) == 1:
        stated = stated[0]
    if not isinstance(stated, str) or "://" in stated or "\\" in stated:
        return None
    file = Path(stated)
    return None if file.is_absolute() or ".." in file.parts or not file.name else file


def _options(file: Path, resource: Mapping[str, Any]) -> ReadOptions:
    """Return how a table is read, by what its description says."""
    found = detect_options(file)
    try:
        return _stated(found, resource) if found.format == "csv" else found
    except (SfumatoError, ValueError, TypeError, AttributeError):
        return found  # the file speaks for itself where its description makes no sense


def _stated(found: ReadOptions, resource: Mapping[str, Any]) -> ReadOptions:
    dialect = resource.get("dialect") or {}
    schema = resource.get("schema") or {}
    schema = schema if isinstance(schema, Mapping) else {}
    fields = [each for each in schema.get("fields", ()) if isinstance(each, Mapping)]
    types = {
        str(each["name"]): _TYPES[each["type"]]
        for each in fields
        if each.get("type") in _TYPES and "name" in each
    }
    missing = tuple(
        str(each.get("value", "")) if isinstance(each, Mapping) else str(each)
        for each in schema.get("missingValues", [""])
    )
    marks = {str(each[name]) for each in fields for name in ("decimalChar",) if name in each}
    return replace(
        found,
        encoding=str(resource.get("encoding") or found.encoding).lower(),
        delimiter=str(dialect.get("delimiter", found.delimiter)),
        quote=str(dialect.get("quoteChar", found.quote)),
        header=bool(dialect.get("header", found.header)),
        decimal=marks.pop() if len(marks) == 1 else found.decimal,
        missing=missing,
        escaped_formulas=is_escaped(resource),
        column_types=types,
    )


def _not_a_package(path: Path) -> CannotOpen:
    return CannotOpen(
        "{path} is no data package: it has no {description}, or not the file that this names.",
        "Choose the folder or the zip file as it was published, or the data file itself.",
        path=path,
        description=DATAPACKAGE_NAME,
    )


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
        content = json.loads(read_regular(beside))
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
