"""A table of a PostgreSQL server: read, known again, refused, and its password kept nowhere."""

from __future__ import annotations

import socket
import time

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import PASSPHRASE_VARIABLE
from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Silent
from sfumato.formats.databases import PASSWORDS, Address
from sfumato.formats.errors import (
    BadOptions,
    BadQuery,
    CannotConnect,
    EmptyFile,
    UnsupportedColumn,
    WrongPassword,
)
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import first_rows, read_known, sheets_of
from tests.cli.conftest import CommandLine
from tests.formats.reading import Watch
from tests.postgres import PASSWORD, postgres
from tests.project.making import PASSPHRASE

__all__ = ["postgres"]
pytestmark = [pytest.mark.slow, pytest.mark.queued]


@pytest.fixture
def address(postgres):
    known = Address.of(postgres.address())
    PASSWORDS.keep(known, PASSWORD)
    yield known
    PASSWORDS.forget()


def options(**changes) -> ReadOptions:
    return ReadOptions(format="postgresql", **changes)


def read(address, **changes):
    return read_known(address, options(**changes), Silent())


def test_tables_and_views_are_listed_with_the_schema_that_is_not_the_usual(address):
    assert sheets_of(address) == ("patients", "unreadable", "north", 'study.odd " name')


def test_every_type_is_read_as_what_it_is(address):
    frame = read(address, sheet="patients")[0].table.frame
    assert list(frame["id"]) == list(range(1, 41))
    assert frame["name"].isna().sum() == 5
    assert frame["born"][0] == pd.Timestamp("1950-01-02")
    assert frame["seen"][0] == pd.Timestamp("2026-01-01 08:31")
    assert list(frame["cost"][:3]) == [1.25, 2.5, 3.75]
    assert np.allclose(frame["weight"], np.arange(1, 41) / 3)
    assert list(frame["smoker"][:2]) == [False, True]
    assert list(frame["ward"][:2].astype(str)) == ["south", "north"]
    assert frame["code"][6] == "00000000-0000-0000-0000-000000000007"
    assert frame["visits"][0] == 5_000_000_000
    assert frame["admitted"].astype(str)[0].startswith("2026-01-01 06:30:00")
    assert list(frame["fee"][:2]) == [1.0, 2.0]
    assert set(frame["note"].astype(str)) == {"Zürich"}


def test_a_table_is_the_same_until_a_value_changes(address, postgres):
    postgres.run("CREATE TABLE moved AS SELECT * FROM patients")
    before = read(address, sheet="moved")[1]
    postgres.run("UPDATE moved SET name = name WHERE id < 9", "VACUUM FULL moved")
    assert read(address, sheet="moved")[1] == before
    assert read(address, query="SELECT * FROM patients ORDER BY id DESC")[1] == before
    postgres.run("UPDATE moved SET cost = cost + 0.01 WHERE id = 7")
    assert read(address, sheet="moved")[1] != before
    postgres.run("DROP TABLE moved")


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM patients",
        "SELECT 1; DELETE FROM patients",
        "SELECT 1) AS q; DELETE FROM patients; --",
        "WITH gone AS (DELETE FROM patients RETURNING *) SELECT * FROM gone",
        "SELECT set_config('transaction_read_only', 'off', false) FROM patients",
        "SELECT nextval('numbers')",
        "SELECT id / (id - 7) AS a FROM patients",
        "SELECT name::int AS a FROM patients",
        "SELECT nowhere FROM patients",
        "SELEC",
    ],
)
def test_a_query_that_writes_or_fails_is_refused_without_a_value(address, postgres, query):
    postgres.run("CREATE SEQUENCE IF NOT EXISTS numbers")
    with pytest.raises(BadQuery) as caught:
        read(address, query=query)
    assert "name 1" not in str(caught.value) + repr(caught.value.__context__)
    assert read(address, query="SELECT count(*) AS n FROM patients")[0].table.frame["n"][0] == 40


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT unheard_of FROM patients", "a column that is not there"),
        ("SELECT * FROM nowhere", "a table or view that is not there"),
        ("SELEC * FROM patients", "not one SELECT"),
    ],
)
def test_why_a_query_is_refused_is_said(address, query, why):
    with pytest.raises(BadQuery, match=f"refuses the query: .*{why}"):
        read(address, query=query)


