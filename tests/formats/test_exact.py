"""Numbers show what their file showed, wherever they are read and written: digits, and one zero."""

from __future__ import annotations

import sqlite3
import struct
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.core.progress import Silent
from sfumato.formats.columns.exact import first_altered, with_same_digits
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import open_batches, read_file
from tests.formats.reading import options_for, plain, read, write

AMOUNTS = [Decimal(100_000 + 37 * i).scaleb(-2) for i in range(1_000)]
SINGLES = np.array([0.8, 1004.81, -3.3, 1e-9, 16_777_217, 3.3e20, 0.1, 2.5], dtype=np.float32)
SHORTEST = [0.8, 1004.81, -3.3, 1e-9, 16_777_216, 3.3e20, 0.1, 2.5]
"""The singles by their fewest digits; whole numbers with all of theirs."""


def sources(folder, values):
    """A column of Arrow values as files that keep its type."""
    duckdb = pytest.importorskip("duckdb")
    pq.write_table(pa.table({"x": values}), folder / "t.parquet")
    with duckdb.connect(str(folder / "t.duckdb")) as driver:
        driver.execute(f"CREATE TABLE t AS SELECT * FROM '{folder}/t.parquet'")
    return folder / "t.parquet", folder / "t.duckdb"


def in_parts(path, **changes):
    """A file's column as it comes in parts: all rows, by other processes' parts, and near one."""
    batches = open_batches(path, options_for(path, **changes), Silent())
    assert batches is not None
    parts = [each for part in batches.parts(1) for each in part.read(["x"])]
    near = batches.around(0, Silent())[1]
    read = pa.Table.from_batches(batches.read(["x"]))["x"].to_pylist()
    assert pa.Table.from_batches(parts)["x"].to_pylist() == read
    assert near["x"].to_pylist() == read
    return read


def written(table, folder):
    """A table's only column as other programs read it from each format, as numbers."""
    paths = {name: write(table, folder / f"out.{name}") for name in ("csv", "parquet", "sav")}
    texts = pa.csv.ConvertOptions(column_types={"x": pa.string()})
    csv = pa.csv.read_csv(paths["csv"], convert_options=texts)["x"].to_pylist()
    stata = write(table, folder / "out.dta")
    return {
        "csv": [Decimal(text) for text in csv],
        "parquet": pq.read_table(paths["parquet"])["x"].to_pylist(),
        "sav": pyreadstat.read_sav(paths["sav"])[0]["x"].tolist(),
        "dta": pyreadstat.read_dta(stata)[0]["x"].tolist(),
    }


@pytest.mark.parametrize(
    "precision", [12, *(pytest.param(each, marks=pytest.mark.slow) for each in (18, 38))]
)
def test_decimal_amounts_are_numbers_and_keep_their_digits_in_every_format(tmp_path, precision):
    for path in sources(tmp_path, pa.array(AMOUNTS, pa.decimal128(precision, 2))):
        found = read(path)
        assert found.notes == ()
        assert found.table.frame["x"].tolist() == [float(each) for each in AMOUNTS]
        shown = written(found.table, tmp_path)
        assert shown.pop("csv") == AMOUNTS
        assert all(values == [float(each) for each in AMOUNTS] for values in shown.values())
    assert in_parts(tmp_path / "t.parquet") == [float(each) for each in AMOUNTS]


def test_a_decimal_with_more_digits_than_a_number_holds_makes_its_column_text_and_is_named(
    tmp_path,
):
    long = [*AMOUNTS[:3], Decimal("12345678901234567890.12"), None, Decimal("0.10")]
    texts = [None if each is None else f"{each:.2f}" for each in long]
    for path in sources(tmp_path, pa.array(long, pa.decimal128(30, 2))):
        found = read(path)
        shown = plain(found.table.frame["x"])
        assert sorted(shown, key=str) == sorted(texts, key=str)
        [note] = found.notes
        assert note.columns == ("x",)
        assert note.rows == (shown.index("12345678901234567890.12") + 1,)
    assert in_parts(tmp_path / "t.parquet") == texts


def test_numbers_of_32_bits_are_those_of_their_shortest_digits(tmp_path):
    for path in sources(tmp_path, pa.array(SINGLES)):
        found = read(path).table
        # A database gives its rows in an order of its own.
        assert sorted(found.frame["x"]) == sorted(SHORTEST)
        shown = written(found, tmp_path)
        assert all(sorted(map(float, each)) == sorted(SHORTEST) for each in shown.values())
    assert in_parts(tmp_path / "t.parquet") == SHORTEST


