"""Beliefs and shared columns of several holders' tables, from the command line."""

import itertools
import json
from collections import Counter

import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.holders import Holder, rules_for

AGES = ("20", "25", "40", "45")
BAND = {"20": "young", "25": "young", "40": "old", "45": "old"}


def people():
    """Sixteen people: in each age as many of two values, and places that part these."""
    rows = []
    for age in AGES:
        for place in "NS":
            rows += [(age, place, "flu"), (age, place, "flu" if place == "N" else "cold")]
            rows += [(age, place, "cold"), (age, place, "cold")]
    return pd.DataFrame(rows, columns=["age", "place", "illness"])


def holder_of(line, name, columns, criteria):
    (line.folder / "age.hierarchy.csv").write_text(
        "".join(f"{age};{band};*\n" for age, band in BAND.items())
    )
    (line.folder / "place.hierarchy.csv").write_text("N;*\nS;*\n")
    holder = Holder(line, name)
    holder.init(people()[[*columns, "illness"]], rules_for(columns, criteria, "illness"))
    return holder


def figures(holder, expected=ExitCode.OK):
    assert holder.run("diversity", "--json", "--all") == expected, holder.line.remarks
    return json.loads(holder.line.output)


@pytest.fixture
def twin(line):
    path = line.folder / "twin.csv"
    people()[["age", "illness"]].to_csv(path, index=False)
    return path


def added(holder, path, *more):
    assert holder.run("others", "--add", path, *more) == ExitCode.OK, holder.line.remarks


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_twin_table_by_age_needs_no_coarsening(line, twin):
    ours = holder_of(line, "Ours", ["age"], '{ kind = "distinct-diversity", l = 2 }')
    added(ours, twin)
    assert "takes" not in line.remarks
    assert "“age” is taken to say the same of a person" in line.output
    assert figures(ours)["best"]["levels"] == {"age": 0}
    assert ours.publish() == ExitCode.OK, line.remarks
    readme = " ".join((ours.data().parent / "README.md").read_text().split())
    assert "“age” is taken to say the same of a person in every table that has it" in readme
    assert line.run("verify", ours.data().parent, "--project", ours.project) == ExitCode.OK


@pytest.mark.slow
@pytest.mark.turns(1)
def test_beside_a_twin_the_largest_belief_is_that_of_the_table_alone(line, twin):
    ours = holder_of(line, "Ours", ["age"], '{ kind = "belief", x = 65 }')
    added(ours, twin, "--holder", "Registry")
    assert figures(ours)["best"]["levels"] == {"age": 0}
    assert ours.publish() == ExitCode.OK, line.remarks
    readme = " ".join((ours.data().parent / "README.md").read_text().split())
    assert "likelier than 65 % for somebody who also holds the tables of Registry" in readme
    assert ours.run("others", "--with-ours", "--json") == ExitCode.OK
    told = json.loads(line.output)
    assert told["shared"] == [{"holder": "Registry", "column": "age", "ours": "age"}]
    assert told["ours"]["largest_belief"] == 0.625
    assert ours.run("check") in (ExitCode.OK, ExitCode.EXPECTED_ERROR)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_without_the_alignment_nobody_s_value_is_known_to_be_safe(line, twin):
    ours = holder_of(line, "Ours", ["age"], '{ kind = "belief", x = 65 }')
    labels = line.folder / "labels.csv"
    frame = pd.read_csv(twin, dtype=str)
    frame.assign(age=frame["age"] + " years").to_csv(labels, index=False)
    added(ours, labels)
    assert "no single level of the hierarchy of our “age”" in line.output
    assert figures(ours)["best"]["levels"] == {"age": 2}
    assert ours.run("others", "--remove", "labels") == ExitCode.OK
    added(ours, twin, "--discard-shared")
    [other] = ours.document().generalization.others
    assert other.quasi_identifiers == ()
    assert figures(ours)["best"]["levels"] == {"age": 0}


def worst(first, second):
    """Return the largest belief over two published files that share nothing, by counting."""
    one, two = (
        {key: Counter(rows["illness"]) for key, rows in frame.groupby(column)}
        for frame, column in (first, second)
    )
    whole = Counter(first[0]["illness"])
    largest = 0.0
    for a, z in itertools.product(one.values(), two.values()):
        ends = {v: (max(0, a[v] + z[v] - n), min(a[v], z[v])) for v, n in whole.items()}
        ways = itertools.product(*(range(low, high + 1) for low, high in ends.values()))
        largest = max(
            [largest, *(max(way) / sum(way) for way in ways if sum(way))],
        )
    return largest


@pytest.mark.slow
@pytest.mark.turns(1)
def test_beside_a_table_with_other_columns_the_promise_holds_in_the_files(line):
    other = line.folder / "places.csv"
    people()[["place", "illness"]].to_csv(other, index=False)
    ours = holder_of(line, "Ours", ["age"], '{ kind = "belief", x = 80 }')
    added(ours, other)
    assert figures(ours)["best"]["levels"] == {"age": 2}
    assert ours.publish() == ExitCode.OK, line.remarks
    files = (ours.published(), "age"), (pd.read_csv(other, dtype=str), "place")
    assert worst(*files) == 0.75 <= 0.8
    assert worst((people(), "age"), files[1]) == 1


