"""A generalized table that follows an earlier edition, from the command line."""

import json
from collections import Counter

import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.holders import Holder, rules_for

ILLNESSES = ("flu", "cold", "gout")
HIERARCHY = "20;young;*\n25;young;*\n40;old;*\n45;old;*\n"


def people(numbers, first=0):
    """As many people of each age and illness as `numbers` says."""
    rows = [
        (age, illness)
        for age, counts in numbers.items()
        for illness, count in zip(ILLNESSES, counts, strict=True)
        for _ in range(count)
    ]
    frame = pd.DataFrame(rows, columns=["age", "illness"])
    return frame.assign(key=[f"p{first + at}" for at in range(len(frame))])


FIRST = {"20": (2, 2, 2), "25": (1, 1, 1), "40": (2, 2, 2), "45": (2, 1, 1)}
CRITERIA = '{ kind = "k-anonymity", k = 3 }, { kind = "distinct-diversity", l = 2 }'


@pytest.fixture
def clinic(line):
    (line.folder / "age.hierarchy.csv").write_text(HIERARCHY)
    holder = Holder(line, "Clinic")
    rules = rules_for(["age"], CRITERIA, "illness")
    rules = rules.replace("format = 1", 'format = 1\nrecord_key = "key"')
    rules += "levels = { age = 1 }\n"
    holder.init(people(FIRST), rules)
    assert holder.publish() == ExitCode.OK, line.remarks
    return holder


def next_edition(holder, frame):
    path = holder.line.folder / "Clinic.csv"
    frame.to_csv(path, index=False, lineterminator="\n")
    code = holder.run("source", "--new-edition", path)
    assert code == ExitCode.OK, holder.line.remarks


def without(frame, age, illness):
    """Return a table without one person of an age and illness."""
    [gone, *_] = frame.index[(frame["age"] == age) & (frame["illness"] == illness)]
    return frame.drop(index=gone)


def published(holder, *more):
    before = set(holder.out.iterdir())
    code = holder.publish(*more)
    assert code == ExitCode.OK, holder.line.remarks
    [made] = set(holder.out.iterdir()) - before
    return made


def classes(bundle):
    frame = pd.read_csv(bundle / "data.csv", dtype=str)
    return {age: Counter(rows["illness"]) for age, rows in frame.groupby("age")}


@pytest.mark.slow
@pytest.mark.turns(1)
def test_an_edition_follows_that_leaves_enough_of_who_came_left_and_stayed(clinic, line):
    [earlier] = clinic.out.iterdir()
    more = people({"20": (1, 1, 0), "45": (0, 1, 1)}, first=100)
    after = pd.concat([without(without(people(FIRST), "40", "flu"), "40", "gout"), more])
    next_edition(clinic, after)
    assert clinic.publish() == ExitCode.EXPECTED_ERROR
    assert "another edition of the table was published" in line.remarks
    assert "Compare it with that edition's bundle" in line.remarks
    assert "role it had then" not in line.remarks
    # The old lost one gout and one flu, and got one cold and one gout.
    assert clinic.publish("--earlier", earlier) == ExitCode.EXPECTED_ERROR
    assert "of who came 1" in line.remarks
    after = pd.concat([people(FIRST), people({"20": (1, 1, 0), "45": (0, 1, 1)}, first=100)])
    next_edition(clinic, after)
    made = published(clinic, "--earlier", earlier)
    readme = " ".join((made / "README.md").read_text().split())
    assert "knows who came, left or stayed since then can narrow nobody's value" in readme
    # From the files alone: whoever came has one of two values, whoever stayed one of three.
    one, two = classes(earlier), classes(made)
    assert {age: set(two[age] - one[age]) for age in two} == {
        "young": {"flu", "cold"},
        "old": {"cold", "gout"},
    }
    assert not any(one[age] - two[age] for age in one)
    assert line.run("verify", made, "--project", clinic.project) == ExitCode.OK, line.output
    # The earlier one is whole; by the table of today it can't be verified.
    code = line.run("verify", earlier, "--project", clinic.project)
    assert code == ExitCode.CHECK_FAILED
    assert line.output.splitlines()[-1].startswith("Not verified: the bundle is as it was released")
    code = line.run("verify", earlier, "--project", clinic.project, "--json")
    assert code == ExitCode.CHECK_FAILED
    told = json.loads(line.output)
    assert (told["holds"], told["only_table_differs"]) == (False, True)


