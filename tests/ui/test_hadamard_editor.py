"""Hadamard retention in the Policy panel and the preview, through the widgets a person uses."""

from __future__ import annotations

import pytest

from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.panels.policy import PANEL
from sfumato.ui.panels.preview import PANEL as PREVIEW
from tests.ui.clinic import clinic_document, open_clinic, wait_for_jobs
from tests.ui.hands import enter, on_screen


@pytest.fixture
def panel(qtbot, session):
    made = on_screen(qtbot, PANEL(session), 900, 1400)
    recipient = Recipient("Clinic A", {"disease": {"epsilon": 1.8}})
    entry = PolicyEntry(("disease",), "hadamard", {"blocks": 1})
    open_clinic(session, clinic_document(policy=(entry,), recipients=(recipient,)))
    wait_for_jobs(qtbot, session)
    made.choose("disease")
    return made


def in_force(panel):
    return panel.session.document.policy[0].settings


def test_the_editor_says_what_symbols_tell_and_refuses_more_blocks_than_pairs_of_codes(panel):
    shown = panel.page.settings
    assert "4 codes become 8 symbols; each code has 4 of them" in shown.outcome.text()
    assert "for counting codes, and for nothing else" in shown.outcome.text()
    promise, person, recipient = panel.page.editor.meaning.texts
    assert "at most 6.1. It shows a symbol in place of each code." in promise
    assert "of records show a symbol of their true code, where 50.0 % would" in person.replace(
        "\u202f", " "
    ).replace("\xa0", " ")
    assert "can be estimated" in recipient
    enter(shown.blocks.spin, "3")
    assert "4 codes can't be put into 3 blocks" in shown.problem.words
    assert in_force(panel) == {"blocks": 1}


@pytest.mark.slow
def test_the_best_number_of_blocks_for_the_most_trusted_is_offered(panel):
    best = panel.page.settings.use_best
    assert best.isVisible()
    assert best.text() == "Use 2 blocks, which is best"
    best.click()
    assert in_force(panel) == {"blocks": 2}
    assert not best.isVisible()
    panel.session.undo()
    assert in_force(panel) == {"blocks": 1}


@pytest.mark.slow
def test_other_blocks_leave_the_odds_of_a_stated_retention_as_they_were(panel):
    recipient = Recipient("Clinic A", {"disease": {"retention_probability": 0.6}})
    entry = panel.session.document.policy[0]
    document = clinic_document(policy=(entry,), recipients=(recipient,))
    panel.session.edit("State", document)
    panel.page.settings.use_best.click()
    assert in_force(panel) == {"blocks": 2}
    (now,) = panel.session.document.recipients
    p = now.statements["disease"]["retention_probability"]
    assert 1 + 4 * p / (1 - p) == pytest.approx(1 + 2 * 0.6 / 0.4)


@pytest.mark.slow
def test_the_preview_shows_symbols_and_what_is_estimated_of_all(qtbot, panel):
    preview = on_screen(qtbot, PREVIEW(panel.session), 900, 900)
    preview.attribute.setCurrentText("disease")
    wait_for_jobs(qtbot, panel.session)
    assert preview.sample.headline.text() == (
        "Clinic A sees a symbol in place of each “disease”, shared by many"
    )
    shown = {
        preview.tabs.tabText(at)
        for at in range(preview.tabs.count())
        if preview.tabs.isTabVisible(at)
    }
    assert shown == {"Before and after", "Usefulness"}
    assert "a single one says of many codes" in preview.utility.note.text()
