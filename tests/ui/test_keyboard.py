"""The whole way from a table to a release and a report, without a mouse."""

from __future__ import annotations

import pandas as pd
import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QTabBar, QWidget

from sfumato.engine.core.columns import Role
from sfumato.ui.dialogs.base import NewPassphraseDialog
from sfumato.ui.panels.audit.pages.report import ReportPage
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.policy.mechanisms.per_value.grid import HIGH
from tests.ui.clinic import clinic_table, open_clinic, protected
from tests.ui.generalized_steps import open_small
from tests.ui.keys import Key, Keys
from tests.ui.limit_steps import limits, open_values
from tests.ui.test_generalized_page import START

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


@pytest.mark.turns(1)
@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.turns(1)
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


@pytest.mark.slow
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


def policy(keys):
    """Turn to the policy by its key."""
    keys.press(Key.Key_3, ctrl=True)
    keys.waits()
    return keys.window.panels["policy"]


def levels(keys):
    recipients = keys.window.session.document.recipients
    return [r.statements["disease"].get("retention_probability") for r in recipients]


def sees_the_focus(widget):
    """Whether a widget looks otherwise without the keyboard than with it."""
    with_it = widget.grab().toImage()
    widget.clearFocus()
    without = widget.grab().toImage()
    widget.setFocus()
    return with_it != without


@pytest.mark.slow
def test_the_ladders_rungs_are_chosen_moved_and_typed_by_keys(keys):
    open_clinic(keys.window.session, protected())
    panel = policy(keys)
    ladder = keys.tab_to(panel.page.ladder)
    assert sees_the_focus(ladder)
    keys.press(Key.Key_Down)
    before = levels(keys)
    keys.press(Key.Key_Plus, Key.Key_Plus)
    nearer = levels(keys)
    assert nearer[1] > before[1]
    keys.press(Key.Key_PageDown)
    farther = levels(keys)
    assert nearer[1] - farther[1] > 4 * (nearer[1] - before[1])
    assert (farther[0], farther[2]) == (before[0], before[2])
    keys.press(Key.Key_End, Key.Key_Return)
    assert keys.focus is not ladder
    keys.type("0.05")
    keys.press(Key.Key_Return)
    assert levels(keys)[2] == 0.05


@pytest.mark.slow
def test_a_grid_of_limits_is_filled_by_keys(keys, qtbot):
    open_values(keys.window.session)
    panel = policy(keys)
    editor = panel.page.settings
    grid = keys.tab_to(editor.grid)
    assert sees_the_focus(grid)
    keys.down_to(1, HIGH)
    keys.press(Key.Key_Return)
    keys.type("0.3")
    keys.press(Key.Key_Return)
    keys.waits_until(lambda: 0.3 in [each.rho2 for each in limits(editor).stated])
    assert keys.focus is grid
    keys.press(Key.Key_Tab)
    assert keys.focus is not grid


@pytest.mark.slow
def test_a_matrix_is_filled_by_keys(keys):
    open_values(keys.window.session, by="matrix")
    panel = policy(keys)
    grid = keys.tab_to(panel.page.settings.matrix.grid)
    assert sees_the_focus(grid)

    def entry(row, column):
        return keys.window.session.document.policy[0].settings["entries"][row][column]

    # A matrix is in force once each column sums to 1.
    for row, text in ((0, "0.25"), (2, "0")):
        keys.down_to(row, 1)
        keys.press(Key.Key_Return)
        keys.type(text)
        keys.press(Key.Key_Return)
    keys.waits_until(lambda: entry(0, 1) == 0.25)
    assert keys.focus is grid
    keys.press(Key.Key_Z, ctrl=True)
    assert entry(0, 1) == 0.125


@pytest.mark.slow
def test_a_lattice_is_walked_through_by_keys(keys):
    open_small(keys.window.session, **START)
    panel = policy(keys)
    keys.tab_to(panel.ways.segments.button_for("board"))
    keys.press(Key.Key_Right)
    page = panel.ways.page
    keys.waits_until(lambda: page.finding.searched is not None)
    keys.waits()
    keys.tab_to(lambda widget: isinstance(widget, QTabBar))
    keys.press(Key.Key_Right)
    keys.tab_to(page.explore.view.button_for("list"))
    keys.press(Key.Key_Right)
    lattice = keys.tab_to(page.explore.lattice)
    assert sees_the_focus(lattice)
    start = page.explore.node
    keys.press(Key.Key_Up)
    above = page.explore.node
    assert sum(above) == sum(start) + 1
    keys.press(Key.Key_Down)
    assert sum(page.explore.node) == sum(start)
