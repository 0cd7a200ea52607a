"""Editions of a generalized table that follow with counterfeits, by their exported files alone."""

import csv
import json
from collections import Counter, defaultdict

import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.holders import Holder, rules_for
from tests.cli.test_editions import CRITERIA, FIRST, HIERARCHY, next_edition, people

STATED = 'kind = "categorical"\nvalues = ["flu", "cold", "gout", "measles"]'


def started(line, numbers, more=""):
    (line.folder / "age.hierarchy.csv").write_text(HIERARCHY)
    holder = Holder(line, "Clinic")
    rules = rules_for(["age"], CRITERIA, "illness").replace('kind = "categorical"', STATED)
    rules = rules.replace("format = 1", 'format = 1\nrecord_key = "key"')
    holder.init(people(numbers), f"{rules}levels = {{ age = 1 }}\n{more}")
    assert holder.publish() == ExitCode.OK, line.remarks
    return holder


@pytest.fixture
def clinic(line):
    return started(line, FIRST)


def counterfeited(holder, *more):
    before = set(holder.out.iterdir())
    code = holder.publish("--counterfeits", *more)
    assert code == ExitCode.OK, holder.line.remarks
    [made] = set(holder.out.iterdir()) - before
    return made


def cells(bundle):
    """How often each class shows each value, read by nothing of the project's."""
    found = defaultdict(Counter)
    with (bundle / "data.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            assert set(row) == {"age", "illness"}
            found[row["age"]][row["illness"]] += 1
    return found


def entered(bundles):
    """The groups of each class, which the differences of all editions give, and nothing else."""
    groups, shown = defaultdict(list), defaultdict(Counter)
    for bundle in bundles:
        now = cells(bundle)
        for label in now.keys() | shown.keys():
            more = Counter(now[label])
            more.subtract(shown[label])
            assert min(more.values()) >= 0, "a record that was shown is gone"
            if +more:
                groups[label].append(+more)
        shown = now
    return groups


def package(bundle):
    text = (bundle / "datapackage.json").read_text(encoding="utf-8")
    return json.loads(text)["sfumato"]["generalized"]["requirements"]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_editions_differ_by_groups_with_enough_values_whoever_came_left_or_changed(clinic, line):
    [first] = clinic.out.iterdir()
    table = people(FIRST)
    # One young person leaves, another gets another illness, a third gets old; four come with one
    # illness, and one person comes alone to the old.
    table = table.drop(index=0)
    table.loc[1, "illness"] = "gout"
    table.loc[2, "age"] = "45"
    came = people({"20": (6, 0, 0), "40": (0, 1, 0)}, first=100)
    second_table = pd.concat([table, came])
    next_edition(clinic, second_table)
    assert clinic.publish() == ExitCode.EXPECTED_ERROR
    assert "Publish it with counterfeits" in line.remarks
    second = counterfeited(clinic)
    assert line.run("verify", second, "--project", clinic.project) == ExitCode.OK, line.output
    assert line.run("report", clinic.project, "--out", line.folder / "report.html") == ExitCode.OK
    report = (line.folder / "report.html").read_text(encoding="utf-8")
    assert "edition 2, 7 of 31 records are counterfeits" in report
    third_table = pd.concat([second_table, people({"45": (2, 2, 1)}, first=200)])
    next_edition(clinic, third_table)
    third = counterfeited(clinic)
    groups = entered([first, second, third])
    assert [len(each) for each in groups.values()] == [2, 2]
    drawn = groups["young"][1]
    assert set(drawn.values()) == {6}
    assert drawn["flu"] == 6
    # Who waited enters with those who came: nobody's value is told apart.
    assert groups["old"][1] == Counter(flu=2, cold=3, gout=1)
    assert all(len(own) >= 2 for each in groups.values() for own in each)
    assert package(second)["counterfeits"] == {"left": 1, "added": 6, "not_shown": 1}
    assert package(third)["counterfeits"] == {"left": 1, "added": 6, "not_shown": 0}
    readme = " ".join((third / "README.md").read_text(encoding="utf-8").split())
    assert "This is edition 3 of the table." in readme
    assert "7 of the 37 records are counterfeits that belong to nobody" in readme
    assert "can narrow nobody's value to fewer than 2 values" in readme
    assert "Counts are exact for the records in this file" in readme  # not of who is in the table
    assert "looks like at least 2 others, counterfeits included" in readme
    assert line.run("verify", third, "--project", clinic.project) == ExitCode.OK, line.output
    assert "All 37 records are of those that entered until this edition." in line.output
    data = third / "data.csv"
    data.write_bytes(data.read_bytes().replace(b"gout", b"cold", 1))
    assert line.run("verify", third, "--project", clinic.project) != ExitCode.OK
    assert "not those that entered" in line.output + line.remarks


def test_the_same_edition_made_again_shows_the_same(clinic, line, tmp_path):
    next_edition(clinic, pd.concat([people(FIRST), people({"20": (3, 3, 0)}, first=100)]))
    made = counterfeited(clinic)
    clinic_again = clinic.run("publish", "--out", tmp_path / "again", "--counterfeits")
    assert clinic_again == ExitCode.OK, line.remarks
    [again] = (tmp_path / "again").iterdir()
    assert (again / "data.csv").read_bytes() == (made / "data.csv").read_bytes()


def test_who_comes_back_or_comes_alone_changes_nothing(clinic, line):
    [first] = clinic.out.iterdir()
    next_edition(clinic, people(FIRST).drop(index=[0, 3]))
    second = counterfeited(clinic)
    assert "2 of 19 records are counterfeits" in line.remarks
    next_edition(clinic, pd.concat([people(FIRST), people({"20": (1, 0, 0)}, first=100)]))
    third = counterfeited(clinic)
    assert "0 of 19 records are counterfeits" in line.remarks
    assert cells(first) == cells(second) == cells(third)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (', "gout"', "", "lacks values that were published"),
        ("l = 2", "l = 3", "other criteria are asked for"),
        (
            '[columns."illness"]',
            '[columns."key"]\nrole = "insensitive"\n[columns."illness"]',
            "“key” is published unchanged",
        ),
    ],
)
def test_what_can_t_follow_is_refused_with_the_reason(clinic, line, old, new, why):
    table = pd.concat([people(FIRST), people({"20": (1, 0, 0)}, first=100)])
    next_edition(clinic, table[table["illness"] != "gout"] if "gout" in old else table)
    assert clinic.change(old, new) == ExitCode.OK, line.remarks
    for more in ((), ("--counterfeits",)):
        assert clinic.publish(*more) == ExitCode.EXPECTED_ERROR
        assert why in line.remarks


