"""Ladder, grids and lattices are worked by keys alone, and show where the keyboard is."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QTabBar

from sfumato.ui.panels.policy.mechanisms.per_value.grid import HIGH
from tests.ui.clinic import open_clinic, protected
from tests.ui.generalized_steps import open_small
from tests.ui.keys import Key, Keys
from tests.ui.limit_steps import limits, open_values
from tests.ui.test_generalized_page import START


@pytest.fixture
def keys(window, qtbot):
    window.activateWindow()
    qtbot.waitActive(window)
    return Keys(window, qtbot)


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
