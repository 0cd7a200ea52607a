"""Dates outside the years 1 to 9999 are read as missing, and named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engine.core.periods import Period
from sfumato.engine.core.progress import Silent
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.reading import open_batches
from tests.formats.reading import plain, read

FAR = ["1968-02-15", "12000-01-01", None, "-0500-01-01", "9999-12-31", "0001-01-01"]


def parquet(folder, kind, **settings):
    days = pa.array(np.array(FAR, dtype="datetime64[s]"))
    table = pa.table({"day": days.cast(pa.date32()).cast(kind), "n": range(len(FAR))})
    pq.write_table(table, folder / "t.parquet", **settings)
    return folder / "t.parquet"


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us")], ids=str
)
@pytest.mark.parametrize("settings", [{}, {"write_statistics": False}, {"row_group_size": 2}])
@pytest.mark.parametrize("version", [1, 2])
def test_they_are_missing_and_their_rows_are_named(tmp_path, kind, settings, version):
    path = parquet(tmp_path, kind, **settings)
    found = read(path, version=version)
    assert plain(found.table.frame["day"].isna()) == [False, True, True, True, False, False]
    (note,) = found.notes
    assert note.text == (
        "Column day has 2 dates outside the years 1 to 9999: they are read as missing, first in"
        " row 2."
    )
    assert (note.caution, note.count, note.rows, note.columns) == (True, 2, (2, 4), ("day",))


def test_they_can_be_read_as_texts(tmp_path):
    path = parquet(tmp_path, pa.date32())
    (way,) = read(path).notes[0].ways
    assert way.options.column_types == {"day": ColumnType.TEXT}
    texts = read(path, column_types=way.options.column_types)
    assert plain(texts.table.frame["day"])[1] == "12000-01-01"
    assert texts.notes == ()


def test_a_table_read_in_parts_says_so_too(tmp_path):
    path = parquet(tmp_path, pa.timestamp("us"), row_group_size=2)
    batches = open_batches(path, ReadOptions("parquet"), Silent())
    assert batches.notes[0].rows == (2, 4)
    rows = pa.Table.from_batches(list(batches.read(["day"])))
    assert rows["day"].is_null().to_pylist() == [False, True, True, True, False, False]


def test_a_year_0_in_a_text_is_no_date(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day\n" + "1968-02-15\n" * 200 + "0000-01-01\n")
    found = read(path, column_bad_values={"day": "missing"})
    assert pd.isna(found.table.frame["day"].iloc[-1])
    assert found.table.frame["day"].iloc[0] == pd.Timestamp("1968-02-15")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("version", [1, 2])
def test_durations_are_numbers_of_seconds_and_it_is_said(tmp_path, unit, version):
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    numbers = [90 * per_second, None, -3 * per_second, 2**62 // per_second // 10 * per_second]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"stay": pa.array(numbers, pa.duration(unit))}), path)
    found = read(path, version=version)
    wanted = [None if number is None else number / per_second for number in numbers]
    assert plain(found.table.frame["stay"]) == wanted
    assert found.table.periods == {"stay": Period.SECONDS}
    assert found.notes[0].text == "1 column is read as numbers (duration in seconds): stay."
    batches = open_batches(path, ReadOptions("parquet", version=version), Silent())
    assert pa.Table.from_batches(list(batches.read(["stay"])))["stay"].to_pylist() == wanted
    assert (batches.periods, batches.notes) == (found.table.periods, found.notes)


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us")], ids=str)
def test_times_of_day_are_texts_that_keep_their_digits(tmp_path, kind):
    path = tmp_path / "t.parquet"
    per_second = {"s": 1, "ms": 10**3, "us": 10**6}[kind.unit]
    seconds = pa.array([(13 * 3600 + 45 * 60 + 7) * per_second, None], kind)
    pq.write_table(pa.table({"at": seconds}), path)
    table = read(path).table
    assert plain(table.frame["at"])[0].startswith("13:45:07")
    assert table.periods == {"at": Period.TIME}
    assert read(path, version=1).table.periods == {}
