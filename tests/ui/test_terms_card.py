"""The terms for recipients, stated in the Releases panel."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from sfumato.formats.terms import ReleaseTerms
from sfumato.ui.panels.releases import PANEL
from tests.ui.clinic import open_clinic, protected, save_clinic, wait_for_jobs
from tests.ui.hands import on_screen


@pytest.fixture
def panel(qtbot, session, tmp_path):
    made = on_screen(qtbot, PANEL(session), 900, 900)
    open_clinic(session, protected())
    save_clinic(session, tmp_path)
    wait_for_jobs(qtbot, session)
    return made


def write(panel, name, text):
    field = panel.terms.fields[name]
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_each_term_is_a_step_that_can_be_undone(panel):
    write(panel, "purpose", "Research on asthma")
    write(panel, "valid_until", "2027-12-31")
    stated = ReleaseTerms(purpose="Research on asthma", valid_until="2027-12-31")
    assert panel.session.document.terms == stated
    panel.session.undo()
    assert panel.session.document.terms == ReleaseTerms(purpose="Research on asthma")
    panel.session.undo()
    assert panel.session.document.terms is None


def test_a_last_day_that_is_none_is_told_beside_the_field_and_not_kept(panel):
    write(panel, "valid_until", "tomorrow")
    assert panel.terms.problem.isVisible()
    assert "2027-12-31" in panel.terms.problem.text()
    assert panel.session.document.terms is None
    write(panel, "valid_until", "2027-12-31")
    assert not panel.terms.problem.isVisible()
    assert panel.session.document.terms == ReleaseTerms(valid_until="2027-12-31")
