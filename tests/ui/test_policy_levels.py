"""The Policy panel, through the widgets a person uses: levels in every way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.policy import PANEL
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from tests.ui.clinic import clinic_table, open_clinic, protected
from tests.ui.hands import click, explain_first, on_screen
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


def test_a_level_is_told_in_every_term_and_by_what_the_matrix_means(filled):
    tiles = editor_of(filled).terms.cards
    shown = {name: tiles[name].text() for name in ("retention", "epsilon", "gamma", "rho")}
    assert shown == {
        "retention": "p = 0.6",
        "epsilon": "ε = 1.95",
        "gamma": "γ = 7",
        "rho": "ρ 0.1 → 0.438",
    }
    texts = editor_of(filled).meaning.texts
    assert "at most 7" in texts[0]
    assert texts[1].startswith("70")
    assert "From 400 records" in texts[2]
    assert not filled.page.for_all.isVisible(), "there is but one attribute"


def test_a_level_is_stated_in_another_term_and_not_again_in_that_in_sight(qtbot, filled):
    before = filled.session.document
    qtbot.mouseClick(editor_of(filled).terms.cards["retention"], LEFT)
    assert filled.session.document is before
    qtbot.mouseClick(editor_of(filled).terms.cards["gamma"], LEFT)
    assert statement(filled)["gamma"] == pytest.approx(7.0)
    field = editor_of(filled).fields["gamma"].field.spin
    field.setValue(9.0)
    assert statement(filled) == {"gamma": 9.0}
    assert editor_of(filled).terms.cards["retention"].text() == "p = 0.667"


@pytest.mark.slow
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


def test_each_drag_of_the_slider_is_one_edit(qtbot, filled):
    slider = editor_of(filled).fields["retention_probability"].slider
    slider.setSliderDown(True)
    for position in (500, 400, 300):
        slider.setSliderPosition(position)
    slider.setSliderDown(False)
    assert statement(filled) == {"retention_probability": 0.3}
    assert filled.session.undo_text == "Change the trust in Clinic A"
    filled.session.undo()
    assert statement(filled) == {"retention_probability": 0.6}
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


def test_a_recipient_is_chosen_in_the_table_or_on_the_ladder_of_either_scale(qtbot, filled):
    filled.page.recipients.table.selectRow(2)
    assert "Public" in filled.page._level_title.text()
    ladder = filled.page.ladder
    place = QPoint(60, round(ladder.y_of(0.3)))
    qtbot.mouseClick(ladder, LEFT, pos=place)
    assert "Institute" in filled.page._level_title.text()
    assert filled.page.recipients.table.currentIndex().row() == 1
    linear = ladder.y_of(0.1)
    ladder.set_logarithmic(True)
    assert ladder.y_of(0.1) < linear
    assert ladder.trust_at(ladder.y_of(0.05)) == pytest.approx(0.05)
    assert "Public: p = 0.1" in ladder.accessibleDescription()


def test_dragging_a_rung_is_one_edit_that_keeps_the_term(qtbot, filled):
    ladder = filled.page.ladder
    start = QPoint(60, round(ladder.y_of(0.6)))
    qtbot.mousePress(ladder, LEFT, pos=start)
    for trust in (0.7, 0.75, 0.8):
        qtbot.mouseMove(ladder, QPoint(60, round(ladder.y_of(trust))))
    qtbot.mouseRelease(ladder, LEFT, pos=QPoint(60, round(ladder.y_of(0.8))))
    assert statement(filled)["retention_probability"] == pytest.approx(0.8, abs=0.01)
    filled.session.undo()
    assert statement(filled) == {"retention_probability": 0.6}
    qtbot.mouseClick(editor_of(filled).terms.cards["epsilon"], LEFT)
    filled.page.ladder.dragged.emit("Clinic A", 0.5)
    assert list(statement(filled)) == ["epsilon"]
    assert editor_of(filled).terms.cards["retention"].text() == "p = 0.5"


@pytest.mark.slow
def test_the_ladder_answers_to_the_keyboard(qtbot, filled):
    ladder = filled.page.ladder
    ladder.setFocus()
    qtbot.keyClick(ladder, Qt.Key.Key_Down)
    assert "Institute" in filled.page._level_title.text()
    qtbot.keyClick(ladder, Qt.Key.Key_Plus)
    assert statement(filled, "Institute")["retention_probability"] > 0.3
    qtbot.keyClick(ladder, Qt.Key.Key_Minus)
    assert statement(filled, "Institute")["retention_probability"] == pytest.approx(0.3, abs=2e-3)


@pytest.mark.slow
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


def several(noise):
    """The clinic's table and document with three protected attributes, one of them of numbers."""
    table = clinic_table()
    frame = table.frame.assign(cost=np.arange(table.rows) * 1.5)
    document = protected()
    columns = (
        *(c for c in document.columns if c.name != "ward"),
        ColumnSpec("ward", Role.SENSITIVE, Kind.CATEGORICAL),
        ColumnSpec("cost", Role.SENSITIVE, Kind.NUMERIC),
    )
    gaussian = mechanism_called("gaussian")
    cost = encode_column(Table(frame), columns[-1]).attribute
    policy = (
        *document.policy,
        PolicyEntry(("ward",), "uniform"),
        PolicyEntry(("cost",), "gaussian", gaussian.first_settings((cost,), noise)),
    )
    recipients = tuple(
        replace(
            r, statements={**r.statements, "ward": {"epsilon": 0.5}, "cost": {"sigma_squared": 9.0}}
        )
        for r in document.recipients
    )
    changed = replace(document, columns=columns, policy=policy, recipients=recipients)
    return Table(frame), changed


