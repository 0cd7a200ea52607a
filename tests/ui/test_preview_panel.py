"""The Preview panel, through the widgets a person uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.previews import previewed_values
from sfumato.engine.core.columns import Domain, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.table.table import Table
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.preview import PANEL
from sfumato.ui.panels.preview.pages import GROUPS, PART, grouped, part_of
from sfumato.ui.panels.preview.panel import JOB
from tests.project.whole_table import released_columns
from tests.ui.clinic import (
    clinic_document,
    clinic_table,
    open_clinic,
    protected,
    save_clinic,
    wait_for_jobs,
)
from tests.ui.hands import on_screen

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 700)


@pytest.fixture
def filled(qtbot, panel):
    open_clinic(panel.session, protected())
    wait_for_jobs(qtbot, panel.session)
    return panel


def previewing(panel):
    """Whether a view is being worked out; the check of a policy begins by itself in between."""
    return JOB in {job.key for job in panel.session.runner.jobs}


def cells(panel):
    model = panel.sample.model
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def headers(panel):
    model = panel.sample.model
    return [
        model.headerData(place, Qt.Orientation.Horizontal) for place in range(model.columnCount())
    ]


def test_without_a_policy_it_points_to_the_policy(qtbot, panel):
    assert panel.state() is PanelState.NONE
    assert panel.pages.currentWidget() is panel.empty
    open_clinic(panel.session, clinic_document())
    assert panel.pages.currentWidget() is panel.empty


def test_it_shows_every_recipient_s_view_of_sample_rows(filled):
    assert filled.pages.currentWidget() is filled.work
    assert headers(filled) == ["Row", "True “disease”", "Clinic A", "Institute", "Public"]
    assert len(cells(filled)) == previewed_values.SAMPLE_ROWS


def test_a_view_is_a_garbling_of_the_view_above(filled):
    """Wherever the less trusted see the true value, the more trusted do (but for chance hits)."""
    table = cells(filled)
    kept = np.array([[not cell.startswith("→") for cell in row[2:]] for row in table])
    shares = kept.mean(axis=0)
    assert shares[0] > shares[1] > shares[2] > 0.1
    both = kept[:, 0] & kept[:, 1]
    assert both.sum() > 0.8 * kept[:, 1].sum()


def test_the_headline_counts_the_true_values_of_the_recipient_in_sight(qtbot, filled):
    kept = sum(not row[2].startswith("→") for row in cells(filled))
    assert f"sees the true “disease” in {kept} of these 200 rows" in filled.sample.headline.text()
    filled.recipient.setCurrentIndex(2)
    filled.recipient.activated.emit(2)
    wait_for_jobs(qtbot, filled.session)
    assert filled.sample.headline.text().startswith("Public sees")


def test_sample_values_are_those_of_a_release(qtbot, filled, tmp_path):
    project = save_clinic(filled.session, tmp_path)
    wait_for_jobs(qtbot, filled.session)
    assert "exactly these values" in filled.sample.note.text()
    document, table = filled.session.document, filled.session.table
    frame = released_columns(
        document, table, document.recipient("Clinic A"), project.keys, Silent()
    )
    rows = cells(filled)
    assert len(rows) > 1
    for row in rows:
        number = int(row[0].replace(",", "")) - 1
        assert row[2].removeprefix("→ ") == frame["disease"].iloc[number]


@pytest.mark.slow
def test_record_keys_decide_what_sample_rows_show(qtbot, filled):
    before = cells(filled)
    document = replace(filled.session.document, record_key="name")
    filled.session.edit("Identify records by name", document)
    wait_for_jobs(qtbot, filled.session)
    after = cells(filled)
    assert [row[1] for row in before] == [row[1] for row in after]
    assert before != after


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_matrix_the_posterior_and_the_utility_are_drawn(filled):
    assert "shows itself with probability 70" in filled.matrix.plot.figure.headline
    assert filled.utility.plot.figure.headline.startswith("Clinic A can estimate")
    assert "of the released values are true" in filled.utility.note.text()
    assert "true record" in filled.utility.worth.text.text()
    figure = filled.posterior.plot.figure
    assert "raises the belief" in figure.headline


@pytest.mark.slow
def test_another_released_value_can_be_picked(filled):
    picker = filled.posterior.picker
    place = [picker.itemText(i) for i in range(picker.count())].index("cancer")
    picker.setCurrentIndex(place)
    picker.activated.emit(place)
    assert "Seeing “cancer”" in filled.posterior.plot.figure.headline


def test_a_new_level_is_previewed_at_once(qtbot, filled):
    first = filled.session.document.recipients[0]
    changed = replace(first, statements={"disease": {"retention_probability": 0.9}})
    document = filled.session.document
    filled.session.edit("x", replace(document, recipients=(changed, *document.recipients[1:])))
    wait_for_jobs(qtbot, filled.session)
    assert "probability 92" in filled.matrix.plot.figure.headline


@pytest.mark.slow
def test_nothing_is_computed_while_nobody_looks(qtbot, filled):
    filled.hide()
    first = filled.session.document.recipients[0]
    changed = replace(first, statements={"disease": {"retention_probability": 0.9}})
    document = filled.session.document
    filled.session.edit("x", replace(document, recipients=(changed, *document.recipients[1:])))
    assert not previewing(filled)
    before = filled.matrix.plot.figure
    filled.show()
    wait_for_jobs(qtbot, filled.session)
    assert filled.matrix.plot.figure is not before


def test_looking_again_computes_nothing_again(filled):
    filled.hide()
    filled.show()
    assert not previewing(filled)


def test_recipients_whose_level_is_not_sound_are_left_out_of_the_sample(qtbot, filled):
    last = filled.session.document.recipients[-1]
    wrong = replace(last, statements={"disease": {"rho1": 0.5, "rho2": 0.1}})
    document = filled.session.document
    filled.session.edit("x", replace(document, recipients=(*document.recipients[:-1], wrong)))
    wait_for_jobs(qtbot, filled.session)
    assert headers(filled) == ["Row", "True “disease”", "Clinic A", "Institute"]


def test_a_level_that_can_t_be_met_is_said_with_what_to_do(qtbot, filled):
    first = filled.session.document.recipients[0]
    wrong = replace(first, statements={"disease": {"rho1": 0.5, "rho2": 0.1}})
    document = filled.session.document
    filled.session.edit("x", replace(document, recipients=(wrong, *document.recipients[1:])))
    wait_for_jobs(qtbot, filled.session)
    assert filled.pages.currentWidget() is filled.problem
    assert "don't fit together" in filled.problem.text.text()
    filled.session.undo()
    wait_for_jobs(qtbot, filled.session)
    assert filled.pages.currentWidget() is filled.work


def test_rows_outside_the_domain_are_said_with_what_to_do(filled):
    document = filled.session.document
    column = replace(document.column("disease"), domain=Domain(("flu", "none")))
    filled.session.edit("x", document.with_column(column))
    assert filled.pages.currentWidget() is filled.problem
    assert "outside its domain" in filled.problem.text.text()


def test_a_failure_does_not_leave_the_person_waiting(qtbot, panel, monkeypatch):
    def fail(_question, _context):
        raise RuntimeError

    monkeypatch.setattr("sfumato.ui.panels.preview.panel.compute_preview", fail)
    open_clinic(panel.session, protected())
    wait_for_jobs(qtbot, panel.session)
    assert panel.pages.currentWidget() is panel.problem
    assert panel.problem.text.text().startswith("The preview failed.")


@pytest.mark.slow
def test_where_nothing_can_be_estimated_it_says_so(qtbot, panel):
    open_clinic(panel.session, protected({"Nobody": 0.0}))
    wait_for_jobs(qtbot, panel.session)
    assert panel.utility.plot.isHidden()
    assert "can't tell" in panel.utility.note.text()
    assert "tells nothing" in panel.posterior.plot.figure.headline


def test_an_attribute_is_chosen_where_there_are_several(qtbot, panel):
    document = protected()
    columns = tuple(
        replace(c, role=Role.SENSITIVE, domain=Domain(("north", "south")))
        if c.name == "ward"
        else c
        for c in document.columns
    )
    recipients = tuple(
        replace(r, statements={**r.statements, "ward": {"retention_probability": 0.5}})
        for r in document.recipients
    )
    policy = (*document.policy, PolicyEntry(("ward",), "uniform"))
    open_clinic(
        panel.session,
        replace(document, columns=columns, recipients=recipients, policy=policy),
    )
    wait_for_jobs(qtbot, panel.session)
    panel.attribute.setCurrentIndex(1)
    panel.attribute.activated.emit(1)
    wait_for_jobs(qtbot, panel.session)
    assert headers(panel)[1] == "True “ward”"


@pytest.mark.slow
def test_a_second_column_is_chosen_for_a_two_way_table(qtbot, filled):
    page = filled.utility
    offered = [page.beside.itemText(place) for place in range(page.beside.count())]
    assert offered == ["no other column", "ward"]
    assert page.table.isHidden()
    page.beside.setCurrentIndex(1)
    page.beside.activated.emit(1)
    wait_for_jobs(qtbot, filled.session)
    assert not page.table.isHidden()
    data = page.table.figure.data
    assert len(data) == 8
    assert data["true"].sum() == pytest.approx(1.0)
    # Another recipient's table is made of the same column; without a column there is none.
    filled.recipient.setCurrentIndex(1)
    filled.recipient.activated.emit(1)
    wait_for_jobs(qtbot, filled.session)
    assert page.beside.value == "ward"
    assert not page.table.figure.data["estimated"].equals(data["estimated"])
    page.beside.setCurrentIndex(0)
    page.beside.activated.emit(0)
    assert page.table.isHidden()


# ----- large domains


def large(panel, size=300):
    names = tuple(f"code {i:03}" for i in range(size))
    frame = pd.DataFrame({"code": [names[i * 7 % size] for i in range(900)]})
    document = protected()
    column = replace(document.column("disease"), name="code", domain=Domain(names))
    recipients = tuple(
        replace(r, statements={"code": r.statements["disease"]}) for r in document.recipients
    )
    policy = (PolicyEntry(("code",), "uniform"),)
    document = replace(document, columns=(column,), recipients=recipients, policy=policy)
    open_clinic(panel.session, document, Table(frame))


@pytest.mark.slow
def test_a_large_domain_is_shown_in_groups_or_in_parts(qtbot, panel):
    large(panel)
    wait_for_jobs(qtbot, panel.session)
    page = panel.matrix
    panel.tabs.setCurrentWidget(page)
    assert len(page.plot.figure.data) == GROUPS**2
    assert not page.first.isVisible()
    qtbot.mouseClick(page.mode.button_for("part"), LEFT)
    assert page.first.isVisible()
    assert len(page.plot.figure.data) == PART**2
    page.first.spin.setValue(200)
    assert page.plot.figure.data["original"].iloc[0] == "code 199"


@pytest.mark.slow
def test_a_value_of_a_large_domain_is_found_by_typing(qtbot, panel):
    large(panel)
    wait_for_jobs(qtbot, panel.session)
    picker = panel.posterior.picker
    assert picker.isEditable()
    picker.lineEdit().clear()
    qtbot.keyClicks(picker.lineEdit(), "code 123")
    qtbot.keyClick(picker.lineEdit(), Qt.Key.Key_Return)
    assert "Seeing “code 123”" in panel.posterior.plot.figure.headline


def test_groups_sum_to_one_and_parts_are_the_entries():
    matrix = uniform_matrix(0.5, 1000)
    coarse = grouped(matrix, "A")
    assert np.allclose(coarse.shares.sum(axis=0), 1.0)
    assert coarse.shares.diagonal().min() > 0.5
    names = [str(i) for i in range(1000)]
    part = part_of(matrix, names, 990, 24, "A")
    assert part.names == tuple(names[990:])
    assert part.shares[0, 1] == pytest.approx(0.0005)
    assert part.moves == pytest.approx((0.0005, 0.0005))


def test_a_domain_of_twenty_thousand_values_is_never_built_whole():
    coarse = grouped(uniform_matrix(0.5, 20_000), "A")
    assert coarse.shares.shape == (GROUPS, GROUPS)


def test_a_question_about_numbers_is_a_mistake_of_ours(session):
    document = protected()
    open_clinic(session, document)
    encoded = session.attribute("age")
    question = previewed_values.PreviewQuestion(
        document,
        clinic_table(),
        session.keys,
        PolicyEntry(("age",), "uniform"),
        {"age": encoded},
        "Clinic A",
    )
    with pytest.raises((TypeError, SfumatoError)):
        previewed_values.compute_preview(question, Silent())
