"""What recipients of resampled groups are told: code that runs, and errors that are honest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from app.engine.columns import ColumnSpec, Domain, Kind, Role
from app.engine.progress import Silent
from app.engine.randomness import KeyRing
from app.engine.reconstruction_privacy import mle
from app.engine.reconstruction_settings import default_limits
from app.engine.table import Table
from app.project.model import Document, PolicyEntry, Recipient, Source
from app.project.plan import plan_release
from app.project.release import make_release
from app.project.released import material_of, released_by_plan
from app.project.store import ProjectFile
from tests.formats.bundles import code_blocks
from tests.formats.r_syntax import r_problems
from tests.formats.test_bundle_readme import run_python
from tests.project.making import CHEAP, PASSPHRASE, noon

ROWS, GROUPS = 3000, 90
DISEASES = ("asthma", "flu", "none", None)


def table() -> Table:
    rng = np.random.default_rng(8)
    member = rng.choice(GROUPS, ROWS, p=rng.dirichlet(np.ones(GROUPS)))
    disease = rng.choice(4, ROWS, p=[0.2, 0.3, 0.4, 0.1])
    frame = pd.DataFrame(
        {
            "living area": pd.Categorical([f"area {i // 9}" for i in member]),
            "age class": pd.Categorical([f"class {i % 9}" for i in member]),
            "disease": pd.Categorical([DISEASES[i] for i in disease]),
        }
    )
    return Table(frame)


def document() -> Document:
    return Document(
        title="Areas",
        source=Source("/data/areas.csv", "ab" * 32, ROWS),
        columns=(
            ColumnSpec("living area", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
            ColumnSpec("age class", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
            ColumnSpec("disease", Role.SENSITIVE, Kind.CATEGORICAL, Domain(DISEASES)),
        ),
        policy=(PolicyEntry(("disease",), "reconstruction", default_limits()),),
        recipients=(Recipient("Clinic A", {"disease": {"retention_probability": 0.5}}),),
    )


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("areas")
    with ProjectFile.create(
        folder / "areas.sfumato", PASSPHRASE, document(), cost=CHEAP, clock=noon
    ) as project:
        yield {
            name: make_release(project, table(), "Clinic A", folder / name, name, Silent()).path
            for name in ("csv", "dta")
        }


@pytest.mark.parametrize("name", ["csv", "dta"])
def test_the_python_code_estimates_without_bias_and_counts_each_group_once(bundles, name):
    (printed,) = run_python(bundles[name])
    data = pd.read_csv(bundles["csv"] / "data.csv", keep_default_na=False)
    shown = np.column_stack([data["disease"] == (value or "") for value in DISEASES]).astype(float)
    counts = mle(shown.sum(axis=0), 0.5, 4) * ROWS
    np.testing.assert_allclose(printed["count"].to_numpy(), counts, atol=0.06)
    deviations = pd.DataFrame(shown - shown.mean(axis=0)).groupby(
        [data["living area"], data["age class"]]
    ).sum()  # fmt: skip
    groups = len(deviations)
    errors = np.sqrt((deviations**2).sum() * groups / (groups - 1)) / 0.5
    np.testing.assert_allclose(printed["standard_error"].to_numpy(), errors, atol=0.06)


def test_the_errors_cover_the_truth_as_often_as_they_say():
    truth = table().frame["disease"]
    counts = np.array([truth.isna().sum() if v is None else (truth == v).sum() for v in DISEASES])
    material = material_of(document(), table())
    plans = plan_release(material.document, material.attributes, document().recipient("Clinic A"))
    covered = []
    for seed in range(60):
        frame = released_by_plan(material, plans, KeyRing(bytes([seed]) * 32), Silent())
        column = frame["disease"]
        shown = np.column_stack(
            [column.isna() if value is None else column == value for value in DISEASES]
        ).astype(float)
        count = mle(shown.sum(axis=0), 0.5, 4) * ROWS
        groups = frame.groupby(["living area", "age class"], observed=True).ngroup()
        sums = pd.DataFrame(shown - shown.mean(axis=0)).groupby(groups.to_numpy()).sum()
        error = np.sqrt((sums**2).sum().to_numpy()) / 0.5
        covered.append(np.abs(count - counts) <= 1.96 * error)
    assert np.mean(covered) > 0.88, "95 % is meant; a few large groups make it rough"


def test_the_readme_says_that_rows_were_resampled(bundles):
    text = (bundles["csv"] / "README.md").read_text(encoding="utf-8")
    assert "**copied**" in text
    assert "alike in living area, age class" in text
    for block in code_blocks(text, "r"):
        assert r_problems(block) == []


def test_a_column_of_noise_has_the_guide_of_noise(tmp_path):
    silent = replace(
        document(), recipients=(Recipient("Clinic A", {"disease": {"retention_probability": 0.0}}),)
    )
    with ProjectFile.create(
        tmp_path / "areas.sfumato", PASSPHRASE, silent, cost=CHEAP, clock=noon
    ) as project:
        path = make_release(project, table(), "Clinic A", tmp_path, "csv", Silent()).path
    assert "nothing to\nestimate" in (path / "README.md").read_text(encoding="utf-8")
