"""Laplace noise from a rules file: what the exported files alone prove, and what reads them."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import by_record, people, told_of

LEVELS = {"Clinic A": 6.0, "Insurer": 2.0, "Public": 1.0}
ROWS = 6000
RULES = """
format = 1
title = "Ward"
record_key = "record"
columns.record = { role = "insensitive" }
columns.days = { role = "sensitive", kind = "numeric" }
[[policy]]
attributes = ["days"]
mechanism = "laplace"
settings = { lowest = 0, highest = 60, step = 0.5 }
"""


@pytest.fixture
def released(line):
    """Bundles for three recipients, each as its folder, its data and what its package says."""
    draw = np.random.default_rng(4)
    days = np.round(2 * np.clip(draw.gamma(2.0, 5.0, ROWS), 0, 80)) / 2
    table = pd.DataFrame({"record": np.arange(ROWS), "days": days})
    table.to_csv(line.folder / "ward.csv", index=False)
    (line.folder / "rules.toml").write_text(RULES + people("days", "epsilon", LEVELS))
    assert line.init() == ExitCode.OK, line.remarks
    made = [
        (told_of(bundle, "days"), by_record(bundle)["days"], bundle)
        for bundle in line.verified(LEVELS)
    ]
    made.sort(key=lambda each: -each[0]["epsilon"])
    return table.set_index("record")["days"], made


def chi_square(seen, law):
    """Pearson's statistic over its expectation, in standard deviations; small cells are pooled."""
    few = law < 8
    law, seen = np.append(law[~few], law[few].sum()), np.append(seen[~few], seen[few].sum())
    law, seen = law[law > 0], seen[law > 0]
    freedom = len(law) - 1
    return (((seen - law) ** 2 / law).sum() - freedom) / math.sqrt(2 * freedom)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_files_follow_the_law_and_the_odds_that_their_packages_describe(released):
    """The noise, and each jump, by the definition: nothing of the engine is used."""
    truth, made = released
    step = 0.5
    origin = np.round(np.clip(truth, 0, 60) / step)
    places = np.arange(-4000, 4001)
    before, stays_until = origin, 0.0
    for told, data, _ in made:
        q = math.exp(-told["noise_rate"])
        variance = 2 * q / (1 - q) ** 2
        assert variance * step**2 == pytest.approx(told["noise_variance"])
        stays = stays_until / variance
        law = (1 - stays) * (1 - q) / (1 + q) * q ** np.abs(places)
        law[4000] += stays
        shown = np.round(data / step)
        assert (np.abs(data / step - shown) < 1e-9).all()
        jumps = (shown - before).astype(int)
        for half in (origin <= origin.median(), origin > origin.median()):
            seen = np.bincount(np.clip(jumps[half], -4000, 4000) + 4000, minlength=8001)
            # Neighbouring cells are joined, so that enough records are expected in each.
            cells = np.concatenate([[0], 1 + np.arange(8000) // 8])
            counted = np.bincount(cells, seen), np.bincount(cells, law * half.sum())
            assert abs(chi_square(*counted)) < 6
        before, stays_until = shown, variance
    # The odds that are told follow from the law that is published.
    for level, (told, _, bundle) in zip(LEVELS.values(), made, strict=True):
        steps = (told["highest"] - told["lowest"]) / told["step"]
        # Of ε a 512th pays for rounding in what is drawn.
        assert told["noise_rate"] * steps == pytest.approx(level * (1 - 1 / 512))
        assert told["odds_factor"] == pytest.approx(math.exp(level))
        assert told["bounds_epsilon"] == 0.0
        readme = (bundle / "README.md").read_text(encoding="utf-8")
        assert "multiplies the odds between any two numbers" in " ".join(readme.split())


@pytest.mark.slow
def test_audit_trace_and_the_attacker_know_the_noise(line, released):
    truth, made = released
    pooled = ("--with", "Clinic A", "--with", "Public", "--json")
    assert line.run("audit", "numbers", line.project, *pooled) == ExitCode.OK, line.remarks
    found = json.loads(line.output)[0]
    for ladder in (found["linear"]["ladder"], [open_ for (open_,) in found["bayes"]["ladder"]]):
        assert ladder[1] == pytest.approx(ladder[0])
    assert found["linear"]["independent"][1] < found["linear"]["ladder"][1]

    knows = ("--knows", "record=7")
    assert line.run("audit", "person", line.project, *knows, *pooled) == ExitCode.OK, line.remarks
    told, data, _ = made[0]
    numbers, counts = np.unique(truth, return_counts=True)
    likely = counts * np.exp(-told["noise_rate"] * np.abs(data[7] - numbers) / told["step"])
    believed = json.loads(line.output)["beliefs"]["days"]["after"][0]
    assert believed == pytest.approx(numbers @ likely / likely.sum(), rel=1e-6)

    leaked = line.folder / "leaked.csv"
    leaked.write_bytes((made[1][2] / "data.csv").read_bytes())
    assert line.run("trace", leaked, "--project", line.project) == ExitCode.OK, line.remarks
    assert "come from the release to Insurer" in line.output

    names = {name: f"c{place}" for place, name in enumerate(pd.read_csv(leaked).columns)}
    pd.read_csv(leaked, dtype=str).rename(columns=names).to_csv(leaked, index=False)
    assert line.run("trace", leaked, "--project", line.project, "--json") == ExitCode.OK
    told = json.loads(line.output)
    assert told["matched_columns"][names["days"]] == "days"
    assert [each["recipients"] for each in told["releases"] if each["is_source"]] == ["Insurer"]
    assert line.run("trace", leaked, "--project", line.project) == ExitCode.OK
    assert f"{names['days']} is “days”" in line.output
