"""Files that were found with pseudonyms in them: whom they name, and whom they don't."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import Pseudonym
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.errors import NotTraceable
from sfumato.project.verification.leak import LeakReport, trace_file
from tests.in_batches import in_batches
from tests.project.verifying import a_document, a_table, new_project, release

SHARED_BY = ("Clinic A", "Institute B")


def with_pseudonyms(shared_by=()):
    document = a_document()
    person = replace(document.column("person"), pseudonym=Pseudonym(shared_by))
    return document.with_column(person)


@pytest.fixture
def own(tmp_path):
    """A project in which each recipient has pseudonyms of their own."""
    with new_project(tmp_path, with_pseudonyms()) as made:
        yield made


def released(project, tmp_path, recipient):
    path = release(project, tmp_path / "out", recipient)
    return pd.read_csv(path / "data.csv", dtype={"zip": str})


def trace(project, frame) -> LeakReport:
    return trace_file(project, in_batches(a_table()), Table(frame.reset_index(drop=True)), Silent())


def named(report):
    return [(match.recipients, match.rows) for match in report.pseudonyms]


def test_three_pseudonyms_alone_name_the_one_who_has_them(own, tmp_path):
    few = released(own, tmp_path, "Public C")[["person"]].sample(3, random_state=1)
    report = trace(own, few)
    assert named(report) == [(("Public C",), 3)]
    given = "Pseudonyms of person that Public C alone is given stand in 3 of the 3 rows"
    assert given in report.verdict
    assert "no perturbed column" in report.verdict
    assert report.is_traced


@pytest.mark.slow
@pytest.mark.turns(1)
def test_they_are_known_under_any_name_and_beside_the_values(own, tmp_path):
    frame = released(own, tmp_path, "Institute B").rename(columns={"person": "case"})
    report = trace(own, frame)
    assert named(report) == [(("Institute B",), len(frame))]
    assert [report.name_of(one) for one in report.traced.sources] == ["Institute B"]
    assert report.pseudonyms[0].column == "case"
    assert "case" in report.compared
    assert not report.ignored


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_share_that_matches_is_said_for_each_of_two_files(own, tmp_path):
    one = released(own, tmp_path, "Clinic A")[:200]
    other = released(own, tmp_path, "Public C")[:100]
    report = trace(own, pd.concat([one, other]))
    assert named(report) == [(("Clinic A",), 200), (("Public C",), 100)]
    assert "200 of the 300 rows (67 %)" in report.verdict


@pytest.mark.slow
@pytest.mark.turns(1)
def test_shared_pseudonyms_name_the_group_and_no_one_in_it(tmp_path):
    with new_project(tmp_path, with_pseudonyms(SHARED_BY)) as project:
        report = trace(project, released(project, tmp_path, "Institute B")[["person"]])
        assert named(report) == [(SHARED_BY, len(a_table().frame))]
        assert "Clinic A and Institute B share stand in" in report.verdict
        own = trace(project, released(project, tmp_path, "Clinic D")[["person"]])
        assert named(own) == [(("Clinic D",), len(a_table().frame))]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_whoever_was_given_them_is_named_after_the_policy_has_changed(own, tmp_path):
    frame = released(own, tmp_path, "Public C")
    left = [one for one in own.document.recipients if one.name != "Public C"]
    person = replace(own.document.column("person"), pseudonym=None)
    own.save_document(replace(own.document.with_column(person), recipients=tuple(left)))
    assert named(trace(own, frame)) == [(("Public C",), len(frame))]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_pseudonyms_invented_by_others_name_nobody(own, tmp_path):
    frame = released(own, tmp_path, "Clinic A")
    letters = np.random.default_rng(1).choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), (900, 26))
    invented = pd.DataFrame({"person": ["".join(row) for row in letters]})
    with pytest.raises(NotTraceable):
        trace(own, invented)
    # Beside a release's values they take nothing away from what these say.
    report = trace(own, frame.assign(person=invented["person"]))
    assert not report.pseudonyms
    assert [report.name_of(one) for one in report.traced.sources] == ["Clinic A, Clinic D"]
    assert report.ignored == ("person",)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_pseudonyms_of_the_same_people_in_another_project_name_nobody(own, tmp_path):
    with new_project(tmp_path, with_pseudonyms(), name="copy") as other:
        frame = released(other, tmp_path / "copy", "Clinic A")
    report = trace(own, frame)
    assert not report.is_traced
