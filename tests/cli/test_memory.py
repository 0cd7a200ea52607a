"""``--memory``: a long table is read in parts, or it is said why not."""

from __future__ import annotations

import csv
import json

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


@pytest.mark.few(1)
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


def test_what_can_not_be_read_in_parts_is_read_as_a_whole_and_it_is_said(line):
    source, rules = source_in(line.folder, "dta"), line.folder / "rules.toml"
    assert line.run("init", line.project, "--table", source, "--rules", rules) == ExitCode.OK
    assert line.release("Clinic A", "--memory", "0") == ExitCode.OK, line.remarks
    assert WHOLE in line.remarks


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_without_a_record_key_all_is_done_in_parts_but_plans_for_clusters(line, ending):
    source, rules = source_in(line.folder, ending), line.folder / "rules.toml"
    rules.write_text(rules.read_text().replace('record_key = "person"\n', ""))
    init = ("init", line.project, "--table", source, "--rules", rules, "--memory", "0")
    assert line.run(*init) == ExitCode.OK, line.remarks
    assert PARTS in line.remarks
    said = {}
    for memory in ("1000", "0"):
        out = ("--out", line.folder / memory, "--accept", REASON)
        told = []
        for verb, more in (("release", ("--recipient", "Clinic A", *out)), ("check", ())):
            code = line.run(verb, line.project, *more, "--memory", memory)
            assert (PARTS in line.remarks) == (memory == "0"), line.remarks
            told.append((code, line.output.replace(str(line.folder / memory), "")))
        [bundle] = (line.folder / memory).iterdir()
        for verb in ("verify", "trace"):
            code = line.run(verb, bundle, "--project", line.project, "--memory", memory)
            assert (PARTS in line.remarks) == (memory == "0"), line.remarks
            told.append((code, line.output if verb == "trace" else ""))
        told.append([(each.name, each.read_bytes()) for each in sorted(bundle.iterdir())])
        said[memory] = told
    assert said["0"] == said["1000"]
    assert said["0"][0][0] == said["0"][2][0] == ExitCode.OK
    files = ("--out", line.folder / "plan.json", "--keys", line.folder / "keys")
    plan = ("plan", line.project, "--recipient", "Institute B", *files, "--accept", REASON)
    assert line.run(*plan, "--memory", "0") == ExitCode.EXPECTED_ERROR
    assert "told apart by their position" in line.remarks
    assert not (line.folder / "keys").exists()


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


def bundle_in_parts(long, format_name):
    assert long.release("Clinic A", "--memory", "0", "--format", format_name) == ExitCode.OK
    [bundle] = long.bundles()
    return bundle


def verify(line, bundle):
    return line.run("verify", bundle, "--project", line.project, "--memory", "0")


@pytest.mark.few(2)
@BOTH
@pytest.mark.parametrize("format_name", ["csv", "parquet"])
def test_a_bundle_is_verified_in_parts(long, format_name):
    bundle = bundle_in_parts(long, format_name)
    assert verify(long, bundle) == ExitCode.OK, long.output
    assert PARTS in long.remarks
    assert "All 40 are those that the key gives." in long.output
    assert "It has all 40 records" in long.output


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


@pytest.mark.few(2)
@pytest.mark.parametrize("format_name", ["csv", "parquet"])
@pytest.mark.parametrize("case", ALTERATIONS)
def test_what_was_altered_is_told_by_row_and_column_without_a_value(long, format_name, case):
    change, words = ALTERATIONS[case]
    bundle = bundle_in_parts(long, format_name)
    altered(bundle, change)
    assert verify(long, bundle) == ExitCode.CHECK_FAILED
    assert words in long.output
    assert "cold" not in long.output


def test_a_zipped_bundle_is_verified_in_parts_as_in_memory(long):
    assert long.release("Clinic A", "--zip") == ExitCode.OK
    [packed] = long.bundles()
    assert verify(long, packed) == ExitCode.OK
    assert PARTS in long.remarks
    told = long.output
    assert long.run("verify", packed, "--project", long.project) == ExitCode.OK
    assert long.output == told


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "units"), [("csv", False), ("parquet", False), ("csv", True)])
def test_views_are_found_in_parts_as_in_memory(line, ending, units):
    frame = table(400).frame.astype(str)
    frame["age"] = [str(20 + row * row % 47) for row in range(400)]
    frame["house"] = [f"H{row // 3}" for row in range(400)]
    source, rules = line.folder / f"ward.{ending}", line.folder / "rules.toml"
    write(frame, source)
    roles = '[columns.age]\nrole = "quasi-identifier"\n[columns.house]\nrole = "identifying"\n'
    rules.write_text(rules.read_text() + roles)
    given = ("--table", source, "--rules", rules)
    # All rows leave: which of them would follows from the project's keys.
    whose = ("--unit", "house", "--unit-rows", "3") if units else ()
    told = []
    for memory in ("1000", "0"):
        assert line.run("init", line.project, *given, *whose) == ExitCode.OK, line.remarks
        found = []
        for asked in (
            ("--json",),
            ("--propose", "--recipient", "Clinic A", "--k", "2", "--suppress", "0.05"),
            ("--propose-k", "--find"),
            ("--json", "--recipient", "Institute B", "--k", "9"),
            ("--json", "--find"),
        ):
            code = line.run("views", line.project, *asked, "--memory", memory)
            assert (PARTS in line.remarks) == (memory == "0")
            assert WHOLE not in line.remarks
            found.append((code, line.output))
        told.append(found)
        line.project.unlink()
    assert told[0] == told[1]
    assert json.loads(told[1][0][1])[0]["smallest"] is not None
    assert all(code == ExitCode.OK for code, _ in told[1]), told[1]
    assert json.loads(told[1][-1][1])[1]["smallest"] >= 9


