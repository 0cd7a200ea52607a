"""Files dropped anywhere on the window: tables, bundles, and lone files that turned up."""

from __future__ import annotations

import shutil
import zipfile

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent

from sfumato.engine.core.progress import Silent
from sfumato.project.release.release import make_release
from sfumato.ui.dialogs.base import ChoiceDialog
from sfumato.ui.panels.audit.pages.leak import LeakPage
from tests.in_batches import in_batches
from tests.ui.clinic import open_clinic, protected, save_clinic
from tests.ui.hands import click, dialog_of, message_button, messages, press, settle


@pytest.fixture
def released(window, qtbot, tmp_path):
    """The window with a project that has released one bundle; gives the bundle."""
    session = window.session
    open_clinic(session, protected())
    project = save_clinic(session, tmp_path)
    made = make_release(
        project, in_batches(session.table), "Clinic A", tmp_path / "out", "csv", Silent()
    )
    session.ledger_changed.emit()
    settle(qtbot, session)
    yield made.path
    session.set_project(None)


def mime(path):
    made = QMimeData()
    made.setUrls([QUrl.fromLocalFile(str(path))])
    return made


def hint(window, path):
    """Hold a file over the window; return what it says, None where it takes nothing."""
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    data = mime(path)
    event = QDragEnterEvent(QPoint(50, 50), copy, data, left, Qt.KeyboardModifier.NoModifier)
    window.dragEnterEvent(event)
    return window._hint.text if event.isAccepted() else None


def drop(window, qtbot, path):
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    data = mime(path)
    event = QDropEvent(QPointF(50, 50), copy, data, left, Qt.KeyboardModifier.NoModifier)
    window.dropEvent(event)
    settle(qtbot, window.session)


def in_sight(widget):
    """Whether the top of a widget is in the window's picture."""
    return widget.isVisible() and not widget.visibleRegion().isEmpty()


def zipped(path, *files):
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            archive.write(file, file.name)
    return path


def verify(window, qtbot):
    press(dialog_of(window, ChoiceDialog), "Verify it")
    settle(qtbot, window.session)
    assert window.current.name == "releases"
    report = window.current.ledger.report
    qtbot.waitUntil(lambda: in_sight(report.verdict))
    return report


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["folder", "description", "data", "zip"])
def test_a_dropped_bundle_is_verified_and_the_result_is_in_sight(
    window, qtbot, released, tmp_path, kind
):
    path = {
        "folder": released,
        "description": released / "datapackage.json",
        "data": released / "data.csv",
        "zip": zipped(tmp_path / "b.zip", *released.iterdir()),
    }[kind]
    window.resize(1100, 720)
    assert "what to do with" in hint(window, path)
    drop(window, qtbot, path)
    report = verify(window, qtbot)
    assert "keeps what it promises" in report.verdict.text()
    assert "Clinic A" in report.about.text()


@pytest.mark.slow
def test_a_dropped_lone_file_is_recognised_by_its_bytes(window, qtbot, released, tmp_path):
    lone = shutil.copy(released / "data.csv", tmp_path / "from the web.csv")
    drop(window, qtbot, lone)
    assert "released to Clinic A" in dialog_of(window, ChoiceDialog).explanation.text()
    report = verify(window, qtbot)
    assert report.verdict.text() == "from the web.csv is a file as it was released"
    assert "Clinic A" in report.about.text()


@pytest.mark.slow
def test_a_button_that_goes_takes_the_focus_elsewhere_but_nobody_with_it(window, qtbot, released):
    drop(window, qtbot, released)
    report = verify(window, qtbot)
    primary = window.current.primary
    primary.setEnabled(True)
    primary.setFocus()
    primary.setEnabled(False)
    assert window.focusWidget() is not primary
    assert in_sight(report.verdict)


@pytest.mark.slow
def test_a_dropped_part_of_a_release_is_traced_and_the_result_is_in_sight(
    window, qtbot, released, tmp_path
):
    lone = tmp_path / "part.csv"
    lines = (released / "data.csv").read_bytes().splitlines(keepends=True)
    lone.write_bytes(b"".join([lines[0], *lines[300:20:-1]]))
    window.resize(1100, 720)
    drop(window, qtbot, lone)
    assert "No file with these bytes" in dialog_of(window, ChoiceDialog).explanation.text()
    press(dialog_of(window, ChoiceDialog), "Trace it")
    settle(qtbot, window.session)
    assert window.current.name == "audit"
    page = window.current.current
    assert isinstance(page, LeakPage)
    qtbot.waitUntil(lambda: in_sight(page.finding.shown))
    assert in_sight(page.finding.verdict)
    assert "come from the release to" in page.finding.verdict.text()


@pytest.mark.slow
def test_a_changed_file_that_is_verified_leads_on_to_tracing(
    window, qtbot, released, answers, tmp_path
):
    lone = shutil.copy(released / "data.csv", tmp_path / "changed.csv")
    with lone.open("ab") as file:
        file.write(b"\r\n")
    window.show_panel("releases")
    answers.file = lone
    click(window.current.ledger.verify)
    settle(qtbot, window.session)
    assert "was not released as it stands" in window.current.ledger.report.verdict.text()
    message_button(window.current.messages, "Trace it").click()
    settle(qtbot, window.session)
    assert window.current.name == "audit"
    assert "come from the release to" in window.current.current.finding.verdict.text()


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_a_table_can_be_opened_in_spite_of_all(window, qtbot, released, tmp_path, whole):
    path = released if whole else shutil.copy(released / "data.csv", tmp_path / "next.csv")
    drop(window, qtbot, path)
    press(dialog_of(window, ChoiceDialog), "Open as a table")
    settle(qtbot, window.session)
    assert window.current.name == "data"
    wanted = "data.csv" if whole else "next.csv"
    assert window.current.importing.file.text() == wanted


@pytest.mark.slow
def test_without_a_project_a_bundle_leads_to_its_project(
    window, qtbot, released, answers, tmp_path
):
    window.session.set_project(None)
    drop(window, qtbot, released)
    dialog = dialog_of(window, ChoiceDialog)
    assert "looks like a bundle" in dialog.explanation.text()
    answers.file = None
    press(dialog, "Open a project…")
    assert answers.asked[-1] == "Open project"


def test_a_table_is_opened_at_once_where_nothing_was_released(window, qtbot, clinic):
    assert "open the table" in hint(window, clinic)
    drop(window, qtbot, clinic)
    assert window.current.importing.file.text() == "clinic.csv"


def test_a_zip_without_a_bundle_says_what_to_do(window, qtbot, clinic, tmp_path):
    drop(window, qtbot, zipped(tmp_path / "clinic.zip", clinic))
    press(dialog_of(window, ChoiceDialog), "Cancel")
    drop(
        window, qtbot, zipped(tmp_path / "two.zip", clinic, shutil.copy(clinic, tmp_path / "b.csv"))
    )
    assert "2 tables" in messages(window.current.messages)[0]


@pytest.mark.slow
def test_a_file_is_chosen_from_the_menu(window, qtbot, released, answers):
    answers.file = released / "datapackage.json"
    window.menus.actions["find-file"].trigger()
    settle(qtbot, window.session)
    assert verify(window, qtbot).verdict.text()


@pytest.mark.slow
def test_tracing_without_its_table_says_what_to_open(window, qtbot, released):
    window.session.attach_table(None)
    drop(window, qtbot, released)
    press(dialog_of(window, ChoiceDialog), "Trace it")
    settle(qtbot, window.session)
    assert "against a project and its table" in messages(window.current.messages)[0]
