"""Rows without any value are no records, and it is said that they are left out."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.columns.parsing import blank_rows
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import detect_options, first_rows, open_batches, read_file
from tests.formats.reading import plain

ROWS = "".join(f"{'mf'[i % 2]},{20 + i},{['flu', 'none'][i % 2]}\n" for i in range(40))
BLANK = (",,\n", '"","",""\n', " , ,\t\n")


def written(folder, blank=BLANK, text=ROWS):
    lines = text.splitlines(keepends=True)
    path = folder / "table.csv"
    path.write_text("sex,age,illness\n" + "".join(lines[:3]) + blank[0] + "".join(lines[3:]))
    with path.open("a") as file:
        file.writelines(blank[1:])
    return path


def told(notes):
    return [note for note in notes if "without any value" in note.template]


@pytest.mark.parametrize("in_parts", [False, True])
def test_rows_without_any_value_are_left_out_and_told(tmp_path, in_parts):
    path = written(tmp_path)
    options = detect_options(path)
    if in_parts:
        batches = open_batches(path, options, Silent())
        assert batches.rows == 40
        read = pa.Table.from_batches(list(batches.read(("sex", "age")))).to_pandas()
        shown = pa.Table.from_batches(list(batches.parts(10)[0].read(("age",)))).to_pandas()
        assert plain(shown["age"])[:4] == [20, 21, 22, 23]
        notes = batches.notes
    else:
        result = read_file(path, options, Silent())
        read, notes = result.table.frame, result.notes
    assert plain(read["age"]) == list(range(20, 60))
    (note,) = told(notes)
    assert (note.count, note.rows) == (3, (4, 42, 43))
    kept = read_file(path, note.ways[0].options, Silent())
    assert kept.table.rows == 43
    assert told(kept.notes) == []


def test_the_first_rows_are_shown_without_them(tmp_path):
    shown = first_rows(written(tmp_path), ReadOptions()).table
    assert shown.rows == 40


def test_a_project_of_the_first_version_keeps_them(tmp_path):
    path = written(tmp_path)
    options = replace(detect_options(path), version=1)
    result = read_file(path, options, Silent())
    assert result.table.rows == 43
    assert result.notes == ()
    assert first_rows(path, options).table.rows == 43


@pytest.mark.parametrize("seed", range(6))
def test_blank_rows_of_a_block_are_those_in_which_nothing_stands(seed):
    draw = np.random.default_rng(seed)
    cells = draw.choice(np.array([None, "", " ", "\t ", "x", "1.5"], dtype=object), (60, 3))
    block = pa.record_batch(
        [pa.array(column, pa.string()) for column in cells.T], names=list("abc")
    )
    expected = [place for place, row in enumerate(cells) if not any((c or "").strip() for c in row)]
    assert list(blank_rows(block)) == expected
    assert list(blank_rows(block.slice(7))) == [place - 7 for place in expected if place >= 7]


def test_a_row_of_totals_and_rows_of_other_lengths_are_told(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("sex,age,illness\n" + ROWS + "Total,,\n")
    notes = read_file(path, detect_options(path), Silent()).notes
    assert [note.caution for note in notes if "totals" in note.template] == [True]
    path.write_text("sex,age,illness\n" + ROWS + "Source: the ward\n")
    options = detect_options(path, {"ragged_rows": "skip"})
    notes = read_file(path, options, Silent()).notes
    assert [(note.count, note.rows) for note in notes] == [(1, (41,))]


def test_a_row_of_texts_that_mean_missing_is_a_record(tmp_path):
    path = written(tmp_path, (",,\n", "NA,NA,NA\n"))
    options = detect_options(path, {"missing": ("", "NA")})
    result = read_file(path, options, Silent())
    assert result.table.rows == 41
    assert told(result.notes)[0].rows == (4,)
    assert plain(result.table.frame["age"])[-1] is None


def typed(folder, kind):
    """Write a table whose third and fifth rows have no value, in a format with types."""
    frame = pd.DataFrame(
        {"SEX": ["m", "f", None, "f", None, "m"], "AGE": [20.5, None, None, 40, np.nan, 50]}
    )
    path = folder / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=2)
    elif kind == "sqlite":
        with closing(sqlite3.connect(path)) as database:
            frame.to_sql("people", database, index=False)
    else:
        pyreadstat.write_sav(frame.fillna({"SEX": ""}), path)
    return path


@pytest.mark.parametrize("kind", ["parquet", "sqlite", "sav"])
def test_rows_without_any_value_of_other_formats_are_told_and_can_be_left_out(tmp_path, kind):
    path = typed(tmp_path, kind)
    found = read_file(path, detect_options(path), Silent())
    assert found.table.rows == 6
    (note,) = told(found.notes)
    # The rows of a database have no numbers.
    rows = () if kind == "sqlite" else (3, 5)
    assert (note.caution, note.count, note.rows) == (True, 2, rows)
    left = read_file(path, note.ways[0].options, Silent())
    assert sorted(plain(left.table.frame["SEX"])) == ["f", "f", "m", "m"]
    assert (left.skipped_rows, left.table.rows) == (2, 4)
    (note,) = told(left.notes)
    assert not note.caution
    assert note.ways[0].options == detect_options(path)
    assert first_rows(path, left_out := replace(detect_options(path), keep_blank_rows=False))
    assert read_file(path, replace(left_out, version=1), Silent()).table.rows == 6


def test_rows_without_any_value_of_parquet_are_told_in_parts(tmp_path):
    path = typed(tmp_path, "parquet")
    options = detect_options(path)
    batches = open_batches(path, options, Silent())
    (note,) = told(batches.notes)
    assert (batches.rows, note.count, note.rows) == (6, 2, (3, 5))
    assert open_batches(path, note.ways[0].options, Silent()) is None
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.table({"SEX": ["m", None], "AGE": [None, 3]}), whole)
    assert not told(open_batches(whole, options, Silent()).notes)
    assert open_batches(whole, note.ways[0].options, Silent()).rows == 2


def test_a_value_missing_in_a_column_alone_makes_no_row_without_values(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"AGE": [1, None, 3]}), path)
    assert not told(read_file(path, detect_options(path), Silent()).notes)
    assert not told(open_batches(path, detect_options(path), Silent()).notes)
