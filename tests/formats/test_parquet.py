from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats import table_format
from sfumato.formats.columns.arrays import NativeColumn
from sfumato.formats.errors import (
    BadHeader,
    BadOptions,
    BadValue,
    EmptyFile,
    TooLarge,
    UnsupportedColumn,
    WrongEncoding,
)
from sfumato.formats.options import BadValues, ColumnType, ReadOptions
from sfumato.formats.reading import open_batches, read_file
from sfumato.formats.tables import parquet
from tests.formats.reading import options_for, plain, read, write


def arrow_file(folder, **columns):
    path = folder / "table.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("values", "dtype", "read_as"),
    [
        (pa.array([1, 2], pa.int8()), "int64", [1, 2]),
        (pa.array([1, None], pa.uint16()), "Int64", [1, None]),
        (pa.array([2**64 - 1, 1], pa.uint64()), "uint64", [2**64 - 1, 1]),
        (pa.array([0.5, None], pa.float32()), "float64", [0.5, None]),
        (pa.array([True, None]), "boolean", [True, None]),
        (pa.array(["a", "b"], pa.large_string()), "str", ["a", "b"]),
        (pa.array(["a", "a"]).dictionary_encode(), "category", ["a", "a"]),
        (pa.array([None, None], pa.null()), "str", [None, None]),
        (pa.array([dt.time(10, 30)]), "str", ["10:30:00.000000"]),
        (
            pa.array([decimal.Decimal("1.25"), None], pa.decimal128(9, 2)),
            "float64",
            [1.25, None],
        ),
        (
            pa.array([decimal.Decimal("1234567890123456789.25")], pa.decimal128(30, 2)),
            "str",
            ["1234567890123456789.25"],
        ),
        (
            pa.array([dt.date(2024, 2, 29), None]),
            "datetime64[us]",
            [pd.Timestamp("2024-02-29"), None],
        ),
        (
            pa.array([np.datetime64("2024-02-29T10:30:00.000000001")]),
            "datetime64[ns]",
            [pd.Timestamp("2024-02-29T10:30:00.000000001")],
        ),
    ],
)
def test_every_type_is_read_exactly(tmp_path, values, dtype, read_as):
    series = read(arrow_file(tmp_path, x=values)).table.frame["x"]
    found = "category" if isinstance(series.dtype, pd.CategoricalDtype) else str(series.dtype)
    assert found == dtype
    assert plain(series) == read_as


def test_moments_with_a_time_zone_are_kept_as_texts(tmp_path):
    values = pa.array([dt.datetime(2024, 1, 1, 10)], pa.timestamp("s", "Europe/Berlin"))
    path = arrow_file(tmp_path, x=values)
    found = read(path)
    assert plain(found.table.frame["x"]) == ["2024-01-01 11:00:00.000+0100"]
    [note] = found.notes
    assert note.text == "Column x holds moments with a time zone, and is read as text."
    assert open_batches(path, options_for(path), Silent()).notes == found.notes
    [way] = note.ways
    shown = read_file(path, way.options, Silent())
    assert plain(shown.table.frame["x"]) == [pd.Timestamp("2024-01-01 11:00")]
    [left] = shown.notes
    assert left.text == "Column x: 1 moment is read without its time zone."
    assert not read(path, version=1).notes


@pytest.mark.parametrize("values", [[[1], [2]], [{"a": 1}, {"a": 2}], [b"a", b"b"]])
def test_lists_records_and_bytes_are_refused_by_their_column(tmp_path, values):
    with pytest.raises(UnsupportedColumn, match="Column odd holds values of the type"):
        read(arrow_file(tmp_path, fine=[1, 2], odd=values))


def test_two_columns_of_one_name_are_told(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), path)
    with pytest.raises(BadHeader, match="Columns 1 and 2 are both called a"):
        read(path)


def test_a_file_without_records_is_told(tmp_path):
    with pytest.raises(EmptyFile, match="has no records"):
        read(arrow_file(tmp_path, x=pa.array([], pa.int64())))


LISTS = {
    "the same": ([["low", "mid", "high"]] * 2, ["low", "mid", "high"]),
    "a part of the other": ([["low", "high"], ["low", "mid", "high"]], ["low", "mid", "high"]),
    "others": ([["low", "mid"], ["mid", "high"]], None),
    "another order": ([["low", "mid", "high"], ["high", "low"]], None),
}


@pytest.mark.parametrize("case", LISTS)
def test_categories_are_in_an_order_that_all_lists_of_them_agree_on_and_none_is_lost(
    tmp_path, case
):
    lists, order = LISTS[case]
    path = tmp_path / "table.parquet"
    columns = [pa.DictionaryArray.from_arrays([0, 1], each, ordered=True) for each in lists]
    with pq.ParquetWriter(path, pa.schema([("x", columns[0].type)])) as file:
        for column in columns:
            file.write_table(pa.table({"x": column}))
    options = ReadOptions(format="parquet")
    result = read_file(path, options, Silent())
    found = result.table.frame["x"]
    assert found.tolist() == [text for each in lists for text in each[:2]]
    ordered = isinstance(found.dtype, pd.CategoricalDtype) and found.cat.ordered
    assert (found.cat.categories.tolist() if ordered else None) == order
    batches = open_batches(path, options, Silent())
    assert dict(batches.orders) == ({} if order is None else {"x": tuple(order)})
    assert batches.notes == result.notes
    assert [note.columns for note in result.notes] == ([] if order else [("x",)])
    rows = [each for part in batches.parts(2) for each in part.read(["x"])]
    assert pa.Table.from_batches(rows)["x"].to_pylist() == found.tolist()
    assert len(batches.parts(2)) == 2


