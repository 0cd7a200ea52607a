"""The Policy panel, through the widgets a person uses: levels in every way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt

from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.policy import PANEL
from tests.ui.clinic import open_clinic, protected
from tests.ui.hands import on_screen
from tests.ui.policy_steps import editor_of, state_once_checked, statement

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 900)


@pytest.fixture
def filled(panel):
    open_clinic(panel.session, protected())
    return panel


def test_a_preset_states_a_level_in_plain_words(qtbot, filled):
    cards = editor_of(filled).choices.cards
    assert "can rise to 25" in cards[2].sentence
    qtbot.mouseClick(cards[2], LEFT)
    assert statement(filled) == {"rho1": 0.1, "rho2": 0.25}
    qtbot.mouseClick(cards[2], LEFT)
    assert cards[2].isChecked()


def test_every_term_shows_the_same_level(filled):
    tiles = editor_of(filled).terms.cards
    shown = {name: tiles[name].text() for name in ("retention", "epsilon", "gamma", "rho")}
    assert shown == {
        "retention": "p = 0.6",
        "epsilon": "ε = 1.95",
        "gamma": "γ = 7",
        "rho": "ρ 0.1 → 0.438",
    }


def test_a_level_can_be_stated_in_another_term(qtbot, filled):
    qtbot.mouseClick(editor_of(filled).terms.cards["gamma"], LEFT)
    assert statement(filled)["gamma"] == pytest.approx(7.0)
    field = editor_of(filled).fields["gamma"].field.spin
    field.setValue(9.0)
    assert statement(filled) == {"gamma": 9.0}
    assert editor_of(filled).terms.cards["retention"].text() == "p = 0.667"


def test_undo_takes_back_the_term_while_a_number_is_being_typed(qtbot, filled):
    qtbot.mouseClick(editor_of(filled).terms.cards["gamma"], LEFT)
    spin = editor_of(filled).fields["gamma"].field.spin
    spin.setFocus()
    spin.selectAll()
    qtbot.keyClicks(spin, "9")
    filled.session.undo()
    assert statement(filled) == {"retention_probability": 0.6}
    assert editor_of(filled).terms.value == "retention"
    assert editor_of(filled).terms.cards["gamma"].text() == "γ = 7"
    filled.session.redo()
    assert statement(filled)["gamma"] == pytest.approx(7.0)
    assert spin.value() == pytest.approx(7.0)


def test_stating_the_term_in_sight_again_changes_nothing(qtbot, filled):
    before = filled.session.document
    qtbot.mouseClick(editor_of(filled).terms.cards["retention"], LEFT)
    assert filled.session.document is before


def test_dragging_the_slider_is_one_edit(qtbot, filled):
    slider = editor_of(filled).fields["retention_probability"].slider
    slider.setSliderDown(True)
    for position in (500, 400, 300):
        slider.setSliderPosition(position)
    slider.setSliderDown(False)
    assert statement(filled) == {"retention_probability": 0.3}
    assert filled.session.undo_text == "Change the trust in Clinic A"
    filled.session.undo()
    assert statement(filled) == {"retention_probability": 0.6}


def test_two_drags_are_two_edits(filled):
    slider = editor_of(filled).fields["retention_probability"].slider
    for position in (500, 300):
        slider.setSliderDown(True)
        slider.setSliderPosition(position)
        slider.setSliderDown(False)
    filled.session.undo()
    assert statement(filled) == {"retention_probability": 0.5}


@pytest.mark.slow
def test_limits_that_don_t_fit_are_refused_at_their_fields(qtbot, filled):
    qtbot.mouseClick(editor_of(filled).terms.cards["rho"], LEFT)
    before = statement(filled)
    fields = editor_of(filled).fields
    fields["rho2"].spin.setValue(0.05)
    assert "ρ1 smaller than ρ2" in editor_of(filled).problem
    assert fields["rho2"].spin.property("invalid")
    assert statement(filled) == before
    fields["rho2"].spin.setValue(0.5)
    assert editor_of(filled).problem == ""
    assert not fields["rho2"].spin.property("invalid")
    assert statement(filled) == {"rho1": 0.1, "rho2": 0.5}


def test_the_meaning_is_computed_from_the_matrix(filled):
    texts = editor_of(filled).meaning.texts
    assert "at most 7" in texts[0]
    assert texts[1].startswith("70")
    assert "From 400 records" in texts[2]


def test_a_recipient_is_chosen_in_the_table_or_on_the_ladder(qtbot, filled):
    filled.page.recipients.table.selectRow(2)
    assert "Public" in filled.page._level_title.text()
    ladder = filled.page.ladder
    place = QPoint(60, round(ladder.y_of(0.3)))
    qtbot.mouseClick(ladder, LEFT, pos=place)
    assert "Institute" in filled.page._level_title.text()
    assert filled.page.recipients.table.currentIndex().row() == 1


def test_dragging_a_rung_is_one_edit(qtbot, filled):
    ladder = filled.page.ladder
    start = QPoint(60, round(ladder.y_of(0.6)))
    qtbot.mousePress(ladder, LEFT, pos=start)
    for trust in (0.7, 0.75, 0.8):
        qtbot.mouseMove(ladder, QPoint(60, round(ladder.y_of(trust))))
    qtbot.mouseRelease(ladder, LEFT, pos=QPoint(60, round(ladder.y_of(0.8))))
    assert statement(filled)["retention_probability"] == pytest.approx(0.8, abs=0.01)
    filled.session.undo()
    assert statement(filled) == {"retention_probability": 0.6}


def test_a_dragged_rung_keeps_its_term(qtbot, filled):
    qtbot.mouseClick(editor_of(filled).terms.cards["epsilon"], LEFT)
    filled.page.ladder.dragged.emit("Clinic A", 0.5)
    assert list(statement(filled)) == ["epsilon"]
    assert editor_of(filled).terms.cards["retention"].text() == "p = 0.5"


def test_the_ladder_answers_to_the_keyboard(qtbot, filled):
    ladder = filled.page.ladder
    ladder.setFocus()
    qtbot.keyClick(ladder, Qt.Key.Key_Down)
    assert "Institute" in filled.page._level_title.text()
    qtbot.keyClick(ladder, Qt.Key.Key_Plus)
    assert statement(filled, "Institute")["retention_probability"] > 0.3
    qtbot.keyClick(ladder, Qt.Key.Key_Minus)
    assert statement(filled, "Institute")["retention_probability"] == pytest.approx(0.3, abs=2e-3)


def test_the_ladder_can_be_logarithmic(filled):
    ladder = filled.page.ladder
    linear = ladder.y_of(0.1)
    ladder.set_logarithmic(True)
    assert ladder.y_of(0.1) < linear
    assert ladder.trust_at(ladder.y_of(0.05)) == pytest.approx(0.05)
    assert "Public: p = 0.1" in ladder.accessibleDescription()


def test_a_missing_level_is_offered(qtbot, filled):
    document = filled.session.document
    bare = replace(document.recipients[0], statements={})
    filled.session.edit("x", replace(document, recipients=(bare, *document.recipients[1:])))
    assert filled.state() is PanelState.IN_PROGRESS
    qtbot.mouseClick(filled.page._level_missing, LEFT)
    assert statement(filled) == {"rho1": 0.1, "rho2": 0.25}
    assert state_once_checked(qtbot, filled) is PanelState.DONE


def test_what_a_level_is_worth_follows_the_slider_and_worthless_is_a_danger(filled):
    slider = editor_of(filled).fields["retention_probability"].slider
    told = []
    slider.setSliderDown(True)
    for position in (900, 300, 10):
        slider.setSliderPosition(position)
        told.append(filled.page.worth.words)
    slider.setSliderDown(False)
    assert len(set(told)) == 3
    assert all("true record" in words for words in told)
    assert told[-1].startswith("Worthless: ")
