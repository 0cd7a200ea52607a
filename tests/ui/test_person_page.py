"""Find a person, through the widgets a person uses."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.coarsening.views import find_views, with_proposed_hierarchies, with_statement
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.ui.panels.audit.pages.person import PersonPage
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.ui.clinic import clinic_document, clinic_table, open_clinic, protected, wait_for_jobs
from tests.ui.hands import choose, click


@pytest.fixture
def page(audit_panel):
    return audit_panel.show_page(PersonPage)


@pytest.fixture
def opened(qtbot, page):
    open_clinic(page.session, protected(), clinic_table(120))
    wait_for_jobs(qtbot, page.session)
    return page


def know(qtbot, page, **known):
    for name, text in known.items():
        field = page.fields[name]
        field.setFocus()
        field.clear()
        qtbot.keyClicks(field, text)
        qtbot.keyClick(field, Qt.Key.Key_Return)
    wait_for_jobs(qtbot, page.session)


def hold(qtbot, page, *names):
    for at in range(page.holders.count()):
        item = page.holders.item(at)
        item.setCheckState(
            Qt.CheckState.Checked if item.text() in names else Qt.CheckState.Unchecked
        )
    wait_for_jobs(qtbot, page.session)


def said(label):
    return label.text().replace("\u202f", " ")


def plots(page):
    return [plot for plot in page.beliefs.plots if plot.figure is not None]


def test_without_recipients_the_page_leads_to_policy(page):
    open_clinic(page.session, clinic_document())
    assert page.pages.currentWidget() is page.empty


def test_what_is_known_leaves_some_rows_and_beliefs_about_them(qtbot, opened):
    assert "120 of 120 records fit" in said(opened.sentence)
    know(qtbot, opened, age="40 to 41", ward="north")
    frame = clinic_table(120).frame
    rows = np.flatnonzero(frame["age"].between(40, 41) & (frame["ward"] == "north")) + 1
    assert f"{len(rows)} of 120 records fit" in said(opened.sentence)
    model = opened.fitting.tables[0].model()
    assert [model.index(at, 0).data() for at in range(model.rowCount())] == rows.astype(
        str
    ).tolist()
    assert "odds on “disease” by at most 7." in said(opened.explanation)
    [plot] = plots(opened)
    assert plot.figure.headline.startswith("disease: “")


@pytest.mark.slow
def test_who_is_found_is_a_reason_to_coarsen_with_the_way_there(qtbot, opened):
    opened.session.edit(
        "x", find_views(_with_hierarchies(), in_batches(clinic_table(120)), Silent())
    )
    wait_for_jobs(qtbot, opened.session)
    know(qtbot, opened, age="40", ward="south")
    found = said(opened.sentence)
    hold(qtbot, opened, "Public")
    assert "as Public sees them" in said(opened.explanation)
    assert said(opened.sentence) != found
    hold(qtbot, opened, "Clinic A")
    assert said(opened.sentence) == found
    reason = opened.reasons.itemAt(0).widget()
    go = reason.findChild(type(opened.more))
    with qtbot.waitSignal(opened.session.place_requested) as asked:
        click(go)
    assert asked.args == ["policy", "age", "Clinic A"]


def _with_hierarchies():
    table = clinic_table(120)
    document, _ = with_proposed_hierarchies(protected(), table)
    return with_statement(document, "Public", 8)


@pytest.mark.slow
def test_what_can_t_be_read_is_said_and_the_rest_goes_away(qtbot, opened):
    know(qtbot, opened, ward="nowhere")
    assert "no value of the column" in said(opened.sentence)
    assert plots(opened) == []
    know(qtbot, opened, ward="south")
    assert "records fit" in said(opened.sentence)


@pytest.mark.slow
def test_nobody_s_files_tell_nothing(qtbot, opened):
    hold(qtbot, opened)
    assert "Nobody's files are held" in said(opened.sentence)


@pytest.mark.slow
def test_a_belief_stated_beforehand_is_where_the_attacker_starts(qtbot, opened):
    know(qtbot, opened, age="40")
    choose(opened.belief, ("disease", 1))
    opened.share.spin.setValue(80.0)
    wait_for_jobs(qtbot, opened.session)
    [plot] = plots(opened)
    before = plot.figure.data.set_index("value")["before"]
    assert before["cancer"] == pytest.approx(0.8)


@pytest.mark.slow
def test_columns_that_the_table_lacks_are_not_asked_for(qtbot, opened):
    assert "ward" in opened.fields
    without = Table(clinic_table(120).frame.drop(columns="ward"))
    opened.session.attach_table(SurveyedTable.of(in_batches(without)))
    wait_for_jobs(qtbot, opened.session)
    assert "ward" not in opened.fields
    assert "age" in opened.fields