def test_columns_that_are_no_values_and_infinite_dates_are_refused_by_name(address):
    with pytest.raises(UnsupportedColumn, match="Column picture"):
        read(address, sheet="unreadable")
    with pytest.raises(UnsupportedColumn, match="Column tags"):
        read(address, query="SELECT id, tags FROM unreadable")
    for kind in ("date", "timestamp"):
        for sign in ("", "-"):
            with pytest.raises(UnsupportedColumn, match="Column until"):
                read(address, query=f"SELECT '{sign}infinity'::{kind} AS until")


def test_what_is_not_there_is_named(address):
    with pytest.raises(BadOptions, match="called nurses"):
        read(address, sheet="nurses")
    with pytest.raises(EmptyFile, match="has no rows"):
        read(address, sheet='study.odd " name')


def test_a_password_that_is_wrong_or_missing_is_told_and_not_quoted(address, postgres):
    PASSWORDS.keep(address, "Mercury")
    with pytest.raises(WrongPassword, match="refuses this user or password") as caught:
        read(address, sheet="patients")
    assert "Mercury" not in str(caught.value) + repr(caught.value.__context__)
    PASSWORDS.forget()
    with pytest.raises(WrongPassword, match="wants a password"):
        read(address, sheet="patients")
    missing = Address.of(postgres.address("nowhere"))
    PASSWORDS.keep(missing, PASSWORD)
    with pytest.raises(CannotConnect, match="no such database"):
        read(missing, sheet="patients")


def test_a_server_that_is_down_or_never_answers_is_not_waited_for():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(CannotConnect, match=f"127.0.0.1:{port} does not answer"):
            read(Address("127.0.0.1", port, "clinic", "ann"), sheet="t")
        taken.listen()
        begun = time.monotonic()
        with pytest.raises(Cancelled):
            read_known(Address("127.0.0.1", port, "clinic", "ann"), options(sheet="t"), Watch(4))
        assert time.monotonic() - begun < 4


def test_a_query_that_computes_for_long_is_stopped(address):
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        read_known(address, options(query="SELECT pg_sleep(60)::text AS a"), Watch(12))
    assert time.monotonic() - begun < 30


def test_rows_written_while_it_reads_are_not_seen(address, postgres):
    seen = []

    class Writer:
        def report(self, fraction, text):
            if "Reading" in str(text) and not seen:
                seen.append(text)
                postgres.run("INSERT INTO patients (id) VALUES (999)")

    try:
        counted = read_known(address, options(sheet="patients"), Writer())[0]
        assert seen
        assert counted.table.rows == 40
    finally:
        postgres.run("DELETE FROM patients WHERE id = 999")


def test_the_first_rows_come_alone(address):
    assert first_rows(address, options(sheet="patients"), 5).table.rows == 5


def test_a_release_by_command_takes_the_password_from_the_variable_and_keeps_it_nowhere(
    postgres, tmp_path, monkeypatch
):
    line = CommandLine(tmp_path, {PASSPHRASE_VARIABLE: PASSPHRASE})
    place = ("--database", postgres.address(), "--table", "patients", "--record-key", "id")
    assert line.run("init", line.project, *place) == 3
    assert "wants a password" in line.remarks
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert line.run("init", line.project, *place) == 0, line.remarks
    assert line.run("source", line.project) == 0, line.remarks
    assert postgres.address() in line.output
    assert PASSWORD not in line.output + line.remarks
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in held
    assert b"Quicksilver" not in held
