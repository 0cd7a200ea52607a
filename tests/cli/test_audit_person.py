"""``sfumato audit person``, beside an attack by the released files and the table's frequencies."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import REASON
from tests.cli.test_view_combinations import ILLNESSES, ROWS, adopt, survey
from tests.cli.test_view_combinations import made as made_survey
from tests.samples.make_households import households

AGES = (40, 46)
TENURE = "owner"
KNOWN = ("--knows", f"age={AGES[0]} to {AGES[1]}", "--knows", f"tenure={TENURE}")


def between(label):
    """The ages that a label can stand for, both ends included; None for any."""
    if label == "*":
        return None
    numbers = [float(text) for text in re.findall(r"\d+", label)]
    low, high = numbers[0], numbers[-1]
    return (low, high - 1) if label.endswith(")") else (low, high)


def ages_in(label, ages):
    ends = between(label)
    return np.ones(len(ages), bool) if ends is None else (ages >= ends[0]) & (ages <= ends[1])


def attack(data, noise):
    """Weigh a released file by hand: returns how many rows fit, and what is believed."""
    level = noise["illness"]["parameters"]["retention_probability"]
    truth = survey()
    ages, tenures = truth["age"].to_numpy(), truth["tenure"].to_numpy()
    known = (ages >= AGES[0]) & (ages <= AGES[1]) & (tenures == TENURE)
    prior = truth["illness"].value_counts(normalize=True)[list(ILLNESSES)].to_numpy()
    weights, beliefs, rents = [], [], []
    for row in data.itertuples():
        ends = between(row.age)
        fits = ends is None or (ends[0] <= AGES[1] and ends[1] >= AGES[0])
        if not fits or row.tenure not in ("*", TENURE):
            continue
        alike = ages_in(row.age, ages) & ((row.tenure == "*") | (tenures == row.tenure))
        weights.append((known & alike).sum() / alike.sum())
        likely = np.array([level * (row.illness == one) + (1 - level) / 4 for one in ILLNESSES])
        beliefs.append(prior * likely / (prior @ likely))
        rents.append((float(row.rent), float(row.earned)))
    weights = np.array(weights) / sum(weights)
    true, stated = truth[["rent", "earned"]].to_numpy(), noise["rent"]["parameters"]
    precision = np.linalg.inv(stated["sigma_squared"] * np.array(stated["covariance"]))
    off = np.array(rents)[:, None, :] - true[None]
    chance = np.exp(-0.5 * np.einsum("ijk,kl,ijl->ij", off, precision, off))
    chance /= chance.sum(axis=1, keepdims=True)
    numbers = (weights @ chance) @ true
    return len(weights), weights, weights @ np.array(beliefs), numbers


def asked(line, *more):
    assert line.run("audit", "person", line.project, *more, "--json") == ExitCode.OK, line.remarks
    return json.loads(line.output)


def released(line, name):
    out = line.folder / name
    given = ("--recipient", name, "--out", out, "--accept", REASON)
    assert line.run("release", line.project, *given) == ExitCode.OK, line.remarks
    (bundle,) = out.iterdir()
    fields = json.loads((bundle / "datapackage.json").read_text())["resources"][0]["schema"][
        "fields"
    ]
    noise = {field["name"]: field.get("sfumato") for field in fields}
    return pd.read_csv(bundle / "data.csv", dtype=str, keep_default_na=False), noise


@pytest.mark.slow
def test_what_is_found_is_what_an_attack_on_the_released_files_finds(line):
    made_survey(line, frozenset({"joint numbers"}))
    for name in ("Public C", "Institute B"):
        data, noise = released(line, name)
        found = asked(line, "--with", name, "--released", *KNOWN)
        count, weights, belief, numbers = attack(data, noise)
        assert found["remaining"] == count > 1
        assert found["surest"] == pytest.approx(weights.max())
        assert found["chances"] == pytest.approx(sorted(weights, reverse=True))
        assert found["beliefs"]["illness"]["after"] == pytest.approx(belief)
        told = [found["beliefs"][column]["after"][0] for column in ("rent", "earned")]
        assert told == pytest.approx(numbers, rel=1e-9)
    together = asked(line, "--with", "Public C", "--with", name, "--released", *KNOWN)
    for one in (together, found):
        del one["answer"]  # of several files it says which one decides
    assert together == found  # the less trusted file adds nothing


@pytest.mark.slow
def test_an_adopted_file_tells_of_its_rows_and_shows_columns_as_they_are(line):
    made_survey(line, frozenset({"adopted"}))
    adopt(line)
    found = asked(line, "--with", "Old Clinic", "--with", "Public C", *KNOWN)
    frame = survey()
    fits = frame["age"].between(*AGES) & (frame["tenure"] == TENURE)
    assert found["rows"] == (np.flatnonzero(fits) + 1).tolist()
    shown = pd.read_csv(line.folder / "earlier.csv")["illness"][fits]
    prior = frame["illness"].value_counts(normalize=True)[list(ILLNESSES)].to_numpy()
    likely = [[0.85 * (one == seen) + 0.15 / 4 for one in ILLNESSES] for seen in shown]
    beliefs = [prior * row / (prior @ row) for row in np.array(likely)]
    assert found["beliefs"]["illness"]["after"] == pytest.approx(np.mean(beliefs, axis=0))


def test_it_is_told_in_sentences_without_any_value(made):
    arguments = ("audit", "person", made.project, "--with", "Clinic A", "--knows", "sex=f")
    assert made.run(*arguments) == ExitCode.OK, made.remarks
    assert made.output.startswith("6 of 12 records fit; the likeliest is the person's with 16.7 %")
    assert "illness: the likeliest value is believed with" in made.output
    assert not any(value in made.output for value in ("asthma", "cold", "flu", "gout"))


def test_a_belief_stated_beforehand_counts_for_the_person_alone(made):
    prior = asked(made, "--with", "Clinic A", "--believes", "illness=gout=0.7")
    believed = prior["beliefs"]["illness"]
    assert believed["before"][3] == pytest.approx(0.7)
    assert believed["common"] == asked(made, "--with", "Clinic A")["beliefs"]["illness"]["before"]


UNASKED = (
    (("--knows", "shoe=40"), "of nothing that is known"),
    (("--knows", "sex=x"), "no value of the column"),
    (("--knows", "illness=flu"), "is not released as it is"),
    (("--believes", "illness=flu"), "can't be read"),
    (("--believes", "illness=flu=0.7", "--believes", "illness=cold=0.7"), "no probability"),
    (("--class", "Registry=x"), "of nothing that is known"),
)
"""What can't be asked, and what is said of it."""


