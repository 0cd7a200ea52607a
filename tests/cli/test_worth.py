"""``sfumato worth``: what every recipient's columns are worth, and what would help."""

from __future__ import annotations

import csv
import json

import pytest

from sfumato.commands.shared.command import ExitCode

RULES = """\
format = 1
title = "Survey"

[columns.person]
role = "identifying"

[columns.age]
role = "quasi-identifier"
kind = "numeric"
bin_edges = [0, 30, 60, 90]

[columns.job]
role = "sensitive"
kind = "categorical"
values = ["baker", "cook", "smith", "tailor"]

[columns.pay]
role = "sensitive"
kind = "numeric"

[[policy]]
attributes = ["job"]
mechanism = "uniform"

[[policy]]
attributes = ["pay"]
mechanism = "laplace"
settings = { bounds = "stated", lowest = 0, highest = 1000, step = 1 }

[[recipients]]
name = "Partner"
[recipients.levels]
job = { retention_probability = 0.5 }
pay = { epsilon = 4.0 }

[[recipients]]
name = "Public"
[recipients.levels]
job = { retention_probability = 0.05 }
pay = { epsilon = 0.1 }
"""


@pytest.fixture
def survey(line):
    rows = 2_000
    with (line.folder / "survey.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "age", "job", "pay"])
        jobs = ["baker", "cook", "smith", "tailor"]
        for row in range(rows):
            writer.writerow([f"P{row}", row * 7 % 90, jobs[row % 4], row % 1_000])
    (line.folder / "rules.toml").write_text(RULES)
    arguments = ("--table", line.folder / "survey.csv", "--rules", line.folder / "rules.toml")
    assert line.run("init", line.project, *arguments) == ExitCode.OK, line.remarks
    return line


def weighed(line, *more):
    assert line.run("worth", line.project, "--json", *more) == ExitCode.OK, line.remarks
    return {each["recipient"]: each for each in json.loads(line.output)}


def columns_of(found):
    return {each["column"]: each for each in found["columns"]}


def test_each_column_is_worth_what_the_law_says(survey):
    found = weighed(survey)
    partner, public = (columns_of(found[name]) for name in ("Partner", "Public"))
    variance = (0.25 - 0.25**2) / 0.5**2
    assert partner["job"]["worth"] == pytest.approx(2_000 * (3 / 16) / variance)
    assert public["job"]["worth"] == pytest.approx(2_000 * 0.05**2, abs=0.01)
    spread = (1_000**2 - 1) / 12
    noise = 2 * 250**2
    assert partner["pay"]["worth"] == pytest.approx(2_000 * spread / (spread + noise), rel=5e-3)


def test_what_is_worthless_is_named_with_the_level_that_would_help(survey):
    public = weighed(survey, "--recipient", "Public")
    assert list(public) == ["Public"]
    assert public["Public"]["worthless"] == ["job", "pay"]
    job, pay = (columns_of(public["Public"])[name] for name in ("job", "pay"))
    helping = job["helps"][0]["level"]["epsilon"]
    assert survey.run(
        "recipients", survey.project, "--of", "Public", "--level", f"epsilon={helping}",
        "--attribute", "job",
    ) == ExitCode.OK  # fmt: skip
    helping = pay["helps"][0]["level"]["epsilon"]
    assert survey.run(
        "recipients", survey.project, "--of", "Public", "--level", f"epsilon={helping}",
        "--attribute", "pay",
    ) == ExitCode.OK  # fmt: skip
    again = columns_of(weighed(survey)["Public"])
    assert again["job"]["worth"] == pytest.approx(100, rel=0.01)
    assert again["pay"]["worth"] == pytest.approx(100, rel=0.01)


@pytest.mark.slow
def test_the_check_says_so_in_the_place_of_a_danger_and_keeps_nothing_back(survey):
    assert survey.run("check", survey.project, "--json") == ExitCode.OK
    public = next(e for e in json.loads(survey.output) if e["recipient"] == "Public")
    first = public["findings"][0]
    assert (first["check"], first["worthless"], public["ready"]) == ("Worth", True, True)
    assert "At ε = " in first["finding"]
    assert survey.run("check", survey.project) == ExitCode.OK
    assert "Public: ready to release, but “job”, “pay” would be worthless" in survey.output
    words = "This release tells the shares of “job” no more exactly than"
    assert f"WORTHLESS  Worth: {words}" in survey.output


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_is_kept_back_and_worthless_is_both(survey):
    rules = survey.folder / "named.toml"
    rules.write_text(RULES.replace('role = "identifying"', 'role = "insensitive"'))
    assert survey.run("rules", survey.project, "--apply", rules) == ExitCode.OK, survey.remarks
    assert survey.run("check", survey.project) == ExitCode.CHECK_FAILED
    assert "Public: not ready to release, and “job”, “pay” would be worthless" in survey.output


def test_bands_are_told_by_the_detail_that_they_keep(survey):
    [age] = weighed(survey)["Partner"]["details"]
    assert age["column"] == "age"
    assert 0.2 < age["detail_kept"] < 0.3
    assert age["cells_hidden"] == 0.0


@pytest.mark.slow
def test_check_and_worth_call_the_same_columns_worthless(survey):
    """A column that is coarsened to nothing is, as one is that is randomised to noise."""
    rules = survey.folder / "coarse.toml"
    rules.write_text(RULES.replace("[0, 30, 60, 90]", "[0, 90, 200]"))
    assert survey.run("rules", survey.project, "--apply", rules) == ExitCode.OK, survey.remarks
    told = {name: one["worthless"] for name, one in weighed(survey).items()}
    assert told == {"Partner": ["age"], "Public": ["job", "pay", "age"]}
    assert survey.run("check", survey.project, "--json") == ExitCode.OK
    for each in json.loads(survey.output):
        named = [one["columns"][0] for one in each["findings"] if one["worthless"]]
        assert sorted(named) == sorted(told[each["recipient"]])


def test_it_is_told_in_words(survey):
    assert survey.run("worth", survey.project) == ExitCode.OK
    assert "Public\n  “job” and “pay” are worthless." in survey.output
    words = "This release tells the shares of “job” no more exactly than 5 true records would."
    assert f"- {words}" in survey.output
    lines = [" ".join(line.split()) for line in survey.output.splitlines()]
    assert "job 500 true records 2,000 500 true records –" in lines


def test_a_recipient_who_is_not_there_is_named(survey):
    assert survey.run("worth", survey.project, "--recipient", "Nobody") == ExitCode.EXPECTED_ERROR
    assert "Nobody" in survey.remarks


def test_mechanisms_are_compared_and_one_is_recommended(survey):
    arguments = ("worth", survey.project, "--mechanisms", "--recipient", "Public")
    assert survey.run(*arguments, "--json") == ExitCode.OK, survey.remarks
    found = {each["columns"][0]: each for each in json.loads(survey.output)}
    assert set(found) == {"job", "pay"}
    pay = {one["mechanism"]: one for one in found["pay"]["mechanisms"]}
    assert found["pay"]["recommended"] == "laplace"  # what is stated for it is kept
    assert found["pay"]["stated"]
    assert pay["laplace"]["level"] == {"epsilon": pytest.approx(0.1)}
    assert not pay["gaussian"]["keeps_epsilon"]
    assert survey.run(*arguments) == ExitCode.OK, survey.remarks
    assert "“pay”, for Public:" in survey.output
    assert "Recommended: Laplace noise." in survey.output
    assert "Gaussian noise (error = 0.5, bounding no odds): worth " in survey.output


@pytest.mark.slow
def test_the_check_offers_the_level_that_would_be_worth_something(survey):
    survey.run("check", survey.project, "--json")
    found = json.loads(survey.output)
    remedies = [
        remedy
        for each in found
        for one in each["findings"]
        if one["worthless"] and each["recipient"] == "Public"
        for remedy in one["remedies"]
    ]
    levels = [one for one in remedies if one["deed"] == "state level"]
    assert {one["entry"] for one in levels} == {"job", "pay"}
    assert all(set(one["levels"]) == {"Public"} for one in levels)


def test_the_price_of_a_unit_is_told_before_it_is_chosen(survey):
    with (survey.folder / "survey.csv").open() as file:
        rows = list(csv.reader(file))
    with (survey.folder / "survey.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        for row in rows:
            number = row[0] if row[0] == "person" else f"P{int(row[0][1:]) // 4}"
            writer.writerow([number, *row[1:]])
    made = survey.folder / "units.sfumato"
    arguments = ("--table", survey.folder / "survey.csv", "--rules", survey.folder / "rules.toml")
    assert survey.run("init", made, *arguments) == ExitCode.OK, survey.remarks
    assert survey.run("worth", made, "--by", "person", "--json") == ExitCode.OK, survey.remarks
    price = json.loads(survey.output)
    assert (price["largest"], price["recipient"]) == (4, "Partner")
    assert 1 <= price["proposed"] <= 4
    columns = {one["column"]: one for one in price["columns"]}
    assert set(columns["job"]["worth_by_bound"]) == {"1", "2", "3", "4"}
    assert survey.run("worth", made, "--by", "person") == ExitCode.OK, survey.remarks
    assert "Protected by “person”, “job” is worth" in survey.output
