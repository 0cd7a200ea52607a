"""How a table that changed since is described: by what changed, what endangers releases first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.formats.options import ReadOptions
from sfumato.project.document.model import Document
from sfumato.project.errors import SourceChanged
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.source import (
    batched_source_at,
    locate_source,
    open_long_source,
    open_source,
    read_source,
)
from sfumato.project.source_changes import KnownRows, read_now, remember_rows
from sfumato.project.store.remembered import Remembered
from sfumato.project.store.secret import ProjectSecret
from tests.in_batches import in_batches

ROWS = [("a", 31, "flu"), ("b", 44, "cold"), ("c", 52, "flu"), ("d", 60, "flu")]
COLUMNS = ("id", "age", "ill")
POSITIONS = "Records are identified by their position"


@pytest.fixture
def remembered(monkeypatch, tmp_path):
    monkeypatch.setattr("sfumato.project.store.remembered.state_folder", lambda: tmp_path / "state")
    return Remembered(ProjectSecret.generate())


@pytest.fixture(params=["csv", "csv in parts", "parquet in parts"])
def file(request, tmp_path):
    """Where the table is: read into memory, or in parts."""
    folder = tmp_path / ("parts" if request.param.endswith("parts") else "memory")
    folder.mkdir()
    return folder / f"people.{request.param.split()[0]}"


@pytest.fixture
def csv(tmp_path):
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory" / "people.csv"


def in_parts(file):
    return file.parent.name == "parts"


def write(file, rows, columns=COLUMNS):
    frame = pd.DataFrame(rows, columns=columns)
    if file.suffix == ".csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_parquet(file)


def options_of(file):
    return ReadOptions(format=file.suffix[1:])


def known(file, remembered=None, record_key=None, rows=ROWS):
    write(file, rows)
    if in_parts(file):
        table, source = batched_source_at(file, options_of(file), 1.0, file.parent, Silent())
    else:
        table, source = read_source(file, options_of(file), Silent())
    if remembered is not None:
        remember_rows(remembered, source, in_batches(table), Silent())
    specs = (
        ColumnSpec("id", Role.IDENTIFYING),
        ColumnSpec("age", Role.INSENSITIVE, Kind.NUMERIC),
        ColumnSpec("ill", Role.SENSITIVE, domain=Domain(("cold", "flu"))),
    )
    return Document(source=source, columns=specs, record_key=record_key)


def told(document, remembered=None):
    file = document.source.place
    opened = open_long_source if in_parts(file) else open_source
    with pytest.raises(SourceChanged) as caught:
        opened(document, Silent(), file.parent, remembered)
    return str(caught.value.details["changes"])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*ROWS, ("e", 20, "flu")], ["1 row is new or changed."]),
        (
            ROWS[1:],
            [
                f"{POSITIONS}, and positions have shifted or values changed: 3 of 3 positions"
                " hold another row than before, from row 1 on.",
                "1 row of before is gone.",
            ],
        ),
        (
            [ROWS[0], ROWS[2], ROWS[1], ROWS[3]],
            [
                f"{POSITIONS}, and positions have shifted or values changed: 2 of 4 positions"
                " hold another row than before, from row 2 on.",
                "The rows are the same, in another order.",
            ],
        ),
        (
            [*ROWS[:3], ("d", 61, "gout")],
            [
                f"{POSITIONS}, and positions have shifted or values changed: 1 of 4 positions"
                " holds another row than before, from row 4 on.",
                "1 row is new or changed.",
                "1 row of before is gone.",
                "ill has 1 value that is not in its domain.",
            ],
        ),
    ],
)
def test_rows_that_were_seen_before_are_compared_one_by_one(file, remembered, rows, said):
    document = known(file, remembered)
    write(file, rows)
    assert told(document, remembered) == " ".join(said)


def test_with_a_record_key_positions_are_of_no_account(file, remembered):
    document = known(file, remembered, "id")
    write(file, ROWS[::-1])
    assert told(document, remembered) == "The rows are the same, in another order."


def test_the_same_rows_written_otherwise_are_the_same(csv, remembered):
    file, document = csv, known(csv, remembered)
    file.write_text(file.read_text().replace("31", "31.0").replace("44", "44.0"))
    assert told(document, remembered) == "The rows are the same, in the same order."


def test_rows_that_were_not_seen_are_counted_and_the_rest_is_said_not_to_be_known(file):
    document = known(file)
    write(file, ROWS[1:])
    assert told(document) == (
        f"{POSITIONS}, and positions may have shifted: the table has 3 rows in place of 4. Which"
        " rows changed can't be determined: this computer has not seen the earlier ones."
    )
    write(file, ROWS[::-1])
    assert told(document).startswith(f"{POSITIONS}, and rows may have changed places.")


def test_columns_that_came_went_moved_or_hold_something_else_are_named(file, remembered):
    document = known(file, remembered)
    write(file, [(*row, 1) for row in ROWS], (*COLUMNS, "weight"))
    assert told(document, remembered).endswith("New columns: weight.")
    write(file, [row[::-1] for row in ROWS], COLUMNS[::-1])
    assert told(document, remembered).endswith("The columns stand in another order.")
    write(file, ROWS, ("id", "years", "ill"))
    said = told(document, remembered)
    assert "Columns that are gone: age. New columns: years. They may have been renamed." in said
    write(file, [(name, f"{age} years", ill) for name, age, ill in ROWS])
    assert "age holds text in place of numbers." in told(document, remembered)
    assert "age holds text in place of numbers." in told(document)


def test_a_table_that_can_not_be_read_as_before_says_why(csv):
    file, document = csv, known(csv)
    file.write_text("id,age,ill\na,31\nb,44,cold\n")
    assert told(document).startswith("It can't be read as before: Row 1")


def test_no_value_is_told(file, remembered):
    document = known(file, remembered)
    write(file, [("Quicksilver", 97531, "Quicksilver")])
    assert "Quicksilver" not in told(document, remembered)
    assert "97,531" not in told(document, remembered)


def test_another_table_in_another_place_is_described_too(file, remembered, tmp_path):
    document = known(file, remembered)
    other = tmp_path / f"other{file.suffix}"
    write(other, ROWS[1:])
    with pytest.raises(SourceChanged, match="positions have shifted"):
        locate_source(document, other, Silent(), remembered)


def test_types_that_were_read_are_known_of_a_table_in_parts(file):
    document = known(file)
    write(file, [(name, f"{age} years", ill) for name, age, ill in ROWS])
    assert "age holds text in place of numbers." in told(document)


def test_rows_remembered_in_memory_are_known_in_parts(csv, remembered):
    document = known(csv, remembered)
    write(csv, [*ROWS, ("e", 20, "flu")])
    with pytest.raises(SourceChanged) as caught:
        open_long_source(document, Silent(), csv.parent, remembered)
    assert str(caught.value.details["changes"]) == "1 row is new or changed."


def test_dates_numbers_and_missing_values_have_one_hash_however_they_are_read(tmp_path, remembered):
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["2020-01-31", None, "2021-05-04"]),
            "large": [2**60, 2**60 + 1, 7],
            "share": [0.5, None, -1.25],
            "often": [True, False, True],
            "town": ["Köln", None, "Ulm"],
        }
    )
    csv, parquet = tmp_path / "table.csv", tmp_path / "table.parquet"
    frame.to_csv(csv, index=False)
    frame.to_parquet(parquet)
    whole, _ = read_source(csv, options_of(csv), Silent())
    parts, _ = batched_source_at(parquet, options_of(parquet), 1.0, tmp_path, Silent())
    first, second = (KnownRows.of(each, Silent()).hashes for each in (whole, parts))
    assert len(np.unique(first)) == 3
    assert (first == second).all()


def test_whole_numbers_that_a_decimal_number_can_not_hold_differ(file, remembered):
    rows = [(name, 2**60 + age, ill) for name, age, ill in ROWS]
    document = known(file, remembered, "id", rows)
    write(file, [*rows[:3], ("d", rows[3][1] + 1, "flu")])
    assert told(document, remembered).startswith("1 row is new or changed. 1 row of before is gone")


def test_rows_are_read_once_to_be_compared(file, remembered, monkeypatch):
    document = known(file, remembered)
    write(file, ROWS[::-1])
    readings = []
    read = BatchedTable.read
    monkeypatch.setattr(
        BatchedTable, "read", lambda table, *more: readings.append(1) or read(table, *more)
    )
    told(document, remembered)
    assert len(readings) == 1


def test_of_very_many_rows_nothing_is_remembered_and_that_is_said(file, remembered, monkeypatch):
    monkeypatch.setattr("sfumato.project.source_changes._MOST", 3)
    document = known(file, remembered)
    write(file, ROWS[1:])
    assert told(document, remembered).endswith("can't be determined in a table this long.")


def test_another_version_of_reading_is_compared_in_parts(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("id,code,town\n" + "1,1.10,Ulm\n2,1.1,Bonn\n,,\n" * 40)
    before = ReadOptions(version=1)
    table, source = batched_source_at(file, before, 1.0, tmp_path, Silent())
    [long] = read_now(source, in_batches(table), file, Silent())
    table, source = read_source(file, before, Silent())
    [whole] = read_now(source, in_batches(table), file, Silent())
    assert long == whole
    assert "80 rows in place of 120." in long.text
    assert long.ways[0].options.version == 2


def test_values_that_another_version_reads_otherwise_are_counted_in_parts(tmp_path):
    file = tmp_path / "shares.parquet"
    shares = pd.DataFrame({"share": np.array([0.5, 0.8, 0.1] * 50_000, np.float32)})
    shares.to_parquet(file, row_group_size=40_000)
    table, source = batched_source_at(
        file, ReadOptions(format="parquet", version=1), 1.0, tmp_path, Silent()
    )
    [note] = read_now(source, in_batches(table), file, Silent())
    assert note.text.endswith("100,000 values of share are others.")
