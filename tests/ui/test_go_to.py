"""“Go to” leads to the very column, attribute or recipient that a finding is about."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.generalization.hierarchies import Suppression
from sfumato.engine.table.table import Table
from sfumato.project.document.model import ViewRule
from sfumato.ui.panels.policy.views_card import LEVELS, K
from tests.ui.clinic import clinic_table, open_clinic, protected, wait_for_jobs

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def shown(qtbot, window):
    window.resize(1300, 900)
    window.show()
    return window


def opened(qtbot, window, document, table=None):
    open_clinic(window.session, document, table or clinic_table())
    wait_for_jobs(qtbot, window.session)
    window.show_panel("releases")
    wait_for_jobs(qtbot, window.session)
    return window.panels["releases"]


def press(qtbot, releases, text):
    buttons = [one for one in releases.readiness.findChildren(QPushButton) if one.isVisible()]
    wanted = next(one for one in buttons if one.text().startswith(text))
    releases.work.bring(wanted)
    qtbot.mouseClick(wanted, LEFT)


@pytest.mark.slow
def test_a_column_is_chosen_in_sight_and_has_the_focus(qtbot, shown):
    frame = clinic_table().frame.copy()
    more = {f"more {place}": ["a", "b"] * 200 for place in range(30)}
    frame = frame.assign(**more)
    frame["more 29"] = [f"value {place}" for place in range(400)]
    document = protected()
    columns = [ColumnSpec(name, Role.INSENSITIVE) for name in more]
    document = replace(document, columns=(*document.columns, *columns))
    releases = opened(qtbot, shown, document, Table(pd.DataFrame(frame)))
    press(qtbot, releases, "Go to Attributes")
    panel = shown.panels["attributes"]
    assert shown.current is panel
    assert panel.chosen == ["more 29"]
    where = panel.table.visualRect(panel.table.currentIndex())
    assert panel.table.viewport().rect().contains(where.center())
    assert shown.focusWidget() is panel.table


@pytest.mark.slow
def test_an_empty_promise_leads_to_the_recipients_level(qtbot, shown):
    document = protected({"Public": 0.1, "Institute": 0.3, "Clinic A": 1.0})
    releases = opened(qtbot, shown, document)
    press(qtbot, releases, "Go to Policy")
    panel = shown.panels["policy"]
    assert shown.current is panel
    table = panel.page.recipients.table
    assert table.currentIndex().row() == 2
    assert shown.focusWidget() is table
    assert panel.page.empty.isVisible()
    assert panel.page.empty.visibleRegion().boundingRect().isValid()


@pytest.mark.slow
def test_a_view_that_keeps_no_k_leads_to_its_level_and_a_click_raises_it(qtbot, shown):
    document = protected()
    first, *others = document.recipients
    first = replace(first, view=ViewRule(k=50))
    document = replace(document, recipients=(first, *others), hierarchies={"age": Suppression()})
    releases = opened(qtbot, shown, document)
    press(qtbot, releases, "Go to Policy")
    table = shown.panels["policy"].views.table
    assert (table.currentIndex().row(), table.currentIndex().column()) == (LEVELS, 1)
    assert shown.focusWidget() is table
    shown.show_panel("releases")
    press(qtbot, releases, "Show “age” at level 1 to Clinic A: 400 → 0 suppressed")
    wait_for_jobs(qtbot, shown.session)
    assert shown.session.document.recipients[0].view.levels == {"age": 1}
    assert shown.session.undo_text == "Show “age” at level 1 to Clinic A"


@pytest.mark.slow
def test_a_recipient_without_a_view_is_led_to_the_k_that_is_to_be_stated(qtbot, shown):
    frame = clinic_table().frame.copy()
    frame.loc[0, "age"] = 99
    releases = opened(qtbot, shown, protected(), Table(frame))
    press(qtbot, releases, "Set the group size")
    table = shown.panels["policy"].views.table
    assert (table.currentIndex().row(), table.currentIndex().column()) == (K, 1)
    assert shown.focusWidget() is table
