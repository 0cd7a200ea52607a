"""An earlier release whose texts were made safe for spreadsheets is adopted as what it shows."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.document.model import PolicyEntry, Recipient, TableSource
from sfumato.project.release.release import make_release
from tests.cli.conftest import RULES
from tests.in_batches import in_batches
from tests.project.making import document, new_project

RESULTS = ("-", "+", "=?", "clear")
ROWS = 2_000
RULES_HERE = (
    RULES.replace('[columns.sex]\nrole = "quasi-identifier"\n\n', "")
    .replace("[columns.person]", '[columns."@person"]')
    .replace('role = "identifying"', 'role = "insensitive"')
    .replace('record_key = "person"', 'record_key = "@person"')
    .replace("[columns.illness]", '[columns."@illness"]')
    .replace('["illness"]', '["@illness"]')
    .replace("\nillness = {", '\n"@illness" = {')
    .replace('"asthma", "cold", "flu", "gout"', '"-", "+", "=?", "clear"')
)
FRAME = pd.DataFrame(
    {
        "@person": [f"={i:05d}" for i in range(ROWS)],
        "@illness": [RESULTS[i * i % 7 % 4] for i in range(ROWS)],
    }
)


def earlier_release(folder, escape_formulas):
    """Return the data file of a release that another custodian made, with its key."""
    folder.mkdir()
    settled = document(
        source=TableSource("/data/ward.csv", "ab" * 32, ROWS),
        columns=(
            ColumnSpec("@person", Role.INSENSITIVE, Kind.TEXT),
            ColumnSpec("@illness", Role.SENSITIVE, domain=Domain(RESULTS)),
        ),
        policy=(PolicyEntry(("@illness",), "uniform"),),
        recipients=(Recipient("Old Clinic", {"@illness": {"retention_probability": 0.8}}),),
    )
    table = Table(FRAME.assign(**{"@illness": pd.Categorical(FRAME["@illness"], RESULTS)}))
    with new_project(folder, settled) as project:
        made = make_release(
            project,
            in_batches(table),
            "Old Clinic",
            folder / "out",
            "csv",
            Silent(),
            escape_formulas=escape_formulas,
        )
    return made.path / "data.csv"


@pytest.fixture
def ward(line):
    FRAME.to_csv(line.folder / "ward.csv", index=False)
    (line.folder / "rules.toml").write_text(RULES_HERE)
    assert line.init() == ExitCode.OK, line.remarks
    return line


def shown_in(path, escaped):
    shown = pd.read_csv(path, dtype=str, keep_default_na=False)
    if escaped:  # one apostrophe stands before whatever begins a formula
        assert shown.columns[0].startswith("'@")
        shown = shown.map(lambda text: text[1:] if text.startswith("'") else text)
        shown.columns = [name[1:] for name in shown.columns]
    return shown.set_index("@person")["@illness"]


@pytest.mark.slow
@pytest.mark.parametrize("escape_formulas", [True, False])
@pytest.mark.parametrize("alone", [False, True], ids=["in its bundle", "alone"])
def test_a_release_is_adopted_and_released_beside(ward, escape_formulas, alone):
    file = earlier_release(ward.folder / "other", escape_formulas)
    earlier = shown_in(file, escape_formulas)
    if alone:
        file = shutil.copy(file, ward.folder / "found.csv")
    given = ["--attribute", "@illness", "--file", file, "--level", "0.8", "--match", "key"]
    assert ward.run("adopt", ward.project, *given) == ExitCode.OK, ward.output + ward.remarks
    assert "Adopted as a rung of the ladder." in ward.output
    assert ward.release("Clinic A") == ExitCode.OK, ward.remarks
    (bundle,) = ward.bundles()
    assert ward.run("verify", bundle, "--project", ward.project) == ExitCode.OK, ward.output
    # What is shown at 0.6 is what was shown at 0.8, kept with probability 0.6 / 0.8 and one of
    # four values otherwise. Releases that know nothing of each other agree in 0.61 of the rows.
    shown = shown_in(bundle / "data.csv", True)
    agree = (shown == earlier.reindex(shown.index)).mean()
    expected = 0.75 + 0.25 / 4
    assert abs(agree - expected) < 5 * (expected * (1 - expected) / ROWS) ** 0.5  # one in 1.7e6
