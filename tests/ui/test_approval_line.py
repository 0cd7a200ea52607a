"""A second person's approval in the window: asked for, given, shown, and lapsed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.project.approval import add_approver, approvers
from sfumato.ui.dialogs.base import NewPassphraseDialog
from sfumato.ui.panels.releases import PANEL
from sfumato.ui.panels.releases.approval import ApproveDialog, ApproverDialog, RemoveApproverDialog
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.project.adopting import settled, ward
from tests.project.making import new_project
from tests.ui.clinic import open_clinic, protected
from tests.ui.hands import click, dialog_of, messages, on_screen, settle, type_into

OWN = "nanoseconds of wire"


@pytest.fixture
def panel(qtbot, session, tmp_path):
    project = new_project(tmp_path, settled())
    session.set_project(project)
    session.attach_table(SurveyedTable.of(in_batches(ward())), project.document)
    panel = on_screen(qtbot, PANEL(session), 900, 900)
    settle(qtbot, session)
    panel.pages.setCurrentWidget(panel.work)
    return panel


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_release_waits_for_who_approves_it(qtbot, session, panel, tmp_path):
    line = panel.form.approval
    panel.form.folder.setText(str(tmp_path / "out"))
    assert line.below.isHidden()
    click(line.required)
    assert session.document.needs_approval
    assert "Nobody can approve yet" in line.state.text()
    assert "A second person has to approve" in panel.form._hint.text()
    assert panel.primary.text() == "&Have it approved…", "the button says what comes first"

    click(panel.primary)
    dialog = dialog_of(session_window(panel), ApproverDialog)
    for field in (dialog.first, dialog.second):
        type_into(field, OWN)
    assert not dialog.submit.isEnabled(), "the person has no name yet"
    type_into(dialog.name, "Grace Hopper")
    click(dialog.submit)
    settle(qtbot, session)
    assert "Not approved:" in line.state.text()

    click(panel.primary)
    assert releases_of(session) == []
    dialog = dialog_of(session_window(panel), ApproveDialog)
    type_into(dialog.first, "not hers")
    click(dialog.submit)
    settle(qtbot, session)
    assert "not that of Grace Hopper" in messages(dialog.messages)[0]
    type_into(dialog.first, OWN)
    click(dialog.submit)
    settle(qtbot, session)
    assert "approved by Grace Hopper" in line.state.text()
    assert panel.primary.isEnabled()
    assert panel.primary.text().startswith("&Release")

    session.edit("Rename", replace(session.document, title="Another"))
    panel._refresh()
    assert panel.primary.text() == "&Have it approved…"
    assert "Not approved:" in line.state.text()

    click(line.remove)
    dialog = dialog_of(session_window(panel), RemoveApproverDialog)
    assert dialog.name.currentText() == "Grace Hopper"
    click(dialog.submit)
    settle(qtbot, session)
    assert approvers(session.project) == ()
    assert "Nobody can approve yet" in line.state.text()
    assert not line.remove.isVisible()
    click(line.required)
    assert session.document.needs_approval is None
    assert panel.primary.isEnabled()


def session_window(panel):
    return panel.window()


def releases_of(session):
    return list(session.project.releases)


@pytest.mark.slow
def test_without_a_project_one_is_asked_for_before_who_approves(window, qtbot, answers, tmp_path):
    session = window.session
    open_clinic(session, protected())
    settle(qtbot, session)
    window.show_panel("releases")
    settle(qtbot, session)
    line, answers.saved = window.panels["releases"].form.approval, tmp_path / "a.sfumato"
    click(line.required)
    assert "asked to save a project first" in line.state.text()
    click(line.add)
    dialog = dialog_of(window, NewPassphraseDialog)
    for field in (dialog.first, dialog.second):
        type_into(field, "nine herons on one leg")
    click(dialog.submit)
    settle(qtbot, session)
    assert session.project is not None
    assert dialog_of(window, ApproverDialog).name.isVisible()


def test_the_ledger_shows_who_approves(qtbot, session, panel):
    add_approver(session.project, "Ada", OWN)
    session.ledger_changed.emit()
    settle(qtbot, session)
    model = panel.ledger.model
    assert model.line(0).what == "Ada can approve releases"
    assert model.line(0).look[2] == "Approver"
