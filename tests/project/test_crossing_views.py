"""Views of one table that cross: whoever has both releases can tell more people apart."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from sfumato.analysis.coarsening.views import with_levels, with_statement
from sfumato.analysis.readiness.readiness import examine, mended
from sfumato.analysis.shown_columns import LeavingColumns
from sfumato.engine.core.columns import Binning, Domain, Role
from sfumato.engine.core.errors import LadderError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Intervals, Masking, Orders
from sfumato.project.document.model import Document, ViewRule
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.views import finest_of
from tests.in_batches import in_batches
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
        make_release(project, in_batches(a_table()), recipient, folder / "second", "csv", Silent())
        return project.releases


@pytest.mark.parametrize("recipient", ["Public C", "Clinic A"])
def test_a_finer_view_of_fewer_columns_crosses_the_coarser_one_of_all(tmp_path, recipient):
    first = seen(in_bins(), age=2, zip=1)
    with pytest.raises(LadderError, match=CROSSING):
        second_release(tmp_path, first, seen(without_zip(in_bins()), age=1), recipient)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_check_before_a_release_tells_of_views_that_cross(tmp_path):
    second = seen(without_zip(in_bins()), age=1)
    with new_project(tmp_path, seen(in_bins(), age=2, zip=1)) as project:
        release(project, tmp_path / "first", "Public C")
        columns = LeavingColumns(a_table(), project.keys).of(second)
        known = attributes_of(second, a_table())
        found = examine(second, columns, known, project.releases, Silent())
    for each in found:
        assert any(CROSSING in str(one.sentence) for one in each.standing), each.recipient


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize("edition", ["ab", "cd"])
def test_a_view_that_crosses_is_made_as_coarse_as_those_before_by_one_remedy(tmp_path, edition):
    document = replace(in_bins(), record_key="person")
    first, second = seen(document, age=2, zip=1), seen(document, age=1, zip=2)
    second = replace(second, source=replace(second.source, digest=edition * 32))
    with new_project(tmp_path, first) as project:
        release(project, tmp_path / "first", "Public C")
        columns, known = LeavingColumns(a_table(), project.keys), attributes_of(second, a_table())
        examined = examine(second, columns.of(second), known, project.releases, Silent())
        (public,) = (each for each in examined if each.recipient == "Public C")
        (found,) = (one for one in public.findings if CROSSING in str(one.sentence))
        (remedy,) = found.remedies
        assert remedy.words == "Show age at level 2 to Public C"
        project.save_document(mended(second, remedy))
        made = (project, in_batches(a_table()), "Public C", tmp_path / "second", "csv")
        make_release(*made, Silent())
        assert len(project.releases) == 2


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_check_before_a_release_tells_of_a_domain_that_changed(tmp_path):
    before = a_document()
    name = before.sensitive[0].name
    values = attributes_of(before, a_table())[name].domain.values
    with new_project(tmp_path, before) as project:
        release(project, tmp_path / "first", "Public C")
        spec = replace(before.column(name), domain=Domain((*values, "Rubella")))
        document = before.with_column(spec)
        attributes = attributes_of(document, a_table())
        columns = LeavingColumns(a_table(), project.keys).of(document)
        found = examine(document, columns, attributes, project.releases, Silent())
        refused = [one for each in found for one in each.findings if one.refuses]
    assert {"its domain changed" in str(one.sentence) for one in refused} == {True}
    assert len(refused) == len(document.recipients)


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


def crossing(clinic: int, public: int) -> Document:
    """Return a document in which the public, trusted less, may see ages more finely."""
    document = seen(in_bins(), zip=1)
    views = {
        "Clinic A": ViewRule(13, 0.9, {"age": clinic, "zip": 1}),
        "Public C": ViewRule(25, 0.9, {"age": public, "zip": 1}),
    }
    recipients = tuple(replace(document.recipient(name), view=rule) for name, rule in views.items())
    hierarchies = {**document.hierarchies, "age": Intervals(width=5)}
    return replace(
        document, recipients=recipients, hierarchies=hierarchies, rows_as_in_table="a test"
    )


def data_of(folder):
    (bundle,) = folder.iterdir()
    return pd.read_csv(bundle / "data.csv", dtype=str)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_who_is_trusted_most_may_have_a_release_while_the_others_views_cross(tmp_path):
    with new_project(tmp_path, crossing(clinic=2, public=1)) as project:
        release(project, tmp_path / "a", "Clinic A")
        with pytest.raises(PolicyError, match="more finely than Clinic A"):
            release(project, tmp_path / "refused", "Public C")
        # The chain is mended at the other end, so that it would fit a release never made.
        project.save_document(crossing(clinic=1, public=1))
        with pytest.raises(LadderError, match=CROSSING):
            release(project, tmp_path / "refused", "Public C")
        project.save_document(crossing(clinic=2, public=3))
        release(project, tmp_path / "c", "Public C")
        names = [each.recipient for each in project.releases]
    assert names == ["Clinic A", "Public C"]
    clinic, public = data_of(tmp_path / "a"), data_of(tmp_path / "c")
    hidden, told = clinic["age"] == "*", public["age"] == "*"
    assert told[hidden].all(), "who is hidden for the clinic is hidden for the public"
    assert 0 < told.sum() < len(told)
    for name in ("age", "zip"):
        assert public[name][~told].groupby(clinic[name][~told]).nunique().max() == 1


@pytest.mark.parametrize("names", [("Clinic A", "Public C"), ("Public C",)])
def test_of_views_that_cross_none_is_the_finest_of_who_pool_them(names):
    document = crossing(clinic=2, public=1)
    with pytest.raises(PolicyError, match="more finely than Clinic A"):
        finest_of(document, names)
    assert finest_of(document, ("Clinic A",)).name == "Clinic A"
    assert finest_of(crossing(clinic=1, public=1), names).name == names[0]


def test_of_views_with_the_same_k_nobody_is_said_to_be_trusted_more():
    document = crossing(clinic=2, public=1)
    rules = {"Clinic A": {"age": 2, "zip": 0}, "Public C": {"age": 1, "zip": 2}}
    recipients = (
        replace(document.recipient(name), view=ViewRule(13, 0.9, levels))
        for name, levels in rules.items()
    )
    with pytest.raises(PolicyError, match="and other columns more finely than Public C") as caught:
        finest_of(replace(document, recipients=tuple(recipients)), tuple(rules))
    assert "trusted more" not in caught.value.what
