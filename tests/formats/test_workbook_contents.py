"""What a workbook hides, merges, or shows otherwise than it holds: read as seen, and told."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import openpyxl
import pandas as pd
import pytest
from openpyxl.worksheet.table import Table

from sfumato.engine.core.periods import Period
from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import BadHeader, EmptyFile
from sfumato.formats.options import (
    BadValues,
    ColumnType,
    ErrorCells,
    Hidden,
    MergedCellRule,
    ReadOptions,
    ShownDates,
)
from sfumato.formats.reading import detect_options, first_rows, read_file
from tests.formats.reading import plain
from tests.formats.workbooks import parts, save, sheet


def made(folder, rows, change=lambda sheet: None, formats=()):
    """Save a workbook of rows; formats are those of its columns below the header."""
    book = openpyxl.Workbook()
    made = book.active
    for row in rows:
        made.append(row)
    for column, code in enumerate(formats, start=1):
        for row in range(2, len(rows) + 1):
            if code:
                made.cell(row, column).number_format = code
    change(made)
    path = folder / "book.xlsx"
    book.save(path)
    return path


def read(path, **options):
    return read_file(path, replace(ReadOptions("xlsx"), **options), Silent())


def values(result, name="x"):
    return plain(result.table.frame[name])


def by_way(path, note, place=0):
    return read_file(path, note.ways[place].options, Silent())


PEOPLE = [["x", "consent"], *([i, "yes" if i % 2 else "no"] for i in range(1, 7))]


def hide_rows(sheet):
    for row in (3, 5, 7):
        sheet.row_dimensions[row].hidden = True


def fold_rows(sheet):
    for row in (3, 5, 7):
        sheet.row_dimensions.group(row, row, hidden=True)


@pytest.mark.parametrize("change", [hide_rows, fold_rows])
def test_hidden_rows_are_left_out_told_and_read_if_chosen(tmp_path, change):
    path = made(tmp_path, PEOPLE, change)
    result = read(path)
    assert values(result) == [1, 3, 5]
    assert result.skipped_rows == 3
    (note,) = result.notes
    assert note.caution
    assert (note.count, note.rows) == (3, (2, 4, 6))
    again = by_way(path, note)
    assert values(again) == [1, 2, 3, 4, 5, 6]
    assert "read all the same" in again.notes[0].text
    assert values(by_way(path, again.notes[0])) == [1, 3, 5]


def test_rows_and_columns_of_no_height_or_width_are_hidden(tmp_path):
    cells = '<c r="A{0}"><v>{0}</v></c><c r="B{0}"><v>1</v></c>'
    rows = '<row r="1"><c r="A1" t="str"><v>x</v></c><c r="B1" t="str"><v>y</v></c></row>'
    rows += f'<row r="2">{cells.format(2)}</row><row r="3" ht="0">{cells.format(3)}</row>'
    text = sheet(rows).replace(
        "<sheetData>", '<cols><col min="2" max="2" width="0"/></cols><sheetData>'
    )
    result = read(save(tmp_path / "book.xlsx", parts(text)))
    assert list(result.table.frame) == ["x"]
    assert values(result) == [2]
    assert [note.count for note in result.notes] == [1, 1]


def test_hidden_rows_are_counted_in_the_first_rows_however_few_are_shown(tmp_path):
    path = made(tmp_path, PEOPLE, hide_rows)
    shown = first_rows(path, ReadOptions("xlsx"), 1)
    assert values(shown) == [1]
    assert shown.notes[0].count == 3


def test_hidden_rows_without_a_value_are_not_counted(tmp_path):
    path = made(tmp_path, PEOPLE, lambda sheet: hide(sheet.row_dimensions[12]))
    assert not first_rows(path, ReadOptions("xlsx")).notes
    assert not read(path).notes


def test_a_sheet_that_hides_all_its_rows_says_so_and_offers_them(tmp_path):
    path = made(tmp_path, [["x"], [1]], lambda sheet: hide(sheet.row_dimensions[2]))
    with pytest.raises(EmptyFile, match="hides all its rows") as caught:
        read(path)
    assert values(read_file(path, caught.value.ways[0].options, Silent())) == [1]


def hide(dimension):
    dimension.hidden = True


def test_hidden_columns_are_left_out_told_and_read_if_chosen(tmp_path):
    path = made(tmp_path, PEOPLE, lambda sheet: hide(sheet.column_dimensions["B"]))
    result = read(path)
    assert list(result.table.frame) == ["x"]
    (note,) = result.notes
    assert note.caution
    assert (note.columns, note.count) == (("consent",), 1)
    assert list(by_way(path, note).table.frame) == ["x", "consent"]


def test_rows_after_hidden_ones_are_named_by_their_numbers_in_the_sheet(tmp_path):
    rows = [["x"], *([i] for i in range(30)), ["#N/A"]]
    path = made(tmp_path, rows, lambda sheet: hide(sheet.row_dimensions[2]))
    notes = read(path).notes
    assert [note.rows for note in notes] == [(1,), (31,)]


def test_a_value_of_merged_cells_stands_for_each_of_their_rows(tmp_path):
    rows = [["x", "person"]]
    rows += [[f"H{i // 3}" if i % 3 == 0 else None, i % 3] for i in range(9)]

    def merge(sheet):
        for first in (2, 5, 8):
            sheet.merge_cells(start_row=first, end_row=first + 2, start_column=1, end_column=1)

    path = made(tmp_path, rows, merge)
    result = read(path)
    assert values(result) == [f"H{i // 3}" for i in range(9)]
    (note,) = result.notes
    assert (note.count, note.rows) == (6, (2, 3, 5, 6, 8))
    first = by_way(path, note)
    assert values(first)[:4] == ["H0", None, None, "H1"]
    assert first.notes[0].caution
    assert values(by_way(path, first.notes[0])) == values(result)
    assert values(first_rows(path, ReadOptions("xlsx"), 2)) == ["H0", "H0"]


def test_a_merged_value_whose_own_row_is_hidden_still_stands_for_the_others(tmp_path):
    def change(sheet):
        sheet.merge_cells("A2:A3")
        hide(sheet.row_dimensions[2])

    path = made(tmp_path, [["x", "y"], ["H1", 1], [None, 2]], change)
    assert values(read(path)) == ["H1"]


def test_a_value_over_several_columns_stays_in_the_first_and_is_told(tmp_path):
    path = made(
        tmp_path,
        [["x", "y"], ["refused", None], ["a", "b"]],
        lambda sheet: sheet.merge_cells("A2:B2"),
    )
    result = read(path)
    assert values(result, "y") == [None, "b"]
    assert result.notes[0].rows == (1,)
    assert result.notes[0].caution


def test_titles_over_several_columns_are_no_header_and_the_names_below_them_are(tmp_path):
    rows = [["id", "income", None], [None, "2020", "2021"], [1, 10, 20], [2, 30, 40]]

    def merge(sheet):
        sheet.merge_cells("A1:A2")
        sheet.merge_cells("B1:C1")

    path = made(tmp_path, rows, merge)
    with pytest.raises(BadHeader, match="title over several columns, 2 to 3") as caught:
        read(path)
    result = read_file(path, caught.value.ways[0].options, Silent())
    assert list(result.table.frame) == ["id", "2020", "2021"]
    assert values(result, "2021") == [20, 40]
    assert detect_options(path).skip_lines == 1


def test_a_header_of_two_rows_is_told_by_the_cells_that_are_merged_in_it(tmp_path):
    rows = [["id", "height"], [None, "cm"], [1, 180], [2, 170]]
    path = made(tmp_path, rows, lambda sheet: sheet.merge_cells("A1:A2"))
    result = read(path)
    assert list(result.table.frame) == ["id", "height cm"]
    assert values(result, "height cm") == [180, 170]


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("00000", 1067, "01067"),
        ("00000000", 1004000, "01004000"),
        ("0000-000", 1234, "0001-234"),
        ("000\\-00\\-0000", 12345678, "012-34-5678"),
        ('"DE-"000', 7, "DE-007"),
        ("[<=99999]00000;00000\\-0000", 1067, "01067"),
        ("[<=99999]00000;00000\\-0000", 10671234, "01067-1234"),
    ],
)
def test_codes_are_read_as_they_are_shown(tmp_path, code, value, shown):
    path = made(tmp_path, [["x", "n"], [value, 1], [value, 2]], formats=[code])
    result = read(path)
    assert values(result) == [shown, shown]
    (note,) = result.notes
    assert (note.count, note.columns, note.rows) == (2, ("x",), (1, 2))
    numbers = by_way(path, note)
    assert values(numbers) == [value, value]
    assert values(by_way(path, numbers.notes[0])) == [shown, shown]


@pytest.mark.parametrize("code", ["0", "0.00", "#,##0", "0%", '0" kg"', "General", "0.0E+00"])
def test_numbers_that_are_shown_rounded_or_with_units_stay_what_they_are(tmp_path, code):
    result = read(made(tmp_path, [["x"], [1067.25], [2]], formats=[code]))
    assert (values(result), result.notes) == ([1067.25, 2.0], ())


def test_a_format_of_zeros_that_adds_none_leaves_numbers(tmp_path):
    result = read(made(tmp_path, [["x"], [10670], [20210]], formats=["00000"]))
    assert (values(result), result.notes) == ([10670, 20210], ())


DAYS = [dt.datetime(1968, 2, 17), dt.datetime(1971, 11, 3)]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("mmm yyyy", ["1968-02", "1971-11"]),
        ("[$-407]mmmm\\ yyyy;@", ["1968-02", "1971-11"]),
        ("mmm-yy", ["1968-02", "1971-11"]),
        ("yyyy", [1968, 1971]),
    ],
)
def test_dates_are_read_no_finer_than_they_are_shown(tmp_path, code, shown):
    path = made(tmp_path, [["x"], *([day] for day in DAYS)], formats=[code])
    result = read(path)
    assert values(result) == shown
    period = Period.MONTH if isinstance(shown[0], str) else Period.YEAR
    assert result.table.periods == {"x": period}
    (note,) = result.notes
    assert note.caution
    assert (note.count, note.rows) == (2, (1, 2))
    exact = by_way(path, note)
    assert values(exact) == [pd.Timestamp(day) for day in DAYS]
    assert values(by_way(path, exact.notes[0])) == shown


def test_days_that_hold_a_time_of_day_are_read_as_days(tmp_path):
    moments = [dt.datetime(2024, 2, 29, 10, 30), dt.datetime(2024, 3, 1)]
    path = made(tmp_path, [["x"], *([moment] for moment in moments)], formats=["dd/mm/yyyy"])
    result = read(path)
    assert values(result) == [pd.Timestamp("2024-02-29"), pd.Timestamp("2024-03-01")]
    assert (result.notes[0].count, result.notes[0].rows) == (1, (1,))
    assert values(read(path, shown_dates=ShownDates.EXACT))[0] == pd.Timestamp(moments[0])


@pytest.mark.parametrize(
    ("codes", "shown"),
    [
        (["yyyy-mm-dd hh:mm", "mmm yyyy"], ["1968-02-17", "1971-11"]),
        (["yyyy-mm-dd", "mmm yyyy"], ["1968-02-17", "1971-11"]),
        (["yyyy", "mmm yyyy"], ["1968", "1971-11"]),
        (["yyyy", "yyyy-mm-dd"], ["1968", "1971-11-03"]),
    ],
)
def test_no_date_of_a_column_is_read_finer_than_it_is_shown(tmp_path, codes, shown):
    def change(sheet):
        sheet["A2"].number_format, sheet["A3"].number_format = codes

    path = made(tmp_path, [["x"], [dt.date(1968, 2, 17)], [dt.date(1971, 11, 3)]], change)
    result = read(path)
    assert values(result) == shown
    assert not result.table.periods
    (note,) = result.notes
    assert note.caution
    assert "as months or years alone" in note.text
    assert note.count == sum(len(text) < 10 for text in shown)
    exact = by_way(path, note)
    assert values(exact) == [pd.Timestamp("1968-02-17"), pd.Timestamp("1971-11-03")]
    assert values(by_way(path, exact.notes[0])) == shown
    stated = read(path, column_types={"x": ColumnType.DATE})
    assert values(stated) == values(exact)
    assert "read exactly" in stated.notes[0].text
    assert values(by_way(path, stated.notes[0])) == shown


def test_days_among_moments_are_read_as_days(tmp_path):
    def change(sheet):
        sheet["A2"].number_format, sheet["A3"].number_format = "yyyy-mm-dd", "yyyy-mm-dd hh:mm"

    moments = [dt.datetime(1968, 2, 17, 10, 30), dt.datetime(1971, 11, 3, 11, 20)]
    path = made(tmp_path, [["x"], *([each] for each in moments)], change)
    result = read(path)
    assert values(result) == [pd.Timestamp("1968-02-17"), pd.Timestamp(moments[1])]
    (note,) = result.notes
    assert (note.count, note.rows) == (1, (1,))
    assert values(by_way(path, note)) == [pd.Timestamp(each) for each in moments]


def test_dates_without_their_year_are_told(tmp_path):
    (note,) = read(made(tmp_path, [["x"], [DAYS[0]]], formats=["d-mmm"])).notes
    assert note.caution
    assert "only a part of its dates" in note.text


@pytest.mark.parametrize(
    ("code", "numbers", "period"),
    [
        ("[h]:mm:ss", [172800, -5405], Period.SECONDS),
        ("[h]:mm:ss.0", [172800, -5405], Period.SECONDS),
        ("[h]:mm", [2880, -90], Period.MINUTES),
        ("[hh]", [48, -1], Period.HOURS),
        ("[mm]:ss", [172800, -5405], Period.SECONDS),
    ],
)
def test_durations_are_numbers_of_the_unit_that_is_shown(tmp_path, code, numbers, period):
    rows = [["x"], [2.0], [-dt.timedelta(minutes=90, seconds=5) / dt.timedelta(days=1)]]
    result = read(made(tmp_path, rows, formats=[code]))
    assert values(result) == numbers
    assert result.table.periods == {"x": period}
    (note,) = result.notes
    assert "read as numbers" in note.text
    assert values(by_way(tmp_path / "book.xlsx", note)) == ["48:00:00", "-1:30:05"]


def test_times_of_day_are_read_as_they_are_shown(tmp_path):
    result = read(made(tmp_path, [["t"], [1.5], [0.25]], formats=["h:mm"]))
    assert values(result, "t") == ["12:00:00", "06:00:00"]
    assert result.table.periods == {"t": Period.TIME}


@pytest.mark.parametrize("serial", [-5, 0, 60, 3_000_000, 1e300])
def test_a_date_that_no_calendar_has_is_missing_and_named(tmp_path, serial):
    rows = [["x"], [45000], [serial], [45001]]
    result = read(made(tmp_path, rows, formats=["yyyy-mm-dd"]))
    assert values(result) == [pd.Timestamp("2023-03-15"), None, pd.Timestamp("2023-03-16")]
    (note,) = result.notes
    assert note.caution
    assert (note.count, note.rows) == (1, (2,))


def test_errors_are_missing_counted_and_texts_if_chosen(tmp_path):
    path = made(tmp_path, [["x"], [1], ["#N/A"], [3], ["#REF!"]])
    result = read(path)
    assert values(result) == [1, None, 3, None]
    (note,) = result.notes
    assert note.caution
    assert (note.count, note.rows) == (2, (2, 4))
    texts = read(path, error_cells=ErrorCells.TEXT, column_types={"x": ColumnType.TEXT})
    assert values(texts) == ["1", "#N/A", "3", "#REF!"]


def test_cells_whose_format_shows_nothing_are_left_out_and_told(tmp_path):
    path = made(tmp_path, [["x", "y"], [12, "a"], [13, "b"]], formats=[";;;", ";;;"])
    result = read(path, column_types={})
    assert values(result) == [None, None]
    assert values(result, "y") == [None, None]
    assert [note.count for note in result.notes] == [2, 2]
    assert values(by_way(path, result.notes[0])) == [12, 13]
    assert values(read(path, hidden=Hidden.READ), "y") == ["a", "b"]


def test_zeros_that_a_format_hides_are_read(tmp_path):
    result = read(made(tmp_path, [["x"], [0], [5]], formats=["#,##0;-#,##0;;@"]))
    assert (values(result), result.notes) == ([0, 5], ())


def test_a_title_above_the_header_is_left_out_where_a_file_is_opened_and_told(tmp_path):
    rows = [["Survey 2024"], [], ["sex", "age"], ["m", 20], ["f", 21]]
    path = made(tmp_path, rows)
    options = detect_options(path)
    assert options.skip_lines == 1
    result = read_file(path, options, Silent())
    assert values(result, "age") == [20, 21]
    (note,) = result.notes
    assert note.count == 1
    assert note.ways[0].options.skip_lines == 0


def test_a_row_of_totals_of_a_table_is_told(tmp_path):
    def change(sheet):
        table = Table(displayName="People", ref="A1:B4", totalsRowCount=1)
        table._initialise_columns()
        for column, name in zip(table.tableColumns, ("x", "y"), strict=True):
            column.name = name
        sheet.add_table(table)

    path = made(tmp_path, [["x", "y"], [1, 2], [3, 4], [4, 6]], change)
    (note,) = read(path).notes
    assert note.caution
    assert "totals of a table" in note.text
    assert (note.count, note.rows) == (1, (3,))


@pytest.mark.parametrize("word", ["Total", "Summe", "Gesamt:"])
def test_a_last_row_that_begins_with_a_word_for_totals_is_told(tmp_path, word):
    path = made(tmp_path, [["x", "y"], ["a", 2], ["b", 4], [word, 6]])
    (note,) = read(path).notes
    assert note.caution
    assert "totals" in note.text


@pytest.mark.parametrize("kind", ["xlsx", "csv"])
def test_a_row_of_totals_that_is_left_out_for_its_values_is_not_told(tmp_path, kind):
    rows = [["number", "y"], *([number, "a"] for number in range(9)), ["Total", None]]
    path = made(tmp_path, rows)
    if kind == "csv":
        path = tmp_path / "made.csv"
        path.write_text("".join(f"{x},{y or ''}\n" for x, y in rows))
    options = replace(detect_options(path), column_types={"number": ColumnType.INTEGER})
    kept = read_file(path, options.with_bad_values("number", BadValues.MISSING), Silent())
    assert [note.caution for note in kept.notes if "totals" in note.text] == [True]
    left_out = read_file(path, options.with_bad_values("number", BadValues.SKIP), Silent())
    assert (kept.table.rows, left_out.table.rows) == (10, 9)
    assert not any("totals" in note.text for note in left_out.notes)


def test_a_first_row_of_values_names_no_columns_and_is_told(tmp_path):
    rows = [[1000 + i, "mf"[i % 2], dt.date(1960 + i, 2, 3)] for i in range(9)]
    mails = [[f"p{i}@example.org", "Nord"] for i in range(9)]
    for number, content in enumerate((rows, mails)):
        (tmp_path / str(number)).mkdir()
        path = made(tmp_path / str(number), content)
        options = detect_options(path)
        assert not options.header
        for result in (first_rows(path, options), read_file(path, options, Silent())):
            assert result.table.rows == 9
            assert list(result.table.frame)[:2] == ["column_1", "column_2"]
            (note,) = [note for note in result.notes if "have no names" in note.text]
            assert by_way(path, note).table.rows == 8
        assert detect_options(path, {"header": True}).header


def test_names_that_nothing_tells_from_the_rows_below_are_told(tmp_path):
    path = made(tmp_path, [["Nord", "Anna"], ["West", "Bert"], ["Ost", "Cleo"]])
    result = read_file(path, detect_options(path), Silent())
    (note,) = result.notes
    assert note.caution
    assert "nothing tells it" in note.text
    assert by_way(path, note).table.rows == 3


@pytest.mark.parametrize("value", ["h:mm", "[h]:mm", "0000", "mmm yyyy"])
def test_names_above_values_of_any_kind_are_names(tmp_path, value):
    path = made(tmp_path, [["x"], [0.25], [0.5], [12]], formats=[value])
    assert detect_options(path).header
    assert not any("nothing tells" in note.text for note in read(path).notes)


def test_a_number_that_stands_for_a_missing_value_can_be_stated(tmp_path):
    path = made(tmp_path, [["x"], [1], [-9], [3.5]])
    assert values(read(path, missing=("", "-9"))) == [1, None, 3.5]


def test_before_version_2_everything_is_read_as_it_was(tmp_path):
    rows = [["x", "y", "z"], [1067, dt.timedelta(days=2), 45000], [None, 1.5, -5]]

    def change(sheet):
        sheet.merge_cells("A2:A3")
        hide(sheet.row_dimensions[3])
        hide(sheet.column_dimensions["C"])

    path = made(tmp_path, rows, change, formats=["00000", "[h]:mm", "mmm yyyy"])
    result = read(path, version=1, merged=MergedCellRule.EVERY_ROW)
    assert values(result) == [1067, None]
    assert values(result, "y") == ["2 days, 0:00:00", "1 day, 12:00:00"]
    assert values(result, "z") == [pd.Timestamp("2023-03-15"), pd.Timestamp("1899-12-25")]
    assert result.notes == ()


ODD = [
    '<c r="A2" t="inlineStr"><is><t>a &amp; &#228; &lt;</t></is></c>',
    '<c r="A2" t="str"><f>"a"&amp;"b"</f><v>a &amp; &#xe4; &lt;</v></c>',
    '<c t="inlineStr" r="A2"><is><r><t>a &amp; </t></r><r><t>\u00e4 &lt;</t></r></is></c>',
    '<c r="A2" t="inlineStr"><is><t><![CDATA[a & \u00e4 <]]></t></is></c>',
    '<c r="A2" t="inlineStr"><!-- <c> --><is><t>a &amp; \u00e4 &lt;</t></is></c>',
    "<c r='A2' t='inlineStr'><is><t>a &amp; \u00e4 &lt;</t></is></c>",
    '<c r="A2" t="inlineStr"><is><t>a_x0020_&amp; \u00e4 &lt;</t></is></c>',
]


@pytest.mark.parametrize("cell", ODD)
@pytest.mark.parametrize("space", ["", "\r\n  "])
def test_a_cell_means_the_same_however_it_is_written(tmp_path, cell, space):
    head = '<row r="1"><c r="A1" t="inlineStr"><is><t>x</t></is></c></row>'
    text = sheet(f'{head}{space}<row r="2">{space}{cell}{space}</row>{space}')
    for name, content in (("utf-8", text.encode()), ("utf-16", text.encode("utf-16"))):
        made = {**parts(text), "xl/worksheets/sheet1.xml": content}
        assert values(read(save(tmp_path / f"{name}.xlsx", made))) == ["a & \u00e4 <"]


def test_a_workbook_may_stand_at_the_root_of_its_archive(tmp_path):
    whole = parts(
        sheet(
            '<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="2"><c r="A2"><v>3</v></c></row>'
        )
    )
    moved = {
        name.removeprefix("xl/"): content.replace(b"/xl/", b"/") for name, content in whole.items()
    }
    assert values(read(save(tmp_path / "book.xlsx", moved))) == [3]


def test_elements_may_have_a_prefix(tmp_path):
    text = (
        '<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        '<x:sheetData><x:row r="1"><x:c r="A1" t="str"><x:v>x</x:v></x:c></x:row>'
        '<x:row r="2" hidden="1"><x:c r="A2"><x:v>1</x:v></x:c></x:row>'
        '<x:row r="3"><x:c r="A3"><x:f>1+1</x:f></x:c></x:row>'
        '<x:row r="4"><x:c r="A4"><x:v>2</x:v></x:c></x:row></x:sheetData></x:worksheet>'
    )
    made = {**parts(""), "xl/worksheets/sheet1.xml": text.encode()}
    made["[Content_Types].xml"] = parts(sheet(""))["[Content_Types].xml"]
    made["xl/workbook.xml"] = parts(sheet(""))["xl/workbook.xml"]
    result = read(save(tmp_path / "book.xlsx", made))
    assert values(result) == [2]
    assert [note.count for note in result.notes] == [1, 1, 1]


def test_columns_without_a_name_are_told(tmp_path):
    path = tmp_path / "table.xlsx"
    book = openpyxl.Workbook()
    for row in (["sex", None, "age"], ["m", 5, 31, "stray"], ["f", 6, 44]):
        book.active.append(row)
    book.save(path)
    found = read(path)
    assert list(found.table.columns) == ["sex", "column_2", "age", "column_4"]
    [note] = found.notes
    assert note.text.startswith("2 columns have no name in the file")
    assert note.columns == ("column_2", "column_4")
