"""Stating a recipient's level for all attributes, or for one, on the command line."""

from __future__ import annotations

import json

import pytest

RULES = """
format = 1
[columns.person]
role = "identifying"
[columns.sex]
role = "sensitive"
[columns.illness]
role = "sensitive"
[[policy]]
attributes = ["sex"]
mechanism = "uniform"
[[policy]]
attributes = ["illness"]
mechanism = "uniform"
[[recipients]]
name = "Clinic A"
[recipients.levels.sex]
retention_probability = 0.9
[recipients.levels.illness]
retention_probability = 0.5
"""


@pytest.fixture
def ward(line):
    (line.folder / "rules.toml").write_text(RULES)
    assert line.init() == 0, line.remarks
    return line


def levels(ward):
    assert ward.run("recipients", ward.project, "--json") == 0
    return json.loads(ward.output)[0]["levels"]


def test_a_level_is_stated_for_all_attributes_and_changed_for_one(ward):
    state = ("recipients", ward.project, "--of", "Clinic A", "--level")
    assert ward.run(*state, "epsilon=2") == 0, ward.remarks
    assert levels(ward) == {"sex": {"epsilon": 2.0}, "illness": {"epsilon": 2.0}}
    assert ward.run(*state, "gamma=3", "--attribute", "sex") == 0, ward.remarks
    assert levels(ward) == {"sex": {"gamma": 3.0}, "illness": {"epsilon": 2.0}}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--of", "Nobody", "--level", "epsilon=2"), "Known are: Clinic A."),
        (("--of", "Clinic A", "--level", "epsilon"), "Write, for instance: --level epsilon=2"),
        (("--of", "Clinic A", "--level", "sigma=2"), "State it by one of: retention_probability;"),
        (("--of", "Clinic A", "--level", "retention_probability=2"), "retention probability"),
        (
            ("--of", "Clinic A", "--level", "epsilon=2", "--attribute", "ilness"),
            "Did you mean illness?",
        ),
    ],
)
def test_what_can_t_be_stated_is_told_and_nothing_changes(ward, arguments, said):
    before = levels(ward)
    assert ward.run("recipients", ward.project, *arguments) == 3
    assert said in ward.remarks
    assert levels(ward) == before


def named(ward):
    assert ward.run("recipients", ward.project, "--json") == 0
    return {each["name"]: each for each in json.loads(ward.output)}


def test_a_recipient_is_added_at_the_least_trusting_levels_and_released_to(ward):
    assert ward.run("recipients", ward.project, "--add", "Public", "--note", "on the web") == 0
    added = named(ward)["Public"]
    assert added["note"] == "on the web"
    typical = {"rho1": 0.1, "rho2": 0.25}
    assert added["levels"] == {"sex": typical, "illness": typical}
    reason = ("--accept", "a test")
    bundles = ("--out", ward.folder / "out")
    assert ward.run("release", ward.project, "--recipient", "Public", *bundles, *reason) == 0


def test_a_recipient_is_added_with_a_level_renamed_and_taken_away(ward):
    state = ("recipients", ward.project)
    assert ward.run(*state, "--add", "Public", "--level", "epsilon=2") == 0, ward.remarks
    assert named(ward)["Public"]["levels"] == {"sex": {"epsilon": 2.0}, "illness": {"epsilon": 2.0}}
    assert ward.run(*state, "--of", "Public", "--rename", "Everybody") == 0, ward.remarks
    assert list(named(ward)) == ["Clinic A", "Everybody"]
    assert ward.run(*state, "--remove", "Everybody") == 0, ward.remarks
    assert list(named(ward)) == ["Clinic A"]
    assert ward.run(*state, "--remove", "Clinic A") == 0, ward.remarks
    assert ward.run(*state, "--of", "Clinic A", "--note", "gone") == 3
    assert "--add NAME" in ward.remarks


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--add", "clinic a"), "clinic a is already a recipient."),
        (("--add", ""), "A recipient needs a name."),
        (("--add", "Public", "--level", "sigma=2"), "State it by one of: retention_probability;"),
        (("--remove", "Nobody"), "Known are: Clinic A."),
    ],
)
def test_who_can_t_be_added_or_taken_away_is_told_and_nothing_changes(ward, arguments, said):
    before = named(ward)
    assert ward.run("recipients", ward.project, *arguments) == 3
    assert said in ward.remarks
    assert named(ward) == before


@pytest.mark.parametrize(
    "arguments",
    [("--add", "A", "--remove", "B"), ("--note", "on the web"), ("--remove", "A", "--note", "x")],
)
def test_what_does_not_go_together_is_a_slip(ward, arguments):
    assert ward.run("recipients", ward.project, *arguments) == 2


def test_a_recipient_without_a_level_is_a_slip(ward):
    assert ward.run("recipients", ward.project, "--of", "Clinic A") == 2


def test_what_has_changed_since_the_last_release_is_told(released):
    assert released.run("recipients", released.project) == 0
    assert "nothing changed since" in released.output
    state = ("recipients", released.project, "--of", "Clinic A", "--level")
    assert released.run(*state, "retention_probability=0.4") == 0, released.remarks
    assert "illness: p = 0.6 then, p = 0.4 now" in released.output
    assert released.run("recipients", released.project, "--json") == 0
    first, second = json.loads(released.output)
    assert first["changed_since"] == [
        {"attribute": "illness", "change": "p = 0.6 then, p = 0.4 now"}
    ]
    assert second["last_release"] is None
