"""Projects, rules and dropped files, and leaving without a loss."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest

from sfumato.jobs import Ending
from sfumato.project.document import edits
from sfumato.project.document.model import Document
from sfumato.project.project_file import ProjectFile
from sfumato.resources import resource_path
from sfumato.ui.dialogs.base import ChoiceDialog, NewPassphraseDialog, OpenPassphraseDialog
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.settings import MemoryLimit
from tests.ui.data_steps import remarks
from tests.ui.hands import (
    click,
    dialog_of,
    load_table,
    message_button,
    messages,
    press,
    settle,
    type_into,
)

PASSPHRASE = "seven pears under glass"


def save_new(window, qtbot, answers, path):
    answers.saved = path
    window.menus.actions["save"].trigger()
    dialog = dialog_of(window, NewPassphraseDialog)
    type_into(dialog.first, PASSPHRASE)
    type_into(dialog.second, PASSPHRASE)
    click(dialog.submit)
    settle(qtbot, window.session)


def left_project(window, qtbot, answers, clinic):
    """Save a project of the clinic's table, close it, and return where it is."""
    load_table(window, qtbot, clinic)
    path = clinic.with_name("mine.sfumato")
    save_new(window, qtbot, answers, path)
    window.menus.actions["new"].trigger()
    return path


def unlock(window, qtbot, path, passphrase=PASSPHRASE):
    """Open a project by a passphrase, and return the dialog that asked for it."""
    window.open_file(path)
    dialog = dialog_of(window, OpenPassphraseDialog)
    type_into(dialog.first, passphrase)
    click(dialog.submit)
    settle(qtbot, window.session)
    return dialog


def drag(window, kind, path):
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    if kind is QDropEvent:
        event = QDropEvent(QPointF(50, 50), copy, mime, left, none)
        window.dropEvent(event)
    else:
        event = QDragEnterEvent(QPoint(50, 50), copy, mime, left, none)
        window.dragEnterEvent(event)
    return event


