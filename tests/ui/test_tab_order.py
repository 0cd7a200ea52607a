"""Tab goes through the window as it is read, and the keyboard acts on the work in sight."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QGridLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from sfumato.ui.widgets.keyboard import heir, next_stop, reading_order
from tests.ui.clinic import open_clinic, protected
from tests.ui.hands import click
from tests.ui.policy_steps import editor_of


@pytest.fixture
def policy(window):
    """The window with a protected clinic's policy in sight."""
    document = protected()
    stated = replace(document.recipients[0], statements={"disease": {"rho1": 0.1, "rho2": 0.5}})
    document = replace(document, recipients=(stated, *document.recipients[1:]))
    open_clinic(window.session, document)
    window.show_panel("policy")
    return window.panels["policy"]


def made(*names):
    return [QPushButton(name) for name in names]


class TestTheOrder:
    def test_a_part_made_late_is_visited_where_it_lies(self, qtbot):
        top = QWidget()
        qtbot.addWidget(top)
        column = QVBoxLayout(top)
        first, last = made("first", "last")
        column.addWidget(first)
        column.addWidget(last)
        [late] = made("late")
        column.insertWidget(1, late)
        assert reading_order(top) == [first, late, last]

    def test_a_grid_is_read_row_by_row(self, qtbot):
        top = QWidget()
        qtbot.addWidget(top)
        grid = QGridLayout(top)
        below, right, left = made("below", "right", "left")
        grid.addWidget(below, 1, 0)
        grid.addWidget(right, 0, 1)
        grid.addWidget(left, 0, 0)
        assert reading_order(top) == [left, right, below]

    def test_what_is_hidden_or_disabled_is_passed_over(self, qtbot):
        top = QWidget()
        qtbot.addWidget(top)
        column = QVBoxLayout(top)
        first, hidden, disabled, last = made("first", "hidden", "disabled", "last")
        for button in (first, hidden, disabled, last):
            column.addWidget(button)
        hidden.hide()
        disabled.setEnabled(False)
        assert next_stop(top, first, forward=True) is last
        assert next_stop(top, first, forward=False) is last
        assert next_stop(top, hidden, forward=True) is None

    def test_what_goes_out_of_sight_leaves_the_focus_to_its_neighbour(self, qtbot):
        top = QWidget()
        qtbot.addWidget(top)
        column = QVBoxLayout(top)
        first, middle, last = made("first", "middle", "last")
        for button in (first, middle, last):
            column.addWidget(button)
        assert heir(middle) is None
        middle.hide()
        assert heir(middle) is last
        last.hide()
        assert heir(middle) is first

    def test_a_page_that_gives_way_has_no_neighbour(self, qtbot):
        pages = QStackedWidget()
        qtbot.addWidget(pages)
        for button in made("first", "second"):
            pages.addWidget(button)
        gone = pages.currentWidget()
        pages.setCurrentIndex(1)
        assert heir(gone) is None


class TestTheWindow:
    def test_tab_leaves_a_level_for_what_stands_below_it(self, policy, window):
        spin = editor_of(policy).fields["rho2"].spin
        spin.setFocus()
        QTest.keyClick(spin, Qt.Key.Key_Tab)
        assert window.focusWidget() is policy.page.note
        QTest.keyClick(policy.page.note, Qt.Key.Key_Backtab)
        assert window.focusWidget() is spin

    def test_tab_goes_from_the_steps_through_the_work_to_the_guarantee(self, policy, window):
        order = reading_order(window)
        wanted = [
            window.rail.step("policy"),
            policy.plan.button,
            policy.page.mechanism,
            policy.page.recipients.table,
            editor_of(policy).choices.cards[0],
            policy.page.note,
        ]
        places = [order.index(widget) for widget in wanted]
        assert places == sorted(places)
        assert window.guarantee.isAncestorOf(order[-1])

    def test_a_fresh_window_lets_the_space_bar_open_a_table(self, window):
        begin = window.focusWidget()
        assert begin.text() == "Open a table…"

    @pytest.mark.slow
    def test_a_panel_brought_up_by_its_key_has_the_keyboard(self, policy, window):
        policy.page.note.setFocus()
        window.show_panel("releases")
        assert window.panels["releases"].isAncestorOf(window.focusWidget())
        window.show_panel("policy")
        assert window.focusWidget() is policy.page.note

    @pytest.mark.slow
    def test_a_click_on_a_step_leaves_the_keyboard_with_the_steps(self, policy, window):
        step = window.rail.step("preview")
        step.setFocus()
        click(step)
        assert window.focusWidget() is step

    @pytest.mark.slow
    def test_a_panel_brought_up_by_its_key_takes_the_keyboard_from_another_step(
        self, policy, window
    ):
        step = window.rail.step("policy")
        step.setFocus()
        window.menus.actions["panel-releases"].trigger()
        assert window.panels["releases"].isAncestorOf(window.focusWidget())

    @pytest.mark.slow
    def test_work_that_gives_way_to_other_work_hands_the_keyboard_over(self, policy, window):
        policy.page.note.setFocus()
        window.session.set_project(None)
        begin = window.focusWidget()
        assert policy.isAncestorOf(begin)
        assert begin.isVisible()
