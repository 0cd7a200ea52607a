"""Bundles: what a recipient is given, as a folder or as a zip file.

A bundle holds the data, ``datapackage.json``, ``README.md`` and ``ddi.xml``, the hierarchies of a
generalized table, and ``dcat.jsonld`` where it is wanted. Its bytes are a pure function
of its contents: no clock, no chance, no name of a machine or a folder. Nobody but the custodian
can read its files, until they are shared. A folder and a zip of
the same contents have the same digest, so a bundle can be unpacked and still be known.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sfumato.engine.core.columns import Role, names_of
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.wording import Sentence
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.bundles.contents import BundleContents, Perturbation
from sfumato.formats.bundles.datapackage import FileFacts, WrittenFiles, beside, describe, encode
from sfumato.formats.bundles.metadata import (
    DCAT_NAME,
    DCAT_RESOURCE,
    DDI_NAME,
    DDI_RESOURCE,
    catalogue,
    codebook,
)
from sfumato.formats.bundles.readme import (
    PROGRAM_RESOURCES,
    README_NAME,
    has_programs,
    readme_of,
)
from sfumato.formats.files import digest_of_files, new_private, write_private
from sfumato.formats.formulas import escaped, rows_with_escapes, with_escapes
from sfumato.formats.hierarchies import hierarchy_text
from sfumato.formats.language import speaking, worded
from sfumato.formats.reading import names_in_file, write_table
from sfumato.formats.table_format import RowStream
from sfumato.resources import resource_path

__all__ = [
    "BundleContents",
    "BundleFiles",
    "Perturbation",
    "write_bundle",
    "write_bundle_zip",
]

_CHUNK: Final = 1 << 20
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time a zip file can state: it says nothing about when the bundle was made."""


@dataclass(frozen=True)
class BundleFiles:
    """The files of a written bundle.

    Parameters
    ----------
    files
        Each file's SHA-256 in hexadecimal, by its name, in the order of the names.
    """

    files: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The files' names, sorted."""
        return tuple(self.files)

    @property
    def digest(self) -> str:
        """One digest for the whole bundle, see `digest_of_files`."""
        return digest_of_files(self.files)


def write_bundle(
    contents: BundleContents, folder: Path, format_name: str, context: Context
) -> BundleFiles:
    """Write a bundle's files into an existing, empty folder.

    Parameters
    ----------
    contents
        What the bundle is made from.
    folder
        Where the files go; the caller moves it to its final name.
    format_name
        The data file's format: ``csv``, ``parquet``, ``sav`` or ``dta``.
    context
        Progress and cancelling. After cancelling, the folder holds some of the files.

    Returns
    -------
    BundleFiles
        The names and digests of the files.

    Raises
    ------
    OSError
        If the folder does not take the files.
    SfumatoError
        If the format can't hold the table, see `write_table`.
    """
    data_name = f"data.{format_name}"
    names = names_in_file(contents.table.columns, format_name)
    table, order = contents.table, contents.order
    escapes = contents.escaped_in(format_name)
    if escapes:
        names = {name: escaped(in_file) for name, in_file in names.items()}
        table = with_escapes(table)
        order = rows_with_escapes(order) if isinstance(order, RowStream) else order
    written = write_table(table, folder / data_name, format_name, context, order)
    data = FileFacts(data_name, (folder / data_name).stat().st_size, written.sha256)
    with speaking(contents.language):
        losses = (*written.losses, *_unstated_weight(contents, names, format_name))
        told = readme_of(contents, names, format_name, escapes, losses).encode()
        readme = _write(folder, README_NAME, told)
        hierarchies = _write_hierarchies(contents, folder, escapes)
        files = WrittenFiles(data, readme, hierarchies)
        package = describe(contents, names, format_name, files, escapes)
        descriptions = _write_descriptions(contents, folder, package)
    every = (data, readme, *hierarchies.values(), *descriptions)
    digests = {facts.name: facts.sha256 for facts in every}
    return BundleFiles({name: digests[name] for name in sorted(digests)})


