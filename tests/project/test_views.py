"""Recipients who see the quasi-identifiers coarsely: what leaves, checked from the files alone."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.coarsening.columns_left import kept_columns
from sfumato.analysis.coarsening.views import (
    find_views,
    may_keep,
    seen_together,
    unique_by_recipient,
    views_in,
    with_importance,
    with_level,
    with_levels,
    with_proposed_hierarchies,
    with_statement,
    without_view,
)
from sfumato.analysis.guarantee import guarantee_of, together_of
from sfumato.engine.core.errors import DiversityError, LadderError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.document.model import (
    Document,
    Recipient,
    ViewRule,
    document_from_json,
    document_to_json,
)
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.plan import Plan
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of, material_of, plan_for
from sfumato.project.release.uniqueness import release_sentence
from sfumato.project.release.views import coarsening_of
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.project.verification.leak import read_leak, trace_file
from sfumato.project.verification.verify import verify_bundle
from tests.household import household_survey
from tests.in_batches import in_batches
from tests.project.verifying import a_document, a_table, new_project, release
from tests.proposed import proposed_columns

PUBLIC = ["age", "zip"]
ASKED = {"Institute B": (3, 0.02), "Public C": (20, 0.05), "Clinic D": (1, 0.0)}


def coarse(asked=None, **changes) -> Document:
    """Return the ward's document with the views found for what is asked."""
    document, _ = with_proposed_hierarchies(a_document(**changes), a_table())
    for name, (k, share) in (asked or ASKED).items():
        document = with_statement(document, name, k, share)
    return find_views(document, in_batches(a_table()), Silent())


