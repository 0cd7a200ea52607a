"""The next edition of a table, in the window: what it changes is told, then it is taken."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QLabel

from sfumato.engine.core.columns import Domain, Role
from sfumato.project.project_file import ProjectFile
from sfumato.ui.shell.next_edition import NextEditionDialog
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.project.making import CHEAP, PASSPHRASE
from tests.ui.hands import click, dialog_of, load_table, message_button, messages, press, settle

PURPOSE = "Open the table about individuals that you want to release."


@pytest.fixture
def ward(window, qtbot, clinic, tmp_path):
    """The window with a project of the clinic's table, in which illnesses have a domain."""
    load_table(window, qtbot, clinic)
    document = window.session.document
    first, *_, last = (column.name for column in document.columns)
    values = sorted(set(window.session.table.frame[last].dropna().astype(str)))
    ill = replace(document.column(last), role=Role.SENSITIVE, domain=Domain(tuple(values)))
    document = replace(document.with_column(ill), record_key=first)
    project = ProjectFile.create(tmp_path / "ward.sfumato", PASSPHRASE, document, cost=CHEAP)
    window.session.set_project(project, keep_state=True)
    window.session.attach_table(SurveyedTable.of(in_batches(window.session.table)), document)
    settle(qtbot, window.session)
    return window


def follow(window, qtbot, answers, path, text):
    path.write_text(text, encoding="utf-8")
    answers.file = path
    press(window, "Open next edition…")
    settle(qtbot, window.session)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_an_edition_is_told_of_and_taken_with_all_that_was_decided(
    ward, qtbot, answers, clinic, tmp_path
):
    policy = ward.session.document.policy, ward.session.document.hierarchies
    lines = clinic.read_text().splitlines()
    rows = [lines[0], *reversed(lines[2:]), lines[-1].replace("p6", "p7")]
    rows = [f"{one},{more}" for one, more in zip(rows, ["phone", *"123456"], strict=True)]
    follow(ward, qtbot, answers, tmp_path / "next.csv", "\n".join(rows))
    dialog = dialog_of(ward, NextEditionDialog)
    assert "5 records stay, 1 is new and 1 is gone" in dialog.told[0].text()
    click(dialog.take)
    settle(qtbot, ward.session)
    assert ward.session.document.source.path == str(tmp_path / "next.csv")
    assert (ward.session.document.policy, ward.session.document.hierarchies) == policy
    assert messages(ward.current.messages)[-1] == "The new edition has 6 rows."
    assert ward.session.document.column("phone").is_dropped
    click(message_button(ward.current.messages, "Decide about phone"))
    assert ward.current is ward.panels["attributes"]


def test_the_sentence_below_the_title_keeps_its_room_when_a_third_button_comes(
    ward, qtbot, answers, clinic
):
    panel, answers.file = ward.panels["data"], clinic
    press(ward, "Open another table…")
    settle(qtbot, ward.session)
    ward.resize(1100, 700)
    QCoreApplication.processEvents()
    press(ward, "Cancel")
    QCoreApplication.processEvents()
    assert panel.next.isVisible()
    [purpose] = [each for each in panel.findChildren(QLabel) if each.text() == PURPOSE]
    assert purpose.width() > 300


@pytest.mark.slow
def test_a_new_category_leads_to_its_column(ward, qtbot, answers, clinic, tmp_path):
    lines = clinic.read_text().splitlines()
    lines[1] = ",".join([*lines[1].split(",")[:-1], "measles"])
    follow(ward, qtbot, answers, tmp_path / "next.csv", "\n".join(lines))
    dialog = dialog_of(ward, NextEditionDialog)
    assert len(dialog.tables) == len(dialog.remedies) == 1
    click(dialog.take)
    settle(qtbot, ward.session)
    name = ward.session.document.columns[-1].name
    click(message_button(ward.current.messages, f"Decide about “{name}”"))
    assert ward.current is ward.panels["attributes"]


@pytest.mark.slow
def test_what_can_t_follow_is_refused_by_name_and_another_file_offered(
    ward, qtbot, answers, clinic, tmp_path
):
    lines = [line.rpartition(",")[0] for line in clinic.read_text().splitlines()]
    follow(ward, qtbot, answers, tmp_path / "next.csv", "\n".join(lines))
    assert "lacks a column that the project has" in messages(ward.current.messages)[-1]
    assert message_button(ward.current.messages, "Choose another file…").isVisible()
    assert ward.session.document.source.path == str(clinic)


@pytest.mark.slow
def test_without_a_project_no_edition_is_offered(window, qtbot, clinic):
    load_table(window, qtbot, clinic)
    assert not window.panels["data"].next.isVisible()
