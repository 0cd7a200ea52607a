"""Tables in data packages: bundles and others, in folders and zip files."""

from __future__ import annotations

import json
import zipfile

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.bundles.packages import is_package, package_at, table_file
from sfumato.formats.errors import CannotOpen, DamagedFile
from sfumato.formats.options import ColumnType
from sfumato.formats.reading import read_table

SCHEMA = {
    "fields": [
        {"name": "plz", "type": "string"},
        {"name": "age", "type": "integer"},
        {"name": "note", "type": "geopoint"},
    ],
    "missingValues": ["", "-"],
}


def describe(*resources, **more):
    return {"name": "p", "resources": list(resources), **more}


def resource(path="tables/people.csv", **more):
    dialect = {"delimiter": ";", "quoteChar": "'"}
    return {"name": "people", "path": path, "dialect": dialect, "schema": SCHEMA, **more}


def write(folder, description, text="plz;age;note\n01069;3;'a;b'\n20095;-;c\n"):
    package = folder / "package"
    (package / "tables").mkdir(parents=True)
    (package / "tables" / "people.csv").write_text(text, encoding="utf-8")
    whole = description if isinstance(description, str) else json.dumps(description)
    (package / "datapackage.json").write_text(whole, encoding="utf-8")
    return package


def zipped(package, *, top=""):
    path = package.parent / "package.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(package.rglob("*")):
            if file.is_file():
                archive.write(file, top + str(file.relative_to(package)))
    return path


def rows(path):
    found = package_at(path)
    with table_file(found.path) as file:
        return read_table(file, found.options, Silent()).frame


@pytest.mark.parametrize("form", ["folder", "description", "zip", "zipped folder"])
def test_a_table_is_read_by_its_schema_however_it_is_packed(tmp_path, form):
    package = write(tmp_path, describe(resource()))
    path = {
        "folder": lambda: package,
        "description": lambda: package / "datapackage.json",
        "zip": lambda: zipped(package),
        "zipped folder": lambda: zipped(package, top="package/"),
    }[form]()
    assert is_package(path)
    frame = rows(path)
    assert list(frame["plz"]) == ["01069", "20095"]
    assert frame["age"].isna().tolist() == [False, True]
    assert list(frame["note"]) == ["a;b", "c"]
    assert package_at(path).options.column_types["plz"] is ColumnType.TEXT


def test_a_file_is_no_package(tmp_path):
    write(tmp_path, describe(resource()))
    assert not is_package(tmp_path / "package" / "tables" / "people.csv")
    assert not is_package(tmp_path / "nowhere.zip")


def test_what_a_published_table_states_of_itself_is_known(tmp_path):
    facts = {"generalized": {"sensitive": "note", "levels": {"age": {"level": 1, "highest": 2}}}}
    found = package_at(write(tmp_path, describe(resource(), sfumato=facts)))
    assert (found.sensitive, found.public) == ("note", ("age",))


def test_of_several_tables_the_one_called_data_is_taken(tmp_path):
    more = resource("tables/codes.csv", name="codes")
    one = resource(name="data")
    assert len(rows(write(tmp_path, describe(one, more)))) == 2


@pytest.mark.parametrize(
    ("description", "kind", "said"),
    [
        ("{", DamagedFile, "no description of a data package"),
        (describe(), DamagedFile, "0 tables"),
        (describe(resource("../people.csv")), DamagedFile, "0 tables"),
        (describe(resource("https://x.example/people.csv")), DamagedFile, "0 tables"),
        (describe(resource(), resource("b.csv", name="b")), DamagedFile, "2 tables"),
    ],
)
def test_a_package_that_can_not_be_read_says_why(tmp_path, description, kind, said):
    package = write(tmp_path, description)
    for path in (package, zipped(package)):
        with pytest.raises(kind, match=said):
            package_at(path)


def test_a_folder_or_a_zip_file_without_a_description_is_refused(tmp_path):
    package = write(tmp_path, describe(resource()))
    (package / "datapackage.json").unlink()
    for path in (package, zipped(package)):
        with pytest.raises(CannotOpen, match="no data package"):
            package_at(path)


def test_a_zip_file_without_its_data_is_refused(tmp_path):
    package = write(tmp_path, describe(resource()))
    (package / "tables" / "people.csv").unlink()
    with pytest.raises(CannotOpen, match="not the file that this names"):
        package_at(zipped(package))


def test_a_schema_that_makes_no_sense_leaves_the_file_to_speak_for_itself(tmp_path):
    odd = resource(dialect={"delimiter": ";;"}, schema={"fields": "many"})
    plain = "plz;age;note\n01069;3;a\n20095;4;c\n"
    assert list(rows(write(tmp_path, describe(odd), plain)).columns) == ["plz", "age", "note"]
