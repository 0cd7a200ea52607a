"""What in a bundle follows from the true table beside the released values."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.engine.errors import LadderError
from app.engine.progress import Silent
from app.project.model import PolicyEntry, Recipient
from app.project.release import make_release
from tests.project.making import new_project, table

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
            make_release(project, table(), "Clinic A", tmp_path / "out", "csv", Silent())
        assert "Solve" in refused.value.remedy or "solve" in refused.value.remedy
        outcome = make_release(
            project, table(), "Clinic A", tmp_path / "out", "csv", Silent(), override="Old file"
        )
        readme = (outcome.path / "README.md").read_text()
        assert "whoever knows all other records can tell" in readme
        told = json.loads((outcome.path / "datapackage.json").read_text())
        fields = told["resources"][0]["schema"]["fields"]
        (perturbed,) = [f["sfumato"] for f in fields if "mechanism" in f.get("sfumato", {})]
        assert perturbed["parameters"]["odds_factor"] is None
