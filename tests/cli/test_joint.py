"""Categories protected together from a rules file, and what the exported files tell of them."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import by_record, people, told_of

ILLNESS, WARD = ("asthma", "flu", "gout"), ("north", "south")
TRUE = np.array([[400, 100], [200, 1300], [600, 400]])
LEVELS = {"Clinic A": 0.5, "Public": 0.2}
RULES = """
format = 1
title = "Ward"
record_key = "record"
columns.record = { role = "insensitive" }
[columns.illness]
role = "sensitive"
kind = "categorical"
values = ["asthma", "flu", "gout"]
[columns.ward]
role = "sensitive"
kind = "categorical"
values = ["north", "south"]
[[policy]]
attributes = ["illness", "ward"]
mechanism = "joint"
"""
LIMITS = """
[policy.settings]
mode = "published"
others = { rho1 = 0.1, rho2 = 0.8 }
[[policy.settings.limits]]
values = { illness = "gout", ward = "north" }
rho1 = 0.1
rho2 = 0.7
"""


def write_table(line, missing=False):
    codes = np.repeat(np.arange(6), TRUE.ravel())[np.random.default_rng(4).permutation(TRUE.sum())]
    table = pd.DataFrame(
        {
            "record": range(len(codes)),
            "illness": np.array(ILLNESS)[codes // 2],
            "ward": np.array(WARD)[codes % 2],
        }
    )
    if missing:
        table.loc[6, "ward"] = None
    table.to_csv(line.folder / "ward.csv", index=False)
    return table.set_index("record")


def write_rules(line, settings="", rules=RULES):
    term = "trust_factor" if settings else "retention_probability"
    asked = people("illness + ward", term, LEVELS)
    (line.folder / "rules.toml").write_text(rules + settings + asked)


@pytest.fixture(params=["", LIMITS], ids=["uniform", "limits"])
def released(line, request):
    """Bundles for two recipients, each as its package's parameters and its combinations."""
    truth = write_table(line)
    write_rules(line, request.param)
    assert line.init() == ExitCode.OK, line.remarks
    made = []
    for bundle in line.verified(LEVELS):
        package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
        fields = {f["name"]: f for f in package["resources"][0]["schema"]["fields"]}
        told = fields["illness"]["sfumato"]
        assert told["attributes"] == ["illness", "ward"]
        assert told["parameters"] == fields["ward"]["sfumato"]["parameters"]
        made.append((told["parameters"], by_record(bundle), bundle))
    made.sort(key=lambda each: -np.max(kept(each[0])))
    return line, truth, made


def kept(told):
    one = told.get("retention_probability")
    return np.array(told.get("combination_probabilities", [one] * told["combinations"]))


def combinations(data, told):
    """Each record's combination, by what the package says of the columns."""
    illness, ward = told["domains"]
    return 2 * data["illness"].map(illness.index) + data["ward"].map(ward.index)


@pytest.mark.few(1)
def test_the_files_follow_the_chain_that_their_packages_describe(released):
    """An independent check from the exported files: the law of true, first and second values."""
    _, truth, ((told, first, _), (also, second, _)) = released
    upper, lower = kept(told), kept(also)

    def matrix(probabilities):
        return np.diag(probabilities) + (1 - probabilities) / 6

    step = (lower / upper).mean()
    assert lower == pytest.approx(step * upper)
    law = np.einsum("x,yx,zy->xyz", TRUE.ravel(), matrix(upper), matrix(np.full(6, step))).ravel()
    places = [combinations(data, told).sort_index() for data in (truth, first, second)]
    seen = np.bincount(36 * places[0] + 6 * places[1] + places[2], minlength=216)
    few = law < 5
    law, seen = np.append(law[~few], law[few].sum()), np.append(seen[~few], seen[few].sum())
    statistic, freedom = float(((seen - law) ** 2 / law).sum()), len(law)
    assert statistic < freedom + 4.9 * math.sqrt(2 * freedom) + 12


