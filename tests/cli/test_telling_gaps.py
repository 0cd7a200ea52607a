"""Missing numbers that tell the values of another protected column are told by the check."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sfumato.project.release import batched_table

RULES = """
format = 1
[columns]
status = { role = "sensitive", values = ["at work", "out of work"] }
wage = { role = "sensitive", kind = "numeric" }
[[policy]]
attributes = ["status"]
mechanism = "uniform"
[[policy]]
attributes = ["wage"]
mechanism = "laplace"
settings = { bounds = "stated", lowest = 0, highest = 10000, step = 10 }
[[recipients]]
name = "Students"
levels = { status = { epsilon = 1.0 }, wage = { epsilon = 1.0 } }
"""


@pytest.mark.parametrize("told", [True, False])
def test_what_missing_numbers_tell_of_a_protected_column_is_counted(line, told):
    draw = np.random.default_rng(3)
    working = draw.random(400) < 0.6
    gaps = ~working if told else draw.random(400) < 0.4
    gaps &= draw.random(400) < 0.9
    frame = pd.DataFrame({"status": np.where(working, "at work", "out of work")})
    frame["wage"] = pd.Series(draw.integers(800, 9_000, 400)).astype("Int64").mask(gaps)
    table, rules = line.folder / "work.csv", line.folder / "rules.toml"
    frame.to_csv(table, index=False)
    rules.write_text(RULES)
    assert line.run("init", line.project, "--table", table, "--rules", rules) == 0, line.remarks
    line.run("check", line.project, "--json")
    [students] = json.loads(line.output)
    found = [one for one in students["findings"] if "stays visible and tells" in one["finding"]]
    assert len(found) == told
    if told:
        both = pd.crosstab(frame["wage"].isna(), frame["status"])
        right, without = both.max(axis=1).sum() / 400, both.sum().max() / 400
        words = f"right for {right:.0%} of the records, and for {without:.0%} without it"
        assert words in found[0]["finding"].replace("\u202f%", "%").replace(" %", "%")


def test_of_a_table_in_parts_the_shares_are_said_to_be_a_samples(line, monkeypatch):
    monkeypatch.setattr(batched_table, "SAMPLE", 90)
    draw = np.random.default_rng(3)
    working = draw.random(400) < 0.6
    frame = pd.DataFrame({"status": np.where(working, "at work", "out of work")})
    frame["wage"] = pd.Series(draw.integers(800, 9_000, 400)).astype("Int64").mask(~working)
    table, rules = line.folder / "work.csv", line.folder / "rules.toml"
    frame.to_csv(table, index=False)
    rules.write_text(RULES)
    assert line.run("init", line.project, "--table", table, "--rules", rules) == 0, line.remarks
    line.run("check", line.project, "--memory", "0", "--json")
    [students] = json.loads(line.output)
    [found] = [one for one in students["findings"] if "stays visible and tells" in one["finding"]]
    assert "of 90 of 400 records" in found["finding"]