def test_the_promise_leaves_out_who_moved_from_one_class_to_another(clinic, line):
    [earlier] = clinic.out.iterdir()
    left = without(without(people(FIRST), "40", "flu"), "45", "cold")
    # One of the old who had a cold is young now, by a correction, say; somebody with gout came.
    next_edition(clinic, pd.concat([left, people({"25": (0, 1, 1)}, first=100)]))
    made = published(clinic, "--earlier", earlier)
    one, two = classes(earlier), classes(made)
    assert set(one["old"] - two["old"]) & set(two["young"] - one["young"]) == {"cold"}
    readme = " ".join((made / "README.md").read_text().split())
    assert "neither in that value nor in the columns that are shown more coarsely" in readme


def test_a_person_who_came_alone_is_not_given_away(clinic, line):
    [earlier] = clinic.out.iterdir()
    next_edition(clinic, pd.concat([people(FIRST), people({"20": (1, 0, 0)}, first=100)]))
    assert clinic.publish("--earlier", earlier) == ExitCode.EXPECTED_ERROR
    assert "narrow values to fewer than the 2" in line.remarks
    assert "of who came 1" in line.remarks
    assert "This concerns 1 of 2 classes" in line.remarks
    assert clinic.publish("--override", "agreed") == ExitCode.OK, line.remarks


def test_an_altered_bundle_or_another_one_is_no_earlier_edition(clinic, line):
    [earlier] = clinic.out.iterdir()
    more = people({"20": (1, 1, 0)}, first=100)
    next_edition(clinic, pd.concat([people(FIRST), more]))
    data = earlier / "data.csv"
    content = data.read_bytes()
    data.write_bytes(content.replace(b"flu", b"gout", 1))
    assert clinic.publish("--earlier", earlier) == ExitCode.EXPECTED_ERROR
    assert "was altered" in line.remarks
    data.write_bytes(content)
    package = earlier / "datapackage.json"
    described = json.loads(package.read_text(encoding="utf-8"))
    described["title"] = "Another"
    package.write_text(json.dumps(described), encoding="utf-8")
    assert clinic.publish("--earlier", earlier) == ExitCode.EXPECTED_ERROR
    assert "no generalized table that this project published" in line.remarks


def test_a_third_edition_can_t_be_compared_with_the_second_alone(clinic, line):
    [earlier] = clinic.out.iterdir()
    second = pd.concat([people(FIRST), people({"20": (1, 1, 0)}, first=100)])
    next_edition(clinic, second)
    made = published(clinic, "--earlier", earlier)
    next_edition(clinic, pd.concat([second, people({"40": (1, 1, 0)}, first=200)]))
    assert clinic.publish("--earlier", made) == ExitCode.EXPECTED_ERROR
    assert "More than two editions can't be compared, and 2 others were published" in line.remarks
    assert "Compare it with" not in line.remarks


def test_other_levels_can_t_be_compared_and_say_so(clinic, line):
    [earlier] = clinic.out.iterdir()
    next_edition(clinic, pd.concat([people(FIRST), people({"20": (1, 1, 0)}, first=100)]))
    assert clinic.run("rules") == ExitCode.OK
    rules = line.output
    clinic.rules.write_text(rules.replace("age = 1", "age = 2"), encoding="utf-8")
    assert clinic.run("rules", "--apply", clinic.rules) == ExitCode.OK, line.remarks
    assert clinic.publish("--earlier", earlier) == ExitCode.EXPECTED_ERROR
    assert "levels or hierarchies are not the earlier ones" in line.remarks
    # Without the bundle, no comparison is offered that would be refused.
    assert clinic.publish() == ExitCode.EXPECTED_ERROR
    assert "levels or hierarchies are not the earlier ones" in line.remarks
    assert "Compare it with" not in line.remarks
