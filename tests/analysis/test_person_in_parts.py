"""A person is found in a table that is too long for memory as in the whole table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.analysis import person_in_parts
from sfumato.analysis.find_person import find_person
from sfumato.analysis.holdings import Basis
from sfumato.analysis.person_facts import fact_of
from sfumato.analysis.person_found import Belief, Knowledge, NumberBelief
from sfumato.analysis.person_in_parts import find_in_parts, left_out_in_parts
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import Cancelled, PolicyError, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.project.document.model import Generalization
from sfumato.project.release import long_table
from sfumato.project.release.regenerate import PoliciesInForce, released_last
from tests.project import test_long_release
from tests.project.batched import GRADES
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
    monkeypatch.setattr(long_table, "SAMPLE", 1 << 18)


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


def both(project, known, basis=Basis.PLANNED, context=None):
    policies = PoliciesInForce(project.document, whole_of(project), project.keys)
    maker, document = policies.today, project.document
    if basis is Basis.RELEASED:
        maker = policies.latest(project.releases)
        document = released_last(document, project.releases)
    wanted = find_person(maker, known, project.releases, basis, Silent())
    long, asked = long_of(project), (known, project.releases, basis, context or Silent())
    return wanted, *find_in_parts(document, long, project.keys, *asked)


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
        if isinstance(own, Belief):
            assert np.array_equal(own.before, other.before)
            assert np.array_equal(own.after, other.after)
        else:
            assert (own.before, own.after) == (other.before, other.after)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("facts", FACTS)
def test_a_person_is_found_in_parts_as_in_the_whole_table(ward, case, facts):
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        first, second = (each.name for each in project.document.recipients[:2])
        for holders in ((first,), (second,), (first, second)):
            wanted, found, shown = both(project, knowledge(project, FACTS[facts], *holders))
            check_same(wanted, found)
            assert shown.rows == len(found.rows) > 0
            whole = whole_of(project)
            for name in FACTS[facts]:
                rows = whole.column(name).iloc[found.rows]
                assert shown.column(name).astype(str).tolist() == rows.astype(str).tolist()


@pytest.mark.parametrize("case", ["views", "units"])
def test_what_is_believed_beforehand_counts_in_parts_too(ward, case):
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        known = knowledge(project, {"age": "40 to 60"}, "Clinic A")
        wanted, found, _ = both(project, replace(known, believed={"illness": {1: 0.6}}))
        check_same(wanted, found)
        assert not np.array_equal(found.beliefs[0].before, found.beliefs[0].common)


@pytest.mark.parametrize("units", [False, True])
def test_a_release_is_weighed_by_the_policy_it_was_made_by(ward, tmp_path, units):
    frame, change = CASES["units" if units else "views"]
    with ward(frame(), change) as project:
        bundle(project, whole_of(project), tmp_path / "out", "parquet")
        dropped = replace(project.document.column("smoker"), role=Role.IDENTIFYING)
        wider = replace(project.document.column("illness"), domain=None)
        project.save_document(project.document.with_column(dropped).with_column(wider))
        known = knowledge(project, {"age": "40"}, "Clinic A")
        check_same(*both(project, known, Basis.RELEASED)[:2])


def test_nobody_fits_and_values_that_do_not_occur_are_told_as_in_memory(ward):
    with ward(frame_of(), two_recipients()) as project:
        known = knowledge(project, {"age": "17"}, "Clinic A")
        wanted, found, shown = both(project, known)
        check_same(wanted, found)
        assert (len(found.rows), shown.rows) == (0, 0)
        unknown = knowledge(project, {"zip": "nowhere"}, "Clinic A")
        with pytest.raises(PolicyError, match="no value of the column") as refused:
            find_in_parts(*asked(project, unknown))
        assert "nowhere" not in str(refused.value)


def test_a_person_whose_earlier_releases_are_held_is_found_in_parts(ward, tmp_path):
    frame = frame_of()
    change = with_earlier(frame, tmp_path, "some of the records", "csv")
    with ward(frame, change) as project:
        for holders in (("illn-0.9",), ("cost-8.0", "Clinic B")):
            known = knowledge(project, {"age": "40 to 52"}, *holders)
            wanted, found, _ = both(project, known)
            check_same(wanted, found)
            assert any(each.holder in holders for each in found.beliefs)


def asked(project, known, context=None):
    given = (known, project.releases, Basis.PLANNED, context or Silent())
    return (project.document, long_of(project), project.keys, *given)


def test_too_many_rows_or_values_are_refused_and_it_is_said_what_to_do(ward, monkeypatch):
    with ward(frame_of(), two_recipients()) as project:
        monkeypatch.setattr(person_in_parts, "MOST_FITTING", 100)
        with pytest.raises(TableError, match="More than 100 rows") as refused:
            find_in_parts(*asked(project, knowledge(project, {}, "Clinic A")))
        assert "Say more of the person" in refused.value.remedy
        monkeypatch.setattr(person_in_parts, "_MOST_VALUES", 30)
        with pytest.raises(TableError, match="Column age has more than 30 different values"):
            find_in_parts(*asked(project, knowledge(project, {"age": "40"}, "Clinic A")))


def test_what_needs_all_rows_is_refused_by_name_and_left_out_is_said(ward):
    with ward(frame_of(), two_recipients()) as project:
        known = knowledge(project, {"age": "40"}, "Clinic A")
        with pytest.raises(PolicyError, match="other holders' tables"):
            find_in_parts(*asked(project, replace(known, classes={"Registry": 0})))
        with pytest.raises(PolicyError, match="Nobody's files"):
            find_in_parts(*asked(project, replace(known, holders=())))
        document = project.document
        found, _ = find_in_parts(*asked(project, known))
        assert any(isinstance(each, NumberBelief) for each in found.beliefs)
        assert left_out_in_parts(document, 1 << 18, found) == ()
        beside = replace(document, generalization=Generalization("illness", ("age",), others=(1,)))
        sampled, others = left_out_in_parts(beside, 1_000_000, found)
        assert "262,144 of its 1,000,000 rows" in sampled
        assert "other holders' tables" in others


def test_rows_are_told_as_they_are_read_and_it_can_be_cancelled(ward):
    with ward(frame_of(), two_recipients()) as project:
        known, told = knowledge(project, {"age": "40"}, "Clinic A"), []
        hear = Callback(lambda _, text: told.append(str(text)), lambda: False)
        find_in_parts(*asked(project, known, hear))
        assert any("Looking for the person: 110 of 300 rows" in text for text in told)
        stop = Callback(lambda *_: None, iter([*[False] * (len(told) // 2), True]).__next__)
        with pytest.raises(Cancelled):
            find_in_parts(*asked(project, known, stop))
