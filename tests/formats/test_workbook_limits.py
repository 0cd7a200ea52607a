"""Workbooks that hold less, or far more, than they seem to: told soon, and never a fault."""

from __future__ import annotations

import tracemalloc

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import DamagedFile, EmptyFile, FileError, TooLarge
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import detect_options, preview, read_file, sheets_of
from sfumato.formats.workbooks import archives, gathering, sheet_text
from tests.formats.hostile_zips import DAMAGED
from tests.formats.reading import plain
from tests.formats.workbooks import HEADER, parts, save, save_repeating, sheet

ROW = '<row r="2"><c r="A2"><v>1</v></c></row>'
TELLTALE = "xanthic"


def read(path, **options):
    return read_file(path, ReadOptions(format="xlsx", **options), Silent())


def test_a_workbook_made_by_hand_is_read(tmp_path):
    path = save(tmp_path / "book.xlsx", parts(sheet(HEADER + ROW)))
    assert plain(read(path).table.frame["a"]) == [1]


@pytest.mark.few(12)
@pytest.mark.parametrize("part", parts(sheet("")))
@pytest.mark.parametrize("content", [None, b"", b"<", b"\xff\xfe\x00", b"<a/>", b"<a>" * 50_000])
def test_a_workbook_that_lacks_a_part_or_has_a_broken_one_is_told(tmp_path, part, content):
    made = parts(sheet(HEADER + ROW.replace("<v>1", f"<v>{TELLTALE}")))
    if content is None:
        del made[part]
    else:
        made[part] = content
    path = save(tmp_path / "book.xlsx", made)
    for act in (sheets_of, detect_options, lambda path: preview(path, ReadOptions("xlsx")), read):
        try:
            act(path)
        except FileError as error:
            said = f"{error}"
        else:
            said = ""
        assert TELLTALE not in said


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_workbook_whose_zip_is_damaged_is_told_or_read(tmp_path, damage):
    path = tmp_path / "book.xlsx"
    path.write_bytes(DAMAGED[damage](parts(sheet(HEADER + ROW))))
    try:
        frame = read(path).table.frame
    except FileError as error:
        said = str(error)
    else:
        said = ""
        assert plain(frame["a"]) == [1]
    assert TELLTALE not in said


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize(
    "row",
    [
        '<row r="99999999"><c><v>1</v></c></row>',
        '<row r="1e300"><c><v>1</v></c></row>',
        '<row r="nan"><c><v>1</v></c></row>',
        '<row r="-3"><c><v>1</v></c></row>',
        '<row r="2"><c r="ZZZ2"><v>1</v></c></row>',
        '<row r="2"><c r="2"><v>1</v></c></row>',
        '<row r="2"><c r="A2" t="s"><v>9</v></c></row>',
        '<row r="2"><c r="A2" t="d"><v>yesterday</v></c></row>',
        '<row r="2"><c r="A2" s="x"><v>1</v></c></row>',
        f'<row r="2"><c r="A2"><v>{"9" * 5_000}</v></c></row>',
        ROW + ROW,
        '<row r="2">' + "<c/>" * 300_000 + "</row>",
    ],
)
def test_a_row_that_no_sheet_has_is_told(tmp_path, row):
    path = save(tmp_path / "book.xlsx", parts(sheet(HEADER + row)))
    with pytest.raises(DamagedFile, match="not a whole Excel workbook"):
        read(path)


def test_the_first_sheet_that_is_shown_is_proposed(tmp_path):
    made = parts(
        sheet(HEADER.replace(">a<", ">hidden<") + ROW),
        sheet(HEADER.replace(">a<", ">secret<") + ROW),
        sheet(HEADER + ROW),
        states=("hidden", "veryHidden"),
    )
    path = save(tmp_path / "book.xlsx", made)
    assert detect_options(path).sheet == "Sheet 3"
    assert list(read(path).table.frame) == ["a"]
    assert sheets_of(path) == ("Sheet 1", "Sheet 2", "Sheet 3")
    assert list(read(path, sheet="Sheet 2").table.frame) == ["secret"]
    assert "The first sheet of the workbook, Sheet 1, is hidden" in read(path).notes[0].text
    assert "The sheet Sheet 2 is hidden" in read(path, sheet="Sheet 2").notes[0].text


