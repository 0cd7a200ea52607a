"""Zip files that were damaged in every part, wherever a zip is read: never a fault."""

from __future__ import annotations

import contextlib
import json

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.bundles.packages import package_at, table_file
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.bundles.writing import write_bundle
from sfumato.formats.errors import DamagedFile, FileError
from sfumato.formats.reading import detect_options, read_file
from tests.formats.bundles import case
from tests.formats.hostile_zips import DAMAGED, packed
from tests.formats.test_packages import describe, resource, write

HARMLESS = {
    *("packed sizes of 4 GB", "a name of 60,000 characters", "folders 2,000 deep"),
    *("a version of the future", "all but its first bytes", "an extra field that is cut"),
}
"""What some readers take, since what they need is not touched by it."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    write_bundle(case().contents, folder, "csv", Silent())
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.few(12)
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_bundle_is_refused_or_read_as_it_was(tmp_path, bundle, damage):
    path = tmp_path / "bundle.zip"
    path.write_bytes(DAMAGED[damage](bundle))
    try:
        found = read_bundle(path, accept_altered=True)
    except FileError as error:
        refused = error
    else:
        refused = None
    if refused is not None:
        assert refused.remedy
        return
    assert damage in HARMLESS
    assert not found.altered


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_package_is_refused_or_read(tmp_path, damage):
    folder = write(tmp_path, describe(resource("data.csv")))
    entries = {
        "datapackage.json": (folder / "datapackage.json").read_bytes(),
        "data.csv": (folder / "tables" / "people.csv").read_bytes(),
    }
    path = tmp_path / "package.zip"
    path.write_bytes(DAMAGED[damage](entries))
    with contextlib.suppress(FileError):
        found = package_at(path)
        with table_file(found.path) as file:
            assert list(read_file(file, found.options, Silent()).table.frame) == [
                *("plz", "age", "note")
            ]


def test_a_link_in_a_package_is_refused(tmp_path):
    folder = write(tmp_path, describe(resource()))
    (folder / "tables" / "people.csv").rename(tmp_path / "elsewhere.csv")
    (folder / "tables" / "people.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(DamagedFile, match="is a link to another place"):
        package_at(folder)


def test_a_folder_of_a_package_that_is_a_link_is_refused(tmp_path):
    folder = write(tmp_path, describe(resource()))
    (folder / "tables").rename(tmp_path / "elsewhere")
    (folder / "tables").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedFile, match="is a link to another place"):
        package_at(folder)


@pytest.mark.parametrize("name", ["n" * 300 + ".csv", "d/" * 400 + "data.csv", "a\0b.csv"])
def test_a_package_whose_data_no_system_could_name_is_refused(tmp_path, name):
    content = describe(resource(name))
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "datapackage.json").write_text(json.dumps(content))
    with pytest.raises(FileError):
        package_at(folder)
    path = tmp_path / "package.zip"
    path.write_bytes(
        packed({"datapackage.json": json.dumps(content).encode(), name: b"plz,age,note\n1,2,3\n"})
    )
    with contextlib.suppress(FileError):
        assert package_at(path)


def test_what_is_called_a_workbook_and_is_a_bundle_is_refused(tmp_path, bundle):
    path = tmp_path / "book.xlsx"
    path.write_bytes(packed(bundle))
    with pytest.raises(DamagedFile, match="not a whole Excel workbook"):
        read_file(path, detect_options(path), Silent())
