"""Hadamard retention from a rules file, and what the exported files alone prove of it."""

from __future__ import annotations

import json
import math
import runpy
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import people

CODES = tuple(f"{letter}{number}" for letter in "ABCDEFG" for number in range(10))
EPSILONS = {"Clinic A": 2.0, "Public": 0.7}
ROWS = 6_000
RULES = f"""
format = 1
title = "Ward"
record_key = "record"
columns.record = {{ role = "insensitive" }}
columns.weight = {{ role = "weight" }}
[columns.illness]
role = "sensitive"
kind = "categorical"
values = {json.dumps(CODES)}
[[policy]]
attributes = ["illness"]
mechanism = "hadamard"
settings = {{ blocks = 2 }}
"""


@pytest.fixture
def ward(line):
    """A project with two recipients; the shares of codes are skewed, and nobody has the last."""
    shares = np.append(1 / np.arange(1, len(CODES)), 0.0)
    rng = np.random.default_rng(6)
    true = rng.choice(len(CODES), ROWS, p=shares / shares.sum())
    frame = pd.DataFrame({"record": range(ROWS), "weight": 1 + rng.integers(0, 3, ROWS)})
    frame["illness"] = np.array(CODES)[true]
    frame.to_csv(line.folder / "ward.csv", index=False)
    (line.folder / "rules.toml").write_text(RULES + people("illness", "epsilon", EPSILONS))
    assert line.init() == ExitCode.OK, line.remarks
    return line


def files(line):
    """Each recipient's bundle, made now."""
    made = {}
    for name in EPSILONS:
        before = set(line.bundles())
        assert line.release(name) == ExitCode.OK, line.remarks
        (made[name],) = set(line.bundles()) - before
    return made


def told(bundle):
    package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
    (schema,) = (resource["schema"] for resource in package["resources"] if "schema" in resource)
    (field,) = (field for field in schema["fields"] if field["name"] == "illness")
    return field


