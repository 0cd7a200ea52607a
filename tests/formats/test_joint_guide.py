"""What recipients estimate of categories that were protected together: one column, and pairs."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from string import Template

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.estimate import estimate_frequencies
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import ReleaseRequest
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.combinations import combined_series
from sfumato.engine.table.table import Table, encode_column
from sfumato.formats.bundles.writing import write_bundle
from sfumato.resources import resource_path
from tests.formats.bundles import SECRET, case, code_blocks, facts_of
from tests.formats.r_syntax import r_problems
from tests.formats.test_bundle_readme import NAMES_OF_ESTIMATES, run_r
from tests.noise import NOISE

JOINT = mechanism_called("joint")
TRUE = np.array([[900, 60, 40], [100, 1400, 500]])
SPECS = (
    ColumnSpec("illness", Role.SENSITIVE, domain=Domain(("gout", None))),
    ColumnSpec("triage", Role.SENSITIVE, domain=Domain((1, 2, 3))),
)
LIMITED = {
    "mode": "published",
    "others": {"rho1": 0.1, "rho2": 0.8},
    "limits": [{"values": {"triage": "1"}, "rho1": 0.1, "rho2": 0.7}],
}


def columns_of(true=TRUE):
    first, second = np.unravel_index(np.repeat(np.arange(true.size), true.ravel()), true.shape)
    illness = pd.Series(np.array(["gout", None], dtype=object)[first], dtype="str")
    table = Table(pd.DataFrame({"illness": illness, "triage": second + 1}))
    return tuple(encode_column(table, spec) for spec in SPECS)


def settings_of(limits, columns):
    attributes = [column.attribute for column in columns]
    return JOINT.complete_settings(attributes, LIMITED, NOISE) if limits else {}


def bundle(folder, level, settings, format_name="csv"):
    """Write a bundle with two columns that are perturbed together; return what is released."""
    columns = columns_of()
    ids = record_ids_by_position(len(columns[0].values))
    request = ReleaseRequest(columns, settings, level, ids, KeyRing(SECRET))
    released, attributes = JOINT.release(request, Silent()), request.attributes
    facts = facts_of(JOINT, attributes, level, settings)
    contents = replace(
        case().contents,
        table=Table(pd.DataFrame(released)),
        columns=SPECS,
        perturbations=(facts,),
    )
    write_bundle(contents, folder, format_name, Silent())
    return combined_series(attributes, released), attributes


def wanted(counts, matrix):
    found = estimate_frequencies(counts, matrix)
    parts = (found.frequencies, found.standard_errors, found.low, found.high)
    return counts.sum() * np.column_stack(parts)


KINDS = pytest.mark.parametrize("limits", [False, True], ids=["uniform", "limits"])


def written(folder, limits, format_name="csv"):
    """A bundle, its codes, and the matrix that it follows."""
    columns = columns_of()
    attributes, settings = [column.attribute for column in columns], settings_of(limits, columns)
    level = 0.9 * float(JOINT.profile(attributes, settings).max()) if limits else 0.4
    codes, attributes = bundle(folder, level, settings, format_name)
    return codes, JOINT.matrix(level, attributes, settings)


def run(folder):
    """Run a README's Python where it can be asked for more."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    space = {}
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for block in code_blocks(text, "python"):
            exec(block, space)
    return space


@KINDS
def test_the_python_code_gives_the_engines_estimates_of_columns_and_pairs(tmp_path, limits):
    codes, matrix = written(tmp_path, limits)
    space = run(tmp_path)
    counts = np.bincount(codes, minlength=6)
    pairs = space["estimate"](space["data"])
    assert pairs["illness"].tolist() == ["gout"] * 3 + ["(missing)"] * 3
    assert pairs["triage"].tolist() == [1, 2, 3] * 2
    assert pairs[NAMES_OF_ESTIMATES].to_numpy() == pytest.approx(wanted(counts, matrix), abs=0.05)
    triage = space["estimate"](space["data"], ["triage"])
    if not limits:  # then one column by itself follows a uniform matrix of its own
        alone = wanted(counts.reshape(2, 3).sum(axis=0), uniform_matrix(0.4, 3))
        assert triage[NAMES_OF_ESTIMATES].to_numpy() == pytest.approx(alone, abs=0.05)
    sums = pairs.groupby("triage")["count"].sum().to_numpy()
    assert triage["count"].to_numpy() == pytest.approx(sums)


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("format_name", ["csv", "dta"])
def test_the_r_code_gives_the_numbers_that_the_python_code_gives(tmp_path, limits, format_name):
    written(tmp_path, limits, format_name)
    (found,) = run_r(tmp_path)
    space = run(tmp_path)
    expected = space["estimate"](space["data"])[NAMES_OF_ESTIMATES]
    assert np.abs(found[NAMES_OF_ESTIMATES].to_numpy() - expected.to_numpy()).max() < 0.01
    last = 'whole <- estimate; estimate <- function(data) whole(data, "triage")'
    (found,) = run_r(tmp_path, last)
    expected = space["estimate"](space["data"], ["triage"])[NAMES_OF_ESTIMATES]
    assert np.abs(found[NAMES_OF_ESTIMATES].to_numpy() - expected.to_numpy()).max() < 0.01


@pytest.mark.slow
def test_combinations_that_are_never_kept_get_the_likeliest_counts(tmp_path):
    profile = {"profile": [0.0, 0.0, 0.5, 0.5, 0.5, 0.5]}
    bundle(tmp_path, 0.5, {**LIMITED, **profile})
    space = run(tmp_path)
    pairs = space["estimate"](space["data"])
    assert pairs["count"].sum() == pytest.approx(3000, abs=1)
    assert pairs["count"][0] == pytest.approx(pairs["count"][1])
    assert pairs["count"][4] == pytest.approx(1400, rel=0.15)
    (found,) = run_r(tmp_path)
    assert np.abs(found["count"] - pairs["count"]).max() < 0.01


@pytest.mark.parametrize(("level", "settings"), [(0.4, {}), (0.0, {}), (0.5, LIMITED)])
def test_the_readme_says_how_combinations_were_kept_in_sound_code(tmp_path, level, settings):
    profile = {"profile": [0.0, 0.0, 0.5, 0.5, 0.5, 0.5]} if settings else {}
    bundle(tmp_path, level, {**settings, **profile})
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    said = (
        "was kept with a probability of its own, from 0 to 0.5,"
        if settings
        else ("was kept with probability 0.4" if level else "nothing can be estimated from them")
    )
    assert said in " ".join(text.split())
    assert all(r_problems(block) == [] for block in code_blocks(text, "r"))


@KINDS
def test_weighted_shares_are_those_of_all_weights_alike(tmp_path, limits):
    """With equal weights, what is estimated for the population is what is estimated of records."""
    written(tmp_path, limits)
    space = run(tmp_path)
    guide = resource_path("recipient", "weights.md").read_text(encoding="utf-8")
    (code,) = code_blocks(Template(guide).substitute(weights="w", weight_code='"w"'), "python")
    space["data"]["w"] = 2.0
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(code, space)
    assert said.getvalue().count("standard_error") == 2
    found = space["weighted_shares"]("triage")
    expected = space["estimate"](space["data"], ["triage"], sample=True)
    n = len(space["data"])
    assert (n * found["share"]).to_numpy() == pytest.approx(expected["count"].to_numpy())
    error = (n * found["standard_error"]).to_numpy()
    assert error == pytest.approx(expected["standard_error"].to_numpy(), rel=1e-3)