def test_without_an_earlier_edition_there_is_nothing_to_follow(line):
    (line.folder / "age.hierarchy.csv").write_text(HIERARCHY)
    holder = Holder(line, "Clinic")
    rules = rules_for(["age"], CRITERIA, "illness")
    holder.init(people(FIRST), rules.replace("format = 1", 'format = 1\nrecord_key = "key"'))
    assert holder.publish("--counterfeits") == ExitCode.EXPECTED_ERROR
    assert "no generalized table was published yet" in line.remarks


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_table_of_then_can_be_opened_and_published_again(clinic, line, tmp_path):
    [first] = clinic.out.iterdir()
    next_edition(clinic, people(FIRST).drop(index=[0]))
    assert clinic.publish() == ExitCode.EXPECTED_ERROR
    assert "Or open the earlier table." in line.remarks
    next_edition(clinic, people(FIRST))
    assert clinic.run("publish", "--out", tmp_path / "again") == ExitCode.OK, line.remarks
    [again] = (tmp_path / "again").iterdir()
    assert (again / "data.csv").read_bytes() == (first / "data.csv").read_bytes()
    next_edition(clinic, people(FIRST).drop(index=[0]))
    assert cells(counterfeited(clinic)) == cells(first)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_who_was_left_out_at_first_is_never_shown(line):
    first = {"20": (3, 3, 3), "40": (0, 0, 1)}
    clinic = started(line, first, "suppression = 0.2\n")
    next_edition(clinic, pd.concat([people(first), people({"45": (3, 3, 0)}, first=100)]))
    made = counterfeited(clinic)
    assert cells(made)["old"] == Counter(flu=3, cold=3)
    assert package(made)["counterfeits"] == {"left": 0, "added": 0, "not_shown": 1}
