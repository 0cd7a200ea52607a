"""What the recipient's guide computes with sampling weights, beside a formula of its own."""

from __future__ import annotations

import contextlib
import io
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import Coding, ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.bundles.writing import write_bundle
from tests.formats.bundles import case, code_blocks, perturbed
from tests.formats.r_syntax import r_problems
from tests.formats.test_bundle_readme import has_r_packages, run_python

VALUES = ("flu", "gout", None)
ROWS = 6000
LIMITS = {"mode": "strict", "profile": [0.7, 0.4, 0.5]}
STATED = {"frequencies": "stated", "shares": [2, 1, 1], "even_share": 0.0}


def survey(folder, mechanism="uniform", settings=None, level=0.5):
    """Write a bundle in which gout is common among heavy records; return truth and weights."""
    rng = np.random.default_rng(9)
    weights = rng.choice([1.0, 9.0], ROWS)
    gout = np.where(weights > 1, 0.6, 0.1)
    place = rng.random(ROWS)
    truth = np.where(place < gout, 1, np.where(place > 0.9, 2, 0))
    values = pd.Series([VALUES[code] for code in truth], dtype="str")
    spec = ColumnSpec("illness", Role.SENSITIVE, domain=Domain(VALUES))
    released, facts, _ = perturbed(
        Table(pd.DataFrame({"illness": values})), spec, level, mechanism, settings
    )
    coding = Coding(top=90.0, step=5.0)
    ages = coding.apply(pd.Series(rng.integers(0, 104, ROWS), name="age"))
    columns = (
        spec,
        ColumnSpec("w", Role.WEIGHT, Kind.NUMERIC),
        ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC, coding=coding),
    )
    contents = replace(
        case().contents,
        table=Table(pd.DataFrame({"illness": released, "w": weights, "age": ages})),
        columns=columns,
        perturbations=(facts,),
    )
    write_bundle(contents, folder, "csv", Silent())
    return truth, weights, released


@pytest.mark.parametrize(
    ("mechanism", "settings", "kept", "drawn"),
    [
        ("uniform", None, [0.5] * 3, [1 / 3] * 3),
        ("finegrain", LIMITS, LIMITS["profile"], [1 / 3] * 3),
        ("distribution", STATED, [0.5] * 3, [1 / 2, 1 / 4, 1 / 4]),
    ],
)
def test_weighted_shares_and_errors_are_those_of_the_definition(
    tmp_path, mechanism, settings, kept, drawn
):
    truth, weights, released = survey(tmp_path, mechanism, settings, max(kept))
    *_, found = run_python(tmp_path)
    # A record shows v with the chance (1 − p_t)·π_v, and p_t more where v is its true value t.
    chance = np.array(
        [[(t == v) * kept[t] + (1 - kept[t]) * drawn[v] for t in range(3)] for v in range(3)]
    )
    codes = np.array(
        [VALUES.index(v if isinstance(v, str) else None) for v in released.astype(object)]
    )
    shown = np.array([weights[codes == v].sum() for v in range(3)]) / weights.sum()
    share = np.linalg.solve(chance, shown)
    assert found["share"].to_numpy() == pytest.approx(share, abs=1e-4)
    true = np.array([weights[truth == t].sum() for t in range(3)]) / weights.sum()
    assert (np.abs(share - true) < 4 * found["standard_error"]).all()
    # The delta method over whole records, one at a time.
    guess = np.linalg.inv(chance)[:, codes]
    error = [
        np.sqrt(
            sum((w * (g - s)) ** 2 for w, g, s in zip(weights, row, [part] * ROWS, strict=True))
        )
        for row, part in zip(guess, share, strict=True)
    ] / weights.sum()
    assert found["standard_error"].to_numpy() == pytest.approx(error, rel=1e-2)


CHAPTERS = {"chapters": ["a", "a", "b"], "inside_share": 0.5}


def test_weighted_shares_of_values_in_chapters_are_corrected(tmp_path):
    truth, weights, released = survey(tmp_path, "hierarchical", CHAPTERS, 0.25)
    *_, found = run_python(tmp_path)
    # Half of the chapters and, of these, half of the values are kept; the rest is drawn evenly.
    chance = np.array([[13, 7, 4], [7, 13, 4], [4, 4, 16]])
    codes = np.array(
        [VALUES.index(v if isinstance(v, str) else None) for v in released.astype(object)]
    )
    shown = np.array([weights[codes == v].sum() for v in range(3)]) / weights.sum()
    share = np.linalg.solve(chance / chance.sum(axis=0), shown)
    assert found["share"].to_numpy() == pytest.approx(share, abs=1e-4)
    true = np.array([weights[truth == t].sum() for t in range(3)]) / weights.sum()
    assert (np.abs(share - true) < 4 * found["standard_error"]).all()


SINGULAR = {"mode": "strict", "profile": [0.0, 0.4, 0.0]}
NOT_HERE = {
    "symbols": ("hadamard", {}, 0.5),
    "values that can't be told apart": ("finegrain", SINGULAR, 0.4),
    "nothing of the truth": ("uniform", {}, 0.0),
}


@pytest.mark.parametrize("name", NOT_HERE)
def test_no_weighted_shares_are_told_of_what_this_code_can_not_estimate(tmp_path, name):
    mechanism, settings, level = NOT_HERE[name]
    survey(tmp_path, mechanism, settings, level)
    blocks = code_blocks((tmp_path / "README.md").read_text(encoding="utf-8"), "python")
    said, space = io.StringIO(), {}
    with contextlib.chdir(tmp_path):
        exec(blocks[0], space)
        with contextlib.redirect_stdout(said):
            exec(blocks[-1], space)
    assert said.getvalue() == ""


@pytest.mark.slow
@pytest.mark.skipif(not has_r_packages("jsonlite"), reason="R with jsonlite is not installed")
@pytest.mark.parametrize("name", [*NOT_HERE, "chapters"])
def test_the_r_code_tells_the_same_weighted_shares(tmp_path, name):
    survey(tmp_path, *NOT_HERE.get(name, ("hierarchical", CHAPTERS, 0.25)))
    blocks = code_blocks((tmp_path / "README.md").read_text(encoding="utf-8"), "r")
    script = f"{blocks[0]}\n{blocks[-1]}"
    done = subprocess.run(
        ["Rscript", "--vanilla", "-"],
        input=script,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    if name in NOT_HERE:
        assert done.stdout == ""
    else:
        *_, ours = run_python(tmp_path)
        theirs = pd.read_fwf(io.StringIO(done.stdout))
        assert theirs["share"].to_numpy() == pytest.approx(ours["share"].to_numpy(), abs=1e-5)
        errors = [each["standard_error"].to_numpy() for each in (theirs, ours)]
        assert errors[0] == pytest.approx(errors[1], abs=1e-5)


def test_the_readme_and_the_data_package_tell_of_weights_and_ends(tmp_path):
    survey(tmp_path)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "a sampling weight" in readme
    assert "**coded**: rounded to 5, **coded**: 90 means 90 or more" in readme
    assert '"coded": {' in (tmp_path / "datapackage.json").read_text(encoding="utf-8")
    assert read_bundle(tmp_path, Silent()).table.rows == ROWS
    for block in code_blocks(readme, "r"):
        assert not r_problems(block)


def test_without_weights_the_guide_says_nothing_of_them(tmp_path):
    write_bundle(case().contents, tmp_path, "csv", Silent())
    assert "sampling weight" not in (tmp_path / "README.md").read_text(encoding="utf-8")
