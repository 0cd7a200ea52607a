"""A person who lost the passphrase opens the project by its recovery sheet, in the window."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt

from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery_sheet import recover
from sfumato.ui.dialogs.base import OpenPassphraseDialog
from sfumato.ui.state import recovering
from sfumato.ui.state.recovering import RecoverDialog, SheetDialog
from tests.project.making import CHEAP, PASSPHRASE, new_project
from tests.ui.hands import click, dialog_of, messages, on_screen, settle, type_into

NEW = "pear glass tower violin"


@pytest.fixture
def path(tmp_path):
    with new_project(tmp_path) as project:
        return project.path


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    monkeypatch.setitem(recover.__kwdefaults__, "cost", CHEAP)


def code_in(path):
    text = re.sub("<[^>]+>", " ", path.read_text(encoding="utf-8"))
    return "-".join(re.findall(r"\b[1-8]\s+([0-9A-Z]{5})\b", text))


def open_project(window, qtbot, path):
    window.projects.open(path)
    dialog = dialog_of(window, OpenPassphraseDialog)
    type_into(dialog.first, PASSPHRASE)
    click(dialog.submit)
    qtbot.waitUntil(lambda: window.session.project is not None)
    settle(qtbot, window.session)


def sheet_of(window, qtbot, answers, file):
    answers.saved = file
    window.menus.actions["recovery-sheet"].trigger()
    dialog = dialog_of(window, SheetDialog)
    assert not dialog.submit.isEnabled()
    type_into(dialog.first, PASSPHRASE)
    click(dialog.submit)
    settle(qtbot, window.session)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_sheet_is_saved_and_opens_the_project_when_the_passphrase_is_lost(
    window, qtbot, answers, path, tmp_path
):
    open_project(window, qtbot, path)
    file = tmp_path / "sheet.html"
    sheet_of(window, qtbot, answers, file)
    assert answers.proposed[-1].name == "ward recovery sheet.html"
    assert window.session.project.ledger.entries[-1].kind == EntryKind.RECOVERY_SHEET_MADE
    code = code_in(file)
    window.session.set_project(None)

    window.projects.open(path)
    click(dialog_of(window, OpenPassphraseDialog).forgot)
    dialog = dialog_of(window, RecoverDialog)
    groups = code.split("-")
    typed = ("1" if groups[1][0] == "0" else "0") + groups[1][1:]  # one letter is always told
    wrong = "-".join((groups[0], typed, *groups[2:]))
    type_into(dialog.first, NEW)
    type_into(dialog.second, NEW)
    assert not dialog.submit.isEnabled(), "there is no code yet"
    type_into(dialog.code, wrong)
    assert "Group 2 is not as it was printed" in dialog.fault.text()
    assert not dialog.submit.isEnabled()
    type_into(dialog.code, code.lower())
    assert dialog.fault.text() == " "
    click(dialog.submit)
    qtbot.waitUntil(lambda: window.session.project is not None)
    settle(qtbot, window.session)
    window.session.set_project(None)
    ProjectFile.open(path, NEW).close()


def test_a_code_that_opens_nothing_is_asked_for_again(window, qtbot, path):
    window.projects.open(path)
    click(dialog_of(window, OpenPassphraseDialog).forgot)
    dialog = dialog_of(window, RecoverDialog)
    type_into(dialog.code, "CX3ZV")
    for field in (dialog.first, dialog.second):
        type_into(field, NEW)
    click(dialog.submit)
    settle(qtbot, window.session)
    assert dialog.isVisible()
    assert window.session.project is None
    assert "characters instead of" in messages(dialog.messages)[0]


def test_the_code_comes_first_by_tab(qtbot):
    dialog = on_screen(qtbot, RecoverDialog("clinic"))
    qtbot.waitActive(dialog)
    dialog.code.setFocus()
    for field in (dialog.first, dialog.second):
        qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
        assert dialog.focusWidget() is field


def test_a_wrong_passphrase_makes_no_sheet(window, qtbot, answers, path, tmp_path):
    open_project(window, qtbot, path)
    answers.saved = tmp_path / "sheet.html"
    window.menus.actions["recovery-sheet"].trigger()
    dialog = dialog_of(window, SheetDialog)
    type_into(dialog.first, "not mine")
    click(dialog.submit)
    settle(qtbot, window.session)
    assert dialog.isVisible()
    assert "does not open this project" in messages(dialog.messages)[0]
    assert not answers.saved.exists()


def test_a_sheet_needs_a_project(window, qtbot):
    assert window.session.project is None
    recovering.ask_for_sheet(window.session, window)
    assert window.findChild(SheetDialog) is None
