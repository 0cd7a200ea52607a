"""What leaves is what the custodian saw, from the source's file to the bundle's."""

from __future__ import annotations

import csv
from collections import Counter
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.commands.shared.command import PASSPHRASE_VARIABLE
from tests.cli.conftest import REASON, CommandLine
from tests.formats.test_databases import run
from tests.project.making import PASSPHRASE

RULES = """\
format = 1
record_key = "key"
[columns.key]
role = "identifying"
[columns.ill]
role = "sensitive"
kind = "categorical"
values = ["cold", "flu", "none"]
[[policy]]
attributes = ["ill"]
mechanism = "uniform"
[[recipients]]
name = "Public"
[recipients.levels]
ill = { retention_probability = 0.5 }
"""
ROWS = 400


OPEN = 'role = "insensitive"'
QUASI = 'role = "quasi-identifier"'


@pytest.fixture
def command(tmp_path):
    return CommandLine(tmp_path, {PASSPHRASE_VARIABLE: PASSPHRASE})


def release(command, source, columns, form="csv", *more):
    """Make a project of a source, whose other columns are as stated, and a release of it."""
    rules = command.folder / "rules.toml"
    rules.write_text(RULES + "".join(f"[columns.{name}]\n{text}\n" for name, text in columns))
    command.project.unlink(missing_ok=True)
    assert command.run("init", command.project, *source, "--rules", rules, *more) == 0, (
        command.remarks
    )
    out = command.folder / f"out {form} {source[1].suffix}"
    given = ("--recipient", "Public", "--out", out, "--format", form, "--accept", REASON)
    assert command.run("release", command.project, *given) == 0, command.remarks
    [data] = out.glob(f"*/data.{form}")
    return data


def people(**columns):
    ill = [("cold", "flu", "none")[i % 3] for i in range(ROWS)]
    return pd.DataFrame({"key": [f"P{i:05d}" for i in range(ROWS)], "ill": ill, **columns})


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.few(1)
@pytest.mark.parametrize("ending", ["parquet", "csv", "duckdb"])
def test_decimal_amounts_leave_with_the_digits_that_they_had(command, ending):
    amounts = [Decimal(100_000 + 37 * i).scaleb(-2) for i in range(ROWS)]
    path, parquet = command.folder / f"a.{ending}", command.folder / "a.parquet"
    table = pa.Table.from_pandas(people(), preserve_index=False)
    pq.write_table(table.append_column("sum", pa.array(amounts, pa.decimal128(12, 2))), parquet)
    source = ["--table", path]
    if ending == "csv":
        people(sum=amounts).to_csv(path, index=False)
    elif ending == "duckdb":
        run(path, f"CREATE TABLE t AS SELECT * FROM '{parquet}'")
        source = ["--database", path, "--table", "t"]
    data = release(command, source, [("sum", OPEN)])
    assert sorted(Decimal(row["sum"]) for row in rows_of(data)) == amounts
    assert command.run("verify", data.parent, "--project", command.project) == 0


def test_what_counts_as_one_value_is_one_value_in_the_bundle(command):
    shift = [-0.0 if i == 11 else 0.0 for i in range(ROWS)]
    path = command.folder / "t.csv"
    people(town=[("A", "B")[i % 2] for i in range(ROWS)], shift=shift).to_csv(path, index=False)
    columns = [("town", QUASI), ("shift", f'{QUASI}\nkind = "numeric"')]
    data = release(command, ["--table", path], columns)
    classes = Counter((row["town"], row["shift"]) for row in rows_of(data))
    assert classes == {("A", "0"): 200, ("B", "0"): 200}
    command.run("check", command.project)
    assert f"the smallest class has {min(classes.values())} records" in command.output


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_file_names_no_category_that_only_rows_have_that_stay_behind(command):
    towns = [f"Hamlet{i:02d}" if i < 40 else ("Aton", "Beton")[i % 2] for i in range(ROWS)]
    frame = people(home=[f"H{i // 2:05d}" for i in range(ROWS)])
    order = [*sorted({*towns}), "OtherCohort"]
    frame["town"] = pd.Categorical(towns, order, ordered=True)
    path = command.folder / "t.parquet"
    frame.to_parquet(path)
    columns = [("home", 'role = "identifying"'), ("town", QUASI)]
    unit = ("--unit", "home", "--unit-rows", "1")
    data = release(command, ["--table", path], columns, "parquet", *unit)
    town = pq.read_table(data)["town"].combine_chunks()
    assert town.type.ordered
    assert town.dictionary.to_pylist() == sorted(set(town.to_pylist()))
    assert len(town) == ROWS // 2
    gone = {*order} - {*town.to_pylist()}
    assert len(gone) == 21
    assert not [name for name in gone if name.encode() in data.read_bytes()]
