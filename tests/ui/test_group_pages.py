"""The audit pages about small groups, count queries and noisy answers, as a person uses them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.answers import Answer, AnswerTable, CellKind, GivenName
from sfumato.analysis.coarsening.views import with_levels, with_proposed_hierarchies
from sfumato.analysis.questions import question_called
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.generalization.hierarchies import Intervals
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.panels.audit.pages.answer import AnswerView, page_of
from sfumato.ui.panels.audit.pages.count_queries import CountQueriesPage
from sfumato.ui.panels.audit.pages.group_risk import GroupRiskPage
from sfumato.ui.panels.audit.pages.groups import KnowledgeButton
from sfumato.ui.panels.base import PanelState
from tests.noise import NOISE
from tests.ui.clinic import DISEASES, clinic_document, open_clinic, protected, wait_for_jobs
from tests.ui.hands import choose, click

NoisyAnswersPage = page_of(question_called("noisy-counts"))


def clinic_of_groups(rows: int = 3_000) -> Table:
    """A clinic whose north ward treats hardly anything but flu."""
    rng = np.random.default_rng(3)
    ward = rng.choice(["north", "south"], rows)
    flu = (ward == "north") & (rng.random(rows) < 0.9)
    frame = pd.DataFrame(
        {
            "name": [f"patient {i}" for i in range(rows)],
            "age": rng.integers(20, 40, rows),
            "disease": pd.Categorical(np.where(flu, "flu", rng.choice(DISEASES, rows))),
            "ward": pd.Categorical(ward),
        }
    )
    return Table(frame)


@pytest.fixture
def made(qtbot, session):
    def build(kind, document=None):
        page = kind(session)
        qtbot.addWidget(page)
        page.resize(900, 900)
        page.show()
        if document is not None:
            open_clinic(session, document, clinic_of_groups())
            wait_for_jobs(qtbot, session)
        return page

    return build


def know(qtbot, page, *names):
    for name in page.bar.knowledge._actions:
        page.bar.knowledge._actions[name].setChecked(name in names)
    wait_for_jobs(qtbot, page.session)


def text(widget):
    return widget.text().replace("\u202f", " ")


def column(table, name):
    model = table.model()
    headings = [model.headerData(i, Qt.Orientation.Horizontal) for i in range(model.columnCount())]
    place = headings.index(name)
    return [model.index(row, place).data() for row in range(model.rowCount())]


@pytest.mark.parametrize("kind", [GroupRiskPage, CountQueriesPage, NoisyAnswersPage])
def test_without_a_policy_every_page_points_to_it(made, kind):
    page = made(kind)
    assert page.state() is PanelState.EMPTY
    assert page.pages.currentWidget() is page.empty
    open_clinic(page.session, clinic_document())
    assert page.pages.currentWidget() is page.empty


@pytest.mark.slow
def test_a_hidden_page_waits_until_it_is_seen(qtbot, session):
    page = GroupRiskPage(session)
    qtbot.addWidget(page)
    open_clinic(session, protected(), clinic_of_groups())
    assert not session.runner.jobs
    assert page.state() is PanelState.EMPTY
    page.show()
    wait_for_jobs(qtbot, session)
    assert page.state() is PanelState.DONE


# ----- small groups


@pytest.mark.slow
def test_the_risk_of_each_recipient_is_counted(qtbot, made):
    page = made(GroupRiskPage, protected())
    know(qtbot, page, "age", "ward")
    assert "of 40 groups" in text(page.sentence)
    assert "Clinic A can estimate the share of at least one value of disease" in text(page.sentence)
    before = text(page.sentence)
    choose(page.bar.recipient, "Public")
    wait_for_jobs(qtbot, page.session)
    assert "Public" in text(page.sentence)
    assert text(page.sentence) != before
    assert page.curves.figure.data["records"].max() > 0


@pytest.mark.slow
def test_people_are_looked_up_by_what_the_chosen_recipient_sees(qtbot, made):
    document, _ = with_proposed_hierarchies(protected(), clinic_of_groups())
    document, _ = with_levels(document, "Public", {"age": 2})
    page = made(GroupRiskPage, document)
    know(qtbot, page, "age")
    exact = page.shown.tables[0].model().rowCount()
    assert "looked up" not in text(page.explanation)
    choose(page.bar.recipient, "Public")
    wait_for_jobs(qtbot, page.session)
    assert page.shown.tables[0].model().rowCount() < exact
    assert "by what Public sees: age at level 2" in text(page.explanation)


def test_no_larger_probability_can_be_stated_than_the_exact_test_has_a_meaning_for(made):
    page = made(GroupRiskPage)
    assert page.rule.value is PrivacyTest.EXACT
    assert page.fields["delta"].spin.maximum() == 0.5


@pytest.mark.slow
def test_the_gap_between_published_and_true_is_said(qtbot, made):
    page = made(GroupRiskPage, protected())
    know(qtbot, page, "age", "ward")
    assert "promises nothing about the chance itself" in text(page.explanation)
    page.rule.button_for(PrivacyTest.SIMPLIFIED).click()
    wait_for_jobs(qtbot, page.session)
    assert "upper bound" in text(page.explanation)
    assert page.rule.value is PrivacyTest.SIMPLIFIED
    assert page.fields["delta"].spin.maximum() == 0.99


@pytest.mark.slow
def test_what_an_attacker_would_gain_is_said_in_people(qtbot, made):
    page = made(GroupRiskPage, protected())
    know(qtbot, page, "age", "ward")
    said = text(page.explanation)
    assert "Naming a group's most frequent value is right for" in said
    assert "naming the table's, without any file, for" in said
    assert "what a person's own row tells is bounded as the guarantee says" in said


@pytest.mark.slow
def test_levels_of_a_hierarchy_are_changes_that_are_drawn(qtbot, made):
    page = made(GroupRiskPage, protected())
    document = page.session.document.with_hierarchy("age", Intervals(width=5))
    page.session.edit("Hierarchy", document)
    wait_for_jobs(qtbot, page.session)
    know(qtbot, page, "age", "ward")
    changes = set(page.remedies.figure.data["change"])
    assert "With “age” at level 1, 4 classes" in changes
    assert not any("bins" in change for change in changes)


@pytest.mark.slow
def test_where_records_are_drawn_blindly_each_side_counts(qtbot, made):
    page = made(GroupRiskPage, protected())
    drawn = mechanism_called("reconstruction")
    known = (page.session.attribute("disease").attribute,)
    document = replace(
        page.session.document,
        policy=(PolicyEntry(("disease",), "reconstruction", drawn.first_settings(known, NOISE)),),
        recipients=(Recipient("Clinic A", {"disease": {"retention_probability": 0.25}}),),
    )
    page.session.edit("Protect groups", document)
    wait_for_jobs(qtbot, page.session)
    know(qtbot, page, "age", "ward")
    assert "too low by more than that as often" in text(page.explanation)
    assert "on one side at least 83 % of the time" in text(page.explanation)
    assert "In none of the 40 groups" in text(page.sentence)
    assert "is computed exactly" in text(page.explanation)
    assert "right for" not in text(page.explanation)
    assert "were no record repeated" in page.curves.figure.subtitle


@pytest.mark.slow
def test_another_epsilon_is_another_question(qtbot, made):
    page = made(GroupRiskPage, protected())
    know(qtbot, page, "age", "ward")
    page.rule.button_for(PrivacyTest.SIMPLIFIED).click()
    wait_for_jobs(qtbot, page.session)
    few = page.remedies.figure.data["record_share"].sum()
    page.fields["epsilon"].spin.setValue(0.9)
    wait_for_jobs(qtbot, page.session)
    assert page.remedies.figure.data["record_share"].sum() > few
    assert "90 %" in text(page.explanation)


@pytest.mark.slow
def test_what_releasing_less_would_change_is_drawn(qtbot, made):
    page = made(GroupRiskPage, protected())
    know(qtbot, page, "age", "ward")
    changes = set(page.remedies.figure.data["change"])
    assert {"Without “age”", "Without “ward”"} < changes
    assert any("bins" in change for change in changes)


@pytest.mark.slow
def test_a_chosen_group_shows_its_true_distribution_beside_the_reconstruction(qtbot, made):
    page = made(GroupRiskPage, protected())
    know(qtbot, page, "age", "ward")
    sizes = [int(cell) for cell in column(page.shown.tables[0], "Records")]
    assert len(sizes) == 40
    first = page.group.figure.headline
    page.shown.tables[0].sortByColumn(0, Qt.SortOrder.AscendingOrder)
    page.shown.tables[0].selectRow(1)
    page.shown.tables[0].selectRow(0)
    assert f"group of {min(sizes)} " in page.group.figure.headline
    assert page.group.figure.headline != first
    data = page.group.figure.data
    assert data["true"].sum() == pytest.approx(1.0)
    assert data["reconstructed"].sum() == pytest.approx(1.0)
    assert set(column(page.shown.tables[0], "ward")) == {"north", "south"}


@pytest.mark.slow
@pytest.mark.turns(1)
def test_an_attacker_who_knows_nothing_sees_one_group(qtbot, made):
    page = made(GroupRiskPage, protected())
    know(qtbot, page)
    assert "the whole table is one group" in text(page.explanation)
    assert text(page.bar.knowledge) == "nothing about a person"


def test_long_names_of_columns_do_not_widen_the_window(qtbot):
    batched = tuple(f"profession of the {kin} at the time of birth" for kin in ("mother", "father"))
    button = KnowledgeButton()
    qtbot.addWidget(button)
    short = button.minimumWidth()
    button.set_columns(batched, batched)
    assert button.sizeHint().width() > 3 * short
    button.resize(short, button.sizeHint().height())
    button.show()
    assert button.width() == short
    assert all(name in button.toolTip() for name in batched)
    drawn = button.grab().toImage()
    button.setText("…")
    assert button.grab().toImage() != drawn


@pytest.mark.slow
def test_a_probability_for_each_value_has_no_published_test(qtbot, made):
    page = made(GroupRiskPage, protected())
    fine = mechanism_called("finegrain")
    known = (page.session.attribute("disease").attribute,)
    limits = fine.complete_settings(known, fine.default_settings(known), NOISE)
    recipient = Recipient("Clinic A", {"disease": fine.default_statements(1)[0]})
    document = replace(
        page.session.document,
        policy=(PolicyEntry(("disease",), "finegrain", limits),),
        recipients=(recipient,),
    )
    page.session.edit("x", document)
    wait_for_jobs(qtbot, page.session)
    assert "one value of disease" in text(page.sentence)
    page.rule.button_for(PrivacyTest.CHERNOFF).click()
    wait_for_jobs(qtbot, page.session)
    assert page.trouble.isVisible() or page.sizes.figure is not None


@pytest.mark.slow
def test_a_level_that_cannot_be_met_is_said_on_the_page(qtbot, made):
    page = made(GroupRiskPage, protected({"A": 0.5}))
    document = page.session.document
    wrong = replace(document.recipients[0], statements={})
    page.session.edit("x", replace(document, recipients=(wrong,)))
    wait_for_jobs(qtbot, page.session)
    assert page.trouble.isVisible()
    assert "no trust level" in text(page.sentence)
    assert text(page.explanation)
    assert page.sizes.figure is None
    page.session.undo()
    wait_for_jobs(qtbot, page.session)
    assert not page.trouble.isVisible()


def test_a_column_that_is_called_like_a_heading_has_a_place_of_its_own(qtbot, session):
    columns = {"Records": CellKind.COUNT, GivenName("Records"): CellKind.VALUE}
    table = AnswerTable(columns, [(12, "on tape")])
    view = AnswerView(session.chooser, "Groups")
    qtbot.addWidget(view)
    view.show_answer(Answer((), tables=(table,)))
    model = view.tables[0].model()
    headings = [model.headerData(at, Qt.Orientation.Horizontal) for at in range(2)]
    assert headings == ["Records", "Records"]
    assert [model.index(0, at).data() for at in range(2)] == ["12", "on tape"]
    assert table.without_values.texts == (("12",),)


# ----- count queries


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_query_is_answered_by_every_recipient_beside_the_truth(qtbot, made):
    page = made(CountQueriesPage, protected())
    know(qtbot, page, "ward")
    choose(page.form.conditions["ward"], "north")
    choose(page.form.value, DISEASES.index("flu"))
    frame = page.session.table.frame
    north = frame["ward"] == "north"
    truth = int((north & (frame["disease"] == "flu")).sum())
    assert text(page.sentence).startswith(f"{truth:,}")
    data = page.estimates.figure.data
    assert data["recipient"].tolist() == ["Clinic A", "Institute", "Public"]
    assert (data["truth"] == truth).all()
    assert (data["low"] <= data["estimate"]).all()
    spread = data["high"] - data["low"]
    # The widest end at what is possible, so that they need not be in order.
    assert spread.idxmin() == 0


@pytest.mark.slow
def test_the_pool_of_queries_is_answered_worse_by_the_less_trusted(qtbot, made):
    page = made(CountQueriesPage, protected())
    data = page.errors.figure.data
    assert data["recipient"].tolist() == ["Clinic A", "Institute", "Public"]
    assert data["mean"].is_monotonic_increasing
    assert "5,000 random counts" in page.errors.figure.subtitle.replace("\u202f", " ")


@pytest.mark.slow
def test_conditions_stay_when_the_attacker_learns_more(qtbot, made):
    page = made(CountQueriesPage, protected())
    know(qtbot, page, "ward")
    choose(page.form.conditions["ward"], "south")
    know(qtbot, page, "ward", "age")
    assert page.form.asked == {"ward": "south"}


@pytest.mark.slow
def test_conditions_that_nobody_meets_are_said(qtbot, made):
    page = made(CountQueriesPage, protected())
    know(qtbot, page, "ward", "age")
    frame = page.session.table.frame
    lonely = frame.assign(age=np.where(np.arange(len(frame)) == 0, 99, frame["age"]))
    open_clinic(page.session, page.session.document, Table(lonely))
    wait_for_jobs(qtbot, page.session)
    choose(page.form.conditions["age"], 99)
    other = "south" if lonely["ward"].iloc[0] == "north" else "north"
    choose(page.form.conditions["ward"], other)
    assert text(page.sentence).startswith("No record meets the conditions")
    assert page.estimates.figure is None


def test_a_release_of_pure_noise_answers_nothing(qtbot, made):
    page = made(CountQueriesPage, protected({"Nobody": 0.0}))
    assert "nobody can estimate it" in page.estimates.figure.headline


@pytest.mark.slow
def test_what_protection_costs_is_compared_when_asked_for(qtbot, made):
    page = made(CountQueriesPage, protected())
    assert page.curves.figure is None
    click(page.compare)
    wait_for_jobs(qtbot, page.session)
    data = page.curves.figure.data
    assert len(data) == 20
    assert (data["published"] > 0).all()
    know(qtbot, page, "ward")
    assert page.curves.figure is None


# ----- noisy answers


@pytest.mark.slow
def test_noisy_counts_of_skewed_groups_are_weighed(qtbot, made):
    page = made(NoisyAnswersPage, protected({}))
    know(qtbot, page, "age", "ward")
    page.fields["larger-than"].spin.setValue(60)
    wait_for_jobs(qtbot, page.session)
    assert "most skewed groups are given away by two noisy counts" in text(page.sentence)
    shares = [float(cell) for cell in column(page.shown.tables[0], "Share, %")]
    assert shares == sorted(shares, reverse=True)
    assert set(column(page.shown.tables[0], "Most frequent")) == {"flu"}
    within = [float(cell) for cell in column(page.shown.tables[0], "Within ε, %")]
    page.fields["loss"].spin.setValue(1.0)
    wait_for_jobs(qtbot, page.session)
    assert min(float(cell) for cell in column(page.shown.tables[0], "Within ε, %")) > max(within)
    assert page.state() is PanelState.DONE


def test_groups_that_are_too_small_are_said(qtbot, made):
    page = made(NoisyAnswersPage, protected())
    page.fields["larger-than"].spin.setValue(100_000)
    wait_for_jobs(qtbot, page.session)
    assert text(page.sentence) == "No group has more than 100,000 records."
    assert page.shown.plots[0].figure is None


@pytest.mark.slow
def test_the_risk_view_starts_from_what_the_policy_promises_groups(qtbot, made):
    entry = PolicyEntry(
        ("disease",),
        "reconstruction",
        {
            "epsilon": 0.25,
            "delta": 0.17,
            "rule": PrivacyTest.CHERNOFF.value,
            "sampling": "published",
            "retention_probability": 0.7,
        },
    )
    page = made(GroupRiskPage, replace(protected(), policy=(entry,)))
    assert page.fields["epsilon"].value == pytest.approx(0.25)
    assert page.fields["delta"].value == pytest.approx(0.17)
    assert page.rule.value is PrivacyTest.EXACT  # the published bound tells nothing of knowledge
    page.fields["epsilon"].spin.setValue(0.4)
    wait_for_jobs(qtbot, page.session)
    assert page.fields["epsilon"].value == pytest.approx(0.4)
