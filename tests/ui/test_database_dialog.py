"""Opening a table of a database in the window, with the widgets that a person uses."""

from __future__ import annotations

import socket

import pandas as pd
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from sfumato.formats.databases import PASSWORDS, Address
from sfumato.project.document.model import TableSource
from sfumato.ui.dialogs.databases import DatabaseDialog, DatabaseKind
from tests.formats.test_databases import PATIENTS, run
from tests.postgres import PASSWORD, postgres
from tests.ui.data_steps import headings, shown
from tests.ui.hands import choose, click, dialog_of, message_button, messages, settle, type_into

__all__ = ["postgres"]


@pytest.fixture
def panel(window):
    return window.panels["data"]


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "clinic.sqlite"
    run(made, *PATIENTS)
    return made


def asked(window) -> DatabaseDialog:
    """Ask for a database as the Data panel's first page offers it."""
    click(window.panels["data"].welcome.database_button)
    return dialog_of(window, DatabaseDialog)


def open_file(window, qtbot, path):
    """Open a database's file by the dialog, up to its first rows."""
    dialog = asked(window)
    choose(dialog.kind, DatabaseKind.FILE)
    type_into(dialog.path, str(path))
    click(dialog.submit)
    settle(qtbot, window.session)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_file_is_opened_with_a_choice_of_its_tables(window, panel, qtbot, path):
    open_file(window, qtbot, path)
    form = panel.importing.form
    assert [form.sheet.itemText(i) for i in range(form.sheet.count())] == ["patients", "named"]
    assert headings(panel.importing.table) == ["id", "name", "born", "cost", "smoker"]
    choose(form.sheet, "named")
    qtbot.waitUntil(lambda: headings(panel.importing.table) == ["id", "name"])
    click(panel.load_button)
    settle(qtbot, window.session)
    assert window.session.document.title == "named"
    assert window.session.document.source.options["sheet"] == "named"
    assert len(shown(panel.loaded.table)) == 2


def test_a_query_takes_the_place_of_a_table_and_gives_it_back(window, panel, qtbot, path):
    open_file(window, qtbot, path)
    form, query = panel.importing.form, "SELECT id FROM patients WHERE cost > 1.6"
    form.query.setFocus()
    qtbot.keyClicks(form.query, query)
    qtbot.keyClick(form.query, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: headings(panel.importing.table) == ["id"])
    assert form.options.query == query
    assert form.options.sheet == ""
    assert form.sheet.currentText() == "(the query's result)"
    qtbot.keyClick(form.sheet, Qt.Key.Key_Down)
    assert form.query.toPlainText() == ""
    assert (form.options.query, form.options.sheet) == ("", "patients")


