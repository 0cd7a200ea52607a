"""``sfumato audit units`` and what ``sfumato init`` says of rows that belong together."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, ExitCode
from tests.cli.conftest import CommandLine
from tests.project.making import PASSPHRASE
from tests.samples.make_households import households

RULES = """\
format = 1
record_key = "person"
other_columns = "quasi-identifier"

[columns.person]
role = "identifying"

[columns.rent]
role = "identifying"

[columns.water]
role = "sensitive"
kind = "categorical"
values = ["piped", "well", "spring", "truck", "river"]

[[policy]]
attributes = ["water"]
mechanism = "uniform"

[[recipients]]
name = "Institute"
[recipients.levels]
water = { retention_probability = 0.6 }

[[recipients]]
name = "Public"
[recipients.levels]
water = { retention_probability = 0.2 }
"""


@pytest.fixture
def survey(tmp_path):
    households(200).to_csv(tmp_path / "ward.csv", index=False, lineterminator="\n")
    (tmp_path / "rules.toml").write_text(RULES)
    line = CommandLine(tmp_path, {PASSPHRASE_VARIABLE: PASSPHRASE})
    assert line.init() == ExitCode.OK, line.remarks
    return line


def test_init_tells_which_rows_seem_to_belong_together(survey):
    assert "Rows with the same household seem to belong to one person" in survey.remarks
    assert "water is the same in all of them" in survey.remarks


@pytest.mark.slow
@pytest.mark.parametrize("memory", [("--memory", "1000"), ("--memory", "0")])
def test_pooling_is_weighed_for_every_recipient(survey, memory):
    by = ("--by", "household", *memory)
    assert survey.run("audit", "units", survey.project, *by) == ExitCode.OK
    heading, *lines = survey.output.splitlines()
    assert heading == "“water”, by “household”"
    told, advice = lines[::2], lines[1::2]
    assert len(told) == len(advice) == 2
    assert all("Pooled, they give away the true value of" in line for line in told)
    assert all("let rows belong to “household”" in line for line in advice)
    assert survey.run("audit", "units", survey.project, "--json", *memory) == ExitCode.OK
    found = json.loads(survey.output)
    assert ("read in parts" in survey.remarks) == (memory[1] == "0")
    of = {(one["column"], one["recipient"]): one["rows restored"] for one in found}
    assert of["household", "Institute"]["pooled"] > of["household", "Public"]["pooled"]
    assert of["household", "Public"]["pooled"] > of["household", "Public"]["one row"]


@pytest.mark.few(1)
@pytest.mark.parametrize("memory", [("--memory", "1000"), ("--memory", "0")])
def test_a_column_that_brings_no_rows_together_is_refused(survey, memory):
    units = ("audit", "units", survey.project, *memory)
    assert survey.run(*units, "--by", "person") == ExitCode.EXPECTED_ERROR
    assert "No two rows share a value of “person”" in survey.remarks
    assert survey.run(*units, "--by", "city") == ExitCode.EXPECTED_ERROR
    assert "no column city" in survey.remarks


def test_where_nothing_is_the_same_that_is_said(survey):
    assert survey.run("audit", "units", survey.project, "--by", "sex") == ExitCode.OK
    assert "No sensitive attribute" in survey.output


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_survey_is_protected_by_household_from_init_to_verify(tmp_path):
    households(150).to_csv(tmp_path / "ward.csv", index=False, lineterminator="\n")
    (tmp_path / "rules.toml").write_text(RULES)
    line = CommandLine(tmp_path, {PASSPHRASE_VARIABLE: PASSPHRASE})
    assert line.init("--unit", "household", "--unit-rows", "3") == ExitCode.OK, line.remarks
    assert "Rows with the same household are protected together" in line.remarks
    assert "Drawn once for all of them: water" in line.remarks
    assert line.release("Public", "--accept", "a test") == ExitCode.OK, line.remarks
    (bundle,) = line.bundles()
    exported = pd.read_csv(bundle / "data.csv")
    sizes = households(150)["household"].value_counts()
    assert len(exported) == sizes.clip(upper=3).sum()
    assert "household" not in exported.columns
    assert line.run("verify", bundle, "--project", line.project) == ExitCode.OK, line.output
    assert line.run("trace", bundle / "data.csv", "--project", line.project) == ExitCode.OK
    assert "Public" in line.output
    assert line.run("audit", "coalition", line.project, "--with", "Public") == ExitCode.OK
    assert "records stand for units" in line.output
    assert line.run("audit", "units", line.project) == ExitCode.OK
    assert "No sensitive attribute" in line.output
    assert line.run("report", line.project, "--out", tmp_path / "report.html") == ExitCode.OK
    assert "All rows with the same “household”" in (tmp_path / "report.html").read_text()
    assert line.run("rules", line.project) == ExitCode.OK
    assert 'columns = ["household"]' in line.output


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_bound_that_no_household_reaches_and_a_unit_that_is_none_are_told(tmp_path):
    households(60).to_csv(tmp_path / "ward.csv", index=False, lineterminator="\n")
    (tmp_path / "rules.toml").write_text(RULES)
    line = CommandLine(tmp_path, {PASSPHRASE_VARIABLE: PASSPHRASE})
    assert line.init("--unit", "household", "--unit-rows", "40") == ExitCode.OK, line.remarks
    assert "No household has more than" in line.remarks
    line.project.unlink()
    assert line.init("--unit", "person") == ExitCode.EXPECTED_ERROR
    assert "No two rows share person" in line.remarks
    assert line.init("--unit", "household", "--unit-rows", "0") == ExitCode.EXPECTED_ERROR
    assert line.init("--unit", "water") == ExitCode.EXPECTED_ERROR
    assert "water is sensitive" in line.remarks


@pytest.mark.slow
def test_views_and_the_check_count_households_and_a_k_above_them_is_refused(tmp_path):
    frame = households(50)
    frame.to_csv(tmp_path / "ward.csv", index=False, lineterminator="\n")
    (tmp_path / "rules.toml").write_text(RULES)
    line = CommandLine(tmp_path, {PASSPHRASE_VARIABLE: PASSPHRASE})
    assert line.init("--unit", "household") == ExitCode.OK, line.remarks
    asked = ("views", line.project, "--recipient", "Public")
    assert line.run(*asked, "--k", "51", "--propose", "--find") == ExitCode.EXPECTED_ERROR
    assert f"Public's k is 51, and the {len(frame)} records that leave belong to 50 units" in (
        line.remarks
    )
    assert "Choose a k from 1 to 50" in line.remarks
    assert line.run(*asked, "--k", "6", "--propose", "--find", "--json") == ExitCode.OK
    (told,) = (each for each in json.loads(line.output) if each["recipient"] == "Public")
    assert told["units"] == 50
    assert told["smallest"] >= 6
    assert line.run("views", line.project) == ExitCode.OK
    assert f"smallest class {told['smallest']} of 50 units" in line.output
    line.run("check", line.project)
    unique = frame.groupby(["region", "sex", "illness"])["household"].transform("nunique") == 1
    alone = frame.loc[unique, "household"].nunique()
    assert f"{alone} of 50 units (records with the same “household”) are unique" in line.output


def test_a_row_without_a_household_is_named_and_nothing_is_made(tmp_path):
    frame = households(40)
    frame.loc[6, "household"] = None
    frame.to_csv(tmp_path / "ward.csv", index=False, lineterminator="\n")
    (tmp_path / "rules.toml").write_text(RULES)
    line = CommandLine(tmp_path, {PASSPHRASE_VARIABLE: PASSPHRASE})
    assert line.init("--unit", "household") == ExitCode.EXPECTED_ERROR
    assert "The column household says which rows belong together" in line.remarks
    assert "missing in 1 row, first in row 7" in line.remarks
    assert "a row that belongs to nobody else gets a value of its own" in line.remarks
    assert not line.project.exists()
    rules = tmp_path / "rules.toml"
    dropped = RULES.replace(
        "[columns.rent]", '[columns.household]\nrole = "identifying"\n\n[columns.rent]'
    )
    rules.write_text(dropped + '\n[unit]\ncolumns = ["household"]\nmost_rows = 3\n')
    assert line.init() == ExitCode.EXPECTED_ERROR
    assert "missing in 1 row, first in row 7" in line.remarks
