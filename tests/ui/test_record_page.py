"""One record's ladder, through the widgets a person uses."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.coarsening.views import find_views, with_proposed_hierarchies, with_statement
from sfumato.analysis.questions import question_called
from sfumato.engine.core.progress import Silent
from sfumato.ui.panels.audit.pages.answer import page_of
from tests.in_batches import in_batches
from tests.ui.clinic import clinic_document, clinic_table, open_clinic, protected, wait_for_jobs


@pytest.fixture
def page(audit_panel):
    return audit_panel.show_page(page_of(question_called("record")))


def cells(page, column):
    model = page.shown.tables[0].model()
    return [model.index(row, column).data() for row in range(model.rowCount())]


def test_without_recipients_the_page_leads_to_policy(qtbot, page):
    open_clinic(page.session, clinic_document())
    assert page.pages.currentWidget() is page.empty


@pytest.mark.slow
def test_a_row_s_way_and_what_recipients_see_are_shown(qtbot, page):
    open_clinic(page.session, protected())
    wait_for_jobs(qtbot, page.session)
    assert cells(page, 0) == ["Clinic A", "Institute", "Public"]
    assert cells(page, 1) == ["0.6", "0.3", "0.1"]
    assert "Row 1 " in page.shown.plots[0].figure.headline


@pytest.mark.slow
def test_what_a_view_shows_of_the_record_and_how_many_are_alike_stand_beside(qtbot, page):
    document, _ = with_proposed_hierarchies(protected(), clinic_table())
    document = with_statement(document, "Public", 5)
    open_clinic(page.session, find_views(document, in_batches(clinic_table()), Silent()))
    wait_for_jobs(qtbot, page.session)
    ages, alike = cells(page, 3), cells(page, 4)
    assert ages[:2] == ["20", "20"]
    same = (clinic_table().frame["age"] == 20).sum()
    assert [int(count) for count in alike[:2]] == [same, same]
    assert int(alike[2]) >= 5


@pytest.mark.slow
def test_another_row_is_shown_when_it_is_typed(qtbot, page):
    open_clinic(page.session, protected())
    wait_for_jobs(qtbot, page.session)
    spin = page.fields["row"].spin
    spin.setFocus()
    spin.selectAll()
    qtbot.keyClicks(spin, "17")
    qtbot.keyClick(spin, Qt.Key.Key_Return)
    wait_for_jobs(qtbot, page.session)
    assert "Row 17 " in page.shown.plots[0].figure.headline
    assert spin.maximum() == 400


@pytest.mark.slow
def test_looking_at_a_record_changes_nothing(qtbot, page):
    open_clinic(page.session, protected())
    before = page.session.document
    wait_for_jobs(qtbot, page.session)
    page.hide()
    page.show()
    assert page.session.document is before
