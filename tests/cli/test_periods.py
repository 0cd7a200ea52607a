"""Coarse dates from the file to the bundle: nobody gets more of a date than the file showed."""

from __future__ import annotations

import json

import pandas as pd
import pyreadstat
import pytest

from sfumato.formats.bundles.reading import read_bundle
from tests.formats.reading import plain

ROWS = 40
BORN = [pd.Timestamp("1950-01-15") + pd.Timedelta(613 * row % 15000, "D") for row in range(ROWS)]
MONTHS = {f"{day:%Y-%m}" for day in BORN}
RULES = """\
format = 1

[columns.sex]
role = "sensitive"
kind = "categorical"

[columns.birth_month]
role = "quasi-identifier"

[columns.admitted_at]
role = "quasi-identifier"

[[policy]]
attributes = ["sex"]
mechanism = "uniform"

[[recipients]]
name = "Clinic A"
[recipients.levels]
sex = { retention_probability = 0.6 }
"""


@pytest.fixture
def spss(line):
    path = line.folder / "ward.sav"
    frame = pd.DataFrame(
        {
            "sex": [float(row % 2 + 1) for row in range(ROWS)],
            "birth_month": [(day - pd.Timestamp("1582-10-14")).total_seconds() for day in BORN],
            "admitted_at": [3600.0 * (row % 24) + 59 for row in range(ROWS)],
        }
    )
    formats = {"birth_month": "MOYR8", "admitted_at": "TIME5"}
    pyreadstat.write_sav(frame, path, variable_format=formats)
    return path


def test_init_says_what_is_read_as_periods_and_proposes_no_numbering(line, spss):
    assert line.run("init", line.project, "--table", spss) == 0
    assert "read as coarsely as the file shows it (month): “birth_month”" in line.remarks
    assert "read as coarsely as the file shows it (time of day): “admitted_at”" in line.remarks
    assert line.run("attributes", line.project, "--json") == 0
    roles = {each["name"]: each["role"] for each in json.loads(line.output)}
    assert roles["birth_month"] == roles["admitted_at"] == "quasi-identifier"


@pytest.mark.few(2)
@pytest.mark.parametrize("ending", ["csv", "parquet", "sav", "dta"])
def test_a_release_shows_periods_and_verifies(line, spss, ending):
    (line.folder / "rules.toml").write_text(RULES)
    rules = line.folder / "rules.toml"
    assert line.run("init", line.project, "--table", spss, "--rules", rules) == 0, line.remarks
    assert line.release("Clinic A", "--format", ending) == 0, line.remarks
    (bundle,) = line.bundles()
    assert line.run("verify", bundle, "--project", line.project) == 0, line.output
    found = read_bundle(bundle)
    assert set(plain(found.table.frame["birth_month"])) == MONTHS
    assert set(plain(found.table.frame["admitted_at"])) == {f"{hour:02d}:00" for hour in range(24)}
    fields = json.loads((bundle / "datapackage.json").read_text())["resources"][0]["schema"]
    born, admitted = fields["fields"][1:]
    assert (born["type"], born["sfumato"]["period"]) == ("yearmonth", "month")
    assert (admitted["type"], admitted["format"]) == ("time", "%H:%M")
    readme = (bundle / "README.md").read_text()
    assert "its values: month" in readme
    days = {f"{day:%Y-%m-%d}" for day in BORN if day.day > 1}
    text = (bundle / f"data.{ending}").read_bytes().decode("latin-1")
    assert not any(day in text for day in days)
    if ending == "sav":
        frame, told = pyreadstat.read_sav(bundle / "data.sav", disable_datetime_conversion=True)
        assert told.original_variable_types["birth_month"] == "MOYR8"
        moments = pd.Timestamp("1582-10-14") + pd.to_timedelta(frame["birth_month"], unit="s")
        assert set(moments.dt.strftime("%Y-%m-%d")) == {f"{month}-01" for month in MONTHS}
    if ending == "dta":
        frame = pd.read_stata(bundle / "data.dta")
        assert set(frame["birth_month"].dt.strftime("%Y-%m-%d")) == {f"{m}-01" for m in MONTHS}
