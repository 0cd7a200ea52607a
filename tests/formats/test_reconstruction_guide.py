"""What recipients of resampled groups are told: code that runs, and errors that are honest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.estimate import estimate_frequencies
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms.reconstruction.limits import default_limits
from sfumato.engine.mechanisms.reconstruction.mechanism import MECHANISM
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import material_of
from tests.engine.disclosure.group_cases import estimated_shares
from tests.formats.bundles import code_blocks
from tests.formats.r_syntax import r_problems
from tests.formats.test_bundle_readme import run_python, run_r
from tests.in_batches import in_batches
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
        source=TableSource("/data/areas.csv", "ab" * 32, ROWS),
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
        made = {
            name: make_release(
                project, in_batches(table()), "Clinic A", folder / name, name, Silent()
            ).path
            for name in ("csv", "dta")
        }
    limits = {**default_limits(), "sampling": "published"}
    published = replace(document(), policy=(PolicyEntry(("disease",), "reconstruction", limits),))
    with ProjectFile.create(
        folder / "published.sfumato", PASSPHRASE, published, cost=CHEAP, clock=noon
    ) as project:
        path = make_release(
            project, in_batches(table()), "Clinic A", folder / "open", "csv", Silent()
        ).path
    return {**made, "published": path}


@pytest.mark.parametrize("name", ["csv", "dta"])
def test_the_python_code_gives_the_estimates_and_intervals_that_the_preview_shows(bundles, name):
    (printed,) = run_python(bundles[name])
    data = pd.read_csv(bundles["csv"] / "data.csv", keep_default_na=False)
    shown = np.array([(data["disease"] == (value or "")).sum() for value in DISEASES])
    attribute = material_of(document(), table()).attributes["disease"]
    law = MECHANISM.estimate_law(0.5, (attribute,), default_limits())
    wanted = estimate_frequencies(shown, uniform_matrix(0.5, 4), law=law)
    for column, figure in (
        ("count", wanted.frequencies),
        ("standard_error", wanted.standard_errors),
        ("low", wanted.low),
        ("high", wanted.high),
    ):
        np.testing.assert_allclose(printed[column].to_numpy(), ROWS * figure, atol=0.06)
    alone = estimate_frequencies(shown, uniform_matrix(0.5, 4))
    assert np.all(wanted.standard_errors > 2 * alone.standard_errors), "copies matter here"


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["csv", "dta", "published"])
def test_the_r_code_gives_the_numbers_that_the_python_code_gives(bundles, name):
    (found,) = run_r(bundles[name])
    (printed,) = run_python(bundles[name])
    names = ["count", "standard_error", "low", "high"]
    assert np.abs(found[names].to_numpy() - printed[names].to_numpy()).max() < 0.06


def test_drawn_as_published_each_group_is_one_observation_by_the_jackknife(bundles):
    (printed,) = run_python(bundles["published"])
    data = pd.read_csv(bundles["published"] / "data.csv", keep_default_na=False)
    shown = np.column_stack([data["disease"] == (value or "") for value in DISEASES]).astype(float)
    np.testing.assert_allclose(
        printed["count"].to_numpy(), estimated_shares(shown.sum(axis=0), 0.5, 4) * ROWS, atol=0.06
    )
    groups = data.groupby(["living area", "age class"])
    left_out = np.array(
        [
            (shown.sum(0) - shown[rows].sum(0)) / (ROWS - len(rows))
            for rows in groups.indices.values()
        ]
    )
    errors = ROWS * np.sqrt(((left_out - shown.mean(axis=0)) ** 2).sum(axis=0)) / 0.5
    np.testing.assert_allclose(printed["standard_error"].to_numpy(), errors, atol=0.06)
    df = 1 / sum((len(rows) / ROWS) ** 2 for rows in groups.indices.values()) - 1
    reach = stats.t.ppf(0.975, df) * errors
    inside = printed["low"] > 0
    off = (printed["count"] - printed["low"])[inside] - reach[inside]
    assert np.abs(off).max() < 0.01 * reach.max()


def test_the_readme_says_that_rows_were_resampled(bundles):
    text = (bundles["csv"] / "README.md").read_text(encoding="utf-8")
    assert "**copied**" in text
    assert "share the values of living area, age class" in text
    for block in code_blocks(text, "r"):
        assert r_problems(block) == []


def test_a_column_of_noise_has_the_guide_of_noise(tmp_path):
    silent = replace(
        document(), recipients=(Recipient("Clinic A", {"disease": {"retention_probability": 0.0}}),)
    )
    with ProjectFile.create(
        tmp_path / "areas.sfumato", PASSPHRASE, silent, cost=CHEAP, clock=noon
    ) as project:
        path = make_release(
            project, in_batches(table()), "Clinic A", tmp_path, "csv", Silent()
        ).path
    readme = (path / "README.md").read_text(encoding="utf-8")
    assert "nothing can be estimated" in " ".join(readme.split())
