"""Tables and queries of SQLite and DuckDB: what is read, by what it is known, what is refused."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Silent
from sfumato.formats.databases import Address, ContentDigest, place_of
from sfumato.formats.errors import (
    BadAddress,
    BadOptions,
    BadQuery,
    CannotConnect,
    DamagedFile,
    DriverMissing,
    EmptyFile,
    FileError,
    UnsupportedColumn,
    WrongEncoding,
)
from sfumato.formats.options import ColumnType
from sfumato.formats.reading import detect_options, first_rows, read_file, read_known, sheets_of
from tests.formats.reading import Watch, options_for, read
from tests.formats.reading import plain as values_of

KINDS = ("sqlite", "duckdb")
PATIENTS = (
    "CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT, born DATE, cost REAL,"
    " smoker BOOLEAN)",
    "INSERT INTO patients VALUES (1, 'Ann', '1980-02-03', 1.5, true), (3, NULL, NULL, 2, NULL),"
    " (2, 'Zoë', '1999-12-31', NULL, false)",
    "CREATE VIEW named AS SELECT id, name FROM patients WHERE name IS NOT NULL",
)


def run(path: Path, *statements: str) -> None:
    """Run statements in a database file, which is made where there is none."""
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as driver, driver:
            for statement in statements:
                driver.execute(statement)
        return
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(path)) as driver:
        for statement in statements:
            driver.execute(statement)


@pytest.fixture(params=KINDS)
def path(request, tmp_path):
    made = tmp_path / f"clinic.{request.param}"
    run(made, *PATIENTS)
    return made


def digest_of(path: Path, **changes) -> str:
    return read_known(path, options_for(path, **changes), Silent())[1]


def test_a_database_is_known_by_its_bytes_and_lists_its_tables_and_views(path):
    disguised = path.rename(path.with_suffix(".xyz"))
    assert detect_options(disguised).format == path.suffix[1:]
    assert sheets_of(disguised) == ("patients", "named")


def test_a_table_is_read_by_its_key_with_the_types_it_declares(path):
    frame = read(path, sheet="patients").table.frame
    assert list(frame["id"]) == [1, 2, 3]
    assert list(frame["name"].astype(object).where(frame["name"].notna(), None)) == [
        "Ann",
        "Zoë",
        None,
    ]
    assert list(frame["born"][:2]) == [pd.Timestamp("1980-02-03"), pd.Timestamp("1999-12-31")]
    assert np.array_equal(frame["cost"], [1.5, np.nan, 2.0], equal_nan=True)
    assert list(frame["smoker"][:2]) == [True, False]
    assert frame["born"].isna()[2]
    assert frame["smoker"].isna()[2]


def test_the_first_rows_are_shown_of_views_and_queries_too(path):
    shown = first_rows(path, options_for(path, sheet="named"), 1)
    assert shown.table.rows == 1
    counted = read(path, query="SELECT count(*) AS n FROM patients; ")
    assert list(counted.table.frame["n"]) == [3]


def test_a_query_may_end_with_a_comment(path):
    assert read(path, query="SELECT id FROM patients -- all of them").table.rows == 3


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_table_is_the_same_however_it_is_kept_and_another_when_a_value_changes(path):
    before = digest_of(path, sheet="patients")
    named = digest_of(path, sheet="named")
    run(
        path,
        "CREATE TABLE copy AS SELECT * FROM patients ORDER BY id DESC",
        "DELETE FROM patients",
        "INSERT INTO patients SELECT * FROM copy",
        "CREATE INDEX by_cost ON patients (cost)",
    )
    assert digest_of(path, sheet="patients") == before
    assert digest_of(path, query="SELECT * FROM named ORDER BY id DESC") == named
    run(path, "UPDATE patients SET cost = 1.75 WHERE id = 1")
    assert digest_of(path, sheet="patients") != before
    assert digest_of(path, sheet="named") == named


def test_rows_without_a_key_are_read_in_the_order_of_what_they_hold(path):
    run(
        path,
        "CREATE TABLE loose (a TEXT, b INTEGER)",
        "INSERT INTO loose VALUES ('b', 1), ('B', 2), (NULL, 3), ('a', 2), ('a', 1), ('a', 1)",
    )
    first = read(path, sheet="loose").table.frame
    run(
        path,
        "DELETE FROM loose",
        "INSERT INTO loose VALUES ('a', 1), (NULL, 3), ('a', 2), ('b', 1), ('a', 1), ('B', 2)",
    )
    pd.testing.assert_frame_equal(read(path, sheet="loose").table.frame, first)


def test_a_type_that_a_person_fixes_is_taken(path):
    frame = read(path, sheet="patients", column_types={"id": ColumnType.TEXT}).table.frame
    assert list(frame["id"].astype(object)) == ["1", "2", "3"]


@pytest.mark.few(8)
@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM patients",
        "SELECT 1; DELETE FROM patients",
        "SELECT 1) AS q; DELETE FROM patients; --",
        "WITH gone AS (DELETE FROM patients RETURNING *) SELECT * FROM gone",
        "INSERT INTO patients (id) SELECT 9 RETURNING id",
        "ATTACH '/tmp/other'",
        "SELECT * FROM nowhere",
        "SELEC",
        "",
        ";",
    ],
)
def test_a_query_is_one_select_that_writes_nothing(path, query):
    before = path.read_bytes()
    changes = {"query": query} if query else {"query": " "}
    with pytest.raises(BadQuery, match="refuses"):
        read(path, **changes)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT unheard_of FROM patients", "a column that is not there"),
        ("SELECT * FROM nowhere", "a table or view that is not there"),
        ("SELEC * FROM patients", "not one SELECT"),
    ],
)
def test_why_a_query_is_refused_is_said(path, query, why):
    with pytest.raises(BadQuery, match=f"refuses the query: .*{why}"):
        read(path, query=query)


def test_a_query_of_duckdb_reads_no_other_file(tmp_path):
    path, other = tmp_path / "clinic.duckdb", tmp_path / "other.csv"
    run(path, *PATIENTS)
    other.write_text("a\n1\n")
    with pytest.raises(BadQuery):
        read(path, query=f"SELECT * FROM read_csv('{other}')")


def test_a_column_of_bytes_is_refused_by_its_name(path):
    run(path, "CREATE TABLE seen (id INTEGER, picture BLOB)", "INSERT INTO seen VALUES (1, 'a')")
    if path.suffix == ".sqlite":
        run(path, "INSERT INTO seen VALUES (2, x'00ff')")
    with pytest.raises(UnsupportedColumn, match="Column picture"):
        read(path, sheet="seen")


def test_lists_and_infinite_dates_are_refused_by_the_columns_name(tmp_path):
    path = tmp_path / "clinic.duckdb"
    run(
        path,
        "CREATE TABLE lists AS SELECT 1 AS id, [1, 2] AS tags",
        "CREATE TABLE endless AS SELECT 'infinity'::TIMESTAMP AS until",
        "CREATE TABLE days AS SELECT 'infinity'::DATE AS day",
    )
    for table, column in (("lists", "tags"), ("endless", "until"), ("days", "day")):
        with pytest.raises(UnsupportedColumn, match=f"Column {column}"):
            read(path, sheet=table)


def test_decimals_are_numbers_and_whole_ones_beyond_64_bits_stay_texts(tmp_path):
    path = tmp_path / "clinic.duckdb"
    run(
        path,
        "CREATE TABLE t AS SELECT 1.25::DECIMAL(18, 3) AS cost, 7::HUGEINT AS small,"
        " 12345678901234567890123::HUGEINT AS large",
    )
    frame = read(path, sheet="t").table.frame
    assert list(frame["cost"]) == [1.25]
    assert list(frame["small"]) == [7]
    assert list(frame["large"]) == ["12345678901234567890123"]


def test_values_of_sqlite_have_the_type_that_holds_all_of_them(tmp_path):
    path = tmp_path / "clinic.sqlite"
    run(
        path,
        "CREATE TABLE t (whole, decimal, text, large, none, day DATE, bit BOOLEAN)",
        "INSERT INTO t VALUES (1, 1, 1, 9007199254740993, NULL, '2026-01-02', 1),"
        " (2, 2.5, 'x', 0.5, NULL, 'soon', 7)",
    )
    frame = read(path, sheet="t").table.frame
    assert list(frame["whole"]) == [1, 2]
    assert list(frame["decimal"]) == [1.0, 2.5]
    assert list(frame["text"]) == ["1", "x"]
    assert list(frame["large"]) == ["9007199254740993", "0.5"]
    assert frame["none"].isna().all()
    assert list(frame["day"]) == ["2026-01-02", "soon"]
    assert list(frame["bit"]) == [1, 7]


def test_a_text_that_is_no_unicode_is_refused_without_being_quoted(tmp_path):
    path = tmp_path / "clinic.sqlite"
    run(path, "CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES (CAST(x'517569ff' AS TEXT))")
    with pytest.raises(WrongEncoding) as caught:
        read(path, sheet="t")
    assert "Qui" not in str(caught.value) + repr(caught.value.__context__)


@pytest.mark.parametrize(
    ("statement", "before", "after"),
    [
        ("CREATE TABLE mxyz (a)", b"mxyz", b"m\xe4\xf6z"),
        ("CREATE TABLE other (a, mxyz)", b"mxyz", b"m\xe4\xf6z"),
        ("CREATE TABLE other (a mxyz)", b"mxyz", b"m\xe4\xf6z"),
        ("CREATE VIEW other AS SELECT a FROM t", b"CREATE VIEW other", b"CREATE V\xe4EW other"),
        ("CREATE VIEW other AS SELECT mxyz FROM t", b"mxyz", b"m\xe4\xf6z"),
        ("CREATE VIEW other AS SELECT mxyz() FROM t", b"mxyz", b"m\xe4\xf6z"),
        ("CREATE INDEX mxyz ON t (a)", b"mxyz", b"m\xe4\xf6z"),
    ],
)
def test_a_schema_that_is_no_unicode_is_refused_or_read(tmp_path, statement, before, after):
    path = tmp_path / "clinic.sqlite"
    run(path, "CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES ('Quid')", statement)
    content = path.read_bytes()
    assert before in content
    path.write_bytes(content.replace(before, after))
    for look in (
        sheets_of,
        lambda path: read(path, sheet="t"),
        lambda path: read(path, sheet="other"),
    ):
        with suppress(FileError):
            look(path)


def test_odd_names_of_tables_and_columns_are_read_as_they_are(path):
    run(
        path, 'CREATE TABLE "a "" b; --" ("c "" d" TEXT)', 'INSERT INTO "a "" b; --" VALUES (\'x\')'
    )
    frame = read(path, sheet='a " b; --').table.frame
    assert list(frame.columns) == ['c " d']


def test_what_is_not_there_is_named(path):
    run(path, "CREATE TABLE hollow (a INTEGER)")
    with pytest.raises(BadOptions, match="no table or view called nurses"):
        read(path, sheet="nurses")
    with pytest.raises(BadOptions, match="has 3 tables and views"):
        read(path)
    with pytest.raises(BadOptions, match="A table and a query"):
        read(path, sheet="patients", query="SELECT 1 AS a")
    with pytest.raises(EmptyFile, match="hollow has no rows"):
        read(path, sheet="hollow")
    with pytest.raises(EmptyFile, match="has no rows"):
        read(path, query="SELECT * FROM patients WHERE id > 9")


def test_a_database_without_tables_is_refused(tmp_path):
    path = tmp_path / "clinic.sqlite"
    run(path, "CREATE TABLE t (a)", "DROP TABLE t")
    with pytest.raises(EmptyFile, match="has no tables"):
        sheets_of(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_database_is_refused(tmp_path, kind):
    path = tmp_path / f"clinic.{kind}"
    run(path, *PATIENTS)
    content = path.read_bytes()
    path.write_bytes(content[:64] + b"Quicksilver" * (len(content) // 11))
    with pytest.raises(FileError) as caught:
        read(path, sheet="patients")
    assert isinstance(caught.value, DamagedFile | EmptyFile | BadQuery)
    assert "Quicksilver" not in str(caught.value) + repr(caught.value.__context__)


def test_a_database_that_another_program_writes_to_is_waited_for_no_longer_than_a_person_would(
    tmp_path, monkeypatch
):
    path = tmp_path / "clinic.sqlite"
    run(path, *PATIENTS)
    monkeypatch.setattr("sfumato.formats.tables.databases._BUSY_SECONDS", 0.0)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CannotConnect, match="another program"):
            read(path, sheet="patients")


def test_progress_is_told_and_reading_ends_when_asked_to(path, monkeypatch):
    # While a driver keeps it waiting it tells more often, so on a busy machine not each time alike.
    monkeypatch.setattr("sfumato.formats.databases._POLL_SECONDS", 60.0)
    run(path, "CREATE TABLE numbers AS SELECT id FROM patients")
    options = options_for(path, sheet="numbers")
    watch = Watch()
    read_known(path, options, watch)
    assert watch.fractions[-1] == 1.0
    for stop_at in range(1, len(watch.fractions)):
        with pytest.raises(Cancelled):
            read_known(path, options, Watch(stop_at))


@pytest.mark.slow
def test_a_database_that_computes_for_long_is_stopped(path):
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000000)"
        " SELECT max(i) AS i FROM n"
    )
    if path.suffix == ".duckdb":
        endless = (
            "SELECT count(*) AS n FROM range(100000000) a, range(1000000) b"
            " WHERE (a.range * b.range) % 7 = 3"
        )
    with pytest.raises(Cancelled):
        read_known(path, options_for(path, query=endless), Watch(6))


@pytest.mark.parametrize("package", ["duckdb", "adbc_driver_postgresql.dbapi"])
def test_a_driver_that_is_not_installed_is_named_with_what_to_install(
    tmp_path, package, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    place = Address("localhost", database="clinic")
    options = replace(options_for(place), sheet="t")
    if package == "duckdb":
        place = tmp_path / "clinic.duckdb"
        place.write_bytes(bytes(8) + b"DUCK" + bytes(100))
        options = options_for(place, sheet="t")
    with pytest.raises(DriverMissing, match=r"sfumato\[databases\]"):
        read_known(place, options, Silent())


# ----- addresses


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann@db.example:5433/clinic",
        "postgresql://db.example/clinic?sslmode=verify-full",
        "postgresql://%2Ftmp/clinic",
        "postgresql:///?service=clinic",
        "postgresql://[::1]:5432/a%20b",
    ],
)
def test_an_address_is_written_as_it_was_read(text):
    address = place_of(text)
    assert isinstance(address, Address)
    assert str(address) == text
    assert Address.of(str(address)) == address


def test_a_password_stands_in_the_drivers_url_alone():
    address = Address.of("postgres://ann@db.example/clinic")
    assert "p%40s%2Fs" in address.url("p@s/s")
    assert "p" + "@s" not in f"{address} {address!r} {address.name} {address.server}"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("postgresql://ann:Quicksilver@db/clinic", "holds a password"),
        ("postgresql://ann:@db/clinic", "holds a password"),
        ("postgresql://db/clinic?password=Quicksilver", "holds a password"),
        ("postgresql://db/clinic?sslpassword=Quicksilver", "holds a password"),
        ("postgresql://db/clinic?options=Quicksilver", "a setting called options"),
        ("postgresql://db:Quicksilver/clinic", "not the address"),
        ("postgresql://[::1/clinic", "not the address"),
        ("postgresql://db/cli\0nic", "not the address"),
    ],
)
def test_an_address_with_a_password_or_what_is_none_is_refused_and_not_quoted(text, match):
    with pytest.raises(BadAddress, match=match) as caught:
        place_of(text)
    assert "Quicksilver" not in str(caught.value) + repr(caught.value.__context__)


def test_other_texts_are_paths():
    assert place_of("clinic.csv") == Path("clinic.csv")


# ----- the digest

CELLS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.text(max_size=4)),
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        st.one_of(st.none(), st.floats()),
        st.one_of(st.none(), st.booleans()),
    ),
    min_size=1,
    max_size=12,
)
TYPES = (pa.string(), pa.int64(), pa.float64(), pa.bool_())


def digest(rows, cuts=()) -> str:
    made = ContentDigest(["a", "b", "c", "d"], TYPES)
    bounds = [0, *sorted(cuts), len(rows)]
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(TYPES)]
    for start, end in pairwise(bounds):
        if end > start:
            made.add([column.slice(start, end - start) for column in columns])
    return made.finish()


def plain(rows) -> str:
    """What tells rows apart: the texts of values, where both zeros are one."""
    return repr([tuple(v + 0.0 if isinstance(v, float) else v for v in row) for row in rows])


@given(CELLS, st.lists(st.integers(0, 12), max_size=3))
def test_where_blocks_end_is_of_no_account(rows, cuts):
    assert digest(rows, [min(cut, len(rows)) for cut in cuts]) == digest(rows)


@given(CELLS, CELLS)
def test_two_tables_have_one_digest_only_where_all_values_are_the_same(first, second):
    assert (digest(first) == digest(second)) == (plain(first) == plain(second))


def test_a_digest_knows_names_types_and_where_a_text_ends():
    made = set()
    for names, types, values in (
        (["a", "b"], [pa.string(), pa.string()], [["xy"], ["z"]]),
        (["a", "b"], [pa.string(), pa.string()], [["x"], ["yz"]]),
        (["b", "a"], [pa.string(), pa.string()], [["xy"], ["z"]]),
        (["a", "b"], [pa.string(), pa.string()], [["xy", ""], ["z", ""]]),
        (["a", "b"], [pa.string(), pa.string()], [["xy", None], ["z", ""]]),
        (["a", "b"], [pa.int64(), pa.float64()], [[0], [0.0]]),
        (["a", "b"], [pa.float64(), pa.int64()], [[0.0], [0]]),
    ):
        one = ContentDigest(names, types)
        one.add([pa.array(v, t) for v, t in zip(values, types, strict=True)])
        made.add(one.finish())
    assert len(made) == 7


def test_what_columns_of_sqlite_hold_beside_their_type_is_told_with_a_choice(tmp_path):
    path = tmp_path / "clinic.sqlite"
    run(
        path,
        "CREATE TABLE t (number, day DATE, moment TIMESTAMP, large)",
        "INSERT INTO t VALUES (1, '2026-01-02', '2026-01-02T10:00:00Z', 0.5),"
        " (2, 'soon', '2026-01-03T10:00:00Z', 9007199254740993), ('x', NULL, NULL, 1)",
    )
    found = read(path, sheet="t")
    told = {note.columns[0]: note for note in found.notes}
    assert {name: note.count for name, note in told.items()} == {
        "number": 1,
        "day": 1,
        "moment": None,
        "large": None,
    }
    chosen = {
        name: values_of(read_file(path, note.ways[0].options, Silent()).table.frame[name].dropna())
        for name, note in told.items()
    }
    assert chosen["number"] == [1, 2]
    assert chosen["day"] == [pd.Timestamp("2026-01-02")]
    assert chosen["moment"][0] == pd.Timestamp("2026-01-02 10:00")
    assert chosen["large"] == [0.5, 9007199254740992.0, 1.0]
    assert not read(path, sheet="t", version=1).notes


def test_enumerations_keep_their_order_and_zones_of_times_are_told(tmp_path):
    path = tmp_path / "clinic.duckdb"
    run(
        path,
        "CREATE TYPE pain AS ENUM ('none', 'some', 'much')",
        "CREATE TABLE t AS SELECT x::pain AS pain, '10:00:00+02'::TIMETZ AS visit,"
        " '2026-01-02 10:00:00+02'::TIMESTAMPTZ AS moment FROM (VALUES ('much'), ('none')) v(x)",
    )
    found = read(path, sheet="t")
    assert found.table.frame["pain"].tolist() == ["much", "none"]
    assert found.table.frame["pain"].cat.ordered
    assert found.table.frame["pain"].cat.categories.tolist() == ["none", "some", "much"]
    assert {note.columns: note.caution for note in found.notes} == {
        ("visit",): True,
        ("moment",): False,
    }
    before = read(path, sheet="t", version=1)
    assert before.digest == found.digest
    assert values_of(before.table.frame["pain"]) == ["much", "none"]
    assert not before.notes
