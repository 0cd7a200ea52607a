"""The passphrase dialogs, with the keyboard alone."""

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QLabel

from sfumato.ui.dialogs.base import ChoiceDialog, NewPassphraseDialog, OpenPassphraseDialog
from sfumato.ui.widgets.messages import Message, MessageKind
from tests.ui.hands import on_screen
from tests.ui.layout_faults import layout_faults

WORDS = "violet harbour ladder nine"


def test_tab_leads_from_the_passphrase_to_its_repetition(qtbot):
    dialog = on_screen(qtbot, NewPassphraseDialog("clinic"))
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
    dialog = on_screen(qtbot, OpenPassphraseDialog("clinic"))
    remedy = "Try again, minding capitals and the keyboard's layout. " * 6
    dialog.ask_again(Message(MessageKind.DANGER, "It does not open this project.", remedy))
    QCoreApplication.processEvents()
    [shown] = [label for label in dialog.messages.findChildren(QLabel) if label.text() == remedy]
    assert shown.height() >= shown.heightForWidth(shown.width())


def test_a_weak_passphrase_needs_a_second_informed_yes(qtbot):
    dialog = on_screen(qtbot, NewPassphraseDialog("clinic"))
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
    dialog = on_screen(qtbot, NewPassphraseDialog("clinic"))
    for field in (dialog.first, dialog.second):
        qtbot.keyClicks(field, WORDS)
    assert dialog.aware.isHidden()
    assert dialog.submit.isEnabled()


def test_a_question_and_its_ways_are_in_sight_from_the_first_moment(qtbot):
    words = "A file is verified against the project that it was released from. "
    ways = (("verify", "Verify this file"), ("trace", "Trace this file"), ("table", "Open a table"))
    dialog = on_screen(qtbot, ChoiceDialog("What do you want to do with it?", words * 3, ways))
    qtbot.waitActive(dialog)
    for _ in range(3):  # layouts settle from the inside out
        QCoreApplication.processEvents()
    assert dialog.explanation.height() < dialog.height()
    assert layout_faults(dialog) == []


def test_the_second_yes_takes_as_many_lines_as_it_needs(qtbot):
    dialog = NewPassphraseDialog("A survey with a name that fills more than one line of it, 2024")
    qtbot.addWidget(dialog)
    dialog.aware.setText(f"{dialog.aware.text()}, as other languages say it in many more words")
    dialog.show()
    qtbot.keyClicks(dialog.first, "abc")
    QCoreApplication.processEvents()
    assert dialog.aware.height() > dialog.aware.sizeHint().height(), "several lines"
    assert layout_faults(dialog) == []
    qtbot.mouseClick(dialog.aware, Qt.MouseButton.LeftButton, pos=dialog.aware.rect().center())
    assert dialog.aware.isChecked()