TWO_NAMES = HEADER.replace("</row>", '<c r="B1" t="inlineStr"><is><t>b</t></is></c></row>')


def formula(row, cached=""):
    return f'<row r="{row}"><c r="A{row}"><f>1+1</f>{cached}</c><c r="B{row}"><v>5</v></c></row>'


def test_formulas_without_their_values_are_told_by_column(tmp_path):
    rows = formula(2, "<v>2</v>") + formula(3) + formula(4)
    result = read(save(tmp_path / "book.xlsx", parts(sheet(TWO_NAMES + rows))))
    assert plain(result.table.frame["a"]) == [2, None, None]
    (note,) = result.notes
    assert "Column a holds formulas without their values in 2 rows" in note.text
    assert "save it" in note.text
    assert note.caution


def test_a_formula_whose_value_is_an_empty_text_is_no_surprise(tmp_path):
    empty = formula(3, "<v></v>").replace('r="A3"', 'r="A3" t="str"')
    path = save(tmp_path / "book.xlsx", parts(sheet(TWO_NAMES + formula(2, "<v>2</v>") + empty)))
    assert not read(path).notes


def test_a_sheet_of_formulas_without_values_says_so(tmp_path):
    row = '<row r="2"><c r="A2"><f>1+1</f></c></row>'
    path = save(tmp_path / "book.xlsx", parts(sheet(HEADER + row)))
    with pytest.raises(EmptyFile, match="formulas, but none of their values"):
        read(path)


@pytest.mark.slow
def test_a_text_without_an_end_is_refused_before_it_is_held(tmp_path):
    made = parts(sheet(HEADER + ROW), strings="<si><t>@</t></si>")
    path = save_repeating(
        tmp_path / "book.xlsx", made, "xl/sharedStrings.xml", b"x" * (1 << 20), 200
    )
    assert path.stat().st_size < 2_000_000
    tracemalloc.start()
    try:
        with pytest.raises(DamagedFile, match="longer than any cell's"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    with pytest.raises(DamagedFile, match="longer than any cell's"):
        read(path, any_size=True)


def test_a_sheet_that_unpacks_to_far_more_than_usual_is_refused_and_read_if_asked(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(archives, "USUAL", 1 << 18)
    made = parts(sheet(HEADER + ROW + "@"))
    path = save_repeating(
        tmp_path / "book.xlsx", made, "xl/worksheets/sheet1.xml", b"<row/>" * 1000, 100
    )
    assert detect_options(path).sheet == "Sheet 1"
    with pytest.raises(TooLarge, match=r"would unpack to 600,\d+ bytes, far more") as caught:
        read(path)
    (way,) = caught.value.ways
    assert plain(read_file(path, way.options, Silent()).table.frame["a"]) == [1]


def test_a_part_that_is_no_sheet_is_never_unpacked_far(tmp_path):
    made = parts(sheet(HEADER + ROW))
    made["xl/workbook.xml"] += b"@"
    path = save_repeating(tmp_path / "book.xlsx", made, "xl/workbook.xml", b" " * (1 << 20), 65)
    with pytest.raises(TooLarge):
        sheets_of(path)


def test_rows_of_nothing_at_the_end_are_left_out_and_beyond_the_last_are_refused(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sheet_text, "MOST_ROWS", 20_000)
    made = parts(sheet(HEADER + ROW + "@"))
    part = "xl/worksheets/sheet1.xml"
    path = save_repeating(tmp_path / "book.xlsx", made, part, b"<row/>" * 1000, 19)
    result = read(path)
    assert (result.table.rows, result.notes) == (1, ())
    path = save_repeating(tmp_path / "book.xlsx", made, part, b"<row/>" * 1000, 20)
    with pytest.raises(DamagedFile):
        read(path)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_sheet_of_too_many_cells_is_refused_and_read_if_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(gathering, "MOST_CELLS", 1_000)
    far = '<row r="3"><c r="XFD3"><v>7</v></c></row>'
    path = save(tmp_path / "book.xlsx", parts(sheet(HEADER + ROW + far)))
    with pytest.raises(TooLarge, match="more than 1,000 cells: up to row 3") as caught:
        read(path)
    frame = read_file(path, caught.value.ways[0].options, Silent()).table.frame
    assert frame.shape == (2, 2)
    assert plain(frame["column_16384"]) == [None, 7]
