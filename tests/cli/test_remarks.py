"""Remarks on a reading at the command line: said once, with what to type, and in the check."""

from __future__ import annotations

import json
import struct

import pandas as pd
import pyreadstat
import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.commands.shared.remarks import to_type
from sfumato.formats.choices import ReadingChoice
from sfumato.formats.options import BadValues, ColumnType, DateOrder
from sfumato.project.project_file import ProjectFile
from tests.formats.doubtful import doubt_postcodes, people
from tests.project.making import PASSPHRASE

RULES = """
format = 1
record_key = "id"
[columns]
id = { role = "identifying" }
plz = { role = "insensitive" }
ill = { role = "sensitive", values = ["cold", "flu"] }
[[policy]]
attributes = ["ill"]
mechanism = "uniform"
[[recipients]]
name = "Clinic A"
levels = { ill = { retention_probability = 0.5 } }
"""


@pytest.fixture
def doubted(line, monkeypatch):
    """A project of a table whose postcodes are in doubt."""
    doubt_postcodes(monkeypatch)
    rules = line.folder / "rules.toml"
    rules.write_text(RULES)
    table = people(line.folder)
    assert line.run("init", line.project, "--table", table, "--rules", rules) == 0, line.remarks
    return line


def findings(line, *more):
    line.run("check", line.project, "--json", *more)
    [found] = json.loads(line.output)
    return [one for one in found["findings"] if one["check"] == "How it is read"]


def test_init_says_each_remark_once_with_its_rows_and_what_to_type(doubted):
    told = doubted.remarks.splitlines()
    at = told.index("Caution: “plz” may be a code: 2 values end in a zero.")
    assert told[at + 1 : at + 3] == [
        "  In rows 1 and 3.",
        "  Read “plz” as text: --column-type plz=text",
    ]
    assert sum("may be a code" in one for one in told) == 1
    assert told[at + 3] == "The file has 3 rows."


def test_a_caution_is_found_before_a_release_until_it_is_chosen_otherwise(doubted):
    [one] = findings(doubted)
    assert one["severity"] == "caution"
    assert one["finding"].startswith("plz may be a code")
    assert one["columns"] == ["plz"]
    assert one["remedies"][0]["reading"]["column_types"] == {"plz": "text"}
    doubted.run("check", doubted.project)
    [typed] = [each for each in doubted.output.splitlines() if "--new-edition" in each]
    words = typed.split()[1:]
    assert words[-2:] == ["--column-type", "plz=text"]
    assert doubted.run(*words) == ExitCode.OK, doubted.remarks
    assert findings(doubted) == []
    with ProjectFile.open(doubted.project, PASSPHRASE, read_only=True) as project:
        assert project.document.source.options["column_types"] == {"plz": "text"}
        entry = project.ledger.entries[-1]
        assert entry.details["to"]["read otherwise"] == ["plz is read as text."]


def test_a_reason_given_with_a_release_answers_a_caution_and_is_kept(doubted):
    out = doubted.folder / "out"
    more = ("--recipient", "Clinic A", "--out", out, "--accept", "Numbers, indeed")
    assert doubted.run("release", doubted.project, *more) == ExitCode.OK, doubted.remarks
    [one] = findings(doubted)
    assert one["reason"] == "Numbers, indeed"
    with ProjectFile.open(doubted.project, PASSPHRASE, read_only=True) as project:
        kept = [each["check"] for each in project.releases[0].details["accepted"]]
        assert "How it is read" in kept


def test_a_remark_on_a_column_that_does_not_leave_is_no_finding(doubted):
    rules = doubted.folder / "rules.toml"
    rules.write_text(RULES.replace('"insensitive"', '"identifying"'))
    assert doubted.run("rules", doubted.project, "--apply", rules) == ExitCode.OK
    assert findings(doubted) == []


def test_how_a_table_is_read_is_stated_of_an_edition(doubted):
    assert doubted.run("source", doubted.project, "--skip-lines", "1") == ExitCode.USAGE
    assert "--new-edition" in doubted.remarks


