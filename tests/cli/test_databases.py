"""Projects whose table is in a database: made, released from, verified and followed."""

from __future__ import annotations

import pytest

from sfumato.project.project_file import ProjectFile
from tests.cli.conftest import REASON
from tests.formats.test_databases import run
from tests.project.making import PASSPHRASE, table

QUERY = "SELECT person, sex, illness FROM ward -- who is there\n"


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, line):
    """A database that holds the ward, with another table beside it."""
    path = line.folder / f"clinic.{request.param}"
    frame = table().frame.astype(str)
    rows = ", ".join(str(tuple(row)) for row in frame.itertuples(index=False))
    run(
        path,
        "CREATE TABLE ward (person TEXT PRIMARY KEY, sex TEXT, illness TEXT)",
        f"INSERT INTO ward VALUES {rows}",
        "CREATE TABLE beds (bed INTEGER)",
    )
    return path


def init(line, database, *more):
    rules = line.folder / "rules.toml"
    return line.run("init", line.project, "--database", database, "--rules", rules, *more)


@pytest.mark.few(1)
def test_a_table_of_a_database_gives_the_release_that_its_file_gives(line, database):
    assert init(line, database, "--table", "ward") == 0, line.remarks
    assert line.release() == 0, line.remarks
    bundle = line.bundles()[0]
    assert line.run("verify", bundle, "--project", line.project) == 0, line.remarks
    line.run("trace", bundle / "data.csv", "--project", line.project)
    assert "Clinic A" in line.output


def test_a_query_is_read_from_a_file(line, database):
    query = line.folder / "ward.sql"
    query.write_text(QUERY)
    assert init(line, database, "--query", query) == 0, line.remarks
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        source = project.document.source
    assert source.options["query"] == QUERY
    assert source.path == str(database)
    assert source.rows == 12
    assert line.release() == 0, line.remarks


@pytest.mark.few(1)
def test_rows_that_changed_are_noticed_and_become_an_edition(line, database):
    assert init(line, database, "--table", "ward") == 0, line.remarks
    run(database, "INSERT INTO beds VALUES (1)")
    assert line.run("source", line.project) == 0, line.remarks
    run(database, "INSERT INTO ward VALUES ('P999', 'f', 'gout')")
    assert line.release() == 3
    assert "changed since the project last read it" in line.remarks
    assert line.run("source", line.project, "--new-edition", database) == 0, line.remarks
    assert "13 records" in line.output
    assert line.release() == 0, line.remarks


def test_the_table_that_is_not_there_is_named(line, database):
    assert init(line, database, "--table", "nurses") == 3
    assert "no table or view called nurses" in line.remarks
    assert line.run("init", line.project, "--table", database) == 3
    assert "has 2 tables and views" in line.remarks


def test_a_query_without_a_database_is_a_mistake_of_use(line):
    query = line.folder / "ward.sql"
    query.write_text(QUERY)
    assert line.run("init", line.project, "--query", query) == 2
    assert "--database" in line.remarks


def test_a_password_in_an_address_is_refused_and_not_repeated(line):
    address = "postgresql://ann:Quicksilver@db.example/clinic"
    assert line.run("init", line.project, "--database", address, "--table", "ward") == 3
    assert "holds a password" in line.remarks
    assert "PGPASSWORD" in line.remarks
    assert "Quicksilver" not in line.remarks + line.output
    assert not line.project.exists()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_folder_of_parquet_files_is_a_table(line):
    folder = line.folder / "ward"
    folder.mkdir()
    frame = table().frame.astype({"sex": str, "illness": str})
    frame[:5].to_parquet(folder / "a.parquet", index=False)
    frame[5:].to_parquet(folder / "b.parquet", index=False)
    rules = line.folder / "rules.toml"
    assert line.run("init", line.project, "--table", folder, "--rules", rules) == 0, line.remarks
    assert (
        line.run(
            "release",
            line.project,
            "--recipient",
            "Clinic A",
            "--out",
            line.folder / "out",
            "--accept",
            REASON,
        )
        == 0
    ), line.remarks
    (folder / "b.parquet").unlink()
    assert line.run("source", line.project) == 3
    assert "changed since" in line.remarks
