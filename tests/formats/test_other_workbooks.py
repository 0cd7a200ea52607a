"""Workbooks of old Excel and of LibreOffice: read with the same remarks, or refused by name."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace

import pandas as pd
import pytest
import xlwt

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import DamagedFile, FileError, UnknownFormat
from sfumato.formats.reading import detect_options, first_rows, read_file, sheets_of
from tests.formats.reading import plain
from tests.formats.workbooks import save

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def read(path, **options):
    return read_file(path, replace(detect_options(path), **options), Silent())


def columns(result):
    frame = result.table.frame
    return {name: plain(frame[name]) for name in frame}


def old_workbook(path):
    """Save what `AS_SHOWN` shows, as Excel of 2003 does."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("people")
    styles = {
        name: xlwt.easyxf(num_format_str=code)
        for name, code in (
            *(("code", "00000"), ("month", "mmm yyyy"), ("span", "[h]:mm:ss")),
            *(("day", "yyyy-mm-dd"), ("usual", "General")),
        )
    }
    heads = ["home", "code", "month", "span", "day", "secret", "n"]
    for place, name in enumerate(heads):
        sheet.write(0, place, name)
    sheet.write_merge(1, 2, 0, 0, "H1")
    sheet.write_merge(3, 4, 0, 0, "H2")
    for row in range(1, 5):
        sheet.write(row, 1, 1066 + row, styles["code"])
        sheet.write(row, 2, dt.date(1968, 2, 16 + row), styles["month"])
        sheet.write(row, 3, 2.0, styles["span"])
        sheet.write(row, 4, 60 if row == 2 else dt.date(2024, 3, row), styles["day"])
        sheet.write(row, 5, "x")
        sheet.write(row, 6, row)
    sheet.row(4).hidden = True
    sheet.col(5).hidden = True
    hidden = book.add_sheet("hidden")
    hidden.visibility = 1
    hidden.write(0, 0, "a")
    book.save(str(path))
    return path


def ods(rows, columns="", styles="", name="people"):
    """Return the parts of a spreadsheet."""
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
        for short, long in (
            *(("office", "office"), ("table", "table"), ("text", "text"), ("style", "style")),
            ("number", "datastyle"),
        )
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces}'
        ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">'
        f"<office:automatic-styles>{styles}</office:automatic-styles><office:body>"
        f'<office:spreadsheet><table:table table:name="{name}">{columns}{rows}</table:table>'
        '<table:table table:name="hidden" table:style-name="gone"/>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    return {
        "mimetype": b"application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": b"<manifest/>",
        "content.xml": content.encode(),
    }


STYLES = """
<number:date-style style:name="N1"><number:month/><number:year/></number:date-style>
<number:time-style style:name="N2" number:truncate-on-overflow="false">
<number:hours/><number:minutes/><number:seconds/>
</number:time-style>
<number:date-style style:name="N3"><number:year/><number:month/><number:day/></number:date-style>
<style:style style:name="month" style:family="table-cell" style:data-style-name="N1"/>
<style:style style:name="span" style:family="table-cell" style:data-style-name="N2"/>
<style:style style:name="day" style:family="table-cell" style:data-style-name="N3"/>
<style:style style:name="gone" style:family="table">
<style:table-properties table:display="false"/></style:style>
"""


def cell(kind, value, text, more="", times=1):
    name = {"string": "string-value", "float": "value"}.get(kind, f"{kind}-value")
    return (
        f'<table:table-cell office:value-type="{kind}" office:{name}="{value}" {more}'
        f' table:number-columns-repeated="{times}"><text:p>{text}</text:p></table:table-cell>'
    )


def open_document(path):
    """Save what `AS_SHOWN` shows, as LibreOffice does."""
    heads = ["home", "code", "month", "span", "day", "secret", "n"]
    rows = "<table:table-row>" + "".join(cell("string", h, h) for h in heads) + "</table:table-row>"
    for row in range(1, 5):
        home = (
            cell("string", f"H{(row + 1) // 2}", "", 'table:number-rows-spanned="2"')
            if row % 2
            else "<table:covered-table-cell/>"
        )
        day = "10000-01-01" if row == 2 else f"2024-03-0{row}"
        gone = ' table:visibility="filter"' if row == 4 else ""
        rows += (
            f"<table:table-row{gone}>{home}{cell('float', 1066 + row, f'0{1066 + row}')}"
            + cell("date", f"1968-02-{16 + row}", "Feb 68", 'table:style-name="month"')
            + cell("time", "PT48H00M00S", "48:00:00", 'table:style-name="span"')
            + cell("date", day, day, 'table:style-name="day"')
            + cell("string", "x", "x")
            + cell("float", row, str(row))
            + '<table:table-cell table:number-columns-repeated="16377"/></table:table-row>'
        )
    nothing = '<table:table-row table:number-rows-repeated="1048571">'
    rows += f"{nothing}<table:table-cell/></table:table-row>"
    shown = '<table:table-column table:number-columns-repeated="5"/>'
    shown += '<table:table-column table:visibility="collapse"/><table:table-column/>'
    return save(path, ods(rows, shown, STYLES))


KINDS = {"xls": old_workbook, "ods": open_document}
AS_SHOWN = {
    "home": ["H1", "H1", "H2"],
    "code": ["01067", "01068", "01069"],
    "month": ["1968-02"] * 3,
    "span": [172800] * 3,
    "day": [pd.Timestamp("2024-03-01"), None, pd.Timestamp("2024-03-03")],
    "n": [1, 2, 3],
}


