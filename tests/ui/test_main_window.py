"""The window: steps, menus, jobs, messages and the guarantee in sight."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QMargins, QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QLabel, QWidget

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.progress import Silent
from sfumato.jobs import BugReport
from sfumato.project.document.model import Document
from sfumato.project.release.release import make_release
from sfumato.resources import resource_path
from sfumato.ui.dialogs.about import AboutDialog, BugDialog
from sfumato.ui.look.theme import Appearance, current_theme, themes
from sfumato.ui.panels.base import PanelState
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.keyboard import reading_order
from sfumato.ui.widgets.messages import Message, MessageKind
from sfumato.ui.widgets.paint_queue import turns
from tests.in_batches import in_batches
from tests.ui.clinic import open_clinic, protected, save_clinic
from tests.ui.hands import (
    click,
    dialog_of,
    explain_first,
    load_table,
    messages,
    press,
    settle,
)


def cut_off(panel) -> list[QWidget]:
    """What is in sight and reaches beyond a panel, apart from what scrolls."""
    area = panel.rect()
    shown = (each for each in panel.findChildren(QWidget) if each.isVisible())
    outside = [
        each for each in shown if not area.contains(QRect(each.mapTo(panel, QPoint()), each.size()))
    ]
    return [each for each in outside if not scrolls(each, panel)]


def scrolls(widget, panel) -> bool:
    while widget is not panel:
        widget = widget.parentWidget()
        if isinstance(widget, QAbstractScrollArea):
            return True
    return False


class TestSteps:
    def test_six_steps_stand_in_the_order_of_the_work_and_a_click_brings_each_into_sight(
        self, window
    ):
        names = list(window.panels)
        assert names == ["data", "attributes", "policy", "preview", "releases", "audit"]
        for name in window.panels:
            click(window.rail.step(name))
            assert window.current is window.panels[name]
            assert window.rail.step(name).isChecked()

    @pytest.mark.slow
    def test_the_number_keys_bring_panels_into_sight(self, window, qtbot):
        qtbot.waitActive(window)
        assert len(window.panels) > 1
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
        load_table(window, qtbot, clinic)
        assert step.state is PanelState.DONE
        assert step.accessibleName() == "Data: Done"

    def test_the_rail_folds_to_icons_where_it_is_asked_for_or_the_window_is_narrow(
        self, window, qtbot
    ):
        wide = window.rail.width()
        window.menus.actions["fold-rail"].trigger()
        assert window.rail.width() < wide
        assert "Data" in window.rail.step("data").toolTip()
        assert int(window.session.store.value("window/rail-folded")) == 1
        window.menus.actions["fold-rail"].trigger()
        window.resize(1100, 720)
        qtbot.waitUntil(lambda: window.rail.compact)
        folded = window.rail.width()
        window.resize(1366, 768)
        qtbot.waitUntil(lambda: not window.rail.compact)
        assert window.rail.width() > folded

    @pytest.mark.slow
    def test_the_window_fits_small_screens(self, themed, window, qtbot, clinic):
        load_table(window, qtbot, clinic)
        window.resize(1100, 720)
        qtbot.waitUntil(lambda: window.panels.stack.width() > 700)
        for name in window.panels:
            window.show_panel(name)
            turns().finish()
            qtbot.waitUntil(lambda: cut_off(window.current) == [])
            assert (window.width(), window.height()) == (1100, 720), name


class TestMenus:
    def test_undo_says_what_it_takes_back_and_redo_has_every_key_of_the_platform(self, window):
        undo = window.menus.actions["undo"]
        assert not undo.isEnabled()
        window.session.edit("Name it", Document(title="clinic"))
        assert undo.text() == "&Undo: Name it"
        undo.trigger()
        assert window.session.document.title == ""
        assert window.menus.actions["redo"].text() == "&Redo: Name it"
        wanted = QKeySequence.keyBindings(QKeySequence.StandardKey.Redo)
        assert wanted
        redo = window.menus.actions["redo"].shortcuts()
        assert redo[: len(wanted)] == wanted
        assert {"Ctrl+Y", "Ctrl+Shift+Z"} <= {keys.toString() for keys in redo}

    @pytest.mark.slow
    def test_undo_turns_to_where_the_edit_was_made(self, window):
        open_clinic(window.session, protected())
        window.show_panel("attributes")
        panel, session = window.panels["attributes"], window.session
        panel.choose("ward")
        session.edit("Mark R&D", session.document.with_column(ColumnSpec("age", Role.INSENSITIVE)))
        undo, redo = window.menus.actions["undo"], window.menus.actions["redo"]
        assert undo.text() == "&Undo: Mark R&&D"
        assert undo.toolTip() == "Undo: Mark R&D (Attributes)"
        window.show_panel("audit")
        undo.trigger()
        assert window.current is panel
        assert panel.chosen == ["age"]
        assert redo.toolTip() == "Redo: Mark R&D (Attributes)"
        window.show_panel("policy")
        redo.trigger()
        assert window.current is panel

    def test_undo_chooses_the_recipient_whose_level_it_takes_back(self, window):
        open_clinic(window.session, protected())
        window.show_panel("policy")
        panel, document = window.panels["policy"], window.session.document
        changed = replace(document.recipients[2], statements={})
        window.session.edit(
            "Take a level back", replace(document, recipients=(*document.recipients[:2], changed))
        )
        window.show_panel("data")
        window.menus.actions["undo"].trigger()
        assert window.current is panel
        assert panel.page.recipients.table.currentIndex().row() == 2

    def test_dark_takes_effect_and_is_remembered(self, window):
        window.menus.actions["appearance-dark"].trigger()
        assert current_theme().name == "dark"
        assert window.session.store.value("window/appearance") == "dark"
        window.set_appearance(Appearance.LIGHT)

    def test_it_is_all_on_its_screen_with_the_frame_and_the_jobs(self, window, qtbot):
        frame = QMargins(2, 31, 2, 3)
        for width, height in ((1366, 768), (1280, 680), (2560, 1440)):
            room = QRect(0, 27, width, height - 27 - 40)
            window.resize(1366, 768)
            window.move(900, 500)
            window.fit_into(room, frame)
            assert room.contains(window.geometry().marginsAdded(frame))
            qtbot.waitUntil(
                lambda: window.jobs.geometry().bottom() == window.jobs.parent().height() - 1
            )
            below = window.jobs.mapToGlobal(window.jobs.rect().bottomRight())
            assert room.contains(below)

    def test_about_names_versions_and_licences_and_says_that_no_network_is_used(self, window):
        window.menus.actions["about"].trigger()
        dialog = dialog_of(window, AboutDialog)
        press(dialog, "Copy versions")
        copied = QGuiApplication.clipboard().text()
        assert copied.startswith("Sfumato ")
        assert "Qt " in copied
        shown = [each for each in dialog.findChildren(QLabel) if each.text()]
        told = " ".join(each.text() for each in shown)
        assert "connects to no network, unless you open a database" in told
        assert {"LGPL-3.0", "BSD-3-Clause"} <= {each.text() for each in shown}
        assert dialog.height() <= 700
        for each in shown:
            wanted = each.heightForWidth(each.width()) if each.wordWrap() else 0
            assert each.height() >= wanted
            assert each.wordWrap() or each.width() >= each.sizeHint().width()

    def test_help_opens_beside_the_work(self, window):
        window.menus.actions["help"].trigger()
        assert window._help.isVisible()
        assert window._help.list.count() >= 1
        assert window._help.text.toPlainText()
        window._help.close()

    def test_copy_takes_the_tables_selection(self, window, qtbot, clinic):
        load_table(window, qtbot, clinic)
        table = window.panels["data"].loaded.table
        table.setFocus()
        table.selectRow(0)
        qtbot.waitUntil(table.hasFocus)
        window.menus.actions["copy"].trigger()
        assert QGuiApplication.clipboard().text() == "p1\t34\tnorth\tflu"

    def test_who_wants_nothing_to_move_says_so_once(self, window):
        window.menus.actions["still"].setChecked(True)
        assert themes().still
        assert window.still
        window.menus.actions["still"].setChecked(False)
        assert not themes().still

    def test_every_action_has_its_own_shortcut(self, window):
        keys = [a.shortcut().toString() for a in window.menus.actions.values()]
        used = [key for key in keys if key]
        assert len(used) == len(set(used))
        assert {"Ctrl+N", "Ctrl+O", "Ctrl+S", "Ctrl+Z", "Ctrl+1", "Ctrl+6"} <= set(used)


class TestJobsAndMessages:
    def test_a_running_job_is_shown_and_can_be_stopped(self, window, qtbot, announced):
        def endless(context):
            while True:
                context.report(0.42, "working")

        job = window.session.runner.run("Release", endless)
        qtbot.waitUntil(lambda: bool(window.jobs.entries))
        [entry] = window.jobs.entries
        qtbot.waitUntil(lambda: entry.percent.text() == "42 %")
        assert "Release" in entry.title.text()
        click(entry.cancel)
        qtbot.waitUntil(lambda: not job.running)
        assert window.jobs.entries == ()
        assert announced == [("Stopped: Release", False)]

    @pytest.mark.slow
    def test_running_jobs_that_are_shown_have_room_for_their_names(self, window, qtbot):
        def endless(context):
            while True:
                context.report(0.42, "Counting released values")

        themes().set_scale(1.5)
        window.resize(1366, 768)
        jobs = [window.session.runner.run(f"Releasing diagnosis {i}", endless) for i in range(2)]
        qtbot.waitUntil(lambda: len(window.jobs.entries) == 2)
        QApplication.processEvents()
        assert all(entry.title.width() >= 96 for entry in window.jobs.entries)
        window.resize(1100, 700)
        QApplication.processEvents()
        first, second = window.jobs.entries
        assert first.title.width() >= 96
        assert second.isHidden()
        assert window.jobs.more.text() == "and 1 more"
        themes().set_scale()
        for job in jobs:
            job.cancel()
        qtbot.waitUntil(lambda: not any(job.running for job in jobs))

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

    def test_a_fault_in_what_comes_into_sight_is_reported_and_goes_no_further(
        self, window, qtbot, clinic
    ):
        panel, done = window.panels["policy"], []
        panel.in_sight(lambda: {}["nobody"])()
        panel.in_sight(lambda: done.append("the next one"))()
        with qtbot.captureExceptions() as faults:
            window.show_panel("policy")
        assert [kind for kind, _error, _trace in faults] == [KeyError]
        assert done == ["the next one"]
        assert window.current is panel

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

    @pytest.mark.slow
    def test_a_message_moves_nothing_of_the_work_above_it(self, window, qtbot, clinic):
        load_table(window, qtbot, clinic)
        panel = window.current

        def places():
            stops = [stop for stop in reading_order(panel) if not panel.messages.isAncestorOf(stop)]
            return [stop.mapTo(panel, QPoint(0, 0)) for stop in stops]

        found: list[list[QPoint]] = [[]]

        def rests():
            QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
            found.append(places())
            return found[-2] == found[-1]

        qtbot.waitUntil(rests)
        before = found[-1]
        panel.messages.show_message(Message(MessageKind.DANGER, "Refused.", "Try again."))
        qtbot.waitUntil(lambda: panel.messages.height() > 0 and panel.messages.isVisible())
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        assert len(before) > 1
        assert places() == before
        assert reading_order(panel)[-1].toolTip() == "Dismiss"

    def test_a_report_of_the_main_thread_is_shown_too(self, window):
        window.show_bug(BugReport("Drawing", "KeyError", ("KeyError:", "  a.py:1 f: x")))
        assert "KeyError in: Drawing" in dialog_of(window, BugDialog).details.toPlainText()


class TestGuarantee:
    def test_the_card_says_what_is_missing(self, window):
        assert "Open a table." in window.guarantee.text()

    def test_the_card_follows_the_session(self, window, qtbot, clinic):
        load_table(window, qtbot, clinic)
        qtbot.waitUntil(lambda: "Open a table." not in window.guarantee.text())
        assert "sensitive" in window.guarantee.text()

    def test_the_card_folds_to_its_edge(self, window):
        window.menus.actions["fold-guarantee"].trigger()
        assert window.guarantee.width() < 60
        assert int(window.session.store.value("window/guarantee-folded")) == 1
        window.menus.actions["fold-guarantee"].trigger()
        assert window.guarantee.width() > 200

    @pytest.mark.slow
    def test_every_figure_can_be_found(self, window, qtbot):
        window.open_sample()
        settle(qtbot, window.session)
        click(window.panels["data"].load_button)
        settle(qtbot, window.session)
        window.open_file(resource_path("samples", "clinic.toml"))
        settle(qtbot, window.session)
        explain_first(qtbot, window.guarantee)
        qtbot.waitUntil(lambda: "odds" in window.guarantee.text())
        assert "Together" in window.guarantee.text()
        assert "Retention probability" not in window.guarantee.text()
        press(window.guarantee, "All figures")
        assert "Retention probability" in window.guarantee.text()

    @pytest.mark.slow
    def test_the_card_tells_of_editions_once_a_second_one_is_released(
        self, window, qtbot, tmp_path
    ):
        session = window.session
        open_clinic(session, replace(protected(), record_key="name"))
        with save_clinic(session, tmp_path) as project:
            folder = tmp_path / "out"
            make_release(project, in_batches(session.table), "Institute", folder, "csv", Silent())
            session.ledger_changed.emit()
            explain_first(qtbot, window.guarantee)
            qtbot.waitUntil(lambda: "odds" in window.guarantee.text())
            assert "edition" not in window.guarantee.text()
            later = replace(session.document.source, digest="1" * 64)
            session.edit("Accept an edition", replace(session.document, source=later))
            qtbot.waitUntil(lambda: "from 2 editions" in window.guarantee.text())
            assert "certainly changed" in window.guarantee.text()
            session.set_project(None)


def test_a_window_starts_and_ends_without_anything_open(themed, answers, tmp_path):
    window = MainWindow(Session(chooser=answers))
    window.show()
    window.close()
    assert not window.isVisible()
    window.deleteLater()
