"""Work that no project holds yet outlives a crash, and is offered again."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from PySide6.QtGui import QCloseEvent

from sfumato.engine.core.columns import Role
from sfumato.project.store.seal import state_folder
from sfumato.project.store.unsaved import UnsavedWork
from sfumato.ui.dialogs.base import ChoiceDialog
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.session import Session
from tests.ui.clinic import open_clinic, protected, save_clinic
from tests.ui.hands import (
    at_settings,
    dialog_of,
    load_table,
    message_button,
    messages,
    press,
    settle,
)

KILLED = """
import sys
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget
from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Silent
from sfumato.project.document.model import Document
from sfumato.ui.panels.data.panel import load, look
from sfumato.ui.shell.application import make_application
from sfumato.ui.state.projects import Projects, Unsaved
from sfumato.ui.state.session import Session

# The window without its panels, which take most of the time to start.
application, session, window = make_application(), Session(), QWidget()
unsaved = Unsaved(session, Projects(session, window), window)
table, folder = map(Path, sys.argv[1:])
loaded = load(table, look(table).options, Document(), Silent())
session.open_table("Open clinic", loaded.table, loaded.document)
disease = replace(session.document.column("disease"), role=Role.SENSITIVE)
session.edit("Mark disease as sensitive", session.document.with_column(disease))

def tell():
    if any(folder.glob("unsaved/*.unsaved")):
        print("kept", flush=True)

timer = QTimer(interval=10)
timer.timeout.connect(tell)
timer.start()
application.exec()
"""

skips_kills = pytest.mark.skipif(not hasattr(os, "fork"), reason="killing is POSIX's")


@pytest.fixture
def left(window, qtbot, clinic):
    """Work on the clinic's table as a window that crashed has left it."""
    load_table(window, qtbot, clinic)
    document = window.session.document
    disease = replace(document.column("disease"), role=Role.SENSITIVE)
    work = UnsavedWork(state_folder())
    work.document = document.with_column(disease)
    work.write()
    work.leave()
    window.session.forget_changes()
    window.session.set_project(None)
    window.current.messages.clear()
    return work


def offer(window, qtbot):
    window.unsaved.offer()
    settle(qtbot, window.session)


def kept():
    return sorted(path.name for path in state_folder().rglob("*") if path.is_file())


def wait_until_kept(window, qtbot):
    qtbot.waitUntil(lambda: any("unsaved" in name for name in kept()))
    settle(qtbot, window.session)


@pytest.mark.turns(1)
@pytest.mark.slow
@skips_kills
def test_a_killed_window_loses_nothing(window, qtbot, clinic):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(clinic), str(state_folder())],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "kept\n"
        offer(window, qtbot)
        assert messages(window.current.messages) == []  # another window has it open
        process.kill()
    offer(window, qtbot)
    assert "clinic" in messages(window.current.messages)[0]
    assert window.session.table is None
    message_button(window.current.messages, "Take it up again").click()
    settle(qtbot, window.session)
    assert window.session.document.column("disease").role is Role.SENSITIVE
    assert window.session.table.rows == 6
    assert window.session.unsaved
    assert window.current.name == "data"
    assert messages(window.current.messages) == []


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_is_kept_holds_no_value_in_clear(window, qtbot, clinic):
    load_table(window, qtbot, clinic)
    wait_until_kept(window, qtbot)
    for path in state_folder().rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert not [word for word in (b"asthma", b"disease", b"clinic") if word in content]


@pytest.mark.slow
def test_a_saved_project_makes_it_unnecessary(window, qtbot, tmp_path):
    open_clinic(window.session, protected())
    wait_until_kept(window, qtbot)
    save_clinic(window.session, tmp_path)
    assert not [name for name in kept() if "unsaved" in name or name.endswith(".key")]
    window.session.set_project(None)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_leaving_on_purpose_removes_it(window, qtbot, clinic):
    load_table(window, qtbot, clinic)
    wait_until_kept(window, qtbot)
    window.closeEvent(QCloseEvent())
    press(dialog_of(window, ChoiceDialog), "Discard")
    assert kept() == []


@pytest.mark.slow
def test_undoing_everything_leaves_nothing_to_keep(window, qtbot, clinic):
    load_table(window, qtbot, clinic)
    wait_until_kept(window, qtbot)
    window.session.undo()
    assert kept() == []


def test_nothing_is_offered_where_nothing_was_left(window, qtbot):
    offer(window, qtbot)
    assert messages(window.current.messages) == []


@pytest.mark.slow
def test_discarding_removes_it_and_offers_what_is_older(window, qtbot, left):
    older = UnsavedWork(state_folder())
    older.document = replace(protected(), title="Older")
    older.write()
    older.leave()
    os.utime(older.path, (1_000.0, 1_000.0))
    offer(window, qtbot)
    assert "clinic" in messages(window.current.messages)[0]
    message_button(window.current.messages, "Discard").click()
    settle(qtbot, window.session)
    assert not left.path.exists()
    assert "Older" in messages(window.current.messages)[0]
    message_button(window.current.messages, "Discard").click()
    settle(qtbot, window.session)
    assert kept() == []
    assert messages(window.current.messages) == []


