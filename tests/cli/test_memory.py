"""``--memory``: a long table is read in parts, or it is said why not."""

from __future__ import annotations

import csv

import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.formats.tables import delimited
from tests.cli.conftest import REASON
from tests.formats.reading import write
from tests.project.making import table

PARTS, WHOLE = "read in parts", "read as a whole"


def source_in(folder, ending):
    """Write a table of a format."""
    frame = table(40).frame.astype(str) if ending == "parquet" else table(40).frame
    return write(frame, folder / f"ward.{ending}")


BOTH = pytest.mark.parametrize("long", ["csv", "parquet"], indirect=True)


@pytest.fixture
def long(line, request):
    """The command line with a project whose table is in a file that can be read in parts."""
    source = source_in(line.folder, getattr(request, "param", "parquet"))
    rules = line.folder / "rules.toml"
    arguments = ("init", line.project, "--table", source, "--rules", rules)
    assert line.run(*arguments) == ExitCode.OK, line.remarks
    return line


@BOTH
def test_a_release_in_parts_is_the_release_of_the_whole_table(long):
    assert long.release("Clinic A", "--memory", "0") == ExitCode.OK, long.remarks
    assert PARTS in long.remarks
    where = ("--out", long.folder / "whole", "--accept", REASON)
    assert long.run("release", long.project, "--recipient", "Clinic A", *where) == ExitCode.OK
    assert PARTS not in long.remarks
    [made], [whole] = long.bundles(), (long.folder / "whole").iterdir()
    for name in ("data.csv", "README.md", "datapackage.json"):
        assert (made / name).read_bytes() == (whole / name).read_bytes()
    assert long.run("verify", made, "--project", long.project) == ExitCode.OK, long.output


@BOTH
def test_a_check_in_parts_finds_what_the_check_of_the_whole_table_does(long):
    code = long.run("check", long.project)
    wanted = long.output
    assert long.run("check", long.project, "--memory", "0") == code
    assert PARTS in long.remarks
    assert long.output == wanted
    assert "Clinic A" in wanted


@pytest.mark.parametrize("key", [True, False], ids=["Stata", "no record key"])
def test_what_can_not_be_read_in_parts_is_read_as_a_whole_and_it_is_said(line, key):
    rules = line.folder / "rules.toml"
    if not key:
        rules.write_text(rules.read_text().replace('record_key = "person"\n', ""))
    source = source_in(line.folder, "dta" if key else "parquet")
    assert line.run("init", line.project, "--table", source, "--rules", rules) == ExitCode.OK
    assert line.release("Clinic A", "--memory", "0") == ExitCode.OK, line.remarks
    assert WHOLE in line.remarks
    assert ("position" in line.remarks) != key


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_project_is_made_of_a_long_table_and_its_rules_and_levels_are_changed(line, ending):
    source, rules = source_in(line.folder, ending), line.folder / "rules.toml"
    arguments = ("--table", source, "--rules", rules, "--memory", "0")
    assert line.run("init", line.project, *arguments) == ExitCode.OK, line.remarks
    assert PARTS in line.remarks
    assert "40 records" in line.remarks
    rules.write_text(rules.read_text().replace("Ward 7", "Ward 8"))
    assert line.run("rules", line.project, "--apply", rules, "--memory", "0") == ExitCode.OK
    stated = ("--of", "Clinic A", "--level", "retention_probability=0.3", "--memory", "0")
    assert line.run("recipients", line.project, *stated) == ExitCode.OK, line.remarks
    assert "retention_probability = 0.3" in line.output
    assert line.run("rules", line.project) == ExitCode.OK
    assert "Ward 8" in line.output


def test_types_found_when_a_project_is_made_are_known_until_its_file_changes(line, monkeypatch):
    source = source_in(line.folder, "csv")
    given = ("--table", source, "--rules", line.folder / "rules.toml", "--memory", "0")
    assert line.run("init", line.project, *given) == ExitCode.OK, line.remarks
    looked = []
    monkeypatch.setattr(delimited, "settle", lambda *given: looked.append(given) or (None, []))
    assert line.release("Clinic A", "--memory", "0") == ExitCode.OK, line.remarks
    [bundle] = line.bundles()
    found = line.run("verify", bundle, "--project", line.project, "--memory", "0")
    assert (found, looked) == (ExitCode.OK, []), line.output
    source.write_text(source.read_text().rstrip("\n") + ",Secret\n")
    assert line.release("Clinic A", "--memory", "0") == ExitCode.EXPECTED_ERROR
    assert "changed since the project last read it" in line.remarks
    assert "Secret" not in line.remarks