def test_floats_of_stata_are_those_of_their_shortest_digits(tmp_path):
    path = tmp_path / "t.dta"
    pd.DataFrame({"x": SINGLES, "d": SINGLES.astype(float)}).to_stata(path, write_index=False)
    frame = read(path).table.frame
    assert frame["x"].tolist() == SHORTEST
    assert frame["d"].tolist() == SINGLES.astype(float).tolist()


def test_a_project_of_the_first_version_reads_the_numbers_that_it_did(tmp_path):
    pq.write_table(
        pa.table({"x": pa.array([Decimal("1004.81"), Decimal("-0.25")], pa.decimal128(12, 2))}),
        tmp_path / "t.parquet",
    )
    assert read(tmp_path / "t.parquet", version=1).table.frame["x"].tolist() == [
        1004.8100000000001,
        -0.25,
    ]
    assert in_parts(tmp_path / "t.parquet", version=1) == [1004.8100000000001, -0.25]


@given(st.lists(st.floats(width=32, allow_nan=False) | st.none(), min_size=1, max_size=40))
def test_the_digits_of_32_bits_are_those_that_arrow_writes(numbers):
    singles = pa.array(numbers, pa.float32())
    found = with_same_digits(singles)
    assert found.null_count == singles.null_count
    assert found.cast(pa.float32()).equals(singles)
    for number, text in zip(found.to_pylist(), singles.cast(pa.string()).to_pylist(), strict=True):
        whole = text is None or float(text).is_integer()
        assert whole or number == float(text)


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(0, 15))
def test_decimals_of_15_digits_become_the_nearest_number(whole, scale):
    stated = Decimal(whole).scaleb(-scale)
    values = pa.array([stated, None], pa.decimal128(15, scale))
    assert with_same_digits(values).to_pylist() == [float(stated), None]
    assert with_same_digits(values.slice(1)).to_pylist() == [None]


def test_the_first_number_that_would_be_altered_is_found():
    texts = ["1", None, "0.10000000000000000", "123456789012345678", "12345678901234567890"]
    assert first_altered(pa.array(texts)) == 3
    assert first_altered(pa.array(texts[:3])) == -1
    assert first_altered(pa.array([], pa.string())) == -1


def test_numbers_of_a_text_that_lose_digits_are_counted_and_can_be_text(tmp_path):
    texts = ["0.12345678901234567891", "-1.5", "0.12345678901234567", "100.00000000000000000000"]
    path = tmp_path / "t.csv"
    path.write_text("n,x\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts)))
    found = read(path)
    assert found.table.frame["x"].tolist() == [float(each) for each in texts]
    [note] = [each for each in found.notes if each.count is not None and each.ways]
    assert (note.columns, note.count, note.rows) == (("x",), 1, (1,))
    [way] = note.ways
    assert plain(read(path, column_types=way.options.column_types).table.frame["x"]) == texts
    batches = open_batches(path, options_for(path), Silent())
    assert batches is not None
    assert note in batches.notes


def zeros(folder, kind):
    """A file of each kind that holds 0 with a sign and without."""
    path = folder / f"zeros.{kind}"
    frame = pd.DataFrame({"x": [-0.0, 0.0, 1.5, None]})
    if kind == "csv":
        path.write_text("x,y\n-0.0,a\n0.0,a\n1.5,a\n,a\n")
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind in ("sav", "dta"):
        getattr(pyreadstat, f"write_{kind}")(frame, path)
    elif kind == "xlsx":
        frame.to_excel(path, index=False)
    else:
        with sqlite3.connect(path) as driver:
            driver.execute("CREATE TABLE t (x REAL)")
            driver.executemany("INSERT INTO t VALUES (?)", [(-0.0,), (0.0,), (1.5,), (None,)])
        driver.close()
    return path


def signs(numbers):
    """The bits of each number: 0 with a sign has others."""
    return [struct.pack("d", number).hex() for number in numbers if number == 0.0]


@pytest.mark.parametrize("kind", ["csv", "parquet", "sav", "dta", "xlsx", "sqlite"])
def test_a_zero_has_no_sign(tmp_path, kind):
    path = zeros(tmp_path, kind)
    numbers = read(path).table.frame["x"].dropna()
    assert sorted(numbers) == [0.0, 0.0, 1.5]
    assert signs(numbers) == signs([0.0, 0.0])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_zero_has_no_sign_in_parts(tmp_path, kind):
    numbers = in_parts(zeros(tmp_path, kind))
    assert numbers == [0.0, 0.0, 1.5, None]
    assert signs(each for each in numbers if each is not None) == signs([0.0, 0.0])


def test_a_zero_keeps_its_sign_in_a_project_of_the_first_version(tmp_path):
    path = zeros(tmp_path, "parquet")
    frame = read_file(path, ReadOptions(format="parquet", version=1), Silent()).table.frame
    assert signs(frame["x"]) == signs([-0.0, 0.0])
