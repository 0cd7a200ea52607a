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
