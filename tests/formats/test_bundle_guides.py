"""The recipients' guides of mechanisms with a matrix of their own give the engine's numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.estimate import Target, estimate_frequencies
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.writing import write_bundle
from tests.formats.bundles import case, code_blocks, perturbed
from tests.formats.r_syntax import r_problems
from tests.formats.test_bundle_readme import NAMES_OF_ESTIMATES, run_python, run_r

VALUES = ("SARS", "HIV", "H1N1", "cancer", None)
SHARES = (0.05, 0.1, 0.25, 0.5, 0.1)
ROWS = 8000

MATRIX = np.array(
    [
        [0.7, 0.1, 0.0, 0.2, 0.1],
        [0.1, 0.7, 0.2, 0.0, 0.1],
        [0.1, 0.1, 0.7, 0.1, 0.1],
        [0.1, 0.0, 0.1, 0.6, 0.1],
        [0.0, 0.1, 0.0, 0.1, 0.6],
    ]
)
SINGULAR = np.array(MATRIX)
SINGULAR[:, 1] = SINGULAR[:, 0]

REGULAR = {
    "finegrain": ("finegrain", {"mode": "strict", "profile": [0.2, 0.3, 0.5, 0.6, 0.4]}),
    "one value never kept": (
        "finegrain",
        {"mode": "strict", "profile": [0.0, 0.3, 0.5, 0.6, 0.4]},
    ),
    "matrix": ("matrix", {"entries": MATRIX.tolist()}),
    "distribution": (
        "distribution",
        {"frequencies": "stated", "shares": [1, 2, 5, 9, 2], "even_share": 0.2},
    ),
    "hierarchical": ("hierarchical", {"chapters": ["a", "a", "b", "b", "b"], "inside_share": 0.5}),
}
LEVELS = {"finegrain": 0.6, "distribution": 0.4, "hierarchical": 0.4}
"""Levels that are not the most trusted there could be."""
WITHOUT_INVERSE = {
    "two values never kept": (
        "finegrain",
        {"mode": "strict", "profile": [0.0, 0.0, 0.5, 0.6, 0.4]},
    ),
    "two equal columns": ("matrix", {"entries": SINGULAR.tolist()}),
}


def bundle(folder, mechanism, settings, format_name="csv"):
    """Write a bundle with one perturbed column; return the released column and its attribute."""
    counts = np.round(np.array(SHARES) * ROWS).astype(int)
    truth = Table(pd.DataFrame({"disease": pd.Series(np.repeat(VALUES, counts), dtype="str")}))
    spec = ColumnSpec("disease", Role.SENSITIVE, domain=Domain(VALUES))
    level = LEVELS.get(mechanism, 1.0)
    released, facts, attribute = perturbed(truth, spec, level, mechanism, settings)
    contents = replace(
        case().contents,
        table=Table(pd.DataFrame({"disease": released})),
        columns=(spec,),
        perturbations=(facts,),
    )
    write_bundle(contents, folder, format_name, Silent())
    return released, attribute, level


@pytest.mark.parametrize("name", REGULAR)
def test_the_python_code_gives_the_engines_estimates_and_intervals(tmp_path, name):
    mechanism, settings = REGULAR[name]
    released, attribute, level = bundle(tmp_path, mechanism, settings)
    matrix = mechanism_called(mechanism).matrix(level, (attribute,), settings)
    seen = np.bincount(attribute.domain.encode(released), minlength=len(VALUES))
    estimate = estimate_frequencies(seen, matrix)
    wanted = ROWS * np.column_stack(
        [estimate.frequencies, estimate.standard_errors, estimate.low, estimate.high]
    )
    (printed,) = run_python(tmp_path)
    assert np.abs(printed[NAMES_OF_ESTIMATES].to_numpy() - wanted).max() < 0.3
    # Each interval holds the true count but for 1 in 20; that all five lie within twice the
    # interval fails less than once in 2,000 releases.
    off = np.abs(printed["count"] - np.array(SHARES) * ROWS)
    assert (off <= 2 * 1.96 * printed["standard_error"]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        *((name, "csv") for name in {**REGULAR, **WITHOUT_INVERSE}),
        *((name, other) for name in ("finegrain", "matrix") for other in ("sav", "dta")),
    ],
)
def test_the_r_code_gives_the_numbers_that_the_python_code_gives(tmp_path, name, format_name):
    mechanism, settings = {**REGULAR, **WITHOUT_INVERSE}[name]
    bundle(tmp_path, mechanism, settings, format_name=format_name)
    (found,) = run_r(tmp_path)
    (printed,) = run_python(tmp_path)
    names = [column for column in NAMES_OF_ESTIMATES if column in printed]
    assert "count" in names
    assert np.abs(found[names].to_numpy() - printed[names].to_numpy()).max() < 0.06


@pytest.mark.parametrize("name", ["finegrain", "matrix", "distribution", "hierarchical"])
def test_a_few_records_taken_as_a_sample_have_the_engines_intervals(tmp_path, name):
    mechanism, settings = REGULAR[name]
    released, attribute, level = bundle(tmp_path, mechanism, settings)
    readme = tmp_path / "README.md"
    text = readme.read_text(encoding="utf-8")
    asked = text.replace("estimate(data)", "estimate(data.iloc[:29], sample=True)")
    readme.write_text(asked, encoding="utf-8")
    matrix = mechanism_called(mechanism).matrix(level, (attribute,), settings)
    seen = np.bincount(attribute.domain.encode(released[:29]), minlength=len(VALUES))
    wanted = estimate_frequencies(seen, matrix, target=Target.POPULATION)
    (printed,) = run_python(tmp_path)
    assert np.abs(printed["low"] - 29 * wanted.low).max() < 0.06
    assert np.abs(printed["high"] - 29 * wanted.high).max() < 0.06


@pytest.mark.parametrize("name", WITHOUT_INVERSE)
def test_a_matrix_without_an_inverse_gets_the_likeliest_counts(tmp_path, name):
    mechanism, settings = WITHOUT_INVERSE[name]
    bundle(tmp_path, mechanism, settings)
    (printed,) = run_python(tmp_path)
    assert printed["count"].sum() == pytest.approx(ROWS, abs=1)
    assert printed["count"][3] == pytest.approx(0.5 * ROWS, rel=0.15)
    assert printed["count"][0] == pytest.approx(printed["count"][1], rel=0.01)


@pytest.mark.parametrize("name", {**REGULAR, **WITHOUT_INVERSE})
def test_the_r_code_is_sound_r(tmp_path, name):
    mechanism, settings = {**REGULAR, **WITHOUT_INVERSE}[name]
    bundle(tmp_path, mechanism, settings)
    blocks = code_blocks((tmp_path / "README.md").read_text(encoding="utf-8"), "r")
    assert blocks
    assert all(r_problems(block) == [] for block in blocks)
