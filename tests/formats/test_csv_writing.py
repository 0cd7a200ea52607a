from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

from sfumato.formats import delimited_writing
from sfumato.formats.errors import UnsupportedColumn
from sfumato.formats.options import ColumnType
from tests.formats.reading import plain, read, write


def written(folder, **columns):
    return write(pd.DataFrame(columns), folder / "table.csv").read_bytes().decode()


def test_texts_stand_in_quotes_and_numbers_do_not(tmp_path):
    text = written(
        tmp_path,
        name=pd.Series(["Zoé", 'a "b", c', None, "", "x\ny"], dtype="str"),
        code=pd.Series(["007", "1", "NA", "true", "2020-01-01"], dtype="str"),
        count=pd.array([1, None, -3, 2**62, 0], dtype="Int64"),
        share=[0.1, np.nan, -1.5, 1e300, np.inf],
        flag=pd.array([True, None, False, True, True], dtype="boolean"),
    )
    assert text.split("\r\n") == [
        '"name","code","count","share","flag"',
        '"Zoé","007",1,"0.1",true',
        '"a ""b"", c","1",,,',
        ',"NA",-3,"-1.5",false',
        '"","true",4611686018427387904,"1e+300",true',
        '"x\ny","2020-01-01",0,"INF",true',
        "",
    ]


def test_dates_follow_iso_8601_and_are_no_finer_than_needed(tmp_path):
    def lines(*moments):
        column = pd.Series(pd.array(moments, dtype="datetime64[ns]"))
        return written(tmp_path, x=column, y=range(len(moments))).split("\r\n")[1:-1]

    assert lines("2024-02-29", None) == ["2024-02-29,0", ",1"]
    assert lines("2024-02-29 10:00", "2024-03-01")[1] == '"2024-03-01T00:00:00",1'
    assert lines("2024-02-29 10:00:00.5")[0] == '"2024-02-29T10:00:00.500",0'
    assert lines("2024-02-29 10:00:00.000001")[0] == '"2024-02-29T10:00:00.000001",0'
    assert lines("2024-02-29 10:00:00.000000001")[0] == '"2024-02-29T10:00:00.000000001",0'


def test_categories_are_written_as_what_they_stand_for(tmp_path):
    text = written(
        tmp_path,
        text=pd.Categorical(["b", "a", None]),
        number=pd.Categorical([3, 1, None]),
        truth=pd.Categorical([True, False, None]),
        day=pd.Categorical(pd.to_datetime(["2024-01-02", "2024-01-01", None])),
        bins=pd.Categorical(["low", "high", None], ["low", "high", "never"], ordered=True),
    )
    assert text.split("\r\n")[1:-1] == [
        '"b",3,true,2024-01-02,"low"',
        '"a",1,false,2024-01-01,"high"',
        ",,,,",
    ]


@pytest.mark.parametrize(
    "values", [["a", None, ""], pd.array([1, None, 3], dtype="Int64"), [1.5, np.nan, 2]]
)
def test_a_column_alone_keeps_its_missing_values(tmp_path, values):
    path = write(pd.DataFrame({"only": values}), tmp_path / "table.csv")
    with path.open(newline="") as file:
        assert len(list(csv.reader(file))) == 4
    assert pd.read_csv(path)["only"].isna().sum() >= 1
    assert len(read(path).table.frame) == 3


def test_python_reads_what_is_written(tmp_path):
    texts = ['"', ",", "\r\n", "\n", " x ", "é€😀", ""]
    path = write(pd.DataFrame({"t": texts, "n": range(7)}), tmp_path / "table.csv")
    with path.open(newline="", encoding="utf-8") as file:
        assert [row[0] for row in csv.reader(file)][1:] == texts


def test_a_text_column_of_python_objects_is_written(tmp_path):
    column = pd.Series(["a", None, "b"], dtype=object)
    assert written(tmp_path, x=column, y=[1, 2, 3]).split("\r\n")[1:-1] == ['"a",1', ",2", '"b",3']


@pytest.mark.parametrize(
    "values",
    [
        [[1], [2]],
        [{"a": 1}, {"b": 2}],
        ["a", 5],
        [b"a", b"b"],
        pd.to_timedelta([1, 2], unit="s"),
        pd.date_range("2024-01-01", periods=2, tz="UTC"),
        [1j, 2j],
    ],
)
def test_what_is_no_number_text_date_or_truth_is_refused_by_its_column(tmp_path, values):
    frame = pd.DataFrame({"odd": pd.Series(values)})
    for name in ("table.csv", "table.parquet", "table.sav", "table.dta"):
        with pytest.raises(UnsupportedColumn, match="Column odd"):
            write(frame, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_unsigned_numbers_beyond_int64_are_written_in_full(tmp_path):
    column = pd.Series([2**64 - 1, 1], dtype="uint64")
    assert written(tmp_path, x=column).split("\r\n")[1] == str(2**64 - 1)


def test_many_rows_are_written_once_each(tmp_path):
    rows = 300_000
    path = write(pd.DataFrame({"i": np.arange(rows)}), tmp_path / "table.csv")
    back = read(path, column_types={"i": ColumnType.INTEGER}).table.frame
    assert plain(back["i"]) == list(range(rows))


@pytest.mark.parametrize("size", [1, 7])
def test_how_many_rows_are_written_together_changes_no_byte(tmp_path, monkeypatch, size):
    columns = {
        "number": [1.5, None, float("inf"), -2.0] * 5,
        "text": ["a,b", None, "", "plain"] * 5,
        "day": pd.to_datetime(["2024-03-01", None, "2024-03-02", "2024-03-03"] * 5),
    }
    whole = written(tmp_path, **columns)
    monkeypatch.setattr(delimited_writing, "rows_together", lambda *_: size)
    assert written(tmp_path, **columns) == whole
    assert len(whole.split("\r\n")) == 22