def test_formulas_of_an_old_workbook_that_nobody_computed_are_told(tmp_path):
    book = xlwt.Workbook()
    sheet = book.add_sheet("people")
    for place, name in enumerate(("age", "twice", "if")):
        sheet.write(0, place, name)
    for row in range(1, 4):
        sheet.write(row, 0, 20 + row)
        sheet.write(row, 1, xlwt.Formula(f"A{row + 1}*2"))
        sheet.write(row, 2, "x" if row == 1 else xlwt.Formula('IF(A1=0,"x","")'))
    path = tmp_path / "t.xls"
    book.save(path)
    result = read(path)
    assert plain(result.table.frame["twice"]) == [None] * 3
    [note] = [note for note in result.notes if "formulas" in note.text]
    assert note.text.startswith("Column twice holds formulas without their values in 3 rows")
    assert (note.caution, note.count) == (True, 3)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["", ".xlsx", ".csv"])
def test_it_is_known_by_its_contents_and_read_as_shown(tmp_path, kind, ending):
    path = KINDS[kind](tmp_path / f"book{ending or '.' + kind}")
    options = detect_options(path)
    assert (options.format, options.sheet) == (kind, "people")
    assert sheets_of(path) == ("people", "hidden")
    result = read_file(path, options, Silent())
    assert columns(result) == AS_SHOWN
    told = {(note.columns, note.count, note.rows) for note in result.notes}
    assert told == {
        *{((), 1, (4,)), ((), 1, (2,)), (("secret",), 1, ()), (("span",), 1, ())},
        *{(("code",), 3, (1, 2, 3)), (("month",), 3, (1, 2, 3)), (("day",), 1, (2,))},
    }
    assert columns(first_rows(path, options, 2))["n"] == [1, 2]
    hidden = next(note for note in result.notes if note.columns == ("secret",))
    everything = read_file(path, hidden.ways[0].options, Silent())
    assert columns(everything)["secret"] == ["x"] * 4


def test_a_hidden_sheet_is_told_where_it_is_chosen(tmp_path):
    rows = f"<table:table-row>{cell('string', 'a', 'a')}</table:table-row>"
    rows += f"<table:table-row>{cell('float', '1', '1')}</table:table-row>"
    made = ods(rows, styles=STYLES)
    made["content.xml"] = made["content.xml"].replace(
        b'name="people"', b'name="people" table:style-name="gone"'
    )
    (note,) = read(save(tmp_path / "book.ods", made)).notes
    assert "is hidden in the workbook" in note.text


def test_cells_and_rows_that_repeat_and_errors_are_read(tmp_path):
    error = cell("string", "", "#N/A", 'calcext:value-type="error"')
    rows = (
        f"<table:table-row>{cell('string', 'a', 'a')}{cell('string', 'b', 'b')}</table:table-row>"
    )
    rows += (
        f'<table:table-row table:number-rows-repeated="3">{cell("float", 7, "7", times=2)}'
        f"</table:table-row><table:table-row>{cell('boolean', 'true', 'TRUE')}{error}"
        "</table:table-row>"
    )
    result = read(save(tmp_path / "book.ods", ods(rows)))
    assert columns(result) == {"a": ["7", "7", "7", "true"], "b": [7, 7, 7, None]}


def test_formulas_without_their_values_are_missing_and_told(tmp_path):
    formula = '<table:table-cell table:formula="of:=1+1"/>'
    rows = f"<table:table-row>{cell('string', 'a', 'a')}{cell('string', 'b', 'b')}"
    rows += "</table:table-row>"
    rows += f"<table:table-row>{cell('float', 7, '7')}{formula}</table:table-row>" * 2
    path = save(tmp_path / "book.ods", ods(rows))
    result = read(path)
    assert columns(result) == {"a": [7, 7], "b": [None, None]}
    (note,) = result.notes
    assert note.caution
    assert (note.count, note.columns) == (2, ("b",))
    assert first_rows(path, detect_options(path)).notes[0].columns == ("b",)


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_one_is_refused_and_never_a_fault(tmp_path, kind):
    whole = KINDS[kind](tmp_path / f"whole.{kind}").read_bytes()
    path = tmp_path / f"book.{kind}"
    chance = random.Random(1)
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 8)):
            damaged[chance.randrange(8, len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged[: chance.choice([len(whole), chance.randrange(9, len(whole))])])
        refused = None
        try:
            read(path)
        except FileError as error:
            refused = error
        assert refused is None or refused.remedy


def test_an_encrypted_workbook_is_refused_by_name(tmp_path):
    path = tmp_path / "book.xlsx"
    path.write_bytes(COMPOUND + bytes(2000) + "EncryptedPackage".encode("utf-16-le") + bytes(600))
    with pytest.raises(UnknownFormat, match="with a password"):
        detect_options(path)
    made = ods("")
    made["META-INF/manifest.xml"] = b"<manifest><encryption-data/></manifest>"
    with pytest.raises(UnknownFormat, match="with a password"):
        detect_options(save(tmp_path / "book.ods", made))


def test_a_binary_workbook_is_refused_by_name(tmp_path):
    kind = b"application/vnd.ms-excel.sheet.binary.macroEnabled.main"
    types = b'<Types><Override PartName="/xl/workbook.bin" ContentType="' + kind + b'"/></Types>'
    path = save(tmp_path / "book.xlsb", {"[Content_Types].xml": types})
    with pytest.raises(UnknownFormat, match=r"binary workbook of Excel \(.xlsb\)"):
        detect_options(path)


def test_a_web_page_that_is_called_a_workbook_is_refused(tmp_path):
    path = tmp_path / "book.xls"
    path.write_bytes(b"<html><table><tr><td>1</td></tr></table></html>")
    with pytest.raises(DamagedFile, match="not a whole Excel workbook"):
        read(path)
