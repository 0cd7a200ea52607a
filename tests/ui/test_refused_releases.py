"""What the Releases panel says of refused releases, and when files can be verified."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from sfumato.ui.panels.releases import PANEL
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.widgets.messages import MessageKind
from tests.in_batches import in_batches
from tests.ui.clinic import open_clinic, protected, save_clinic, wait_for_jobs
from tests.ui.hands import click, on_screen


@pytest.fixture
def released(qtbot, session, tmp_path):
    """The panel of a project that has released to all of its three recipients."""
    panel = on_screen(qtbot, PANEL(session))
    open_clinic(session, protected())
    save_clinic(session, tmp_path)
    wait_for_jobs(qtbot, session)
    release(qtbot, panel)
    return panel


def release(qtbot, panel):
    qtbot.mouseClick(panel.primary, Qt.MouseButton.LeftButton)
    wait_for_jobs(qtbot, panel.session)


def refusals(panel):
    return [message for message in panel.messages.messages if message.kind is MessageKind.DANGER]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_many_refusals_are_one_message_that_names_everybody(qtbot, released):
    release(qtbot, released)
    (refusal,) = refusals(released)
    assert refusal.text == "No release for Clinic A, Institute, Public."
    assert refusal.remedy.startswith("No release for Clinic A: ")
    assert "never overwrites" in refusal.remedy
    assert "Choose another folder" in refusal.remedy


@pytest.mark.slow
def test_refusals_are_forgotten_when_the_next_release_is_made(qtbot, released):
    release(qtbot, released)
    assert refusals(released)
    click(released.form.format.button_for("sav"))
    release(qtbot, released)
    assert refusals(released) == []
    (message,) = released.messages.messages
    assert message.text.startswith("3 releases are in")


@pytest.mark.slow
def test_files_can_be_verified_once_a_project_that_was_opened_has_its_table(released):
    session = released.session
    project, table = session.project, session.table
    assert released.ledger.verify.isEnabled()
    session.set_project(project)
    assert not released.ledger.verify.isEnabled()
    session.attach_table(SurveyedTable.of(in_batches(table)))
    assert released.ledger.verify.isEnabled()
