"""Texts that differ and mean one number: codes stay text, what was measured becomes numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.choices import choices_of
from sfumato.formats.columns.numerals import NumberForms
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.reading import detect_options, first_rows, open_batches, read_file
from tests.formats.reading import plain

ICD = ["250.0", "250.00", "250.01", "401.9", "428.0", "414.00"]
DRAW = np.random.default_rng(3)
LEVELS = [f"{number:.1f}" for number in DRAW.normal(2.0, 0.5, 200).clip(0.1)]
AT_WILL = [f"{one}0" if n % 3 else one for n, one in enumerate(LEVELS)]
LONG = [f"{number:.3f}" for number in DRAW.uniform(0, 100, 400)]


def table(folder, cells, wide=False):
    rows = [f"{n},{cell}" + ",1" * 20 * wide for n, cell in enumerate(cells)]
    names = "id,code" + "".join(f",c{n}" for n in range(20)) * wide
    path = folder / "table.csv"
    path.write_text("\n".join([names, *rows, ""]))
    return path


def told(notes):
    return [note for note in notes if note.columns == ("code",)]


CODES = [ICD * 5, ["1.1", "1.10"] * 20, ["1.1", "1.2", "1.10"] * 9, ["10", "10.0", "10.5"] * 9]
MEASURED = [
    AT_WILL,
    ["-1.5", "1.50", "1.5", "2.25"] * 9,
    [one.rstrip("0") if n % 2 else one for n, one in enumerate([*LONG, "1.50", "1.5"])],
]
ONE_WAY = [
    ["1.50", "2.00", "10.25"] * 9,
    ["1.5", "2.0", "10.25"] * 9,
    ["1.5", "2", "10.25", "100"] * 9,
    ["1", "2", "30"] * 9,
    ["-1.50", "2.00"] * 9,
    ["1e-05", "2.5", "10"] * 9,
]


@pytest.mark.few(4)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("cells", CODES)
def test_texts_that_would_become_one_number_stay_text(tmp_path, cells, wide):
    result = read_file(path := table(tmp_path, cells, wide), ReadOptions(), Silent())
    assert plain(result.table.frame["code"]) == cells
    (note,) = told(result.notes)
    assert note.caution
    assert note.count == len(set(cells)) - len(set(map(float, cells)))
    numbers = read_file(path, note.ways[0].options, Silent())
    assert plain(numbers.table.frame["code"]) == list(map(float, cells))
    assert told(numbers.notes) == []
    assert plain(first_rows(path, ReadOptions()).table.frame["code"]) == cells


@pytest.mark.parametrize("cells", MEASURED)
def test_what_was_measured_and_written_in_two_ways_becomes_numbers(tmp_path, cells):
    result = read_file(path := table(tmp_path, cells), ReadOptions(), Silent())
    assert plain(result.table.frame["code"]) == list(map(float, cells))
    (note,) = told(result.notes)
    texts = read_file(path, note.ways[0].options, Silent())
    assert plain(texts.table.frame["code"]) == cells


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("cells", ONE_WAY)
def test_numbers_that_are_written_in_one_way_need_no_word(tmp_path, cells, wide):
    result = read_file(table(tmp_path, cells, wide), ReadOptions(), Silent())
    assert plain(result.table.frame["code"]) == list(map(float, cells))
    assert told(result.notes) == []


@pytest.mark.parametrize("cells", [CODES[0], AT_WILL])
def test_a_long_table_is_read_alike(tmp_path, cells):
    path = table(tmp_path, cells)
    batches = open_batches(path, ReadOptions(), Silent())
    whole = read_file(path, ReadOptions(), Silent())
    read = pa.Table.from_batches(list(batches.read(("code",))))["code"].to_pylist()
    assert read == plain(whole.table.frame["code"])
    assert told(batches.notes) == told(whole.notes)


def test_the_first_version_and_a_fixed_type_read_numbers(tmp_path):
    path = table(tmp_path, CODES[0])
    for options in (
        ReadOptions(version=1),
        ReadOptions().with_type("code", ColumnType.NUMBER),
    ):
        result = read_file(path, options, Silent())
        assert plain(result.table.frame["code"])[:2] == [250.0, 250.0]
        assert told(result.notes) == []


@pytest.mark.parametrize("seed", range(40))
def test_what_is_told_of_one_way_block_by_block_is_true(seed):
    draw = np.random.default_rng(seed)
    pool = ["1", "10", "2.0", "2", "2.00", "3.5", "3.50", "0.25", ".5", "7.", "1e-05", "10.0"]
    pool = list(draw.choice(pool, draw.integers(1, 5), replace=False))
    forms, cells = NumberForms(), []
    for _ in range(3):
        block = list(draw.choice(pool, draw.integers(1, 4)))
        cells += block
        forms.take(pa.array([None, *block, None]).slice(1))
    if not forms.may_merge:
        assert len(set(cells)) == len(set(map(float, cells)))


ZEROS = [
    ["01067", "80331", "10115"] * 9,
    ["+4915112345678", "+4915187654321"] * 9,
    ["12345678901234567890", "12345678901234567891"] * 9,
    ["007", "12", "n/a", *map(str, range(100, 160))],
]


@pytest.mark.few(4)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("cells", ZEROS)
def test_texts_that_a_number_would_alter_stay_text_and_that_is_told(tmp_path, cells, wide):
    path = table(tmp_path, cells, wide)
    result = read_file(path, ReadOptions(), Silent())
    assert plain(result.table.frame["code"]) == cells
    [note] = told(result.notes)
    assert note.text.startswith("Column code is read as text: a number would alter the value in")
    assert (note.rows, note.caution) == ((1,), False)
    assert told(open_batches(path, ReadOptions(), Silent()).notes) == [note]
    [shown] = told(first_rows(path, ReadOptions()).notes)
    assert (shown.text, shown.rows) == (note.text, note.rows)
    assert [one.name for one in choices_of(shown.ways[0], ReadOptions())] == ["column_types"]
    [way] = note.ways
    assert way.options.column_types == {"code": ColumnType.NUMBER}
    assert told(read_file(path, ReadOptions(column_types={"code": "text"}), Silent()).notes) == []


def test_the_row_of_a_code_is_found_far_below_and_after_missing_values(tmp_path):
    cells = ["", *map(str, range(10_000, 17_000)), "", "007", "12"]
    [note] = told(read_file(table(tmp_path, cells), ReadOptions(), Silent()).notes)
    assert note.rows == (7_003,)


@pytest.mark.parametrize("cells", [["A12", "007", "B3"] * 9, ["0x1F", "7", "12"] * 9])
def test_nothing_is_told_of_texts_that_are_no_numbers_anyway(tmp_path, cells):
    assert told(read_file(table(tmp_path, cells), ReadOptions(), Silent()).notes) == []


@pytest.mark.parametrize("wide", [False, True])
def test_a_few_words_beside_blanks_alone_are_texts(tmp_path, wide):
    cells = ["   "] * 97 + ["see note", "left", "moved"]
    result = read_file(table(tmp_path, cells, wide), ReadOptions(), Silent())
    assert plain(result.table.frame["code"])[-3:] == ["see note", "left", "moved"]
    assert told(result.notes) == []


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["12", "13", "none"] * 9, ColumnType.INTEGER),
        (["1.5", "13", "none"] * 9, ColumnType.NUMBER),
        (["2020-01-31", "2021-03-04", "none"] * 9, ColumnType.DATE),
        (["true", "false", "none"] * 9, ColumnType.BOOLEAN),
    ],
)
def test_a_column_of_numbers_and_texts_offers_to_read_the_texts_as_missing(tmp_path, cells, kind):
    path = table(tmp_path, cells)
    [note] = told(read_file(path, ReadOptions(), Silent()).notes)
    assert "holds numbers or dates, and texts" in note.text
    [way] = note.ways
    assert way.options.column_types == {"code": kind}
    chosen = read_file(path, way.options, Silent())
    values = plain(chosen.table.frame["code"])
    assert [value is None for value in values] == [cell == "none" for cell in cells]
    [left] = told(chosen.notes)
    assert left.count == 9


def in_semicolons(folder, cells):
    path = folder / "table.csv"
    path.write_text("\n".join(["id;code", *(f"{n};{cell}" for n, cell in enumerate(cells)), ""]))
    return path


@pytest.mark.parametrize(("mark", "other"), [(".", ","), (",", ".")])
def test_marks_that_may_stand_between_thousands_are_asked_about(tmp_path, mark, other):
    path = in_semicolons(tmp_path, [f"{n % 800 + 1}{mark}{n * 7 % 900 + 100}" for n in range(40)])
    options = detect_options(path, {"decimal": mark, "thousands": ""})
    [note] = told(read_file(path, options, Silent()).notes)
    assert note.caution
    assert f"“{mark}” is read as a decimal mark" in note.text
    chosen = note.ways[0].options
    assert (chosen.decimal, chosen.thousands) == (other, mark)
    frame = read_file(path, chosen, Silent()).table.frame
    assert plain(frame["code"])[:2] == [1100, 2107]
    assert told(first_rows(path, options).notes) != []


@pytest.mark.parametrize(
    "cells", [["1.234", "0.567"] * 9, ["1.234", "12.5"] * 9, ["1.234", "1234.567"] * 9, ["1", "2"]]
)
def test_marks_that_stand_between_no_thousands_are_not(tmp_path, cells):
    path = in_semicolons(tmp_path, cells)
    assert told(read_file(path, ReadOptions(delimiter=";"), Silent()).notes) == []


@pytest.mark.parametrize(
    ("cells", "orders"),
    [
        (["01/02/2020", "03/04/2021"] * 9, ["day-month-year", "month-day-year"]),
        (["01/02/2020 10:30", "03/04/2021 11:00"] * 9, ["day-month-year", "month-day-year"]),
    ],
)
def test_dates_whose_order_nobody_can_tell_are_asked_about(tmp_path, cells, orders):
    path = table(tmp_path, cells)
    assert detect_options(path).date_order == "year-month-day"
    [note] = told(read_file(path, detect_options(path), Silent()).notes)
    assert note.caution
    assert "though it seems to hold dates" in note.text
    assert [way.options.date_order for way in note.ways] == orders
    for way, month in zip(note.ways, (2, 1), strict=True):
        series = read_file(path, way.options, Silent()).table.frame["code"]
        assert series[0].month == month
    assert told(open_batches(path, detect_options(path), Silent()).notes) == [note]


def test_dates_in_another_order_than_those_of_another_column_are_asked_about(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,born,code\n" + "1,25.12.1980,12/25/2020\n2,13.01.1990,11/30/2021\n" * 9)
    [note] = told(read_file(path, detect_options(path), Silent()).notes)
    assert [way.options.date_order for way in note.ways] == ["month-day-year"]
