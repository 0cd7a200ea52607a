"""Setting mechanisms, their settings and levels on the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

RULES = """
format = 1
[columns.illness]
role = "sensitive"
values = ["asthma", "cold", "flu", "gout"]
[columns.job]
role = "insensitive"
[columns.income]
role = "insensitive"
kind = "numeric"
[[policy]]
attributes = ["illness"]
mechanism = "uniform"
[[recipients]]
name = "Clinic A"
[recipients.levels.illness]
retention_probability = 0.9
[[recipients]]
name = "Public file"
[recipients.levels.illness]
retention_probability = 0.2
"""


@pytest.fixture
def ward(line):
    drawn = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "illness": drawn.choice(["asthma", "cold", "flu", "gout"], 400),
            "job": drawn.choice(["cook", "nurse"], 400),
            "income": drawn.integers(0, 100_000, 400),
        }
    )
    table.to_csv(line.folder / "ward.csv", index=False)
    (line.folder / "rules.toml").write_text(RULES)
    assert line.init() == 0, line.remarks
    roles = ("--role", "job=sensitive", "--role", "income=sensitive")
    assert line.run("attributes", line.project, *roles) == 0, line.remarks
    return line


def told(ward, *arguments):
    assert ward.run("policy", ward.project, *arguments, "--json") == 0, ward.remarks
    return {" + ".join(one["attributes"]): one for one in json.loads(ward.output)}


def test_a_mechanism_its_settings_and_a_level_are_set_by_name(ward):
    income = ("--column", "income", "--mechanism", "laplace")
    bounds = ("--set", "lowest=0", "--set", "highest=100000")
    found = told(ward, *income, *bounds, "--recipient", "Public file", "--level", "0.5")
    assert found["income"]["settings"] == {
        "lowest": 0,
        "highest": 100000,
        "step": 1000,
        "bounds": "stated",
    }
    assert found["income"]["levels"]["Public file"] == {"epsilon": 0.5}
    assert set(found["income"]["levels"]) == {"Clinic A", "Public file"}
    assert told(ward)["income"] == found["income"]
    assert ward.run("policy", ward.project) == 0
    assert "income: Laplace noise (laplace)" in ward.output
    assert "  Public file: epsilon = 0.5" in ward.output


def test_settings_change_what_follows_from_them_and_nothing_else(ward):
    first = told(ward, "--column", "illness", "--mechanism", "finegrain")["illness"]["settings"]
    assert first["theta"] == 3.0
    limits = ("--set", "limits.flu=0.1,0.2", "--set", "theta=2")
    second = told(ward, "--column", "illness", *limits)["illness"]["settings"]
    assert second["limits"] == [{"value": "flu", "rho1": 0.1, "rho2": 0.2}]
    assert second["noisy_counts"] == first["noisy_counts"]
    assert second["profile"] != first["profile"]
    none = ("--set", "limits.flu=none", "--set", "theta=3.0")
    assert told(ward, "--column", "illness", *none)["illness"]["settings"] == first
    gone = told(ward, "--column", "illness", "--set", "theta=none", "--set", "limits.flu=0.1,0.2")
    assert "theta" not in gone["illness"]["settings"]


def test_measured_bounds_are_never_taken_for_stated_ones(ward):
    income = ("--column", "income")
    noisy = told(ward, *income, "--mechanism", "laplace")["income"]["settings"]
    assert noisy["bounds"] == "noisy"
    assert ward.run("policy", ward.project, *income, "--set", "lowest=-5") == 3
    assert "The setting highest is not a number" in ward.remarks
    both = told(ward, *income, "--set", "lowest=-500", "--set", "highest=99500")["income"]
    assert both["settings"]["bounds"] == "stated"
    again = told(ward, *income, "--set", "bounds=noisy")["income"]["settings"]
    assert again == noisy


def test_numbers_of_columns_and_columns_together_are_set(ward):
    ward_income = ("--column", "income", "--mechanism", "gaussian", "--set", "spreads.income=3e4")
    found = told(ward, *ward_income, "--set", "rounding.income=1000")["income"]["settings"]
    assert found["measured"] == "stated"
    assert found["rounding"] == {"income": 1000}
    together = ("--column", "illness", "--column", "job")
    limit = ("--set", "limits.illness=flu,job=cook=0.1,0.3")
    found = told(ward, *together, "--mechanism", "joint", *limit)
    assert set(told(ward)) == {"illness + job", "income"}
    (stated,) = found["illness + job"]["settings"]["limits"]
    assert stated == {"values": {"illness": "flu", "job": "cook"}, "rho1": 0.1, "rho2": 0.3}
    assert ward.run("policy", ward.project, "--column", "job", "--mechanism", "uniform") == 3
    assert "protected together with others" in ward.remarks


def test_a_dry_run_tells_and_saves_nothing(ward):
    before = told(ward)
    bytes_before = ward.project.read_bytes()
    dry = told(ward, "--column", "illness", "--mechanism", "hierarchical", "--dry-run")
    assert dry["illness"]["mechanism"] == "hierarchical"
    assert told(ward) == before
    assert ward.project.read_bytes() == bytes_before


def test_an_entry_is_taken_away_with_its_levels(ward):
    assert ward.run("policy", ward.project, "--column", "illness", "--remove") == 0, ward.remarks
    assert told(ward) == {}


def test_what_can_be_set_is_described(ward):
    assert ward.run("policy", ward.project, "--describe", "--mechanism", "laplace") == 0
    assert "  step: a number above 0 and at most 1e+12" in ward.output
    assert "level by epsilon" in ward.output
    assert "measured_unit" not in ward.output


def test_levels_that_can_no_longer_be_met_are_told(ward):
    told(ward, "--column", "illness", "--mechanism", "reconstruction")
    told(ward, "--column", "illness", "--recipient", "Clinic A", "--level", "0.5")
    lower = ("--column", "illness", "--set", "retention_probability=0.4")
    assert ward.run("policy", ward.project, *lower) == 0
    assert "The level of Clinic A for “illness” can't be met." in ward.remarks


UNSETTABLE = (
    (("--column", "ilness", "--set", "theta=2"), "Did you mean illness?"),
    (("--column", "illness", "--mechanism", "uniforn"), "Did you mean uniform?"),
    (("--column", "illness", "--set", "theta=2"), "has no setting called theta"),
    (("--column", "job", "--set", "theta=2"), "--mechanism NAME"),
    (("--column", "illness", "--mechanism", "laplace"), "illness"),
    (("--column", "illness", "--mechanism", "finegrain", "--set", "theta"), "NAME=VALUE"),
    (("--column", "illness", "--mechanism", "finegrain", "--set", "theta=1"), "above 1"),
    (("--column", "illness", "--mechanism", "finegrain", "--set", "thta=2"), "mean theta?"),
    (("--column", "illness", "--mechanism", "finegrain", "--set", "theta.x=2"), "no parts"),
    (("--column", "illness", "--mechanism", "finegrain", "--set", "limits.flu=1"), "commas"),
    (("--column", "illness", "--mechanism", "finegrain", "--set", "profile=[1]"), "can't be"),
    (
        ("--column", "illness", "--mechanism", "finegrain", "--set", "mode=loose"),
        "strict, published",
    ),
    (
        (
            *("--column", "illness", "--mechanism", "finegrain"),
            *("--set", "frequencies=equal", "--set", "frequencies_epsilon=1"),
        ),
        "means nothing beside the others",
    ),
    (
        ("--column", "income", "--mechanism", "gaussian", "--set", "measured=stated"),
        "No spread above 0 is stated for “income”",
    ),
    (("--recipient", "Nobody", "--level", "epsilon=2"), "Known are: Clinic A"),
)
"""What can't be set, and what is said of it."""


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_can_t_be_set_is_told_by_name_and_nothing_changes(ward):
    before = told(ward)
    for arguments, said in UNSETTABLE:
        assert ward.run("policy", ward.project, *arguments) == 3, arguments
        assert said in ward.remarks
        assert told(ward) == before, arguments


