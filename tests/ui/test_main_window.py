"""The window: steps, menus, projects, rules, drops, jobs, and leaving without a loss."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest

from app.jobs.job import BugReport
from app.project.model import Document
from app.project.store import ProjectFile
from app.ui.dialogs.about import AboutDialog
from app.ui.dialogs.bug import BugDialog
from app.ui.dialogs.choice import ChoiceDialog
from app.ui.dialogs.passphrase import NewPassphraseDialog, OpenPassphraseDialog
from app.ui.main_window import MainWindow
from app.ui.messages import Message, MessageKind
from app.ui.panels.base import PanelState
from app.ui.session import Session
from app.ui.theme import Appearance, current_theme
from resources import resource_path
from tests.ui.hands import click, dialog_of, message_button, messages, press, settle, type_into

PASSPHRASE = "seven pears under glass"


def load(window, qtbot, path):
    window.session.table_requested.emit(path)
    settle(qtbot, window.session)
    click(window.panels["data"].load_button)
    settle(qtbot, window.session)
    assert window.session.table is not None


def save_new(window, qtbot, answers, path):
    answers.saved = path
    window.menus.actions["save"].trigger()
    dialog = dialog_of(window, NewPassphraseDialog)
    type_into(dialog.first, PASSPHRASE)
    type_into(dialog.second, PASSPHRASE)
    click(dialog.submit)
    settle(qtbot, window.session)


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


class TestSteps:
    def test_the_six_steps_stand_in_the_order_of_the_work(self, window):
        names = list(window.panels)
        assert names == ["data", "attributes", "policy", "preview", "releases", "audit"]

    def test_a_click_on_a_step_brings_its_panel_into_sight(self, window):
        for name in window.panels:
            click(window.rail.step(name))
            assert window.current is window.panels[name]
            assert window.rail.step(name).isChecked()

    def test_the_number_keys_bring_panels_into_sight(self, window, qtbot):
        qtbot.waitActive(window)
        for number, name in enumerate(window.panels, start=1):
            QTest.keyClick(
                window, getattr(Qt.Key, f"Key_{number}"), Qt.KeyboardModifier.ControlModifier
            )
            assert window.current.name == name

    def test_arrow_keys_move_between_the_steps(self, window, qtbot):
        window.rail.step("data").setFocus()
        QTest.keyClick(window.rail.step("data"), Qt.Key.Key_Down)
        assert window.rail.step("attributes").hasFocus()
        QTest.keyClick(window.rail.step("attributes"), Qt.Key.Key_Space)
        assert window.current.name == "attributes"

    def test_a_step_says_its_state_in_words(self, window, qtbot, clinic):
        step = window.rail.step("data")
        assert step.accessibleName() == "Data: Not started"
        load(window, qtbot, clinic)
        assert step.state is PanelState.DONE
        assert step.accessibleName() == "Data: Done"

    def test_the_rail_folds_to_icons_and_is_remembered(self, window):
        wide = window.rail.width()
        window.menus.actions["fold-rail"].trigger()
        assert window.rail.width() < wide
        assert "Data" in window.rail.step("data").toolTip()
        assert int(window.session.store.value("window/rail-folded")) == 1

    def test_a_narrow_window_folds_the_rail_and_a_wide_one_unfolds_it(self, window, qtbot):
        window.resize(1100, 720)
        qtbot.waitUntil(lambda: window.rail.compact)
        window.resize(1366, 768)
        qtbot.waitUntil(lambda: not window.rail.compact)

    def test_the_window_fits_small_screens(self, window, qtbot, clinic):
        load(window, qtbot, clinic)
        window.resize(1100, 720)
        qtbot.waitUntil(lambda: window._stack.width() > 700)
        for name, panel in window.panels.items():
            window.show_panel(name)
            over = panel.minimumSizeHint() - window._stack.size()
            assert max(over.width(), over.height()) <= 0, name


class TestMenus:
    def test_undo_says_what_it_takes_back(self, window):
        undo = window.menus.actions["undo"]
        assert not undo.isEnabled()
        window.session.edit("Name it", Document(title="clinic"))
        assert undo.text() == "&Undo: Name it"
        undo.trigger()
        assert window.session.document.title == ""
        assert window.menus.actions["redo"].text() == "&Redo: Name it"

    def test_dark_takes_effect_and_is_remembered(self, window):
        window.menus.actions["appearance-dark"].trigger()
        assert current_theme().name == "dark"
        assert window.session.store.value("window/appearance") == "dark"
        window.set_appearance(Appearance.LIGHT)

    def test_about_names_the_versions(self, window):
        window.menus.actions["about"].trigger()
        dialog = dialog_of(window, AboutDialog)
        press(dialog, "Copy versions")
        copied = QGuiApplication.clipboard().text()
        assert copied.startswith("Sfumato ")
        assert "Qt " in copied

    def test_help_opens_beside_the_work(self, window):
        window.menus.actions["help"].trigger()
        assert window._help.isVisible()
        assert window._help.list.count() >= 1
        assert window._help.text.toPlainText()
        window._help.close()

    def test_copy_takes_the_tables_selection(self, window, qtbot, clinic):
        load(window, qtbot, clinic)
        table = window.panels["data"].loaded.table
        table.setFocus()
        table.selectRow(0)
        qtbot.waitUntil(table.hasFocus)
        window.menus.actions["copy"].trigger()
        assert QGuiApplication.clipboard().text() == "p1\t34\tnorth\tflu"

    def test_every_action_has_its_own_shortcut(self, window):
        keys = [a.shortcut().toString() for a in window.menus.actions.values()]
        used = [key for key in keys if key]
        assert len(used) == len(set(used))
        assert {"Ctrl+N", "Ctrl+O", "Ctrl+S", "Ctrl+Z", "Ctrl+1", "Ctrl+6"} <= set(used)


class TestProjects:
    def test_saving_asks_twice_for_a_passphrase_and_creates_the_project(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load(window, qtbot, clinic)
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

    def test_an_existing_file_is_not_overwritten_and_the_dialog_says_so(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load(window, qtbot, clinic)
        taken = tmp_path / "mine.sfumato"
        taken.write_text("something of yours")
        save_new(window, qtbot, answers, taken)
        dialog = dialog_of(window, NewPassphraseDialog)
        assert "already" in messages(dialog.messages)[0]
        assert taken.read_text() == "something of yours"
        press(dialog, "Cancel")
        assert window.session.project is None

    def test_a_project_is_opened_with_its_table(self, window, qtbot, answers, clinic, tmp_path):
        load(window, qtbot, clinic)
        path = tmp_path / "mine.sfumato"
        save_new(window, qtbot, answers, path)
        window.menus.actions["new"].trigger()
        assert window.session.table is None
        answers.file = path
        window.menus.actions["open-project"].trigger()
        dialog = dialog_of(window, OpenPassphraseDialog)
        type_into(dialog.first, PASSPHRASE)
        QTest.keyClick(dialog.first, Qt.Key.Key_Return)
        settle(qtbot, window.session)
        assert window.session.project_path == path
        assert window.session.table.rows == 6

    def test_a_wrong_passphrase_can_be_tried_again(self, window, qtbot, answers, clinic, tmp_path):
        load(window, qtbot, clinic)
        path = tmp_path / "mine.sfumato"
        save_new(window, qtbot, answers, path)
        window.menus.actions["new"].trigger()
        window.open_file(path)
        dialog = dialog_of(window, OpenPassphraseDialog)
        type_into(dialog.first, "wrong")
        click(dialog.submit)
        settle(qtbot, window.session)
        assert dialog.isVisible()
        assert len(messages(dialog.messages)) == 1
        type_into(dialog.first, PASSPHRASE)
        click(dialog.submit)
        settle(qtbot, window.session)
        assert window.session.project_path == path

    def test_giving_up_while_a_project_opens_leaves_it_closed(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load(window, qtbot, clinic)
        path = tmp_path / "mine.sfumato"
        save_new(window, qtbot, answers, path)
        window.menus.actions["new"].trigger()
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
        window.open_file(path)
        dialog = dialog_of(window, OpenPassphraseDialog)
        type_into(dialog.first, "anything")
        click(dialog.submit)
        settle(qtbot, window.session)
        assert window.findChildren(OpenPassphraseDialog) == []
        assert "not a Sfumato project" in messages(window.current.messages)[0]

    def test_a_missing_project_is_named(self, window, tmp_path):
        window.open_file(tmp_path / "gone.sfumato")
        assert "There is no project" in messages(window.current.messages)[0]

    def test_a_missing_table_can_be_shown_where_it_is(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load(window, qtbot, clinic)
        path = tmp_path / "mine.sfumato"
        save_new(window, qtbot, answers, path)
        window.menus.actions["new"].trigger()
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        moved = clinic.rename(elsewhere / "renamed.csv")
        window.open_file(path)
        dialog = dialog_of(window, OpenPassphraseDialog)
        type_into(dialog.first, PASSPHRASE)
        click(dialog.submit)
        settle(qtbot, window.session)
        assert window.session.table is None
        assert window.rail.step("data").state is PanelState.ATTENTION
        answers.file = moved
        click(message_button(window.current.messages, "Show where it is…"))
        settle(qtbot, window.session)
        assert window.session.table.rows == 6
        assert window.session.document.source.path == str(moved)

    def test_a_changed_table_can_be_accepted_as_a_new_edition(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load(window, qtbot, clinic)
        path = tmp_path / "mine.sfumato"
        save_new(window, qtbot, answers, path)
        window.menus.actions["new"].trigger()
        clinic.write_text(clinic.read_text() + "p7,40,east,flu\n")
        window.open_file(path)
        dialog = dialog_of(window, OpenPassphraseDialog)
        type_into(dialog.first, PASSPHRASE)
        click(dialog.submit)
        settle(qtbot, window.session)
        assert "changed" in messages(window.current.messages)[0]
        click(message_button(window.current.messages, "Accept as new edition"))
        settle(qtbot, window.session)
        assert window.session.table.rows == 7
        assert window.session.document.source.rows == 7

    def test_a_copy_opens_with_the_same_passphrase(self, window, qtbot, answers, clinic, tmp_path):
        load(window, qtbot, clinic)
        save_new(window, qtbot, answers, tmp_path / "mine.sfumato")
        answers.saved = tmp_path / "copy.sfumato"
        window.menus.actions["save-as"].trigger()
        settle(qtbot, window.session)
        assert "copy is at" in messages(window.current.messages)[0]
        with ProjectFile.open(answers.saved, PASSPHRASE) as copy:
            assert copy.document == window.session.document

    def test_recent_projects_are_offered(self, window, qtbot, answers, clinic, tmp_path):
        load(window, qtbot, clinic)
        save_new(window, qtbot, answers, tmp_path / "mine.sfumato")
        window._fill_recent()
        texts = [action.text() for action in window._recent.actions()]
        assert texts[0].endswith("mine")
        window._recent.actions()[-1].trigger()
        assert window.session.recent.paths == ()


class TestLeaving:
    def test_work_that_no_project_holds_is_asked_about(self, window, qtbot, answers, tmp_path):
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
        qtbot.waitUntil(lambda: not window.isVisible(), timeout=10_000)
        with ProjectFile.open(answers.saved, PASSPHRASE) as saved:
            assert saved.document.title == "clinic"

    def test_a_saved_project_is_left_without_a_question(
        self, window, qtbot, answers, clinic, tmp_path
    ):
        load(window, qtbot, clinic)
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
        load(window, qtbot, clinic)
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

    def test_rules_wait_for_a_table(self, window, tmp_path):
        assert not window.menus.actions["apply-rules"].isEnabled()
        path = tmp_path / "rules.toml"
        path.write_text("")
        window.open_file(path)
        assert "none is open" in messages(window.current.messages)[0]

    def test_bad_rules_are_refused_with_their_line(self, window, qtbot, clinic, tmp_path):
        load(window, qtbot, clinic)
        path = tmp_path / "rules.toml"
        path.write_text(
            "format = 1\nother_columns = 'insensitive'\n[columns.age]\nrole = 'secret'\n"
        )
        before = window.session.document
        window.open_file(path)
        settle(qtbot, window.session)
        assert "line 4" in messages(window.current.messages)[0].lower()
        assert window.session.document == before


class TestJobsAndMessages:
    def test_a_running_job_is_shown_and_can_be_stopped(self, window, qtbot):
        def endless(context):
            while True:
                context.report(0.42, "working")

        job = window.session.runner.run("Release", endless)
        qtbot.waitUntil(lambda: bool(window.jobs.entries), timeout=5_000)
        [entry] = window.jobs.entries
        qtbot.waitUntil(lambda: entry.percent.text() == "42 %", timeout=5_000)
        assert "Release" in entry.title.text()
        click(entry.cancel)
        qtbot.waitUntil(lambda: not job.running, timeout=5_000)
        assert window.jobs.entries == ()

    def test_a_short_job_is_never_shown(self, window, qtbot):
        window.session.runner.run("Quick", lambda _context: None)
        settle(qtbot, window.session)
        assert window.jobs.entries == ()

    def test_the_bar_keeps_its_room(self, window):
        assert window.jobs.height() == window.jobs.minimumHeight() == 40

    def test_a_bug_in_a_job_opens_a_dialog_with_details_to_copy(self, window, qtbot):
        def broken(_context):
            diagnosis = "influenza"
            raise ValueError(diagnosis)

        window.session.runner.run("Convert", broken)
        settle(qtbot, window.session)
        dialog = dialog_of(window, BugDialog)
        press(dialog, "Copy details")
        copied = QGuiApplication.clipboard().text()
        assert "ValueError in: Convert" in copied
        assert "Sfumato " in copied
        assert 'raise ValueError("' not in copied
        assert "influenza" not in copied.replace('diagnosis = "influenza"', "")
        dialog.accept()

    def test_an_error_without_a_handler_is_shown_in_the_panel_in_sight(self, window, qtbot):
        def refused(_context):
            raise OSError(28, "No space left on device", "out.csv")

        window.session.runner.run("Write", refused)
        settle(qtbot, window.session)
        assert "No space left on device" in messages(window.current.messages)[0]

    def test_messages_come_where_the_person_looks(self, window):
        window.show_panel("audit")
        window.session.message.emit(Message(MessageKind.INFO, "Something happened."))
        assert messages(window.panels["audit"].messages) == ["Something happened."]

    def test_a_report_of_the_main_thread_is_shown_too(self, window):
        window.show_bug(BugReport("Drawing", "KeyError", ("KeyError:", "  a.py:1 f: x")))
        assert "KeyError in: Drawing" in dialog_of(window, BugDialog).details.toPlainText()


class TestGuarantee:
    def test_the_card_says_what_is_missing(self, window):
        assert "Open a table." in window.guarantee.text()

    def test_the_card_follows_the_session(self, window, qtbot, clinic):
        load(window, qtbot, clinic)
        qtbot.waitUntil(lambda: "sensitive" in window.guarantee.text())

    def test_the_card_folds_to_its_edge(self, window):
        window.menus.actions["fold-guarantee"].trigger()
        assert window.guarantee.width() < 60
        assert int(window.session.store.value("window/guarantee-folded")) == 1
        window.menus.actions["fold-guarantee"].trigger()
        assert window.guarantee.width() > 200

    def test_every_figure_can_be_found(self, window, qtbot):
        window.open_sample()
        settle(qtbot, window.session)
        click(window.panels["data"].load_button)
        settle(qtbot, window.session)
        window.open_file(resource_path("samples", "clinic.toml"))
        settle(qtbot, window.session)
        qtbot.waitUntil(lambda: "odds" in window.guarantee.text())
        assert "Together" in window.guarantee.text()
        assert "Retention probability" not in window.guarantee.text()
        press(window.guarantee, "All figures")
        assert "Retention probability" in window.guarantee.text()


def test_a_window_starts_and_ends_without_anything_open(themed, answers, tmp_path):
    window = MainWindow(Session(chooser=answers))
    window.show()
    window.close()
    assert not window.isVisible()
    window.deleteLater()
