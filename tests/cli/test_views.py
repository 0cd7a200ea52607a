"""``sfumato views``: k, share and levels for each recipient, found, chosen and released."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.project.project_file import ProjectFile
from tests.project.making import PASSPHRASE


def view_of(line, name):
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        return project.document.recipient(name).view


def test_levels_are_found_shown_released_and_taken_back(made):
    asked = ("views", made.project, "--recipient", "Institute B", "--k", "12", "--propose")
    assert made.run(*asked, "--find") == ExitCode.OK
    assert "Hierarchy of “sex”" in made.remarks
    assert "Institute B: k = 12" in made.output
    assert "levels: “sex” 1 of 1" in made.output
    assert "smallest class 12, 0 unique, 0 of 12 records suppressed" in made.output
    assert "Clinic A: sees the quasi-identifiers as they are" in made.output
    out = made.folder / "out"
    assert made.run("release", made.project, "--recipient", "Institute B", "--out", out) == 0
    (bundle,) = out.iterdir()
    assert set(pd.read_csv(bundle / "data.csv")["sex"]) == {"*"}
    assert made.run("verify", bundle, "--project", made.project) == ExitCode.OK
    assert "k = 12 was promised" in made.output
    asked = ("views", made.project, "--recipient", "Institute B", "--as-they-are")
    assert made.run(*asked) == ExitCode.OK
    assert view_of(made, "Institute B") is None


def test_recipients_with_views_are_checked_and_served_once_no_column_is_a_quasi_identifier(made):
    asked = ("views", made.project, "--recipient", "Institute B", "--k", "12", "--propose")
    assert made.run(*asked, "--find") == ExitCode.OK
    assert made.run("attributes", made.project, "--role", "sex=identifying") == ExitCode.OK
    assert made.run("check", made.project) == ExitCode.OK, made.remarks
    assert "Institute B: ready to release" in made.output
    out = made.folder / "out"
    assert made.run("release", made.project, "--recipient", "Institute B", "--out", out) == 0


def test_records_that_columns_beside_the_quasi_identifiers_make_unique_are_told_as_such(line):
    table = line.folder / "people.csv"
    rows = "".join(f"{20 + at % 4},{at},{'fg'[at % 2]}\n" for at in range(40))
    table.write_text("age,shoes,ill\n" + rows)
    rules = line.folder / "rules.toml"
    rules.write_text(
        """format = 1
        [columns]
        age = { role = "quasi-identifier" }
        shoes = { role = "insensitive" }
        ill = { role = "sensitive", values = ["f", "g"] }
        [[policy]]
        attributes = ["ill"]
        mechanism = "uniform"
        [[recipients]]
        name = "Archive"
        levels = { ill = { retention_probability = 0.5 } }
        """
    )
    assert line.run("init", line.project, "--table", table, "--rules", rules) == ExitCode.OK
    asked = ("views", line.project, "--recipient", "Archive", "--k", "5", "--propose", "--find")
    assert line.run(*asked) == ExitCode.OK, line.remarks
    assert "smallest class 10, 40 unique on all columns unperturbed" in line.output


def test_cells_are_suppressed_by_importance_and_what_can_not_be_is_said(made):
    asked = ("views", made.project, "--recipient", "Institute B")
    assert made.run(*asked, "--k", "3", "--cells", "--suppress", "0.2", "--propose") == 0
    assert "at most 20.0 % of the cells suppressed" in made.output
    assert view_of(made, "Institute B").cells
    assert made.run("views", made.project, "--importance", "sex", "--json") == ExitCode.OK
    told = json.loads(made.output)
    assert [(one["cells"], one["suppressed cells"]) for one in told if one["k"]] == [(True, 0)]
    with ProjectFile.open(made.project, PASSPHRASE) as project:
        assert project.document.importance == ("sex",)
    assert made.run("views", made.project, "--importance", "height") == ExitCode.EXPECTED_ERROR
    assert "height is not a quasi-identifier" in made.remarks
    assert made.run(*asked, "--cells", "--rows") == ExitCode.USAGE
    assert made.run(*asked, "--rows") == ExitCode.OK
    assert view_of(made, "Institute B").cells is None


@pytest.mark.slow
def test_editions_with_suppressed_cells_say_that_fewer_share_what_they_show_together(made):
    asked = ("views", made.project, "--recipient", "Institute B", "--k", "3", "--cells")
    assert made.run(*asked, "--suppress", "0.2", "--propose") == 0, made.remarks
    out = made.folder / "out"
    released = ("release", made.project, "--recipient", "Institute B", "--out", out)
    assert made.run(*released) == ExitCode.OK, made.remarks
    [first] = out.iterdir()
    assert "fewer may share" not in (first / "README.md").read_text(encoding="utf-8")
    path = made.folder / "next.csv"
    pd.read_csv(made.folder / "ward.csv").iloc[1:].to_csv(path, index=False)
    assert made.run("source", made.project, "--new-edition", path) == ExitCode.OK, made.remarks
    assert made.run(*released) == ExitCode.OK, made.remarks
    [second] = set(out.iterdir()) - {first}
    readme = " ".join((second / "README.md").read_text(encoding="utf-8").split())
    assert "fewer may share what these show together" in readme
    assert "* can stand in one where another shows a value" in readme


def test_without_a_view_today_s_classes_are_told_and_a_k_is_proposed_by_trust(made):
    assert made.run("views", made.project, "--json") == ExitCode.OK
    today = json.loads(made.output)
    frame = pd.read_csv(made.folder / "ward.csv")
    assert [(one["k"], one["smallest"]) for one in today] == [
        (None, frame["sex"].value_counts().min())
    ] * len(today)
    assert made.run("views", made.project, "--propose", "--propose-k", "--find", "--json") == 0
    ks = [one["k"] for one in json.loads(made.output)]
    assert ks == [5, 12], "no k is above the number of records"


def test_levels_are_chosen_by_hand_and_others_follow(made):
    assert made.run("views", made.project, "--recipient", "Clinic A", "--k", "1", "--propose") == 0
    assert made.run("views", made.project, "--recipient", "Institute B", "--k", "2") == 0
    asked = ("views", made.project, "--recipient", "Clinic A", "--level", "sex=1", "--json")
    assert made.run(*asked) == ExitCode.OK
    assert "sex: Institute B followed" in made.remarks
    told = json.loads(made.output)
    assert [each["levels"] for each in told] == [{"sex": 1}, {"sex": 1}]
    assert told[0]["smallest"] == 12


def test_what_can_not_be_is_said_and_nothing_is_lost(made):
    asked = ("views", made.project)
    assert made.run(*asked, "--k", "5") == ExitCode.USAGE
    assert "--recipient NAME" in made.remarks
    assert made.run(*asked, "--find") == ExitCode.EXPECTED_ERROR
    assert "No k is stated" in made.remarks
    assert made.run(*asked, "--recipient", "Nobody", "--k", "5") == ExitCode.EXPECTED_ERROR
    assert "Clinic A, Institute B" in made.remarks
    asked = (*asked, "--recipient", "Clinic A")
    assert made.run(*asked, "--k", "13", "--propose", "--find") == ExitCode.EXPECTED_ERROR
    assert "Clinic A's k is 13, and the table has 12 records" in made.remarks
    assert made.run(*asked, "--level", "sex") == ExitCode.EXPECTED_ERROR
    assert "COLUMN=LEVEL" in made.remarks
    assert made.run(*asked, "--level", "height=1") == ExitCode.EXPECTED_ERROR
    assert "height is not a quasi-identifier" in made.remarks
    assert made.run(*asked, "--suppress", "1") == ExitCode.EXPECTED_ERROR
    assert made.run(*asked, "--k", "2", "--as-they-are") == ExitCode.USAGE
    assert view_of(made, "Clinic A") is None


def test_where_trust_orders_differ_the_virtual_recipient_is_told(made):
    asked = ("views", made.project, "--recipient", "Clinic A", "--k", "12", "--propose")
    assert made.run(*asked, "--find", "--json") == ExitCode.OK
    told = json.loads(made.output)
    together = told[-1]
    assert together["recipient"] is None
    assert together["finest"] == ["Institute B"]
    assert list(together["most trusted"].values()) == [["Clinic A"]]
    assert together["smallest"] < 12
    assert made.run("views", made.project) == ExitCode.OK
    assert "All recipients together:" in made.output
    assert f"smallest class {together['smallest']}, " in made.output
    assert "  illness: Whatever" in made.output
    assert "Clinic A's level of “illness”, and Institute B's view" in made.output
    asked = ("views", made.project, "--recipient", "Clinic A", "--as-they-are", "--json")
    assert made.run(*asked) == ExitCode.OK
    assert all(each["k"] is None for each in json.loads(made.output))
