"""Hierarchical retention from a rules file, and what the exported files alone prove of it."""

from __future__ import annotations

import math
import runpy
import tomllib

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import by_record, people, told_of
from tests.formats.bundles import code_blocks

VALUES = ("A1", "A2", "A3", "B1", "B2")
TRUE = (1200, 300, 900, 400, 1200)
LEVELS = {"Clinic A": 0.5, "Public": 0.15}
RULES = """
format = 1
title = "Ward"
record_key = "record"
columns.record = { role = "insensitive" }
[columns.illness]
role = "sensitive"
kind = "categorical"
values = ["A1", "A2", "A3", "B1", "B2"]
[[policy]]
attributes = ["illness"]
mechanism = "hierarchical"
settings = { chapters = ["A", "A", "A", "B", "B"], inside_share = 0.6 }
"""


LISTED = 'settings = { chapters = ["A", "A", "A", "B", "B"], inside_share = 0.6 }'
FROM_FILE = """
[hierarchies.illness]
file = "codes.csv"
[[policy]]
attributes = ["illness"]
mechanism = "hierarchical"
settings = { chapters_level = 1, inside_share = 0.6 }
"""


def test_chapters_come_from_a_hierarchy_file_and_are_written_down(line):
    line.folder.joinpath("ward.csv").write_text("record,illness\n1,A1\n2,B2\n3,A3\n")
    codes = "A1;A;all;*\nA2;A;all;*\nA3;A;all;*\nB1;B;all;*\nB2;B;all;*\nC9;C;all;*\n"
    line.folder.joinpath("codes.csv").write_text(codes)
    before = RULES.split("[[policy]]", maxsplit=1)[0]
    rules = line.folder / "rules.toml"
    rules.write_text(before + FROM_FILE)
    assert line.init() == ExitCode.OK, line.remarks
    assert line.run("rules", line.project) == ExitCode.OK, line.remarks
    written = tomllib.loads(line.output)
    (entry,) = written["policy"]
    assert entry["settings"] == tomllib.loads(LISTED)["settings"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("chapters_level = 1", "chapters_level = 4", "levels 1 to 3"),
        (
            "chapters_level = 1",
            'chapters_level = 1, chapters = ["A"]',
            "as well",
        ),
        ('[hierarchies.illness]\nfile = "codes.csv"', "", "has no hierarchy"),
    ],
)
def test_a_level_that_is_not_there_is_refused_with_what_to_do(line, old, new, words):
    line.folder.joinpath("ward.csv").write_text("record,illness\n1,A1\n2,B2\n")
    line.folder.joinpath("codes.csv").write_text(
        "".join(f"{value};{value[0]};all;*\n" for value in VALUES)
    )
    rules = RULES.split("[[policy]]", maxsplit=1)[0] + FROM_FILE.replace(old, new)
    (line.folder / "rules.toml").write_text(rules)
    assert line.init() != ExitCode.OK
    assert words in line.remarks


@pytest.mark.slow
@pytest.mark.parametrize("same", [True, False], ids=["drawn once", "drawn by row"])
def test_rows_of_a_household_share_one_draw_or_one_promise(line, same):
    rng = np.random.default_rng(2)
    true = rng.integers(0, 5, (300, 1 if same else 3)).repeat(3 if same else 1, axis=1)
    rows = pd.DataFrame({"record": range(900), "household": np.repeat(range(300), 3)})
    rows["illness"] = np.array(VALUES)[true.ravel()]
    rows.to_csv(line.folder / "ward.csv", index=False)
    household = 'columns.household = { role = "identifying" }\n[columns.illness]'
    clinic = people("illness", "retention_probability", {"Clinic A": 0.5})
    (line.folder / "rules.toml").write_text(RULES.replace("[columns.illness]", household) + clinic)
    assert line.init("--unit", "household", "--unit-rows", "3") == ExitCode.OK, line.remarks
    (bundle,) = line.verified(["Clinic A"])
    told = told_of(bundle, "illness")
    shown = by_record(bundle)["illness"].to_numpy().reshape(300, 3)
    alike = (shown == shown[:, :1]).all(axis=1)
    row = matrix(told["retention_inside"], told["retention_of_chapter"], told)
    own = matrix(0.5**0.6, 0.5**0.4, told)
    gamma, stated = ((each.max(axis=1) / each.min(axis=1)).max() for each in (row, own))
    if same:
        assert alike.all()
        assert gamma == pytest.approx(stated)
    else:
        assert not alike.all()
        assert 0.999 * stated < gamma**3 <= stated * (1 + 1e-9)


def matrix(inside, chapter, told):
    names = np.array(told["chapters"])
    same = names[:, None] == names
    return (
        inside * chapter * np.eye(len(names))
        + chapter * (1 - inside) * same / same.sum(axis=0)
        + (1 - chapter) / len(names)
    )


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_files_follow_the_chain_and_the_odds_that_their_packages_describe(line, monkeypatch):
    truth = pd.Series(np.repeat(VALUES, TRUE)).sample(frac=1, random_state=4, ignore_index=True)
    table = pd.DataFrame({"record": range(len(truth)), "illness": truth})
    table.to_csv(line.folder / "ward.csv", index=False)
    asked = people("illness", "retention_probability", LEVELS)
    (line.folder / "rules.toml").write_text(RULES + asked)
    assert line.init() == ExitCode.OK, line.remarks
    made = []
    for bundle in line.verified(LEVELS):
        told, data = told_of(bundle, "illness"), by_record(bundle)["illness"]
        made.append((told["retention_of_chapter"], told["retention_inside"], told, data, bundle))
    (c, a, told, first, _), (d, b, _, second, bundle) = sorted(made, key=lambda each: -each[0])

    top, step = matrix(a, c, told), matrix(b / a, d / c, told)
    law = np.einsum("x,yx,zy->xyz", TRUE, top, step).ravel()
    places = [column.map(VALUES.index) for column in (truth, first, second)]
    seen = np.bincount(25 * places[0] + 5 * places[1] + places[2], minlength=125)
    few = law < 8
    law, seen = np.append(law[~few], law[few].sum()), np.append(seen[~few], seen[few].sum())
    freedom = len(law) - 1
    assert ((seen - law) ** 2 / law).sum() < freedom + 5 * math.sqrt(2 * freedom)
    assert told["odds_factor"] == pytest.approx((top.max(axis=1) / top.min(axis=1)).max())

    # What the README's code estimates of chapters, beside the truth.
    text = (bundle / "README.md").read_text(encoding="utf-8")
    (line.folder / "guide.py").write_text("\n".join(code_blocks(text, "python")), encoding="utf-8")
    monkeypatch.chdir(bundle)
    guide = runpy.run_path(str(line.folder / "guide.py"))
    found = guide["estimate_chapters"](guide["data"]).set_index("chapter")
    for chapter, count in (("A", sum(TRUE[:3])), ("B", sum(TRUE[3:]))):
        assert abs(found["count"][chapter] - count) < 4 * found["standard_error"][chapter]
    values = guide["estimate"](guide["data"]).set_index("value")
    assert (found["standard_error"] < values["standard_error"].max()).all()
