"""A project that was changed outside is refused, and the person chooses how to go on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from sfumato.project.project_file import ProjectFile
from sfumato.ui.dialogs.base import ChoiceDialog, OpenPassphraseDialog, UnsealedDialog
from tests.project.tampering import change
from tests.ui.hands import click, dialog_of, messages, press, settle, type_into
from tests.ui.test_projects import PASSPHRASE, left_project, unlock


@pytest.fixture
def refused(window, qtbot, answers, clinic):
    """The window, the dialog that explains why a changed project is refused, and its file."""
    path = left_project(window, qtbot, answers, clinic)
    forged = 'replace(content, \'"title":"clinic\', \'"title":"forged\')'
    change(path, f"UPDATE document SET content = {forged}")
    unlock(window, qtbot, path)
    return window, dialog_of(window, UnsealedDialog), path


@pytest.mark.slow
def test_a_changed_project_can_be_looked_at_and_nothing_saved(refused, qtbot):
    window, asking, _ = refused
    assert "columns, policy, recipients or levels" in asking.findings[0].text()
    assert asking.warning.word.text().startswith("Danger")
    looks = {asking.warning.word.property("look"), asking.findings[0].property("look")}
    assert looks == {"danger"}
    click(asking.read_button)
    settle(qtbot, window.session)
    assert window.rail.saved.text() == "Open read-only"
    assert "does not match its seal" in messages(window.current.messages)[0]
    window.session.edit("Name it", replace(window.session.document, title="changed"))
    assert not window.session.save()
    window.close()
    press(dialog_of(window, ChoiceDialog), "Leave without them")
    assert not window.isVisible()


def test_a_changed_project_is_accepted_for_a_reason_after_an_explicit_yes(refused, qtbot):
    window, asking, path = refused
    assert not asking.accept_button.isEnabled()
    type_into(asking.reason, "I edited it by hand")
    assert not asking.accept_button.isEnabled()
    asking.understood.setFocus()
    QTest.keyClick(asking.understood, Qt.Key.Key_Space)
    type_into(asking.reason, "  ")
    assert not asking.accept_button.isEnabled()
    type_into(asking.reason, "I edited it by hand")
    click(asking.accept_button)
    settle(qtbot, window.session)
    project = window.session.project
    assert project.path == path
    assert not project.read_only
    assert project.ledger.entries[-1].details["reason"] == "I edited it by hand"
    window.menus.actions["new"].trigger()
    ProjectFile.open(path, PASSPHRASE).close()


@pytest.mark.slow
def test_a_changed_project_stays_closed_where_the_person_cancels(refused, qtbot):
    window, asking, path = refused
    content = path.read_bytes()
    press(asking, "Cancel")
    settle(qtbot, window.session)
    assert window.session.project is None
    assert not any(d.isVisible() for d in window.findChildren(OpenPassphraseDialog))
    assert path.read_bytes() == content
