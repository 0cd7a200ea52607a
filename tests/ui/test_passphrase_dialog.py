"""The passphrase dialogs, with the keyboard alone."""

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QLabel

from sfumato.ui.dialogs.projects import NewPassphraseDialog, OpenPassphraseDialog
from sfumato.ui.widgets.messages import Message, MessageKind

WORDS = "violet harbour ladder nine"


def test_tab_leads_from_the_passphrase_to_its_repetition(qtbot):
    dialog = NewPassphraseDialog("clinic")
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitActive(dialog)
    dialog.first.setFocus()
    qtbot.keyClicks(dialog.first, WORDS)
    qtbot.keyClick(dialog.first, Qt.Key.Key_Tab)
    assert dialog.focusWidget() is dialog.second
    qtbot.keyClicks(dialog.second, WORDS)
    with qtbot.waitSignal(dialog.submitted):
        qtbot.keyClick(dialog.second, Qt.Key.Key_Return)
    assert dialog.passphrase == WORDS


def test_a_message_is_in_sight_to_its_last_line(qtbot):
    dialog = OpenPassphraseDialog("clinic")
    qtbot.addWidget(dialog)
    dialog.show()
    remedy = "Try again, minding capitals and the keyboard's layout. " * 6
    dialog.ask_again(Message(MessageKind.DANGER, "It does not open this project.", remedy))
    QCoreApplication.processEvents()
    [shown] = [label for label in dialog.messages.findChildren(QLabel) if label.text() == remedy]
    assert shown.height() >= shown.heightForWidth(shown.width())


def test_a_weak_passphrase_needs_a_second_informed_yes(qtbot):
    dialog = NewPassphraseDialog("clinic")
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitActive(dialog)
    for field in (dialog.first, dialog.second):
        qtbot.keyClicks(field, "abc")
    assert not dialog.submit.isEnabled()
    dialog.second.setFocus()
    qtbot.keyClick(dialog.second, Qt.Key.Key_Tab)
    assert dialog.focusWidget() is dialog.aware
    qtbot.keyClick(dialog.aware, Qt.Key.Key_Space)
    assert dialog.submit.isEnabled()
    for field in (dialog.first, dialog.second):
        qtbot.keyClicks(field, "d")
    assert not dialog.submit.isEnabled(), "the yes was given for another one"
    with qtbot.waitSignal(dialog.submitted):
        qtbot.keyClick(dialog.aware, Qt.Key.Key_Space)
        qtbot.keyClick(dialog.aware, Qt.Key.Key_Return)


def test_a_strong_passphrase_is_asked_nothing_more(qtbot):
    dialog = NewPassphraseDialog("clinic")
    qtbot.addWidget(dialog)
    dialog.show()
    for field in (dialog.first, dialog.second):
        qtbot.keyClicks(field, WORDS)
    assert dialog.aware.isHidden()
    assert dialog.submit.isEnabled()
