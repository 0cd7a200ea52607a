"""The commands about small groups, count queries and noisy counts."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.conftest import RULES

TOWNS = ("Ayton", "Beeford")


@pytest.fixture
def crowd(line):
    """A project about 600 people in two towns, one of which has hardly anything but flu."""
    rng = np.random.default_rng(4)
    town = rng.choice(TOWNS, 600)
    flu = (town == TOWNS[0]) & (rng.random(600) < 0.9)
    pd.DataFrame(
        {
            "person": [f"p{i}" for i in range(600)],
            "sex": rng.choice(["f", "m"], 600),
            "town": town,
            "age": rng.integers(20, 30, 600),
            "illness": np.where(flu, "flu", rng.choice(["asthma", "cold", "flu", "gout"], 600)),
        }
    ).to_csv(line.folder / "people.csv", index=False)
    extra = '[columns.town]\nrole = "quasi-identifier"\n\n[columns.age]\nrole = "insensitive"\n'
    rules = line.folder / "crowd.toml"
    rules.write_text(RULES.replace("[columns.illness]", f"{extra}\n[columns.illness]"))
    made = line.run("init", line.project, "--table", line.folder / "people.csv", "--rules", rules)
    assert made == ExitCode.OK, line.remarks
    return line


def found(line, *arguments):
    assert line.run(*arguments, "--json") == ExitCode.OK, line.remarks
    return json.loads(line.output)


def test_risk_counts_the_groups_that_every_recipient_is_given(crowd):
    answer = found(crowd, "risk", crowd.project, "--remedies")
    assert answer["attribute"] == "illness"
    assert answer["knows"] == ["sex", "town"]
    assert answer["records"] == 600
    assert [each["groups"] for each in answer["recipients"]] == [4, 4]
    clinic, institute = answer["recipients"]
    assert clinic["recipient"] == "Clinic A"
    assert clinic["violating_groups"] >= institute["violating_groups"]
    assert clinic["record_share"] > 0.5
    assert clinic["tails"] == "exact"
    assert [change["column"] for change in clinic["remedies"]] == ["sex", "town"]


def test_risk_looks_people_up_by_what_each_recipient_sees(crowd):
    asked = ("views", crowd.project, "--recipient", "Institute B", "--k", "1", "--propose")
    assert crowd.run(*asked, "--level", "town=1") == ExitCode.OK, crowd.remarks
    clinic, institute = found(crowd, "risk", crowd.project)["recipients"]
    assert (clinic["groups"], institute["groups"]) == (4, 2)
    assert clinic["looked up by"] == ""
    assert "Institute B sees: sex at level 0 and town at level 1" in institute["looked up by"]
    assert crowd.run("risk", crowd.project) == ExitCode.OK
    assert institute["looked up by"] in re.sub("[“”]", "", crowd.output)


def test_risk_by_another_test_and_knowledge(crowd):
    arguments = ("risk", crowd.project, "--recipient", "Clinic A")
    exact = found(crowd, *arguments, "--knows", "age", "--knows", "town")
    published = found(
        crowd, *arguments, "--knows", "age", "--knows", "town", "--rule", "simplified"
    )
    assert exact["recipients"][0]["groups"] == published["recipients"][0]["groups"] == 20
    assert [each["recipient"] for each in exact["recipients"]] == ["Clinic A"]
    more = exact["recipients"][0]["violating_groups"]
    assert published["recipients"][0]["violating_groups"] < more


def test_risk_is_printed_for_people_without_any_cell_value(crowd):
    assert crowd.run("risk", crowd.project, "--remedies") == ExitCode.OK
    assert "Whoever knows “sex”, “town” of a person" in crowd.output
    assert "too high by more than 30 % at least 30 % of the time" in crowd.output.replace(
        "\u202f", " "
    )
    lines = [line.split() for line in crowd.output.splitlines()]
    assert ["Clinic", "A", "4", "4", "600"] in [line[:5] for line in lines]
    assert ["Clinic", "A", "Without", "“town”"] in [line[:4] for line in lines]
    for value in (*TOWNS, "flu", "gout"):
        assert value not in crowd.output


def test_a_query_is_answered_with_the_truth_beside_it(crowd):
    arguments = ("query", crowd.project, "--value", "flu", "--where", "town=Ayton")
    answer = found(crowd, *arguments)
    frame = pd.read_csv(crowd.folder / "people.csv")
    here = frame["town"] == "Ayton"
    assert answer["matching"] == here.sum()
    assert answer["truth"] == (here & (frame["illness"] == "flu")).sum()
    first = answer["answers"][0]
    assert first["recipient"] == "Clinic A"
    # One interval in twenty misses; twice as wide, one in ten thousand does.
    half = first["estimate"] - first["low"]
    assert abs(first["estimate"] - answer["truth"]) < 2.0 * half
    assert crowd.run(*arguments, "--where", "age=25") == ExitCode.OK
    assert "records that match have this value" in crowd.output


@pytest.mark.slow
def test_each_mode_of_protecting_groups_is_told_with_its_cost(crowd):
    costs = found(crowd, "query", crowd.project, "--modes")
    told = {(one["rule"], one["sampling"]): one["mean_relative_error"] for one in costs}
    assert told[None, None] < told["exact", "blind"]
    assert [one["rule"] for one in costs if one["chosen"]] == ["exact"]
    assert crowd.run("query", crowd.project, "--modes") == ExitCode.OK
    assert f"(as it is set): {100 * told['exact', 'blind']:.0f} %." in crowd.output
    assert "Every record simply perturbed: " in crowd.output


def test_a_pool_of_queries_tells_the_errors(crowd):
    answer = found(crowd, "query", crowd.project, "--pool")
    assert answer["queries"] == 5_000
    means = [each["mean"] for each in answer["errors"]]
    assert means == sorted(means)
    assert crowd.run("query", crowd.project, "--pool") == ExitCode.OK
    assert "5,000 random count queries" in crowd.output


def test_noisy_counts_are_weighed(crowd):
    answer = found(crowd, "noisy-counts", crowd.project, "--loss", "0.2", "--groups", "3")
    shares = [each["share_in_group"] for each in answer["groups"]]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 3
    assert answer["groups"][0]["given_away"]
    for each in answer["groups"]:
        assert each["too_high"] + each["too_low"] + each["within"] == pytest.approx(1.0)
    assert crowd.run("noisy-counts", crowd.project, "--larger-than", "5000") == ExitCode.OK
    assert "No group has more than 5,000 records." in crowd.output


UNANSWERED = (
    (("risk", "--epsilon", "2"), "relative error"),
    (("risk", "--recipient", "Nobody"), "no recipient Nobody"),
    (("risk", "--attribute", "town"), "“town” is not a sensitive attribute"),
    (("risk", "--knows", "illness"), "“illness” is not released as it is"),
    (("query", "--value", "plague"), "not in the domain of “illness”"),
    (("query", "--value", "flu", "--where", "town"), "COLUMN=VALUE"),
    (("query", "--value", "flu", "--where", "town=Ceton"), "No record meets"),
    (("noisy-counts", "--loss", "0"), "privacy loss"),
)
"""What can't be answered, and what is said of it."""


