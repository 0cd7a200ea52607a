"""The recipient's guide to noisy numbers gives what the engine estimates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.number_estimates import (
    estimate_covariance,
    estimate_means,
    estimate_quantiles,
    estimate_regression,
)
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import Perturbation
from sfumato.formats.bundles.writing import write_bundle
from tests.engine.numbers import GAUSSIAN, attributes_of, people, released, stated_settings
from tests.formats.bundles import FORMATS, case, code_blocks
from tests.formats.r_syntax import r_problems
from tests.formats.test_bundle_readme import run_python, run_r

PEOPLE = people()
ATTRIBUTES = attributes_of(PEOPLE)
LEVEL = 0.5
HOURS = 30.0 + np.arange(len(PEOPLE[0].values)) * 13 % 17
"""A column that goes with nothing and is released as it is."""
MORE = """
outcome = regression(data, "income", ["age", "hours"])
print(outcome.to_string(index=False))
print('----')
print(pd.DataFrame({"value": quantiles(data, "income", [0.1, 0.5, 0.9])}).to_string(index=False))
print('----')
print(covariance(data).to_string(index=False))
"""


def bundle(folder, format_name="csv", more=False, **changes):
    """Write a bundle of ages and incomes; return the released numbers and their noise."""
    settings = stated_settings(ATTRIBUTES, **changes)
    names = [attribute.name for attribute in ATTRIBUTES]
    columns = released(PEOPLE, settings, LEVEL).columns
    contents = replace(
        case().contents,
        table=Table(pd.DataFrame({**columns, "hours": HOURS})),
        columns=(
            *(ColumnSpec(name, Role.SENSITIVE, Kind.NUMERIC) for name in names),
            ColumnSpec("hours", Role.INSENSITIVE, Kind.NUMERIC),
        ),
        perturbations=(
            Perturbation(
                tuple(names),
                GAUSSIAN.name,
                GAUSSIAN.title,
                GAUSSIAN.summary,
                GAUSSIAN.published(LEVEL, ATTRIBUTES, settings),
                GAUSSIAN.promise(LEVEL, ATTRIBUTES, settings),
            ),
        ),
    )
    write_bundle(contents, folder, format_name, Silent())
    if more:
        readme = folder / "README.md"
        text = readme.read_text(encoding="utf-8")
        asked = text.replace("print(estimate(data).to_string(index=False))\n", MORE, 1)
        readme.write_text(asked, encoding="utf-8")
    shown = np.array([c.to_numpy(float, na_value=np.nan) for c in columns.values()])
    return shown, GAUSSIAN.noise_covariance(LEVEL, ATTRIBUTES, settings)


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_python_code_gives_the_engines_means_and_spreads(tmp_path, format_name):
    shown, noise = bundle(tmp_path, format_name)
    (printed,) = run_python(tmp_path)
    means = estimate_means(shown, noise)
    assert list(printed["attribute"]) == ["age", "income"]
    assert printed["mean"].to_numpy() == pytest.approx(means.values, rel=1e-5)
    assert printed["standard_error"].to_numpy() == pytest.approx(means.errors, rel=1e-4)
    spreads = np.sqrt(np.diag(estimate_covariance(shown, noise).values))
    assert printed["standard_deviation"].to_numpy() == pytest.approx(spreads, rel=1e-5)
    truth = [np.nanmean(column.values) for column in PEOPLE]
    assert (printed["low"] < truth).all()
    assert (printed["high"] > truth).all()


@pytest.mark.slow
def test_the_r_code_gives_the_regression_that_the_python_code_gives(tmp_path):
    bundle(tmp_path, more=True)
    outcome, *_ = run_python(tmp_path)
    asked = 'estimate <- function(data) regression(data, "income", c("age", "hours"))'
    (found,) = run_r(tmp_path, last=asked)
    names = ["estimate", "standard_error"]
    assert found[names].to_numpy() == pytest.approx(outcome[names].to_numpy(), abs=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("format_name", FORMATS)
def test_the_r_code_gives_the_means_that_the_python_code_gives(tmp_path, format_name):
    bundle(tmp_path, format_name)
    (found,) = run_r(tmp_path)
    (printed,) = run_python(tmp_path)
    assert list(found["attribute"]) == list(printed["attribute"])
    for name in ("mean", "standard_error", "low", "high", "standard_deviation"):
        assert found[name].to_numpy() == pytest.approx(printed[name].to_numpy(), rel=1e-4)


@pytest.mark.parametrize("changes", [{}, {"noise": "separate"}], ids=str)
def test_the_python_code_corrects_regressions_covariances_and_quantiles(tmp_path, changes):
    shown, noise = bundle(tmp_path, more=True, **changes)
    outcome, asked, spread = run_python(tmp_path)
    true = np.array([column.values for column in PEOPLE])
    known = ~np.isnan(true).any(axis=0)
    exact = np.column_stack([np.ones(known.sum()), true[0, known], HOURS[known]])
    wanted = np.linalg.lstsq(exact, true[1, known])[0]
    assert (np.abs(outcome["estimate"] - wanted) < 4.5 * outcome["standard_error"]).all()
    deciles = np.nanquantile(true[1], [0.1, 0.5, 0.9])
    assert asked["value"].to_numpy() == pytest.approx(deciles, rel=0.12)
    told = estimate_covariance(shown, noise).values
    assert spread.to_numpy() == pytest.approx(told, rel=1e-4)
    quantile = estimate_quantiles(shown[1], noise[1, 1], [0.1, 0.5, 0.9]).values
    assert asked["value"].to_numpy() == pytest.approx(quantile, rel=1e-4)
    hidden = np.zeros((3, 3))
    hidden[:2, :2] = noise
    found = estimate_regression(np.vstack([shown, HOURS]), hidden, 1, [0, 2])
    assert outcome["estimate"].to_numpy() == pytest.approx(found.values, rel=1e-3)
    assert outcome["standard_error"].to_numpy() == pytest.approx(found.errors, rel=1e-3)


def test_what_coarse_rounding_adds_to_spreads_is_taken_off_as_well(tmp_path):
    bundle(tmp_path, rounding={"age": 26.0})
    (printed,) = run_python(tmp_path)
    truth = [np.nanstd(column.values) for column in PEOPLE]
    assert printed["standard_deviation"].to_numpy() == pytest.approx(truth, rel=0.05)


def test_the_r_code_is_sound_r_and_the_text_names_what_was_done(tmp_path):
    bundle(tmp_path, rounding={"age": 1}, noise="separate")
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    blocks = code_blocks(text, "r")
    assert blocks
    assert all(r_problems(block) == [] for block in blocks)
    for told in ("age and income", "0.5 times", "noise of its own", "rounded or clipped"):
        assert told in text
