"""What the tests of the Policy panel do again and again."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QLineEdit

from tests.ui.clinic import wait_for_jobs


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


def state_once_checked(qtbot, panel):
    """The policy's state once releases by it are checked, as they are when nothing is edited."""
    panel.session.steps.check_policy()
    wait_for_jobs(qtbot, panel.session)
    return panel.state()