SLIPS = (
    ("--set", "theta=2"),
    ("--column", "illness", "--remove", "--set", "theta=2"),
    ("--recipient", "Clinic A"),
    ("--level", "epsilon=2"),
)
"""Options that mean nothing without others, or beside them."""


def test_slips_are_told_as_such(ward):
    for arguments in SLIPS:
        assert ward.run("policy", ward.project, *arguments) == 2, arguments


def test_what_is_measured_at_first_takes_half_of_the_least_promise_unless_it_is_stated(ward):
    income = ("--column", "income", "--mechanism", "laplace")
    found = told(ward, *income)["income"]
    least = min(level["epsilon"] for level in found["levels"].values())
    assert 0.0 < found["settings"]["bounds_epsilon"] <= least / 2
    chosen = told(ward, *income, "--set", "bounds_epsilon=1.5")["income"]
    assert chosen["settings"]["bounds_epsilon"] == 1.5


def test_rules_that_state_no_cost_of_measuring_get_half_of_the_least_promise(ward):
    rules = RULES.replace('role = "insensitive"\nkind', 'role = "sensitive"\nkind')
    rules = rules.replace(
        "[[recipients]]",
        '[[policy]]\nattributes = ["income"]\nmechanism = "laplace"\n[[recipients]]',
        1,
    )
    rules += "[recipients.levels.income]\nepsilon = 1.6\n"
    (ward.folder / "other.toml").write_text(rules)
    assert ward.run("rules", ward.project, "--apply", ward.folder / "other.toml") == 0, ward.remarks
    assert told(ward)["income"]["settings"]["bounds_epsilon"] == 0.8
    stated = rules.replace('"laplace"\n', '"laplace"\nsettings = { bounds_epsilon = 1.5 }\n')
    (ward.folder / "other.toml").write_text(stated)
    assert ward.run("rules", ward.project, "--apply", ward.folder / "other.toml") == 0, ward.remarks
    assert told(ward)["income"]["settings"]["bounds_epsilon"] == 1.5
