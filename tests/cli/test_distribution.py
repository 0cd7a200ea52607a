"""A published distribution from a rules file, and what the exported files tell of it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import by_record, people, told_of

VALUES = ("asthma", "cold", "flu", "gout")
TRUE = (400, 1800, 1400, 400)
LEVELS = {"Clinic A": 0.6, "Public": 0.2}
RULES = """
format = 1
title = "Ward"
record_key = "record"
columns.record = { role = "insensitive" }
[columns.illness]
role = "sensitive"
kind = "categorical"
values = ["asthma", "cold", "flu", "gout"]
"""


@pytest.fixture
def released(line):
    """Bundles for two recipients, each as its data and what its package says of illness."""
    truth = pd.Series(np.repeat(VALUES, TRUE)).sample(frac=1, random_state=4, ignore_index=True)
    table = pd.DataFrame({"record": range(len(truth)), "illness": truth})
    table.to_csv(line.folder / "ward.csv", index=False)
    asked = people("illness", "retention_probability", LEVELS)
    policy = '[[policy]]\nattributes = ["illness"]\nmechanism = "distribution"\n'
    settings = '[policy.settings]\nfrequencies = "noisy"\nfrequencies_epsilon = 0.5\n'
    (line.folder / "rules.toml").write_text(RULES + policy + settings + asked)
    assert line.init() == ExitCode.OK, line.remarks
    made = []
    for bundle in line.verified(LEVELS):
        told = told_of(bundle, "illness")
        made.append((told["retention_probability"], told, by_record(bundle)["illness"]))
    made.sort(key=lambda each: -each[0])
    return table.set_index("record")["illness"], made


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_files_follow_the_chain_that_their_packages_describe(released):
    truth, ((upper, told, first), (lower, also_told, second)) = released
    drawn = np.array(told["replacement_distribution"])
    assert told["replacement_distribution"] == also_told["replacement_distribution"]
    assert drawn.sum() == pytest.approx(1)

    def step(kept):
        return kept * np.eye(4) + (1 - kept) * drawn[:, None]

    law = np.einsum("x,yx,zy->xyz", TRUE, step(upper), step(lower / upper)).ravel()
    places = [column.map(VALUES.index).sort_index() for column in (truth, first, second)]
    seen = np.bincount(16 * places[0] + 4 * places[1] + places[2], minlength=64)
    # Cells that expect few records are pooled; a false alarm is rarer than 1 in a million.
    few = law < 5
    law = np.append(law[~few], law[few].sum())
    seen = np.append(seen[~few], seen[few].sum())
    statistic = float(((seen - law) ** 2 / law).sum())
    assert statistic < 60 + 4.9 * math.sqrt(120) + 12


@pytest.mark.slow
def test_the_odds_that_are_told_follow_from_what_is_published(released):
    _, made = released
    for retention, told, _ in made:
        rarest = min(told["replacement_distribution"])
        gamma = (1 + retention / ((1 - retention) * rarest)) * math.exp(0.5)
        assert told["frequencies_epsilon"] == 0.5
        assert told["odds_factor"] == pytest.approx(gamma)
