"""Hierarchical retention in the Policy panel, through the widgets a person uses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QItemSelectionModel

from sfumato.engine.generalization.hierarchies import Taxonomy
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.panels.policy import PANEL
from tests.ui.clinic import clinic_document, disease, open_clinic, wait_for_jobs
from tests.ui.hands import enter, on_screen

HIERARCHICAL = mechanism_called("hierarchical")


@pytest.fixture
def panel(qtbot, session):
    made = on_screen(qtbot, PANEL(session), 900, 1400)
    recipient = Recipient("Clinic A", {"disease": {"retention_probability": 0.4}})
    entry = PolicyEntry(("disease",), "hierarchical", HIERARCHICAL.default_settings((disease(),)))
    open_clinic(session, clinic_document(policy=(entry,), recipients=(recipient,)))
    wait_for_jobs(qtbot, session)
    made.choose("disease")
    return made


def in_force(panel):
    return panel.session.document.policy[0].settings


def write(panel, sheet, cells, text):
    """Type a text into selected cells of a list, as a delegate does."""
    view, model = getattr(panel.page.settings, sheet), getattr(panel.page.settings, sheet).model()
    view.clearSelection()
    for row, column in cells:
        view.selectionModel().select(
            model.index(row, column), QItemSelectionModel.SelectionFlag.Select
        )
    view.write(model.index(*cells[0]), text)


def test_each_value_stands_beside_its_chapter_and_those_of_a_spreadsheet_are_pasted(panel):
    shown = panel.page.settings
    assert shown.values.texts(range(4), 0) == ["asthma", "cancer", "flu", "none"]
    assert shown.values.texts(range(4), 1) == ["a", "c", "f", "n"]
    assert "4 chapters of 1 to 1 value" in shown.outcome.text()
    assert not shown.level.isEnabled()
    assert "between values of one chapter" in panel.page.editor.meaning.texts[0]
    sheet = shown.value_sheet
    sheet.setCurrentIndex(sheet.model().index(1, 1))
    sheet.pasted.emit("cancer\ttumours\nflu\tlungs\nnone\tother\nmore\tother\n")
    assert in_force(panel)["chapters"] == ["a", "tumours", "lungs", "other"]


@pytest.mark.slow
def test_values_are_moved_and_chapters_renamed_joined_or_refused_where_they_stand(panel):
    before = in_force(panel)
    write(panel, "value_sheet", [(0, 1), (2, 1)], "lungs")
    assert in_force(panel)["chapters"] == ["lungs", "c", "lungs", "n"]
    assert panel.page.settings.chapters.texts(range(3), 1) == [
        "2: asthma, flu",
        "1: cancer",
        "1: none",
    ]
    write(panel, "chapter_sheet", [(1, 0)], "other")
    write(panel, "chapter_sheet", [(2, 0)], "other")
    assert in_force(panel)["chapters"] == ["lungs", "other", "lungs", "other"]
    for _ in range(3):
        panel.session.undo()
    assert in_force(panel) == before
    write(panel, "value_sheet", [(1, 1)], " ")
    assert "no name" in panel.page.settings.problem.words
    assert in_force(panel) == before


@pytest.mark.slow
def test_chapters_come_from_a_level_of_a_hierarchy_file_that_lacks_no_value(panel, tmp_path):
    before, path = in_force(panel), tmp_path / "codes.csv"
    path.write_text("asthma;chronic;*\nflu;acute;*\n", encoding="utf-8")
    panel.session.chooser.file = path
    panel.page.settings.from_file.click()
    assert "does not list 2 of its 4 values" in panel.page.settings.problem.words
    assert in_force(panel) == before
    path.write_text(
        "asthma;chronic;ill;*\ncancer;chronic;ill;*\nflu;acute;ill;*\nnone;none;well;*\n",
        encoding="utf-8",
    )
    panel.page.settings.from_file.click()
    assert in_force(panel)["chapters"] == ["chronic", "chronic", "acute", "none"]
    level = panel.page.settings.level
    assert [level.itemText(at) for at in range(level.count())] == [
        "None",
        "Level 1: 3 chapters",
        "Level 2: 2 chapters",
        "Level 3: 1 chapter",
    ]
    level.setCurrentIndex(2)
    level.activated.emit(2)
    assert in_force(panel)["chapters"] == ["ill", "ill", "ill", "well"]
    assert level.value == 2


@pytest.mark.slow
def test_a_columns_own_hierarchy_is_what_protection_begins_with(qtbot, panel):
    rows = (
        ("asthma", "ill", "*"),
        ("cancer", "ill", "*"),
        ("flu", "ill", "*"),
        ("none", "well", "*"),
    )
    document = panel.session.document.with_hierarchy("disease", Taxonomy(rows))
    panel.session.edit("Change", replace(document, policy=()))
    wait_for_jobs(qtbot, panel.session)
    panel.choose("disease")
    panel.unprotected.mechanism_chosen.emit("hierarchical")
    assert in_force(panel)["chapters"] == ["ill", "ill", "ill", "well"]
    assert panel.page.settings.level.value == 1


@pytest.mark.slow
def test_letters_and_the_share_inside_are_taken(qtbot, panel):
    enter(panel.page.settings.letters.spin, "2")
    enter(panel.page.settings.inside.spin, "80")
    assert in_force(panel) == {"chapters": ["as", "ca", "fl", "no"], "inside_share": 0.8}
