"""The recipient's guide to Laplace noise gives what the engine estimates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.number_estimates import (
    estimate_covariance,
    estimate_quantiles,
    estimate_regression,
)
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.writing import write_bundle
from tests.engine.numbers import people, request
from tests.formats.bundles import case, code_blocks, facts_of
from tests.formats.r_syntax import r_problems
from tests.formats.test_bundle_readme import run_python, run_r

LAPLACE = mechanism_called("laplace")
SETTINGS = {"lowest": 0, "highest": 100, "step": 1, "bounds": "stated"}
LEVEL = 4.0
(AGE, _) = people()
DRAW = np.random.default_rng(8)
HOURS = 10.0 + 0.4 * AGE.values + DRAW.normal(0, 4, len(AGE.values))
MORE = """
outcome = regression(data, "hours", ["age"])
print(outcome.to_string(index=False))
print('----')
print(pd.DataFrame({"value": quantiles(data, [0.1, 0.5, 0.9])}).to_string(index=False))
print('----')
print(estimate(data, sample=True).to_string(index=False))
"""


def bundle(folder):
    """Write a bundle of ages; return what it shows and the law of its noise."""
    attributes = (AGE.attribute,)
    columns = LAPLACE.release(request([AGE], SETTINGS, LEVEL), Silent())
    contents = replace(
        case().contents,
        table=Table(pd.DataFrame({**columns, "hours": HOURS})),
        columns=(
            ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC),
            ColumnSpec("hours", Role.INSENSITIVE, Kind.NUMERIC),
        ),
        perturbations=(facts_of(LAPLACE, attributes, LEVEL, SETTINGS),),
    )
    write_bundle(contents, folder, "csv", Silent())
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8")
    last = "print(estimate(data).to_string(index=False))\n"
    readme.write_text(text.replace(last, last + "print('----')" + MORE, 1), encoding="utf-8")
    return columns["age"].to_numpy(float), LAPLACE.noise_law(LEVEL, attributes, SETTINGS)


def test_the_python_code_gives_what_the_engine_estimates(tmp_path):
    shown, law = bundle(tmp_path)
    noise = law.covariance
    assert 'impute(data, "age", given' in (tmp_path / "README.md").read_text(encoding="utf-8")
    moments, outcome, asked, population = run_python(tmp_path)
    found = estimate_covariance(shown[np.newaxis], noise, excess=law.excess)
    spread = math.sqrt(found.values[0, 0])
    assert moments["estimate"].to_numpy() == pytest.approx([shown.mean(), spread], rel=1e-4)
    errors = [math.sqrt(noise[0, 0] / len(shown)), found.errors[0, 0] / (2 * spread)]
    assert moments["standard_error"].to_numpy() == pytest.approx(errors, rel=1e-3)
    truth = [AGE.values.mean(), AGE.values.std()]
    assert ((moments["low"] < truth) & (moments["high"] > truth)).all()
    assert population["standard_error"][0] > moments["standard_error"][0]
    both = np.vstack([shown, HOURS])
    told = estimate_regression(both, np.diag([noise[0, 0], 0.0]), 1, [0])
    assert outcome["estimate"].to_numpy() == pytest.approx(told.values, rel=1e-3)
    assert outcome["standard_error"].to_numpy() == pytest.approx(told.errors, rel=1e-3)
    assert abs(outcome["estimate"][1] - 0.4) < 4 * outcome["standard_error"][1]
    deciles = estimate_quantiles(shown, noise[0, 0], [0.1, 0.5, 0.9], excess=law.excess).values
    assert asked["value"].to_numpy() == pytest.approx(deciles, rel=1e-3)


@pytest.mark.slow
def test_the_r_code_gives_what_the_python_code_gives(tmp_path):
    bundle(tmp_path)
    blocks = code_blocks((tmp_path / "README.md").read_text(encoding="utf-8"), "r")
    assert all(r_problems(block) == [] for block in blocks)
    moments, outcome, *_ = run_python(tmp_path)
    for last, wanted in (
        ("", moments),
        ('estimate <- function(data) regression(data, "hours", c("age"))', outcome),
    ):
        (found,) = run_r(tmp_path, last=last)
        for name in ("estimate", "standard_error"):
            assert found[name].to_numpy() == pytest.approx(wanted[name].to_numpy(), rel=1e-3)
