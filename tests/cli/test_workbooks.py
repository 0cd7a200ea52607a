"""Workbooks from the file to the bundle: what is shown leaves, and what was not seen is told."""

from __future__ import annotations

import csv

import openpyxl
import pytest

RULES = 'format = 1\nother_columns = "insensitive"\n[[recipients]]\nname = "R"\n'


@pytest.fixture
def released(line):
    """Make a project of a workbook and return the released rows."""

    def release(book, *options):
        path = line.folder / "book.xlsx"
        book.save(path)
        rules = line.folder / "rules.toml"
        rules.write_text(RULES)
        assert line.run("init", line.project, "--table", path, "--rules", rules, *options) == 0, (
            line.remarks
        )
        said = line.remarks
        ran = line.run(
            *("release", line.project, "--recipient", "R", "--out", line.folder / "out"),
            *("--accept", "tried"),
        )
        assert ran == 0, line.remarks
        (data,) = (line.folder / "out").glob("*/data.csv")
        with data.open(newline="") as file:
            return list(csv.DictReader(file)), said

    return release


def people():
    """Persons of ten households, whose codes have leading zeros; some said no."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Survey 2024"])
    sheet.append(["household", "sex", "plz", "consent"])
    for household in range(10):
        for person in range(3):
            row = 3 + 3 * household + person
            name = f"H{household}" if person == 0 else None
            consent = "no" if person == 2 else "yes"
            sheet.append([name, "mf"[person % 2], 1067 + household % 5, consent])
            sheet.cell(row, 3).number_format = "00000"
            sheet.row_dimensions[row].hidden = consent == "no"
        sheet.merge_cells(
            start_row=3 + 3 * household, end_row=5 + 3 * household, start_column=1, end_column=1
        )
    return book


def test_what_a_workbook_shows_is_released(released):
    rows, said = released(people())
    assert len(rows) == 20
    assert {row["consent"] for row in rows} == {"yes"}
    assert {row["plz"] for row in rows} == {f"0{1067 + place}" for place in range(5)}
    assert sorted(row["household"] for row in rows) == sorted(f"H{i // 2}" for i in range(20))
    assert "hides 10 rows" in said
    assert "leading zeros" in said
    assert "merged" in said
    assert "above the columns' names" in said


def test_hidden_rows_are_released_if_that_is_chosen(released):
    rows, said = released(people(), "--hidden", "read")
    assert len(rows) == 30
    assert "read all the same" in said
