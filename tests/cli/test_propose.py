"""A whole plan on the command line: shown, put into effect, or refused by name."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.engine.core.columns import Role
from sfumato.project.project_file import ProjectFile
from tests.project.making import PASSPHRASE

ROWS = 240


@pytest.fixture
def survey(line):
    """A project that was made of a table without rules."""
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "sex": draw.choice(["f", "m"], ROWS),
            "region": draw.choice(["east", "north", "west"], ROWS),
            "income": draw.lognormal(7.5, 0.5, ROWS).round(2),
            "religion": draw.choice(["a", "b", "c"], ROWS, p=[0.6, 0.3, 0.1]),
        }
    )
    frame.to_csv(line.folder / "survey.csv", index=False)
    made = line.folder / "survey.sfumato"
    assert line.run("init", made, "--table", line.folder / "survey.csv") == ExitCode.OK
    return made


@pytest.mark.few(1)
@pytest.mark.parametrize("memory", ["1000", "0.001"])
def test_a_plan_is_shown_first_and_put_into_effect_when_asked(line, survey, memory):
    before = survey.read_bytes()
    more = ("--memory", memory)
    assert line.run("propose", survey, *more) == ExitCode.OK, line.remarks
    assert survey.read_bytes() == before
    assert (
        "Sensitive, since their names suggest what people keep private: “income” and" in line.output
    )
    assert "Nothing is changed yet." in line.output
    assert line.run("propose", survey, "--apply", *more) == ExitCode.OK, line.remarks
    assert "goes by this plan from now on" in line.output
    assert line.run("check", survey, "--recipient", "Public file", *more) == ExitCode.OK
    out = ("--recipient", "Public file", "--out", line.folder / "out")
    assert line.run("release", survey, *out, *more) == ExitCode.OK, line.remarks
    [bundle] = line.bundles()
    data = pd.read_csv(bundle / "data.csv")
    assert len(data) == ROWS
    assert data.groupby(["sex", "region"]).size().min() >= 20


@pytest.mark.slow
def test_the_command_that_a_plan_tells_puts_into_effect_what_was_shown(line, survey):
    assert line.run("propose", survey, "--sensitive", "region") == ExitCode.OK, line.remarks
    words = "Sensitive, since you say that nobody else can know it: “region”."
    assert words in line.output
    told = line.output.splitlines()[-1].split("sfumato ", 1)[1]
    assert line.run(*shlex.split(told)) == ExitCode.OK, line.remarks
    assert words in line.output
    with ProjectFile.open(survey, PASSPHRASE) as project:
        assert project.document.column("region").role is Role.SENSITIVE
        assert project.document.entry_for("region") is not None


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_plan_as_json_tells_dangers_steps_and_worth(line, survey):
    assert line.run("propose", survey, "--json") == ExitCode.OK, line.remarks
    told = json.loads(line.output)
    assert (told["safe"], told["applied"], told["dangers_before"], told["dangers_after"]) == (
        *(True, False, None, 0),
    )
    assert [each["recipient"] for each in told["worth"]] == [
        *("Trusted partner", "Contract recipient", "Public file"),
    ]
    assert all(step["step"] for step in told["steps"])
    assert any("income: " in step["step"] for step in told["steps"])


def test_a_table_without_anything_private_is_refused_with_what_to_do(line):
    frame = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": ["s", "m", "l", "xl"] * 10})
    frame.to_csv(line.folder / "things.csv", index=False)
    made = line.folder / "things.sfumato"
    assert line.run("init", made, "--table", line.folder / "things.csv") == ExitCode.OK
    assert line.run("propose", made, "--apply") == ExitCode.EXPECTED_ERROR
    assert "No column is sensitive" in line.remarks
    assert "the role sensitive" in line.remarks
