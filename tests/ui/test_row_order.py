"""The choice in which order rows leave, in the Releases panel and on the guarantee card."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from sfumato.formats.bundles.contents import ROWS_AS_IN_TABLE
from sfumato.formats.terms import ReleaseTerms
from sfumato.ui.panels.releases import PANEL
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from sfumato.ui.widgets.painted import IconLabel
from tests.ui.clinic import open_clinic, protected, save_clinic, wait_for_jobs
from tests.ui.hands import explain_first, on_screen

LEFT = Qt.MouseButton.LeftButton
REASON = "The registry joins by row number"


@pytest.fixture
def panel(qtbot, session, tmp_path):
    made = on_screen(qtbot, PANEL(session), 900, 900)
    open_clinic(session, protected())
    save_clinic(session, tmp_path)
    wait_for_jobs(qtbot, session)
    return made


def choose(qtbot, panel, as_in_table):
    qtbot.mouseClick(panel.form.rows.order.button_for(as_in_table), LEFT)


def test_rows_leave_in_random_order_unless_one_says_otherwise(panel):
    assert panel.form.rows.order.value is False
    assert not panel.form.rows.warning.isVisible()
    assert panel.session.document.rows_as_in_table == ""


def test_the_table_s_order_needs_a_reason(qtbot, panel):
    choose(qtbot, panel, True)
    assert panel.form.rows.warning.isVisible()
    assert not panel.primary.isEnabled()
    QTest.keyClicks(panel.form.rows.reason, "  ")
    assert not panel.primary.isEnabled()
    QTest.keyClicks(panel.form.rows.reason, REASON)
    assert panel.primary.isEnabled()
    assert panel.session.document.rows_as_in_table == REASON


@pytest.mark.slow
def test_typing_a_reason_checks_no_release_again(qtbot, panel):
    choose(qtbot, panel, True)
    wait_for_jobs(qtbot, panel.session)
    checked, started = panel.session.steps.found, []
    panel.session.runner.job_started.connect(lambda job: started.append(job.title))
    reason, promised = panel.form.rows.reason, panel.session.steps.guarantee
    QTest.keyClicks(reason, REASON[:1])
    first = promised()
    QTest.keyClicks(reason, REASON[1:])
    assert promised() is first
    assert ROWS_AS_IN_TABLE in first.cautions
    QTest.keyClick(reason, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(reason, Qt.Key.Key_Delete)
    assert ROWS_AS_IN_TABLE not in promised().cautions
    QTest.keyClicks(reason, REASON)
    assert checked
    assert panel.session.steps.found is checked
    assert not panel.session.steps.checking
    assert not started


@pytest.mark.slow
def test_the_choice_is_one_step_of_undo(qtbot, panel):
    choose(qtbot, panel, True)
    QTest.keyClicks(panel.form.rows.reason, REASON)
    panel.session.undo()
    assert panel.session.document.rows_as_in_table == ""
    assert panel.form.rows.order.value is False
    assert not panel.form.rows.warning.isVisible()
    panel.session.redo()
    assert panel.form.rows.reason.text() == REASON
    choose(qtbot, panel, False)
    assert panel.session.document.rows_as_in_table == ""
    assert panel.primary.isEnabled()


@pytest.mark.slow
def test_the_guarantee_warns_while_rows_stay_as_in_the_table_and_the_ledger_keeps_the_reason(
    qtbot, panel
):
    card = on_screen(qtbot, GuaranteeCard(panel.session))
    explain_first(qtbot, card)
    assert ROWS_AS_IN_TABLE not in card.text()
    choose(qtbot, panel, True)
    QTest.keyClicks(panel.form.rows.reason, REASON)
    wait_for_jobs(qtbot, panel.session)
    card.refresh()
    assert ROWS_AS_IN_TABLE in card.text()
    assert card.findChildren(IconLabel)
    qtbot.mouseClick(panel.primary, LEFT)
    wait_for_jobs(qtbot, panel.session)
    assert {record.rows_reason for record in panel.session.project.releases} == {REASON}


def write(panel, name, text):
    field = panel.terms.fields[name]
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_each_term_is_a_step_that_can_be_undone_and_a_last_day_that_is_none_is_not_kept(panel):
    write(panel, "purpose", "Research on asthma")
    write(panel, "valid_until", "2027-12-31")
    stated = ReleaseTerms(purpose="Research on asthma", valid_until="2027-12-31")
    assert panel.session.document.terms == stated
    panel.session.undo()
    assert panel.session.document.terms == ReleaseTerms(purpose="Research on asthma")
    panel.session.undo()
    assert panel.session.document.terms is None
    write(panel, "valid_until", "tomorrow")
    assert panel.terms.problem.isVisible()
    assert "2027-12-31" in panel.terms.problem.text()
    assert panel.session.document.terms is None
    write(panel, "valid_until", "2027-12-31")
    assert not panel.terms.problem.isVisible()
    assert panel.session.document.terms == ReleaseTerms(valid_until="2027-12-31")
