"""Formats are found by being there, and files by what they are."""

from __future__ import annotations

import zipfile

import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.errors import DamagedFile, UnknownFormat
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import (
    detect_options,
    names_in_file,
    preview,
    read_table,
    readable_extensions,
    sheets_of,
    writable_formats,
    write_table,
)
from sfumato.formats.table_format import TableFormat
from sfumato.formats.tables import all_formats, format_called, format_of
from tests.formats.reading import read, write

STATISTICAL = ("sav", "por", "dta", "sas7bdat", "xpt")
DATABASES = ("sqlite", "duckdb", "postgresql")
FRAME = pd.DataFrame({"id": range(1, 8), "ward": list("ABCABCA")})


def test_the_formats_are_those_of_the_modules():
    tables = ("csv", "parquet", "xlsx", "xls", "ods")
    assert list(all_formats()) == [*tables, *STATISTICAL, *DATABASES]
    assert list(writable_formats()) == ["csv", "parquet", "sav", "dta"]


@pytest.mark.parametrize("name", [n for n in all_formats() if n != "postgresql"])
def test_every_format_says_what_it_is(name):
    chosen = format_called(name)
    assert isinstance(chosen, TableFormat)
    assert chosen.title
    assert all(ending.startswith(".") and ending.islower() for ending in chosen.extensions)
    assert f".{name}" in chosen.extensions
    assert chosen.reading_options <= set(vars(ReadOptions()))
    assert readable_extensions()[chosen.title] == chosen.extensions


def test_a_format_without_files_is_not_offered_for_any():
    assert format_called("postgresql").extensions == ()
    assert "PostgreSQL" not in readable_extensions()


def test_no_ending_belongs_to_two_formats():
    endings = [ending for item in all_formats().values() for ending in item.extensions]
    assert len(set(endings)) == len(endings)


@pytest.mark.parametrize("name", list(writable_formats()))
def test_a_file_is_known_by_its_bytes_whatever_its_name(tmp_path, name):
    path = write(FRAME, tmp_path / f"table.{name}")
    disguised = path.rename(tmp_path / "table.xyz")
    assert format_of(disguised).name == name
    if name != "csv":
        assert format_of(disguised.rename(tmp_path / "table.csv")).name == name


@pytest.mark.parametrize("name", list(writable_formats()))
def test_the_first_rows_are_those_of_the_file(tmp_path, name):
    path = write(FRAME, tmp_path / f"table.{name}")
    shown = preview(path, detect_options(path), 3).frame
    assert list(shown["id"]) == [1, 2, 3]
    assert list(shown["ward"].astype(str)) == ["A", "B", "C"]
    assert list(read(path).table.frame["id"]) == list(range(1, 8))


@pytest.mark.parametrize("ending", ["parquet", "xlsx", "xls", "ods", "sav", "dta", "sas7bdat"])
@pytest.mark.parametrize("content", [b"id,ward\n1,Quicksilver\n", b"", b"PK\x03\x04rubbish"])
def test_a_file_that_only_claims_a_format_is_refused(tmp_path, ending, content):
    path = tmp_path / f"table.{ending}"
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match=f"table.{ending} is not a whole") as caught:
        read(path)
    assert "Quicksilver" not in str(caught.value) + repr(caught.value.__context__)


@pytest.mark.parametrize("name", ["parquet", "sav", "dta"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_file_cut_short_is_refused(tmp_path, name, share):
    rows = pd.concat([FRAME] * 2000, ignore_index=True)
    content = write(rows, tmp_path / f"table.{name}").read_bytes()
    (tmp_path / f"table.{name}").write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DamagedFile, match="is not a whole"):
        read(tmp_path / f"table.{name}")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x7fELF" + bytes(600), "in no format that Sfumato can read"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "in no format that Sfumato can read"),
        (b'{"sex": "f", "age": 31}\n{"sex": "m", "age": 40}\n' * 20, "is JSON, which"),
        (b'[\n  {"sex": "f", "age": 31},\n  {"sex": "m", "age": 40}]', "is JSON"),
        (b"<!DOCTYPE html>\n<table><tr><td>f</td></tr></table>", "is HTML"),
        (b'<?xml version="1.0"?>\n<rows><sex>f</sex></rows>', "is XML"),
    ],
)
def test_a_file_of_no_known_format_is_refused(tmp_path, content, words):
    path = tmp_path / "table.bin"
    path.write_bytes(content)
    with pytest.raises(UnknownFormat, match=words):
        detect_options(path)


def test_a_zip_file_is_no_table(tmp_path):
    path = tmp_path / "table.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    with pytest.raises(UnknownFormat, match="zip"):
        detect_options(path)


def test_unknown_formats_are_refused_by_name(tmp_path):
    with pytest.raises(UnknownFormat, match="no file format called cuneiform"):
        write_table(Table(FRAME), tmp_path / "t", "cuneiform", Silent())
    with pytest.raises(UnknownFormat, match="does not write Excel"):
        write_table(Table(FRAME), tmp_path / "t", "xlsx", Silent())
    path = write(FRAME, tmp_path / "t.csv")
    with pytest.raises(UnknownFormat, match="cuneiform"):
        read_table(path, ReadOptions(format="cuneiform"), Silent())
    assert [item.name for item in tmp_path.iterdir()] == ["t.csv"]


def test_only_workbooks_have_sheets(tmp_path):
    assert sheets_of(write(FRAME, tmp_path / "t.csv")) == ()


def test_names_change_where_a_format_restricts_them():
    names = ("marital-status", "age")
    assert names_in_file(names, "csv") == {"marital-status": "marital-status", "age": "age"}
    assert names_in_file(names, "sav") == {"marital-status": "marital_status", "age": "age"}
