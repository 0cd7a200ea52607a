"""Sources as people have them, from the file to the bundle: what leaves is what was meant."""

from __future__ import annotations

import csv
from collections import Counter

import openpyxl
import pandas as pd
import pyreadstat
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import REASON

RULES = 'format = 1\nother_columns = "insensitive"\n[[recipients]]\nname = "R"\n'
ILL = """\
format = 1
other_columns = "quasi-identifier"
[columns.diagnosis]
role = "sensitive"
kind = "categorical"
values = ["flu", "asthma", "none", { missing = true }]
[[policy]]
attributes = ["diagnosis"]
mechanism = "uniform"
[[recipients]]
name = "R"
[recipients.levels]
diagnosis = { retention_probability = 0.5 }
"""


def released(line, table, *options, rules=RULES, form="csv"):
    """Make a project of a table, release it, and return the data and what was said of the table."""
    path = line.folder / "r.toml"
    path.write_text(rules)
    assert line.run("init", line.project, "--table", table, "--rules", path, *options) == 0, (
        line.remarks
    )
    said = line.remarks
    out = ("--out", line.folder / "out", "--format", form, "--accept", REASON)
    assert line.run("release", line.project, "--recipient", "R", *out) == 0, line.remarks
    [data] = (line.folder / "out").glob(f"*/data.{form}")
    return data, said


def table_of(data):
    with data.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return header, sorted(rows)


def test_rows_of_delimiters_alone_are_no_people(line):
    people = [f"{'mf'[i % 2]},{'NS'[i % 2]},{('flu', 'asthma', 'none')[i % 3]}" for i in range(200)]
    table = line.folder / "a.csv"
    table.write_text("\n".join(["sex,region,diagnosis", *people, *[",,"] * 50, ""]))
    data, said = released(line, table, rules=ILL)
    _, rows = table_of(data)
    assert len(rows) == 200
    assert Counter((sex, region) for sex, region, _ in rows) == {("m", "N"): 100, ("f", "S"): 100}
    assert "50 rows without any value are left out." in said
    assert line.run("check", line.project) in (ExitCode.OK, ExitCode.CHECK_FAILED)
    assert "the smallest class has 100 records" in line.output


FIXED = [f"{i:06d}{i % 2 + 1}{20 + i:03d}{1000 + i:07d} {'NS'[i % 2]}" for i in range(30)]
LAYOUT = "name,start,width\nid,1,6\nsex,7,1\nage,8,3\nwage,11,7\nregion,19,1\n"


def test_a_table_of_fixed_width_is_released_by_its_layout_and_not_without(line):
    table, layout = line.folder / "a.dat", line.folder / "layout.csv"
    table.write_text("\n".join([*FIXED, ""]))
    layout.write_text(LAYOUT)
    assert line.run("init", line.project, "--table", table) == ExitCode.EXPECTED_ERROR
    assert "layout" in line.remarks
    assert "000000" not in line.remarks
    data, said = released(line, table, "--layout", layout)
    assert "Column “age” is read as text: a number would alter the value in row 1" in said
    wanted = [
        [f"{i:06d}", str(i % 2 + 1), f"{20 + i:03d}", f"{1000 + i:07d}", "NS"[i % 2]]
        for i in range(30)
    ]
    assert table_of(data) == (["id", "sex", "age", "wage", "region"], wanted)


def test_blanks_between_fields_part_columns(line):
    table = line.folder / "b.txt"
    rows = [["mf"[i % 2], str(20 + i % 5)] for i in range(30)]
    table.write_text("sex age\n" + "".join(f"{sex} {age}\n" for sex, age in rows))
    data, _ = released(line, table)
    assert table_of(data) == (["sex", "age"], sorted(rows))


def test_the_first_person_of_a_file_without_a_header_is_no_name(line):
    table = line.folder / "c.csv"
    rows = [["anna.example@example.org", "Altona", "teacher"]]
    rows += [
        [f"x{i}@example.org", ("Nord", "Sued")[i % 2], ("nurse", "clerk")[i % 2]] for i in range(30)
    ]
    table.write_text("".join(",".join(row) + "\n" for row in rows))
    data, _ = released(line, table)
    assert table_of(data) == (["column_1", "column_2", "column_3"], sorted(rows))


NATIONAL = [
    ("gbk", "编号,性别", ["男", "女"]),
    ("euc-kr", "번호,성별", ["남", "여"]),
    ("cp932", "番号,性別", ["男", "女"]),
    ("cp1250", "nr,płeć", ["mężczyzna", "kobieta"]),
    ("cp1251", "номер,пол", ["муж", "жен"]),
    ("cp1253", "αριθμός,φύλο", ["άνδρας", "γυναίκα"]),
    ("cp850", "nr,ort", ["Köln", "Gießen"]),
    ("mac-roman", "nr,ort", ["Köln", "Gießen"]),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("encoding", "head", "values"), NATIONAL)
