from __future__ import annotations

import pandas as pd
import pytest

from sfumato.formats.errors import DamagedFile, EmptyFile
from sfumato.formats.reading import detect_options, preview
from tests.formats.reading import plain, read
from tests.formats.sas_files import SasColumn, write_catalog, write_sas


def sas(folder, *columns):
    return write_sas(folder / "table.sas7bdat", columns)


def test_numbers_and_texts_are_read(tmp_path):
    path = sas(
        tmp_path,
        SasColumn("id", [1, 2, 3]),
        SasColumn("weight", [61.5, None, 80]),
        SasColumn("name", ["Zoé", "", "Bo"], label="Given name"),
    )
    assert detect_options(path).format == "sas7bdat"
    table = read(path).table
    assert [str(dtype) for dtype in table.frame.dtypes] == ["int64", "float64", "str"]
    assert plain(table.frame["weight"]) == [61.5, None, 80.0]
    assert plain(table.frame["name"]) == ["Zoé", None, "Bo"]
    assert table.column_labels == {"name": "Given name"}


@pytest.mark.parametrize(
    ("shown", "number", "moment"),
    [
        ("DATE9", 23435, "2024-02-29"),
        ("YYMMDD10", -1, "1959-12-31"),
        ("DDMMYYP10", 23435, "2024-02-29"),
        ("E8601DA10", 23435, "2024-02-29"),
        ("DATETIME20", 2_024_821_800.25, "2024-02-29T10:30:00.25"),
        ("E8601DT19", -0.5, "1959-12-31T23:59:59.5"),
    ],
)
def test_dates_are_dates_in_every_format(tmp_path, shown, number, moment):
    series = read(sas(tmp_path, SasColumn("day", [number, None], shown))).table.frame["day"]
    assert series[0] == pd.Timestamp(moment)
    assert pd.isna(series[1])


@pytest.mark.parametrize(
    ("shown", "values", "dtype"),
    [
        ("", [1, 2], "int64"),
        ("BEST12", [1, 2], "int64"),
        ("COMMA9", [1, 2], "int64"),
        ("COMMA9.2", [1, 2], "float64"),
        ("", [1, 2.5], "float64"),
    ],
)
def test_whole_numbers_are_whole_where_no_decimals_are_shown(tmp_path, shown, values, dtype):
    frame = read(sas(tmp_path, SasColumn("x", values, shown))).table.frame
    assert str(frame["x"].dtype) == dtype


def test_the_labels_of_a_catalog_beside_the_file_are_used(tmp_path):
    path = sas(tmp_path, SasColumn("sex", [1, 2, 1], "SEXF"), SasColumn("n", [1, 2, 3]))
    assert read(path).table.value_labels == {}
    write_catalog(path.with_suffix(".sas7bcat"), {"SEXF": {1: "male", 2: "female"}})
    table = read(path).table
    assert plain(table.frame["sex"]) == [1, 2, 1]
    assert table.value_labels == {"sex": {1: "male", 2: "female"}}
    assert preview(path, detect_options(path), 1).value_labels == table.value_labels


def test_a_catalog_that_is_none_is_told(tmp_path):
    path = sas(tmp_path, SasColumn("sex", [1, 2], "SEXF"))
    path.with_suffix(".sas7bcat").write_text("Quicksilver")
    with pytest.raises(DamagedFile, match="The catalog table"):
        read(path)


def test_a_file_without_records_is_told(tmp_path):
    with pytest.raises(EmptyFile, match="has no records"):
        read(sas(tmp_path, SasColumn("x", [])))


def test_a_file_cut_short_is_refused(tmp_path):
    path = sas(tmp_path, SasColumn("x", list(range(20_000))))
    path.write_bytes(path.read_bytes()[:70_000])
    with pytest.raises(DamagedFile, match="is not a whole SAS file"):
        read(path)


def test_a_file_is_read_in_pieces_as_in_one(tmp_path, monkeypatch):
    path = sas(tmp_path, SasColumn("i", list(range(3000))))
    monkeypatch.setattr("sfumato.formats.statistical.reading._FEWEST", 700)
    assert plain(read(path).table.frame["i"]) == list(range(3000))
