"""Texts of fixed width are read by a layout or refused; blanks between fields are one."""

from __future__ import annotations

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats import records
from sfumato.formats.errors import BadOptions, WrongEncoding
from sfumato.formats.layouts import read_layout
from sfumato.formats.reading import (
    ReadOptions,
    detect_options,
    first_rows,
    open_batches,
    read_file,
)
from sfumato.formats.tables import delimited
from tests.formats.reading import plain, read

LAYOUT = ("id 1 6", "sex 7 1", "age 8 3", "wage 11 7", "region 19 1")
LINES = [f"{i:06d}{i % 2 + 1}{20 + i:03d}{1000 + i:7d} {'NÖ'[i % 2]}\n" for i in range(30)]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.dat"
    path.write_text("".join(LINES))
    return path


def test_a_table_of_fixed_width_is_refused_without_a_layout(table):
    with pytest.raises(BadOptions, match="fixed width") as caught:
        read(table)
    with pytest.raises(BadOptions, match="fixed width"):
        first_rows(table, detect_options(table))
    assert "000000" not in str(caught.value)
    whole = read_file(table, caught.value.ways[0].options, Silent()).table
    assert whole.columns == ("column_1",)
    assert whole.rows == 30


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_it_is_read_by_its_layout(tmp_path, encoding):
    path = tmp_path / "a.dat"
    path.write_bytes("".join([*LINES, "000030\n", "\n"]).encode(encoding))
    options = detect_options(path, {"layout": LAYOUT})
    frame = read_file(path, options, Silent()).table.frame
    assert list(frame.columns) == ["id", "sex", "age", "wage", "region"]
    assert plain(frame["id"])[:2] == ["000000", "000001"]
    assert plain(frame["wage"])[28:] == [1028, 1029, None]
    assert plain(frame["region"])[:2] == ["N", "Ö"]
    assert len(first_rows(path, options).table.frame) == 31


def test_a_letter_is_whole_wherever_a_piece_of_the_file_ends(tmp_path, monkeypatch):
    for module in (delimited, records):
        monkeypatch.setattr(module, "BLOCK_SIZES", (1 << 10, 32 << 20))
    path = tmp_path / "a.dat"
    line = "1Ö\u20ac\U0001f600\n"  # of 11 bytes, so that pieces end at any of them
    path.write_text(line * 2_000, encoding="utf-8")
    options = ReadOptions(layout=("id 1 1", "letters 2 3"))
    frame = read_file(path, options, Silent()).table.frame
    assert frame["letters"].unique().tolist() == [line[1:4]]


def test_bytes_that_are_no_utf_8_are_told_with_their_line(tmp_path):
    path = tmp_path / "a.dat"
    path.write_bytes(b"1N\n2\xd6\n3O\n")
    options = ReadOptions(encoding="utf-8", layout=("id 1 1", "region 2 1"))
    with pytest.raises(WrongEncoding, match="Line 2 of"):
        read_file(path, options, Silent())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "name,start,width,label\nsex,7,1,Sex\nage,8,3,\n"),
        ("t.csv", "name;start;end\nsex;7;7\nage;8;10\n"),
        ("t.sps", "DATA LIST FILE='a.dat' RECORDS=1\n /1 sex 7 age 8-10.\nEXECUTE.\n"),
        ("t.do", "infix str sex 7 byte age 8-10 using a.dat, clear\n"),
        (
            "t.xml",
            '<codeBook><var name="sex"><location StartPos="7" EndPos="7" width="1"/></var>'
            '<var ID="V2" name="age"><location StartPos="8" EndPos="10"/></var></codeBook>',
        ),
    ],
)
def test_a_layout_is_read_from_what_archives_give_along(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert read_layout(path) == ("sex 7 1", "age 8 3")


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "name,start,width\nage,0,3\n", "data list x."])
def test_a_file_that_says_no_places_is_refused(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(BadOptions):
        read_layout(path)


def test_blanks_between_fields_are_one(tmp_path):
    path = tmp_path / "b.txt"
    path.write_text("sex   age\n" + "".join(f"{'mf'[i % 2]}  {20 + i % 5} \n" for i in range(30)))
    options = detect_options(path)
    assert (options.delimiter, options.header) == (" ", True)
    frame = read(path).table.frame
    assert list(frame.columns) == ["sex", "age"]
    assert plain(frame["age"])[:3] == [20, 21, 22]


@pytest.mark.parametrize("text", ["name\nAnn Lee\nBob Ray\n", "full name\nAnn Lee\nBob Ray\n"])
def test_a_column_of_texts_with_blanks_stays_one(tmp_path, text):
    path = tmp_path / "b.txt"
    path.write_text(text)
    assert len(read(path).table.columns) == 1


def test_a_layout_is_kept_in_a_document():
    options = ReadOptions(layout=LAYOUT)
    assert ReadOptions.from_dict(options.to_dict()) == options


@pytest.mark.parametrize("in_parts", [False, True])
def test_what_stands_outside_the_columns_of_a_layout_is_told(tmp_path, in_parts):
    path = tmp_path / "a.dat"
    path.write_text("".join(f"{i:03d}{i % 2}{'XY' if i % 3 else '  '}{i % 7}\n" for i in range(30)))
    for layout, lines in ((("id 1 3", "sex 4 1", "last 7 1"), 20), (("id 1 3", "sex 4 3"), 30)):
        options = detect_options(path, {"layout": layout})
        opened = open_batches if in_parts else read_file
        notes = opened(path, options, Silent()).notes
        [note] = [note for note in notes if "no column of the layout holds" in note.template]
        assert note.count == lines
        assert note.rows == ((2, 3, 5, 6, 8) if lines == 20 else (1, 2, 3, 4, 5))
    whole = detect_options(path, {"layout": ("id 1 3", "sex 4 1", "letters 5 2", "last 7 1")})
    assert not [n for n in read_file(path, whole, Silent()).notes if "layout" in n.template]
