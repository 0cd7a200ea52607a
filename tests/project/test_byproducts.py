"""What in a bundle follows from the true table beside the released values."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.columns import Binning, Domain
from sfumato.engine.core.errors import LadderError
from sfumato.engine.core.progress import Silent
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.project.release.byproducts import columns_from_rows
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from sfumato.report.material import ReportOptions, collect
from sfumato.report.sections import compose
from sfumato.report.writing import draw, to_html
from tests.in_batches import in_batches
from tests.project.making import document, new_project, noon, table

EXACT = {"mode": "strict", "theta": 3.0, "limits": [], "profile": [0.1, 0.2, 0.2, 0.3]}


def test_a_profile_from_exact_counts_is_released_for_a_reason_only(tmp_path):
    with new_project(tmp_path) as project:
        made = project.document
        (entry,) = made.policy
        size = made.column(entry.attributes[0]).domain.size
        settings = {**EXACT, "profile": [0.1 + 0.01 * place for place in range(size)]}
        policy = (PolicyEntry(entry.attributes, "finegrain", settings),)
        recipients = (Recipient("Clinic A", {entry.key: {"trust_factor": 1.0}}),)
        project.save_document(replace(made, policy=policy, recipients=recipients))
        with pytest.raises(LadderError, match="exact table") as refused:
            make_release(
                project, in_batches(table()), "Clinic A", tmp_path / "out", "csv", Silent()
            )
        assert "Solve" in refused.value.remedy or "solve" in refused.value.remedy
        outcome = make_release(
            project,
            in_batches(table()),
            "Clinic A",
            tmp_path / "out",
            "csv",
            Silent(),
            override="Old file",
        )
        readme = (outcome.path / "README.md").read_text()
        assert "anyone who knows all other records can" in readme
        told = json.loads((outcome.path / "datapackage.json").read_text())
        fields = told["resources"][0]["schema"]["fields"]
        (perturbed,) = [f["sfumato"] for f in fields if "mechanism" in f.get("sfumato", {})]
        assert perturbed["parameters"]["odds_factor"] is None


@pytest.mark.slow
@pytest.mark.turns(1)
def test_values_taken_from_the_rows_are_told_to_everybody_until_confirmed(tmp_path):
    said = "of illness were taken from the table"
    apart = said.replace("illness", "“illness”")
    for from_rows in (True, False):
        made = document()
        illness = replace(made.column("illness"), from_rows=from_rows)
        folder = tmp_path / str(from_rows)
        folder.mkdir()
        with new_project(folder, made.with_column(illness)) as project:
            outcome = make_release(
                project, in_batches(table()), "Clinic A", folder, "csv", Silent()
            )
            readme = (outcome.path / "README.md").read_text(encoding="utf-8")
            known = attributes_of(project.document, table())
            cautions = " ".join(guarantee_of(project.document, known).cautions)
            report = compose(collect(project, in_batches(table()), noon, Silent()), ReportOptions())
            page = to_html(report, [draw(picture, "svg") for picture in report.pictures])
        assert [apart in text for text in (readme, page)] == [from_rows] * 2
        assert (said in cautions) == from_rows
        assert "The number of records" in readme
        assert "The number of records" in page


def test_columns_that_are_dropped_or_read_row_by_row_tell_no_list_of_values():
    made = document()
    for name in ("person", "sex"):
        domain = Domain(("f", "m"))
        made = made.with_column(replace(made.column(name), domain=domain, from_rows=True))
    assert columns_from_rows(made) == ()
    bins = Binning((0.0, 1.0, 2.0))
    made = made.with_column(replace(made.column("sex"), binning=bins))
    assert columns_from_rows(made) == ("sex",)
