"""``sfumato trace``."""

from __future__ import annotations

import json

import pandas as pd

from sfumato.commands.shared.command import ExitCode


def test_a_bundle_is_traced_to_its_recipient(made):
    assert made.release("Clinic A") == ExitCode.OK
    (bundle,) = made.bundles()
    code = made.run("trace", bundle, "--project", made.project)
    assert "12 rows" in made.output
    assert "Clinic A" in made.output
    assert code in {ExitCode.OK, ExitCode.CHECK_FAILED}


def test_figures_are_printed_as_json(made):
    made.release("Clinic A")
    (bundle,) = made.bundles()
    made.run("trace", bundle, "--project", made.project, "--json")
    found = json.loads(made.output)
    assert found["rows"] == 12
    assert {release["recipients"] for release in found["releases"]} == {"Clinic A", "Institute B"}


def test_a_file_without_the_perturbed_columns_is_refused(made):
    found = made.folder / "found.csv"
    pd.DataFrame({"sex": ["f"], "city": ["X"]}).to_csv(found, index=False)
    assert made.run("trace", found, "--project", made.project) not in {0, ExitCode.CHECK_FAILED}
    assert "none of the perturbed columns (illness)" in made.remarks