def test_ordered_categories_keep_their_order_and_those_without_a_row(tmp_path):
    ordered = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    column = pd.Series(["high", None, "low"], dtype=ordered)
    path = write(pd.DataFrame({"bin": column}), tmp_path / "table.parquet")
    pd.testing.assert_series_equal(read(path).table.frame["bin"], column, check_names=False)


def test_categories_that_no_row_has_are_not_written(tmp_path):
    frame = pd.DataFrame({"ward": pd.Categorical(["A", "B"], ["A", "B", "Quicksilver"])})
    path = write(frame, tmp_path / "table.parquet")
    assert b"Quicksilver" not in path.read_bytes()


def test_how_texts_are_held_does_not_show(tmp_path):
    """A reader decides it by the first rows of a file, whose order is not to be told."""
    texts = pd.Series(["b", "a", None, "b"], dtype="str")
    held = [
        texts,
        texts.astype("category"),
        pd.Series(pd.Categorical(texts, categories=["b", "zz", "a"])),
    ]
    written = {
        write(pd.DataFrame({"t": series}), tmp_path / f"{place}.parquet").read_bytes()
        for place, series in enumerate(held)
    }
    assert len(written) == 1


def test_labels_are_kept(tmp_path):
    frame = pd.DataFrame({"sex": [1, 2], "ward": ["A", "B"]})
    table = Table(frame, {"sex": {1: "männlich", 2: "weiblich"}}, {"ward": "Station"})
    back = read(write(table, tmp_path / "table.parquet")).table
    assert back.value_labels == table.value_labels
    assert back.column_labels == table.column_labels


@pytest.mark.parametrize("labels", [b"{", b"[]", b'{"value_labels": 5}', b'{"column_labels": []}'])
def test_labels_that_make_no_sense_are_passed_over(tmp_path, labels):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata({b"sfumato": labels}), path)
    assert read(path).table.value_labels == {}


def test_pandas_reads_the_types_that_were_written(tmp_path):
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None], dtype="Int64"),
            "b": pd.array([True, None], dtype="boolean"),
            "c": pd.Categorical(["x", "y"], ordered=True),
            "d": pd.Series(pd.array(["2024-01-01", None], dtype="datetime64[us]")),
            "s": pd.Series(["007", None], dtype="str"),
        }
    )
    found = pd.read_parquet(write(frame, tmp_path / "t.parquet"))
    # pandas has no type of days without a time, so it gives a date field back as dates.
    assert plain(found["d"]) == [dt.date(2024, 1, 1), None]
    found["d"] = pd.to_datetime(found["d"]).astype("datetime64[us]")
    pd.testing.assert_frame_equal(found, frame)


def test_days_are_written_as_dates_and_moments_as_moments(tmp_path):
    days = pd.Series(pd.array(["2024-01-01", None], dtype="datetime64[us]"))
    moments = pd.Series(pd.array(["2024-01-01T10:00", "2024-01-02"], dtype="datetime64[us]"))
    frame = pd.DataFrame({"d": days, "m": moments, "c": days.astype("category")})
    path = write(frame, tmp_path / "t.parquet")
    assert [str(kind) for kind in pq.read_schema(path).types] == [
        *("date32[day]", "timestamp[us]", "date32[day]")
    ]
    found = read(path).table.frame
    pd.testing.assert_frame_equal(found, frame.assign(c=days))


@pytest.mark.parametrize("kind", ["plain", "dictionary"])
def test_texts_that_are_no_utf8_are_told_by_their_column(tmp_path, kind):
    values = pa.array([b"ab", b"\xff\xfe"], pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 2, values.buffers())
    if kind == "dictionary":
        broken = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), broken)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"city": broken}), path, store_schema=True)
    with pytest.raises(WrongEncoding, match="Column city holds texts that are not in UTF-8"):
        read(path)


def test_a_file_that_states_too_many_cells_is_refused_and_read_if_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(table_format, "MOST_CELLS", 1_000)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.nulls(1_001, pa.int64())}), path)
    with pytest.raises(TooLarge, match="states 1,001 rows of 1 column") as caught:
        read(path)
    assert read_file(path, caught.value.ways[0].options, Silent()).table.rows == 1_001


def test_a_fixed_type_is_used(tmp_path):
    path = arrow_file(tmp_path, code=[7, 8, None], text=["1", "2", "3"], day=["2024-01-01"] * 3)
    types = {"code": ColumnType.TEXT, "text": ColumnType.INTEGER, "day": ColumnType.DATE}
    frame = read(path, column_types=types).table.frame
    assert plain(frame["code"]) == ["7", "8", None]
    assert plain(frame["text"]) == [1, 2, 3]
    assert str(frame["day"].dtype) == "datetime64[us]"