def test_what_can_t_be_asked_is_refused_by_name(made):
    for arguments, words in UNASKED:
        run = made.run("audit", "person", made.project, "--with", "Clinic A", *arguments)
        assert run == ExitCode.EXPECTED_ERROR, arguments
        assert words in made.remarks


@pytest.mark.slow
def test_ranges_reach_no_further_than_the_table(line):
    made_survey(line)
    assert asked(line, "--with", "Clinic A", "--knows", "age=> 200")["remaining"] == 0
    everybody = asked(line, "--with", "Clinic A", "--knows", "moved_in=1900 to 2100")
    assert everybody["remaining"] == ROWS


UNITS = """
format = 1
record_key = "person"
other_columns = "quasi-identifier"

[columns.person]
role = "identifying"

[columns.household]
role = "identifying"

[columns.rent]
role = "identifying"

[columns.water]
role = "sensitive"
kind = "categorical"
values = ["piped", "well", "spring", "truck", "river"]

[unit]
columns = ["household"]
most_rows = 3
constant = ["water"]

[[policy]]
attributes = ["water"]
mechanism = "uniform"

[[recipients]]
name = "Institute"
[recipients.levels]
water = { retention_probability = 0.6 }
"""


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_is_drawn_once_for_a_unit_is_looked_at_once(line):
    frame = households(120)
    frame.to_csv(line.folder / "ward.csv", index=False, lineterminator="\n")
    (line.folder / "rules.toml").write_text(UNITS)
    assert line.init() == ExitCode.OK, line.remarks
    known = ("--knows", "sex=f", "--knows", "illness=none")
    found = asked(line, "--with", "Institute", *known)
    data, _ = released(line, "Institute")
    assert found["units"] == 120
    assert found["records"] == len(data) == np.minimum(frame["household"].value_counts(), 3).sum()
    fits = frame.iloc[np.array(found["rows"]) - 1]
    assert set(zip(fits["sex"], fits["illness"], strict=True)) == {("f", "none")}
    assert found["remaining"] == fits["household"].nunique()
    by_unit = pd.Series(found["chances"]).groupby(fits["household"].to_numpy()).sum()
    assert by_unit.to_numpy() == pytest.approx(1 / found["remaining"])
    truth = frame.drop_duplicates("household")["water"].value_counts(normalize=True)
    names = ["piped", "well", "spring", "truck", "river"]
    prior = np.array([truth.get(name, 0.0) for name in names])
    assert found["beliefs"]["water"]["common"] == pytest.approx(prior)
    assert sum(found["beliefs"]["water"]["after"]) == pytest.approx(1.0)


