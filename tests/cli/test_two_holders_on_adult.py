"""Two holders of the Adult table, who publish one after the other with the shipped hierarchies."""

from __future__ import annotations

import json
import shutil

import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.holders import Holder, rules_for
from tests.data import shared_data

COLUMNS = {
    "A": ["age", "sex", "race"],
    "B": ["marital-status", "education", "workclass"],
}
RULES = "[reading]\nformat = 'csv'\ndelimiter = ';'\n"


def holder(line, name, least=5):
    for column in COLUMNS[name]:
        file = shared_data(f"adult/adult_hierarchy_{column}.csv")
        shutil.copy(file, line.folder / f"{column}.hierarchy.csv")
    made = Holder(line, name)
    criteria = f'{{ kind = "distinct-diversity", l = {least} }}'
    rules = rules_for(COLUMNS[name], criteria, "occupation", RULES)
    made.start(shared_data("adult/adult.csv"), rules)
    return made


def left_beside(second, first):
    """Let one holder know of the other's table; return how many values that leaves."""
    add = ("others", "--add", first.data(), "--holder", first.name, "--json")
    assert second.run(*add) == ExitCode.OK, second.line.remarks
    return json.loads(second.line.output)["left"]


def searched(holder):
    assert holder.run("diversity", "--json") == ExitCode.OK, holder.line.output
    found = json.loads(holder.line.output)
    return found["safe"], found["minimal"], tuple(found["best"]["levels"].values())


@pytest.fixture
def first(line):
    """Holder A, who has published."""
    made = holder(line, "A")
    assert searched(made) == (10, 2, (1, 0, 1))
    assert made.publish() == ExitCode.OK, line.remarks
    return made


@pytest.mark.slow
def test_the_second_holder_keeps_l_beside_the_first(line, first):
    second = holder(line, "B")
    assert searched(second) == (12, 3, (1, 0, 2))
    assert left_beside(second, first) == 5
    assert searched(second) == (7, 2, (1, 1, 2))
    assert second.publish() == ExitCode.OK, line.remarks
    sets = [
        [set(values) for _, values in each.published().groupby(COLUMNS[each.name])["occupation"]]
        for each in (first, second)
    ]
    assert min(len(one & other) for one in sets[0] for other in sets[1]) >= 5
    assert len(second.published()) == len(first.published())
    assert line.run("verify", second.data().parent, "--project", second.project) == ExitCode.OK


@pytest.mark.slow
def test_more_than_the_first_holder_left_is_refused_with_advice(line, first):
    second = holder(line, "B", least=6)
    assert searched(second)[0] > 0
    assert left_beside(second, first) == 5
    assert second.run("diversity") == ExitCode.EXPECTED_ERROR
    assert "Without the table of A there is a solution." in line.output
    assert second.publish() == ExitCode.EXPECTED_ERROR
    assert "Choose an l of at most 5" in line.remarks
    assert not second.out.exists()
