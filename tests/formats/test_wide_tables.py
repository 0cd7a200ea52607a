"""Tables of thousands of columns: read as each column by itself would be, and in linear time."""

from __future__ import annotations

import random
import sys
from collections import Counter

import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats import delimited_notes
from sfumato.formats.columns import gathering
from sfumato.formats.options import DateOrder, ReadOptions
from sfumato.formats.reading import detect_options, preview, read_file, read_table
from sfumato.formats.table_format import rows_together
from sfumato.formats.tables import delimited
from tests.proposed import proposed_columns

_CELLS = {
    "whole": ("1", "-20", "+3", " 7 ", "", "999999999999999"),
    "large": ("1", "1234567890123456", "9007199254740993", "9" * 25, ""),
    "code": ("1", "007", "2E10", "0x1F", "+4930123456"),
    "decimal": ("1.5", "2", "-.5", "1e-3", "3.", "", "0.1234567890123456789"),
    "odd": ("1.5", "inf", "nan", "1e999", "1e5", "NaN"),
    "comma": ("1,5", "1.234,5", "1.234", "12.34", "2"),
    "yes": ("true", "False", "TRUE", ""),
    "nearly": ("true", "false", "maybe", "1"),
    "day": ("2024-02-29", "2024-01-01 10:30", "", " 2023-12-31 "),
    "wrong day": ("2024-02-30", "2024-01-01", "2024-13-01"),
    "fine": ("2024-01-01 10:30:15.123456789", "2024-01-01"),
    "zone": ("2024-01-01T10:30:00Z", "2024-01-01T10Z"),
    "other day": ("1.2.2024", "31.12.2023", "1/2/2024"),
    "text": ("red", "green", "", " blue "),
    "mixed": ("red", "1", "2024-01-01", "12 High Street"),
    "blank": ("", " ", "  "),
    "rarely": ("", " ", " ", " ", " ", " ", " ", " ", "text"),
}


def cells(draw, rows):
    """Return a column of cells of one sort, at times with one of another."""
    sort = draw.choice(list(_CELLS.values()))
    column = [draw.choice(sort) for _ in range(rows)]
    if draw.random() < 0.2:
        column[draw.randrange(rows)] = draw.choice(draw.choice(list(_CELLS.values())))
    return column


@pytest.mark.slow
@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
@pytest.mark.parametrize(
    "options",
    [
        ReadOptions(delimiter=";"),
        ReadOptions(delimiter=";", decimal=",", thousands=".", date_order=DateOrder.DAY_FIRST),
        ReadOptions(delimiter=";", thousands=",", date_order=DateOrder.MONTH_FIRST),
    ],
)
def test_columns_looked_at_together_are_read_as_each_by_itself(
    tmp_path, monkeypatch, options, seed
):
    draw = random.Random(seed)
    columns = [cells(draw, 40) for _ in range(200)]
    path = tmp_path / "wide.csv"
    lines = [";".join(f"c{i}" for i in range(200)), *map(";".join, zip(*columns, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = options.tolerant()
    together, first = read_file(path, options, Silent()), preview(path, options)
    monkeypatch.setattr(gathering, "_FEWEST_COLUMNS", 1_000)
    single = read_file(path, options, Silent())
    pd.testing.assert_frame_equal(first.frame, preview(path, options).frame)
    pd.testing.assert_frame_equal(together.table.frame, single.table.frame)
    assert [note.text for note in together.notes] == [note.text for note in single.notes]


def calls_to_open(folder, columns):
    """Return how many functions of Python are called to open a table as the window does."""
    draw = random.Random(columns)
    sorts = [_CELLS[name] for name in ("whole", "decimal", "day", "text", "yes")]
    path = folder / f"{columns}.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(f"column{i}" for i in range(columns)) + "\n")
        for _ in range(50):
            file.write(",".join(draw.choice(sorts[i % 5]) for i in range(columns)) + "\n")
    options = detect_options(path)
    counted = Counter()
    sys.setprofile(lambda frame, event, argument: counted.update([event]))
    try:
        preview(path, options)
        proposed_columns(read_table(path, options, Silent()))
    finally:
        sys.setprofile(None)
    return counted["call"]


@pytest.mark.slow
def test_the_work_of_opening_a_table_grows_no_faster_than_its_columns(tmp_path):
    calls_to_open(tmp_path, 50)  # what is done once only, such as imports
    few, many = calls_to_open(tmp_path, 100), calls_to_open(tmp_path, 400)
    assert many < 4.2 * few
    assert many < 950 * 400  # remarks on each column are part of it


def test_blocks_of_few_rows_are_looked_at_as_one(tmp_path, monkeypatch):
    draw = random.Random(1)
    path = tmp_path / "long.csv"
    rows = [";".join(str(draw.randrange(9)) for _ in range(40)) for _ in range(400)]
    path.write_text("\n".join([";".join(f"c{i}" for i in range(40)), *rows]) + "\n")
    options = ReadOptions(delimiter=";")
    whole = read_table(path, options, Silent()).frame
    monkeypatch.setattr(delimited, "BLOCK_SIZES", (1 << 10,))
    looks = []
    seen_together = delimited.seen_together
    monkeypatch.setattr(
        delimited,
        "seen_together",
        lambda columns, block, how: looks.append(len(block)) or seen_together(columns, block, how),
    )
    pd.testing.assert_frame_equal(read_table(path, options, Silent()).frame, whole)
    assert looks == [400]


def test_names_are_recognized_whose_line_is_longer_than_what_is_usually_looked_at(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(delimited_notes, "_SAMPLE_BYTES", 200)
    names = [f"c{number}" for number in range(100)]  # the last one seen was a part of c52
    rows = [";".join(str(row * place % 7) for place in range(100)) for row in range(40)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([";".join(names), *rows]) + "\n")
    options = detect_options(path)
    assert (options.delimiter, options.header) == (";", True)
    assert list(read_file(path, options, Silent()).table.columns) == names


@pytest.mark.parametrize(
    ("columns", "rows"), [(1, 1 << 17), (16, 1 << 17), (32, 1 << 16), (400, 5242), (1 << 30, 1)]
)
def test_of_a_wide_table_fewer_rows_are_worked_on_together(columns, rows):
    assert rows_together(1 << 17, columns) == rows
