"""Rows of a household that show one noisy number can be linked, and that is told to all."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode

RULES = """
format = 1
title = "Households"
[columns]
household = { role = "identifying" }
sex = { role = "quasi-identifier" }
region = { role = "quasi-identifier" }
income = { role = "sensitive", kind = "numeric" }
ill = { role = "sensitive", values = ["no", "yes"] }
[[policy]]
attributes = ["income"]
mechanism = "laplace"
settings = { bounds = "stated", lowest = 0, highest = 100000, step = 4 }
[[policy]]
attributes = ["ill"]
mechanism = "uniform"
[unit]
columns = ["household"]
most_rows = 3
constant = ["income"]
[[recipients]]
name = "Press"
levels = { income = { epsilon = 1.0 }, ill = { epsilon = 1.0 } }
"""


@pytest.fixture
def households():
    draw = np.random.default_rng(4)
    rows = [
        (f"H{house}", sex, region, income, ill)
        for house in range(80)
        for region, income in [(draw.choice(["N", "S"]), int(draw.integers(9_000, 90_000)))]
        for sex, ill in zip(draw.choice(["f", "m"], 3), draw.choice(["no", "yes"], 3), strict=True)
    ]
    return pd.DataFrame(rows, columns=["household", "sex", "region", "income", "ill"])


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_rows_of_a_household_show_together_is_counted_and_told(line, households):
    rare = households["household"] == "H7"
    households.loc[rare, "region"] = ["N", "S", "N"]
    table, rules = line.folder / "houses.csv", line.folder / "rules.toml"
    households.to_csv(table, index=False)
    rules.write_text(RULES)
    assert line.run("init", line.project, "--table", table, "--rules", rules) == 0, line.remarks
    line.run("check", line.project, "--json")
    [press] = json.loads(line.output)
    [linked] = [one for one in press["findings"] if one["check"] == "Linked rows"]
    out = line.folder / "out"
    release = ("release", line.project, "--recipient", "Press", "--out", out, "--accept", "known")
    assert line.run(*release) == ExitCode.OK, line.remarks
    [bundle] = out.iterdir()
    shown = pd.read_csv(bundle / "data.csv").groupby("income")[["sex", "region"]]
    together = shown.apply(lambda rows: tuple(sorted(map(tuple, rows.to_numpy()))))
    unique = int((together.value_counts() == 1).sum())
    assert (len(together), unique > 0) == (80, True)
    assert f"together is unique for {unique} of 80 units" in linked["finding"]
    readme = " ".join((bundle / "README.md").read_text(encoding="utf-8").split())
    assert "Rows with the same “household” show the same “income”" in readme
    assert line.run("audit", "found", line.project) == ExitCode.OK
    assert "can be put together" in line.output
    # The income is the same in all rows of a household, and drawn once for them.
    assert line.run("audit", "units", line.project) == ExitCode.OK
    assert "No sensitive attribute that is randomised row by row is the same" in line.output


def test_categories_that_are_drawn_once_link_no_rows(line, households):
    table, rules = line.folder / "houses.csv", line.folder / "rules.toml"
    households["ill"] = households.groupby("household")["ill"].transform("first")
    households.to_csv(table, index=False)
    varying = RULES.replace('constant = ["income"]', 'constant = ["ill"]')
    rules.write_text(varying)
    assert line.run("init", line.project, "--table", table, "--rules", rules) == 0, line.remarks
    line.run("check", line.project)
    assert "Linked rows" not in line.output
