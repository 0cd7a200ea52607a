"""What `sfumato init` says of the roles it proposes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Role
from sfumato.project.project_file import ProjectFile
from tests.project.making import PASSPHRASE

RULES = """
format = 1
other_columns = "quasi-identifier"
[columns.illness]
role = "insensitive"
"""


def survey(folder):
    """Write persons in households of three."""
    frame = pd.DataFrame(
        {
            "hid": np.repeat(np.arange(40) * 7, 3),
            "sampling_weight": np.repeat(np.linspace(20.0, 90.0, 40), 3),
            "illness": np.resize(["flu", "asthma"], 120),
        }
    )
    path = folder / "survey.csv"
    frame.to_csv(path, index=False)
    return path


def test_without_rules_the_proposed_roles_are_taken_and_told_with_their_reasons(line):
    assert line.run("init", line.project, "--table", survey(line.folder)) == 0, line.remarks
    assert "hid: identifying. " in line.remarks
    assert "sampling weight" in line.remarks
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        assert project.document.column("hid").role is Role.IDENTIFYING
        assert project.document.title == "survey"
    assert line.run("rules", line.project) == 0
    assert "[columns.hid]" in line.output


def test_rules_that_release_what_looks_identifying_are_remarked_on(line):
    rules = line.folder / "survey.toml"
    rules.write_text(RULES)
    table = survey(line.folder)
    assert line.run("init", line.project, "--table", table, "--rules", rules) == 0, line.remarks
    assert "hid is quasi-identifier; proposed: identifying. " in line.remarks
    assert "illness" not in line.remarks


def books(folder):
    """Write accounts whose result is revenue less costs."""
    rng = np.random.default_rng(4)
    revenue, costs = rng.lognormal(11, 1, (2, 200)).round()
    frame = pd.DataFrame({"revenue": revenue, "costs": costs, "result": revenue - costs})
    path = folder / "books.csv"
    frame.to_csv(path, index=False)
    return path


def test_columns_that_follow_from_each_other_are_told_with_what_to_do(line):
    assert line.run("init", line.project, "--table", books(line.folder)) == 0, line.remarks
    assert "revenue = result + costs in every row" in line.remarks
    assert "protect all 3 together, or leave the others out" in line.remarks


def test_with_rules_they_are_told_where_a_sensitive_one_is_protected_apart(line):
    table = books(line.folder)
    rules = line.folder / "books.toml"
    level = "[[recipients]]\nname = 'Bank'\nlevels = { result = { sigma_squared = 1 } }\n"
    entry = "[[policy]]\nattributes = ['result']\nmechanism = 'gaussian'\n"
    sensitive = "[columns.result]\nrole = 'sensitive'\nkind = 'numeric'\n"
    told = []
    for other in ("insensitive", "identifying"):
        rules.write_text(f"format = 1\nother_columns = '{other}'\n{sensitive}{entry}{level}")
        project = line.folder / f"{other}.sfumato"
        asked = ("init", project, "--table", table, "--rules", rules)
        assert line.run(*asked) == 0, line.remarks
        told.append("in every row" in line.remarks)
    assert told == [True, False], "columns that are left out tell nothing"


def test_a_weak_passphrase_is_remarked_on(line):
    assert line.run("init", line.project, "--table", survey(line.folder)) == 0, line.remarks
    assert "The passphrase is weak" in line.remarks
