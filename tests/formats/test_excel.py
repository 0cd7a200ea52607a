from __future__ import annotations

import datetime as dt

import openpyxl
import pandas as pd
import pytest

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import BadHeader, BadOptions, BadValue, EmptyFile
from sfumato.formats.options import BadValues, ColumnType
from sfumato.formats.reading import preview, read_file, sheets_of
from tests.formats.reading import Watch, options_for, plain, read, reports_of


def workbook(folder, *sheets):
    """Write a workbook of sheets, each a list of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, start=1):
        sheet = book.create_sheet(f"Sheet {number}")
        for row in rows:
            sheet.append(row)
    path = folder / "book.xlsx"
    book.save(path)
    return path


def column(folder, values, **options):
    path = workbook(folder, [["x", "y"], *([value, 1] for value in values)])
    return read(path, **options).table.frame["x"]


@pytest.mark.parametrize(
    ("values", "dtype", "read_as"),
    [
        ([1, 2, 3], "int64", [1, 2, 3]),
        ([1, None, 3], "Int64", [1, None, 3]),
        ([1, 2.5, None], "float64", [1.0, 2.5, None]),
        ([True, False, None], "boolean", [True, False, None]),
        (["a", "b", "c"], "str", ["a", "b", "c"]),
        (["007", "10", None], "str", ["007", "10", None]),
        (["12", "13", "14"], "str", ["12", "13", "14"]),
        ([1, 2, "A3"], "str", ["1", "2", "A3"]),
        ([0.1, 1e-300, 1e20], "float64", [0.1, 1e-300, 1e20]),
        (
            [dt.date(2024, 2, 29), None],
            "datetime64[us]",
            [pd.Timestamp("2024-02-29"), None],
        ),
        (
            [dt.datetime(2024, 2, 29, 10, 30), dt.datetime(2024, 3, 1)],
            "datetime64[us]",
            [pd.Timestamp("2024-02-29 10:30"), pd.Timestamp("2024-03-01")],
        ),
        ([dt.time(10, 30), dt.time(11)], "str", ["10:30:00", "11:00:00"]),
    ],
)
def test_cells_keep_the_types_they_have(tmp_path, values, dtype, read_as):
    series = column(tmp_path, values)
    assert str(series.dtype) == dtype
    assert plain(series) == read_as


def test_texts_that_repeat_become_categories(tmp_path):
    assert isinstance(column(tmp_path, ["a", "b"] * 3).dtype, pd.CategoricalDtype)


def test_a_text_among_numbers_is_refused_by_its_row_and_column(tmp_path):
    values = [*range(40), "Quicksilver", 41]
    with pytest.raises(BadValue, match="Row 41, column x") as caught:
        column(tmp_path, values)
    assert "Quicksilver" not in str(caught.value) + repr(caught.value.details)
    result = read_file(tmp_path / "book.xlsx", caught.value.ways[1].options, Silent())
    assert (len(result.table.frame), result.skipped_rows) == (41, 1)
    text = read_file(tmp_path / "book.xlsx", caught.value.ways[2].options, Silent())
    assert plain(text.table.frame["x"])[39:41] == ["39", "Quicksilver"]


def test_texts_for_missing_values_can_be_chosen(tmp_path):
    values = [1, "n/a", 3]
    assert plain(column(tmp_path, values, missing=("n/a",))) == [1, None, 3]


def test_a_fixed_type_is_used(tmp_path):
    values = ["1", 2, "03"]
    assert plain(column(tmp_path, values, column_types={"x": ColumnType.INTEGER})) == [1, 2, 3]
    assert plain(column(tmp_path, [1, 2.5], column_types={"x": ColumnType.TEXT})) == ["1", "2.5"]


def test_a_type_fixed_for_a_column_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BadOptions, match="column ward is fixed"):
        column(tmp_path, [1], column_types={"ward": ColumnType.TEXT})


def test_the_sheet_is_the_first_or_the_one_chosen(tmp_path):
    path = workbook(tmp_path, [["a"], [1]], [["b"], [2]])
    assert sheets_of(path) == ("Sheet 1", "Sheet 2")
    assert options_for(path).sheet == "Sheet 1"
    assert list(read(path, sheet="").table.frame) == ["a"]
    assert list(read(path, sheet="Sheet 2").table.frame) == ["b"]
    with pytest.raises(BadOptions, match=r"no sheet called Sheet 3. Choose one of: Sheet 1, Sheet"):
        read(path, sheet="Sheet 3")


def test_rows_above_the_header_can_be_left_out(tmp_path):
    path = workbook(tmp_path, [["Clinic"], [None], ["a", "b"], [1, 2]])
    assert list(read(path, skip_lines=1).table.frame) == ["a", "b"]


def test_without_a_header_columns_are_called_by_their_positions(tmp_path):
    frame = read(workbook(tmp_path, [[1, 2], [3, 4]]), header=False).table.frame
    assert (list(frame), plain(frame["column_2"])) == (["column_1", "column_2"], [2, 4])


def test_blank_rows_and_columns_are_left_out_and_told(tmp_path):
    rows = [["a", None, "b", None], [1, None, 2, 9], [None] * 4, ["", None, None], [3, None, 4]]
    result = read(path := workbook(tmp_path, [*rows, [None] * 4]))
    assert list(result.table.frame) == ["a", "b", "column_4"]
    assert plain(result.table.frame["a"]) == [1, 3]
    note, unnamed = sorted(result.notes, key=lambda each: "name" in each.text)
    assert unnamed.columns == ("column_4",)
    assert note.text == "2 rows without any value are left out."
    assert (note.count, note.rows) == (2, (2, 3))
    kept = read_file(path, note.ways[0].options, Silent())
    assert plain(kept.table.frame["a"]) == [1, None, None, 3]
    assert kept.notes == (unnamed,)


def test_rows_are_numbered_with_the_blank_ones(tmp_path):
    rows = [["a", "b"], *([i, 1] for i in range(30)), [None, None], ["x", 1]]
    with pytest.raises(BadValue, match="Row 32, column a"):
        read(workbook(tmp_path, rows))


def test_a_column_that_begins_late_is_read(tmp_path):
    rows = [["a"], *([i] for i in range(3000)), [3000, "late"]]
    frame = read(workbook(tmp_path, rows)).table.frame
    assert list(frame) == ["a", "column_2"]
    assert plain(frame["column_2"])[-2:] == [None, "late"]


def test_two_columns_of_one_name_are_told(tmp_path):
    with pytest.raises(BadHeader, match="Columns 1 and 2 are both called a"):
        read(workbook(tmp_path, [["a", "a"], [1, 2]]))


@pytest.mark.parametrize("rows", [[], [["a", "b"]], [["a", "b"], [None, None]]])
def test_a_sheet_without_rows_is_told(tmp_path, rows):
    with pytest.raises(EmptyFile, match="has no rows"):
        read(workbook(tmp_path, rows))


def test_a_sheet_of_which_every_row_is_skipped_is_told(tmp_path):
    with pytest.raises(EmptyFile, match="No row of"):
        column(
            tmp_path,
            ["a", "b"],
            column_types={"x": ColumnType.INTEGER},
            bad_values=BadValues.SKIP,
        )


def test_a_preview_shows_the_first_rows(tmp_path):
    path = workbook(tmp_path, [["a"], *([i] for i in range(50)), ["x"]])
    assert plain(preview(path, options_for(path), 5).frame["a"]) == list(range(5))
    assert plain(preview(path, options_for(path), 90).frame["a"])[-1] == "x"


def test_reading_reports_and_can_be_stopped(tmp_path):
    path = workbook(tmp_path, [["a"], *([i] for i in range(9000))])
    options = options_for(path)
    fractions = reports_of(lambda watch: read_file(path, options, watch))
    assert fractions == sorted(fractions)
    assert len(fractions) > 4
    with pytest.raises(Cancelled):
        read_file(path, options, Watch(stop_at=3))
