"""Per-value limits in exported bundles, judged by what they publish and nothing of the house."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import told_of

VALUES = ("flu", "cold", "gout", "measles", "hiv")
LIMITS = {"gout": (0.1, 0.4), "measles": (0.05, 0.3), "hiv": (0.02, 0.05)}
OTHERS = 0.02
"""ε0 of the noisy frequencies."""

RULES = """\
format = 1
title = "Ward"

[columns.person]
role = "identifying"

[columns.illness]
role = "sensitive"
kind = "categorical"
values = {values}

[[policy]]
attributes = ["illness"]
mechanism = "finegrain"

[policy.settings]
mode = "{mode}"
frequencies = "noisy"
frequencies_epsilon = {epsilon}
{objective}
{limits}

[[recipients]]
name = "Clinic"
[recipients.levels]
illness = {{ trust_factor = 1.0 }}

[[recipients]]
name = "Public"
[recipients.levels]
illness = {{ trust_factor = 0.5 }}
"""


def released(line, mode, objective):
    rows = 3_000
    with (line.folder / "ward.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "illness"])
        for row in range(rows):
            place = min(int(np.log2(1 + row % 31)), 4)
            writer.writerow([row, VALUES[4 - place]])
    limits = "\n".join(
        f'[[policy.settings.limits]]\nvalue = "{name}"\nrho1 = {low}\nrho2 = {high}'
        for name, (low, high) in LIMITS.items()
    )
    stated = "" if objective is None else f'objective = "{objective}"'
    rules = RULES.format(
        values=list(VALUES), mode=mode, epsilon=OTHERS, objective=stated, limits=limits
    )
    (line.folder / "rules.toml").write_text(rules)
    arguments = ("--table", line.folder / "ward.csv", "--rules", line.folder / "rules.toml")
    assert line.run("init", line.project, *arguments) == ExitCode.OK, line.remarks
    found = {}
    for name in ("Clinic", "Public"):
        folder = line.folder / name
        reason = ("--accept", "A test; nobody is in the table.")
        done = line.run("release", line.project, "--recipient", name, "--out", folder, *reason)
        assert done == ExitCode.OK, line.remarks
        [bundle] = folder.iterdir()
        found[name] = told_of(bundle, "illness")
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["strict", "published"])
@pytest.mark.parametrize("objective", [None, "values"])
def test_no_prior_within_a_limit_leads_beyond_it_whatever_is_seen(line, mode, objective):
    rng = np.random.default_rng(6)
    for told in released(line, mode, objective).values():
        kept = np.array(told["retention_probabilities"])
        matrix = np.diag(kept) + np.ones((5, 1)) * (1.0 - kept) / 5  # shown by true
        assert (kept > 0.0).sum() >= (5 if objective is None else 4)
        for name, (low, high) in LIMITS.items():
            place = VALUES.index(name)
            for _ in range(300):
                prior = rng.dirichlet(np.full(5, rng.choice([0.05, 1.0])))
                prior[place] = 0.0
                prior *= (1.0 - low) / prior.sum()
                prior[place] = low
                joint = matrix * prior
                posterior = joint[:, place] / joint.sum(axis=1)
                odds = posterior / (1.0 - posterior) * np.exp(OTHERS)  # what frequencies tell
                assert odds.max() / (1.0 + odds.max()) <= high * (1.0 + 1e-9)
                if mode == "strict":
                    factor = high * (1.0 - low) / (low * (1.0 - high))
                    fewest = (posterior / (1.0 - posterior)).min() / np.exp(OTHERS)
                    assert fewest >= low / (1.0 - low) / factor * (1.0 - 1e-9)


@pytest.mark.slow
def test_rules_name_the_objective_and_refuse_another(line):
    released(line, "strict", None)
    assert line.run("rules", line.project) == ExitCode.OK
    assert 'objective = "counts"' in line.output
    rules = (line.folder / "rules.toml").read_text().replace('mode = "strict"', 'objective = "all"')
    (line.folder / "wrong.toml").write_text(rules)
    done = line.run("rules", line.project, "--apply", line.folder / "wrong.toml")
    assert done == ExitCode.EXPECTED_ERROR
    assert "not one of: counts, values" in line.remarks