def test_a_value_that_does_not_have_the_fixed_type_is_told_or_let_go_of(tmp_path):
    path = arrow_file(tmp_path, x=["1", "Quicksilver", "3"], y=[1, 2, 3])
    types = {"x": ColumnType.INTEGER}
    with pytest.raises(BadValue, match="Row 2, column x"):
        read(path, column_types=types)
    skipped = read(path, column_types=types, bad_values=BadValues.SKIP)
    assert (plain(skipped.table.frame["y"]), skipped.skipped_rows) == ([1, 3], 1)
    missing = read(path, column_types=types, bad_values=BadValues.MISSING)
    assert plain(missing.table.frame["x"]) == [1, None, 3]
    text = read(path, column_types=types, bad_values=BadValues.TEXT)
    assert plain(text.table.frame["x"]) == ["1", "Quicksilver", "3"]


def test_a_type_fixed_for_a_column_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BadOptions, match="column ward is fixed"):
        read(arrow_file(tmp_path, x=[1]), column_types={"ward": ColumnType.TEXT})


@pytest.mark.parametrize(
    ("values", "kind", "read_as"),
    [
        ([1.0, 2.5, None], ColumnType.TEXT, ["1", "2.5", None]),
        ([1.0, 2.0, None], ColumnType.INTEGER, [1, 2, None]),
        ([True, False, None], ColumnType.TEXT, ["true", "false", None]),
        ([0, 1, None], ColumnType.BOOLEAN, [False, True, None]),
        ([dt.date(2024, 1, 2), None], ColumnType.TEXT, ["2024-01-02", None]),
        ([dt.datetime(2024, 1, 2, 3, 4, 5), None], ColumnType.TEXT, ["2024-01-02T03:04:05", None]),
    ],
)
def test_values_become_other_types_without_loss(tmp_path, values, kind, read_as):
    path = arrow_file(tmp_path, x=values)
    assert plain(read(path, column_types={"x": kind}).table.frame["x"]) == read_as


@pytest.mark.parametrize("rows", [100, parquet._LONG])
def test_texts_that_repeat_are_read_in_parts_as_the_dictionary_of_a_long_row_group(tmp_path, rows):
    texts = [None, "a", "b", "b"] * (rows // 4)
    path = arrow_file(tmp_path, few=texts, many=[str(i**3) for i in range(rows)])
    batches = parquet.FORMAT.batches(path, ReadOptions(format="parquet"), Silent())
    [found] = batches.read(("few", "many"))
    assert pa.types.is_dictionary(found["few"].type) == (rows == parquet._LONG)
    assert found["few"].to_pylist() == texts
    assert pa.types.is_string(found["many"].type)


@pytest.mark.slow
def test_texts_that_repeat_are_read_the_same_by_their_dictionary_as_one_by_one(
    tmp_path, monkeypatch
):
    texts = [None, "b", "a", "b"] * (parquet._LONG // 4)
    path = arrow_file(tmp_path, few=texts, number=list(range(len(texts))))
    by_dictionary = read(path).table.frame
    monkeypatch.setattr(parquet, "_repeating", lambda part: [])
    pd.testing.assert_frame_equal(by_dictionary, read(path).table.frame)
    assert plain(by_dictionary["few"]) == texts


def test_entries_that_repeat_in_a_dictionary_of_texts_are_one_category():
    column = NativeColumn("x", pa.dictionary(pa.int32(), pa.string()), 60)
    codes = pa.array([0, 1, 2, None] * 15, pa.int32())
    column.add(pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "a"])))
    assert pd.Series(column.finish()).value_counts().to_dict() == {"a": 30, "b": 15}


def test_rows_that_point_beyond_a_dictionary_of_texts_are_refused():
    column = NativeColumn("x", pa.dictionary(pa.int32(), pa.string()), 60)
    codes = pa.array([0, 9] * 30, pa.int32())
    beyond = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]), safe=False)
    with pytest.raises(pa.ArrowInvalid):
        column.add(beyond)


def test_bytes_that_are_no_texts_are_refused_where_they_are_read_as_a_dictionary(tmp_path):
    broken = pa.array([b"\xff", b"a"] * parquet._LONG).view(pa.string())
    path = arrow_file(tmp_path, few=broken)
    batches = parquet.FORMAT.batches(path, ReadOptions(format="parquet"), Silent())
    with pytest.raises(WrongEncoding, match="few"):
        list(batches.read(("few",)))
    with pytest.raises(WrongEncoding, match="few"):
        read(path)


def test_whole_decimals_that_a_number_would_alter_stay_texts(tmp_path):
    values = pa.array([decimal.Decimal(9007199254740993), None], pa.decimal128(16, 0))
    found = read(arrow_file(tmp_path, x=values))
    assert plain(found.table.frame["x"]) == ["9007199254740993", None]
    assert "a number would alter the value in row 1" in found.notes[0].text