def test_what_is_typed_counts_though_its_rows_were_not_shown(window, panel, qtbot, path):
    open_file(window, qtbot, path)
    form = panel.importing.form
    form.query.setFocus()
    qtbot.keyClicks(form.query, "SELECT id FROM patients")
    click(panel.load_button)
    settle(qtbot, window.session)
    assert window.session.table.columns == ("id",)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_query_that_the_database_refuses_is_told_in_the_place_of_its_rows(
    window, panel, qtbot, path
):
    open_file(window, qtbot, path)
    form = panel.importing.form
    form.query.setFocus()
    qtbot.keyClicks(form.query, "DELETE FROM patients")
    qtbot.keyClick(form.query, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    page = panel.importing
    qtbot.waitUntil(lambda: page.pages.currentWidget() is page.problem)
    assert "refuses the query" in page.problem.heading.text()
    assert not panel.load_button.isEnabled()


def test_a_folder_of_parquet_files_is_chosen_in_the_same_dialog(
    window, panel, qtbot, tmp_path, answers
):
    folder = tmp_path / "visits"
    folder.mkdir()
    frame = pd.DataFrame({"id": range(4)})
    frame[:2].to_parquet(folder / "a.parquet", index=False)
    frame[2:].to_parquet(folder / "b.parquet", index=False)
    answers.chosen_folder = folder
    dialog = asked(window)
    choose(dialog.kind, DatabaseKind.FOLDER)
    click(dialog.browse)
    assert dialog.path.text() == str(folder)
    click(dialog.submit)
    settle(qtbot, window.session)
    click(panel.load_button)
    settle(qtbot, window.session)
    assert window.session.table.rows == 4
    assert panel.loaded.file.text() == "visits"


def test_a_file_that_is_no_database_leaves_the_dialog_open_with_the_reason(window, qtbot, tmp_path):
    dialog = asked(window)
    choose(dialog.kind, DatabaseKind.FILE)
    assert not dialog.submit.isEnabled()
    type_into(dialog.path, str(tmp_path / "nowhere.sqlite"))
    click(dialog.submit)
    settle(qtbot, window.session)
    assert "There is no file" in messages(dialog.messages)[0]
    assert dialog.isVisible()
    assert dialog.submit.isEnabled()


def test_a_whole_address_is_spread_over_the_fields_and_one_with_a_password_is_cleared(
    window, qtbot
):
    dialog = asked(window)
    type_into(dialog.host, "postgresql://ann@db.example:5433/clinic?sslmode=verify-full")
    dialog.host.editingFinished.emit()
    assert (dialog.host.text(), dialog.user.text(), dialog.database.text()) == (
        "db.example",
        "ann",
        "clinic",
    )
    assert str(dialog.place) == "postgresql://ann@db.example:5433/clinic?sslmode=verify-full"
    type_into(dialog.host, "postgresql://ann:Quicksilver@db.example/clinic")
    dialog.host.editingFinished.emit()
    assert dialog.host.text() == ""
    assert "holds a password" in messages(dialog.messages)[0]
    assert "Quicksilver" not in " ".join(messages(dialog.messages))


def test_the_password_is_hidden_and_every_field_has_a_name(window, qtbot):
    dialog = asked(window)
    assert dialog.password.echoMode() is QLineEdit.EchoMode.Password
    fields = (dialog.kind, dialog.host, dialog.port, dialog.database, dialog.user, dialog.password)
    assert all(field.accessibleName() for field in fields)
    dialog.kind.setFocus()
    for after in (dialog.host, dialog.port.spin, dialog.database, dialog.user, dialog.password):
        qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
        assert dialog.focusWidget() in (after, dialog.port.spin.lineEdit()), after.accessibleName()
    qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
    assert dialog.focusWidget() not in fields


@pytest.mark.slow
def test_a_server_that_never_answers_is_given_up_with_the_dialog(window, qtbot):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        dialog = asked(window)
        type_into(dialog.host, "127.0.0.1")
        dialog.port.set_value(silent.getsockname()[1])
        click(dialog.submit)
        assert not dialog.submit.isEnabled()
        dialog.reject()
        settle(qtbot, window.session)
    assert not window.session.runner.jobs
    assert window.session.document.source is None


@pytest.mark.slow
@pytest.mark.queued
def test_a_table_of_a_server_is_opened_and_its_password_forgotten_with_the_project(
    window, panel, qtbot, postgres
):
    dialog = asked(window)
    type_into(dialog.host, postgres.address())
    dialog.host.editingFinished.emit()
    type_into(dialog.password, "Mercury")
    click(dialog.submit)
    settle(qtbot, window.session)
    assert "refuses this user or password" in messages(dialog.messages)[0]
    type_into(dialog.password, PASSWORD)
    click(dialog.submit)
    settle(qtbot, window.session)
    choose(panel.importing.form.sheet, "patients")
    qtbot.waitUntil(lambda: "cost" in headings(panel.importing.table))
    click(panel.load_button)
    settle(qtbot, window.session)
    session, address = window.session, Address.of(postgres.address())
    assert session.table.rows == 40
    assert session.document.source.path == postgres.address()
    assert PASSWORD not in repr(session.document)
    assert PASSWORDS.of(address) == PASSWORD
    session.set_project(None)
    assert PASSWORDS.of(address) == ""


@pytest.mark.slow
@pytest.mark.queued
def test_a_project_whose_server_wants_a_password_asks_for_it_again(
    window, panel, qtbot, postgres, monkeypatch
):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    session = window.session
    dialog = asked(window)
    type_into(dialog.host, postgres.address())
    dialog.host.editingFinished.emit()
    type_into(dialog.password, PASSWORD)
    click(dialog.submit)
    settle(qtbot, session)
    choose(panel.importing.form.sheet, "patients")
    click(panel.load_button)
    settle(qtbot, session)
    document = session.document
    session.take_up(document)
    window.projects.sources.read()
    settle(qtbot, session)
    assert session.table is None
    click(message_button(panel.messages, "Connect again…"))
    again = dialog_of(window, DatabaseDialog)
    assert again.database.text() == "postgres"
    type_into(again.password, PASSWORD)
    click(again.submit)
    settle(qtbot, session)
    assert session.table.rows == 40
    assert session.document.source == document.source


@pytest.mark.slow
def test_rows_that_changed_are_noticed_when_the_project_is_read_again(window, qtbot, path):
    open_file(window, qtbot, path)
    click(window.panels["data"].load_button)
    settle(qtbot, window.session)
    session = window.session
    assert isinstance(session.document.source, TableSource)
    run(path, "DELETE FROM patients WHERE id = 1")
    session.take_up(session.document)
    window.projects.sources.read()
    settle(qtbot, session)
    assert session.table is None
    assert "changed since" in messages(window.panels["data"].messages)[0]