@pytest.mark.slow
@pytest.mark.turns(1)
def test_who_takes_tables_to_be_independent_believes_less(line):
    other = line.folder / "places.csv"
    people()[["place", "illness"]].to_csv(other, index=False)
    ours = holder_of(line, "Ours", ["age"], '{ kind = "independent-belief", x = 76 }')
    added(ours, other)
    assert figures(ours)["best"]["levels"] == {"age": 0}
    assert ours.publish() == ExitCode.OK, line.remarks
    assert ours.run("others", "--with-ours", "--json") == ExitCode.OK
    told = json.loads(line.output)["ours"]
    # As many in each age have a value, so that the place alone tells: 6 of 8.
    assert told["largest_belief_if_independent"] == pytest.approx(0.75)
    assert told["largest_belief"] == 1


def test_what_no_levels_keep_names_the_table_that_is_the_cause(line):
    other = line.folder / "places.csv"
    people()[["place", "illness"]].to_csv(other, index=False)
    ours = holder_of(line, "Ours", ["age"], '{ kind = "belief", x = 70 }')
    added(ours, other, "--holder", "Registry")
    found = figures(ours, ExitCode.EXPECTED_ERROR)
    assert "at most 70 % likely" in found["problem"]
    assert "leave out the table of Registry" in found["problem"]
    assert ours.publish() == ExitCode.EXPECTED_ERROR
    assert "leave out the table of Registry" in line.remarks


@pytest.mark.parametrize(
    ("x", "told"), [("0", "above 0"), ("120", "above 0"), ("50", "at least 62.50")]
)
def test_an_x_that_nothing_keeps_is_refused(line, x, told):
    ours = holder_of(line, "Ours", ["age"], f'{{ kind = "belief", x = {x} }}')
    assert ours.publish() == ExitCode.EXPECTED_ERROR
    assert told in line.remarks


def test_beside_others_a_belief_is_not_promised_where_records_are_left_out(line, twin):
    ours = holder_of(line, "Ours", ["age"], '{ kind = "belief", x = 65 }')
    added(ours, twin)
    assert ours.run("rules") == ExitCode.OK
    text = line.output.replace("[generalization]\n", "[generalization]\nsuppression = 0.1\n")
    ours.rules.write_text(text.replace("suppression = 0.0\n", ""), encoding="utf-8")
    assert ours.run("rules", "--apply", ours.rules) == ExitCode.OK, line.remarks
    assert ours.publish() == ExitCode.EXPECTED_ERROR
    assert "only where no records are left out" in line.remarks


@pytest.fixture
def beside_places(line):
    """Our table by age, and a registry's by place."""
    other = line.folder / "places.csv"
    people()[["place", "illness"]].to_csv(other, index=False)
    ours = holder_of(line, "Ours", ["age"], '{ kind = "independent-belief", x = 76 }')
    added(ours, other, "--holder", "Registry")
    return ours


IN_CLASSES = ("--class", "Registry=S", "--class", "ours=20")


def test_the_belief_about_a_person_in_known_classes_is_that_of_the_files(line, beside_places):
    asked = ("audit", "class-belief", beside_places.project, *IN_CLASSES)
    assert line.run(*asked, "--json") == ExitCode.OK, line.remarks
    found = json.loads(line.output)
    table = people()
    whole, here, there = (
        Counter(rows["illness"])
        for rows in (table, table[table["age"] == "20"], table[table["place"] == "S"])
    )
    weight = {v: here[v] * there[v] / whole[v] for v in whole}
    for value, belief, least, most in zip(
        *(found[name] for name in ("values", "belief", "least", "most")), strict=True
    ):
        assert belief == pytest.approx(weight[value] / sum(weight.values()))
        ends = {
            v: (max(0, here[v] + there[v] - n), min(here[v], there[v])) for v, n in whole.items()
        }
        ways = [
            dict(zip(ends, way, strict=True))
            for way in itertools.product(*(range(low, high + 1) for low, high in ends.values()))
            if sum(way)
        ]
        shares = [way[value] / sum(way.values()) for way in ways]
        assert (least, most) == (pytest.approx(min(shares)), pytest.approx(max(shares)))
    one, both = found["growth"]
    assert one == pytest.approx(max(there.values()) / sum(there.values()))
    assert both == pytest.approx(max(found["belief"]))
    assert line.run(*asked) == ExitCode.OK
    assert line.output.startswith("Registry: place = S; ours: age = 20\n")
    assert "With the table of" in line.output


def test_how_many_people_the_classes_share_may_be_known(line, beside_places):
    asked = ("audit", "class-belief", beside_places.project, *IN_CLASSES)
    assert line.run(*asked, "--share", "25", "--json") == ExitCode.OK, line.remarks
    known = json.loads(line.output)["known_correlation"]
    # A quarter of the place's sixteen people; at most three of the eight of that age have flu.
    assert known["people"] == 4
    assert known["ways"] == len([flu for flu in range(4) if 4 - flu <= 5])
    assert sum(known["belief"]) == pytest.approx(1)
    assert line.run(*asked, "--share", "25") == ExitCode.OK
    assert "4 people" in line.output


UNKNOWN_CLASSES = (
    (
        ("--class", "Registry=X", "--class", "ours=20"),
        "The table of Registry has no such class",
    ),
    (("--class", "Registry=S"), "table of ours has no such class"),
    ((*IN_CLASSES, "--share", "101"), "out of range"),
)
"""What is stated of classes that no table has, and what is said of it."""


def test_classes_that_no_table_has_are_refused_by_name(line, beside_places):
    for stated, told in UNKNOWN_CLASSES:
        asked = ("audit", "class-belief", beside_places.project, *stated)
        assert line.run(*asked) == ExitCode.EXPECTED_ERROR, stated
        assert told in line.remarks
