"""Texts that are no tables, or not quite: each has its message, and the row and column."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import (
    BadHeader,
    CannotOpen,
    DamagedFile,
    EmptyFile,
    OpenQuote,
    RaggedRow,
)
from sfumato.formats.options import BadValues, RaggedRows, ReadOptions
from sfumato.formats.reading import detect_options, preview, read_file, read_table
from tests.formats.reading import frame_of, plain, read_text

SECRET = "Quicksilver"
SKIP = RaggedRows.SKIP


def expect_refusal(folder, error, text, **options):
    with pytest.raises(error) as caught:
        read_text(folder, text, **options)
    shown = [str(caught.value), repr(caught.value), repr(caught.value.details)]
    assert SECRET not in "".join([*shown, repr(caught.value.__context__)])
    return caught.value


HEADER = ",".join(f"c{i}" for i in range(1, 9))
ROW = ",".join("12345678")


def test_a_row_with_too_many_fields_is_named(tmp_path):
    rows = [ROW] * 1203 + [f"{ROW},{SECRET}"] + [ROW] * 5
    error = expect_refusal(tmp_path, RaggedRow, "\n".join([HEADER, *rows]))
    assert error.what == (
        "Row 1,204 has 9 fields where the header has 8: field 9 belongs to no column."
    )
    assert error.row == 1204


def test_a_row_with_too_few_fields_is_named_with_the_column_that_lacks(tmp_path):
    error = expect_refusal(tmp_path, RaggedRow, f"{HEADER}\n{ROW}\n1,{SECRET},3\n{ROW}\n")
    assert error.what == (
        "Row 2 has 3 fields where the header has 8: column c4 and those after it have none."
    )


def test_without_a_header_the_first_row_says_how_many_fields_there_are(tmp_path):
    error = expect_refusal(tmp_path, RaggedRow, f"{ROW}\n{SECRET}\n", header=False)
    assert error.what.startswith("Row 2 has 1 field where the first row has 8: column column_2")


def test_ragged_rows_are_skipped_and_counted_when_chosen(tmp_path):
    text = f"a,b\n1,2\n3\n4,5,{SECRET}\n\n6,7\n"
    error = expect_refusal(tmp_path, RaggedRow, text)
    result = read_file(tmp_path / "table.csv", error.ways[0].options, Silent())
    assert plain(result.table.frame["a"]) == [1, 6]
    assert result.skipped_rows == 2


def test_rows_are_numbered_as_in_the_file_also_after_skipped_ones(tmp_path):
    rows = [*["1,2"] * 50, "3", *["1,2"] * 50, "1,2,3", *["1,2"] * 50, "old,2", *["1,2"] * 9]
    with pytest.raises(Exception, match="Row 153, column a") as caught:
        read_text(tmp_path, "a,b\n" + "\n".join(rows), ragged_rows=SKIP)
    assert caught.value.row == 153


def test_rows_are_numbered_across_blocks_blank_lines_and_line_breaks_within_fields(tmp_path):
    rows = '1,"a\nb"\n\n' * 300_000 + f"2,{SECRET},3\n"
    assert expect_refusal(tmp_path, RaggedRow, "x,y\n" + rows).row == 300_001


@pytest.mark.parametrize("ragged", list(RaggedRows))
@pytest.mark.parametrize(
    "text",
    [
        f'a,b\n1,2\n3,"{SECRET}\n' + "4,5\n" * 10,
        f'a,b\n1,2\n"{SECRET},4\n' + "4,5\n" * 10,
        f'a,b\n1,2\n3,"{SECRET}',
        f'a,b,c\n1,2,3\n3,"{SECRET}\n4,5,6\n7,8,9',
    ],
)
def test_a_quotation_mark_that_does_not_close_is_told_and_its_row(tmp_path, text, ragged):
    error = expect_refusal(tmp_path, OpenQuote, text, ragged_rows=ragged)
    assert "opens in row 2 does not close" in error.what
    assert error.ways[0].options.quote == ""


def test_a_quotation_mark_open_over_much_text_is_told(tmp_path):
    text = f'a,b\n1,2\n3,"{SECRET}\n' + "4,5\n" * 900_000
    assert "quotation mark" in expect_refusal(tmp_path, OpenQuote, text).what


def test_a_quotation_mark_open_in_the_header_is_told(tmp_path):
    error = expect_refusal(tmp_path, OpenQuote, f'a,"b\n1,{SECRET}\n')
    assert "first record" in error.what


def test_a_field_that_ends_in_a_line_break_is_no_open_quote(tmp_path):
    assert plain(frame_of(tmp_path, 'a,b\n1,"x\n"\n')["b"]) == ["x\n"]


def test_quotation_marks_within_fields_are_kept(tmp_path):
    text = 'size,b"c\n5" pipe,"he said ""no"""\n6",""""\n'
    frame = frame_of(tmp_path, text)
    assert list(frame.columns) == ["size", 'b"c']
    assert [plain(frame[name]) for name in frame] == [['5" pipe', '6"'], ['he said "no"', '"']]


def test_a_file_can_be_read_without_quotation_marks(tmp_path):
    frame = frame_of(tmp_path, 'a\tb\n"x\t1\ny"\t2\n', delimiter="\t", quote="")
    assert plain(frame["a"]) == ['"x', 'y"']


def test_an_escape_character_can_be_chosen(tmp_path):
    frame = frame_of(tmp_path, 'a,b\nx\\,y,"1\\"2"\n', escape="\\")
    assert (plain(frame["a"]), plain(frame["b"])) == (["x,y"], ['1"2'])


def test_delimiters_and_line_breaks_within_quotes_are_kept(tmp_path):
    frame = frame_of(tmp_path, 'a,"b\nc"\r\n"1,2\r\n3","x\ny"\r\n"4",z\r\n')
    assert list(frame.columns) == ["a", "b\nc"]
    assert (plain(frame["a"]), plain(frame["b\nc"])) == (["1,2\r\n3", "4"], ["x\ny", "z"])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "end"])
def test_every_line_break_ends_a_record(tmp_path, end, last):
    text = end.join(["a,b", "1,x", "2,y"]) + (end if last else "")
    assert plain(frame_of(tmp_path, text)["b"]) == ["x", "y"]


@pytest.mark.parametrize("text", ["", "\n", "\n\n\n", "\r\n", "\ufeff"])
def test_an_empty_file_is_told(tmp_path, text):
    assert "is empty" in expect_refusal(tmp_path, EmptyFile, text).what
    with pytest.raises(EmptyFile, match="is empty"):
        preview(tmp_path / "table.csv", detect_options(tmp_path / "table.csv"))


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "a,b\n\n\n"])
def test_a_header_without_rows_is_told(tmp_path, text):
    assert "a header and no rows" in expect_refusal(tmp_path, EmptyFile, text).what
    with pytest.raises(EmptyFile, match="a header and no rows"):
        preview(tmp_path / "table.csv", ReadOptions())


@pytest.mark.parametrize("show", [partial(read_table, context=Silent()), preview])
def test_rows_without_any_value_are_told_from_a_header_alone_and_can_be_kept(tmp_path, show):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n,\n,\n")
    with pytest.raises(EmptyFile, match=r"No row of .* has a value") as caught:
        show(path, ReadOptions())
    [way] = caught.value.ways
    assert preview(path, way.options).rows == 2


def test_a_file_of_which_every_row_is_skipped_is_told(tmp_path):
    expect_refusal(tmp_path, EmptyFile, "a,b\n1\n2\n", ragged_rows=SKIP)


def test_two_columns_of_one_name_are_told_with_their_positions(tmp_path):
    error = expect_refusal(tmp_path, BadHeader, "id,age,sex,age\n1,2,3,4\n")
    assert error.what == "Columns 2 and 4 are both called age."


def test_a_column_without_a_name_is_called_by_its_position(tmp_path):
    assert list(frame_of(tmp_path, ",age,\n1,2,3\n").columns) == ["column_1", "age", "column_3"]


def test_without_a_header_columns_are_called_by_their_positions(tmp_path):
    frame = frame_of(tmp_path, "1,2\n3,4\n", header=False)
    assert list(frame.columns) == ["column_1", "column_2"]
    assert plain(frame["column_1"]) == [1, 3]


def test_lines_above_the_header_can_be_left_out(tmp_path):
    text = "Clinic, 2024\nall wards\n\na,b\n1,2\n"
    assert list(frame_of(tmp_path, text, skip_lines=2).columns) == ["a", "b"]


def test_a_nul_character_is_told_with_its_line(tmp_path):
    text = "a,b\n" + "1,2\n" * 400_000 + f"1,\0{SECRET}\n"
    assert (
        "Line 400,002 of table.csv holds a NUL" in expect_refusal(tmp_path, DamagedFile, text).what
    )


def test_nul_characters_in_every_line_are_told_too(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("d,x\n" + f"1,\0{SECRET[:1]}\n" * 10)
    with pytest.raises(DamagedFile, match=r"Line 2 of table\.csv holds a NUL"):
        detect_options(path)


def test_a_very_long_field_is_read(tmp_path):
    long = "x" * 5_000_000
    frame = frame_of(tmp_path, f'a,b\n1,"{long}\n{long}"\n2,y\n')
    assert plain(frame["b"]) == [f"{long}\n{long}", "y"]


def test_a_field_too_long_to_be_one_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.formats.tables.delimited.BLOCK_SIZES", (1000, 2000))
    error = expect_refusal(tmp_path, OpenQuote, f'a,b\n1,"{SECRET * 1000}"\n')
    assert "has a record longer than" in error.what


def test_a_column_alone_keeps_its_missing_values(tmp_path):
    assert plain(frame_of(tmp_path, "a\n1\n\n3\n")["a"]) == [1, None, 3]
    assert plain(frame_of(tmp_path, 'a\n1\n""\n3\n')["a"]) == [1, None, 3]


def test_blank_lines_between_records_of_several_columns_are_no_records(tmp_path):
    assert plain(frame_of(tmp_path, "a,b\n\n1,2\n\n\n3,4\n\n")["a"]) == [1, 3]


def test_a_file_that_is_not_there_is_told(tmp_path):
    for look in (detect_options, lambda p: read_table(p, ReadOptions(), Silent())):
        with pytest.raises(CannotOpen, match="There is no file"):
            look(tmp_path / "nowhere.csv")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(CannotOpen, match="is a folder"):
        detect_options(tmp_path)
    with pytest.raises(CannotOpen, match="is a folder"):
        read_table(tmp_path, ReadOptions(), Silent())


def test_a_remark_on_bad_values_names_them_and_offers_a_choice(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "".join(f"{'x' if i in (3, 7) else i * 10}\n" for i in range(300)))
    options = replace(detect_options(path), bad_values=BadValues.MISSING)
    (note,) = read_file(path, options, Silent()).notes
    assert (note.columns, note.count, note.rows) == (("a",), 2, (4, 8))
    assert pd.api.types.is_string_dtype(
        read_file(path, note.ways[0].options, Silent()).table.frame["a"]
    )


def test_a_column_given_up_late_offers_its_values_as_missing(tmp_path):
    path = tmp_path / "t.csv"
    rows = 100_000
    path.write_text("a\n" + "".join(f"{i if i < rows * 0.7 else 'x'}\n" for i in range(rows)))
    found = read_file(path, detect_options(path), Silent())
    noted = [note for note in found.notes if note.columns == ("a",)]
    assert noted
    for way in [way for note in noted for way in note.ways]:
        frame = read_file(path, way.options, Silent()).table.frame
        assert pd.api.types.is_numeric_dtype(frame["a"])
        assert frame["a"].isna().any()
