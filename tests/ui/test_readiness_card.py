"""The check before a release, through the widgets a person uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from sfumato.analysis.coarsening.views import find_views, with_proposed_hierarchies, with_statement
from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.errors import Way
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.releases import PANEL, readiness_card
from sfumato.ui.state.steps import CHECK
from sfumato.ui.widgets.layout import ElidedButton, boxed
from sfumato.ui.widgets.responsive import FlowLayout
from tests.in_batches import in_batches
from tests.ui.clinic import LEVELS, clinic_table, open_clinic, protected, save_clinic, wait_for_jobs
from tests.ui.hands import click, on_screen

LEFT = Qt.MouseButton.LeftButton


def with_unique_ages():
    """The clinic with one patient whom age finds."""
    frame = clinic_table().frame.copy()
    frame.loc[3, "age"] = 97
    return Table(pd.DataFrame(frame))


@pytest.fixture
def panel(qtbot, session, tmp_path):
    return on_screen(qtbot, PANEL(session), 900, 1400)


def opened(qtbot, panel, tmp_path, table, document=None):
    open_clinic(panel.session, document or protected(), table)
    save_clinic(panel.session, tmp_path)
    wait_for_jobs(qtbot, panel.session)
    return panel


@pytest.fixture
def found(qtbot, panel, tmp_path):
    return opened(qtbot, panel, tmp_path, with_unique_ages())


def words(panel):
    labels = panel.readiness.findChildren(QLabel)
    return "\n".join(one.text() for one in labels if one.isVisible())


def press(qtbot, panel, text):
    buttons = [one for one in panel.readiness.findChildren(QPushButton) if one.isVisible()]
    [wanted] = [one for one in buttons if one.text() == text] or [
        one for one in buttons if one.text().startswith(text)
    ]
    qtbot.mouseClick(wanted, LEFT)
    wait_for_jobs(qtbot, panel.session)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_sound_table_is_good_and_is_released_without_a_reason(qtbot, panel, tmp_path):
    opened(qtbot, panel, tmp_path, clinic_table())
    assert "Public, Clinic A, Institute" in words(panel), "the same is told once"
    assert "Danger" not in words(panel)
    assert panel.readiness.ask.isHidden()
    qtbot.mouseClick(panel.primary, LEFT)
    wait_for_jobs(qtbot, panel.session)
    assert len(panel.session.project.releases) == 3


@pytest.mark.slow
def test_releasing_leads_to_the_list_and_asks_for_a_reason(qtbot, found):
    assert found.state() is PanelState.ATTENTION
    assert "Danger: 1 of 400 records is unique" in words(found)
    found.resize(900, 600)
    qtbot.mouseClick(found.primary, LEFT)
    wait_for_jobs(qtbot, found.session)
    assert found.session.project.releases == ()
    assert found.readiness.ask.isVisible()
    block = found.readiness.block_of("Clinic A")
    assert "Danger: 1 of 400" in " ".join(label.text() for label in block.findChildren(QLabel))
    top = block.mapTo(found.work, QPoint()).y()
    assert 0 <= top < found.work.height() - 40, "the danger itself is in sight"
    assert block.isAncestorOf(QApplication.focusWidget()), "and the keyboard at what mends it"
    qtbot.keyClicks(found.readiness.reason, "They signed a contract")
    qtbot.mouseClick(found.primary, LEFT)
    wait_for_jobs(qtbot, found.session)
    releases = found.session.project.releases
    assert len(releases) == 3
    assert releases[0].details["accepted"][0]["reason"] == "They signed a contract"
    assert "Accepted: They signed a contract" in words(found)
    assert found.state() is PanelState.DONE


@pytest.mark.slow
@pytest.mark.turns(1)
def test_one_click_mends_and_undo_takes_it_back(qtbot, found):
    press(qtbot, found, "Drop “age”: 1 → 0")
    assert found.session.document.column("age").role is Role.IDENTIFYING
    assert "Danger" not in words(found)
    assert found.session.undo_text == "Drop “age”"
    found.session.undo()
    wait_for_jobs(qtbot, found.session)
    assert "Danger" in words(found)


@pytest.mark.slow
def test_an_empty_promise_leads_to_the_policy(qtbot, panel, tmp_path):
    levels = {"Clinic A": 1.0, "Public": 0.5}
    opened(qtbot, panel, tmp_path, clinic_table(), protected(levels))
    assert "disease is released with its true values" in words(panel)
    assert "Not ready: Clinic A." in words(panel)
    with qtbot.waitSignal(panel.session.place_requested) as asked:
        press(qtbot, panel, "Go to Policy")
    assert asked.args == ["policy", "disease", "Clinic A"]
    panel.form.model.choose(["Public"])
    qtbot.mouseClick(panel.primary, LEFT)
    wait_for_jobs(qtbot, panel.session)
    assert [one.recipient for one in panel.session.project.releases] == ["Public"]


@pytest.mark.slow
def test_a_unique_record_leads_to_stating_a_k_until_the_recipient_has_one(qtbot, found):
    with qtbot.waitSignal(found.session.place_requested) as asked:
        press(qtbot, found, "Set the group size")
    assert asked.args == ["policy", "age", "Clinic A"]
    document, _why = with_proposed_hierarchies(found.session.document, found.session.table)
    for name in LEVELS:
        document = with_statement(document, name, k=5)
    found.session.edit("State k", document)
    wait_for_jobs(qtbot, found.session)
    buttons = [one.text() for one in found.readiness.findChildren(QPushButton) if one.isVisible()]
    assert "Go to Policy" in buttons
    assert "Set the group size" not in buttons


def with_a_lonely_ward():
    """The clinic in classes of 5 by age, with one patient whom the ward finds."""
    frame = clinic_table().frame.astype({"ward": str})
    frame.loc[3, "ward"] = "east"
    table = Table(frame.astype({"ward": "category"}))
    document, _why = with_proposed_hierarchies(protected(), table)
    for name in LEVELS:
        document = with_statement(document, name, k=5, suppression=0.05)
    return table, find_views(document, in_batches(table), Silent())


def test_a_column_that_finds_somebody_is_coarsened_with_the_others(qtbot, panel, tmp_path):
    opened(qtbot, panel, tmp_path, *with_a_lonely_ward())
    assert "Danger: 1 of 400 records is unique" in words(panel)
    press(qtbot, panel, "Treat “ward” as a quasi-identifier too")
    document = panel.session.document
    assert document.column("ward").role is Role.QUASI_IDENTIFIER
    assert all("ward" in each.view.levels for each in document.recipients)
    assert "Danger" not in words(panel)
    panel.session.undo()
    wait_for_jobs(qtbot, panel.session)
    assert "Danger" in words(panel)


def with_telling_wards():
    """The clinic whose wards tell the disease."""
    frame = clinic_table().frame.copy()
    frame["ward"] = pd.Categorical(["ward " + value for value in frame["disease"]])
    return Table(pd.DataFrame(frame))


@pytest.mark.slow
def test_columns_that_tell_the_disease_are_a_danger_with_clicks_that_mend_it(
    qtbot, panel, tmp_path
):
    opened(qtbot, panel, tmp_path, with_telling_wards())
    assert "Danger: From ward, released unperturbed, the best guess of disease" in words(panel)
    assert panel.state() is PanelState.ATTENTION
    press(qtbot, panel, "Protect “ward” together with “disease”")
    assert panel.session.document.column("ward").role is Role.SENSITIVE
    assert panel.session.undo_text == "Protect “ward” together with “disease”"
    panel.session.undo()
    wait_for_jobs(qtbot, panel.session)
    press(qtbot, panel, "Drop “ward”")
    assert panel.session.document.column("ward").role is Role.IDENTIFYING
    assert "Danger" not in words(panel)


@pytest.mark.slow
def test_rows_of_one_person_are_protected_together_by_a_click(qtbot, panel, tmp_path):
    frame = clinic_table().frame.copy()
    frame["name"] = [f"patient {i // 8}" for i in range(len(frame))]
    frame["disease"] = frame["disease"].to_numpy()[np.arange(len(frame)) // 8 * 8]
    opened(qtbot, panel, tmp_path, Table(frame))
    assert "Rows with the same name show the same true disease" in words(panel)
    press(qtbot, panel, "Protect rows with the same “name” together")
    assert panel.session.document.unit.columns == ("name",)
    assert "Rows with the same name" not in words(panel)


@pytest.mark.slow
def test_a_click_that_mends_leaves_the_page_where_it_is(qtbot, panel, tmp_path):
    opened(qtbot, panel, tmp_path, with_unique_ages())
    panel.resize(700, 420)
    buttons = [one for one in panel.readiness.findChildren(QPushButton) if one.isVisible()]
    side_by_side = {one.mapTo(panel.readiness, one.rect().topLeft()).y() for one in buttons}
    assert len(side_by_side) < len(buttons)
    drop = next(one for one in buttons if one.text().startswith("Drop “age”"))
    panel.work.bring(drop)
    bar = panel.work.verticalScrollBar()
    before = bar.value()
    assert before > 0
    qtbot.mouseClick(drop, LEFT)
    wait_for_jobs(qtbot, panel.session)
    assert panel.session.document.column("age").role is Role.IDENTIFYING
    assert bar.value() == min(before, bar.maximum())


def test_words_wider_than_the_card_are_elided_and_stand_in_the_tip(qtbot):
    made = ElidedButton("Drop income and show region at level 1 to everybody", lambda: None)
    box = on_screen(
        qtbot, boxed(FlowLayout(made, ElidedButton("Go", lambda: None), elided=True)), 120, 100
    )
    assert "…" in made.text()
    assert made.toolTip() == made.accessibleName()
    box.resize(600, 100)
    assert made.text() == made.accessibleName()
    assert made.toolTip() == ""


@pytest.mark.slow
def test_nothing_found_of_a_recipient_who_is_gone_is_shown(qtbot, found):
    """The list is built while Qt shows the panel: what failed there ended the process."""
    session = found.session
    found.hide()
    session.edit("Protect less", protected({**LEVELS, "Clinic A": 0.7}))
    session.steps.check_policy()
    wait_for_jobs(qtbot, session)
    session.edit("Keep the second", protected({"Institute": 0.3}, source=session.document.source))
    found.show()
    wait_for_jobs(qtbot, session)
    assert "Institute" in words(found)
    assert "Clinic A" not in words(found)


@pytest.mark.slow
def test_nothing_found_in_another_table_is_shown(qtbot, found):
    open_clinic(found.session, protected({"Bank": 0.3}))
    assert "Clinic A" not in words(found)
    assert "Checking" in words(found)
    wait_for_jobs(qtbot, found.session)
    assert "Bank" in words(found)


@pytest.mark.slow
def test_a_click_that_would_mend_what_is_gone_changes_nothing(qtbot, found):
    session = found.session
    columns = tuple(each for each in session.document.columns if each.name != "age")
    session.edit("Take a table without ages", replace(session.document, columns=columns))
    document = session.document
    press(qtbot, found, "Drop “age”")
    assert session.document == document


@pytest.mark.slow
def test_a_check_that_was_stopped_says_so_and_is_made_again_when_asked(
    qtbot, panel, tmp_path, monkeypatch
):
    def until_cancelled(*arguments):
        while True:
            arguments[-1].report(0.5, "Counting")

    opened(qtbot, panel, tmp_path, clinic_table())
    session, card = panel.session, panel.readiness
    with monkeypatch.context() as patch:
        patch.setattr("sfumato.ui.state.steps.checked_rows", until_cancelled)
        patch.setattr("sfumato.ui.state.steps.examine", until_cancelled)
        session.edit("Protect less", protected({"Clinic A": 0.2}))
        [job] = [job for job in session.runner.jobs if job.key == CHECK]
        job.cancel()
        wait_for_jobs(qtbot, session)
    assert "was stopped" in words(panel)
    assert "Checking" not in words(panel)
    click(card.again)
    wait_for_jobs(qtbot, session)
    assert [each.recipient for each in card.found] == ["Clinic A"]
    assert "was stopped" not in words(panel)
    assert not card.again.isVisible()


@pytest.fixture
def doubted(qtbot, panel, tmp_path):
    """The clinic, read with a caution about the ages."""
    opened(qtbot, panel, tmp_path, clinic_table())
    session = panel.session
    options = ReadOptions()
    way = Way("Read −9 as missing", replace(options, missing=("", "-9")))
    note = Note(
        "Codes of {column} may mean missing.", {"column": "age"}, True, ("age",), ways=(way,)
    )
    source = replace(session.document.source, options=options.to_dict(), notes=(note,))
    session.edit("Read", replace(session.document, source=source, title="Read"))
    wait_for_jobs(qtbot, session)
    return panel


@pytest.mark.slow
def test_a_caution_of_the_reading_is_answered_by_one_click_and_kept(qtbot, doubted):
    assert "Caution: Codes of age may mean missing." in words(doubted)
    press(qtbot, doubted, "It is meant so")
    assert "Accepted: The table is meant so." in words(doubted)
    assert doubted.session.undo_text == "Keep how the table is read"
    qtbot.mouseClick(doubted.primary, LEFT)
    wait_for_jobs(qtbot, doubted.session)
    assert doubted.session.project.releases[0].details["accepted"][0]["check"] == "How it is read"


@pytest.mark.slow
def test_a_caution_of_the_reading_offers_to_read_the_table_otherwise(qtbot, doubted):
    with qtbot.waitSignal(doubted.session.reading_requested) as asked:
        press(qtbot, doubted, "Read −9 as missing")
    assert asked.args[0].missing == ("", "-9")
    with qtbot.waitSignal(doubted.session.panel_requested) as asked:
        press(qtbot, doubted, "Go to Data")
    assert asked.args == ["data"]


@pytest.mark.slow
def test_records_known_by_position_that_moved_come_first(qtbot, doubted):
    session = doubted.session
    press(qtbot, doubted, "It is meant so")
    qtbot.mouseClick(doubted.primary, LEFT)
    wait_for_jobs(qtbot, session)
    assert session.document.record_key is None
    source = replace(session.document.source, digest="1" * 64)
    session.edit("Change", replace(session.document, source=source))
    wait_for_jobs(qtbot, session)
    dangers = [line for line in words(doubted).split("\n") if line.startswith("Danger")]
    assert "records apart by their position" in dangers[0]


@pytest.mark.slow
def test_many_recipients_are_told_of_by_the_worst_findings_and_the_first_names(
    qtbot, panel, tmp_path, monkeypatch
):
    monkeypatch.setattr(readiness_card, "_SHOWN", 3)
    monkeypatch.setattr(readiness_card, "_NAMED", 2)
    document = protected()
    first = document.recipients[0]
    offices = [replace(first, name=f"Office {n}", statements=levels(n)) for n in range(6)]
    opened(qtbot, panel, tmp_path, with_unique_ages(), replace(document, recipients=(*offices,)))
    assert "Office 0, Office 1 and 4 more" in words(panel)
    assert "Not ready: Office 0, Office 1 and 4 more." in words(panel)
    assert "are not shown here; sfumato check tells them all." in words(panel)


def levels(number):
    """Statements that are worth a little less to each."""
    return {"disease": {"retention_probability": 0.8 - number / 50}}


# ----- the grid above the export options


def test_the_grid_says_of_each_recipient_how_they_stand_and_the_button_what_blocks_it(found):
    grid = found.grid
    assert grid.geometry().top() < found.form.geometry().top()
    read = [[grid.model.cell(row, column).text for column in range(5)] for row in range(3)]
    assert [line[0] for line in read] == ["Clinic A", "Institute", "Public"]
    assert {line[1] for line in read} == {"1 danger"}
    assert "is unique" in grid.model.cell(0, 1).tip
    assert {line[4] for line in read} == {"OK"}
    assert found.primary.text() == "&Resolve 3 dangers"
    found.form.model.choose(["Public"])
    assert found.primary.text() == "&Resolve 1 danger"
    found.readiness.reason.setText("They signed a contract")
    assert found.primary.text() == "&Release"


@pytest.mark.slow
def test_the_grid_leads_to_what_was_found(qtbot, found):
    found.resize(900, 500)
    table = found.grid.table
    table.setCurrentIndex(table.model().index(2, 1))
    qtbot.keyClick(table, Qt.Key.Key_Return)
    block = found.readiness.block_of("Public")
    assert block.visibleRegion().boundingRect().isValid()


@pytest.mark.slow
def test_a_mended_danger_leaves_the_grid_and_the_button(qtbot, found):
    press(qtbot, found, "Drop “age”: 1 → 0")
    assert found.grid.model.cell(0, 1).text == "OK"
    assert found.primary.text() == "&Release to 3"
