"""Files with far more text than their size lets one expect: refused, and read where asked to."""

from __future__ import annotations

import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats import files, long_texts
from sfumato.formats.bundles.packages import lone_file
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.bundles.writing import write_bundle_zip
from sfumato.formats.errors import FileError, OpenQuote, TooLarge
from sfumato.formats.reading import detect_options, open_batches, preview, read_file
from sfumato.formats.tables import delimited, parquet
from tests.formats.bundles import case
from tests.formats.reading import write

TEXT = "x" * 5_000
FRAME = pd.DataFrame({"number": range(40), "note": [f"{TEXT}{row % 20}" for row in range(40)]})


def made(folder, ending):
    path = folder / f"table.{ending}"
    if ending != "sqlite":
        return write(FRAME, path)
    with closing(sqlite3.connect(path)) as connection:
        FRAME.to_sql("t", connection, index=False)
        connection.commit()
    return path


def in_parts(path, options):
    batches = open_batches(path, options, Silent())
    return sum(map(len, batches.read(tuple(batches.types))))


@pytest.fixture
def little(monkeypatch):
    monkeypatch.setattr(long_texts, "_MOST_LONG", 150_000)


@pytest.mark.parametrize("ending", ["csv", "parquet", "sqlite", "sav"])
def test_more_long_texts_than_are_read_unasked_are_refused_with_a_way_to_read_them(
    tmp_path, little, ending
):
    path = made(tmp_path, ending)
    options = detect_options(path)
    assert preview(path, options, rows=5).rows == 5 if ending == "csv" else True
    with pytest.raises(TooLarge, match="more than 150,000 bytes of them") as caught:
        read_file(path, options, Silent())
    assert "let any size be read" in caught.value.remedy
    (way,) = caught.value.ways
    found = read_file(path, way.options, Silent()).table.frame["note"]
    assert found.astype(str).tolist() == FRAME["note"].tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_they_are_read_in_parts_and_by_projects_of_before_without_asking(tmp_path, little, ending):
    path = made(tmp_path, ending)
    options = detect_options(path)
    assert in_parts(path, options) == 40
    assert read_file(path, replace(options, version=1), Silent()).table.rows == 40


@pytest.mark.parametrize("schema", [True, False])
def test_texts_that_a_parquet_file_holds_once_are_read_few_rows_at_a_time(
    tmp_path, monkeypatch, schema
):
    monkeypatch.setattr(parquet, "_SUSPICIOUS", 0)
    monkeypatch.setattr(parquet, "_AT_ONCE", 30_000)
    seen = []
    real = long_texts.LongTexts.see
    monkeypatch.setattr(
        long_texts.LongTexts,
        "see",
        lambda self, arrays: (seen.append(len(arrays[0])), real(self, arrays)),
    )
    path = tmp_path / "table.parquet"
    table = pa.table({"a": range(40), "b": pa.array(FRAME["note"]).dictionary_encode()})
    pa.parquet.write_table(table, path, store_schema=schema)
    options = detect_options(path)
    assert read_file(path, options, Silent()).table.frame["b"].astype(str).tolist() == list(
        FRAME["note"]
    )
    assert max(seen) == 5
    batches = open_batches(path, options, Silent())
    assert {len(batch) for batch in batches.read(("b",))} == {5}


@pytest.mark.few(1)
@pytest.mark.parametrize("quote", ['"', ""])
def test_a_record_longer_than_is_read_unasked_is_refused(tmp_path, monkeypatch, quote):
    monkeypatch.setattr(delimited, "_LONGEST_UNASKED", 2 << 20)
    path = tmp_path / "table.csv"
    path.write_text(f"a,b\n1,{quote}{'x' * (3 << 20)}{quote}\n")
    options = detect_options(path)
    for read in (preview, lambda path, options: read_file(path, options, Silent()), in_parts):
        with pytest.raises(OpenQuote, match="record longer than 2 MB") as caught:
            read(path, options)
        *_, way = caught.value.ways
        assert read(path, way.options) is not None
        assert read(path, replace(options, version=1)) is not None


@pytest.mark.slow
def test_a_first_record_of_more_fields_than_a_table_has_columns_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a," * 200_001 + "\n")
    options = detect_options(path)
    for read in (preview, lambda path, options: read_file(path, options, Silent()), in_parts):
        with pytest.raises(TooLarge, match="200,002 fields"):
            read(path, options)


def test_a_zip_file_that_inflates_is_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_USUAL_UNPACKED", 1 << 20)
    path = tmp_path / "table.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", "a,b\n" + "1,2\n" * 500_000)
    with (
        pytest.raises(FileError, match="would unpack to 2,000,004 bytes") as caught,
        lone_file(path, Silent()),
    ):
        pass
    assert "unpack it yourself" in caught.value.remedy


def test_a_bundle_that_inflates_is_refused_with_what_to_do(tmp_path, monkeypatch):
    path = tmp_path / "bundle.zip"
    write_bundle_zip(case().contents, path, "csv", Silent())
    monkeypatch.setattr(files, "_USUAL_UNPACKED", 1000)
    monkeypatch.setattr(files, "_RATIO", 1)
    with pytest.raises(FileError, match=r"would unpack to .* up to") as caught:
        read_bundle(path)
    assert "choose the folder" in caught.value.remedy
