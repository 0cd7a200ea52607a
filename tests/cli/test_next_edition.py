"""The next edition of a table, from the command line: what it changes is told, then it is taken."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from sfumato.analysis.editions.next_edition import edition_answer
from sfumato.commands.shared.command import ExitCode
from sfumato.project.document.model import PolicyEntry
from sfumato.project.next_edition import EditionChanges, RecordChanges
from tests.cli.conftest import RULES
from tests.project.making import document

VALUES = ("asthma", "cold", "flu", "gout")
ROWS = 400


def people(rows=ROWS):
    return pd.DataFrame(
        {
            "person": [f"P{at:04d}" for at in range(rows)],
            "sex": ["fm"[at % 2] for at in range(rows)],
            "illness": [VALUES[at * at % 4 + at % 3 // 2] for at in range(rows)],
            "year": [1950 + at % 50 for at in range(rows)],
        }
    )


@pytest.fixture
def ward(line):
    """A project whose bundles tell the persons, so that editions can be laid beside each other."""
    rules = RULES.replace('role = "identifying"', 'role = "insensitive"')
    start(line, rules + '\n[columns.year]\nrole = "insensitive"\n')
    return line


def start(line, rules):
    (line.folder / "rules.toml").write_text(rules)
    people().to_csv(line.folder / "ward.csv", index=False)
    assert line.init() == ExitCode.OK, line.remarks


def follow(line, frame, *more):
    path = line.folder / "december.csv"
    frame.to_csv(path, index=False)
    return line.run("next", line.project, path, *more)


def counted(line, frame, *more):
    assert follow(line, frame, "--json", *more) == ExitCode.OK, line.remarks
    return json.loads(line.output)


def changed(frame, rows):
    """The table in which some rows have the next illness."""
    other = frame.copy()
    nexts = dict(zip(VALUES, (*VALUES[1:], VALUES[0]), strict=True))
    other.loc[rows, "illness"] = other.loc[rows, "illness"].map(nexts)
    return other


def shown(bundle):
    return pd.read_csv(bundle / "data.csv", dtype=str).set_index("person")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_is_told_of_an_edition_is_what_its_files_show(ward):
    assert ward.release() == ExitCode.OK, ward.remarks
    [before] = ward.bundles()
    first = people()
    new = people(ROWS + 25).iloc[ROWS:]
    after = pd.concat([new, changed(first, range(0, 90)).iloc[10:]]).sample(frac=1, random_state=3)
    told = counted(ward, after)
    # By a checker of its own, from both tables.
    both = first.merge(after, on="person", suffixes=("_then", "_now"))
    other = both["illness_then"] != both["illness_now"]
    assert told["records"] == {
        "stayed": len(both),
        "came": len(after) - len(both),
        "gone": len(first) - len(both),
        "touched": int(other.sum()),
        "reordered": True,
    }
    assert (len(both), int(other.sum())) == (ROWS - 10, 80)
    [column] = told["columns"]
    assert (column["name"], column["changed"], column["undecided"]) == ("illness", 80, False)
    assert told["verdict"] == "caution"
    assert told["taken"]
    # And what it discloses, from both bundles: nothing of who did not change.
    assert ward.release() == ExitCode.OK, ward.remarks
    [second] = set(ward.bundles()) - {before}
    then, now = shown(before)["illness"], shown(second)["illness"]
    shared = then.index.intersection(now.index)
    differs = then[shared] != now[shared]
    truth = other.set_axis(both["person"])[shared]
    assert 0 < differs.sum() < truth.sum()
    assert not (differs & ~truth).any()
    assert set(shown(second).index) == set(after["person"])


def test_an_edition_is_only_looked_at_where_asked(line):
    assert line.init() == ExitCode.OK, line.remarks
    after = line.folder / "ward.csv"
    before = pd.read_csv(after)
    assert follow(line, before.iloc[::-1], "--dry-run") == ExitCode.OK, line.remarks
    assert "12 records stay, 0 are new and 0 are gone" in line.output
    assert "None of those that stay has another value" in line.output
    assert "stand in another order" in line.output
    assert "Nothing is saved" in line.remarks
    assert line.run("source", line.project) == ExitCode.OK
    assert str(after) in line.output


def test_the_same_table_changes_nothing(made):
    told = counted(made, pd.read_csv(made.folder / "ward.csv"))
    assert told["verdict"] == "good"
    assert told["same"]


def test_a_new_category_leads_to_where_it_is_decided(ward):
    after = people()
    after.loc[[3, 5], "illness"] = "measles"
    after.loc[4, "sex"] = "x"
    assert follow(ward, after) == ExitCode.OK, ward.remarks
    assert "“illness” has 1 new value, in 2 records, about which nothing is decided" in ward.output
    assert "a place in its domain or hierarchy" in ward.output
    assert "measles" not in ward.output + ward.remarks
    assert ward.release() == ExitCode.EXPECTED_ERROR
    told = counted(ward, after, "--dry-run")
    assert told["same"]


def test_a_new_category_after_a_release_is_told_to_leave_the_ladder(ward):
    assert ward.release() == ExitCode.OK, ward.remarks
    after = people()
    after.loc[3, "illness"] = "measles"
    assert follow(ward, after, "--dry-run") == ExitCode.OK, ward.remarks
    assert "another domain would leave the ladder" in ward.output


def test_a_new_column_is_left_out_until_it_has_a_role(ward):
    told = counted(ward, people().assign(phone=[str(at) for at in range(ROWS)]))
    assert told["new_columns"] == ["phone"]
    assert ward.release() == ExitCode.OK, ward.remarks
    [bundle] = ward.bundles()
    assert "phone" not in shown(bundle).columns


def test_a_renamed_column_is_recognised_and_refused_by_name(ward):
    assert follow(ward, people().rename(columns={"illness": "disease"})) != ExitCode.OK
    assert (
        "lacks “illness”. disease, which is new, has the same values in 400 of 400" in ward.remarks
    )
    assert follow(ward, people().drop(columns="illness")) == ExitCode.EXPECTED_ERROR
    assert "lacks a column that the project has: “illness”" in ward.remarks
    assert ward.release() == ExitCode.OK, ward.remarks


def test_another_type_is_refused_by_name(ward):
    after = people().astype({"year": object})
    after.loc[7, "year"] = "unknown"
    assert follow(ward, after) == ExitCode.EXPECTED_ERROR
    assert "Row 8, column “year”: the value is not a whole number" in ward.remarks
    assert follow(ward, after, "--column-type", "year=text") == ExitCode.EXPECTED_ERROR
    assert "“year” holds text in place of numbers" in ward.remarks
    assert "unknown" not in ward.remarks


def test_a_record_key_twice_or_missing_is_refused_by_its_rows(ward):
    after = people()
    after.loc[7, "person"] = "P0003"
    assert follow(ward, after) == ExitCode.EXPECTED_ERROR
    assert "The record key “person” is not unique: rows 4 and 8 share a key" in ward.remarks
    after.loc[7, "person"] = None
    assert follow(ward, after) == ExitCode.EXPECTED_ERROR
    assert "missing in 1 row, first in row 8" in ward.remarks


@pytest.mark.slow
@pytest.mark.turns(1)
def test_records_known_by_position_are_matched_by_what_identifies_them(line):
    start(line, RULES.replace('record_key = "person"\n', "") + '[columns.year]\nrole = "weight"\n')
    after = people(ROWS + 5).iloc[::-1]
    told = counted(line, after)
    assert told["becomes_record_key"]
    assert told["known_by"] == "person"
    assert (told["records"]["stayed"], told["records"]["came"]) == (ROWS, 5)
    assert line.release() == ExitCode.OK, line.remarks


def test_after_a_release_by_position_an_edition_is_refused_before_it_is_read(line):
    start(line, RULES.replace('record_key = "person"\n', "") + '[columns.year]\nrole = "weight"\n')
    assert line.release() == ExitCode.OK, line.remarks
    path = line.folder / "december.csv"
    path.write_text('not "a table')
    assert line.run("next", line.project, path) == ExitCode.EXPECTED_ERROR
    assert "by their position in the table, and releases of it were made" in line.remarks


def test_without_the_table_of_before_less_is_told_unless_it_is_shown(ward):
    old = ward.folder / "ward.csv"
    kept = ward.folder / "elsewhere"
    kept.mkdir()
    old.rename(kept / "november.csv")
    after = changed(people(), [1, 2, 3])
    told = counted(ward, after, "--dry-run")
    assert told["records"] is None
    assert "3 rows are new or changed." in told["answer"]
    told = counted(ward, after, "--dry-run", "--before", kept / "november.csv")
    assert told["records"]["touched"] == 3
    assert follow(ward, after, "--before", ward.folder / "rules.toml") == ExitCode.EXPECTED_ERROR
    assert "is not the table that the project knows" in ward.remarks


@pytest.mark.slow
def test_what_other_records_decide_of_one_that_did_not_change_is_told(ward):
    for more in (["--propose"], ["--recipient", "Clinic A", "--k", "2", "--suppress", "0.1"]):
        assert ward.run("views", ward.project, *more) == ExitCode.OK, ward.remarks
    assert ward.release() == ExitCode.OK, ward.remarks
    assert follow(ward, changed(people(), [7]), "--dry-run") == ExitCode.OK, ward.remarks
    assert "keep the random draws of “illness”" in ward.output
    assert "Which rows or cells are suppressed depends on all records" in ward.output


def test_new_labels_without_a_place_in_a_hierarchy_are_all_counted(ward):
    levels = ward.folder / "levels.csv"
    levels.write_text("f;person\nm;person\n")
    imported = ("hierarchy", ward.project, "--column", "sex", "--import", levels)
    assert ward.run(*imported) == ExitCode.OK, ward.remarks
    other = people().assign(sex=["x", "y", *people()["sex"][2:]])
    told = counted(ward, other, "--dry-run")
    (sex,) = (one for one in told["columns"] if one["name"] == "sex")
    assert (sex["new_values"], sex["records"], sex["undecided"]) == (2, 2, True)


def test_draws_by_groups_are_not_said_to_stay():
    by_groups = document(policy=(PolicyEntry(("illness",), "reconstruction"),))
    stayed = RecordChanges(stayed=12, came=0, gone=0, touched=1, reordered=False)
    changes = EditionChanges("ab", by_groups, "person", False, 12, stayed)
    made = SimpleNamespace(counts=True, is_publication=False, plans=())
    told = " ".join(map(str, edition_answer(by_groups, [made], changes).sentences))
    assert "illness depends on the whole group of a record" in told
    assert "random draws" not in told
