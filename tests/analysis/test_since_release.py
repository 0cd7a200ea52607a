"""What has changed since a recipient's last release is told attribute by attribute."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.analysis.editions.since_release import since_releases
from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import PolicyEntry, Unit, ViewRule
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from tests.in_batches import in_batches
from tests.project.making import new_project, table


@pytest.fixture
def released(tmp_path):
    """A project with a release to Clinic A."""
    project = new_project(tmp_path)
    make_release(project, in_batches(table()), "Clinic A", tmp_path / "out", "csv", Silent())
    yield project
    project.close()


def changes(project, document, *, table_open=True):
    known = attributes_of(document, table()) if table_open else {}
    first, second = since_releases(document, known, project.releases)
    assert second.record is None
    assert not second.current
    assert first.current == (not first.changes)
    return [(name, str(words)) for name, words in first.changes]


def with_first(document, **other):
    first, *others = document.recipients
    return replace(document, recipients=(replace(first, **other), *others))


def test_nothing_has_changed_at_first(released):
    assert changes(released, released.document) == []
    assert changes(released, released.document, table_open=False) == []


@pytest.mark.parametrize("table_open", [True, False])
def test_a_level_is_told_as_it_was_and_as_it_is(released, table_open):
    document = with_first(
        released.document, statements={"illness": {"retention_probability": 0.25}}
    )
    told = [("illness", "p = 0.6 then, p = 0.25 now")]
    assert changes(released, document, table_open=table_open) == told


def test_a_limit_on_belief_is_told_as_a_hunch(released):
    document = with_first(released.document, statements={"illness": {"rho1": 0.1, "rho2": 0.29}})
    told = "p = 0.6 then, a hunch of 10 % rises to 29 % at most now"
    assert changes(released, document) == [("illness", told)]


def test_the_same_level_in_other_words_has_not_changed(released):
    mechanism = mechanism_called("uniform")
    attributes = (attributes_of(released.document, table())["illness"],)
    said = mechanism.restate(
        mechanism.level({"retention_probability": 0.6}, attributes, {}), attributes, {}
    )
    other = next(one for name, one in said.items() if "retention_probability" not in one)
    document = with_first(released.document, statements={"illness": other})
    assert changes(released, document) == []


def test_another_mechanism_and_a_missing_level_are_told(released):
    document = released.document
    other = replace(document, policy=(PolicyEntry(("illness",), "finegrain"),))
    [(name, words)] = changes(released, other, table_open=False)
    assert name == "illness"
    assert words.startswith("Uniform retention, p = 0.6 then, Per-value limits")
    assert changes(released, with_first(document, statements={})) == [
        ("illness", "p = 0.6 then, no level now")
    ]


def test_columns_that_would_leave_otherwise_are_told(released):
    document = released.document
    sex = replace(document.column("sex"), role=Role.IDENTIFYING)
    assert changes(released, document.with_column(sex)) == [("sex", "unchanged then, left out now")]
    more = replace(document, columns=(*document.columns, ColumnSpec("ward", Role.INSENSITIVE)))
    assert changes(released, more, table_open=False) == [("ward", "left out then, unchanged now")]


def test_views_and_what_concerns_every_row_are_told(released):
    document = with_first(released.document, view=ViewRule(k=3, levels={"sex": 1}))
    document = replace(
        document,
        source=replace(document.source, digest="cd" * 32),
        rows_as_in_table="a panel",
        unit=Unit(("person",), 1),
    )
    told = changes(released, document, table_open=False)
    assert ("sex", "seen at level 0 then, 1 now") in told
    assert {words for name, words in told if not name} == {
        "k = 1 then, 3 now",
        "the table is another edition",
        "the rows stand in another order",
        "another unit of protection",
    }