CELLS = """\
format = 1
rows_as_in_table = "Nobody minds"

[columns.town]
role = "quasi-identifier"

[columns.sex]
role = "quasi-identifier"

[columns.job]
role = "quasi-identifier"

[columns.illness]
role = "sensitive"
values = ["flu", "gout"]

[hierarchies.town]
kind = "suppression"

[hierarchies.sex]
kind = "suppression"

[hierarchies.job]
kind = "suppression"

[[policy]]
attributes = ["illness"]
mechanism = "uniform"

[[recipients]]
name = "Institute"
[recipients.levels]
illness = { retention_probability = 0.5 }
[recipients.view]
k = 12
suppression = 0.3
cells = true
levels = { town = 0, sex = 0, job = 0 }
"""


@pytest.mark.slow
@pytest.mark.turns(1)
def test_rows_that_show_some_of_the_facts_are_weighed_by_these(line):
    """Stars in the first column only: a crash, or the weights of other facts."""
    draw = np.random.default_rng(8)
    true = pd.DataFrame(
        {
            "town": draw.choice(list("abcdefgh"), 300),
            "sex": draw.choice(["m", "w"], 300),
            "job": draw.choice(["x", "y", "z"], 300, p=[0.5, 0.3, 0.2]),
            "illness": draw.choice(["flu", "gout"], 300),
        }
    )
    true.to_csv(line.folder / "ward.csv", index=False)
    (line.folder / "rules.toml").write_text(CELLS)
    assert line.init() == ExitCode.OK, line.remarks
    shown, _ = released(line, "Institute")
    known = {"town": "c", "sex": "w", "job": "y"}
    here = pd.DataFrame({name: true[name] == value for name, value in known.items()})
    stars = pd.DataFrame({name: shown[name] == "*" for name in known})
    fits = (here | stars).all(axis=1)
    assert (True, False, False) in set(stars[fits].itertuples(index=False, name=None))
    alike = [(here | stars.loc[row]).all(axis=1).sum() for row in np.flatnonzero(fits)]
    weights = here.all(axis=1).sum() / np.array(alike)
    options = [option for name, value in known.items() for option in ("--knows", f"{name}={value}")]
    found = asked(line, "--with", "Institute", *options)
    assert found["remaining"] == fits.sum()
    assert found["chances"] == pytest.approx(sorted(weights / weights.sum(), reverse=True))
