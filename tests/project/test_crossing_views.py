"""Views of one table that cross: whoever has both releases can tell more people apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.analysis.readiness import examine
from sfumato.analysis.shown_columns import LeavingColumns
from sfumato.analysis.views import with_levels, with_statement
from sfumato.engine.core.columns import Binning, Domain, Role
from sfumato.engine.core.errors import LadderError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Intervals, Masking, Orders
from sfumato.project.document.model import Document
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from tests.project.verifying import a_document, a_table, new_project, release

CROSSING = "neither wholly finer nor wholly coarser"


def seen(document: Document, **levels: int) -> Document:
    """Return a document in which the public sees columns at levels, and the others all."""
    by_order = document.column("age").binning is not None
    age = Orders((2, 2)) if by_order else Intervals(width=10)
    document = replace(document, hierarchies={"age": age, "zip": Masking((2, 1))})
    return with_levels(with_statement(document, "Public C", 1), "Public C", levels)[0]


def in_bins(*edges: float) -> Document:
    document = a_document()
    binning = Binning(edges) if edges else None
    return document.with_column(replace(document.column("age"), binning=binning))


def without_zip(document: Document) -> Document:
    return document.with_column(replace(document.column("zip"), role=Role.IDENTIFYING))


def second_release(folder, first: Document, second: Document, recipient: str = "Public C"):
    with new_project(folder, first) as project:
        release(project, folder / "first", "Public C")
        project.save_document(second)
        make_release(project, a_table(), recipient, folder / "second", "csv", Silent())
        return project.releases


@pytest.mark.parametrize("recipient", ["Public C", "Clinic A"])
def test_a_finer_view_of_fewer_columns_crosses_the_coarser_one_of_all(tmp_path, recipient):
    first = seen(in_bins(), age=2, zip=1)
    with pytest.raises(LadderError, match=CROSSING):
        second_release(tmp_path, first, seen(without_zip(in_bins()), age=1), recipient)


def test_the_check_before_a_release_tells_of_views_that_cross(tmp_path):
    second = seen(without_zip(in_bins()), age=1)
    with new_project(tmp_path, seen(in_bins(), age=2, zip=1)) as project:
        release(project, tmp_path / "first", "Public C")
        columns = LeavingColumns(a_table(), project.keys).of(second)
        known = attributes_of(second, a_table())
        found = examine(second, columns, known, project.releases, Silent())
    for each in found:
        assert any(CROSSING in str(one.sentence) for one in each.standing), each.recipient


def test_a_coarser_view_of_fewer_columns_crosses_nothing(tmp_path):
    first = seen(in_bins(), age=1, zip=1)
    assert len(second_release(tmp_path, first, seen(without_zip(in_bins()), age=2))) == 2


def test_a_view_from_other_bins_crosses_the_one_before_at_the_same_levels(tmp_path):
    first = seen(in_bins(0.0, 30.0, 60.0, 90.0, 130.0), age=1, zip=3)
    second = seen(in_bins(0.0, 20.0, 50.0, 80.0, 130.0), age=1, zip=3)
    with pytest.raises(LadderError, match=CROSSING):
        second_release(tmp_path, first, second)


@pytest.mark.parametrize("stated", [True, False])
def test_groups_of_values_that_occur_cross_those_of_another_edition(tmp_path, stated):
    domain = Domain(tuple(range(130))) if stated else None
    document = replace(a_document(), record_key="person")
    age = replace(document.column("age"), binning=None, domain=domain)
    document = seen(document.with_column(age), age=1, zip=3)
    document = replace(document, hierarchies={**document.hierarchies, "age": Orders((7,))})
    later = replace(document.source, digest="cd" * 32)
    later = replace(document, source=later)
    if stated:
        assert len(second_release(tmp_path, document, later)) == 2
    else:
        with pytest.raises(LadderError, match=CROSSING):
            second_release(tmp_path, document, later)


def test_bins_may_take_the_place_of_exact_values(tmp_path):
    first = seen(in_bins(), age=0, zip=3)
    second = seen(in_bins(0.0, 30.0, 60.0, 90.0, 130.0), age=0, zip=3)
    assert len(second_release(tmp_path, first, second)) == 2
