"""The card of quasi-identifiers in the Policy panel, through what a person types and clicks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Unit, ViewRule
from sfumato.ui.panels.policy import PANEL
from sfumato.ui.panels.policy.views_card import LEVELS, NAME, SHARE, SMALLEST, UNIQUE, K
from tests.ui.clinic import open_clinic, protected, wait_for_jobs

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot, session):
    panel = PANEL(session)
    qtbot.addWidget(panel)
    panel.resize(1100, 1400)
    panel.show()
    open_clinic(session, protected())
    wait_for_jobs(qtbot, session)
    return panel


@pytest.fixture
def card(panel):
    return panel.views


def shown(card):
    model = card.model
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def type_in(qtbot, card, row, column, text):
    card.table.show_cell(row, column)
    index = card.model.index(row, column)
    card.table.edit(index)
    editor = card.table.findChild(QLineEdit)
    editor.selectAll()
    QTest.keyClicks(editor, text)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    QApplication.processEvents()  # Qt writes what was typed a moment later
    wait_for_jobs(qtbot, card.session)


def views(card):
    return [each.view for each in card.session.document.recipients]


def test_levels_are_proposed_found_and_counted(qtbot, card):
    quasi = card.model.names
    assert quasi
    assert not card.find_levels.isEnabled()
    assert [line[NAME] for line in shown(card)] == [
        each.name for each in card.session.document.recipients
    ]
    last = len(shown(card)) - 1
    type_in(qtbot, card, last, K, "4")
    assert views(card)[last] == ViewRule(4)
    assert "no hierarchy" in card.problem
    qtbot.mouseClick(card.propose, LEFT)
    wait_for_jobs(qtbot, card.session)
    assert not card.propose.isVisible()
    assert set(card.session.document.hierarchies) >= set(quasi)
    type_in(qtbot, card, last, SHARE, "10 %")
    assert views(card)[last].suppression == 0.1
    qtbot.mouseClick(card.find_levels, LEFT)
    wait_for_jobs(qtbot, card.session)
    line = shown(card)[last]
    assert all(" of " in text for text in line[LEVELS:])
    smallest, unique = line[SMALLEST], line[UNIQUE]
    assert int(smallest) >= 4
    assert unique == "0"
    assert card.problem == ""
    card.session.undo()
    assert views(card)[last] == ViewRule(4, 0.1)


def test_a_level_that_is_typed_moves_those_who_must_follow(qtbot, card):
    qtbot.mouseClick(card.propose, LEFT)
    wait_for_jobs(qtbot, card.session)
    type_in(qtbot, card, 0, K, "1")
    type_in(qtbot, card, 1, K, "2")
    type_in(qtbot, card, 0, LEVELS, "1")
    name = card.model.names[0]
    assert [view.levels.get(name) for view in views(card)[:2]] == [1, 1]
    assert card.session.document.recipients[1].name in card.followed
    type_in(qtbot, card, 1, LEVELS, "0")
    assert [view.levels.get(name) for view in views(card)[:2]] == [0, 0]


def test_a_file_that_would_not_keep_its_k_is_said_at_once(qtbot, card):
    qtbot.mouseClick(card.propose, LEFT)
    wait_for_jobs(qtbot, card.session)
    type_in(qtbot, card, 0, K, "8")
    assert "have to be suppressed" in card.problem
    card.table.show_cell(0, K)
    QTest.keyClick(card.table, Qt.Key.Key_Delete)
    wait_for_jobs(qtbot, card.session)
    assert views(card)[0] is None
    assert card.problem == ""


@pytest.mark.parametrize(
    ("column", "text"), [(K, "many"), (K, "0"), (SHARE, "most"), (LEVELS, "-1")]
)
def test_what_is_no_k_share_or_level_changes_nothing(qtbot, card, column, text):
    before = card.session.document
    type_in(qtbot, card, 0, column, text)
    assert card.session.document is before
    assert card.problem


def test_without_quasi_identifiers_or_recipients_there_is_no_card(card):
    session = card.session
    session.edit("Clear", replace(session.document, recipients=()))
    assert not card.isVisible()


def test_with_a_unit_of_protection_the_card_counts_units(qtbot, card):
    table = card.session.table
    frame = table.frame.copy()
    frame["household"] = [f"h{row // 2}" for row in range(len(frame))]
    document = card.session.document
    spec = ColumnSpec("household", Role.IDENTIFYING)
    document = replace(document, columns=(*document.columns, spec))
    document = document.with_unit(Unit(("household",), 2))
    card.session.open_table("Open", Table(frame), document)
    wait_for_jobs(qtbot, card.session)
    last = len(shown(card)) - 1
    type_in(qtbot, card, last, K, "2")
    qtbot.mouseClick(card.propose, LEFT)
    wait_for_jobs(qtbot, card.session)
    qtbot.mouseClick(card.find_levels, LEFT)
    wait_for_jobs(qtbot, card.session)
    units = frame["household"].nunique()
    tip = card.model.index(last, SMALLEST).data(Qt.ItemDataRole.ToolTipRole)
    assert f"Of {units:,} units" in tip
    assert int(shown(card)[last][SMALLEST]) >= 2
    type_in(qtbot, card, last, K, str(units + 1))
    assert f"belong to {units} units" in card.problem