class TestProjects:
    @pytest.mark.slow
    def test_a_project_is_proposed_beside_its_table(self, window, qtbot, answers, clinic):
        load_table(window, qtbot, clinic)
        window.menus.actions["save"].trigger()
        assert [each.parent for each in answers.proposed] == [clinic.parent]

    @pytest.mark.slow
    def test_a_project_of_the_sample_is_not_proposed_inside_the_application(
        self, window, qtbot, answers
    ):
        load_table(window, qtbot, resource_path("samples", "clinic.csv"))
        window.menus.actions["save"].trigger()
        [proposed] = answers.proposed
        assert resource_path() not in proposed.parents
        assert proposed.parent.is_dir()

    def test_saving_asks_twice_for_a_passphrase_and_creates_the_project(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load_table(window, qtbot, clinic)
        answers.saved = tmp_path / "mine"
        window.menus.actions["save"].trigger()
        dialog = dialog_of(window, NewPassphraseDialog)
        assert not dialog.submit.isEnabled()
        type_into(dialog.first, PASSPHRASE)
        type_into(dialog.second, "something else")
        assert not dialog.submit.isEnabled()
        assert "not the same" in dialog.same.text()
        type_into(dialog.second, PASSPHRASE)
        click(dialog.submit)
        settle(qtbot, window.session)
        assert window.session.project_path == tmp_path / "mine.sfumato"
        assert window.rail.project.text() == "mine"
        assert window.rail.saved.text() == "Saved"

    @pytest.mark.slow
    def test_an_existing_file_is_not_overwritten_and_the_dialog_says_so(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load_table(window, qtbot, clinic)
        taken = tmp_path / "mine.sfumato"
        taken.write_text("something of yours")
        save_new(window, qtbot, answers, taken)
        dialog = dialog_of(window, NewPassphraseDialog)
        assert "already" in messages(dialog.messages)[0]
        assert taken.read_text() == "something of yours"
        press(dialog, "Cancel")
        assert window.session.project is None

    @pytest.mark.slow
    def test_a_new_project_begins_at_the_data(self, window):
        window.show_panel("audit")
        window.menus.actions["new"].trigger()
        assert window.current is window.panels["data"]

    def test_a_project_is_opened_with_its_table(self, window, qtbot, answers, clinic):
        path = left_project(window, qtbot, answers, clinic)
        assert window.session.table is None
        answers.file = path
        window.menus.actions["open-project"].trigger()
        dialog = dialog_of(window, OpenPassphraseDialog)
        type_into(dialog.first, PASSPHRASE)
        QTest.keyClick(dialog.first, Qt.Key.Key_Return)
        settle(qtbot, window.session)
        assert window.session.project_path == path
        assert window.session.table.rows == 6

    def test_a_table_chosen_in_place_of_a_project_is_read_and_no_passphrase_asked_for(
        self, window, qtbot, answers, clinic
    ):
        answers.file = clinic
        window.menus.actions["open-project"].trigger()
        settle(qtbot, window.session)
        assert not [d for d in window.findChildren(OpenPassphraseDialog) if d.isVisible()]
        assert window.panels["data"].load_button.isVisible()

    @pytest.mark.slow
    @pytest.mark.parametrize("memory", [1000.0, 0.001])
    def test_what_an_older_projects_table_would_be_read_as_is_told_once(
        self, window, qtbot, answers, tmp_path, monkeypatch, memory
    ):
        window.session.store.setValue(MemoryLimit.KEY, memory)
        state = tmp_path / "state"
        monkeypatch.setattr("sfumato.project.store.remembered.state_folder", lambda: state)
        kept = Path(__file__).parents[1] / "samples" / "kept" / "reading"
        for name in ("visits.csv", "visits.sfumato"):
            shutil.copy(kept / name, tmp_path)
        for told in (True, False):
            answers.file = tmp_path / "visits.sfumato"
            window.menus.actions["open-project"].trigger()
            dialog = dialog_of(window, OpenPassphraseDialog)
            type_into(dialog.first, "read since before")
            QTest.keyClick(dialog.first, Qt.Key.Key_Return)
            settle(qtbot, window.session)
            assert window.session.source.fits == (memory >= 1)
            assert window.session.source.rows == 62
            data = window.panels["data"]
            [remark] = remarks(data.loaded.notes)
            assert "By the present version: 60 rows in place of 62." in remark
            shown = messages(window.current.messages)
            assert any("present version" in text for text in shown) is told
            window.current.messages.clear()
            window.menus.actions["new"].trigger()

    def test_a_wrong_passphrase_can_be_tried_again(self, window, qtbot, answers, clinic):
        path = left_project(window, qtbot, answers, clinic)
        dialog = unlock(window, qtbot, path, "wrong")
        assert dialog.isVisible()
        assert len(messages(dialog.messages)) == 1
        type_into(dialog.first, PASSPHRASE)
        click(dialog.submit)
        settle(qtbot, window.session)
        assert window.session.project_path == path

    @pytest.mark.slow
    def test_giving_up_while_a_project_opens_leaves_it_closed(self, window, qtbot, answers, clinic):
        path = left_project(window, qtbot, answers, clinic)
        window.open_file(path)
        dialog = dialog_of(window, OpenPassphraseDialog)
        type_into(dialog.first, PASSPHRASE)
        click(dialog.submit)
        press(dialog, "Cancel")
        settle(qtbot, window.session)
        assert window.session.project is None
        with ProjectFile.open(path, PASSPHRASE) as free:
            assert free.document.title == "clinic"

    def test_a_file_that_is_no_project_is_named(self, window, qtbot, tmp_path):
        path = tmp_path / "letter.sfumato"
        path.write_text("Dear reader " * 200)
        unlock(window, qtbot, path, "anything")
        asking = window.findChildren(OpenPassphraseDialog)
        assert not any(dialog.isVisible() for dialog in asking)
        assert "not a Sfumato project" in messages(window.current.messages)[0]

    @pytest.mark.slow
    def test_a_project_of_more_recipients_than_can_be_shown_is_refused_and_given_free(
        self, window, qtbot, answers, clinic, monkeypatch
    ):
        path = left_project(window, qtbot, answers, clinic)
        monkeypatch.setattr(edits, "MOST_SHOWN", -1)
        unlock(window, qtbot, path)
        assert window.session.project is None
        assert "the window shows -1 at most" in messages(window.current.messages)[0]
        with ProjectFile.open(path, PASSPHRASE) as free:
            assert free.document.recipients == ()

    def test_a_missing_project_is_named(self, window, tmp_path):
        window.open_file(tmp_path / "gone.sfumato")
        assert "There is no project" in messages(window.current.messages)[0]

    @pytest.mark.slow
    def test_a_missing_table_can_be_shown_where_it_is(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        path = left_project(window, qtbot, answers, clinic)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        moved = clinic.rename(elsewhere / "renamed.csv")
        unlock(window, qtbot, path)
        assert window.session.table is None
        assert window.rail.step("data").state is PanelState.ATTENTION
        answers.file = moved
        click(message_button(window.current.messages, "Show where it is…"))
        settle(qtbot, window.session)
        assert window.session.table.rows == 6
        assert window.session.document.source.path == str(moved)

    def test_a_changed_table_can_be_accepted_as_a_new_edition(self, window, qtbot, answers, clinic):
        path = left_project(window, qtbot, answers, clinic)
        clinic.write_text(clinic.read_text() + "p7,40,east,flu\n")
        unlock(window, qtbot, path)
        assert "changed" in messages(window.current.messages)[0]
        click(message_button(window.current.messages, "Accept as new edition"))
        settle(qtbot, window.session)
        assert window.session.table.rows == 7
        assert window.session.document.source.rows == 7

    @pytest.mark.slow
    @pytest.mark.parametrize("edition", ["the same", "a new one"])
    def test_what_is_edited_while_a_table_is_read_stays(
        self, window, qtbot, answers, clinic, tmp_path, edition
    ):
        path, session = left_project(window, qtbot, answers, clinic), window.session
        place = clinic
        if edition == "the same":
            place = answers.file = clinic.rename(tmp_path / "moved.csv")
        else:
            clinic.write_text(clinic.read_text() + "p7,40,east,flu\n")
        unlock(window, qtbot, path)
        what = "Show where it is…" if edition == "the same" else "Accept as new edition"
        click(message_button(window.current.messages, what))
        assert session.runner.jobs
        session.edit("Name it", replace(session.document, title="Another name"))
        settle(qtbot, session)
        assert session.table is not None
        assert session.document.title == "Another name"
        assert session.document.source.path == str(place)
        assert session.document.source.rows == session.table.rows

    @pytest.mark.slow
    def test_a_new_start_stops_the_work_on_the_project_before(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load_table(window, qtbot, clinic)
        save_new(window, qtbot, answers, tmp_path / "mine.sfumato")
        project = window.session.project

        def busy(context):
            while True:
                assert project.document.title
                context.report(0.5, "busy")

        job = window.session.runner.run("Release", busy)
        window.menus.actions["new"].trigger()
        assert job.ending is Ending.CANCELLED
        assert window.session.project is None

    @pytest.mark.slow
    def test_a_copy_opens_with_the_same_passphrase(self, window, qtbot, answers, clinic, tmp_path):
        load_table(window, qtbot, clinic)
        save_new(window, qtbot, answers, tmp_path / "mine.sfumato")
        answers.saved = tmp_path / "copy.sfumato"
        window.menus.actions["save-as"].trigger()
        settle(qtbot, window.session)
        assert "copy is at" in messages(window.current.messages)[0]
        with ProjectFile.open(answers.saved, PASSPHRASE) as copy:
            assert copy.document == window.session.document

    @pytest.mark.slow
    def test_a_project_that_was_deleted_is_not_saved_and_can_be_copied(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load_table(window, qtbot, clinic)
        save_new(window, qtbot, answers, tmp_path / "mine.sfumato")
        session = window.session
        session.edit("Title", replace(session.document, title="Ward 9"))
        (tmp_path / "mine.sfumato").unlink()
        window.menus.actions["save"].trigger()
        assert "moved, deleted or replaced" in messages(window.current.messages)[0]
        assert session.unsaved
        answers.saved = tmp_path / "copy.sfumato"
        window.menus.actions["save-as"].trigger()
        settle(qtbot, session)
        with ProjectFile.open(answers.saved, PASSPHRASE) as copy:
            assert copy.document == session.document
        session.forget_changes()

    @pytest.mark.slow
    def test_recent_projects_are_offered(self, window, qtbot, answers, clinic, tmp_path):
        load_table(window, qtbot, clinic)
        save_new(window, qtbot, answers, tmp_path / "mine.sfumato")
        window.menus.fill_recent()
        texts = [action.text() for action in window.menus.recent.actions()]
        assert texts[0].endswith("mine")
        window.menus.recent.actions()[-1].trigger()
        assert window.session.recent.paths == ()


class TestLeaving:
    def test_work_that_no_project_holds_is_asked_about(self, window, qtbot, answers):
        window.session.edit("Name it", Document(title="clinic"))
        window.close()
        dialog = dialog_of(window, ChoiceDialog)
        assert window.isVisible()
        press(dialog, "Cancel")
        assert window.isVisible()
        assert window.session.document.title == "clinic"

    def test_discarding_leaves_at_once(self, window):
        window.session.edit("Name it", Document(title="clinic"))
        window.close()
        press(dialog_of(window, ChoiceDialog), "Discard")
        assert not window.isVisible()

    def test_saving_leaves_once_the_project_is_there(self, window, qtbot, answers, tmp_path):
        window.session.edit("Name it", Document(title="clinic"))
        answers.saved = tmp_path / "mine.sfumato"
        window.close()
        press(dialog_of(window, ChoiceDialog), "Save…")
        dialog = dialog_of(window, NewPassphraseDialog)
        type_into(dialog.first, PASSPHRASE)
        type_into(dialog.second, PASSPHRASE)
        click(dialog.submit)
        qtbot.waitUntil(lambda: not window.isVisible())
        with ProjectFile.open(answers.saved, PASSPHRASE) as saved:
            assert saved.document.title == "clinic"

    def test_a_saved_project_is_left_without_a_question(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load_table(window, qtbot, clinic)
        path = tmp_path / "mine.sfumato"
        save_new(window, qtbot, answers, path)
        document = window.session.document
        window.session.edit("Name it", Document(title="kept", source=document.source))
        window.close()
        assert not window.isVisible()
        with ProjectFile.open(path, PASSPHRASE) as saved:
            assert saved.document.title == "kept"

    def test_running_work_does_not_keep_the_window(self, window, qtbot):
        def endless(context):
            while True:
                context.report(0.5, "busy")

        job = window.session.runner.run("Busy", endless)
        window.closeEvent(QCloseEvent())
        assert not job.running


class TestDrops:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("a.csv", "open the table a.csv"),
            ("a.sfumato", "open the project a.sfumato"),
            ("a.toml", "apply the rules a.toml"),
        ],
    )
    def test_the_window_says_what_letting_go_does(self, window, tmp_path, name, said):
        path = tmp_path / name
        path.write_text("x")
        event = drag(window, QDragEnterEvent, path)
        assert event.isAccepted()
        assert said in window._hint.text
        drag(window, QDropEvent, path)
        assert not window._hint.isVisible()
        for dialog in window.findChildren(OpenPassphraseDialog):
            dialog.reject()

    def test_a_dropped_table_is_shown_as_it_would_be_read(self, window, qtbot, clinic):
        window.show_panel("policy")
        drag(window, QDropEvent, clinic)
        settle(qtbot, window.session)
        assert window.current.name == "data"
        assert window.panels["data"].importing.file.text() == "clinic.csv"

    def test_a_folder_is_not_taken(self, window, tmp_path):
        assert not drag(window, QDragEnterEvent, tmp_path).isAccepted()


class TestRules:
    def test_rules_are_saved_and_applied_to_another_table(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load_table(window, qtbot, clinic)
        answers.saved = tmp_path / "rules.toml"
        window.menus.actions["save-rules"].trigger()
        settle(qtbot, window.session)
        rules = answers.saved.read_text(encoding="utf-8")
        changed = rules.replace('role = "quasi-identifier"', 'role = "insensitive"')
        answers.file = tmp_path / "changed.toml"
        answers.file.write_text(changed, encoding="utf-8")
        window.menus.actions["apply-rules"].trigger()
        settle(qtbot, window.session)
        roles = {column.role.value for column in window.session.document.columns}
        assert "quasi-identifier" not in roles
        click(message_button(window.current.messages, "Undo"))
        roles = {column.role.value for column in window.session.document.columns}
        assert "quasi-identifier" in roles

    @pytest.mark.slow
    def test_rules_do_not_undo_what_is_edited_while_they_are_applied(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load_table(window, qtbot, clinic)
        session, answers.saved = window.session, tmp_path / "rules.toml"
        window.menus.actions["save-rules"].trigger()
        settle(qtbot, session)
        window.open_file(tmp_path / "rules.toml")
        session.edit("Name it", replace(session.document, title="Another name"))
        settle(qtbot, session)
        assert session.document.title == "Another name"
        assert "in the meantime: Apply rules." in messages(window.current.messages)[0]

    def test_rules_wait_for_a_table(self, window, tmp_path):
        assert not window.menus.actions["apply-rules"].isEnabled()
        path = tmp_path / "rules.toml"
        path.write_text("")
        window.open_file(path)
        assert "none is open" in messages(window.current.messages)[0]

    @pytest.mark.slow
    def test_bad_rules_are_refused_with_their_line(self, window, qtbot, clinic, tmp_path):
        load_table(window, qtbot, clinic)
        path = tmp_path / "rules.toml"
        path.write_text(
            "format = 1\nother_columns = 'insensitive'\n[columns.age]\nrole = 'secret'\n"
        )
        before = window.session.document
        window.open_file(path)
        settle(qtbot, window.session)
        assert "line 4" in messages(window.current.messages)[0].lower()
        assert window.session.document == before