def _unstated_weight(
    contents: BundleContents, names: Mapping[str, str], format_name: str
) -> tuple[Sentence, ...]:
    """Return what is said of a weight that the data file could state and does not.

    SPSS's files alone can; the library that writes them doesn't.
    """
    weights = names_of(contents.columns, Role.WEIGHT)
    if format_name != "sav" or not weights:
        return ()
    told = (
        "This file does not say that {weight} weights the records, so SPSS counts each once: for"
        " weighted counts, run {command} there."
    )
    return (Sentence(told, weight=weights[0], command=f"`WEIGHT BY {names[weights[0]]}.`"),)


def _write_descriptions(
    contents: BundleContents, folder: Path, package: dict[str, Any]
) -> tuple[FileFacts, ...]:
    """Write programs and descriptions for recipients, and the data package that lists them."""
    described = []
    for resource, name in PROGRAM_RESOURCES.items() if has_programs(contents) else ():
        facts = _write(folder, name, resource_path("recipient", name).read_bytes())
        package["resources"].append(beside(resource, facts, "text/plain"))
        described.append(facts)
    ddi = _write(folder, DDI_NAME, codebook(contents, package))
    title = worded("Description for archives (DDI-Codebook 2.5)")
    package["resources"].append(beside(DDI_RESOURCE, ddi, "application/xml", title))
    described.append(ddi)
    if contents.dcat:
        dcat = _write(folder, DCAT_NAME, catalogue(contents, package))
        title = worded("Description for data catalogues (DCAT)")
        package["resources"].append(beside(DCAT_RESOURCE, dcat, "application/ld+json", title))
        described.append(dcat)
    return (*described, _write(folder, DATAPACKAGE_NAME, encode(package)))


def _write(folder: Path, name: str, content: bytes) -> FileFacts:
    """Write a small file of a bundle."""
    write_private(folder / name, content)
    return FileFacts(name, len(content), hashlib.sha256(content).hexdigest())


def _write_hierarchies(
    contents: BundleContents, folder: Path, escapes: bool
) -> dict[str, FileFacts]:
    """Write the hierarchies of a generalized table; return the files by the columns' names."""
    written: dict[str, FileFacts] = {}
    hierarchies = contents.generalized.hierarchies if contents.generalized is not None else {}
    for number, (column, rows) in enumerate(hierarchies.items(), start=1):
        labels = [tuple(map(escaped, row)) for row in rows] if escapes else rows
        name = f"hierarchy-{number}.csv"
        written[column] = _write(folder, name, hierarchy_text(labels).encode())
    return written


def write_bundle_zip(
    contents: BundleContents, path: Path, format_name: str, context: Context
) -> BundleFiles:
    """Write a bundle as one zip file.

    The files are made in a folder beside `path`, which is gone when the call returns or
    raises; after a crash it may be left, so `path` should stand in a folder for unfinished work.

    Parameters and errors are those of `write_bundle`, with `path` the zip file.
    """
    with tempfile.TemporaryDirectory(prefix="bundle-", dir=path.parent) as staged:
        folder = Path(staged)
        written = write_bundle(contents, folder, format_name, Part(context, 0.0, 0.8))
        with (
            os.fdopen(new_private(path), "w+b") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
        ):
            for name, part in one_by_one(Part(context, 0.8, 1.0), written.names):
                _add(archive, folder / name, part)
    return written


def zip_of(files: Mapping[str, bytes]) -> bytes:
    """Return a small bundle as one zip file; the same files give the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in sorted(files):
            archive.writestr(entry_called(name), files[name], compresslevel=6)
    return made.getvalue()


def entry_called(name: str) -> zipfile.ZipInfo:
    """Return an entry of a zip, without time, owner or permissions."""
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o100644 << 16
    return entry


def _add(archive: zipfile.ZipFile, source: Path, context: Context) -> None:
    """Add a file to a zip."""
    entry = entry_called(source.name)
    entry.file_size = source.stat().st_size
    done, text = 0, f"Packing {source.name}"
    with source.open("rb") as file, archive.open(entry, "w") as target:
        while chunk := file.read(_CHUNK):
            context.report(done / entry.file_size, text)
            done += target.write(chunk)
    context.report(1.0, text)
