from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.formats import delimited_notes
from sfumato.formats.delimited_notes import beginning_of
from sfumato.formats.options import DateOrder
from sfumato.formats.reading import detect_options, preview
from sfumato.formats.sniffing import sniff
from tests.formats.reading import plain, read
from tests.thorough import tried


def detected(folder, text, name="table.csv"):
    path = folder / name
    path.write_bytes(text.encode())
    return detect_options(path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    rows = [["name", "age", "town"], ["Ann", "34", "Ulm"], ["Bob", "7", "Bern"]]
    text = "\n".join(delimiter.join(row) for row in rows)
    assert detected(tmp_path, text).delimiter == delimiter


@given(
    st.sampled_from([",", ";", "\t", "|"]),
    st.lists(
        st.tuples(st.integers(0, 99), st.sampled_from(["a; b", "c, d", "e|f", "g"]), st.booleans()),
        min_size=3,
        max_size=20,
    ),
)
@settings(deadline=None, max_examples=tried(60))
def test_delimiters_within_quotes_do_not_mislead(delimiter, rows):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows([("id", "remark", "flag"), *rows])
    assert sniff(text.getvalue()).delimiter == delimiter


def test_decimal_commas_between_semicolons_are_found(tmp_path):
    options = detected(tmp_path, "1,5;2,25;a\n3,5;4,75;b\n10;20;c\n")
    assert (options.delimiter, options.decimal, options.thousands) == (";", ",", "")


@pytest.mark.parametrize(
    ("numbers", "delimiter", "decimal", "thousands"),
    [
        (["1.5", "1200.75", "3"], ";", ".", ""),
        (["1,5", "1200,75", "3"], ";", ",", ""),
        (["1.234,5", "12.000,75", "3"], ";", ",", "."),
        (["1,234.5", "12,000.75", "3"], ";", ".", ","),
        (["1'234.5", "12'000.75", "3"], ";", ".", "'"),
        (["1 234,5", "12 000,75", "3"], ";", ",", " "),
        (["1\u00a0234,5", "12\u00a0000,75", "3"], ";", ",", "\u00a0"),
        (["1\u202f234,5", "12\u202f000,75", "3"], ";", ",", "\u202f"),
        (["1,234", "12,000", "3"], ";", ",", ""),
        (['"1,234"', '"12,000"', "3"], ",", ".", ","),
        (["1.234", "12.000", "3.000"], ";", ".", ""),
        (["1.234.567", "12.000", "3"], ";", ",", "."),
    ],
)
def test_decimal_and_thousands_marks_are_found(tmp_path, numbers, delimiter, decimal, thousands):
    text = "\n".join(f"{number}{delimiter}x" for number in ["amount", *numbers])
    options = detected(tmp_path, text)
    assert (options.delimiter, options.decimal, options.thousands) == (
        delimiter,
        decimal,
        thousands,
    )


def test_groups_of_digits_that_may_be_codes_are_no_numbers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("firm,seat\n123 456 789,A\n987 654 321,B\n")
    assert detect_options(path).thousands == ""
    assert plain(read(path).table.frame["firm"]) == ["123 456 789", "987 654 321"]


@pytest.mark.parametrize("size", range(20, 30))
def test_a_line_that_the_sample_cuts_off_says_nothing(tmp_path, monkeypatch, size):
    path = tmp_path / "table.csv"
    path.write_bytes("€😀\r\n".encode() * 9)
    monkeypatch.setattr(delimited_notes, "_SAMPLE_BYTES", size)
    assert set(beginning_of(path, "utf-8").splitlines()) == {"€😀"}


@pytest.mark.parametrize(
    ("dates", "order"),
    [
        (["2024-01-02", "2024-12-31"], DateOrder.YEAR_FIRST),
        (["1.2.2024", "3.4.2024"], DateOrder.DAY_FIRST),
        (["01/02/2024", "31/12/2024"], DateOrder.DAY_FIRST),
        (["01/02/2024", "12/31/2024"], DateOrder.MONTH_FIRST),
        (["01/02/2024", "03/04/2024"], DateOrder.YEAR_FIRST),
    ],
)
def test_the_order_of_dates_is_found_where_a_date_tells(tmp_path, dates, order):
    text = "\n".join(f"{date},x" for date in ["day", *dates])
    assert detected(tmp_path, text).date_order is order


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("name,age\nAnn,34\nBob,7\n", True),
        ("Ann,34\nBob,7\nEve,8\n", False),
        ("name,town\nAnn,Ulm\nBob,Bern\n", True),
        ("Ann,Ulm\nBob,Bern\nAnn,Bonn\n", False),
        ("region,2019,2020\nNorth,5,6\nSouth,7,8\n", True),
        ("1,2\n3,4\n", False),
        (",age\n1,34\n2,7\n", True),
        ("flag,day\ntrue,2024-01-01\nfalse,2024-01-02\n", True),
        ("true,2024-01-01\nfalse,2024-01-02\n", False),
        ("name,age\n", True),
        ("age\n1\n2\n", True),
    ],
)
def test_the_header_is_found(tmp_path, text, header):
    assert detected(tmp_path, text).header is header


def test_a_tab_separated_file_and_a_text_are_read_as_csv(tmp_path):
    for name in ("table.tsv", "table.txt", "table.unheard"):
        assert detected(tmp_path, "a\tb\n1\t2\n", name).delimiter == "\t"


def test_one_column_needs_no_delimiter(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("name\nAnn\nBob\nAnn\nBob\n")
    assert list(read(path).table.frame.columns) == ["name"]


def test_a_preview_shows_the_first_rows_as_they_will_be_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,code\n" + "".join(f"{i},0{i % 7}\n" for i in range(1000)))
    shown = preview(path, detect_options(path), rows=20).frame
    assert plain(shown["id"]) == list(range(20))
    assert plain(shown["code"])[:2] == ["00", "01"]


def test_a_preview_lets_pass_what_reading_refuses(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,age\n" + "".join(f"{i},{i}\n" for i in range(50)) + "50,old\n51\n52,3,4\n")
    shown = preview(path, detect_options(path)).frame
    assert len(shown) == 51
    assert plain(shown["age"])[-1] == "old"


def test_a_preview_reads_the_beginning_of_a_file_only(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 2_000_000 + b"\xff\n")
    options = detect_options(path)
    assert len(preview(path, options, rows=10).frame) == 10