MEMBERS = ("--with", "Clinic A", "--with", "Institute B")
QUESTIONS = {
    "coalition": ("audit", "coalition", *MEMBERS),
    "open": ("audit", "open"),
    "questions": ("audit", "questions"),
    "person": ("audit", "person", "--knows", "sex=f", "--believes", "illness=flu=0.5", *MEMBERS),
    "worth": ("worth",),
    "check": ("check",),
    "risk": ("risk", "--knows", "sex", "--remedies"),
    "noisy counts": ("noisy-counts", "--knows", "sex", "--larger-than", "3"),
    "query": ("query", "--where", "sex=f", "--value", "flu"),
    "pool": ("query", "--pool"),
}


@pytest.mark.turns(4)
@pytest.mark.few(2)
@BOTH
@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_asked_in_parts_is_answered_as_of_the_whole_table(long, question):
    told = []
    for memory in ("1000", "0"):
        verb, *asked = QUESTIONS[question]
        group = asked[:1] if verb == "audit" else ()
        arguments = (verb, *group, long.project, *asked[len(group) :], "--json")
        code = long.run(*arguments, "--memory", memory)
        assert (PARTS in long.remarks) == (memory == "0"), long.remarks
        told.append((code, json.loads(long.output)))
    assert told[1] == told[0]
    assert told[0][0] in (ExitCode.OK, ExitCode.CHECK_FAILED)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_roles_and_roundings_are_stated_in_parts_as_in_memory(line, ending):
    frame = table(40).frame.astype(str).assign(house=[f"H{i // 4}" for i in range(40)])
    frame["water"] = [str(i // 4 % 3) for i in range(40)]
    frame["income"] = [10 * i + 7 for i in range(40)]
    frame["w"] = [1.5 + i % 3 for i in range(40)]
    others = 'record_key = "person"\nother_columns = "insensitive"'
    source, rules = line.folder / f"ward.{ending}", line.folder / "rules.toml"
    write(frame, source)
    text = rules.read_text().replace('record_key = "person"', others)
    rules.write_text(text + '[columns.house]\nrole = "identifying"\n')
    roles = ("--role", "water=sensitive", "--role", "sex=sensitive", "--role", "w=weight")
    told = []
    for memory in ("1000", "0"):
        project = line.folder / f"{memory}.sfumato"
        given = ("--table", source, "--rules", rules, "--unit", "house")
        assert line.run("init", project, *given) == ExitCode.OK, line.remarks
        coded = ("--top-code", "income=300", "--round", "income=10", "--memory", memory)
        assert line.run("attributes", project, *roles, *coded) == ExitCode.OK, line.remarks
        weight = ("--role", "illness=weight", "--memory", memory)
        assert line.run("attributes", project, *weight) == ExitCode.EXPECTED_ERROR
        assert "weights of column “illness” are not numbers" in line.remarks
        assert line.run("rules", project) == ExitCode.OK
        told.append(line.output)
    assert told[1] == told[0]
    assert 'constant = ["water"]' in told[0]
    assert "top_code = 300" in told[0]


GENERALIZED = """\
format = 1
other_columns = "insensitive"
record_key = "person"

[columns.person]
role = "identifying"

[columns.age]
role = "quasi-identifier"

[columns.sex]
role = "quasi-identifier"

[columns.illness]
role = "sensitive"
kind = "categorical"

[hierarchies.age]
kind = "intervals"
width = 10.0

[hierarchies.sex]
kind = "suppression"

[generalization]
sensitive = "illness"
quasi_identifiers = ["age", "sex"]
criteria = [{ kind = "k-anonymity", k = 3 }]
suppression = 0.2
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_generalized_table_is_searched_and_published_in_parts_as_in_memory(line, ending):
    frame = table(60).frame.assign(age=[20 + 7 * i % 50 for i in range(60)])
    frame = frame.astype({"sex": str, "illness": str})
    source, rules = line.folder / f"ward.{ending}", line.folder / "generalized.toml"
    write(frame, source)
    rules.write_text(GENERALIZED)
    assert line.run("init", line.project, "--table", source, "--rules", rules) == ExitCode.OK
    frame.assign(age="*").to_csv(line.folder / "registry.csv", index=False)
    more = ("--add", line.folder / "registry.csv", "--quasi", "sex", "--memory", "0")
    assert line.run("others", line.project, *more) == ExitCode.OK, line.remarks
    told = []
    for memory in ("1000", "0"):
        found = []
        for asked in (("diversity", "--json", "--all"), ("others", "--with-ours", "--json")):
            assert line.run(asked[0], line.project, *asked[1:], "--memory", memory) == ExitCode.OK
            assert (PARTS in line.remarks) == (memory == "0"), line.remarks
            assert WHOLE not in line.remarks
            found.append(json.loads(line.output))
        out = ("--out", line.folder / memory, "--memory", memory)
        assert line.run("publish", line.project, *out) == ExitCode.OK, line.remarks
        [bundle] = (line.folder / memory).iterdir()
        found.append({path.name: path.read_bytes() for path in bundle.iterdir()})
        for once in ("1000", "0"):
            checked = ("--project", line.project, "--memory", once)
            assert line.run("verify", bundle, *checked) == ExitCode.OK, line.output
        told.append(found)
    assert told[1] == told[0]
    assert told[0][0]["risk"]["after"]["smallest"] >= 3
