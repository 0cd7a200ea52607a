"""A person is found in a table that is too long for memory as in the whole table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.analysis.all_rows import rows_of
from sfumato.analysis.coalitions.holdings import ReleaseBasis
from sfumato.analysis.disclosure import find_person, person_rows
from sfumato.analysis.disclosure.person_found import (
    Knowledge,
    NumberBelief,
    PersonBelief,
    meaning_sentences,
)
from sfumato.analysis.disclosure.person_rows import fact_of
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import Cancelled, PolicyError, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.project.document.generalization import OtherTableFile
from sfumato.project.document.model import Generalization
from sfumato.project.publication.other_tables import look_at_other, open_other
from sfumato.project.release import batched_table
from sfumato.project.release.regenerate import released_last
from tests.in_batches import in_batches
from tests.project import test_long_release
from tests.project.batched import GRADES, ILLNESSES
from tests.project.test_long_adopted import with_earlier
from tests.project.test_long_leak import VIEWS, two_recipients
from tests.project.test_long_release import bundle, frame_of, long_of, whole_of
from tests.project.test_long_units import by_house, of_units

ward, small_parts = test_long_release.ward, test_long_release.small_parts

FACTS = {
    "nothing": {},
    "a number": {"age": "40 to 52"},
    "two columns": {"age": "> 33", "grade": " | ".join(GRADES[:2])},
    "gaps": {"zip": "10037 | 10111", "visits": "3 to 30", "visited": "2024", "smoker": "True"},
}


@pytest.fixture(autouse=True)
def every_number(monkeypatch, small_parts):
    monkeypatch.setattr(batched_table, "SAMPLE", 1 << 18)


def by_position(document):
    return replace(two_recipients(*VIEWS["views"])(document), record_key=None)


def with_units(document):
    return by_house(2, "illness")(two_recipients(*VIEWS["views"])(document))


CASES = {
    "as they are": (frame_of, two_recipients()),
    "views": (frame_of, two_recipients(*VIEWS["views"])),
    "by position": (frame_of, by_position),
    "units": (lambda: of_units(frame_of()), with_units),
}


def knowledge(project, facts, *holders):
    table = whole_of(project)
    read = [fact_of(project.document.column(n), table.column(n), t) for n, t in facts.items()]
    return Knowledge(tuple(read), holders)


def find(project, table, known, basis=ReleaseBasis.PLANNED, context=None):
    document = project.document
    if basis is ReleaseBasis.RELEASED:
        document = released_last(document, project.releases)
    folders = (project.path.parent,)
    rows = rows_of(document, in_batches(table), project.keys, folders, project.document)
    asked = (known, project.releases, basis, context or Silent())
    return find_person.find_person(rows, *asked)


def both(project, known, basis=ReleaseBasis.PLANNED):
    return [find(project, each, known, basis) for each in (whole_of(project), long_of(project))]


def check_same(wanted, found):
    for name in ("records", "units", "remaining", "hidden", "viewed_by", "surest"):
        assert getattr(found, name) == getattr(wanted, name), name
    assert np.array_equal(found.rows, wanted.rows)
    assert np.array_equal(found.chances, wanted.chances)
    assert len(found.beliefs) == len(wanted.beliefs)
    for own, other in zip(found.beliefs, wanted.beliefs, strict=True):
        assert (own.holder, own.reason, own.sentence) == (
            other.holder,
            other.reason,
            other.sentence,
        )
        if isinstance(own, PersonBelief):
            assert np.array_equal(own.before, other.before)
            assert np.array_equal(own.after, other.after)
        else:
            assert (own.before, own.after) == (other.before, other.after)


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("facts", FACTS)
def test_a_person_is_found_in_parts_as_in_the_whole_table(ward, case, facts):
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        first, second = (each.name for each in project.document.recipients[:2])
        for holders in ((first,), (second,), (first, second)):
            wanted, found = both(project, knowledge(project, FACTS[facts], *holders))
            check_same(wanted, found)
            assert len(found.rows) > 0
            whole = whole_of(project)
            for name in FACTS[facts]:
                rows = whole.column(name).iloc[found.rows[: find_person.MOST_SHOWN]].astype(str)
                for each in (wanted, found):
                    assert each.shown[name].astype(str).tolist() == rows.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["views", "units"])
def test_what_is_believed_beforehand_counts_in_parts_too(ward, case):
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        known = knowledge(project, {"age": "40 to 60"}, "Clinic A")
        wanted, found = both(project, replace(known, believed={"illness": {1: 0.6}}))
        check_same(wanted, found)
        assert not np.array_equal(found.beliefs[0].before, found.beliefs[0].common)


@pytest.mark.slow
@pytest.mark.parametrize("units", [False, True])
def test_a_release_is_weighed_by_the_policy_it_was_made_by(ward, tmp_path, units):
    frame, change = CASES["units" if units else "views"]
    with ward(frame(), change) as project:
        bundle(project, whole_of(project), tmp_path / "out", "parquet")
        dropped = replace(project.document.column("smoker"), role=Role.IDENTIFYING)
        wider = replace(project.document.column("illness"), domain=None)
        project.save_document(project.document.with_column(dropped).with_column(wider))
        known = knowledge(project, {"age": "40"}, "Clinic A")
        check_same(*both(project, known, ReleaseBasis.RELEASED))


@pytest.mark.slow
def test_nobody_fits_and_values_that_do_not_occur_are_told_as_in_memory(ward):
    with ward(frame_of(), two_recipients()) as project:
        known = knowledge(project, {"age": "17"}, "Clinic A")
        wanted, found = both(project, known)
        check_same(wanted, found)
        assert (len(found.rows), len(found.shown)) == (0, 0)
        unknown = knowledge(project, {"zip": "nowhere"}, "Clinic A")
        with pytest.raises(PolicyError, match="no value of the column") as refused:
            find(project, long_of(project), unknown)
        assert "nowhere" not in str(refused.value)


@pytest.mark.slow
def test_a_person_whose_earlier_releases_are_held_is_found_in_parts(ward, tmp_path):
    frame = frame_of()
    change = with_earlier(frame, tmp_path, "some of the records", "csv")
    with ward(frame, change) as project:
        for holders in (("illn-0.9",), ("cost-8.0", "Clinic B")):
            known = knowledge(project, {"age": "40 to 52"}, *holders)
            wanted, found = both(project, known)
            check_same(wanted, found)
            assert any(each.holder in holders for each in found.beliefs)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_too_many_rows_or_values_are_refused_and_it_is_said_what_to_do(ward, monkeypatch):
    with ward(frame_of(), two_recipients()) as project:
        monkeypatch.setattr(person_rows, "MOST_FITTING", 100)
        nothing = knowledge(project, {}, "Clinic A")
        with pytest.raises(TableError, match="More than 100 rows") as refused:
            find(project, long_of(project), nothing)
        assert "Say more of the person" in refused.value.remedy
        assert len(find(project, whole_of(project), nothing).rows) == 300
        monkeypatch.setattr(person_rows, "_MOST_VALUES", 30)
        with pytest.raises(TableError, match="Column age has more than 30 different values"):
            find(project, long_of(project), knowledge(project, {"age": "40"}, "Clinic A"))


@pytest.mark.slow
def test_numbers_that_are_known_from_some_rows_are_said(ward, monkeypatch):
    with ward(frame_of(), two_recipients()) as project:
        known = knowledge(project, {"age": "40"}, "Clinic A")
        with pytest.raises(PolicyError, match="Nobody's files"):
            find(project, long_of(project), replace(known, holders=()))
        assert find(project, long_of(project), known).sampled is None
        monkeypatch.setattr(batched_table, "SAMPLE", 100)
        found = find(project, long_of(project), known)
        assert any(isinstance(each, NumberBelief) for each in found.beliefs)
        assert "from 100 of its 300 rows" in meaning_sentences(found)[-1]


@pytest.mark.slow
def test_what_other_holders_tables_tell_counts_in_parts_too(ward, tmp_path):
    frame = frame_of()
    registry = frame[["age", "illness"]][frame["illness"] != "cold"]
    registry.to_csv(tmp_path / "registry.csv", index=False)
    opened = open_other(tmp_path / "registry.csv", Silent())
    stated = OtherTableFile("Registry", "", "", {}, ("age",), "illness")

    def beside(document):
        document = two_recipients()(document)
        looked = look_at_other(opened, stated, ILLNESSES, Silent())
        decided = Generalization("illness", ("age",), others=(looked.file,))
        return replace(document, generalization=decided)

    with ward(frame, beside) as project:
        attribute = rows_of(project.document, long_of(project), project.keys).attributes(Silent())
        [table] = find_person.other_tables(project.document, attribute["illness"], Silent())
        known = knowledge(project, {"age": "40 to 60"}, "Clinic A")
        wanted, found = both(project, replace(known, classes={"Registry": 3}))
        check_same(wanted, found)
        assert table.classes > 3
        assert not np.array_equal(found.beliefs[0].before, found.beliefs[0].common)


@pytest.mark.slow
def test_rows_are_told_as_they_are_read_and_it_can_be_cancelled(ward):
    with ward(frame_of(), two_recipients()) as project:
        known, told = knowledge(project, {"age": "40"}, "Clinic A"), []
        hear = Callback(lambda _, text: told.append(str(text)), lambda: False)
        find(project, long_of(project), known, context=hear)
        assert any("Looking for the person: 110 of 300 rows" in text for text in told)
        stop = Callback(lambda *_: None, iter([*[False] * (len(told) // 2), True]).__next__)
        with pytest.raises(Cancelled):
            find(project, long_of(project), known, context=stop)
