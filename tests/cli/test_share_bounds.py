"""More records drawn by a measured bound on shares, judged from the exported files alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import told_of

GROUPS, SIZE, SHARES = 500, 160, (0.3, 0.2, 0.15, 0.15, 0.1, 0.1)


def table():
    """Return groups of one size that hold the same: each is a draw of its own."""
    counts = np.round(np.array(SHARES) * SIZE).astype(int)
    one = np.repeat(list("abcdef"), counts)
    place = np.repeat([f"p{number:03d}" for number in range(GROUPS)], SIZE)
    frame = pd.DataFrame({"place": place, "illness": np.tile(one, GROUPS)})
    return frame.sample(frac=1.0, random_state=4).reset_index(drop=True)


RULES = """\
format = 1
title = "Groups of one size"

[columns.place]
role = "quasi-identifier"

[columns.illness]
role = "sensitive"

[[policy]]
attributes = ["illness"]
mechanism = "reconstruction"
settings = { shares = "noisy", shares_epsilon = 0.5 }

[[recipients]]
name = "Lab"
levels.illness = { retention_probability = 0.5 }
"""


@pytest.mark.slow
def test_each_side_errs_often_enough_in_exported_groups_of_which_more_are_drawn(line):
    table().to_csv(line.folder / "table.csv", index=False)
    (line.folder / "rules.toml").write_text(RULES)
    made, rules = line.folder / "made.sfumato", line.folder / "rules.toml"
    begun = line.run("init", made, "--table", line.folder / "table.csv", "--rules", rules)
    assert begun == ExitCode.OK, line.remarks
    out = ("--recipient", "Lab", "--out", line.folder / "out", "--accept", "made for a test")
    assert line.run("release", made, *out) == ExitCode.OK, line.remarks
    [bundle] = line.bundles()
    told = told_of(bundle, "illness")
    assert told["largest_shares_from"] == "noisy"
    assert told["largest_shares_epsilon"] == 0.5
    assert not [each for each in bundle.iterdir() if b"measured_shares" in each.read_bytes()]
    draws = dict(told["draws_by_group_size"])[SIZE]
    assert draws > 10  # 4 or 5, if a value could hold a group
    data = pd.read_csv(bundle / "data.csv")
    counts = data.groupby("place")["illness"].value_counts().unstack(fill_value=0)
    p, m = told["retention_probability"], told["domain_size"]
    found = (counts / SIZE - (1 - p) / m) / p
    for value, share in zip("abcdef", SHARES, strict=True):
        off = 5.0 * np.sqrt(0.17 * 0.83 / GROUPS)
        assert (found[value] > 1.3 * share).mean() > 0.17 - off, value
        assert (found[value] < 0.7 * share).mean() > 0.17 - off, value
    assert "(ε0 = 0.5)" in (bundle / "README.md").read_text()