@pytest.mark.parametrize(
    ("choice", "typed"),
    [
        (ReadingChoice("encoding", "cp1252"), "--encoding cp1252"),
        (ReadingChoice("encoding", ""), "--encoding utf-8"),
        (ReadingChoice("delimiter", "\t"), "--delimiter tab"),
        (ReadingChoice("delimiter", ";"), "--delimiter ';'"),
        (ReadingChoice("quote", ""), "--quote none"),
        (ReadingChoice("header", False), "--no-header"),
        (ReadingChoice("any_size", True), "--any-size"),
        (ReadingChoice("skip_lines", 3), "--skip-lines 3"),
        (ReadingChoice("missing", ("", "NA", "n a")), "--missing NA --missing 'n a'"),
        (ReadingChoice("missing", ()), "[reading] missing = []"),
        (ReadingChoice("query", "SELECT 1"), '[reading] query = "SELECT 1"'),
        (ReadingChoice("date_order", DateOrder.DAY_FIRST), "--date-order day-month-year"),
        (ReadingChoice("column_types", ColumnType.TEXT, "a b"), "--column-type 'a b=text'"),
        (ReadingChoice("column_types", None, "age"), "leave out --column-type age=…"),
    ],
)
def test_what_to_type_is_an_argument_or_a_key_of_the_rules(choice, typed):
    assert to_type(choice) == typed


def test_what_becomes_of_bad_values_is_typed_by_column():
    choice = ReadingChoice("column_bad_values", BadValues.SKIP, "age")
    assert to_type(choice) == "--column-bad-value age=skip"


def test_another_holders_table_is_remarked_on(doubted):
    rules = doubted.folder / "rules.toml"
    rules.write_text(RULES.replace('"insensitive"', '"quasi-identifier"'))
    assert doubted.run("rules", doubted.project, "--apply", rules) == ExitCode.OK
    assert doubted.run("hierarchy", doubted.project, "--column", "plz", "--propose") == ExitCode.OK
    other = doubted.folder / "other.csv"
    other.write_text("plz,ill\n10000,flu\n20117,cold\n55550,flu\n")
    more = ("--add", other, "--holder", "Registry", "--sensitive", "ill", "--quasi", "plz")
    doubted.run("others", doubted.project, *more)
    assert "Caution: “plz” may be a code" in doubted.remarks
    assert "--column-type plz=text" in doubted.remarks


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_weight_of_an_spss_file_is_no_caution_once_its_column_has_the_role(line):
    table, rules = line.folder / "t.sav", line.folder / "rules.toml"
    rows = [(f"P{i}", 1.5, "cold" if i % 2 else "flu") for i in range(40)]
    pyreadstat.write_sav(pd.DataFrame(rows, columns=["id", "w", "ill"]), table)
    with table.open("r+b") as file:
        file.seek(76)  # which place holds the weight, from 1
        file.write(struct.pack("<i", 2))
    rules.write_text(RULES.replace("plz", "w"), encoding="utf-8")
    assert line.run("init", line.project, "--table", table, "--rules", rules) == 0, line.remarks
    assert line.run("check", line.project) == 0
    assert "this file is weighted by “w”" in line.output
    assert line.run("attributes", line.project, "--role", "w=weight") == 0
    assert line.run("check", line.project) == 0
    assert "ready to release" in line.output
    assert "weighted by" not in line.output


def test_a_column_that_mixes_numbers_and_texts_is_refused_with_what_to_type(line):
    table = line.folder / "mixed.csv"
    values = ["unknown" if row == 40 else str(row % 9) for row in range(200)]
    table.write_text("\n".join(["id,a b", *(f"{row},{one}" for row, one in enumerate(values))]))
    assert line.run("init", line.project, "--table", table) == ExitCode.EXPECTED_ERROR
    told = line.remarks.splitlines()
    assert told[-3:] == [
        "  Treat as missing: --column-bad-value 'a b=missing'",
        "  Skip the row: --column-bad-value 'a b=skip'",
        "  Read the column as text: --column-bad-value 'a b=text'",
    ]
    assert "unknown" not in line.remarks
    stated = ("--column-bad-value", "a b=text")
    assert line.run("init", line.project, "--table", table, *stated) == ExitCode.OK


def test_an_encoding_that_is_stated_is_in_doubt_no_more(line):
    table = line.folder / "names.csv"
    rows = [f"{town};{at % 4}" for at in range(60) for town in ("Köln", "Zürich", "Graz")]
    table.write_bytes("\n".join(["Ort;Füße", *rows]).encode("cp1252"))
    assert line.run("init", line.project, "--table", table) == ExitCode.OK
    assert "The text seems to be Windows-1252 (Western European)" in line.remarks
    again = ("source", line.project, "--new-edition", table, "--encoding", "cp1252")
    assert line.run(*again) == ExitCode.OK
    assert "seems to be" not in line.remarks
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        assert [one for one in project.document.source.notes if "seems" in one.text] == []
    line.project.unlink()
    stated = ("--encoding", "cp1252")
    assert line.run("init", line.project, "--table", table, *stated) == ExitCode.OK
    assert "seems to be" not in line.remarks
