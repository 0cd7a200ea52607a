"""Saying on the command line what columns are for and how they leave."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.samples.make_households import households

RULES = """
format = 1
other_columns = "insensitive"
[columns.person]
role = "identifying"
[columns.illness]
role = "sensitive"
[[policy]]
attributes = ["illness"]
mechanism = "uniform"
[[recipients]]
name = "Clinic A"
[recipients.levels.illness]
retention_probability = 0.5
[[recipients]]
name = "Institute B"
[recipients.levels.illness]
retention_probability = 0.3
"""
ROWS = 60


@pytest.fixture
def ward(line):
    frame = pd.DataFrame(
        {
            "person": [f"P{row}" for row in range(ROWS)],
            "income": [1000 * (row + 1) + 7 for row in range(ROWS)],
            "w": [1.5 + row % 3 for row in range(ROWS)],
            "illness": [("asthma", "flu", "gout")[row * row % 3] for row in range(ROWS)],
            "town": [("X", "Y")[row % 2] for row in range(ROWS)],
        }
    )
    frame.to_csv(line.folder / "ward.csv", index=False, lineterminator="\n")
    (line.folder / "rules.toml").write_text(RULES)
    assert line.init() == ExitCode.OK, line.remarks
    return line


def attributes(ward, *arguments):
    assert ward.run("attributes", ward.project, *arguments) == ExitCode.OK, ward.remarks
    return ward.output


def listed(ward):
    return {each["name"]: each for each in json.loads(attributes(ward, "--json"))}


def released(ward, recipient):
    assert ward.release(recipient) == ExitCode.OK, ward.remarks
    return pd.read_csv(ward.bundles()[-1] / "data.csv")


def test_the_columns_are_listed_with_what_becomes_of_them(ward):
    lines = attributes(ward).splitlines()
    assert lines[0] == "person: identifying, text, dropped"
    told = "illness: sensitive, categorical, values taken from the table, not confirmed"
    assert told in lines
    assert listed(ward)["person"] == {
        "name": "person",
        "role": "identifying",
        "kind": "text",
        "dropped": True,
        "pseudonym": None,
        "from_rows": False,
        "bottom": None,
        "top": None,
        "step": None,
    }


@pytest.mark.slow
@pytest.mark.turns(1)
def test_ends_and_rounding_are_stated_and_taken_away_and_releases_keep_to_them(ward):
    said = attributes(ward, "--top-code", "income=50000", "--round", "income=100")
    assert "income: insensitive, numeric, rounded to 100, 50000 means 50000 or more" in said
    attributes(ward, "--bottom-code", "income=3000")
    shown = released(ward, "Clinic A")["income"]
    assert (shown.min(), shown.max()) == (3000, 50_000)
    assert (shown % 100 == 0).all()
    attributes(ward, "--top-code", "income=none", "--round", "income=none")
    assert listed(ward)["income"]["bottom"] == 3000.0
    assert listed(ward)["income"]["top"] is None
    attributes(ward, "--bottom-code", "income=none")
    assert "income: insensitive, numeric\n" in attributes(ward)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_values_taken_from_the_table_are_confirmed_and_told_of_no_more(ward):
    def told():
        assert ward.run("check", ward.project, "--json") != ExitCode.USAGE
        findings = json.loads(ward.output)
        return "taken from the table" in json.dumps(findings)

    assert listed(ward)["illness"]["from_rows"]
    assert told()
    assert "not confirmed" not in attributes(ward, "--confirm", "illness")
    assert not told()


def test_a_weight_is_given_its_role(ward):
    said = attributes(ward, "--role", "w=weight", "--round", "w=0.5")
    assert "w: weight, numeric, rounded to 0.5" in said
    assert ward.run("attributes", ward.project, "--role", "town=weight") == ExitCode.EXPECTED_ERROR
    assert "weights of column “town” are not numbers" in ward.remarks
    assert listed(ward)["town"]["role"] == "insensitive"


def test_a_sensitive_column_gets_its_domain_and_one_that_is_not_leaves_the_policy(ward):
    attributes(ward, "--role", "town=sensitive", "--role", "illness=quasi-identifier")
    assert ward.run("rules", ward.project) == ExitCode.OK
    assert 'values = ["X", "Y"]' in ward.output
    assert "[[policy]]" not in ward.output


def test_what_becomes_sensitive_is_drawn_once_for_a_unit_where_it_is_the_same_in_it(line):
    table, project = line.folder / "survey.csv", line.folder / "survey.sfumato"
    households(60).to_csv(table, index=False)
    assert line.run("init", project, "--table", table, "--unit", "household") == ExitCode.OK
    roles = ("--role", "water=sensitive", "--role", "illness=sensitive")
    assert line.run("attributes", project, *roles) == ExitCode.OK
    assert line.run("rules", project) == ExitCode.OK
    assert 'constant = ["water"]' in line.output


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("arguments", "stated", "alike"),
    [
        ((), "each", False),
        (("--shared",), "shared", True),
        (
            ("--shared-by", "Clinic A", "--shared-by", "Institute B"),
            ["Clinic A", "Institute B"],
            True,
        ),
        (("--shared-by", "Clinic A"), ["Clinic A"], False),
    ],
)
def test_an_identifier_leaves_as_a_pseudonym_of_the_scope_stated(ward, arguments, stated, alike):
    attributes(ward, "--pseudonym", "person", *arguments)
    assert listed(ward)["person"]["pseudonym"] == stated
    one, other = released(ward, "Clinic A"), released(ward, "Institute B")
    assert one["person"].nunique() == other["person"].nunique() == ROWS
    assert (set(one["person"]) == set(other["person"])) == alike
    assert "dropped" in attributes(ward, "--drop", "person").splitlines()[0]


def test_the_role_and_the_pseudonym_are_given_in_one_step(ward):
    said = attributes(ward, "--role", "town=identifying", "--pseudonym", "town")
    assert "town: identifying, categorical, leaves as a pseudonym, shared by nobody" in said


IMPOSSIBLE = (
    (("--role", "incom=weight"), "Did you mean income?"),
    (("--role", "income=secret"), "Choose one of: identifying, quasi-identifier"),
    (("--role", "income"), "not of the form COLUMN=WHAT"),
    (("--pseudonym", "town"), "--role town=identifying"),
    (("--drop", "town"), "--role town=identifying"),
    (("--pseudonym", "person", "--shared-by", "Nobody"), "Known are: Clinic A, Institute B"),
    (("--top-code", "income=much"), "much is not a number"),
    (("--top-code", "income=1", "--bottom-code", "income=2"), "is not below the highest"),
    (("--round", "income=0"), "can't be rounded to 0"),
    (("--round", "town=5"), "nothing to round"),
    (("--round", "illness=5"), "nothing to round"),
    (("--confirm", "income"), "nothing to confirm"),
)
"""What a column can't be, and what is said of it."""


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_can_not_be_is_refused_and_nothing_changes(ward):
    before = listed(ward)
    for arguments, said in IMPOSSIBLE:
        code = ward.run("attributes", ward.project, *arguments)
        assert code == ExitCode.EXPECTED_ERROR, arguments
        assert said in ward.remarks
        assert listed(ward) == before, arguments


def test_sharing_without_a_column_is_not_understood(ward):
    for stray in (("--shared",), ("--shared-by", "Clinic A")):
        assert ward.run("attributes", ward.project, *stray) == ExitCode.USAGE, stray
        assert "--pseudonym COLUMN" in ward.remarks