@pytest.mark.slow
def test_open_work_is_asked_about_before_the_other_takes_its_place(window, qtbot, left):
    offer(window, qtbot)
    open_clinic(window.session, protected())
    message_button(window.current.messages, "Take it up again").click()
    dialog = dialog_of(window, ChoiceDialog)
    press(dialog, "Cancel")
    assert window.session.document == protected()
    assert left.path.exists()
    qtbot.waitUntil(lambda: "clinic" in "".join(messages(window.current.messages)))
    message_button(window.current.messages, "Take it up again").click()
    press(dialog_of(window, ChoiceDialog), "Discard")
    settle(qtbot, window.session)
    assert window.session.document.column("disease").role is Role.SENSITIVE
    assert messages(window.current.messages) == []


def test_what_was_taken_up_is_still_kept(window, qtbot, left):
    offer(window, qtbot)
    message_button(window.current.messages, "Take it up again").click()
    settle(qtbot, window.session)
    assert [name for name in kept() if name.endswith(".unsaved")] == [left.path.name]
    window.session.edit("Name it", replace(window.session.document, title="Mine"))
    window.unsaved.keep()
    settle(qtbot, window.session)
    window.unsaved.close()
    offer(window, qtbot)
    assert "Mine" in messages(window.current.messages)[0]
    assert len([name for name in kept() if name.endswith(".unsaved")]) == 1


def test_what_is_taken_up_is_shown_where_another_file_was_being_chosen(
    window, qtbot, left, clinic, tmp_path
):
    other = tmp_path / "other.csv"
    other.write_bytes(clinic.read_bytes())
    data = window.panels["data"]
    data.open_file(other)
    settle(qtbot, window.session)
    assert data.pages.currentWidget() is data.importing
    offer(window, qtbot)
    message_button(window.current.messages, "Take it up again").click()
    settle(qtbot, window.session)
    assert data.pages.currentWidget() is data.loaded


def test_a_damaged_file_is_told_and_can_be_discarded(window, qtbot, left):
    left.path.write_bytes(b"Sfumato unsaved work 1\n")
    offer(window, qtbot)
    assert "was damaged or changed" in messages(window.current.messages)[0]
    message_button(window.current.messages, "Discard").click()
    settle(qtbot, window.session)
    assert kept() == []


@pytest.mark.slow
def test_a_table_that_is_gone_is_asked_for_and_nothing_is_lost(
    window, qtbot, answers, left, clinic, tmp_path
):
    moved = clinic.rename(tmp_path / "moved.csv")
    offer(window, qtbot)
    message_button(window.current.messages, "Take it up again").click()
    settle(qtbot, window.session)
    assert window.session.table is None
    assert window.session.document.column("disease").role is Role.SENSITIVE
    answers.file = moved
    message_button(window.current.messages, "Show where it is…").click()
    settle(qtbot, window.session)
    assert window.session.table.rows == 6


@pytest.mark.slow
def test_a_table_that_changed_is_opened_with_all_that_was_decided(window, qtbot, left, clinic):
    with clinic.open("a", encoding="utf-8") as file:
        file.write("p7,40,east,flu\n")
    offer(window, qtbot)
    message_button(window.current.messages, "Take it up again").click()
    settle(qtbot, window.session)
    assert "clinic.csv changed" in messages(window.current.messages)[0]
    message_button(window.current.messages, "Open it as it is now").click()
    settle(qtbot, window.session)
    window.panels["data"].load_button.click()
    settle(qtbot, window.session)
    assert window.session.table.rows == 7
    assert window.session.document.column("disease").role is Role.SENSITIVE


@pytest.mark.slow
def test_a_folder_that_takes_nothing_is_told_once(window, qtbot, clinic):
    state_folder().parent.mkdir(parents=True, exist_ok=True)
    state_folder().write_text("in the way", encoding="utf-8")
    load_table(window, qtbot, clinic)
    for title in ("one", "two"):
        window.session.edit("Name it", replace(window.session.document, title=title))
        window.unsaved.keep()
        settle(qtbot, window.session)
    assert len([text for text in messages(window.current.messages) if "crash" in text]) == 1
    assert window.session.document.title == "two"


@pytest.mark.slow
def test_two_windows_keep_work_of_their_own(window, qtbot, themed, answers, clinic):
    other = MainWindow(Session(store=at_settings(), chooser=answers))
    other.show()
    for each in (window, other):
        load_table(each, qtbot, clinic)
        each.unsaved.keep()
        settle(qtbot, each.session)
    assert len([name for name in kept() if name.endswith(".unsaved")]) == 2
    other.session.forget_changes()
    assert len([name for name in kept() if name.endswith(".unsaved")]) == 1
    other.close()
    other.deleteLater()