def belongs(symbol, code, blocks, width):
    """The rule as the README states it."""
    same = symbol // width == code % blocks
    return same and bin((code // blocks + 1) & (symbol % width)).count("1") % 2 == 0


@pytest.mark.slow
def test_the_files_alone_prove_the_odds_the_ladder_and_the_estimates(ward, monkeypatch):
    bundles = files(ward)
    truth = pd.read_csv(ward.folder / "ward.csv").set_index("record")["illness"]
    codes = truth.map({code: place for place, code in enumerate(CODES)}).to_numpy()
    shown, levels = {}, {}
    for name, bundle in bundles.items():
        field = told(bundle)
        parameters = field["sfumato"]["parameters"]
        blocks, width = parameters["blocks"], parameters["symbols_in_block"]
        p = levels[name] = parameters["retention_probability"]
        assert (blocks, width, parameters["domain"]) == (2, 64, list(CODES))
        constraints = {"minimum": 0, "maximum": 127, "required": True}
        assert (field["type"], field["constraints"]) == ("integer", constraints)
        assert "categories" not in field
        assert 1 + 2 * blocks * p / (1 - p) == pytest.approx(math.exp(EPSILONS[name]), rel=1e-9)
        assert 1 + 2 * blocks * p / (1 - p) <= math.exp(EPSILONS[name])
        data = pd.read_csv(bundle / "data.csv").set_index("record").sort_index()
        shown[name] = data["illness"].to_numpy()
        own = [belongs(s, c, blocks, width) for s, c in zip(shown[name], codes, strict=True)]
        assert np.mean(own) == pytest.approx(p + (1 - p) / 4, abs=4 / math.sqrt(ROWS))
        monkeypatch.chdir(bundle)
        counted = runpy.run_path("perturbed.py")["code_counts"]
        estimate = counted(data.reset_index(), "illness")
        by_hand = [
            sum(
                (1 if belongs(s, code, blocks, width) else -1) * (s // width == code % blocks)
                for s in shown[name]
            )
            / p
            for code in (0, 1, len(CODES) - 1)
        ]
        assert estimate["count"].iloc[[0, 1, -1]].to_numpy() == pytest.approx(by_hand)
        true = np.bincount(codes, minlength=len(CODES))
        held = (estimate["low"] <= true) & (true <= estimate["high"])
        assert held.mean() > 0.85
        weighted = counted(data.reset_index(), "illness", weights="weight")
        off = weighted["count"] - np.bincount(codes, data["weight"], len(CODES))
        assert (off.abs() <= 4 * weighted["standard_error"]).all()
        few = data.reset_index().head(12)
        found, weight = counted(few, "illness", weights="weight"), few["weight"]
        reach = (found["high"] - found["low"]) / 2 / found["standard_error"]
        alike = weight.sum() ** 2 / (weight**2).sum()  # as many records of one weight
        assert reach.to_numpy() == pytest.approx(scipy.stats.t.ppf(0.975, alike - 1), rel=0.01)
    upper, lower = shown["Clinic A"], shown["Public"]
    share = levels["Public"] / levels["Clinic A"]
    assert (upper == lower).mean() == pytest.approx(share + (1 - share) / 128, abs=0.03)
    moved = lower[upper != lower]
    assert np.bincount(moved, minlength=128).std() < 3 * math.sqrt(len(moved) / 128)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_counts_codes_as_python_does(ward, monkeypatch):
    assert ward.release() == ExitCode.OK, ward.remarks
    (bundle,) = ward.bundles()
    asked = {"a": "", "b": ", sample = TRUE", "c": ', weights = "weight"'}
    script = 'data <- read.csv("data.csv"); source("perturbed.R")\n' + "\n".join(
        f'write.csv(code_counts(data, "illness"{more}), "{name}.csv", row.names = FALSE)'
        for name, more in asked.items()
    )
    done = subprocess.run(
        ["Rscript", "--vanilla", "-"],
        input=script,
        cwd=bundle,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(bundle)
    counted, data = runpy.run_path("perturbed.py")["code_counts"], pd.read_csv("data.csv")
    for name, ours in {
        "a": counted(data, "illness"),
        "b": counted(data, "illness", sample=True),
        "c": counted(data, "illness", weights="weight"),
    }.items():
        pd.testing.assert_frame_equal(pd.read_csv(f"{name}.csv"), ours, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_programs_can_not_do_with_symbols_is_said(ward, monkeypatch):
    assert ward.release() == ExitCode.OK, ward.remarks
    (bundle,) = ward.bundles()
    monkeypatch.chdir(bundle)
    programs, data = runpy.run_path("perturbed.py"), pd.read_csv("data.csv")
    with pytest.raises(ValueError, match="illness shows symbols in place of codes"):
        programs["crosstab"](data, ["illness"])
    with pytest.raises(ValueError, match="weight shows no symbols"):
        programs["code_counts"](data, "weight")
    with pytest.raises(ValueError, match="There are no records"):
        programs["code_counts"](data.head(0), "illness")
    data.loc[3, "illness"] = 128
    with pytest.raises(ValueError, match="does not list"):
        programs["code_counts"](data, "illness")
    text = (bundle / "README.md").read_text(encoding="utf-8")
    assert "code_counts(data" in text
    assert "crosstab" not in text
    assert "a symbol says of 25 % of the codes" in text


@pytest.mark.slow
@pytest.mark.turns(1)
def test_releases_are_verified_traced_and_keep_their_blocks(ward):
    bundles = files(ward)
    for bundle in bundles.values():
        verified = ward.run("verify", bundle, "--project", ward.project)
        assert verified == ExitCode.OK, ward.output
        assert "show a symbol of the true code" in ward.output
    leaked = bundles["Public"] / "data.csv"
    assert ward.run("trace", leaked, "--project", ward.project) == ExitCode.OK, ward.remarks
    assert "come from the release to Public" in ward.output
    data = pd.read_csv(leaked)
    data.loc[5, "illness"] = (data.loc[5, "illness"] + 1) % 128
    data.to_csv(leaked, index=False)
    assert ward.run("verify", bundles["Public"], "--project", ward.project) != ExitCode.OK
    stated = ward.run("policy", ward.project, "--column", "illness", "--set", "blocks=3")
    assert stated == ExitCode.OK, ward.remarks
    assert ward.release("Public") != ExitCode.OK
    assert "would not sit on the ladder of that one" in ward.remarks
    refused = ward.run("policy", ward.project, "--column", "illness", "--set", "blocks=36")
    assert refused != ExitCode.OK
    assert "70 codes can't be put into 36 blocks" in ward.remarks
    (ward.folder / "earlier.csv").write_bytes(leaked.read_bytes())
    adopting = ("--attribute", "illness", "--file", ward.folder / "earlier.csv", "--level", "0.2")
    assert ward.run("adopt", ward.project, *adopting) != ExitCode.OK
    assert "can't fit levels to releases that were made elsewhere" in ward.remarks


@pytest.mark.slow
def test_a_coalition_and_an_attacker_learn_what_the_best_file_tells(ward):
    asked = ("--with", "Clinic A", "--with", "Public", "--json")
    assert ward.run("audit", "coalition", ward.project, *asked) == ExitCode.OK, ward.remarks
    assert "Clinic A" in ward.output
    assert ward.run("worth", ward.project, "--json") == ExitCode.OK, ward.remarks
    assert ward.run("query", ward.project, "--value", "A0") == ExitCode.OK, ward.remarks
    person = ("--with", "Clinic A", "--knows", "record=5")
    assert ward.run("audit", "person", ward.project, *person) == ExitCode.OK, ward.remarks
    assert "multiply anyone's odds on “illness” by at most 7.4" in ward.output
