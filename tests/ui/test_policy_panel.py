"""The Policy panel, through the widgets a person uses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtWidgets import QLineEdit

from app.engine.columns import ColumnSpec, Domain, Kind, Role
from app.project.model import PolicyEntry, Recipient
from app.ui.messages import MessageKind
from app.ui.panels.base import PanelState
from app.ui.panels.policy import PANEL
from app.ui.panels.policy.editors import all_editors
from app.ui.panels.policy.editors.base import LevelEditor
from app.ui.theme import Appearance, themes
from tests.ui.clinic import clinic_document, clinic_table, open_clinic, protected, wait_for_jobs

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot, session):
    made = PANEL(session)
    qtbot.addWidget(made)
    made.resize(900, 900)
    made.show()
    return made


@pytest.fixture
def filled(panel):
    open_clinic(panel.session, protected())
    return panel


def statement(panel, name="Clinic A", key="disease"):
    return panel.session.document.recipient(name).statements[key]


def names(panel):
    return [recipient.name for recipient in panel.session.document.recipients]


def type_name(qtbot, panel, text):
    editor = panel.page.recipients.table.findChild(QLineEdit)
    editor.selectAll()
    qtbot.keyClicks(editor, text)
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    for _ in range(3):  # the table closes its editor, then asks for the name
        QCoreApplication.processEvents()


def editor_of(panel):
    return panel.page.editor


def page_of_term(panel):
    return editor_of(panel)._pages.currentWidget()


# ----- from nothing to a policy


def test_without_a_sensitive_attribute_it_points_to_the_attributes(qtbot, panel):
    assert panel.state() is PanelState.EMPTY
    with qtbot.waitSignal(panel.session.panel_requested) as asked:
        qtbot.mouseClick(panel.nothing.go, LEFT)
    assert asked.args == ["attributes"]
    assert not panel.primary.isVisible()


def test_a_sensitive_attribute_is_protected_by_one_click_that_can_be_undone(qtbot, panel):
    open_clinic(panel.session, clinic_document())
    assert panel.state() is PanelState.IN_PROGRESS
    assert "disease is not protected yet" in panel.content.currentWidget().heading.text()
    qtbot.mouseClick(panel.unprotected.protect, LEFT)
    assert panel.session.document.policy == (PolicyEntry(("disease",), "uniform"),)
    assert panel.page.isVisible()
    panel.session.undo()
    assert panel.session.document.policy == ()


def test_three_typical_recipients_stand_at_the_presets(qtbot, panel):
    open_clinic(panel.session, protected({}))
    assert panel.state() is PanelState.IN_PROGRESS
    qtbot.mouseClick(panel.page.recipients.add_typical, LEFT)
    assert names(panel) == ["Trusted partner", "Contract recipient", "Public"]
    assert [card.isChecked() for card in editor_of(panel)._presets.cards] == [True, False, False]
    assert panel.state() is PanelState.DONE
    panel.session.undo()
    assert names(panel) == []


def test_a_new_recipient_starts_at_the_lowest_preset_and_is_named_at_once(qtbot, filled):
    qtbot.mouseClick(filled.primary, LEFT)
    type_name(qtbot, filled, "University")
    assert names(filled) == ["Clinic A", "Institute", "Public", "University"]
    assert statement(filled, "University") == {"rho1": 0.1, "rho2": 0.25}


@pytest.mark.parametrize(
    ("typed", "said"), [("public", "is a recipient already"), (" ", "needs a name")]
)
def test_a_name_that_can_t_be_is_refused_at_the_table(qtbot, filled, typed, said):
    filled.page.recipients.table.edit_name("Clinic A")
    type_name(qtbot, filled, typed)
    assert names(filled)[0] == "Clinic A"
    assert said in filled.page.recipients.problem


def test_renaming_is_undone_by_its_name(qtbot, filled):
    filled.page.recipients.table.edit_name("Clinic A")
    type_name(qtbot, filled, "Clinic B")
    assert names(filled)[0] == "Clinic B"
    assert filled.session.undo_text == "Rename Clinic A to Clinic B"


def test_recipients_are_moved_and_removed(qtbot, filled):
    card = filled.page.recipients
    qtbot.mouseClick(card.down, LEFT)
    assert names(filled) == ["Institute", "Clinic A", "Public"]
    qtbot.mouseClick(card.up, LEFT)
    assert not card.up.isEnabled()
    qtbot.keyClick(card.table, Qt.Key.Key_Delete)
    assert names(filled) == ["Institute", "Public"]
    (message,) = filled.messages.messages
    assert message.text == "Clinic A was removed."
    message.actions[0].run()
    assert names(filled) == ["Clinic A", "Institute", "Public"]


def test_a_note_is_kept(qtbot, filled):
    qtbot.keyClicks(filled.page.note, "contract 17")
    qtbot.keyClick(filled.page.note, Qt.Key.Key_Return)
    assert filled.session.document.recipient("Clinic A").note == "contract 17"


# ----- levels


def test_a_preset_states_a_level_in_plain_words(qtbot, filled):
    cards = editor_of(filled)._presets.cards
    assert "can rise to 25" in cards[2].sentence
    qtbot.mouseClick(cards[2], LEFT)
    assert statement(filled) == {"rho1": 0.1, "rho2": 0.25}
    qtbot.mouseClick(cards[2], LEFT)
    assert cards[2].isChecked()


def test_every_term_shows_the_same_level(filled):
    tiles = editor_of(filled)._terms
    shown = {name: tiles.tile(name).text() for name in ("retention", "epsilon", "gamma", "rho")}
    assert shown == {
        "retention": "p = 0.6",
        "epsilon": "ε = 1.95",
        "gamma": "γ = 7",
        "rho": "ρ 0.1 → 0.438",
    }


def test_a_level_can_be_stated_in_another_term(qtbot, filled):
    qtbot.mouseClick(editor_of(filled)._terms.tile("gamma"), LEFT)
    assert statement(filled)["gamma"] == pytest.approx(7.0)
    field = page_of_term(filled)._fields["gamma"].field.spin
    field.setValue(9.0)
    assert statement(filled) == {"gamma": 9.0}
    assert editor_of(filled)._terms.tile("retention").text() == "p = 0.667"


def test_stating_the_term_in_sight_again_changes_nothing(qtbot, filled):
    before = filled.session.document
    qtbot.mouseClick(editor_of(filled)._terms.tile("retention"), LEFT)
    assert filled.session.document is before


def test_dragging_the_slider_is_one_edit(qtbot, filled):
    slider = page_of_term(filled)._fields["retention_probability"].slider
    slider.setSliderDown(True)
    for position in (500, 400, 300):
        slider.setSliderPosition(position)
    slider.setSliderDown(False)
    assert statement(filled) == {"retention_probability": 0.3}
    assert filled.session.undo_text == "Change the trust in Clinic A"
    filled.session.undo()
    assert statement(filled) == {"retention_probability": 0.6}


def test_two_drags_are_two_edits(filled):
    slider = page_of_term(filled)._fields["retention_probability"].slider
    for position in (500, 300):
        slider.setSliderDown(True)
        slider.setSliderPosition(position)
        slider.setSliderDown(False)
    filled.session.undo()
    assert statement(filled) == {"retention_probability": 0.5}


def test_limits_that_don_t_fit_are_refused_at_their_fields(qtbot, filled):
    qtbot.mouseClick(editor_of(filled)._terms.tile("rho"), LEFT)
    before = statement(filled)
    fields = page_of_term(filled)._fields
    fields["rho2"].spin.setValue(0.05)
    assert "ρ1 smaller than ρ2" in editor_of(filled).problem
    assert fields["rho2"].spin.property("invalid")
    assert statement(filled) == before
    fields["rho2"].spin.setValue(0.5)
    assert editor_of(filled).problem == ""
    assert not fields["rho2"].spin.property("invalid")
    assert statement(filled) == {"rho1": 0.1, "rho2": 0.5}


def test_the_meaning_is_computed_from_the_matrix(filled):
    texts = [line.text() for line in editor_of(filled)._meaning._lines]
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
    qtbot.mouseClick(editor_of(filled)._terms.tile("epsilon"), LEFT)
    filled.page.ladder.dragged.emit("Clinic A", 0.5)
    assert list(statement(filled)) == ["epsilon"]
    assert editor_of(filled)._terms.tile("retention").text() == "p = 0.5"


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
    assert filled.state() is PanelState.DONE


# ----- several attributes, and things that don't fit


def two_attributes():
    columns = tuple(
        replace(column, role=Role.SENSITIVE, domain=Domain(("north", "south")))
        if column.name == "ward"
        else column
        for column in clinic_document().columns
    )
    return protected(columns=columns)


def test_a_second_attribute_starts_with_each_recipient_s_levels_of_the_first(qtbot, panel):
    open_clinic(panel.session, two_attributes())
    assert panel.state() is PanelState.IN_PROGRESS
    panel.list.setCurrentRow(1)
    qtbot.mouseClick(panel.unprotected.protect, LEFT)
    assert statement(panel, "Institute", "ward") == {"retention_probability": 0.3}
    assert panel.state() is PanelState.DONE


def test_protection_is_taken_away_with_its_levels(qtbot, filled):
    qtbot.mouseClick(filled.page.remove, LEFT)
    assert filled.session.document.policy == ()
    assert all(not r.statements for r in filled.session.document.recipients)
    filled.session.undo()
    assert statement(filled) == {"retention_probability": 0.6}


def test_an_attribute_that_is_not_sensitive_any_more_needs_attention(qtbot, filled):
    document = filled.session.document
    column = replace(document.column("disease"), role=Role.INSENSITIVE)
    filled.session.edit("x", document.with_column(column))
    assert filled.state() is PanelState.ATTENTION
    assert "not sensitive any more" in filled.misfit.heading.text()
    qtbot.mouseClick(filled.misfit.drop, LEFT)
    assert filled.session.document.policy == ()


def test_an_attribute_that_does_not_fit_its_domain_needs_attention(filled):
    document = filled.session.document
    column = replace(document.column("disease"), domain=Domain(("flu", "none")))
    filled.session.edit("x", document.with_column(column))
    assert filled.state() is PanelState.ATTENTION
    assert "outside its domain" in filled.misfit.heading.text()


def test_a_level_that_can_t_be_met_needs_attention(filled):
    document = filled.session.document
    wrong = Recipient("Wrong", {"disease": {"rho1": 0.5, "rho2": 0.2}})
    filled.session.edit("x", replace(document, recipients=(wrong,)))
    assert filled.state() is PanelState.ATTENTION
    assert filled.page.recipients.model.rows[0].odds == "not valid"
    assert "ρ1 smaller than ρ2" in editor_of(filled).problem


def test_a_level_in_an_unknown_term_is_shown_as_such(filled):
    document = filled.session.document
    strange = Recipient("Strange", {"disease": {"sigma": 2.0}})
    filled.session.edit("x", replace(document, recipients=(strange,)))
    assert filled.page.recipients.model.rows[0].level == "not known to this version"
    assert filled.state() is PanelState.ATTENTION


def test_numbers_without_bins_have_no_mechanism_yet(panel):
    document = clinic_document()
    columns = (
        *(c for c in document.columns if c.name == "name"),
        ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC),
        *(c for c in document.columns if c.name in ("disease", "ward")),
    )
    open_clinic(panel.session, replace(document, columns=columns))
    assert not panel.unprotected.protect.isEnabled()
    assert "bins" in panel.unprotected.text.text()


def test_a_large_table_is_waited_for(qtbot, panel, monkeypatch):
    monkeypatch.setattr("app.ui.attributes.ROWS_AT_ONCE", 10)
    open_clinic(panel.session, protected())
    assert panel.content.currentWidget() is panel.waiting
    wait_for_jobs(qtbot, panel.session)
    assert panel.content.currentWidget() is panel._scroll


def test_ladder_and_recipients_stand_below_one_another_where_it_is_narrow(qtbot, filled):
    assert filled.page._middle.side_by_side
    filled.resize(620, 700)
    qtbot.waitUntil(lambda: not filled.page._middle.side_by_side)
    assert filled.page.width() <= filled._scroll.viewport().width()


def test_everything_is_drawn_in_the_dark_too(filled):
    light = filled.grab().toImage()
    themes().set_appearance(Appearance.DARK)
    dark = filled.grab().toImage()
    themes().set_appearance(Appearance.LIGHT)
    middle = QPoint(5, 5)
    assert light.pixelColor(middle).lightness() > 200 > 60 > dark.pixelColor(middle).lightness()


def test_controls_have_names_for_those_who_listen(filled):
    page = filled.page
    named = (page.mechanism, page.remove, page.ladder, page.note, page.recipients.table)
    assert all(widget.accessibleName() for widget in (*named, filled.list))
    assert all(card.text() for card in editor_of(filled)._presets.cards)


def test_every_editor_belongs_to_a_mechanism():
    for name, editor in all_editors().items():
        assert issubclass(editor, LevelEditor)
        assert editor.mechanism == name


def test_choosing_a_mechanism_that_can_t_serve_says_why(filled, monkeypatch):
    document = filled.session.document
    one = replace(document.column("disease"), domain=Domain(("flu",)))
    table = clinic_table()
    frame = table.frame.assign(disease="flu")
    filled.session.open_table(
        "x", type(table)(frame), replace(document.with_column(one), policy=())
    )
    filled._choose_mechanism("uniform")
    (message,) = filled.messages.messages
    assert message.kind is MessageKind.DANGER
    assert "single value" in message.text