def exported(path) -> pd.DataFrame:
    return pd.read_csv(path / "data.csv", dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Return the files of every recipient, in the table's order of rows, and their bundles."""
    folder = tmp_path_factory.mktemp("views")
    document = coarse(rows_as_in_table="The registry joins by row number")
    with new_project(folder, document) as project:
        paths = {
            each.name: release(project, folder / each.name, each.name)
            for each in document.recipients
        }
        yield project, paths, {name: exported(path) for name, path in paths.items()}


def test_every_exported_file_keeps_the_k_and_the_share_asked_for_its_recipient(released):
    _, _, files = released
    for name, (k, share) in ASKED.items():
        assert files[name].value_counts(PUBLIC).min() >= k
        suppressed = (files[name][PUBLIC] == "*").all(axis=1).sum()
        everything = (files[name][PUBLIC] == "*").to_numpy().all()
        assert everything or suppressed <= share * len(files[name])


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_less_trusted_files_are_functions_of_the_more_trusted(released):
    _, _, files = released
    order = ["Clinic A", "Clinic D", "Institute B", "Public C"]
    for more, less in itertools.pairwise(order):
        before = files[more][PUBLIC].agg("|".join, axis=1)
        after = files[less][PUBLIC].agg("|".join, axis=1)
        assert after.groupby(before).nunique().max() == 1
    assert files["Clinic A"][PUBLIC].equals(files["Clinic D"][PUBLIC])


def test_a_recipient_is_told_the_levels_and_the_k(released):
    _, paths, files = released
    package = json.loads((paths["Public C"] / "datapackage.json").read_text())
    view = package["sfumato"]["view"]
    assert view["k"] == 20
    assert set(view["levels"]) == set(PUBLIC)
    assert view["suppressed"] == (files["Public C"][PUBLIC] == "*").all(axis=1).sum()
    readme = (paths["Public C"] / "README.md").read_text()
    assert "shares what is shown of “age” and “zip” with at least 19 others" in readme
    assert "**generalized** to level" in readme
    assert "view" not in json.loads((paths["Clinic A"] / "datapackage.json").read_text())["sfumato"]


@pytest.mark.slow
def test_releases_with_views_verify_and_are_traced(released):
    project, paths, _ = released
    for path in paths.values():
        report = verify_bundle(project, in_batches(a_table()), path, Silent())
        assert report.holds, report.failed
    for name in ("Institute B", "Public C"):
        leak = read_leak(paths[name] / "data.csv", Silent())
        (source,) = trace_file(project, in_batches(a_table()), leak, Silent()).traced.sources
        assert trace_file(project, in_batches(a_table()), leak, Silent()).name_of(source) == name


def test_a_row_that_shows_more_than_the_view_is_found(released, tmp_path):
    project, paths, files = released
    altered = tmp_path / "altered"
    altered.mkdir()
    for file in paths["Public C"].iterdir():
        (altered / file.name).write_bytes(file.read_bytes())
    frame = files["Public C"].copy()
    frame.loc[3, "zip"] = "99999"
    frame.to_csv(altered / "data.csv", index=False)
    failed = {
        check.title
        for check in verify_bundle(project, in_batches(a_table()), altered, Silent()).failed
    }
    assert {"Files", "Unperturbed columns", "Quasi-identifiers"} <= failed


def test_the_ledger_keeps_the_view_by_which_a_release_is_judged(released, tmp_path):
    project, paths, files = released
    record = next(r for r in project.releases if r.recipient == "Public C")
    told = record.details["view"]
    assert told["smallest"] == files["Public C"].value_counts(PUBLIC).min()
    assert told["unique"] == 0
    before = project.document
    project.save_document(without_view(before, "Public C"))
    try:
        assert verify_bundle(project, in_batches(a_table()), paths["Public C"], Silent()).holds
    finally:
        project.save_document(before)


def test_uniqueness_is_counted_on_what_each_recipient_sees(released):
    project, _, files = released
    found = unique_by_recipient(project.document, in_batches(a_table()), Silent())
    assert [each.recipient for each in found] == ["", "Clinic D", "Institute B", "Public C"]
    shown = ["age", "zip", "income"]
    for each in found[2:]:
        counts = files[each.recipient].value_counts(shown)
        assert (each.alone, each.smallest) == ((counts == 1).sum(), counts.min())
        assert each.recipient in release_sentence(each)


def test_views_come_back_from_the_document_and_the_rules():
    document = coarse()
    assert document_from_json(document_to_json(document)) == document
    again = apply_rules(rules_of(document), MemorySurvey(a_table()), Document())
    assert [each.view for each in again.recipients] == [e.view for e in document.recipients]
    assert "view" not in document_to_json(a_document())


def test_a_plan_holds_the_views_of_all_who_are_trusted_more():
    document, table = coarse(), a_table()
    material = material_of(document, table)
    public = document.recipient("Public C")
    plan = plan_for(material, (), public.name, coarsening_of(document, public))
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.coarsening is not None
    assert [s.recipient for s in plan.coarsening.steps] == ["Clinic D", "Institute B", "Public C"]
    assert plan.others_count


def test_a_release_without_views_is_called_as_before(tmp_path):
    with new_project(tmp_path) as project:
        plain = release(project, tmp_path / "a").name
    with new_project(tmp_path, coarse(), "other") as project:
        assert release(project, tmp_path / "b", "Public C").name != plain


def test_levels_that_do_not_keep_what_is_stated_release_nothing(tmp_path):
    document = with_statement(coarse({"Public C": (2, 0.0)}), "Public C", k=2)
    document, _ = with_level(document, "Public C", "zip", 0)
    with (
        new_project(tmp_path, document) as project,
        pytest.raises(DiversityError, match="Public C's levels"),
    ):
        make_release(project, in_batches(a_table()), "Public C", tmp_path / "out", "csv", Silent())
    assert not (tmp_path / "out").exists()
    (seen,) = views_in(document, in_batches(a_table()), Silent())
    assert "Public C" in seen.problem
    assert "may be" in seen.problem


def test_who_is_trusted_less_follows_when_a_level_is_raised_and_the_other_way_round():
    document = coarse()
    raised, followed = with_level(document, "Clinic D", "age", 2)
    levels = {e.name: e.view.levels["age"] for e in raised.recipients if e.view is not None}
    assert levels == {"Clinic D": 2, "Institute B": 2, "Public C": 2}
    assert set(followed) == {
        name
        for name in ("Institute B", "Public C")
        if document.recipient(name).view.levels["age"] < 2
    }
    lowered, followed = with_level(raised, "Public C", "age", 0)
    assert all(e.view.levels["age"] == 0 for e in lowered.recipients if e.view is not None)
    assert followed == ("Clinic D", "Institute B")


@pytest.mark.slow
def test_nodes_that_may_not_keep_what_is_stated_never_do():
    document = coarse({"Public C": (20, 0.05)})
    keeping = may_keep(document, in_batches(a_table()), "Public C", Silent())
    for node in np.ndindex(*keeping.shape):
        moved, _ = with_levels(document, "Public C", dict(zip(PUBLIC, node, strict=True)))
        (seen,) = views_in(moved, in_batches(a_table()), Silent())
        # With nobody trusted more, a node keeps what is stated just where it does so alone.
        assert keeping[node] == (not seen.problem)
    assert keeping[tuple(coarse().recipient("Public C").view.levels[name] for name in PUBLIC)]
    assert not keeping.all()
    everything = without_view(document, "Public C")
    assert may_keep(everything, in_batches(a_table()), "Public C", Silent()).all()


def test_several_levels_are_one_move_on_the_chain():
    document = coarse({"Institute B": (3, 0.02), "Public C": (20, 0.05)})
    low = {"age": 0, "zip": 0}
    moved, followed = with_levels(document, "Public C", low)
    assert {e.name: e.view.levels for e in moved.recipients if e.view is not None} == {
        "Institute B": low,
        "Public C": low,
    }
    assert followed == ("Institute B",)
    one_by_one = with_level(with_level(document, "Public C", "age", 0)[0], "Public C", "zip", 0)[0]
    assert one_by_one == moved


def test_views_that_are_no_chain_are_refused_by_name():
    document = coarse()
    finer = replace(document.recipient("Public C"), view=ViewRule(20, 0.05, {"age": 0, "zip": 0}))
    others = tuple(finer if e.name == "Public C" else e for e in document.recipients)
    broken, _ = with_level(document, "Institute B", "age", 1)
    broken = replace(broken, recipients=others)
    broken = replace(
        broken,
        recipients=tuple(
            replace(e, view=replace(e.view, levels={"age": 1, "zip": 1}))
            if e.name == "Institute B"
            else e
            for e in broken.recipients
        ),
    )
    with pytest.raises(PolicyError, match="Public C sees age at level 0"):
        coarsening_of(broken, broken.recipient("Public C"))
    assert any("Public C" in step for step in guarantee_of(broken, {}).next_steps)


def test_what_keeps_levels_from_being_found_is_named():
    with pytest.raises(PolicyError, match="No k is stated"):
        find_views(a_document(), in_batches(a_table()), Silent())
    stated = with_statement(a_document(), "Public C", 20)
    with pytest.raises(PolicyError, match="age and zip"):
        find_views(stated, in_batches(a_table()), Silent())
    ready, reasons = with_proposed_hierarchies(stated, a_table())
    assert set(reasons) == {"age", "zip"}
    with pytest.raises(DiversityError, match="Public C's k is 901"):
        find_views(with_statement(ready, "Public C", 901), in_batches(a_table()), Silent())


def test_a_view_that_crosses_one_released_before_needs_a_reason(tmp_path):
    document = coarse({"Institute B": (3, 0.0), "Public C": (20, 0.0)})
    crossing = without_view(document, "Public C")
    crossing = replace(
        crossing,
        recipients=tuple(
            replace(e, view=ViewRule(1, 0.0, {"age": 2, "zip": 0}))
            if e.name == "Institute B"
            else e
            for e in crossing.recipients
        ),
    )
    first, _ = with_level(document, "Public C", "age", 0)
    with new_project(tmp_path, first) as project:
        release(project, tmp_path / "a", "Public C")
        project.save_document(crossing)
        with pytest.raises(LadderError, match="neither wholly finer"):
            make_release(
                project, in_batches(a_table()), "Institute B", tmp_path / "b", "csv", Silent()
            )
        made = make_release(
            project,
            in_batches(a_table()),
            "Institute B",
            tmp_path / "b",
            "csv",
            Silent(),
            override="Agreed",
        )
        assert "contradicts this one" in (made.path / "README.md").read_text(encoding="utf-8")
        assert any("neither wholly finer" in str(e.details) for e in project.ledger.entries)


def test_the_guarantee_names_the_virtual_recipient_where_trust_orders_differ():
    document, table = coarse(), a_table()
    known = attributes_of(document, table)
    one_order = guarantee_of(document, known)
    assert "no more than Clinic A alone" in one_order.coalition
    assert [name for name, _ in one_order.views] == ["Clinic D", "Institute B", "Public C"]
    turned = with_statement(document, "Clinic A", 50, 0.05)
    turned = with_statement(turned, "Clinic D", 50, 0.05)
    turned = find_views(turned, in_batches(table), Silent())
    guarantee = guarantee_of(turned, known)
    told = guarantee.coalition
    assert "Clinic A's level of illness, and Institute B's level of work and view of" in told
    assert told.partition("Of the whole row")[2].count("Clinic A") == 1
    together = guarantee.together
    assert together is not None
    assert together.finest == ("Institute B",)
    assert together.tops["illness"] == ("Clinic A", "Clinic D")
    assert any(said.startswith("illness: Whatever") for said in together.gets)
    assert together_of(turned, known) == together
    assert one_order.together is None
    assert together_of(document, known) is None


def test_what_all_recipients_see_together_is_the_finest_view_or_the_values_themselves():
    document = coarse({"Institute B": (3, 0.02), "Public C": (20, 0.05)})
    found = views_in(document, in_batches(a_table()), Silent())
    seen = seen_together(document, in_batches(a_table()), "Institute B", found, Silent())
    assert seen == found[0]
    seen = seen_together(document, in_batches(a_table()), "Clinic A", found, Silent())
    assert seen is not None
    as_they_are = {n: document.column(n).shown(a_table().column(n)) for n in PUBLIC}
    counts = pd.DataFrame(as_they_are).value_counts()
    assert (seen.view.smallest, seen.view.unique) == (counts.min(), (counts == 1).sum())


def test_what_is_prepared_for_several_recipients_follows_the_document(tmp_path):
    document = coarse()
    with new_project(tmp_path, document) as project:
        prepared = PreparedTable(project, in_batches(a_table()))
        public = document.recipient("Public C")
        before = prepared.alone(Silent(), public)
        changed = without_view(document, "Public C")
        project.save_document(changed)
        after = prepared.alone(Silent(), changed.recipient("Public C"))
    assert before is not None
    assert after is not None
    assert before.recipient == "Public C"
    assert after.recipient == ""


@pytest.fixture(scope="module")
def many_columns():
    """A survey whose 32 quasi-identifiers have hierarchies, and a k for two recipients."""
    table = Table(household_survey())
    document = Document(title="survey", columns=proposed_columns(table))
    document = replace(document, recipients=(Recipient("Partner"), Recipient("Public")))
    document, _ = with_proposed_hierarchies(document, table)
    for name, k, share in (("Partner", 3, 0.01), ("Public", 20, 0.05)):
        document = with_statement(document, name, k, share)
    return document, in_batches(table)


def test_of_many_quasi_identifiers_levels_are_found_that_keep_what_is_stated(many_columns):
    document, table = many_columns
    found = find_views(document, table, Silent())
    seen = views_in(found, table, Silent())
    assert [each.problem for each in seen] == ["", ""]
    assert [each.view.smallest >= each.rule.k for each in seen] == [True, True]
    levels = seen[0].levels
    assert sum(level < top for level, top in levels.values()) >= 4
    assert all(finer[0] <= seen[1].levels[name][0] for name, finer in levels.items())


def test_what_is_important_is_kept_of_many_quasi_identifiers(many_columns):
    document, table = many_columns
    found = find_views(document, table, Silent())
    assert found.recipients[0].view.levels["citizenship"] == 1
    document = with_importance(document, ("citizenship",))
    found = find_views(document, table, Silent())
    assert found.recipients[0].view.levels["citizenship"] == 0


@pytest.mark.slow
def test_what_each_further_column_costs_is_what_showing_it_comes_to(many_columns):
    document, table = many_columns
    found = find_views(document, table, Silent())
    told = kept_columns(found, table, Silent())
    levels = found.recipients[0].view.levels
    assert {*told.kept, *(one.name for one in told.left)} == set(levels)
    assert told.suppressed <= told.allowed == 4
    for one in told.left:
        changed, _ = with_level(found, "Partner", one.name, one.level)
        (first, _) = views_in(changed, table, Silent())
        assert first.view.suppressed_rows == one.suppressed
    assert "best left out" in str(next(told.sentences))


def test_a_check_of_many_levels_advises_to_find_them(many_columns):
    problems = [each.problem for each in views_in(*many_columns, Silent())]
    assert all("400 of 400" in problem for problem in problems)