def test_what_cannot_be_answered_is_said_without_values(crowd):
    for (command, *rest), said in UNANSWERED:
        assert crowd.run(command, crowd.project, *rest) == ExitCode.EXPECTED_ERROR, rest
        assert said in crowd.remarks
        assert "Ceton" not in crowd.remarks
        assert "plague" not in crowd.remarks


def test_who_sees_a_column_coarser_is_named_beside_what_queries_tell(crowd):
    """Nobody who is shown * in place of towns can count the records of one."""
    query = ("query", crowd.project, "--value", "flu", "--where", "town=Ayton")
    assert crowd.run(*query) == ExitCode.OK
    assert "coarser" not in crowd.output
    rules = crowd.folder / "crowd.toml"
    view = "[recipients.view]\nk = 1\nlevels = { town = 1, sex = 0 }\n"
    kinds = "".join(f'[hierarchies.{name}]\nkind = "suppression"\n\n' for name in ("town", "sex"))
    text = rules.read_text().replace("[[policy]]", f"{kinds}[[policy]]", 1)
    last = text.rindex("[[recipients]]")
    rules.write_text(f"{text[:last]}{text[last:].rstrip()}\n{view}")
    assert crowd.run("rules", crowd.project, "--apply", rules) == ExitCode.OK, crowd.remarks
    name = re.findall(r'name = "(.+)"', text[last:])[0]
    assert crowd.run(*query) == ExitCode.OK
    assert f"take “town” as the table has it. {name} sees it coarser" in crowd.output
    assert crowd.run("query", crowd.project, "--pool") == ExitCode.OK
    assert f"{name} sees it coarser" in crowd.output
    assert crowd.run("query", crowd.project, "--value", "flu", "--where", "sex=f") == ExitCode.OK
    assert "coarser" not in crowd.output