@pytest.mark.slow
def test_the_odds_that_are_told_follow_from_what_is_published(released):
    _, _, made = released
    for told, _, bundle in made:
        probabilities = kept(told)
        entries = np.diag(probabilities) + (1 - probabilities) / 6
        gamma = (entries.max(axis=1) / entries.min(axis=1)).max()
        assert told["odds_factor"] == pytest.approx(gamma)
        assert "illness and ward" in (bundle / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_audit_tells_of_combinations_and_of_each_column(released):
    line, truth, made = released
    row = made[0][1].iloc[0]
    assert line.run("audit", "coalition", line.project, "--with", "Clinic A") == ExitCode.OK, (
        line.remarks
    )
    assert "illness + ward" in line.output
    told = line.run(
        *("audit", "person", line.project, "--with", "Clinic A"),
        *("--knows", f"record={row.name}", "--believes", "illness=gout=0.5"),
    )
    assert told == ExitCode.OK, line.remarks
    for name in ("illness + ward:", "illness:", "ward:"):
        assert name in line.output
    assert line.run("audit", "open", line.project) == ExitCode.OK, line.remarks
    assert line.run("trace", made[0][2] / "data.csv", "--project", line.project) == ExitCode.OK
    assert "Clinic A" in line.output
    assert len(truth)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            RULES.replace('"illness", "ward"]', '"illness"]')
            + '[[policy]]\nattributes = ["ward"]\nmechanism = "uniform"\n',
            "illness is a single one",
        ),
        (RULES + '[[policy]]\nattributes = ["ward"]\nmechanism = "uniform"\n', "ward"),
        (RULES + LIMITS.replace("gout", "plague"), "a value, plague"),
        (RULES + LIMITS.replace("illness =", "age ="), "a column, age"),
    ],
)
def test_rules_that_can_not_be_meant_are_refused_by_name(line, rules, said):
    write_table(line)
    (line.folder / "rules.toml").write_text(rules)
    assert line.init() != ExitCode.OK
    assert said in line.remarks


def test_a_missing_value_that_the_domain_lacks_names_row_and_column(line):
    write_table(line, missing=True)
    write_rules(line)
    assert line.init() != ExitCode.OK
    assert "ward" in line.remarks
    assert "row 7" in line.remarks


@pytest.mark.slow
@pytest.mark.parametrize("same", [True, False], ids=["drawn once", "drawn by row"])
def test_rows_of_a_household_share_one_draw_or_one_promise(line, same):
    codes = np.random.default_rng(2).integers(0, 6, 300)
    rows = np.repeat(np.arange(300), 3)
    second = codes[rows] if same else np.random.default_rng(3).integers(0, 6, 900)
    table = pd.DataFrame(
        {
            "record": range(900),
            "household": rows,
            "illness": np.array(ILLNESS)[codes[rows] // 2],
            "ward": np.array(WARD)[second % 2],
        }
    )
    table.to_csv(line.folder / "ward.csv", index=False)
    household = 'columns.household = { role = "identifying" }\n[columns.illness]'
    write_rules(line, rules=RULES.replace("[columns.illness]", household))
    assert line.init("--unit", "household", "--unit-rows", "3") == ExitCode.OK, line.remarks
    (bundle,) = line.verified(["Clinic A"])
    told = told_of(bundle, "illness")
    shown = combinations(by_record(bundle), told).to_numpy().reshape(300, 3)
    alike = (shown == shown[:, :1]).all(axis=1)
    if same:
        assert alike.all()
        assert told["retention_probability"] == pytest.approx(0.5)
    else:
        assert not alike.all()
        stated, row = (1 + 6 * p / (1 - p) for p in (0.5, told["retention_probability"]))
        assert row**3 <= stated * (1 + 1e-9)
        assert row**3 > stated * 0.999
    assert line.run("audit", "units", line.project, "--by", "household") == ExitCode.OK
