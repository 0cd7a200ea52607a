"""The whole way from a table to a release and a report, without a mouse."""

from __future__ import annotations

import pandas as pd
import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget

from sfumato.engine.core.columns import Role
from sfumato.ui.dialogs.base import NewPassphraseDialog
from sfumato.ui.panels.audit.pages.report import ReportPage
from sfumato.ui.panels.base import PanelState
from tests.ui.clinic import clinic_table, open_clinic, protected
from tests.ui.keys import Key, Keys

PASSPHRASE = "nine herons on one leg"


@pytest.fixture
def keys(window, qtbot):
    window.activateWindow()
    qtbot.waitActive(window)
    return Keys(window, qtbot)


@pytest.fixture
def ward(tmp_path):
    """A table whose roles have to be decided."""
    path = tmp_path / "ward.csv"
    clinic_table(300).frame.drop(columns="age").to_csv(path, index=False)
    return path


def opens(keys, answers, path):
    answers.file = path
    keys.tab_to_button("Open a table")
    keys.press(Key.Key_Return)
    load = keys.window.panels["data"].load_button
    keys.waits_until(load.hasFocus)
    keys.press(Key.Key_Return)
    keys.waits()
    assert keys.focus is load, "the next step is where the keyboard is"


def decides(keys, roles):
    keys.press(Key.Key_Return, ctrl=True)
    panel = keys.window.panels["attributes"]
    assert keys.window.current is panel
    for name, role in roles.items():
        keys.tab_to(panel.table)
        keys.down_to(panel.model.row_of(name), panel.table.currentIndex().column())
        keys.tab_to(panel.detail.role)
        keys.choose(role)
    keys.waits()


def protects(keys):
    keys.press(Key.Key_Return, ctrl=True)
    keys.waits()
    if keys.window.session.document.policy:
        keys.press(Key.Key_Z, ctrl=True)  # the plan that filled the board
        keys.waits()
    policy = keys.window.panels["policy"]
    for row in range(policy.list.count()):
        keys.tab_to(policy.list)
        while policy.list.currentRow() != row:
            keys.press(Key.Key_Down if policy.list.currentRow() < row else Key.Key_Up)
        page = policy.unprotected
        keys.tab_to(page.protect if page.protect.isVisible() else page.cards[0])
        keys.press(Key.Key_Return)
        keys.waits()
    keys.tab_to(keys.window.panels["policy"].page.recipients.add_typical)
    keys.press(Key.Key_Space)
    keys.waits()


def releases(keys, answers, folder):
    answers.saved = folder / "ward.sfumato"
    keys.press(Key.Key_5, ctrl=True)
    panel = keys.window.panels["releases"]
    keys.waits()
    keys.tab_to(panel.form.folder)
    keys.type(str(folder / "bundles"))
    if panel.readiness.ask.isVisible():
        keys.tab_to(panel.readiness.reason)
        keys.type("The table is made up")
    keys.tab_to(panel.primary)
    keys.press(Key.Key_Return)
    assert isinstance(keys.focus.window(), NewPassphraseDialog)
    keys.type(PASSPHRASE)
    keys.press(Key.Key_Tab)
    keys.type(PASSPHRASE)
    keys.press(Key.Key_Return)
    keys.waits()
    assert keys.focus.window() is keys.window
    assert panel.isAncestorOf(keys.focus)


def reports(keys, answers, path):
    answers.saved = path
    keys.press(Key.Key_6, ctrl=True)
    audit = keys.window.panels["audit"]
    keys.tab_to(audit.report)
    keys.press(Key.Key_Return)
    page = audit.current
    assert isinstance(page, ReportPage)
    keys.waits()
    keys.waits_until(page.html.isEnabled)
    keys.tab_to(page.html)
    keys.press(Key.Key_Return)
    keys.waits_until(path.is_file)
    keys.waits()
    assert keys.focus is page.html


def test_from_a_table_to_releases_and_a_report(keys, answers, ward, tmp_path):
    opens(keys, answers, ward)
    assert keys.window.session.table is not None
    decides(keys, {"name": Role.IDENTIFYING, "disease": Role.SENSITIVE})
    protects(keys)
    releases(keys, answers, tmp_path)
    session = keys.window.session
    assert len(session.project.releases) == 3
    assert keys.window.rail.step("releases").state is PanelState.DONE
    for bundle in (tmp_path / "bundles").iterdir():
        [data] = bundle.glob("*.csv")
        assert len(pd.read_csv(data)) == 300
    reports(keys, answers, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_ctrl_and_enter_press_the_button_that_the_work_goes_on_by(keys, answers, ward):
    opens(keys, answers, ward)
    edit = next(a for a in keys.window.menuBar().actions() if a.text() == "&Edit").menu()
    line = keys.window.menus.actions["go-on"]
    edit.aboutToShow.emit()
    assert (line.text().replace("&", ""), line.isEnabled()) == ("Choose attributes", True)
    edit.aboutToHide.emit()
    keys.press(Key.Key_Enter, ctrl=True)
    assert keys.window.current.name == "attributes"
    keys.press(Key.Key_Return, ctrl=True)
    assert keys.window.current.name == "attributes", "nothing is sensitive yet"
    edit.aboutToShow.emit()
    assert (line.text().replace("&", ""), line.isEnabled()) == ("Set the policy", False)


class Windows(QObject):
    """Notes which windows come up."""

    def __init__(self):
        super().__init__()
        self.shown = []

    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.shown.append(watched)
        return False


@pytest.mark.slow
def test_no_panel_opens_a_window_that_takes_the_keyboard_away(keys):
    windows, application = Windows(), QApplication.instance()
    application.installEventFilter(windows)
    open_clinic(keys.window.session, protected())
    for number in range(1, 7):
        keys.press(getattr(Key, f"Key_{number}"), ctrl=True)
        keys.waits()
    application.removeEventFilter(windows)
    assert windows.shown == []
    assert keys.window.isActiveWindow()


def test_a_number_half_typed_is_given_when_the_person_turns_to_another_panel(keys):
    session = keys.window.session
    open_clinic(session, protected())
    keys.press(Key.Key_3, ctrl=True)
    keys.waits()
    field = next(iter(keys.window.panels["policy"].page.editor.fields.values())).spin
    field.setFocus()
    field.selectAll()
    keys.type("0.25")
    keys.press(Key.Key_1, ctrl=True)
    assert session.document.recipient("Clinic A").statements["disease"] == {
        "retention_probability": 0.25
    }
    assert session.undo_panel == "policy"
