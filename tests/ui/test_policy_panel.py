"""The Policy panel, through the widgets a person uses: attributes, mechanisms, recipients."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QEvent, QPoint, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QImage
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QLineEdit, QPushButton

from sfumato.analysis.planning.plan import PlanStep, SafePlan
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import all_mechanisms
from sfumato.engine.table.table import Table
from sfumato.project.document.edits import with_spacing
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.look.theme import Appearance, TextSize, font, themes
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.policy import PANEL
from sfumato.ui.panels.policy.lists import FIGURE, NAME, EntryList, Item
from sfumato.ui.panels.policy.mechanisms import all_editors
from sfumato.ui.panels.policy.mechanisms.base import LevelEditor
from sfumato.ui.panels.policy.mechanisms.effects import draw_effect
from sfumato.ui.panels.policy.whole_plan import PlanDialog
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.widgets.messages import MessageKind
from sfumato.ui.widgets.painted import lines_of, painter_on
from tests.in_batches import in_batches
from tests.ui.clinic import clinic_document, clinic_table, open_clinic, protected, wait_for_jobs
from tests.ui.hands import dialog_of, on_screen, press
from tests.ui.policy_steps import (
    editor_of,
    names,
    state_once_checked,
    statement,
    type_name,
)

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 900)


@pytest.fixture
def filled(panel):
    open_clinic(panel.session, protected())
    return panel


# ----- from nothing to a policy


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_whole_plan_is_one_click_says_what_it_comes_to_and_is_undone_at_once(qtbot, panel):
    open_clinic(panel.session, clinic_document())
    before = panel.session.document
    qtbot.mouseClick(panel.plan.button, LEFT)
    wait_for_jobs(qtbot, panel.session)
    document = panel.session.document
    assert [each.name for each in document.recipients][-1] == "Public file"
    assert document.entry_for("disease") is not None
    [message] = panel.messages.messages
    assert "Without this plan nothing could be released." in message.text
    message.actions[0].run()
    dialog = dialog_of(panel.window(), PlanDialog)
    told = "\n".join(each.text() for each in dialog.findChildren(QLabel))
    assert "disease: " in told
    assert "Public file: “disease” is worth" in told
    press(dialog, "Undo the plan")
    assert panel.session.document == before
    assert not dialog.isVisible()


@pytest.mark.slow
def test_what_a_plan_left_out_and_nobody_else_knows_is_ticked_and_leaves_randomised(qtbot, panel):
    frame = clinic_table().frame
    random = np.random.default_rng(7)
    mixed = {name: random.permutation(frame[name]) for name in frame}
    open_clinic(panel.session, clinic_document(), Table(pd.DataFrame(mixed)))
    session, out = panel.session, "ward"
    spec = replace(session.document.column(out), role=Role.IDENTIFYING)
    session.edit("Leave it out", session.document.with_column(spec))
    qtbot.mouseClick(panel.plan.button, LEFT)
    wait_for_jobs(qtbot, session)
    planned = session.document
    step = PlanStep(Sentence("Left out: {columns}.", columns=out), left_out=(out, "name"))
    panel.plan.show_plan(SafePlan(planned, (step,), (), (), ()))
    dialog = dialog_of(panel.window(), PlanDialog)
    again = next(each for each in dialog.findChildren(QPushButton) if "Randomise" in each.text())
    assert not again.isEnabled(), "nothing is ticked yet"
    box = next(each for each in dialog.findChildren(QCheckBox) if out in each.text())
    qtbot.mouseClick(box, LEFT)
    assert box.isChecked()
    press(dialog, "Randomise columns")
    wait_for_jobs(qtbot, session)
    assert session.document.column(out).role is Role.SENSITIVE
    assert session.document.entry_for(out) is not None
    assert session.document.column("name") == planned.column("name")
    assert session.undo_text == "Randomise columns"


@pytest.mark.slow
def test_the_board_of_a_table_that_was_just_opened_is_filled_once(qtbot, panel):
    session = panel.session
    open_clinic(session, clinic_document())
    panel.activate()
    assert not session.runner.jobs, "a project that was left blank stays so"
    session.unplanned = session.surveyed
    panel.activate()
    wait_for_jobs(qtbot, session)
    kinds = ["Trusted partner", "Contract recipient", "Public file"]
    assert names(panel) == kinds
    assert session.undo_text == "Fill the board"
    assert not any(each.standing for each in session.steps.found)
    session.undo()
    assert not session.document.recipients
    panel.activate()
    assert not session.runner.jobs, "whoever took the plan back is not asked again"


@pytest.mark.slow
def test_whoever_begins_while_the_board_is_filled_keeps_what_they_did(qtbot, panel):
    session = panel.session
    open_clinic(session, clinic_document())
    session.unplanned = session.surveyed
    panel.activate()
    session.edit("Mine", protected())
    wait_for_jobs(qtbot, session)
    assert session.document == protected()
    assert panel.messages.messages == ()


@pytest.mark.slow
def test_a_plan_that_lacks_nothing_says_so(qtbot, panel):
    open_clinic(panel.session, clinic_document())
    for _ in range(2):
        qtbot.mouseClick(panel.plan.button, LEFT)
        wait_for_jobs(qtbot, panel.session)
    assert panel.messages.messages[-1].kind is MessageKind.INFO


@pytest.mark.slow
def test_a_plan_is_offered_for_releases_of_a_table_alone(panel):
    assert not panel.plan.button.isVisible()
    open_clinic(panel.session, clinic_document())
    assert panel.plan.button.isVisible()
    panel.ways.segments.button_for("generalized").click()
    assert not panel.plan.button.isVisible()


def test_without_a_table_it_points_to_the_data_alone(qtbot, panel):
    assert panel.state() is PanelState.EMPTY
    assert not panel.nothing.isVisible()
    assert not panel.board.add.isVisible()
    with qtbot.waitSignal(panel.session.panel_requested) as asked:
        qtbot.mouseClick(panel.board.empty.findChild(QPushButton), LEFT)
    assert asked.args == ["data"]


def test_without_a_sensitive_attribute_it_points_to_the_attributes(qtbot, panel):
    plain = tuple(replace(each, role=Role.INSENSITIVE) for each in clinic_document().columns)
    open_clinic(panel.session, clinic_document(columns=plain))
    with qtbot.waitSignal(panel.session.panel_requested) as asked:
        qtbot.mouseClick(panel.nothing.findChild(QPushButton), LEFT)
    assert asked.args == ["attributes"]


def test_a_sensitive_attribute_is_protected_by_one_click_that_can_be_undone(qtbot, panel):
    open_clinic(panel.session, clinic_document())
    assert panel.state() is PanelState.IN_PROGRESS
    assert "“disease” is not protected yet" in panel.content.currentWidget().heading.text()
    qtbot.mouseClick(panel.unprotected.protect, LEFT)
    assert panel.session.document.policy == (PolicyEntry(("disease",), "uniform"),)
    assert panel.page.isVisible()
    panel.session.undo()
    assert panel.session.document.policy == ()


@pytest.mark.slow
def test_where_several_mechanisms_suit_each_is_offered(qtbot, panel, monkeypatch):
    both = (("uniform", "Uniform retention"), ("matrix", "Another"))
    monkeypatch.setattr("sfumato.ui.panels.policy.panel.suitable", lambda _attributes: both)
    open_clinic(panel.session, clinic_document())
    assert not panel.unprotected.protect.isVisible()
    first, second = panel.unprotected.cards
    assert second.text() == "State every probability"
    assert second.sentence.startswith("Another. ")
    assert first.sentence.startswith("Uniform retention. Each value is kept with a retention")
    assert first.text() == "Replace at random (recommended)"
    assert "Uniform retention: worth " in first.sentence
    assert "With ε = 3.3 for a row, in true records:" in first.sentence
    qtbot.mouseClick(second, LEFT)
    assert [entry.mechanism for entry in panel.session.document.policy] == ["matrix"]


def test_every_mechanism_shows_what_it_does_by_a_plain_name_and_a_drawing(themed):
    drawn = set()
    for editor in all_editors().values():
        assert editor.plain_name, editor
        assert editor.effect is not None, editor
        picture = QImage(128, 88, QImage.Format.Format_ARGB32)
        picture.fill(Qt.GlobalColor.transparent)
        draw_effect(painter_on(picture), editor.effect, QRectF(picture.rect()))
        drawn.add(bytes(picture.constBits()))
    assert len(drawn) == len(all_editors())


@pytest.mark.slow
@pytest.mark.turns(1)
def test_three_typical_recipients_stand_at_the_presets(qtbot, panel):
    open_clinic(panel.session, protected({}))
    assert panel.state() is PanelState.IN_PROGRESS
    qtbot.mouseClick(panel.page.recipients.add_typical, LEFT)
    assert names(panel) == ["Trusted partner", "Contract recipient", "Public"]
    assert [card.isChecked() for card in editor_of(panel).choices.cards.values()] == [
        True,
        False,
        False,
    ]
    assert state_once_checked(qtbot, panel) is PanelState.DONE
    panel.session.undo()
    assert names(panel) == []


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_new_recipient_starts_at_the_lowest_preset_and_is_named_at_once(qtbot, filled):
    qtbot.mouseClick(filled.board.add, LEFT)
    type_name(qtbot, filled, "University")
    assert names(filled) == ["Clinic A", "Institute", "Public", "University"]
    assert statement(filled, "University") == {"rho1": 0.1, "rho2": 0.25}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "said"), [("public", "is already a recipient"), (" ", "needs a name")]
)
def test_a_name_that_can_t_be_is_refused_at_the_table(qtbot, filled, typed, said):
    filled.page.recipients.table.edit_name("Clinic A")
    type_name(qtbot, filled, typed)
    assert names(filled)[0] == "Clinic A"
    assert said in filled.page.recipients.problem


def test_a_recipient_for_whom_levels_lie_too_far_apart_is_refused(filled):
    document = filled.session.document
    more = 11 - len(document.recipients)
    others = tuple(replace(document.recipients[0], name=f"R{i}") for i in range(more))
    document = replace(document, recipients=(*document.recipients, *others))
    filled.session.edit("", with_spacing(document, 0.05))
    before = filled.session.document
    filled.board.add.click()
    assert filled.session.document is before
    assert "the last of 12 recipients" in filled.messages.messages[-1].text


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


@pytest.mark.slow
def test_a_message_offers_to_undo_the_last_edit_only(qtbot, filled):
    qtbot.keyClick(filled.page.recipients.table, Qt.Key.Key_Delete)
    assert [message.text for message in filled.messages.messages] == ["Clinic A was removed."]
    filled.session.edit("Another", replace(filled.session.document, title="Another"))
    assert filled.messages.messages == ()
    filled.session.undo()
    qtbot.keyClick(filled.page.recipients.table, Qt.Key.Key_Delete)
    assert len(filled.messages.messages) == 1
    filled.session.undo()
    assert filled.messages.messages == ()


@pytest.mark.slow
def test_the_switch_keeps_its_place_on_both_ways(qtbot, filled):
    assert filled.board.add.isVisible()

    def place():
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        return filled.ways.segments.mapTo(filled, QPoint(0, 0)), filled.ways.pos()

    before = place()
    filled.ways.show_way("generalized")
    assert not filled.board.add.isVisible()
    assert place() == before


@pytest.mark.slow
def test_a_note_is_kept(qtbot, filled):
    qtbot.keyClicks(filled.page.note, "contract 17")
    qtbot.keyClick(filled.page.note, Qt.Key.Key_Return)
    assert filled.session.document.recipient("Clinic A").note == "contract 17"


@pytest.mark.slow
@pytest.mark.parametrize("field", ["note", "level"])
def test_what_is_half_typed_is_dropped_when_another_table_is_opened(qtbot, filled, field):
    level = next(iter(editor_of(filled).fields.values())).spin
    typed_into = filled.page.note if field == "note" else level
    typed_into.setFocus()
    typed_into.selectAll()
    qtbot.keyClicks(typed_into, "0")
    open_clinic(filled.session, clinic_document())
    wait_for_jobs(qtbot, filled.session)
    assert filled.session.document == clinic_document()
    assert filled.session.undo_text == "Open clinic"


# ----- several attributes, and things that don't fit


def two_attributes():
    columns = tuple(
        replace(column, role=Role.SENSITIVE, domain=Domain(("north", "south")))
        if column.name == "ward"
        else column
        for column in clinic_document().columns
    )
    return protected(columns=columns)


@pytest.mark.slow
def test_a_second_attribute_starts_with_each_recipient_s_levels_of_the_first(qtbot, panel):
    open_clinic(panel.session, two_attributes())
    assert panel.state() is PanelState.IN_PROGRESS
    panel.list.setCurrentRow(1)
    qtbot.mouseClick(panel.unprotected.protect, LEFT)
    assert statement(panel, "Institute", "ward") == {"retention_probability": 0.3}
    # In this table the age gives the ward away, so the check has something to say.
    assert state_once_checked(qtbot, panel) is PanelState.ATTENTION
    assert "age determines ward" in panel.step().words


def test_protection_is_taken_away_with_its_levels(qtbot, filled):
    qtbot.mouseClick(filled.page.remove, LEFT)
    assert filled.session.document.policy == ()
    assert [r.statements for r in filled.session.document.recipients] == [{}, {}, {}]
    filled.session.undo()
    assert statement(filled) == {"retention_probability": 0.6}


def test_an_attribute_that_is_not_sensitive_any_more_needs_attention(qtbot, filled):
    document = filled.session.document
    column = replace(document.column("disease"), role=Role.INSENSITIVE)
    filled.session.edit("x", document.with_column(column))
    assert filled.state() is PanelState.ATTENTION
    assert "no longer sensitive" in filled.misfit.heading.text()
    qtbot.mouseClick(filled.misfit.drop, LEFT)
    assert filled.session.document.policy == ()


@pytest.mark.slow
def test_an_attribute_that_does_not_fit_its_domain_needs_attention(filled):
    document = filled.session.document
    column = replace(document.column("disease"), domain=Domain(("flu", "none")))
    filled.session.edit("x", document.with_column(column))
    assert filled.state() is PanelState.ATTENTION
    assert "outside its domain" in filled.misfit.text.text()


@pytest.mark.slow
def test_a_level_that_can_t_be_met_needs_attention(filled):
    document = filled.session.document
    wrong = Recipient("Wrong", {"disease": {"rho1": 0.5, "rho2": 0.2}})
    filled.session.edit("x", replace(document, recipients=(wrong,)))
    assert filled.state() is PanelState.ATTENTION
    assert filled.page.recipients.model.rows[0].figure == "not valid"
    assert "ρ1 smaller than ρ2" in editor_of(filled).problem


@pytest.mark.slow
def test_a_level_in_an_unknown_term_is_shown_as_such(filled):
    document = filled.session.document
    strange = Recipient("Strange", {"disease": {"sigma": 2.0}})
    filled.session.edit("x", replace(document, recipients=(strange,)))
    assert filled.page.recipients.model.rows[0].level == "not known to this version"
    assert filled.state() is PanelState.ATTENTION


def test_an_attribute_that_no_mechanism_suits_can_be_read_otherwise(panel, monkeypatch):
    monkeypatch.setattr("sfumato.ui.panels.policy.entry_page.all_mechanisms", dict)
    document = clinic_document()
    columns = (
        *(c for c in document.columns if c.name == "name"),
        ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC),
        *(c for c in document.columns if c.name in ("disease", "ward")),
    )
    open_clinic(panel.session, replace(document, columns=columns))
    assert not panel.unprotected.protect.isEnabled()
    assert "under Attributes" in panel.unprotected.text.text()


@pytest.mark.slow
def test_a_large_table_is_waited_for(qtbot, panel, monkeypatch):
    monkeypatch.setattr("sfumato.ui.state.insights.ROWS_AT_ONCE", 10)
    open_clinic(panel.session, protected())
    assert panel.content.currentWidget() is panel.waiting
    wait_for_jobs(qtbot, panel.session)
    assert panel.content.currentWidget() is panel._scroll


@pytest.mark.slow
def test_ladder_and_recipients_stand_below_one_another_where_it_is_narrow(qtbot, filled):
    assert filled.page._middle.side_by_side
    filled.resize(620, 700)
    qtbot.waitUntil(lambda: not filled.page._middle.side_by_side)
    qtbot.waitUntil(lambda: filled.page.width() <= filled._scroll.viewport().width())


@pytest.mark.slow
def test_everything_is_drawn_in_the_dark_too(themed, filled):
    light = filled.grab().toImage()
    themes().set_appearance(Appearance.DARK)
    dark = filled.grab().toImage()
    themes().set_appearance(Appearance.LIGHT)
    middle = QPoint(5, 5)
    assert light.pixelColor(middle).lightness() > 200 > 60 > dark.pixelColor(middle).lightness()


@pytest.mark.slow
def test_controls_have_names_for_those_who_listen(filled):
    page = filled.page
    named = (page.mechanism, page.remove, page.ladder, page.note, page.recipients.table)
    assert all(widget.accessibleName() for widget in (*named, filled.list))
    assert all(card.text() for card in editor_of(filled).choices.cards.values())


def test_every_mechanism_has_its_editor():
    assert all_editors().keys() == all_mechanisms().keys()
    for name, editor in all_editors().items():
        assert issubclass(editor, LevelEditor)
        assert editor.mechanism == name


def test_choosing_a_mechanism_that_can_t_serve_says_why(filled, monkeypatch):
    document = filled.session.document
    one = replace(document.column("disease"), domain=Domain(("flu",)))
    table = clinic_table()
    frame = table.frame.assign(disease="flu")
    filled.session.open_table(
        "x",
        SurveyedTable.of(in_batches(type(table)(frame))),
        replace(document.with_column(one), policy=()),
    )
    filled._choose_mechanism("uniform")
    (message,) = filled.messages.messages
    assert message.kind is MessageKind.DANGER
    assert "single value" in message.text


# ----- what is in sight


@pytest.mark.slow
def test_a_new_recipient_comes_into_sight_with_their_name_open(qtbot, filled):
    filled.resize(900, 420)
    qtbot.mouseClick(filled.board.add, LEFT)
    table = filled.page.recipients.table
    name = table.findChild(QLineEdit)
    window = filled._scroll.viewport()
    assert window.rect().contains(name.mapTo(window, name.rect().center()))


@pytest.mark.slow
def test_a_chosen_mechanism_is_read_from_the_top(qtbot, panel):
    open_clinic(panel.session, clinic_document())
    panel.resize(900, 420)
    card = panel.unprotected.protect
    card.setFocus()
    qtbot.mouseClick(card, LEFT)
    assert panel._scroll.verticalScrollBar().value() == 0
    assert panel.page.mechanism.hasFocus()


@pytest.mark.slow
def test_names_of_recipients_stay_whole_in_a_narrow_table_and_figures_return_in_a_wide_one(
    qtbot, filled
):
    table = filled.page.recipients.table
    filled.session.edit(
        "Rename",
        replace(
            filled.session.document,
            recipients=tuple(
                replace(recipient, name=f"Landesgesundheitsamt {place}")
                for place, recipient in enumerate(filled.session.document.recipients)
            ),
        ),
    )
    table.setFixedWidth(280)
    QApplication.processEvents()
    assert table.isColumnHidden(FIGURE)
    longest = table.fontMetrics().horizontalAdvance("Landesgesundheitsamt")
    assert table.columnWidth(NAME) > longest
    for width in range(280, 480):  # whatever is said of the rows, figures don't come and go
        table.setFixedWidth(width)
        QApplication.processEvents()
        hidden = table.isColumnHidden(FIGURE)
        table.model().dataChanged.emit(table.model().index(0, 0), table.model().index(0, 0))
        assert table.isColumnHidden(FIGURE) == hidden
    table.setFixedWidth(480)
    QApplication.processEvents()
    assert not table.isColumnHidden(FIGURE)


def test_a_long_name_of_what_protects_has_a_line_more(qtbot):
    shown = on_screen(qtbot, EntryList(), 160, 300)
    notes = ("Laplace noise", "Gleichverteilte Ersetzung")
    shown.show_items([Item(n[:1], n, "step-done", "good") for n in notes], "")
    short, long = (shown.visualItemRect(shown.item(place)).height() for place in (0, 1))
    face = font(TextSize.SMALL)
    assert long - short == ceil(QFontMetricsF(face).lineSpacing())
    lines = lines_of(notes[1], face, 120)
    assert lines == ["Gleichverteilte", "Ersetzung"]
    assert lines_of(notes[1], face, 1) == lines
    assert lines_of(notes[1], face, 300) == [notes[1]]
