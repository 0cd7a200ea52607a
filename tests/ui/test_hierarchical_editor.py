"""Hierarchical retention in the Policy panel, through the widgets a person uses."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, Qt

from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.panels.policy import PANEL
from tests.ui.clinic import clinic_document, clinic_table, open_clinic, wait_for_jobs

HIERARCHICAL = mechanism_called("hierarchical")


@pytest.fixture
def panel(qtbot, session):
    made = PANEL(session)
    qtbot.addWidget(made)
    made.resize(900, 1400)
    made.show()
    recipient = Recipient("Clinic A", {"disease": {"retention_probability": 0.4}})
    open_clinic(session, clinic_document(recipients=(recipient,)), clinic_table())
    attribute = session.attribute("disease").attribute
    entry = PolicyEntry(("disease",), "hierarchical", HIERARCHICAL.default_settings((attribute,)))
    session.edit("Protect", clinic_document(policy=(entry,), recipients=(recipient,)))
    wait_for_jobs(qtbot, session)
    made.choose("disease")
    return made


def in_force(panel):
    return panel.session.document.policy[0].settings


def type_into(qtbot, field, text):
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    QCoreApplication.processEvents()


def test_each_value_stands_beside_its_chapter(panel):
    values = panel.page.settings.values
    rows = range(values.rowCount())
    assert values.texts(rows, 0) == ["asthma", "cancer", "flu", "none"]
    assert values.texts(rows, 1) == ["a", "c", "f", "n"]
    assert "4 chapters of 1 to 1 values" in panel.page.settings.outcome.text()
    assert "between values of one chapter" in panel.page.editor.meaning.texts[0]


def test_chapters_are_stated_as_typed_and_undone(qtbot, panel):
    before = in_force(panel)
    type_into(qtbot, panel.page.settings.chapters, "lungs; other; lungs; other")
    assert in_force(panel)["chapters"] == ["lungs", "other", "lungs", "other"]
    panel.session.undo()
    assert in_force(panel) == before


def test_too_few_chapters_are_refused_where_they_stand(qtbot, panel):
    before = in_force(panel)
    type_into(qtbot, panel.page.settings.chapters, "lungs; other")
    assert "each of the 4 values" in panel.page.settings.problem.words
    assert in_force(panel) == before


def test_letters_and_the_share_inside_are_taken(qtbot, panel):
    type_into(qtbot, panel.page.settings.letters.spin, "2")
    type_into(qtbot, panel.page.settings.inside.spin, "80")
    assert in_force(panel) == {"chapters": ["as", "ca", "fl", "no"], "inside_share": 0.8}
