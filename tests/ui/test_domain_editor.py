"""The list of a column's values keeps its place while a person works in it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from sfumato.ui.panels.attributes.domain import SHOWN
from sfumato.ui.panels.attributes.panel import AttributesPanel
from tests.ui.clinic import clinic_document, open_clinic
from tests.ui.hands import on_screen, settle, type_into


@pytest.fixture
def editor(qtbot, session):
    """The values of the clinic's diseases."""
    panel = on_screen(qtbot, AttributesPanel(session), 900, 700)
    open_clinic(session, clinic_document())
    panel.table.selectRow(2)
    settle(qtbot, session)
    return panel.detail.domain


def test_a_value_that_was_added_is_chosen_and_in_sight(editor):
    for number in range(12):
        type_into(editor.new_value, f"measles {number}")
        QTest.keyClick(editor.new_value, Qt.Key.Key_Return)
    assert editor.view.currentIndex().data() == "measles 11"
    added = editor.view.visualRect(editor.view.currentIndex())
    assert editor.view.viewport().rect().contains(added)


def test_a_name_given_by_the_keyboard_leaves_the_keyboard_in_the_list(editor):
    view = editor.view
    view.setFocus()
    view.setCurrentIndex(view.model().index(1, SHOWN))
    QTest.keyClick(view, Qt.Key.Key_F2)
    QTest.keyClicks(view.findChild(QLineEdit), "tumour")
    QTest.keyClick(view.findChild(QLineEdit), Qt.Key.Key_Return)
    QCoreApplication.processEvents()
    assert view.model().index(1, SHOWN).data() == "tumour"
    assert view.window().focusWidget() is view
    assert (view.currentIndex().row(), view.currentIndex().column()) == (1, SHOWN)
