"""The types of columns are found out from all rows, and nothing is altered silently."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import BadOptions, BadValue
from sfumato.formats.options import BadValues, ColumnType, DateOrder
from sfumato.formats.reading import first_rows, read_file
from tests.formats.reading import frame_of, options_for, plain, read_text

INTEGER, NUMBER = ColumnType.INTEGER, ColumnType.NUMBER
FAR = 20_000
"""Rows that take many small blocks to read."""


@pytest.fixture(autouse=True, params=[1 << 10, 2 << 20], ids=["small blocks", "large blocks"])
def blocks(request, monkeypatch):
    """Read in blocks so small that a column is seen bit by bit, and in those as usual."""
    sizes = (request.param, 32 << 20)
    monkeypatch.setattr("sfumato.formats.tables.delimited.BLOCK_SIZES", sizes)


def column(folder, values, **options):
    return frame_of(folder, "\n".join(["x,y", *(f"{value},1" for value in values)]), **options)["x"]


def far_column(folder, first, then, **options):
    """A column whose first block looks otherwise than what comes much later."""
    return column(folder, [*[first] * FAR, *then], **options)


def kind(series):
    return "category" if isinstance(series.dtype, pd.CategoricalDtype) else str(series.dtype)


@pytest.mark.parametrize(
    ("values", "dtype", "read_as"),
    [
        (["1", "-2", "30"], "int64", [1, -2, 30]),
        (["1", "", "30"], "Int64", [1, None, 30]),
        (["1", "2.5", "30"], "float64", [1.0, 2.5, 30.0]),
        (["1.0", "", ".5"], "float64", [1.0, None, 0.5]),
        (["1e+05", "2E-3", "5."], "float64", [1e5, 2e-3, 5.0]),
        ([" 1", "2 ", "3"], "int64", [1, 2, 3]),
        (["+1", "-1", "0"], "int64", [1, -1, 0]),
        (["true", "false", "true"], "bool", [True, False, True]),
        (["TRUE", "", "FALSE"], "boolean", [True, None, False]),
        (["a", "b", "c"], "str", ["a", "b", "c"]),
        (["a", "b", "a", "b"], "category", ["a", "b", "a", "b"]),
        (["a", "", "a", "a"], "category", ["a", None, "a", "a"]),
        (["", "", ""], "str", [None, None, None]),
        ([" a", "a ", "a"], "str", [" a", "a ", "a"]),
        (["  ", " ", "   "], "str", ["  ", " ", "   "]),
        (["  ", "1", " "], "Int64", [None, 1, None]),
    ],
)
def test_a_column_gets_the_type_of_its_values(tmp_path, values, dtype, read_as):
    series = column(tmp_path, values)
    assert kind(series) == dtype
    assert plain(series) == read_as


@pytest.mark.parametrize(
    "values",
    [
        ["007", "010", "011"],
        ["01234", "99999", "10115"],
        ["1", "2", "03"],
        ["-01", "1", "2"],
        ["00.5", "1.5", "2"],
        ["+4930123456", "+4930123457", "+4930123458"],
        ["2E10", "3E11", "12"],
        ["0x1F", "0x2A", "12"],
        ["99999999999999999999", "1", "2"],
        ["9223372036854775808", "1", "2"],
        ["12345678901234567", "1.5", "2"],
        ["nan", "1", "2"],
        ["inf", "1", "2"],
        ["1e999", "1", "2"],
        ["1_000", "2", "3"],
        ["1,5".replace(",", "\u066b"), "2", "3"],
        ["2024-02-30", "2024-02-28", "2024-02-27"],
        ["2024-01-01T10:00:00Z", "2024-01-01T10:00:00+02:00", "2024-01-01"],
        ["yes", "no", "1"],
    ],
)
def test_what_a_number_would_alter_stays_text(tmp_path, values):
    assert plain(column(tmp_path, values)) == values


def test_the_largest_whole_numbers_are_kept_exactly(tmp_path):
    values = [2**63 - 1, -(2**63), 2**53 + 1]
    assert plain(column(tmp_path, map(str, values))) == values


def test_decimals_come_back_to_the_last_bit(tmp_path):
    values = [0.1, 1 / 3, 1e-310, 1.7976931348623157e308, 0.0, 5e-324]
    found = column(tmp_path, [f"{v!r}" for v in values], column_types={"x": NUMBER})
    assert [v.hex() for v in found] == [v.hex() for v in values]


@pytest.mark.parametrize(
    ("values", "read_as"),
    [
        (["2024-02-29", "1850-01-01", ""], ["2024-02-29", "1850-01-01", "NaT"]),
        (["2024-02-29 10:30", "2024-02-29T10:30:05"], ["2024-02-29T10:30", "2024-02-29T10:30:05"]),
        (["2024-02-29 10:30:05.25"], ["2024-02-29T10:30:05.25"]),
        (["0001-01-01", "9999-12-31"], ["0001-01-01", "9999-12-31"]),
    ],
)
def test_iso_dates_are_dates(tmp_path, values, read_as):
    series = column(tmp_path, values)
    assert str(series.dtype) == "datetime64[us]"
    assert (series.to_numpy() == np.array(read_as, dtype="datetime64[us]"))[series.notna()].all()


def test_nanoseconds_are_kept(tmp_path):
    series = column(tmp_path, ["2024-02-29 10:30:05.123456789", "2024-02-29"])
    assert series[0] == pd.Timestamp("2024-02-29 10:30:05.123456789")


@pytest.mark.parametrize(
    ("order", "values"),
    [
        (DateOrder.DAY_FIRST, ["31.12.2024", "1.2.2024", "3/4/2024"]),
        (DateOrder.MONTH_FIRST, ["12/31/2024", "2-1-2024", "4.3.2024"]),
        (DateOrder.DAY_FIRST, ["31.12.2024 00:00", "2024-02-01", "03.04.2024"]),
    ],
)
def test_dates_in_other_orders_are_read_as_chosen(tmp_path, order, values):
    series = column(tmp_path, values, date_order=order)
    assert [str(day.date()) for day in series] == ["2024-12-31", "2024-02-01", "2024-04-03"]


def test_a_day_that_no_calendar_has_is_no_date_in_any_order(tmp_path):
    values = ["31.02.2024", "01.02.2024"]
    assert plain(column(tmp_path, values, date_order=DateOrder.DAY_FIRST)) == values


@pytest.mark.parametrize(
    ("marks", "values", "read_as"),
    [
        ({"decimal": ","}, ['"1,5"', '"2,25"', "3"], [1.5, 2.25, 3.0]),
        ({"thousands": ","}, ['"1,234"', '"12,345,678"', "3"], [1234, 12345678, 3]),
        ({"decimal": ",", "thousands": "."}, ['"1.234,5"', "12.345", "3"], [1234.5, 12345, 3]),
        ({"thousands": "'"}, ["1'234.5", "12'345", "3"], [1234.5, 12345, 3]),
        ({"thousands": "\u202f"}, ["1\u202f234", "12\u202f345", "3"], [1234, 12345, 3]),
    ],
)
def test_decimal_and_thousands_marks_are_read_as_chosen(tmp_path, marks, values, read_as):
    assert plain(column(tmp_path, values, **marks)) == read_as


@pytest.mark.parametrize(
    ("marks", "values"),
    [
        ({"decimal": ","}, ['"1,5"', "2.25", "3"]),
        ({"thousands": ","}, ['"1,23"', '"12,345,678"', "3"]),
        ({"thousands": "'"}, ["1'2345", "1", "3"]),
        ({"thousands": "'"}, ["'123", "1", "3"]),
    ],
)
def test_marks_in_wrong_places_make_no_number(tmp_path, marks, values):
    assert plain(column(tmp_path, values, **marks)) == [value.strip('"') for value in values]


def test_whole_numbers_become_decimals_when_one_comes_late(tmp_path):
    series = far_column(tmp_path, "7", ["2.5", "3"])
    assert str(series.dtype) == "float64"
    assert (series[0], series.iloc[-2]) == (7.0, 2.5)


def test_a_code_that_comes_late_makes_the_whole_column_text(tmp_path):
    series = far_column(tmp_path, "7", ["007"])
    assert (series[0], series.iloc[-1]) == ("7", "007")


def test_a_whole_number_too_large_for_decimals_that_come_late_makes_the_column_text(tmp_path):
    series = far_column(tmp_path, str(2**53 + 1), ["2.5"])
    assert (series[0], series.iloc[-1]) == (str(2**53 + 1), "2.5")


def test_texts_that_come_late_and_often_make_the_whole_column_text(tmp_path):
    result = read_text(tmp_path, "x,y\n" + "1.50,a\n" * FAR + "left,a\n" * FAR)
    series = result.table.frame["x"]
    assert (series.iloc[0], series.iloc[-1]) == ("1.50", "left")
    assert "Column x is read as text" in result.notes[0].text
    assert "first in row 20,001" in result.notes[0].text


def test_a_column_that_begins_empty_gets_the_type_of_what_comes(tmp_path):
    series = far_column(tmp_path, "", ["5", "6"])
    assert kind(series) == "Int64"
    assert plain(series.iloc[-2:]) == [5, 6]
    texts = far_column(tmp_path, "", ["five", "five"])
    assert plain(texts.iloc[-2:]) == ["five", "five"]


def test_missing_values_that_come_late_are_missing(tmp_path):
    series = far_column(tmp_path, "7", ["", "8"])
    assert kind(series) == "Int64"
    assert plain(series.iloc[-3:]) == [7, None, 8]


def test_rare_mistakes_are_those_of_few_rows(tmp_path):
    values = ["?" if row % 25 == 3 else str(row % 7) for row in range(FAR)]
    found = column(tmp_path, values, bad_values=BadValues.MISSING)
    assert (kind(found), found.isna().sum()) == ("Int64", FAR // 25)


def test_texts_met_before_texts_met_later_and_missing_ones_are_kept(tmp_path):
    values = ["b", "", "a"] * FAR + ["c"] + ["", "a", "c"] * FAR
    found = column(tmp_path, values)
    assert list(found.cat.categories) == ["a", "b", "c"]
    assert found.astype(object).where(found.notna(), "").tolist() == values


def test_texts_that_stop_repeating_are_kept_as_texts(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.formats.tables.delimited.BLOCK_SIZES", (1 << 17,))
    values = [f"p{i}" for i in range(120_000)]
    series = column(tmp_path, values)
    assert kind(series) == "str"
    assert plain(series) == values


def test_many_categories_keep_their_texts(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.formats.tables.delimited.BLOCK_SIZES", (1 << 17,))
    values = [f"c{i % 40_000}" for i in range(120_000)]
    series = column(tmp_path, values)
    assert kind(series) == "category"
    assert plain(series) == values
    assert series.cat.categories.is_monotonic_increasing


def test_other_texts_for_missing_values_can_be_chosen(tmp_path):
    text = 'x,y\n1,"NA"\nNA,b\n-9,\n4,b\n'
    frame = frame_of(tmp_path, text, missing=("NA", "-9"))
    assert plain(frame["x"]) == [1, None, None, 4]
    assert plain(frame["y"]) == [None, "b", "", "b"]


def test_an_empty_text_in_quotes_can_be_kept_apart_from_a_missing_value(tmp_path):
    text = 'x,y\n"",1\n,2\na,"3"\n'
    assert plain(frame_of(tmp_path, text)["x"]) == [None, None, "a"]
    kept = frame_of(tmp_path, text, quoted_empty_is_text=True)
    assert plain(kept["x"]) == ["", None, "a"]


def test_a_type_that_is_fixed_is_used(tmp_path):
    types = {"a": ColumnType.TEXT, "b": INTEGER, "c": NUMBER, "d": ColumnType.BOOLEAN}
    frame = frame_of(tmp_path, "a,b,c,d\n1,007,1,1\n2,+8,inf,0\n", column_types=types)
    assert plain(frame["a"]) == ["1", "2"]
    assert plain(frame["b"]) == [7, 8]
    assert plain(frame["c"]) == [1.0, np.inf]
    assert plain(frame["d"]) == [True, False]


def test_a_type_fixed_for_a_column_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BadOptions, match="column ward is fixed") as caught:
        frame_of(tmp_path, "a\n1\n", column_types={"ward": INTEGER})
    assert caught.value.ways[0].options.column_types == {}


LATE = "x,y\n" + "".join(f"{i},a\n" for i in range(1203)) + "forty,a\n" + "5,b\n" * 50


def test_a_text_among_numbers_is_refused_with_its_row_and_column_and_not_shown(tmp_path):
    with pytest.raises(BadValue) as caught:
        read_text(tmp_path, LATE)
    error = caught.value
    assert error.what == "Row 1,204, column x: the value is not a whole number."
    assert "missing, skip the row, or read the column as text" in error.remedy
    assert (error.row, error.column, error.count) == (1204, "x", 1)
    assert "forty" not in str(error) + repr(error) + repr(error.details) + repr(error.__context__)


def test_each_of_the_three_ways_out_works(tmp_path):
    with pytest.raises(BadValue) as caught:
        read_text(tmp_path, LATE)
    missing, skipped, text = (
        read_file(tmp_path / "table.csv", way.options, Silent()) for way in caught.value.ways
    )
    assert [len(r.table.frame) for r in (missing, skipped, text)] == [1254, 1253, 1254]
    assert [r.skipped_rows for r in (missing, skipped, text)] == [0, 1, 0]
    assert plain(missing.table.frame["x"])[1202:1205] == [1202, None, 5]
    assert "missing (1)" in missing.notes[0].text
    assert plain(skipped.table.frame["x"])[1202:1204] == [1202, 5]
    assert plain(text.table.frame["x"])[1202:1205] == ["1202", "forty", "5"]


def test_a_bad_value_among_fixed_numbers_is_refused_however_many_there_are(tmp_path):
    with pytest.raises(BadValue, match=r"Row 2, column x: .* not a whole number. 2 rows are so"):
        column(tmp_path, ["1", "2.5", "x"], column_types={"x": INTEGER})


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (INTEGER, "99999999999999999999", "a whole number"),
        (NUMBER, "1.2.3", "a number"),
        (ColumnType.BOOLEAN, "perhaps", "true or false"),
        (ColumnType.DATE, "2026-02-31", "a date"),
        (ColumnType.DATE, "yesterday", "a date"),
    ],
)
def test_the_message_says_what_was_expected(tmp_path, kind, value, expected):
    good = {ColumnType.BOOLEAN: "true", ColumnType.DATE: "2026-01-01"}.get(kind, "1")
    with pytest.raises(BadValue, match=f"Row 2, column x: the value is not {expected}"):
        column(tmp_path, [good, value, good], column_types={"x": kind})


def test_bad_values_of_fixed_columns_can_be_read_as_missing_or_skipped(tmp_path):
    text = "x,y\n1,2024-01-01\nb,2024-13-01\n3,2024-01-03\n"
    types = {"x": INTEGER, "y": ColumnType.DATE}
    options = {"column_types": types, "bad_values": BadValues.MISSING}
    assert plain(frame_of(tmp_path, text, **options)["x"]) == [1, None, 3]
    options["column_bad_values"] = {"y": BadValues.SKIP}
    result = read_text(tmp_path, text, **options)
    assert (plain(result.table.frame["x"]), result.skipped_rows) == ([1, 3], 1)


def test_a_column_of_numbers_with_many_texts_is_read_as_text_and_says_so(tmp_path):
    values = [*map(str, range(80)), *["NA"] * 20]
    result = read_text(tmp_path, "x,y\n" + "".join(f"{v},1\n" for v in values))
    assert plain(result.table.frame["x"]) == values
    assert "add it to the texts for missing values" in result.notes[0].text


CENTURY, MONTH = "years of two digits", "written as words"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["01.03.60", "", "31.12.99"], CENTURY),
        (["3/1/60", "12/31/99"], CENTURY),
        (["60-03-01", "99-12-31"], CENTURY),
        (["1-Jan-2024", "31-Dez-2024"], MONTH),
        (["1. März 2024", "2. Mai 2024"], MONTH),
        (["2024-01-01T10:00:00Z", "2024-01-01 10:00+02:00"], "moments with a time zone"),
    ],
)
def test_dates_that_are_kept_as_texts_are_told(tmp_path, values, why):
    found = read_text(tmp_path, "x,y\n" + "".join(f"{value},1\n" for value in values))
    assert plain(found.table.frame["x"]) == [value or None for value in values]
    [note] = found.notes
    assert why in note.text
    assert note.columns == ("x",)
    path = tmp_path / "table.csv"
    assert [each.text for each in first_rows(path, options_for(path)).notes] == [note.text]


@pytest.mark.parametrize("values", [["12-34-56"], ["1.2.3", "60.70.80"], ["A 1 2024 B", "x"]])
def test_texts_that_are_no_dates_are_not_taken_for_some(tmp_path, values):
    assert not read_text(tmp_path, "x,y\n" + "".join(f"{each},1\n" for each in values)).notes


def test_moments_with_a_time_zone_are_read_as_shown_where_that_is_chosen(tmp_path):
    text = "x,y\n2024-01-01T10:00:00Z,1\n2024-07-01 10:00:00.5+02:00,1\n"
    [note] = read_text(tmp_path, text).notes
    found = read_file(tmp_path / "table.csv", note.ways[0].options, Silent())
    assert found.table.frame["x"].astype(str).tolist() == [
        "2024-01-01 10:00:00.000",
        "2024-07-01 10:00:00.500",
    ]
    assert [(each.count, each.columns) for each in found.notes] == [(2, ("x",))]
    with pytest.raises(BadValue, match="Row 1"):
        read_text(tmp_path, text, column_types={"x": ColumnType.DATE}, version=1)


def test_columns_without_a_name_are_told_of_first_rows_too(tmp_path):
    found = read_text(tmp_path, "x,\n1,2\n")
    path = tmp_path / "table.csv"
    assert first_rows(path, options_for(path)).notes == found.notes
    assert [note.columns for note in found.notes] == [("column_2",)]
