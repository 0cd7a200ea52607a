"""The best matrix within per-value limits, on the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.mechanisms.retention_solver import BreachMode
from tests.engine.mechanisms.per_value.test_best_matrix import EXAMPLE, broken

RULES = """
format = 1
[columns.illness]
role = "sensitive"
values = ["SARS", "HIV", "H1N1", "cancer"]
[[policy]]
attributes = ["illness"]
mechanism = "finegrain"
[policy.settings]
mode = "published"
objective = "values"
frequencies = "equal"
limits = [
    {value = "SARS", rho1 = 0.1, rho2 = 0.142857142857143},
    {value = "HIV", rho1 = 0.1, rho2 = 0.25},
    {value = "H1N1", rho1 = 0.1, rho2 = 0.513513513513513},
    {value = "cancer", rho1 = 0.1, rho2 = 0.666666666666667},
]
[[recipients]]
name = "Clinic A"
[recipients.levels.illness]
trust_factor = 1
[[recipients]]
name = "Clinic B"
[recipients.levels.illness]
gamma = 2
[[recipients]]
name = "Public file"
[recipients.levels.illness]
trust_factor = 0.5
"""
ASK = ("--column", "illness", "--best-matrix")


@pytest.fixture
def ward(line):
    names = ["SARS", "HIV", "H1N1", "cancer"] * 100
    pd.DataFrame({"illness": names}).to_csv(line.folder / "ward.csv", index=False)
    (line.folder / "rules.toml").write_text(RULES)
    assert line.init() == 0, line.remarks
    return line


def told(ward, *arguments):
    assert ward.run("policy", ward.project, *arguments, "--json") == 0, ward.remarks
    (entry,) = json.loads(ward.output)
    return entry


def test_both_gains_are_told_before_anything_is_saved(ward):
    before = ward.project.read_bytes()
    assert ward.run("policy", ward.project, *ASK, "--dry-run") == 0, ward.remarks
    told = ward.output.replace("\u202f", " ")
    assert "43.8 % of the records keep their value (worth 8 true records)" in told
    assert "with the best matrix within the limits, 47.2 % do (worth" in told
    assert "Nothing was saved" in ward.remarks
    assert ward.project.read_bytes() == before


def test_the_entry_becomes_one_of_any_matrix_within_the_limits(ward):
    limits = told(ward)
    made = told(ward, *ASK)
    assert made["best_matrix"]["before"]["records_kept"] == pytest.approx(0.4375)
    assert made["best_matrix"]["after"]["records_kept"] == pytest.approx(0.4718, abs=1e-4)
    assert made["best_matrix"]["after"]["worth"] > 0.0
    assert limits["mechanism"] == "finegrain"
    assert made["mechanism"] == "matrix"
    entries = np.array(made["settings"]["entries"])
    assert broken(entries, EXAMPLE * (1.0 + 1e-12), BreachMode.PUBLISHED) == []
    saved = told(ward)
    assert saved["settings"] == made["settings"]


def test_levels_stay_or_come_down_to_odds_that_were_allowed_before(ward):
    levels = told(ward, *ASK)["levels"]
    assert levels["Clinic A"] == {"trust_factor": 1.0}
    assert levels["Clinic B"] == {"gamma": 2.0}
    factor = levels["Public file"]["trust_factor"]
    assert 0.0 < factor <= 0.5
    before = told(ward)["settings"]["entries"]
    shown = factor * np.array(before) + (1.0 - factor) / 4.0
    # At half of the retentions 0, 1/3, 1/3, 1/3 of the example a value is kept with 1/6.
    assert (shown.max(axis=1) / shown.min(axis=1)).max() <= 1.0 + 4.0 * (1 / 6) / (1 - 1 / 6)
    assert ward.run("check", ward.project) in (0, 1), ward.remarks


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("--set", "frequencies=noisy"), "would give away counts of “illness”"),
        (("--mechanism", "uniform"), "has no limits of single values"),
    ],
)
def test_what_has_no_best_matrix_is_told_and_stays(ward, change, said):
    before = told(ward, "--column", "illness", *change)
    assert ward.run("policy", ward.project, *ASK) == 3
    assert said in ward.remarks
    assert told(ward) == before


@pytest.mark.parametrize(
    "arguments",
    [("--best-matrix",), (*ASK, "--remove"), (*ASK, "--set", "theta=2")],
)
def test_the_best_matrix_is_asked_for_alone_and_for_a_column(ward, arguments):
    assert ward.run("policy", ward.project, *arguments) == 2
