"""What stands above and below a delimited table, and files without a header."""

from __future__ import annotations

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.reading import detect_options, read_file
from tests.formats.reading import plain, read

BODY = "".join(f"{'mf'[i % 2]};{20 + i};{1000 + i}\n" for i in range(30))
TABLE = "sex;age;wage\n" + BODY


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        ("sep=;\n", 1),
        ('"sep=;"\r\n', 1),
        ("SEP=;\n", 1),
        ("Survey 2024\n\n", 1),
        ("Survey 2024, Hamburg, all persons\n", 1),
        ("Survey 2024;;\n", 1),
        ("Survey 2024;;\n;;\nAs of May;;\n", 3),
        ("# exported 2024\n", 1),
        ("# exported 2024\n# by A; B\n\n# in May\n", 4),
        ("\n\n", 0),
    ],
)
def test_lines_above_the_header_are_found_and_left_out(tmp_path, above, lines):
    path = tmp_path / "table.csv"
    path.write_text(above + TABLE, newline="")
    options = detect_options(path)
    assert (options.skip_lines, options.delimiter, options.header) == (lines, ";", True)
    frame = read(path).table.frame
    assert list(frame.columns) == ["sex", "age", "wage"]
    assert len(frame) == 30
    assert plain(frame["wage"])[0] == 1000


@pytest.mark.parametrize(
    "text",
    [
        ";age\n1;34\n2;7\n",
        "name;\nAnn;34\nBob;7\n",
        "#id;age\n1;34\n2;7\n",
        "id;a;b;c\n1;;;\n2;5;6;7\n",
        "1;;;\n2;5;6;7\n3;4;5;6\n",
        "name\nAnn\nBob\n",
    ],
)
def test_a_table_that_begins_with_its_header_or_records_is_read_from_there(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert detect_options(path).skip_lines == 0


@pytest.mark.parametrize(
    ("stated", "delimiter", "skipped"),
    [({"skip_lines": 1}, ";", 1), ({"decimal": ","}, ";", 1), ({"delimiter": ","}, ",", 1)],
)
def test_what_is_stated_replaces_what_is_found_and_nothing_else(
    tmp_path, stated, delimiter, skipped
):
    path = tmp_path / "table.csv"
    path.write_text("sep=;\n" + TABLE)
    options = detect_options(path, stated)
    assert (options.delimiter, options.skip_lines) == (delimiter, skipped)
    assert all(getattr(options, name) == value for name, value in stated.items())


def test_marks_that_contradict_a_stated_one_are_not_found(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x;y\n1,234.5;a\n2,345.5;b\n")
    assert detect_options(path).thousands == ","
    options = detect_options(path, {"decimal": ","})
    assert (options.decimal, options.thousands) == (",", "")


@pytest.mark.parametrize(
    ("text", "header"),
    [
        (
            "a@example.org,Altona,teacher\nx1@example.org,Nord,nurse\nx2@b.org,Nord,clerk\n",
            False,
        ),
        ("anna@example.org,34\nx1@example.org,35\n", False),
        ("m,NA\nf,20\nm,30\n", False),
        ("Ann,m,unknown\nBob,m,34\nEve,f,35\n", False),
        ("name,sex,age\nBob,m,34\nEve,f,35\n", True),
    ],
)
def test_a_first_record_that_looks_like_values_is_no_header(tmp_path, text, header):
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert detect_options(path).header is header


def test_columns_that_the_header_does_not_name_are_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,,c,\n1,2,3,4\n5,6,7,8\n")
    [note] = read_file(path, detect_options(path), Silent()).notes
    assert note.text == "2 columns have no name in the file, and are called by their positions."
    assert note.columns == ("column_2", "column_4")