def test_texts_of_other_encodings_leave_as_they_were_written(line, encoding, head, values):
    table = line.folder / "t.csv"
    rows = "".join(f"{i},{values[i % 2]}\n" for i in range(40))
    table.write_bytes(f"{head}\n{rows}".encode(encoding))
    data, said = released(line, table)
    header, rows = table_of(data)
    assert header == head.split(",")
    assert Counter(text for _, text in rows) == dict.fromkeys(values, 20)
    assert "seems to be" in said


PEOPLE = [[str(1000 + i), str(20 + i), "mf"[i % 2]] for i in range(30)]
BODY = "wage;age;sex\n" + "".join(";".join(row) + "\n" for row in PEOPLE)
SKIPPING = '[reading]\nformat = "csv"\nskip_lines = 1\n'


@pytest.mark.parametrize(
    ("above", "rules"),
    [
        ("sep=;\n", RULES),
        ("Survey 2024\n\n", RULES),
        ("# exported 2024\n", RULES),
        ("sep=;\n", RULES.replace("[[rec", SKIPPING + "[[rec")),
    ],
)
def test_what_stands_above_the_header_is_no_part_of_the_table(line, above, rules):
    table = line.folder / "t.csv"
    table.write_text(above + BODY)
    data, _ = released(line, table, rules=rules)
    assert table_of(data) == (["wage", "age", "sex"], PEOPLE)


def test_a_title_of_a_sheet_is_no_header(line):
    book = openpyxl.Workbook()
    book.active.append(["Survey 2024"])
    book.active.append(["wage", "age", "sex"])
    for wage, age, sex in PEOPLE:
        book.active.append([int(wage), int(age), sex])
    book.save(line.folder / "t.xlsx")
    data, said = released(line, line.folder / "t.xlsx")
    assert table_of(data) == (["wage", "age", "sex"], PEOPLE)
    assert "above the columns' names" in said


def test_a_hierarchy_of_codes_fits_a_sheet_that_shows_their_zeros(line):
    book = openpyxl.Workbook()
    book.active.append(["sex", "ags", "plz"])
    for i in range(30):
        book.active.append(["mf"[i % 2], 1_001_000 + i % 7 * 1000, 1067 + i % 5])
        book.active.cell(i + 2, 2).number_format = "00000000"
        book.active.cell(i + 2, 3).number_format = "00000"
    book.save(line.folder / "t.xlsx")
    data, _ = released(line, line.folder / "t.xlsx")
    _, rows = table_of(data)
    assert {ags for _, ags, _ in rows} == {f"0{1_001_000 + i * 1000}" for i in range(7)}
    assert {plz for *_, plz in rows} == {f"0{1067 + i}" for i in range(5)}
    levels = line.folder / "plz.csv"
    levels.write_text("".join(f"0{1067 + i};0106*;*\n" for i in range(5)))
    assert line.run("init", line.folder / "q.sfumato", "--table", line.folder / "t.xlsx") == 0
    more = ("--column", "plz", "--import", levels)
    assert line.run("hierarchy", line.folder / "q.sfumato", *more) == 0, line.remarks


def test_households_of_merged_cells_are_units(line):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["household", "person", "sex"])
    for home in range(10):
        for person in range(3):
            sheet.append([f"H{home}" if person == 0 else None, person + 1, "mf"[person % 2]])
        sheet.merge_cells(f"A{2 + 3 * home}:A{4 + 3 * home}")
    book.save(line.folder / "t.xlsx")
    data, _ = released(line, line.folder / "t.xlsx")
    _, rows = table_of(data)
    assert Counter(home for home, *_ in rows) == {f"H{home}": 3 for home in range(10)}
    more = ("--table", line.folder / "t.xlsx", "--unit", "household")
    assert line.run("init", line.folder / "u.sfumato", *more) == 0, line.remarks


@pytest.mark.parametrize("form", ["csv", "dta"])
def test_months_and_quarters_of_stata_leave_as_such(line, form):
    born = [pd.Timestamp("1950-01-15") + pd.Timedelta(613 * i % 15000, "D") for i in range(40)]
    months = [float((day.year - 1960) * 12 + day.month - 1) for day in born]
    quarters = [float((day.year - 1960) * 4 + (day.month - 1) // 3) for day in born]
    frame = pd.DataFrame({"month": months, "quarter": quarters})
    shown = {"month": "%tm", "quarter": "%tq"}
    pyreadstat.write_dta(frame, line.folder / "t.dta", version=15, variable_format=shown)
    data, said = released(line, line.folder / "t.dta", form=form)
    assert "(month): “month”" in said
    assert "(quarter): “quarter”" in said
    if form == "csv":
        _, rows = table_of(data)
        wanted = sorted([f"{day:%Y-%m}", f"{day.year} Q{day.quarter}"] for day in born)
        assert rows == wanted
        return
    back, meta = pyreadstat.read_dta(data, disable_datetime_conversion=True)
    assert sorted(back["month"]) == sorted(months)
    assert sorted(back["quarter"]) == sorted(quarters)
    assert {name: meta.original_variable_types[name] for name in shown} == shown