def test_rows_of_units_are_released_and_verified_in_parts(line):
    frame = table(40).frame.astype(str).assign(house=[f"H{i // 3}" for i in range(40)])
    source, rules = line.folder / "ward.parquet", line.folder / "rules.toml"
    frame.to_parquet(source, index=False)
    rules.write_text(rules.read_text() + '[columns.house]\nrole = "identifying"\n')
    arguments = ("--table", source, "--rules", rules, "--unit", "house", "--unit-rows", "2")
    assert line.run("init", line.project, *arguments) == ExitCode.OK, line.remarks
    assert WHOLE not in line.remarks
    code = line.run("check", line.project)
    wanted = line.output
    found = line.run("check", line.project, "--memory", "0")
    assert (line.output, found) == (wanted, code)
    bundle = bundle_in_parts(line, "parquet")
    assert PARTS in line.remarks
    assert len(pd.read_parquet(bundle / "data.parquet")) == 27
    assert verify(line, bundle) == ExitCode.OK, line.output
    assert "It has all 27 records of the source table that may leave." in line.output
    stated = ("--of", "Clinic A", "--level", "retention_probability=0.3", "--memory", "0")
    assert line.run("recipients", line.project, *stated) == ExitCode.OK, line.remarks
    assert WHOLE not in line.remarks


def test_a_project_with_units_is_made_in_parts_as_in_memory(line):
    frame = table(40).frame.astype(str).assign(house=[f"H{i // 3}" for i in range(40)])
    source, rules = line.folder / "ward.parquet", line.folder / "rules.toml"
    frame.to_parquet(source, index=False)
    rules.write_text(rules.read_text() + '[columns.house]\nrole = "identifying"\n')
    made = {}
    for name, memory in (("whole", "1000"), ("parts", "0")):
        given = ("--table", source, "--rules", rules, "--unit", "house", "--memory", memory)
        project = line.folder / f"{name}.sfumato"
        assert line.run("init", project, *given) == ExitCode.OK, line.remarks
        assert (PARTS in line.remarks) == (name == "parts")
        assert "at most 3 of them leave" in line.remarks
        assert line.run("rules", project) == ExitCode.OK
        made[name] = line.output
    assert made["parts"] == made["whole"]


def bundle_in_parts(long, format_name):
    assert long.release("Clinic A", "--memory", "0", "--format", format_name) == ExitCode.OK
    [bundle] = long.bundles()
    return bundle


def verify(line, bundle):
    return line.run("verify", bundle, "--project", line.project, "--memory", "0")


@BOTH
@pytest.mark.parametrize("format_name", ["csv", "parquet"])
def test_a_bundle_is_verified_in_parts(long, format_name):
    bundle = bundle_in_parts(long, format_name)
    assert verify(long, bundle) == ExitCode.OK, long.output
    assert PARTS in long.remarks
    assert "All 40 are those that the key gives." in long.output
    assert "It has all 40 records" in long.output


@BOTH
def test_a_view_is_released_and_verified_in_parts(long):
    view = ("--propose", "--recipient", "Clinic A", "--k", "2", "--level", "sex=1")
    assert long.run("views", long.project, *view) == ExitCode.OK, long.remarks
    bundle = bundle_in_parts(long, "parquet")
    assert PARTS in long.remarks
    assert set(pd.read_parquet(bundle / "data.parquet")["sex"]) == {"*"}
    assert verify(long, bundle) == ExitCode.OK, long.output
    assert "as the recipient's view shows them" in long.output
    assert "The smallest class on sex has 40 records, and k = 2 was promised." in long.output
    altered(bundle, lambda frame: frame.assign(sex=["other", *frame["sex"][1:]]))
    assert verify(long, bundle) == ExitCode.CHECK_FAILED
    assert "The smallest class on sex has 1 records; k = 2 was promised." in long.output
    assert "sex: 1 of 40 rows differs, first in row 1" in long.output


def altered(bundle, change):
    if (path := bundle / "data.csv").exists():
        kept = pd.read_csv(path, dtype=str)
        change(kept).to_csv(path, index=False, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        return
    path = bundle / "data.parquet"
    change(pd.read_parquet(path)).to_parquet(path, index=False)


def with_other_value(frame):
    frame.loc[7, "illness"] = "cold" if frame.loc[7, "illness"] != "cold" else "flu"
    return frame


def with_other_sex(frame):
    frame["sex"] = ["x" if place in (3, 30) else sex for place, sex in enumerate(frame["sex"])]
    return frame


ALTERATIONS = {
    "a value": (with_other_value, "1 of 40 rows differs, first in row 8"),
    "open values": (with_other_sex, "sex: 2 of 40 rows differ, first in row 4"),
    "rows cut off": (lambda frame: frame.iloc[:-3], "37 records of 40: 3 are missing"),
    "rows added": (lambda frame: pd.concat([frame, frame[:2]]), "42 records, 2 more than"),
    "a column less": (lambda frame: frame[["sex"]], "has 1 column"),
}


@pytest.mark.parametrize("format_name", ["csv", "parquet"])
@pytest.mark.parametrize("case", ALTERATIONS)
def test_what_was_altered_is_told_by_row_and_column_without_a_value(long, format_name, case):
    change, words = ALTERATIONS[case]
    bundle = bundle_in_parts(long, format_name)
    altered(bundle, change)
    assert verify(long, bundle) == ExitCode.CHECK_FAILED
    assert words in long.output
    assert "cold" not in long.output


def test_a_zipped_or_foreign_bundle_is_refused_in_parts(long):
    assert long.release("Clinic A", "--zip") == ExitCode.OK
    [packed] = long.bundles()
    assert verify(long, packed) == ExitCode.EXPECTED_ERROR
    assert "Unpack it" in long.remarks