@pytest.mark.slow
@pytest.mark.turns(1)
def test_one_click_gives_the_same_trust_for_every_attribute_and_one_is_changed_after(panel, qtbot):
    table, document = several(panel.session.noise)
    open_clinic(panel.session, document, table)
    click(panel.page.for_all)
    assert statement(panel, key="ward") == {"retention_probability": 0.6}
    # Numbers get the level of the same trust: 1/(1 + σ²) = 0.6.
    assert statement(panel, key="cost")["sigma_squared"] == pytest.approx(0.4 / 0.6, rel=0.01)
    assert statement(panel, "Public", "ward") == {"epsilon": 0.5}
    panel.session.undo()
    assert statement(panel, key="ward") == {"epsilon": 0.5}
    panel.session.redo()
    panel.choose("ward")
    panel.page.ladder.setFocus()
    qtbot.keyClick(panel.page.ladder, Qt.Key.Key_Minus)
    assert statement(panel, key="ward")["retention_probability"] < 0.6
    assert statement(panel) == {"retention_probability": 0.6}


@pytest.mark.slow
@pytest.mark.parametrize("chosen", ["Clinic A", "Institute"])
def test_of_two_rungs_at_one_level_the_chosen_recipients_moves(panel, qtbot, chosen):
    open_clinic(panel.session, protected({"Clinic A": 0.4, "Institute": 0.4, "Public": 0.1}))
    names = [recipient.name for recipient in panel.session.document.recipients]
    panel.page.recipients.table.selectRow(names.index(chosen))
    ladder = panel.page.ladder
    qtbot.mousePress(ladder, LEFT, pos=QPoint(60, round(ladder.y_of(0.4))))
    for trust in (0.5, 0.6, 0.7):
        qtbot.mouseMove(ladder, QPoint(60, round(ladder.y_of(trust))))
    qtbot.mouseRelease(ladder, LEFT, pos=QPoint(60, round(ladder.y_of(0.7))))
    levels = {name: statement(panel, name)["retention_probability"] for name in names}
    assert levels.pop(chosen) == pytest.approx(0.7, abs=0.01)
    assert sorted(levels.values()) == [0.1, 0.4]


def test_the_guarantee_adds_up_what_all_attributes_tell_the_recipient_chosen(session, qtbot):
    card = GuaranteeCard(session)
    qtbot.addWidget(card)
    table, document = several(session.noise)
    open_clinic(session, document, table)
    explain_first(qtbot, card)
    qtbot.waitUntil(lambda: "All attributes" in card.text())
    # Four diseases at p = 0.6, two wards at ε = 0.5; the cost is protected by noise.
    total = np.log(1 + 4 * 0.6 / 0.4) + 0.5
    told = next(line for line in card.text().splitlines() if "disease and ward together" in line)
    assert f"ε = {np.ceil(10 * total) / 10:g}" in told
    assert "Not counted, as noise bounds no odds: cost." in told
    card.explain("Public")
    assert told not in card.text()
    assert "disease and ward together" in card.text()
