"""``sfumato audit numbers``: coalitions of releases with noise, on the command line."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.project.numbers import a_table

RULES = """\
format = 1
title = "Wages"
other_columns = "insensitive"

[columns.person]
role = "identifying"

[columns.sex]
role = "quasi-identifier"

[columns.age]
role = "sensitive"
kind = "numeric"

[columns.income]
role = "sensitive"
kind = "numeric"

[[policy]]
attributes = ["age", "income"]
mechanism = "gaussian"
ROUNDING

[[recipients]]
name = "Clinic A"
[recipients.levels]
"age + income" = { sigma_squared = 0.25 }

[[recipients]]
name = "Institute B"
[recipients.levels]
"age + income" = { sigma_squared = 1 }
"""
BOTH = ("--with", "Clinic A", "--with", "Institute B")


@pytest.fixture
def wages(line):
    """Makes a project of numbers, with some rounding or none."""

    def make(rounding=""):
        a_table().frame.to_csv(line.folder / "ward.csv", index=False)
        (line.folder / "rules.toml").write_text(RULES.replace("ROUNDING", rounding))
        assert line.init() == ExitCode.OK, line.remarks
        return line

    return make


def weigh(line, *more):
    return line.run("audit", "numbers", line.project, *more)


def test_pooling_gains_nothing_on_the_ladder(wages):
    line = wages()
    assert weigh(line, *BOTH) == ExitCode.OK, line.remarks
    assert line.output.startswith("age + income: Clinic A, Institute B\n")
    assert re.search(r"(\d+\.\d) % together, \1 % by Clinic A alone", line.output)
    assert "had noise of its own," in line.output
    assert "“income”, for somebody who knows how it is distributed" in line.output
    assert "rounded" not in line.output


@pytest.mark.slow
def test_who_learns_the_distribution_from_released_records_is_weighed_copy_by_copy(wages):
    line = wages()
    assert weigh(line, *BOTH, "--json") == ExitCode.OK, line.remarks
    [found] = json.loads(line.output)
    exact, *learned = found["learned"]
    assert exact["from_records"] is None
    assert [each["from_records"] for each in learned] == [400, 800, 1200]
    for each in (exact, *learned):
        alone, together = map(np.array, each["ladder"])
        assert together == pytest.approx(alone)  # on the ladder the second copy tells nothing
        assert (np.array(each["independent"])[1] < alone + 0.02).all()
    # Who knows the distribution comes as far as equation (7) says, but for the measurement.
    assert min(exact["ladder"][1]) == pytest.approx(found["linear"]["ladder"][1], abs=0.03)
    assert weigh(line, *BOTH) == ExitCode.OK
    assert "what 400 released records tell" in line.output
    assert "the means and the covariance exactly" in line.output


@pytest.mark.slow
def test_what_rounding_gives_away_is_told_and_given_as_json(wages):
    line = wages("settings = { rounding = { age = 60 } }")
    assert weigh(line, *BOTH) == ExitCode.OK, line.remarks
    assert "By Bayes' rule, for somebody who knows how “age” is distributed" in line.output
    assert weigh(line, *BOTH, "--json") == ExitCode.OK
    [found] = json.loads(line.output)
    assert found["levels"] == [0.25, 1.0]
    alone, together = found["linear"]["ladder"]
    assert together == pytest.approx(alone)
    [bayes] = found["rounding"]["bayes"]
    assert bayes["attribute"] == "age"
    assert bayes["without rounding"] < bayes["together"] < bayes["alone"]


@pytest.mark.slow
def test_what_was_released_is_weighed_instead_of_the_plan(wages):
    line = wages()
    assert weigh(line, *BOTH, "--released") == ExitCode.EXPECTED_ERROR
    assert "Nothing was released to Clinic A so far." in line.remarks
    assert line.release("Institute B") == ExitCode.OK, line.remarks
    assert weigh(line, *BOTH[2:], "--released") == ExitCode.OK
    assert line.output.startswith("age + income: Institute B\n")


def test_a_project_without_numbers_says_so(made):
    assert weigh(made, "--with", "Clinic A") == ExitCode.EXPECTED_ERROR
    assert "None of these recipients holds numbers" in made.remarks


def test_small_groups_of_numbers_alone_are_answered_in_words(wages):
    """It asked for one of the attributes that there are: “there is none”."""
    line = wages()
    assert line.run("risk", line.project) == ExitCode.EXPECTED_ERROR
    assert "No attribute with a list of values is to be released yet." in line.remarks
    assert "sfumato audit numbers" in line.remarks
